//! `gateproof testbed`: the embedded cluster, for somebody else's controller or for a look.

mod own_file;
mod vacant;

use std::net::SocketAddr;
use std::path::PathBuf;

use gateproof_apiserver::{Server, StartError};
use gateproof_testbed::aso::{self, AsoOptions, AsoTestbed};
use gateproof_testbed::contour::{self, ContourTestbed};
use gateproof_testbed::kuadrant::{self, KuadrantTestbed};
use gateproof_testbed::{Behaviour, Service, Testbed, TestbedError, TestbedOptions, UnknownBehaviour, VacantTestbed};
use schemars::JsonSchema;
use serde::Serialize;

use self::own_file::OwnFile;
use super::crds::{self, Source};
use super::dialect::DialectArg;
use super::output::{self, Format, FormatArg, say};
use super::{Failure, Outcome, options};
use crate::cluster::api::chain;
use crate::dialects::Reference;
use crate::exit_codes;
use crate::run::interrupt::Signals;
use crate::suite::Suite;

/// Serve the embedded cluster and write a kubeconfig
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  gateproof testbed --no-controller --kubeconfig testbed.kubeconfig
  kubectl --kubeconfig testbed.kubeconfig get gatewayclasses
  gateproof testbed --dialect kuadrant
  gateproof testbed --dialect my-dialect --no-controller
  gateproof testbed --dialect gateway-api,aso --no-controller    the definitions of both, for controllers of yours")]
pub(crate) struct Args {
    #[command(flatten)]
    dialect: DialectArg,
    /// Leave the reference implementation out, for your own controller
    #[arg(long)]
    no_controller: bool,
    /// Fault or variant of the reference implementation, or several with `+` in between
    #[arg(long, value_name = "NAME", conflicts_with = "no_controller")]
    fault: Option<String>,
    /// Leave Deployments of known echo images to somebody else, instead of running them in this process
    #[arg(long)]
    no_workloads: bool,
    /// Where the kubeconfig goes; it holds a token, so only its owner may read it
    #[arg(long, value_name = "FILE", default_value = "testbed.kubeconfig")]
    kubeconfig: PathBuf,
    /// Address of the API server
    #[arg(long, value_name = "ADDR:PORT", default_value = "127.0.0.1:0")]
    listen: SocketAddr,
    /// Serve these definitions instead of the built-in ones, of Gateway API unless the implementation is left out: a file or an https URL
    #[arg(long, value_name = "FILE|URL")]
    crds: Option<Source>,
    /// Leave this definition out, or clustertrustbundles.certificates.k8s.io; may be repeated
    #[arg(long, value_name = "NAME")]
    without_crd: Vec<String>,
    #[command(flatten)]
    format: FormatArg,
}

/// Where a testbed is, once it serves: one line.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Served {
    /// URL of the API server.
    server: String,
    /// The kubeconfig file.
    kubeconfig: String,
    /// The GatewayClass of the reference implementation, unless it was left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    gateway_class: Option<String>,
    /// What `--dial` has to be given to reach its data plane, unless it was left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    dial_rule: Option<String>,
    /// The addresses that its Gateways can get, as a CIDR, unless it was left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    gateway_network: Option<String>,
    /// The scripted services beside it, if its dialect has some.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    services: Vec<ServedService>,
    /// The file with the environment for a controller of yours, where it needs one.
    #[serde(skip_serializing_if = "Option::is_none")]
    environment: Option<String>,
    /// The options with which a run speaks its dialect, unless they go without saying.
    #[serde(skip)]
    dialect: String,
    /// Whether nothing reconciles yet.
    #[serde(skip)]
    is_vacant: bool,
}

/// A scripted service beside a testbed.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct ServedService {
    /// Its name, for `--service`.
    name: String,
    /// Where it is, for `--service`.
    url: String,
    /// The file with its token, for `--service-token`.
    token: String,
    /// The file with the authority of its certificate, for `--service-ca`.
    #[serde(skip_serializing_if = "Option::is_none")]
    authority: Option<String>,
}

impl ServedService {
    /// The options with which a run finds it.
    fn options(&self) -> String {
        let ServedService { name, url, token, authority } = self;
        let authority = authority.as_ref().map(|file| format!(" --service-ca {name}={file}")).unwrap_or_default();
        format!("--service {name}={url} --service-token {name}={token}{authority}")
    }
}

