//! What a run says for a fault and against it.

use std::collections::{BTreeMap, BTreeSet};

use gateproof_report::record::{ContractRecord, Finding, Outcome, RunRecord, ScenarioRecord, Severity, repeat_of};
use gateproof_testbed::KnownFault;

use super::Doubt;
use crate::kill::{Showing, ShownBy};
use crate::scenario::pattern::matches;

/// Of a hundred expectations that show a fault and were tried, no more may have passed.
const MISSING: usize = 20;
/// Of a hundred expectations that show a fault, so many must have been tried before it is named: the rest might speak against it.
const TRIED: usize = 50;
/// And of a hundred of these more must not have failed somewhere else: what fails there most of the time is another mistake.
const TOLD: usize = 50;
/// What is known to fail under a fault, to this power, is how many failures it may explain: one vouches for one more by a clause that the fault
/// breaks, two for six more, three for 24. Most mistakes that break a clause are not the one that is known, and of those that fail
/// where it would, few fail in several places where it would.
const VOUCHES: u32 = 3;

/// So many of what shows a fault have to fail, and none may pass, before what fails in the same way for the same clause is known to come
/// of it, too.
const AGREEING: usize = 2;

/// What failed in a run, and what passed.
pub(super) struct Seen<'a> {
    /// What failed first in each scenario that failed, and what failed in the same step: which comes first may be a matter of time.
    failed: BTreeMap<&'a str, Vec<&'a Finding>>,
    passed: BTreeSet<&'a str>,
    /// What the target does not claim to do: it cannot speak against anything.
    not_supported: BTreeSet<&'a str>,
    rules: BTreeMap<&'a str, &'a ContractRecord>,
    /// Rules that are broken and not asked about.
    unasked: BTreeSet<&'a str>,
}

impl<'a> Seen<'a> {
    pub(super) fn of(record: &'a RunRecord) -> Seen<'a> {
        let mut seen = Seen {
            failed: BTreeMap::new(),
            passed: BTreeSet::new(),
            not_supported: BTreeSet::new(),
            rules: BTreeMap::new(),
            unasked: BTreeSet::new(),
        };
        for scenario in &record.scenarios {
            let name = repeat_of(&scenario.name).0;
            match scenario.outcome {
                Outcome::Failed | Outcome::Late | Outcome::KnownFailure => {
                    seen.failed.entry(name).or_default().extend(firsts(scenario));
                }
                Outcome::Passed => drop(seen.passed.insert(name)),
                Outcome::NotSupported => drop(seen.not_supported.insert(name)),
                Outcome::Inconclusive | Outcome::Skipped => {}
            }
        }
        // What fails in one repeat of several fails.
        seen.passed.retain(|name| !seen.failed.contains_key(name));
        let binding = record.contract.iter().filter(|rule| rule.severity == Severity::Failure && rule.objects > 0);
        seen.rules = binding.map(|rule| (&*rule.name, rule)).collect();
        seen
    }

    /// Leaves out what failed and fits none of the patterns, as if it had not been run. The error is the first of them that nothing fits
    /// which failed.
    pub(super) fn ask_only<'p>(&mut self, patterns: &'p [String]) -> Result<(), &'p str> {
        let failures = self.failures();
        if let Some(pattern) = patterns.iter().find(|one| !failures.iter().any(|name| matches(one, name))) {
            return Err(pattern);
        }
        self.unasked = failures.into_iter().filter(|name| !patterns.iter().any(|one| matches(one, name))).collect();
        self.failed.retain(|name, _| !self.unasked.contains(name));
        self.rules.retain(|name, _| !self.unasked.contains(name));
        Ok(())
    }

    /// The scenarios and the rules of the contract that failed.
    pub(super) fn failures(&self) -> BTreeSet<&'a str> {
        let broken = self.rules.values().filter(|rule| !rule.breaches.is_empty()).map(|rule| &*rule.name);
        self.failed.keys().copied().chain(broken).collect()
    }

    /// Whether a scenario passed or failed.
    pub(super) fn has_run(&self, scenario: &str) -> bool {
        self.passed.contains(scenario) || self.failed.contains_key(scenario)
    }

    /// Whether what is said to show a fault does, and in what; nothing if the run says neither.
    fn shows(&self, showing: &'a Showing) -> Option<(&'a str, bool)> {
        let scenario = &*showing.scenario;
        if self.unasked.contains(&*showing.expectation) {
            return None;
        }
        if let Some(rule) = self.rules.get(&*showing.expectation) {
            // What is nobody's own is seen in whatever ran.
            let mut places = rule.breaches.iter().map(|breach| repeat_of(&breach.scenario).0);
            let is_there = places.any(|place| place.is_empty() || place == scenario);
            return (self.has_run(scenario) || is_there).then_some((&*rule.name, is_there));
        }
        match self.failed.get(scenario) {
            Some(findings) if findings.iter().any(|one| matches(&showing.expectation, &one.expectation)) => {
                Some((scenario, true))
            }
            // Another mistake may have come first.
            Some(_) => None,
            None => self.passed.contains(scenario).then_some((scenario, false)),
        }
    }
}

fn firsts(scenario: &ScenarioRecord) -> impl Iterator<Item = &Finding> {
    let step = |finding: &Finding| finding.expectation.split(']').next().unwrap_or_default().to_owned();
    let grave = || scenario.findings.iter().filter(|one| one.severity == Severity::Failure);
    let steps: BTreeSet<String> = grave().filter(|one| !one.consequence).map(step).collect();
    grave().filter(move |one| steps.contains(&step(one)))
}

