//! Two runs beside each other, or several of each: what fails newly, what no longer, what is slower, and whether that may be.
//!
//! A side of several runs, or of one that repeats its scenarios, knows which scenarios are flaky. What is said of one
//! is said of its plain name, without the number of a repeat.

mod gate;
mod side;
mod slower;
mod summary;
mod text;

use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::Serialize;

pub use gate::{Gate, Rule, Ruling};
pub use side::{Side, State};
pub use slower::Slower;
pub(crate) use slower::median;
pub use text::render;

use crate::record::{Finding, RunRecord, Severity};

/// How the state of a scenario changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum Change {
    /// It fails in every execution, and did not before, or was not tested.
    NewlyFailing,
    /// It passes and fails, and did only one of them before, or was not tested.
    NewlyFlaky,
    /// It had a verdict and has none, or is not there at all.
    NoLongerTested,
    /// It fails now as it did before.
    StillFailing,
    /// It passed and failed before, so that the executions of now alone tell nothing new.
    WasFlaky,
    /// It failed in every execution, and passes in every one.
    NewlyPassing,
    /// It passes, and was not tested before.
    NewlyTested,
}

impl Change {
    /// In the order of what asks most for a look.
    pub const ALL: [Change; 7] = [
        Change::NewlyFailing,
        Change::NewlyFlaky,
        Change::NoLongerTested,
        Change::StillFailing,
        Change::WasFlaky,
        Change::NewlyPassing,
        Change::NewlyTested,
    ];

    /// As it is said.
    pub fn words(self) -> &'static str {
        match self {
            Change::NewlyFailing => "newly failing",
            Change::NewlyFlaky => "newly flaky",
            Change::NoLongerTested => "no longer tested",
            Change::StillFailing => "still failing",
            Change::WasFlaky => "flaky before",
            Change::NewlyPassing => "newly passing",
            Change::NewlyTested => "newly tested",
        }
    }

    fn of(before: State, here: State) -> Option<Change> {
        use State::{Failed, Flaky, Known, Passed, Untested};
        Some(match (before, here) {
            (Passed, Passed) | (Untested, Untested) => return None,
            (Passed | Failed | Known | Flaky, Untested) => Change::NoLongerTested,
            (Flaky, Passed | Failed | Known | Flaky) => Change::WasFlaky,
            (Passed | Untested | Failed | Known, Flaky) => Change::NewlyFlaky,
            (Passed | Untested, Failed | Known) => Change::NewlyFailing,
            (Failed | Known, Failed | Known) => Change::StillFailing,
            (Failed | Known, Passed) => Change::NewlyPassing,
            (Untested, Passed) => Change::NewlyTested,
        })
    }
}

/// A scenario whose state changed, or that fails.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Changed {
    /// Its name.
    pub scenario: String,
    /// How.
    pub change: Change,
    /// How it was.
    pub before: State,
    /// How it is.
    pub here: State,
    /// Whether every failure of now is in the user's file of known failures.
    pub known: bool,
    /// How many executions there were that came to a verdict, before and now.
    pub executions: [usize; 2],
    /// What failed now and never before, in order of time; of what fails only as a consequence, nothing.
    pub findings: Vec<Finding>,
    /// Why it has no verdict now, if it has none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// A MUST of the status contract that holds on one side only, or on none.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ChangedRule {
    /// Such as `contract/HTTPRoute/observed-generation-current`.
    pub rule: String,
    /// Newly failing, still failing, newly passing or no longer tested.
    pub change: Change,
    /// Whether every breach of now is in the user's file of known failures.
    pub known: bool,
    /// Clauses of the specification.
    pub clauses: Vec<String>,
    /// The first breach of now.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seen: Option<String>,
}

/// Something about the runs that differs, and may be why the rest does.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Circumstance {
    /// What, such as `release`.
    pub what: &'static str,
    /// As it was.
    pub before: String,
    /// As it is.
    pub here: String,
}

/// Two sides beside each other.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Diff {
    /// How many runs there are on each side.
    pub runs: [usize; 2],
    /// When the last run of each side began, RFC 3339: what is new came between the two.
    pub dates: [String; 2],
    /// How many scenarios came to a verdict on each side.
    pub tested: [usize; 2],
    /// What it comes to, in sentences.
    pub summary: Vec<String>,
    /// What differs of the targets and of how they were tested.
    pub circumstances: Vec<Circumstance>,
    /// Scenarios that changed or fail, by change and name.
    pub scenarios: Vec<Changed>,
    /// Rules of the status contract that changed or fail, by change and name.
    pub contract: Vec<ChangedRule>,
    /// Features that the target is held to now and was not.
    pub features_claimed: Vec<String>,
    /// Features that it was held to and is no longer.
    pub features_dropped: Vec<String>,
    /// What takes longer to settle.
    pub slower: Vec<Slower>,
    /// Whether the user broke off a run of now, so that what it lacks is nobody's news.
    pub interrupted: bool,
    /// What the gate says, rule by rule; empty if none was asked for.
    pub gate: Vec<Ruling>,
}

impl Diff {
    /// How many scenarios changed so.
    pub fn count(&self, change: Change) -> usize {
        self.scenarios.iter().filter(|one| one.change == change).count()
    }