impl Served {
    fn print(&self) {
        let mut rows = vec![["API server:", &self.server], ["kubeconfig:", &self.kubeconfig]];
        if let (Some(class), Some(rule)) = (&self.gateway_class, &self.dial_rule) {
            rows.extend([["GatewayClass:", class], ["dial rule:", rule]]);
        }
        if self.is_vacant {
            rows.push(["controller:", "none; start yours with this kubeconfig"]);
        }
        if let Some(file) = &self.environment {
            rows.push(["its environment:", file]);
        }
        if !self.dialect.is_empty() {
            rows.push(["dialect:", &self.dialect]);
        }
        let services: Vec<String> = self.services.iter().map(ServedService::options).collect();
        rows.extend(services.iter().map(|options| ["service:", options]));
        output::columns(&rows.into_iter().map(|row| row.map(str::to_owned)).collect::<Vec<_>>());
        say!("Ctrl-C ends it.");
    }
}

/// Runs the verb: serves until Ctrl-C.
pub(crate) async fn run(args: Args) -> Outcome {
    if !args.listen.ip().is_loopback() {
        return Err(Failure::usage(
            format!("{} is not a loopback address", args.listen.ip()),
            "the testbed serves this machine only",
        ));
    }
    let plan = if args.dialect.are_several() { args.several()? } else { args.one().await? };
    let mut signals = Signals::listen()
        .map_err(|error| Failure::environment(format!("cannot handle Ctrl-C: {error}"), "nothing was started"))?;
    let cluster = Cluster::start(plan).await.map_err(|error| start_failure(&error))?;
    let (served, _files) = cluster.served(&args)?;
    match args.format.format {
        Format::Json => output::json_line(&served)?,
        Format::Text => served.print(),
    }
    signals.next().await;
    cluster.shutdown().await;
    Ok(exit_codes::PASSED)
}

impl Args {
    /// What is to be started of one dialect.
    async fn one(&self) -> Result<Plan, Failure> {
        let suite = self.dialect.suite()?;
        let edition = suite.vocabulary.edition.name();
        Ok(match suite.reference() {
            Some(Reference::GatewayApi) => Plan::GatewayApi(Box::new(self.gateway_api(Vec::new()).await?)),
            Some(Reference::Aso) => self.aso(edition)?,
            Some(Reference::Kuadrant) => self.kuadrant(edition)?,
            Some(Reference::Contour) if self.no_controller => self.vacant(&[&suite])?,
            Some(Reference::Contour) => self.contour(edition)?,
            None => Plan::GatewayApi(Box::new(self.own(&suite).await?)),
        })
    }

    /// What is to be started of a dialect from a folder: its definitions, for a controller of the user's.
    async fn own(&self, suite: &Suite) -> Result<TestbedOptions, Failure> {
        let name = suite.dialect.name();
        if !self.no_controller {
            let message = format!("the dialect `{name}` has no embedded reference");
            return Err(Failure::usage(message, "add --no-controller, and start your controller against the testbed"));
        }
        if self.crds.is_none() && suite.definitions.is_empty() {
            let message = format!("nothing says what the kinds of `{name}` are");
            return Err(Failure::usage(
                message,
                "name their definitions with --crds, or put them into crds.yaml of the dialect",
            ));
        }
        self.gateway_api(suite.definitions.clone()).await
    }

    /// What is to be started of Gateway API, or of these definitions unless others are named.
    async fn gateway_api(&self, unless_named: Vec<serde_json::Value>) -> Result<TestbedOptions, Failure> {
        let definitions = match &self.crds {
            Some(source) if self.no_controller => crds::read_any(source).await?.into_objects(),
            Some(source) => crds::read(source).await?,
            None => unless_named,
        };
        let without = crds::left_out(&self.without_crd, &definitions)?;
        let unknown = |error: UnknownBehaviour| options::unknown_of(Reference::GatewayApi, error);
        Ok(TestbedOptions {
            behaviour: Behaviour::of(self.fault.as_deref()).map_err(unknown)?,
            no_controller: self.no_controller,
            crds: definitions,
            without,
            ..self.cluster()
        })
    }

