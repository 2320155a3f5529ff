//! What a scenario came to.

use std::time::Duration;

use gateproof_report::record::{Breach, Finding, Outcome, ProbeRecord, Severity, Stage};

use super::contract::Watched;
use crate::log::Ended;

/// A test of shares, as it stood when it stopped.
#[derive(Debug, Clone, PartialEq)]
pub struct ShareRecord {
    /// The step.
    pub step: usize,
    /// Answers counted.
    pub n: u32,
    /// Who answered: name, expected share (0 to 1), count.
    pub counts: Vec<(String, f64, u32)>,
    /// Exact two-sided binomial probability of the most deviating count, if the expected shares were true.
    pub p: f64,
}

/// A step that came out, as far as it has to for the next one: whatever it asks was held against something, and nothing binding
/// was missed for good.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CameOut {
    /// The step.
    pub step: usize,
    /// Which of its legal ends a write came to.
    pub ending: Option<usize>,
}

/// The verdict on one execution of a scenario.
#[derive(Debug, Clone, PartialEq)]
pub struct Verdict {
    /// How it ended: failed before late before inconclusive before passed.
    pub outcome: Outcome,
    /// Why, if inconclusive.
    pub reason: Option<String>,
    /// Misses in order of time. After the first failed one, the rest are marked as consequences.
    pub findings: Vec<Finding>,
    /// How long each stage took.
    pub stages: Vec<Stage>,
    /// Tests of shares.
    pub shares: Vec<ShareRecord>,
    /// What the answers to each probe came to.
    pub probes: Vec<ProbeRecord>,
    /// The steps that came out, in their order.
    pub came_out: Vec<CameOut>,
    /// Expectations that were held against something.
    pub checked: u64,
    /// Breaches of the status contract by objects of the scenario, with the rule's name `contract/<kind>/<rule>`.
    pub contract: Vec<(String, Breach)>,
    /// The scenario's objects that were held against the status contract.
    pub contract_watched: Watched,
    /// Longest settle of the scenario, for the holds of later ones.
    pub slowest_settle: Duration,
}

impl Verdict {
    /// Lets go of what the record of a run does not have, as a run has many: nobody but a replay asks which steps came out. Gives what
    /// counts for the run as a whole.
    pub fn set_aside(&mut self) -> Watched {
        (self.came_out, self.shares) = (Vec::new(), Vec::new());
        self.stages.shrink_to_fit();
        self.probes.shrink_to_fit();
        std::mem::take(&mut self.contract_watched)
    }
}

/// What the outcome depends on.
pub(super) struct Evidence<'a> {
    pub(super) findings: &'a [Finding],
    pub(super) ended: Option<&'a Ended>,
    pub(super) inconclusive: Option<&'a str>,
    /// The step at which the machine stands, if it has not come to an end.
    pub(super) open_step: Option<usize>,
    pub(super) checked: u64,
}

/// Failed before late before inconclusive before passed. A scenario that checked nothing has not passed.
pub(super) fn outcome(evidence: &Evidence<'_>) -> (Outcome, Option<String>) {
    let failures = || evidence.findings.iter().filter(|f| f.severity == Severity::Failure);
    if failures().any(|f| !f.late) {
        return (Outcome::Failed, None);
    }
    let inconclusive = if let Some(reason) = evidence.inconclusive {
        Some(reason.to_owned())
    } else {
        match evidence.ended {
            None => Some("the log of this scenario has no end".to_owned()),
            Some(Ended::Interrupted) => Some("interrupted".to_owned()),
            Some(Ended::Environment { error }) => Some(error.clone()),
            Some(Ended::Completed) => match evidence.open_step {
                Some(step) => Some(format!("it was ended before step {step} was over")),
                None if evidence.checked == 0 => Some("no expectation was checked".to_owned()),
                None => None,
            },
        }
    };
    if failures().next().is_some() {
        return (Outcome::Late, inconclusive);
    }
    match inconclusive {
        Some(reason) => (Outcome::Inconclusive, Some(reason)),
        None => (Outcome::Passed, None),
    }
}
