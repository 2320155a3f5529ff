//! Arguments that several verbs share, and what they resolve to.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::dialect::{DialectArg, named_cluster};
use super::output::tell;
use super::own::{Needs, Own};
use super::services::ServiceArgs;
use super::{Failure, crds, own};
use crate::cluster::connect::{ConnectError, Source};
use crate::cluster::schemas::Schemas;
use crate::dialects::{Profile, Reference};
use crate::run::{RunOptions, TargetChoice, embedded};
use crate::scenario::known::{self, Nameable};
use crate::scenario::load::{self, LoadError};
use crate::scenario::{Diagnostic, Scenario, Vocabulary, lint, select};
use crate::suite::Suite;
use clap::Args;
use gateproof_report::known::KnownFailure;
use gateproof_report::words::counted;
use gateproof_suites::Membership;
use gateproof_testbed::UnknownBehaviour;

/// Which scenarios.
#[derive(Debug, Clone, Args)]
pub(crate) struct Selection {
    /// Globs of scenario names, upstream test names, requirement IDs, features, profiles or suites; everything unless given
    #[arg(value_name = "SELECTION")]
    pub(crate) selectors: Vec<String>,

    /// Of these only what counts in this profile, or in one of several; `gateproof list profiles` names them
    #[arg(long = "profile", value_name = "PROFILE")]
    pub(crate) profiles: Vec<String>,

    /// Scenario manifests (a file or a folder) instead of those of the dialect
    #[arg(short = 'f', long = "file", value_name = "PATH")]
    pub(crate) files: Vec<PathBuf>,

    #[command(flatten)]
    pub(crate) dialect: DialectArg,
}

/// What a selection comes to.
pub(crate) struct Selected {
    /// What the target is judged by.
    pub(crate) suite: Suite,
    /// The scenarios, in order.
    pub(crate) chosen: Vec<Scenario>,
    /// All that there are.
    pub(crate) all: Vec<Scenario>,
}

impl Selection {
    /// The selected scenarios, in order, and all that there are.
    pub(crate) fn among_all(&self) -> Result<Selected, Failure> {
        let suite = self.dialect.suite()?;
        let all = scenarios_of(&suite, &self.files)?;
        self.among(suite, all)
    }

    /// The selected ones of these, in order.
    pub(crate) fn among(&self, suite: Suite, all: Vec<Scenario>) -> Result<Selected, Failure> {
        let mut chosen = match select::select(&all, &self.selectors, &suite.vocabulary) {
            Ok(chosen) => chosen,
            Err(error) => {
                let help = "`gateproof list scenarios` shows what there is; see also `gateproof help run`".to_owned();
                let elsewhere = self.edition_with_it(&suite)?;
                let elsewhere = elsewhere.map(|edition| format!("it is there with --edition {edition}"));
                return Err(Failure::usage(error, elsewhere.unwrap_or(help)));
            }
        };
        if !self.profiles.is_empty() {
            let wanted = own::profiles_named(&self.profiles, &suite)?;
            chosen.retain(|index| wanted.iter().any(|profile| counts(&all[*index], profile).is_some()));
            if chosen.is_empty() {
                let error = format!("no selected scenario counts in {}", self.profiles.join(" or "));
                return Err(Failure::usage(error, "`gateproof list scenarios --format json` shows what counts where"));
            }
        }
        let chosen = chosen.into_iter().map(|index| all[index].clone()).collect();
        Ok(Selected { suite, chosen, all })
    }