    /// What clusters with a data path have in common.
    fn cluster(&self) -> TestbedOptions {
        TestbedOptions {
            bind: Some(self.listen),
            workloads: !self.no_workloads,
            namespace_companions: true,
            ..TestbedOptions::default()
        }
    }

    /// What is to be started of Azure Service Operator's dialect.
    fn aso(&self, edition: Option<&str>) -> Result<Plan, Failure> {
        self.brings_its_own(Reference::Aso, &[("--no-workloads", self.no_workloads)])?;
        let unknown = |error: UnknownBehaviour| options::unknown_of(Reference::Aso, error);
        Ok(Plan::Aso(AsoOptions {
            behaviour: aso::behaviour(self.fault.as_deref()).map_err(unknown)?,
            edition: edition.and_then(aso::Edition::named).unwrap_or_default(),
            no_controller: self.no_controller,
            bind: Some(self.listen),
            namespace_companions: true,
            ..AsoOptions::default()
        }))
    }

    /// What is to be started of Kuadrant's dialect.
    fn kuadrant(&self, edition: Option<&str>) -> Result<Plan, Failure> {
        self.brings_its_own(Reference::Kuadrant, &[])?;
        if self.no_controller {
            return Err(Failure::usage(
                "--no-controller: policies are enforced in the data path of the embedded reference, so others than its own cannot be",
                "`gateproof testbed --no-controller --crds FILE` serves your definitions, for a data path of yours",
            ));
        }
        let unknown = |error: UnknownBehaviour| options::unknown_of(Reference::Kuadrant, error);
        let behaviour = kuadrant::behaviour(self.fault.as_deref()).map_err(unknown)?;
        let edition = edition.and_then(kuadrant::Edition::named).unwrap_or_default();
        Ok(Plan::Kuadrant(behaviour, edition, Box::new(self.cluster())))
    }

    /// What is to be started of Contour's dialect.
    fn contour(&self, edition: Option<&str>) -> Result<Plan, Failure> {
        self.brings_its_own(Reference::Contour, &[])?;
        let unknown = |error: UnknownBehaviour| options::unknown_of(Reference::Contour, error);
        let behaviour = contour::behaviour(self.fault.as_deref()).map_err(unknown)?;
        let edition = edition.and_then(contour::Edition::named).unwrap_or_default();
        Ok(Plan::Contour(behaviour, edition, Box::new(self.cluster())))
    }

    /// Refuses what means nothing for a testbed that brings its own definitions.
    fn brings_its_own(&self, reference: Reference, more: &[(&str, bool)]) -> Result<(), Failure> {
        let given = [("--crds", self.crds.is_some()), ("--without-crd", !self.without_crd.is_empty())];
        match given.iter().chain(more).find(|(_, given)| *given) {
            None => Ok(()),
            Some((option, _)) => {
                let message = format!("{option} means nothing for the testbed of `{}`", reference.dialect());
                Err(Failure::usage(message, "it brings its own; leave the option out"))
            }
        }
    }
}

/// What is to be started.
enum Plan {
    GatewayApi(Box<TestbedOptions>),
    Aso(AsoOptions),
    Kuadrant(kuadrant::Behaviour, kuadrant::Edition, Box<TestbedOptions>),
    Contour(contour::Behaviour, contour::Edition, Box<TestbedOptions>),
    Vacant { options: Box<TestbedOptions>, with_azure: bool },
}

/// What runs.
enum Cluster {
    GatewayApi(Box<Testbed>),
    Aso(Box<AsoTestbed>),
    Kuadrant(Box<KuadrantTestbed>),
    Contour(Box<ContourTestbed>),
    Vacant(Box<VacantTestbed>),
}

impl Cluster {
    async fn start(plan: Plan) -> Result<Cluster, TestbedError> {
        Ok(match plan {
            Plan::GatewayApi(options) => Cluster::GatewayApi(Box::new(Testbed::start(*options).await?)),
            Plan::Aso(options) => Cluster::Aso(Box::new(AsoTestbed::start(options).await?)),
            Plan::Kuadrant(behaviour, edition, options) => {
                Cluster::Kuadrant(Box::new(KuadrantTestbed::start(behaviour, edition, *options).await?))
            }
            Plan::Contour(behaviour, edition, options) => {
                Cluster::Contour(Box::new(ContourTestbed::start(behaviour, edition, *options).await?))
            }
            Plan::Vacant { options, with_azure } => {
                Cluster::Vacant(Box::new(VacantTestbed::start(*options, with_azure).await?))
            }
        })
    }

