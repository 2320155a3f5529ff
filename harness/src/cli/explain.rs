//! `gateproof explain`: one scenario whole.

use gateproof_testbed::KnownFault;
use schemars::JsonSchema;
use serde::Serialize;

use super::each::{self, Documents};
use super::options::{Selected, Selection};
use super::output::{self, Format, FormatArg, say};
use super::{Failure, Outcome};
use crate::exit_codes;
use crate::run::embedded;
use crate::scenario::{Level, Scenario, expectations, select};
use crate::suite::Suite;

/// Explain scenarios: clauses, expectations, manifest, faults that they notice
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  gateproof explain httproute-missing-backend
  gateproof explain 'kuadrant-*' aso-deletion-refused --dialect kuadrant,aso    each in the dialect that has it")]
pub(crate) struct Args {
    #[command(flatten)]
    selection: Selection,
    #[command(flatten)]
    format: FormatArg,
}

/// A scenario whole.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Explanation {
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
    /// Features that its target must not claim.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    without: Vec<String>,
    /// Scripted services that it needs.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    services: Vec<String>,
    /// The first release at which it has a meaning.
    #[serde(skip_serializing_if = "Option::is_none")]
    since: Option<String>,
    /// The first release at which it has none any more.
    #[serde(skip_serializing_if = "Option::is_none")]
    until: Option<String>,
    /// What it proves.
    proves: Vec<Clause>,
    /// What it asserts, in order of the manifest.
    expectations: Vec<Asserted>,
    /// Faults that break one of its clauses.
    faults: Vec<Killer>,
}

/// A clause of the specification, an upstream test or a blind spot of one.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Clause {
    /// Its ID.
    id: String,
    /// What it asks.
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<String>,
    /// Where it stands: a URL.
    #[serde(skip_serializing_if = "Option::is_none")]
    source: Option<String>,
}

/// An expectation.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Asserted {
    /// Its name, as in findings.
    id: String,
    /// How binding it is.
    level: Level,
    /// Line of the manifest.
    line: usize,
}

/// A fault that breaks a clause of the scenario.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Killer {
    /// Its name.
    name: String,
    /// What it does.
    summary: String,
}

/// Runs the verb.
pub(crate) async fn run(args: &Args) -> Outcome {
    let format = args.format.format;
    each::selection(&args.selection, format, async |selection, documents| one(&selection, format, documents)).await
}

fn one(selection: &Selection, format: Format, documents: &mut Documents) -> Outcome {
    let explanations: Vec<Explanation> = {
        let Selected { suite, chosen, .. } = selection.among_all()?;
        chosen.iter().map(|scenario| explanation(scenario, &suite)).collect()
    };
    if format == Format::Json {
        documents.json(&explanations)?;
    } else {
        explanations.iter().for_each(print);
    }
    Ok::<u8, Failure>(exit_codes::PASSED)
}

fn explanation(scenario: &Scenario, suite: &Suite) -> Explanation {
    let clauses = select::clauses(scenario);
    let proves = clauses.iter().map(|clause| {
        let said = suite.said(clause);
        let (text, source) = said.map_or((None, None), |said| (Some(said.text), said.source));
        Clause { id: clause.to_string(), text, source }
    });
    let asserted = |expectation: expectations::Expectation| Asserted {
        id: expectation.id,
        level: expectation.level,
        line: expectation.line,
    };
    let broken = |fault: &KnownFault| fault.clauses.iter().any(|c| clauses.iter().any(|clause| &**clause == *c));
    let killer = |fault: KnownFault| Killer { name: fault.name.to_owned(), summary: fault.summary.to_owned() };
    Explanation {
        name: scenario.name.clone(),
        suite: scenario.suite.clone(),
        file: scenario.file.clone(),
        summary: scenario.summary.clone(),
        features: scenario.features.clone(),
        without: scenario.without.clone(),
        services: scenario.services().into_iter().map(str::to_owned).collect(),
        since: scenario.bounds.since.map(|version| version.to_string()),
        until: scenario.bounds.until.map(|version| version.to_string()),
        proves: proves.collect(),
        expectations: expectations::enumerate(scenario).into_iter().map(asserted).collect(),
        // Faults are those of the embedded target.
        faults: suite
            .reference()
            .map_or_else(Vec::new, embedded::faults)
            .into_iter()
            .filter(broken)
            .map(killer)
            .collect(),
    }
}

fn print(explanation: &Explanation) {
    say!("{} ({})\n  {}\n", explanation.name, explanation.file, explanation.summary);
    say!("features: {}", explanation.features.join(", "));
    if !explanation.without.is_empty() {
        say!("without: {}", explanation.without.join(", "));
    }
    if !explanation.services.is_empty() {
        say!("services: {}", explanation.services.join(", "));
    }
    for (word, version) in [("since", &explanation.since), ("until", &explanation.until)] {
        if let Some(version) = version {
            say!("{word}: {version}");
        }
    }
    say!("\nproves:");
    for clause in &explanation.proves {
        match (&clause.text, &clause.source) {
            (Some(text), Some(source)) => say!("  {}  {text}\n    {source}", clause.id),
            (Some(text), None) => say!("  {}  {text}", clause.id),
            (None, _) => say!("  {}", clause.id),
        }
    }
    say!("\nexpectations:");
    let row = |expectation: &Asserted| {
        let level = format!("{:?}", expectation.level).to_uppercase();
        [format!("  {level}"), format!("line {}", expectation.line), expectation.id.clone()]
    };
    output::columns(&explanation.expectations.iter().map(row).collect::<Vec<_>>());
    if !explanation.faults.is_empty() {
        say!("\nfaults that break one of these clauses (try --target embedded:NAME):");
        let row = |fault: &Killer| [format!("  {}", fault.name), fault.summary.clone()];
        output::columns(&explanation.faults.iter().map(row).collect::<Vec<_>>());
    }
    say!("");
}