    /// What of it each of several dialects has, with the name of the dialect. Those that have nothing of it are left out.
    pub(crate) fn each(&self) -> Result<Vec<(String, Selection)>, Failure> {
        if !self.files.is_empty() {
            let problem = "a manifest of --file is about one dialect, and these are several";
            return Err(Failure::usage(problem, "name that one with --dialect"));
        }
        let each = self.dialect.each()?;
        let scenarios: Vec<Vec<Scenario>> =
            each.iter().map(|(_, suite)| scenarios_of(suite, &[])).collect::<Result<_, _>>()?;
        let selects = |(all, suite): (&Vec<Scenario>, &Suite), word: &str| {
            select::select(all, &[word.to_owned()], &suite.vocabulary).map(|_| ())
        };
        let of = || scenarios.iter().zip(each.iter().map(|(_, suite)| suite));
        let selectors: Vec<_> = of().map(|one| move |word: &str| selects(one, word).is_ok()).collect();
        let counts = |suite: &Suite, name: &str| own::profiles_named(&[name.to_owned()], suite).map(|_| ());
        let profiles: Vec<_> = each.iter().map(|(_, suite)| move |name: &str| counts(suite, name).is_ok()).collect();
        let (names, mut found) = (self.dialect.dialects.join(","), Vec::new());
        for (index, (dialect, suite)) in each.iter().enumerate() {
            let help = || format!("`gateproof list scenarios --dialect {names}` shows what there is");
            let unselected = |word: &str| match of().map(|one| selects(one, word)).find_map(Result::err) {
                Some(error) => Failure::usage(error, help()),
                None => Failure::usage(format!("`{word}` means nothing"), help()),
            };
            let unprofiled = |name: &str| {
                let help = format!("`gateproof list profiles --dialect {names}` names them");
                Failure::usage(format!("--profile {name}: none of these dialects has a profile of this name"), help)
            };
            let selectors = own::words(&self.selectors, index, &selectors).map_err(unselected)?;
            let profiles = own::words(&self.profiles, index, &profiles).map_err(unprofiled)?;
            if let (Some(selectors), Some(profiles)) = (selectors, profiles) {
                let name = suite.dialect.name().to_owned();
                found.push((name, Selection { selectors, profiles, files: Vec::new(), dialect: dialect.clone() }));
            }
        }
        Ok(found)
    }

    /// Another edition of the dialect that has what is selected, if this one has not.
    fn edition_with_it(&self, suite: &Suite) -> Result<Option<String>, Failure> {
        let meant = suite.vocabulary.edition.name();
        for edition in suite.dialect.editions().iter().filter(|edition| Some(&***edition) != meant) {
            let other = DialectArg { edition: Some(edition.clone()), ..self.dialect.clone() }.suite()?;
            let all = scenarios_of(&other, &self.files)?;
            if select::select(&all, &self.selectors, &other.vocabulary).is_ok() {
                return Ok(Some(edition.clone()));
            }
        }
        Ok(None)
    }

    /// What the selection leaves out of `all`, and of the built-in scenarios where others are given: those are what a
    /// ConformanceReport is about.
    pub(crate) fn left_out(&self, chosen: &[Scenario], all: Vec<Scenario>) -> Result<Vec<Arc<Scenario>>, Failure> {
        let others = !self.files.is_empty() && self.dialect.words().is_none();
        let builtin = if others { builtin_scenarios()? } else { Vec::new() };
        let mut known: HashSet<String> = chosen.iter().map(|scenario| scenario.name.clone()).collect();
        let left_out = all.into_iter().chain(builtin).filter(|scenario| known.insert(scenario.name.clone()));
        Ok(left_out.map(Arc::new).collect())
    }
}

/// How a scenario counts in a profile.
pub(crate) fn counts(scenario: &Scenario, profile: &Profile) -> Option<Membership> {
    profile.membership(&scenario.name, scenario.features.iter().map(String::as_str))
}

/// The scenarios of Gateway API that are built in.
pub(crate) fn builtin_scenarios() -> Result<Vec<Scenario>, Failure> {
    load::builtin(&Vocabulary::builtin()).map_err(load_failure)
}

/// The scenarios of the given files, or those of a suite if there are none.
pub(crate) fn scenarios_of(suite: &Suite, files: &[PathBuf]) -> Result<Vec<Scenario>, Failure> {
    let given = if files.is_empty() { None } else { Some(texts(files)?) };
    let texts = match given {
        Some(given) => given,
        // What is built in has been held against its schemas.
        None if suite.reference().is_some() => {
            return load::parsed(&suite.manifests().map_err(load_failure)?, &suite.vocabulary).map_err(load_failure);
        }
        None => suite.manifests().map_err(load_failure)?,
    };
    let (scenarios, problems) = check(&texts, suite)?;
    if problems.is_empty() { Ok(scenarios) } else { Err(load_failure(LoadError::Manifests(problems))) }
}

