//! `gateproof explain`: one scenario whole.

use gateproof_controllers::faults;
use gateproof_suites::requirement;

use super::Outcome;
use super::options::Selection;
use crate::exit_codes;
use crate::scenario::{Scenario, expectations, select};

/// Explain scenarios: clauses, expectations, manifest, faults that they notice
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  gateproof explain httproute-missing-backend")]
pub(crate) struct Args {
    #[command(flatten)]
    selection: Selection,
}

/// Runs the verb.
pub(crate) fn run(args: &Args) -> Outcome {
    for scenario in args.selection.scenarios()? {
        explain(&scenario);
    }
    Ok(exit_codes::PASSED)
}

fn explain(scenario: &Scenario) {
    println!("{} ({})\n  {}\n", scenario.name, scenario.file, scenario.summary);
    println!("features: {}", scenario.features.join(", "));
    for (word, version) in [("since", scenario.bounds.since), ("until", scenario.bounds.until)] {
        if let Some(version) = version {
            println!("{word}: {version}");
        }
    }
    println!("\nproves:");
    let clauses = select::clauses(scenario);
    for clause in &clauses {
        match requirement(clause) {
            Some(requirement) => println!("  {clause}  {}\n    {}", requirement.text, requirement.source),
            None => println!("  {clause}"),
        }
    }
    println!("\nexpectations:");
    for expectation in expectations::enumerate(scenario) {
        let level = format!("{:?}", expectation.level).to_uppercase();
        println!("  {level:<6} line {:<4} {}", expectation.line, expectation.id);
    }
    let killers: Vec<_> = faults::catalogue()
        .iter()
        .filter(|fault| fault.clauses.iter().any(|c| clauses.iter().any(|clause| &**clause == *c)))
        .collect();
    if !killers.is_empty() {
        println!("\nfaults that break one of these clauses (try --target embedded:NAME):");
        for fault in killers {
            println!("  {}  {}", fault.name, fault.summary);
        }
    }
    println!();
}
