//! `gateproof list`: what there is.

use clap::Subcommand;
use gateproof_controllers::faults;
use gateproof_suites::{Requirement, features, profiles, requirements};
use schemars::JsonSchema;
use serde::Serialize;

use super::options::Selection;
use super::output::{self, Format, FormatArg};
use super::{Failure, Outcome};
use crate::exit_codes;
use crate::judge::contract::Contract;
use crate::scenario::{Scenario, Vocabulary, select};

/// List scenarios, features, profiles, requirements or faults
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  gateproof list scenarios HTTPRoute\n  gateproof list requirements --format json")]
pub(crate) struct Args {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, Subcommand)]
enum What {
    /// Scenarios, with what they prove
    Scenarios {
        #[command(flatten)]
        selection: Selection,
        #[command(flatten)]
        format: FormatArg,
    },
    /// Features that an implementation may claim
    Features(FormatArg),
    /// Conformance profiles
    Profiles(FormatArg),
    /// Clauses of the specification, with who proves them
    Requirements(FormatArg),
    /// Named misbehaviours of the embedded reference
    Faults(FormatArg),
}

/// A scenario.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct ScenarioItem {
    /// Its name.
    name: String,
    /// Its suite.
    suite: String,
    /// File of the manifest.
    file: String,
    /// Its sentence.
    summary: String,
    /// Features that it needs.
    features: Vec<String>,
    /// The first release at which it has a meaning.
    since: Option<String>,
    /// The first release at which it has none any more.
    until: Option<String>,
    /// What it proves.
    proves: Vec<String>,
}

/// A clause of the specification, with who proves it.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct RequirementItem {
    #[serde(flatten)]
    requirement: &'static Requirement,
    /// How far it is proven.
    state: State,
    /// Scenarios that prove it.
    scenarios: Vec<String>,
    /// Rules of the status contract that prove it.
    rules: Vec<&'static str>,
}

/// How far a requirement is proven.
#[derive(Debug, Clone, Copy, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum State {
    /// By a scenario or a rule of the status contract.
    Proven,
    /// It is for later, and says why.
    Later,
    /// It cannot be seen in a cluster.
    Untested,
    /// It is a rule for the harness itself, which unit tests hold.
    Harness,
    /// Nothing proves it yet.
    Open,
}

impl State {
    fn text(self) -> &'static str {
        match self {
            State::Proven => "proven",
            State::Later => "later",
            State::Untested => "untested",
            State::Harness => "harness",
            State::Open => "open",
        }
    }
}

/// A named misbehaviour of the embedded reference.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct FaultItem {
    /// Its name.
    name: &'static str,
    /// The seam that it replaces.
    seam: &'static str,
    /// What it does.
    summary: &'static str,
    /// Clauses that it breaks.
    clauses: &'static [&'static str],
}

/// Runs the verb.
pub(crate) fn run(args: &Args) -> Outcome {
    match &args.what {
        What::Scenarios { selection, format } => {
            let items: Vec<ScenarioItem> = selection.scenarios()?.iter().map(scenario).collect();
            list(*format, &items, |item| [item.name.clone(), item.features.join(", "), item.summary.clone()])
        }
        What::Features(format) => list(*format, features(), |item| {
            [item.name.clone(), item.level.word().to_owned(), item.channel.word().to_owned()]
        }),
        What::Profiles(format) => {
            list(*format, profiles(), |item| [item.name.clone(), item.about.clone(), item.core.join(", ")])
        }
        What::Requirements(format) => list(*format, &all_requirements()?, |item| {
            [item.requirement.id.clone(), item.state.text().to_owned(), item.requirement.text.clone()]
        }),
        What::Faults(format) => {
            list(*format, &all_faults(), |item| [item.name.to_owned(), item.seam.to_owned(), item.summary.to_owned()])
        }
    }?;
    Ok(exit_codes::PASSED)
}

fn list<T: Serialize>(format: FormatArg, items: &[T], cells: impl Fn(&T) -> [String; 3]) -> Result<(), Failure> {
    if format.format == Format::Json {
        return output::json(items);
    }
    output::columns(&items.iter().map(cells).collect::<Vec<_>>());
    Ok(())
}

fn scenario(scenario: &Scenario) -> ScenarioItem {
    ScenarioItem {
        name: scenario.name.clone(),
        suite: scenario.suite.clone(),
        file: scenario.file.clone(),
        summary: scenario.summary.clone(),
        features: scenario.features.clone(),
        since: scenario.bounds.since.map(|version| version.to_string()),
        until: scenario.bounds.until.map(|version| version.to_string()),
        proves: select::clauses(scenario).iter().map(ToString::to_string).collect(),
    }
}

fn all_faults() -> Vec<FaultItem> {
    let item = |fault: &faults::Fault| FaultItem {
        name: fault.name,
        seam: fault.seam.name(),
        summary: fault.summary,
        clauses: fault.clauses,
    };
    faults::catalogue().iter().map(item).collect()
}

fn all_requirements() -> Result<Vec<RequirementItem>, Failure> {
    let vocabulary = Vocabulary::builtin();
    let scenarios = super::options::load_scenarios(&[], &vocabulary)?;
    let contract = super::options::contract()?;
    Ok(requirements().iter().map(|r| requirement(r, &scenarios, &contract)).collect())
}

fn requirement(requirement: &'static Requirement, scenarios: &[Scenario], contract: &Contract) -> RequirementItem {
    let id = requirement.id.as_str();
    let by_scenarios: Vec<String> = scenarios
        .iter()
        .filter(|scenario| select::clauses(scenario).iter().any(|clause| &**clause == id))
        .map(|scenario| scenario.name.clone())
        .collect();
    let rules = contract.rules_proving(id);
    let proven = !by_scenarios.is_empty() || !rules.is_empty();
    let state = match (proven, &requirement.later, &requirement.untested) {
        (true, ..) => State::Proven,
        (false, Some(_), _) => State::Later,
        (false, None, Some(_)) => State::Untested,
        (false, None, None) if !requirement.in_scope() => State::Harness,
        (false, None, None) => State::Open,
    };
    RequirementItem { requirement, state, scenarios: by_scenarios, rules }
}