    /// Whether the gate lets the run pass; so it does if none was asked for.
    pub fn passes(&self) -> bool {
        self.gate.iter().all(|ruling| ruling.held)
    }
}

/// What differs between two sides, and what a gate says of it.
pub fn diff(before: &Side<'_>, here: &Side<'_>, gate: &Gate) -> Diff {
    let (first, last) = (before.latest(), here.latest());
    let features = |record: &RunRecord| record.target.features.iter().cloned().collect::<BTreeSet<_>>();
    let (had, has) = (features(first), features(last));
    let mut diff = Diff {
        runs: [before.runs().len(), here.runs().len()],
        dates: [first.date.clone(), last.date.clone()],
        tested: [before.tested(), here.tested()],
        summary: Vec::new(),
        circumstances: circumstances(first, last),
        scenarios: scenarios(before, here),
        contract: contract(before, here),
        features_claimed: has.difference(&had).cloned().collect(),
        features_dropped: had.difference(&has).cloned().collect(),
        slower: slower::slower(before, here),
        interrupted: here.runs().iter().any(|run| run.interrupted),
        gate: Vec::new(),
    };
    diff.summary = summary::sentences(&diff);
    diff.gate = gate.judge(&diff, here);
    diff
}

fn circumstances(before: &RunRecord, here: &RunRecord) -> Vec<Circumstance> {
    let said = |value: &Option<String>| value.clone().unwrap_or_else(|| "none".to_owned());
    let of = |record: &RunRecord| {
        let target = &record.target;
        [
            ("harness", record.producer.clone()),
            ("target", target.name.clone()),
            ("edition", said(&target.edition)),
            ("class", said(&target.gateway_class)),
            ("controller", said(&target.controller_name)),
            ("release", said(&target.gateway_api_version)),
            ("channel", said(&target.gateway_api_channel)),
            ("definitions", said(&target.definitions)),
            ("options", said(&(!record.arguments.is_empty()).then(|| record.arguments.join(" ")))),
        ]
    };
    let pairs = of(before).into_iter().zip(of(here));
    let differing = pairs.filter(|(one, other)| one.1 != other.1);
    differing.map(|((what, before), (_, here))| Circumstance { what, before, here }).collect()
}

fn scenarios(before: &Side<'_>, here: &Side<'_>) -> Vec<Changed> {
    let names: BTreeSet<&str> = before.names().chain(here.names()).collect();
    let changed = names.into_iter().filter_map(|name| {
        let (was, is) = (before.state(name), here.state(name));
        let failed: BTreeSet<&str> = before.misses(name).map(|finding| &*finding.expectation).collect();
        let mut told = BTreeSet::new();
        let new = here.misses(name).filter(|one| !failed.contains(&*one.expectation));
        Some(Changed {
            scenario: name.to_owned(),
            change: Change::of(was, is)?,
            before: was,
            here: is,
            known: here.fails_only_as_known(name),
            executions: [before.verdicts(name), here.verdicts(name)],
            findings: new.filter(|one| told.insert(&*one.expectation)).cloned().collect(),
            reason: (is == State::Untested).then(|| here.why_untested(name)),
        })
    });
    let mut changed: Vec<Changed> = changed.collect();
    changed.sort_by(|a, b| (a.change, &a.scenario).cmp(&(b.change, &b.scenario)));
    changed
}

fn contract(before: &Side<'_>, here: &Side<'_>) -> Vec<ChangedRule> {
    let rules = |side: &Side<'_>| {
        let mut rules: BTreeMap<String, ChangedRule> = BTreeMap::new();
        let all = side.runs().iter().flat_map(|run| &run.contract).filter(|rule| rule.severity == Severity::Failure);
        for rule in all {
            let kept = rules.entry(rule.name.clone()).or_insert_with(|| ChangedRule {
                rule: rule.name.clone(),
                change: Change::NewlyTested,
                known: true,
                clauses: rule.clauses.clone(),
                seen: None,
            });
            if let Some(breach) = rule.breaches.first() {
                kept.known &= rule.known.is_some();
                kept.seen.get_or_insert_with(|| format!("{} {}: {}", breach.object, breach.path, breach.seen));
            }
        }
        rules
    };
    let (was, is) = (rules(before), rules(here));
    let state = |rule: Option<&ChangedRule>| match rule {
        None => State::Untested,
        Some(ChangedRule { seen: None, .. }) => State::Passed,
        Some(_) => State::Failed,
    };
    let names: BTreeSet<&String> = was.keys().chain(is.keys()).collect();
    let changed = names.into_iter().filter_map(|name| {
        let (old, new) = (was.get(name), is.get(name));
        let change = Change::of(state(old), state(new))?;
        // Which kinds are watched follows from what was selected: that a rule held for one more is no news.
        if change == Change::NewlyTested {
            return None;
        }
        let mut rule = new.or(old)?.clone();
        (rule.change, rule.known) = (change, rule.seen.is_some() && rule.known);
        if new.is_none() {
            rule.seen = None;
        }
        Some(rule)
    });
    let mut changed: Vec<ChangedRule> = changed.collect();
    changed.sort_by(|a, b| (a.change, &a.rule).cmp(&(b.change, &b.rule)));
    changed
}
