//! Every scenario on the embedded target, one test each. `cargo test --test scenarios NAME` runs what matches.
//!
//! They run together, as users run them, the first time that one of them is asked for; those that need a target that
//! lacks something on one that does. Those that are bound to older releases have nothing to say here: `bundles.rs` runs them.

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

use gateproof::dialects::Reference;
use gateproof::judge::contract::Contract;
use gateproof::run::replay::replay;
use gateproof::run::{self, RunOptions, RunOutput, Silent, TargetChoice, embedded};
use gateproof::scenario::scope::{Lacking, by_lacking};
use gateproof::scenario::{Basis, Channel, Scenario, Vocabulary, load};
use gateproof_report::record::{Outcome, Severity};
use gateproof_report::terminal;
use libtest_mimic::{Arguments, Failed, Trial};

/// The name under which the contract is reported, beside the scenarios.
const CONTRACT: &str = "contract";

/// The name under which it is reported whether a log is judged again to the record that was made as it was written.
const REPLAY: &str = "replay";

type Results = BTreeMap<String, Result<(), String>>;

fn main() {
    let arguments = Arguments::from_args();
    let vocabulary = Vocabulary::builtin();
    let scenarios = load::builtin(&vocabulary).expect("the built-in manifests are well-formed");
    let results: Arc<OnceLock<Results>> = Arc::default();
    let wanted: Vec<Scenario> = scenarios.iter().filter(|s| is_wanted(&arguments, &s.name)).cloned().collect();
    let wanted = Arc::new(wanted);
    let names = scenarios.iter().map(|s| s.name.clone()).chain([CONTRACT, REPLAY].map(str::to_owned));
    let trials = names
        .map(|name| {
            let (results, wanted) = (Arc::clone(&results), Arc::clone(&wanted));
            Trial::test(name.clone(), move || {
                let results = results.get_or_init(|| run_all(wanted.to_vec()));
                match results.get(&name) {
                    Some(Ok(())) => Ok(()),
                    Some(Err(text)) => Err(Failed::from(text)),
                    None => Err(Failed::from("it was not run")),
                }
            })
        })
        .collect();
    libtest_mimic::run(&arguments, trials).exit();
}

fn is_wanted(arguments: &Arguments, name: &str) -> bool {
    let matches = |pattern: &String| if arguments.exact { name == pattern } else { name.contains(pattern.as_str()) };
    arguments.filter.as_ref().is_none_or(matches) && !arguments.skip.iter().any(matches)
}

fn run_all(scenarios: Vec<Scenario>) -> Results {
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    let mut results = Results::new();
    let (mut broken, mut changed) = (Vec::new(), Vec::new());
    for (lacking, scenarios) in by_lacking(scenarios) {
        let mut left = scenarios;
        // What a busy machine does not let be told is asked again, a scenario at a time.
        for jobs in [None, Some(1)] {
            let output = runtime.block_on(run_some(&lacking, left.clone(), jobs, &mut results));
            changed.extend(judged_otherwise(&output, &left));
            let record = output.record;
            let rules = record.contract.iter();
            let rules = rules.filter(|rule| rule.severity == Severity::Failure && !rule.breaches.is_empty());
            broken.extend(rules.map(terminal::contract));
            let outcome = |name: &str| record.scenarios.iter().find(|one| one.name == name).map(|one| one.outcome);
            left.retain(|scenario| outcome(&scenario.name) == Some(Outcome::Inconclusive));
            if left.is_empty() {
                break;
            }
        }
    }
    for (name, told) in [(CONTRACT, broken), (REPLAY, changed)] {
        results.insert(name.to_owned(), if told.is_empty() { Ok(()) } else { Err(told.join("\n")) });
    }
    results
}

/// What of a run comes out otherwise when its log is judged again.
fn judged_otherwise(output: &RunOutput, scenarios: &[Scenario]) -> Vec<String> {
    let again = match replay(&output.events, scenarios, &contract(), None) {
        Ok(again) => again,
        Err(error) => return vec![format!("the log cannot be judged again: {error}")],
    };
    let ran = output.record.scenarios.iter();
    let ran = ran.filter(|one| !matches!(one.outcome, Outcome::NotSupported | Outcome::Skipped));
    let mut changed = Vec::new();
    if !ran.clone().map(|one| &one.name).eq(again.scenarios.iter().map(|one| &one.name)) {
        changed.push("other scenarios are judged than ran".to_owned());
    }
    changed.extend(
        ran.zip(&again.scenarios)
            .filter(|(then, now)| then != now)
            .map(|(then, now)| format!("{} was judged\n{then:#?}\nand then\n{now:#?}", then.name)),
    );
    if again.contract != output.record.contract {
        changed.push("the contract is judged otherwise".to_owned());
    }
    if !output.leftovers.is_empty() {
        changed.push(format!("left behind: {:?}", output.leftovers));
    }
    changed
}

fn contract() -> Arc<Contract> {
    Arc::new(Contract::parse(gateproof_suites::contracts::GATEWAY_API).expect("the contract is well-formed"))
}

async fn run_some(
    lacking: &Lacking,
    scenarios: Vec<Scenario>,
    jobs: Option<usize>,
    results: &mut Results,
) -> RunOutput {
    let options = RunOptions::new(TargetChoice::embedded(Reference::GatewayApi, None), contract());
    let jobs = jobs.unwrap_or(options.jobs);
    let features = embedded::held_to(Reference::GatewayApi);
    let options = RunOptions { jobs, features, ..options }.lacking(lacking.clone());
    let all = scenarios.clone();
    let output = match run::run(options, scenarios, &mut Silent).await {
        Ok(output) => output,
        Err(error) => panic!("the embedded target cannot be tested: {error}"),
    };
    let record = &output.record;
    let release = record
        .target
        .gateway_api_version
        .as_deref()
        .unwrap_or_default()
        .parse()
        .expect("the embedded target names its release");
    let is_for_others = |name: &str| {
        all.iter().any(|s| s.name == name && !s.bounds.admits(Basis::release(release, Channel::Experimental)))
    };
    for scenario in &record.scenarios {
        let passed = match scenario.outcome {
            Outcome::Passed => true,
            Outcome::NotSupported => is_for_others(&scenario.name),
            _ => false,
        };
        results.insert(scenario.name.clone(), if passed { Ok(()) } else { Err(terminal::failure(scenario, &[])) });
    }
    output
}
