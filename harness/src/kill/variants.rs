//! Proof that nothing complains of what the specification leaves open.
//!
//! Every scenario passes on every legal variant, without a warning but for what the variant says that it leaves undone,
//! and no rule of the contract is broken. What is complained of is looked at again with little else going on.

use std::sync::Arc;

use futures::StreamExt;
use gateproof_report::record::{ContractRecord, Finding, Outcome, RunRecord, Severity};
use gateproof_testbed::KnownVariant;
use schemars::JsonSchema;
use serde::Serialize;

use super::plan::{Plan, Watcher};
use crate::log::Timing;
use crate::run::{self, RunError, Silent};
use crate::scenario::Scenario;
use crate::scenario::scope::by_lacking;

/// Scenarios at once in a second look.
const PATIENT_JOBS: usize = 4;

/// What legal variants came to.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Varied {
    /// How many scenarios ran, on all variants together: those that a target does not support did not.
    pub runs: usize,
    /// What was complained of.
    pub blamed: Vec<Blamed>,
}

/// A complaint of what is legal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Blamed {
    /// The variant.
    pub variant: String,
    /// The scenario, or the rule of the contract.
    pub by: String,
    /// What it says.
    pub why: String,
}

/// Runs scenarios on variants, each on a target of its own.
///
/// # Errors
/// If the embedded target cannot be tested at all.
pub async fn vary(
    plan: &Plan,
    trials: &[(KnownVariant, Arc<[Scenario]>)],
    watcher: &dyn Watcher,
) -> Result<Varied, RunError> {
    watcher.planned(trials.len());
    let looks = futures::stream::iter(trials.iter().map(|(variant, scenarios)| async move {
        // A target that could not be tested on a busy machine is looked at again as well.
        let Ok((runs, found)) = with(plan, variant, scenarios.to_vec(), None).await else {
            watcher.ran(variant.name, scenarios.len());
            return (variant, None, scenarios.to_vec(), Vec::new());
        };
        let (doubtful, blamed): (Vec<Blamed>, Vec<Blamed>) =
            found.into_iter().partition(|one| scenarios.iter().any(|scenario| scenario.name == one.by));
        let is_doubtful = |scenario: &&Scenario| doubtful.iter().any(|one| one.by == scenario.name);
        let again: Vec<Scenario> = scenarios.iter().filter(is_doubtful).cloned().collect();
        watcher.ran(variant.name, blamed.len() + again.len());
        (variant, Some(runs), again, blamed)
    }));
    let looks: Vec<_> = looks.buffer_unordered(at_once(plan.targets, trials)).collect().await;
    watcher.planned(looks.iter().filter(|(_, _, again, _)| !again.is_empty()).count());
    let mut varied = Varied::default();
    for (variant, mut runs, again, mut blamed) in looks {
        if !again.is_empty() {
            let (ran, found) = with(plan, variant, again, Some(PATIENT_JOBS)).await?;
            runs = runs.or(Some(ran));
            blamed.extend(found);
            watcher.ran(variant.name, blamed.len());
        }
        varied.runs += runs.unwrap_or_default();
        varied.blamed.extend(blamed);
    }
    Ok(varied)
}

/// More scenarios than that keep a core busy by themselves, where few mostly wait.
const MANY: usize = 100;

/// Targets at once. What the machine is too busy for is looked at again, one variant after another, and that takes longest of all.
fn at_once(targets: usize, trials: &[(KnownVariant, Arc<[Scenario]>)]) -> usize {
    let are_many = trials.iter().any(|(_, scenarios)| scenarios.len() > MANY);
    if are_many { targets.div_ceil(4).max(1) } else { targets.max(1) }
}

/// How many scenarios ran, and what is complained of, on a target for each group of scenarios that no other one is right for.
async fn with(
    plan: &Plan,
    variant: &KnownVariant,
    scenarios: Vec<Scenario>,
    jobs: Option<usize>,
) -> Result<(usize, Vec<Blamed>), RunError> {
    let mut options = plan.run_on(Some(format!("variant:{}", variant.name)));
    options.jobs = jobs.unwrap_or(options.jobs);
    // Who waits for the wrong thing has no time left when the right one comes.
    options.timing = variant.delay.map(|delay| Timing { converge: delay / 2, ..options.timing() });
    let (mut runs, mut all) = (0, Vec::new());
    for (lacking, scenarios) in by_lacking(scenarios) {
        let options = options.clone().lacking(lacking);
        let record = run::run(options, scenarios, &mut Silent).await?.record;
        runs += record.scenarios.iter().filter(|scenario| scenario.outcome != Outcome::NotSupported).count();
        all.extend(complaints(variant, &record));
    }
    Ok((runs, all))
}

fn complaints(variant: &KnownVariant, record: &RunRecord) -> impl Iterator<Item = Blamed> {
    let blamed = |by: &str, why: String| Blamed { variant: variant.name.to_owned(), by: by.to_owned(), why };
    let mut all = Vec::new();
    for scenario in &record.scenarios {
        let left_undone = |finding: &&Finding| {
            let is_known = |clause: &String| variant.leaves_undone.contains(&clause.as_str());
            finding.severity == Severity::Warning && finding.clauses.iter().any(is_known)
        };
        let complaints = scenario.findings.iter().filter(|finding| finding.severity > Severity::Note);
        let found = complaints.filter(|finding| !left_undone(finding)).map(|finding| {
            blamed(&scenario.name, format!("{}: {}, seen: {}", finding.expectation, finding.expected, finding.seen))
        });
        let before = all.len();
        all.extend(found);
        let is_fine = matches!(scenario.outcome, Outcome::Passed | Outcome::NotSupported);
        if !is_fine && all.len() == before {
            let why = scenario.reason.clone().unwrap_or_default();
            all.push(blamed(&scenario.name, format!("{:?}: {why}", scenario.outcome)));
        }
    }
    let left_undone = |rule: &&ContractRecord| {
        let is_known = |clause: &String| variant.leaves_undone.contains(&clause.as_str());
        rule.severity == Severity::Warning && rule.clauses.iter().any(is_known)
    };
    for rule in record.contract.iter().filter(|rule| !rule.breaches.is_empty() && !left_undone(rule)) {
        all.push(blamed(&rule.name, format!("{:?}", rule.breaches[0])));
    }
    all.into_iter()
}