/// Name and text of every manifest of the given files and folders.
pub(crate) fn texts(files: &[PathBuf]) -> Result<Vec<(String, String)>, Failure> {
    let mut all = Vec::new();
    for file in files {
        all.extend(load::texts(file).map_err(load_failure)?);
    }
    Ok(all)
}

/// The scenarios of manifests, and what is wrong with them, the objects in them included.
pub(crate) fn check(texts: &[(String, String)], suite: &Suite) -> Result<(Vec<Scenario>, Vec<Diagnostic>), Failure> {
    let (scenarios, mut problems) = match load::parsed(texts, &suite.vocabulary) {
        Ok(scenarios) => (scenarios, Vec::new()),
        Err(LoadError::Manifests(problems)) => (Vec::new(), problems),
        Err(error) => return Err(load_failure(error)),
    };
    let schemas = schemas_of(suite);
    for (file, text) in texts {
        problems.extend(lint::objects(file, text, &schemas, &suite.dialect));
        problems.extend(lint::said(file, text, suite, &suite.dialect));
        problems.extend(lint::scripts(file, text, suite));
    }
    let position = |file: &str| texts.iter().position(|(name, _)| name == file);
    problems.sort_by_key(|problem| (position(&problem.file), problem.line, problem.column));
    Ok((scenarios, problems))
}

/// The schemas of what scenarios of a suite may hold, whichever edition they are of.
fn schemas_of(suite: &Suite) -> Schemas {
    let Some(reference) = suite.reference() else { return Schemas::with(suite.definitions_of_editions()) };
    let editions = suite.dialect.editions().iter().map(|edition| embedded::definitions(reference, Some(edition)));
    let definitions: Vec<_> = editions.collect();
    Schemas::with(definitions.iter().map(Vec::as_slice))
}

/// Reads a file of known failures. `all` are the scenarios that it may name.
pub(crate) fn known_failures(file: &Path, all: &[Scenario], suite: &Suite) -> Result<Vec<KnownFailure>, Failure> {
    let text = std::fs::read_to_string(file)
        .map_err(|error| Failure::usage(format!("cannot read {}: {error}", file.display()), "check the path"))?;
    let rules = suite.contract.rule_names();
    let nameable = Nameable { scenarios: all, rules: &rules };
    known::parse(&file.display().to_string(), &text, &suite.vocabulary, nameable).map_err(|problems| {
        for problem in &problems {
            tell!("{:?}", miette::Report::new(problem.clone()));
        }
        Failure::usage(
            format!("{} in {}", counted(problems.len(), "problem", "problems"), file.display()),
            "nothing was applied; `gateproof schema known-failures` is its schema",
        )
    })
}

/// Prints every problem of the manifests, then says how many there are.
pub(crate) fn load_failure(error: LoadError) -> Failure {
    if let LoadError::Manifests(problems) = &error {
        for problem in problems {
            tell!("{:?}", miette::Report::new(problem.clone()));
        }
    }
    Failure::usage(
        error,
        "nothing was applied; `gateproof lint` checks manifests, `gateproof schema manifest` is their schema",
    )
}

/// Why a cluster cannot be reached: what the user wrote, or what answers.
pub(crate) fn connect_failure(error: &ConnectError) -> Failure {
    let help = "nothing was applied";
    match error {
        ConnectError::Kubeconfig(_) | ConnectError::ContextMissing { .. } | ConnectError::Credentials(_) => {
            Failure::usage(error, help)
        }
        ConnectError::Unreachable { .. } | ConnectError::Forbidden { .. } | ConnectError::NotAnApiServer { .. } => {
            Failure::environment(error, help)
        }
    }
}

/// The target unless one is named.
pub(crate) const EMBEDDED: &str = "embedded";

/// Which target.
#[derive(Debug, Clone, Args)]
pub(crate) struct Target {
    /// The target, where no cluster is named: `embedded`, as without it; `embedded:FAULT` to see a fault being caught,
    /// `embedded:variant:NAME` to see a legal variant pass, and several of them with `+` in between
    #[arg(long, value_name = "TARGET", conflicts_with = "gateway_class")]
    pub(crate) target: Option<String>,

    /// Serve these Gateway API definitions on the embedded target instead of the built-in ones: a file or a URL
    #[arg(long, value_name = "FILE|URL", conflicts_with = "gateway_class")]
    pub(crate) crds: Option<crds::Source>,

