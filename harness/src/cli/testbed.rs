//! `gateproof testbed`: the embedded cluster, for somebody else's controller or for a look.

use std::net::SocketAddr;
use std::path::PathBuf;

use gateproof_apiserver::StartError;
use gateproof_testbed::{Behaviour, Testbed, TestbedError, TestbedOptions};
use schemars::JsonSchema;
use serde::Serialize;

use super::crds::{self, Source};
use super::output::{self, Format, FormatArg, say};
use super::{Failure, Outcome, options};
use crate::cluster::api::chain;
use crate::exit_codes;
use crate::run::interrupt::Signals;

/// The line by which a testbed's kubeconfig is known.
const CONTEXT_LINE: &str = "current-context: gateproof\n";

/// Serve the embedded cluster and write a kubeconfig
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Example:
  gateproof testbed --no-controller --kubeconfig testbed.kubeconfig
  kubectl --kubeconfig testbed.kubeconfig get gatewayclasses")]
pub(crate) struct Args {
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
    /// Leave this definition out; may be repeated
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
}

impl Served {
    fn print(&self) {
        let mut rows = vec![["API server:", &self.server], ["kubeconfig:", &self.kubeconfig]];
        match (&self.gateway_class, &self.dial_rule) {
            (Some(class), Some(rule)) => rows.extend([["GatewayClass:", class], ["dial rule:", rule]]),
            _ => rows.push(["controller:", "none; start yours with this kubeconfig"]),
        }
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
    let definitions = match &args.crds {
        Some(source) if args.no_controller => crds::read_any(source).await?.definitions,
        Some(source) => crds::read(source).await?,
        None => Vec::new(),
    };
    let without = crds::left_out(&args.without_crd, &definitions)?;
    let fault = args.fault.as_deref().map(options::known_behaviour).transpose()?;
    let mut signals = Signals::listen()
        .map_err(|error| Failure::environment(format!("cannot handle Ctrl-C: {error}"), "nothing was started"))?;
    let options = TestbedOptions {
        behaviour: Behaviour::of(fault.as_deref()).map_err(|error| start_failure(&error.into()))?,
        no_controller: args.no_controller,
        bind: Some(args.listen),
        crds: definitions,
        without,
        workloads: !args.no_workloads,
        namespace_companions: true,
        ..TestbedOptions::default()
    };
    let testbed = Testbed::start(options).await.map_err(|error| start_failure(&error))?;
    let kubeconfig = KubeconfigFile::write(args.kubeconfig, &testbed)?;
    let served = Served {
        server: testbed.server().url().to_string(),
        kubeconfig: kubeconfig.path.display().to_string(),
        gateway_class: (!args.no_controller).then(|| testbed.gateway_class().to_string()),
        dial_rule: (!args.no_controller).then(|| testbed.dial_rule().to_string()),
        gateway_network: (!args.no_controller).then(|| testbed.gateway_network()),
    };
    match args.format.format {
        Format::Json => output::json_line(&served)?,
        Format::Text => served.print(),
    }
    signals.next().await;
    testbed.shutdown().await;
    Ok(exit_codes::PASSED)
}

/// The file that names this testbed; it is taken away when the testbed ends.
struct KubeconfigFile {
    path: PathBuf,
    text: String,
}

impl KubeconfigFile {
    /// Writes it, unless there is a kubeconfig of something else in its place.
    fn write(path: PathBuf, testbed: &Testbed) -> Result<KubeconfigFile, Failure> {
        let elsewhere = "name another file with --kubeconfig";
        if std::fs::read_to_string(&path).is_ok_and(|text| !text.contains(CONTEXT_LINE)) {
            let message = format!("{} is there already, and not a testbed's kubeconfig", path.display());
            return Err(Failure::usage(message, elsewhere));
        }
        testbed
            .server()
            .write_kubeconfig(&path)
            .map_err(|error| Failure::environment(format!("cannot write {}: {error}", path.display()), elsewhere))?;
        Ok(KubeconfigFile { path, text: testbed.kubeconfig() })
    }
}

impl Drop for KubeconfigFile {
    fn drop(&mut self) {
        // Another testbed may have the place by now. If somebody took the file away already, that is as good.
        if std::fs::read_to_string(&self.path).is_ok_and(|text| text == self.text) {
            let _ = std::fs::remove_file(&self.path);
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
