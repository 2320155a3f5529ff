//! `gateproof list`: what there is.

use clap::Subcommand;
use gateproof_controllers::faults;
use gateproof_suites::{features, profiles, requirements};
use serde_json::{Value, json};

use super::options::Selection;
use super::output::{self, Format};
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

#[derive(Debug, Clone, Copy, clap::Args)]
struct FormatArg {
    /// How to print it
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
}

/// Runs the verb.
pub(crate) fn run(args: &Args) -> Outcome {
    match &args.what {
        What::Scenarios { selection, format } => scenarios(&selection.scenarios()?, format.format),
        What::Features(format) => list(format.format, &all_features(), ["name", "level", "channel"]),
        What::Profiles(format) => list(format.format, &all_profiles(), ["name", "about", "core"]),
        What::Requirements(format) => list(format.format, &all_requirements()?, ["id", "state", "text"]),
        What::Faults(format) => list(format.format, &all_faults(), ["name", "seam", "summary"]),
    }?;
    Ok(exit_codes::PASSED)
}

fn list(format: Format, items: &[Value], shown: [&str; 3]) -> Result<(), Failure> {
    if format == Format::Json {
        return output::json(items);
    }
    let cell = |item: &Value, key: &str| match &item[key] {
        Value::String(text) => text.clone(),
        Value::Array(parts) => parts.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(", "),
        other => other.to_string(),
    };
    let rows: Vec<[String; 3]> = items.iter().map(|item| shown.map(|key| cell(item, key))).collect();
    output::columns(&rows);
    Ok(())
}

fn scenarios(scenarios: &[Scenario], format: Format) -> Result<(), Failure> {
    let items: Vec<Value> = scenarios
        .iter()
        .map(|scenario| {
            json!({
                "name": scenario.name,
                "suite": scenario.suite,
                "file": scenario.file,
                "summary": scenario.summary,
                "features": scenario.features,
                "since": scenario.bounds.since.map(|v| v.to_string()),
                "until": scenario.bounds.until.map(|v| v.to_string()),
                "proves": select::clauses(scenario),
            })
        })
        .collect();
    list(format, &items, ["name", "features", "summary"])
}

fn all_features() -> Vec<Value> {
    features().iter().map(|feature| json!(feature)).collect()
}

fn all_profiles() -> Vec<Value> {
    profiles().iter().map(|profile| json!(profile)).collect()
}

fn all_faults() -> Vec<Value> {
    faults::catalogue()
        .iter()
        .map(|fault| {
            json!({
                "name": fault.name,
                "seam": fault.seam.name(),
                "summary": fault.summary,
                "clauses": fault.clauses,
            })
        })
        .collect()
}

/// Every requirement with who proves it: `proven`, `harness` (a rule for the harness itself, held by unit tests),
/// `untested`, `later`, or `open`.
fn all_requirements() -> Result<Vec<Value>, Failure> {
    let vocabulary = Vocabulary::builtin();
    let scenarios = super::options::load_scenarios(&[], &vocabulary)?;
    let contract = super::options::contract()?;
    Ok(requirements().iter().map(|r| requirement(r, &scenarios, &contract)).collect())
}

fn requirement(requirement: &gateproof_suites::Requirement, scenarios: &[Scenario], contract: &Contract) -> Value {
    let id = requirement.id.as_str();
    let by_scenarios: Vec<&str> = scenarios
        .iter()
        .filter(|scenario| select::clauses(scenario).iter().any(|clause| &**clause == id))
        .map(|scenario| scenario.name.as_str())
        .collect();
    let by_rules = contract.rules_proving(id);
    let proven = !by_scenarios.is_empty() || !by_rules.is_empty();
    let state = match (proven, &requirement.later, &requirement.untested) {
        (true, ..) => "proven",
        (false, Some(_), _) => "later",
        (false, None, Some(_)) => "untested",
        (false, None, None) if !requirement.in_scope() => "harness",
        (false, None, None) => "open",
    };
    let mut item = json!(requirement);
    item["state"] = json!(state);
    item["scenarios"] = json!(by_scenarios);
    item["rules"] = json!(by_rules);
    item
}