    /// Leave this definition out on the embedded target, for scenarios that create it, or clustertrustbundles.certificates.k8s.io;
    /// may be repeated
    #[arg(long, value_name = "NAME", conflicts_with = "gateway_class")]
    pub(crate) without_crd: Vec<String>,

    /// Test the cluster of the kubeconfig, with this GatewayClass
    #[arg(long, value_name = "NAME")]
    pub(crate) gateway_class: Option<String>,

    /// Kubeconfig file, instead of $KUBECONFIG and ~/.kube/config
    #[arg(long, value_name = "FILE")]
    pub(crate) kubeconfig: Option<PathBuf>,

    /// Context of the kubeconfig, instead of the current one
    #[arg(long, value_name = "NAME")]
    pub(crate) context: Option<String>,

    #[command(flatten)]
    pub(crate) services: ServiceArgs,
}

/// What means something in some dialects alone.
const OWN: [Own<Target>; 1] = [Own {
    name: "--gateway-class",
    needs: Needs::Class,
    is_given: |target| target.gateway_class.is_some(),
    leave: |target| target.gateway_class = None,
}];

impl Target {
    /// Leaves to one of several dialects what means something in it. What means nothing in any of them stays, and is refused.
    pub(super) fn keep(&mut self, ours: &Suite, all: &[&Suite]) {
        own::keep(&OWN, self, ours, all);
        let is_service = |suite: &Suite, name: &str| suite.dialect.services().iter().any(|known| known == name);
        self.services.retain(|name| own::is_ours(ours, all, |suite| is_service(suite, name)));
    }

    /// Whether no cluster is named.
    pub(crate) fn is_embedded(&self) -> bool {
        self.gateway_class.is_none() && self.kubeconfig.is_none() && self.context.is_none()
    }

    /// What the arguments mean for a target of this suite.
    pub(crate) fn choice(&self, suite: &Suite) -> Result<TargetChoice, Failure> {
        let named = named_cluster(self.kubeconfig.as_ref(), self.context.as_ref());
        let cluster = |name: Option<String>| TargetChoice::Cluster {
            source: source(self.kubeconfig.clone(), self.context.clone()),
            gateway_class: self.gateway_class.clone(),
            name: name.unwrap_or_else(|| "current context".to_owned()),
        };
        match (suite.dialect.class(), &self.gateway_class, named) {
            (Some(_), Some(_), named) => Ok(cluster(named)),
            (Some(class), None, Some(_)) => Err(Failure::usage(
                format!(
                    "--kubeconfig and --context name a cluster, and nothing says what of it is to be tested of the dialect `{}`",
                    suite.dialect.name()
                ),
                format!("name a {} with --gateway-class NAME", class.kind),
            )),
            (None, Some(class), _) => Err(Failure::usage(
                format!("--gateway-class {class} means nothing in the dialect `{}`", suite.dialect.name()),
                "name the cluster with --context or --kubeconfig alone",
            )),
            (None, None, Some(named)) if self.target.is_none() => Ok(cluster(Some(named))),
            (None, None, Some(_)) => Err(Failure::usage("--target and a cluster are two targets", "name one of them")),
            (_, None, None) => self.embedded(suite),
        }
    }

    /// The embedded target of the dialect.
    fn embedded(&self, suite: &Suite) -> Result<TargetChoice, Failure> {
        let Some(reference) = suite.reference() else { return Err(self.nowhere(suite)) };
        let names = behaviours(self.target.as_deref().unwrap_or(EMBEDDED))?;
        embedded::known(reference, names).map_err(|error| unknown_of(reference, error))?;
        Ok(TargetChoice::embedded(reference, names.map(str::to_owned)))
    }

    /// That a dialect without an embedded target needs a cluster, and how one is had without any at hand.
    fn nowhere(&self, suite: &Suite) -> Failure {
        let name = suite.dialect.name();
        let problem = match &self.target {
            Some(target) => format!("--target {target} names an embedded target, and the dialect `{name}` has none"),
            None => format!("nothing names a target, and the dialect `{name}` has no embedded one"),
        };
        let folder = suite.folder().map(|folder| format!(" --dialect {}", folder.display())).unwrap_or_default();
        let (option, whose) = match suite.is_undefined() {
            true => (" --crds CRDS", "of its kinds in CRDS"),
            false => ("", "of its kinds"),
        };
        let help = format!(
            "name the cluster on which your controller runs, with --context or --kubeconfig. Without one at hand, `gateproof testbed \
             --no-controller{folder}{option} --kubeconfig FILE` serves the definitions {whose}: start your controller against FILE, and name that \
             with --kubeconfig"
        );
        Failure::usage(problem, help)
    }