    fn server(&self) -> &Server {
        match self {
            Cluster::GatewayApi(testbed) => testbed.server(),
            Cluster::Aso(testbed) => testbed.server(),
            Cluster::Kuadrant(testbed) => testbed.cluster().server(),
            Cluster::Contour(testbed) => testbed.cluster().server(),
            Cluster::Vacant(testbed) => testbed.server(),
        }
    }

    /// Writes what others need to find it, in files that go when it ends.
    fn served(&self, args: &Args) -> Result<(Served, Vec<OwnFile>), Failure> {
        let beside = |name: &str| {
            let mut path = args.kubeconfig.clone().into_os_string();
            path.push(format!(".{name}"));
            PathBuf::from(path)
        };
        let may_take = OwnFile::may_take(&args.kubeconfig)?;
        let mut files = Vec::new();
        let (traffic, known) = match self {
            Cluster::GatewayApi(testbed) => (Some(&**testbed).filter(|_| !args.no_controller), Vec::new()),
            Cluster::Aso(testbed) => (None, testbed.services()),
            Cluster::Kuadrant(testbed) => (Some(testbed.cluster()), testbed.services()),
            Cluster::Contour(testbed) => (Some(testbed.cluster()), Vec::new()),
            Cluster::Vacant(testbed) => (None, testbed.services()),
        };
        let mut services = Vec::new();
        for Service { name, url, token, authority } in known {
            let token = OwnFile::write(beside(&format!("{name}-token")), token, may_take)?;
            let authority =
                authority.map(|pem| OwnFile::write(beside(&format!("{name}-ca.pem")), pem, may_take)).transpose()?;
            services.push(ServedService {
                name: name.to_owned(),
                url,
                token: token.shown(),
                authority: authority.as_ref().map(OwnFile::shown),
            });
            files.push(token);
            files.extend(authority);
        }
        let mut environment = None;
        let variables = match self {
            Cluster::Aso(testbed) if args.no_controller => Some(testbed.environment()),
            Cluster::Vacant(testbed) => testbed.environment(),
            _ => None,
        };
        if let Some(mut variables) = variables {
            let whole =
                |file: &str| std::path::absolute(file).map_or_else(|_| file.to_owned(), |it| it.display().to_string());
            variables.push(("KUBECONFIG", whole(&args.kubeconfig.display().to_string())));
            let authorities = services.iter().filter_map(|service| service.authority.as_deref());
            variables.extend(authorities.map(|file| ("SSL_CERT_FILE", whole(file))));
            let lines: String = variables.iter().map(|(name, value)| format!("{name}={value}\n")).collect();
            let file = OwnFile::write(beside("env"), lines, may_take)?;
            environment = Some(file.shown());
            files.push(file);
        }
        // Who finds it finds the rest.
        files.push(OwnFile::write(args.kubeconfig.clone(), self.server().kubeconfig(), may_take)?);
        let served = Served {
            server: self.server().url().to_string(),
            kubeconfig: args.kubeconfig.display().to_string(),
            gateway_class: traffic.map(|testbed| testbed.gateway_class().to_owned()),
            dial_rule: traffic.map(Testbed::dial_rule),
            gateway_network: traffic.map(Testbed::gateway_network),
            services,
            environment,
            dialect: args.dialect.options(),
            is_vacant: args.no_controller,
        };
        Ok((served, files))
    }

    async fn shutdown(self) {
        match self {
            Cluster::GatewayApi(testbed) => testbed.shutdown().await,
            Cluster::Aso(testbed) => testbed.shutdown().await,
            Cluster::Kuadrant(testbed) => testbed.shutdown().await,
            Cluster::Contour(testbed) => testbed.shutdown().await,
            Cluster::Vacant(testbed) => testbed.shutdown().await,
        }
    }
}

fn start_failure(error: &TestbedError) -> Failure {
    let text = chain(error);
    match error {
        TestbedError::ApiServer(StartError::Definition(_)) => {
            Failure::usage(text, "the definitions given with --crds cannot be served")
        }
        _ => Failure::environment(text, "if a port is in use, leave --listen out or name another"),
    }
}