/// How something fails, whatever it fails at: of an expectation its last words.
fn way(expectation: &str) -> &str {
    let of_object = expectation.rsplit('/').next().unwrap_or_default();
    let mut dots = of_object.rmatch_indices('.').map(|(at, _)| at + 1);
    dots.nth(1).and_then(|at| of_object.get(at..)).unwrap_or(of_object)
}

/// A fault that may be a cause: something that shows it was seen.
pub(super) struct Suspect<'a> {
    pub(super) fault: &'a KnownFault,
    /// What failed as it would under the fault: for a clause that it declares, or where it is known to fail.
    pub(super) explains: BTreeSet<&'a str>,
    /// Those of them that are named for it.
    pub(super) named: BTreeSet<&'a str>,
    /// What shows the fault, and passed.
    pub(super) missing: BTreeSet<&'a str>,
    /// What shows the fault and was not run, though the target could.
    unrun: BTreeSet<&'a str>,
    /// How much of what shows the fault was run, of a hundred that could be.
    tried: usize,
    /// And how much of that says something, of a hundred: of what failed somewhere else it cannot be told.
    told: usize,
    /// How much of what it explains is known to fail first under it, or fails in the same way for the same clause, not by a clause alone.
    known: usize,
}

impl<'a> Suspect<'a> {
    pub(super) fn of(fault: &'a KnownFault, shown_by: &'a ShownBy, seen: &Seen<'a>) -> Option<Suspect<'a>> {
        let listed = shown_by.of(fault.name);
        let told: Vec<(&str, bool)> = listed.iter().filter_map(|one| seen.shows(one)).collect();
        let named: BTreeSet<&str> = told.iter().filter(|(_, is_there)| *is_there).map(|(name, _)| *name).collect();
        if named.is_empty() {
            return None;
        }
        let missing: BTreeSet<&str> =
            told.iter().filter(|(name, is_there)| !is_there && !named.contains(name)).map(|(name, _)| *name).collect();
        let is_declared = |one: &&Finding| one.clauses.iter().any(|clause| fault.clauses.contains(&&**clause));
        let is_beside = |name: &str, one: &&Finding| shown_by.is_beside(fault.name, name, &one.expectation);
        let besides = seen.failed.iter().filter(|(name, all)| all.iter().any(|one| is_beside(name, one)));
        let mut known: BTreeSet<&str> = besides.map(|(name, _)| *name).chain(named.iter().copied()).collect();
        let scenarios = seen.failed.iter().filter(|(_, all)| all.iter().any(&is_declared));
        let is_broken = |rule: &&&ContractRecord| {
            !rule.breaches.is_empty() && rule.clauses.iter().any(|clause| fault.clauses.contains(&&**clause))
        };
        let mut explains: BTreeSet<&str> = scenarios.map(|(name, _)| *name).collect();
        explains.extend(seen.rules.values().filter(is_broken).map(|rule| &*rule.name));
        explains.extend(&known);
        if named.len() >= AGREEING && missing.is_empty() {
            let ways = |one: &'a Finding| {
                let broken = one.clauses.iter().filter(|clause| fault.clauses.contains(&&***clause));
                broken.map(|clause| (way(&one.expectation), &**clause))
            };
            let shown = listed.iter().flat_map(|row| {
                let failed = seen.failed.get(&*row.scenario).into_iter().flatten();
                failed.filter(|one| matches(&row.expectation, &one.expectation))
            });
            let shown: BTreeSet<(&str, &str)> = shown.flat_map(|one| ways(one)).collect();
            let alike =
                seen.failed.iter().filter(|(_, all)| all.iter().any(|one| ways(one).any(|way| shown.contains(&way))));
            known.extend(alike.map(|(name, _)| *name));
        }
        let could_run = listed.iter().filter(|one| !seen.not_supported.contains(&*one.scenario));
        let (run, unrun): (Vec<&Showing>, Vec<&Showing>) = could_run.partition(|one| seen.has_run(&one.scenario));
        let (run, could) = (run.len(), run.len() + unrun.len());
        Some(Suspect {
            fault,
            explains,
            missing,
            unrun: unrun.into_iter().map(|one| &*one.scenario).collect(),
            // What the target does not claim says nothing against it either.
            tried: (run * 100).checked_div(could).unwrap_or(100),
            told: (told.len() * 100).checked_div(run).unwrap_or(100),
            known: known.len(),
            named,
        })
    }

    /// Whether little enough of what it would have caused passed.
    pub(super) fn is_likely(&self) -> bool {
        self.missing.len() * 100 <= MISSING * (self.missing.len() + self.named.len())
    }

    /// Whether it may be named as a cause: enough of what shows it was run, most of that says something, and what is explained by no
    /// more than a clause is vouched for by what is known to fail.
    pub(super) fn is_sure(&self) -> bool {
        self.doubt().is_none()
    }

    /// Why it may not be named as a cause.
    pub(super) fn doubt(&self) -> Option<Doubt> {
        if self.tried < TRIED {
            return Some(Doubt::NotRun(self.unrun.iter().map(|name| (*name).to_owned()).collect()));
        }
        if self.told <= TOLD {
            return Some(Doubt::FailedElsewhere);
        }
        (self.explains.len() > self.known.pow(VOUCHES).max(2)).then_some(Doubt::ByClausesAlone { known: self.known })
    }

    /// Whether the run cannot tell the two apart.
    pub(super) fn looks_like(&self, other: &Suspect<'_>) -> bool {
        (&self.explains, &self.named, &self.missing) == (&other.explains, &other.named, &other.missing)
    }
}