    /// What is given, and means nothing to an embedded target that brings its own.
    fn meaningless(&self) -> Option<&'static str> {
        let given = [
            ("--crds", self.crds.is_some()),
            ("--without-crd", !self.without_crd.is_empty()),
            ("--service", !self.services.service.is_empty()),
        ];
        given.into_iter().find(|(_, given)| *given).map(|(option, _)| option)
    }

    /// The options of a run on it.
    pub(crate) async fn options(&self, suite: &Suite) -> Result<RunOptions, Failure> {
        let choice = self.choice(suite)?;
        let serves = [("--crds", self.crds.is_some()), ("--without-crd", !self.without_crd.is_empty())];
        if let (TargetChoice::Cluster { .. }, Some((option, _))) = (&choice, serves.iter().find(|(_, given)| *given)) {
            let message = format!("{option} says what the embedded target serves, and a cluster is named");
            return Err(Failure::usage(message, "leave it out: a cluster has its own definitions"));
        }
        if let (TargetChoice::Embedded { reference, .. }, Some(option)) = (&choice, self.meaningless())
            && !reference.takes_definitions()
        {
            let message = format!("{option} means nothing for the embedded target of `{}`", suite.dialect.name());
            return Err(Failure::usage(message, "it brings its own; leave the option out, or name a cluster"));
        }
        let mut options = RunOptions::new(choice, Arc::clone(&suite.contract));
        if let Some(source) = &self.crds {
            options.crds = crds::read(source).await?;
        }
        options.services = self.services.read(suite)?;
        options.canary.clone_from(&suite.canary);
        options.request.clone_from(&suite.preflight);
        options.without_crds = crds::left_out(&self.without_crd, &options.crds)?;
        Ok(options)
    }
}

/// Where the cluster is, by kubeconfig and context.
pub(crate) fn source(kubeconfig: Option<PathBuf>, context: Option<String>) -> Source {
    match kubeconfig {
        Some(path) => Source::File { path, context },
        None => Source::Usual { context },
    }
}

/// The names of faults and variants in the name of an embedded target.
fn behaviours(target: &str) -> Result<Option<&str>, Failure> {
    let (kind, names) = target.split_once(':').map_or((target, None), |(kind, names)| (kind, Some(names)));
    if kind != EMBEDDED {
        return Err(Failure::usage(
            format!("`{target}` is not a target"),
            "use `embedded`, `embedded:FAULT`, `embedded:variant:NAME`, or --gateway-class NAME for a cluster",
        ));
    }
    Ok(names)
}

/// A name that means nothing to the embedded target of a dialect.
pub(crate) fn unknown_of(reference: Reference, error: UnknownBehaviour) -> Failure {
    let of = match reference {
        Reference::GatewayApi => String::new(),
        other => format!(" --dialect {}", other.dialect()),
    };
    let shows = |what: &str, near: String| format!("{near}`gateproof list {what}{of}` shows all");
    let (faults, variants) = (embedded::faults(reference), embedded::variants(reference));
    let help = match &error {
        UnknownBehaviour::Fault(name) if variants.iter().any(|variant| variant.name == *name) => {
            shows("faults", format!("did you mean `variant:{name}`? "))
        }
        UnknownBehaviour::Fault(name) => shows("faults", did_you_mean(name, faults.iter().map(|fault| fault.name))),
        UnknownBehaviour::Variant(name) => {
            shows("variants", did_you_mean(name, variants.iter().map(|variant| variant.name)))
        }
        UnknownBehaviour::Twice(_) => "name it once".to_owned(),
    };
    Failure::usage(error, help)
}

fn did_you_mean<'a>(name: &str, names: impl Iterator<Item = &'a str>) -> String {
    crate::scenario::suggest(name, names).map(|near| format!("did you mean `{near}`? ")).unwrap_or_default()
}
