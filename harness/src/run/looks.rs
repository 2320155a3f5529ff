//! What a run says of every clause that its scenarios and its contract name. Pure.
//!
//! A step that came out has had whatever it asks held against the target, and what it missed is among the findings. Where a
//! scenario stopped, it has not; one that is inconclusive tells of nothing.

use std::collections::{BTreeMap, BTreeSet};

use gateproof_report::record::{ContractRecord, Finding, Outcome, ScenarioRecord, Target, repeat_of};
use gateproof_report::requirements::{Came, Look, Miss};

use super::replay::{Judged, Rederived};
use crate::judge::Verdict;
use crate::judge::contract::Contract;
use crate::scenario::expectations::{Expectation, enumerate, id};
use crate::scenario::{Basis, Bounds, Clause, Ending, Scenario, Step};

/// Everything that was looked at in a run, or would have been, had it been run. `scenarios` are all that there are.
pub fn looks(run: &Rederived, scenarios: &[Scenario], contract: &Contract) -> Vec<Look> {
    let mut all = Vec::new();
    let recorded: BTreeMap<&str, &ScenarioRecord> = run.record.scenarios.iter().map(|one| (&*one.name, one)).collect();
    for judged in &run.judged {
        if let Some(record) = recorded.get(&*judged.name) {
            all.extend(Execution { judged, record, basis: run.basis }.looks(&run.record.target));
        }
    }
    let at = At { basis: run.basis, release: run.record.target.gateway_api_version.as_deref() };
    let judged: BTreeSet<&str> = run.judged.iter().map(|judged| &*judged.name).collect();
    for record in run.record.scenarios.iter().filter(|record| !judged.contains(&*record.name)) {
        let scenario = scenarios.iter().find(|scenario| scenario.name == repeat_of(&record.name).0);
        all.extend(scenario.into_iter().flat_map(|scenario| undone(scenario, &record.name, &not_run(record), at)));
    }
    let selected: BTreeSet<&str> = run.record.scenarios.iter().map(|record| repeat_of(&record.name).0).collect();
    for scenario in scenarios.iter().filter(|scenario| !selected.contains(&*scenario.name)) {
        all.extend(undone(scenario, &scenario.name, &not_selected(scenario, run), at));
    }
    all.extend(rules(&run.record.contract, contract));
    all
}

/// Why nothing was seen of a scenario that did not run.
fn not_run(record: &ScenarioRecord) -> Came {
    let reason = record.reason.as_deref().unwrap_or("nobody says why");
    match record.outcome {
        Outcome::NotSupported => Came::NotApplicable(reason.to_owned()),
        Outcome::Skipped => Came::NotSeen(format!("it was skipped: {reason}")),
        _ => Came::NotSeen(format!("it is inconclusive: {reason}")),
    }
}

/// Why nothing was seen of a scenario that was not selected.
fn not_selected(scenario: &Scenario, run: &Rederived) -> Came {
    let claimed = &run.record.target.features;
    let missing: Vec<&str> =
        scenario.features.iter().filter(|one| !claimed.contains(one)).map(String::as_str).collect();
    let could_run = run.left_out.as_ref().is_none_or(|names| names.contains(&scenario.name));
    match (&missing[..], could_run) {
        ([], true) => Came::NotSeen("it was not selected".to_owned()),
        ([], false) => Came::NotSeen("it was not selected, and could not have run on the target".to_owned()),
        ([one], _) => Came::NotApplicable(format!("feature {one} not claimed")),
        (several, _) => Came::NotApplicable(format!("features {} not claimed", several.join(", "))),
    }
}

/// What a target is judged by.
#[derive(Clone, Copy)]
struct At<'a> {
    basis: Basis,
    release: Option<&'a str>,
}

impl At<'_> {
    /// Why something is not asked here, if it is not.
    fn unasked(self, asked: &Asked) -> Option<Came> {
        let is_asked = asked.bounds.iter().all(|bounds| bounds.admits(self.basis));
        let here = self.release.map_or_else(|| "in this edition".to_owned(), |release| format!("at {release}"));
        (!is_asked).then(|| Came::NotApplicable(format!("it is not asked {here}")))
    }
}

/// The same for everything that a scenario asks.
fn undone(scenario: &Scenario, name: &str, came: &Came, at: At<'_>) -> Vec<Look> {
    let look = |asked: Asked| Look {
        clauses: words(&asked.clauses),
        scenario: Some(name.to_owned()),
        came: at.unasked(&asked).unwrap_or_else(|| came.clone()),
        expectation: asked.id,
    };
    asked(scenario).into_iter().map(look).collect()
}

/// What a scenario asks that names a clause.
struct Asked {
    id: String,
    clauses: Vec<Clause>,
    step: usize,
    bounds: Vec<Bounds>,
}

/// Every expectation; and steps that name clauses and expect no more than to come out.
fn asked(scenario: &Scenario) -> Vec<Asked> {
    let of = |Expectation { id, clauses, bounds, .. }: Expectation| Asked { step: step_of(&id), id, clauses, bounds };
    let mut all: Vec<Asked> = enumerate(scenario).into_iter().map(of).collect();
    let has_some: BTreeSet<usize> = all.iter().map(|asked| asked.step).collect();
    let bare = scenario.steps.iter().filter(|step| !step.proves.is_empty() && !has_some.contains(&step.index));
    all.extend(bare.map(|step| Asked {
        id: format!("steps[{}]", step.index),
        clauses: step.proves.clone(),
        step: step.index,
        bounds: vec![scenario.bounds, step.bounds],
    }));
    all.retain(|asked| !asked.clauses.is_empty());
    all
}

/// The number of the step of an expectation.
fn step_of(id: &str) -> usize {
    let number = id.strip_prefix("steps[").and_then(|rest| rest.split(']').next()?.parse().ok());
    number.unwrap_or(usize::MAX)
}

fn words(clauses: &[Clause]) -> Vec<String> {
    clauses.iter().map(ToString::to_string).collect()
}

/// An execution that was judged.
struct Execution<'a> {
    judged: &'a Judged,
    record: &'a ScenarioRecord,
    basis: Basis,
}

impl Execution<'_> {
    fn looks(&self, target: &Target) -> Vec<Look> {
        let Judged { name, scenario, verdict } = self.judged;
        let at = At { basis: self.basis, release: target.gateway_api_version.as_deref() };
        if verdict.outcome == Outcome::Inconclusive {
            return undone(scenario, name, &not_run(self.record), at);
        }
        let of_finding = |finding: &Finding| self.missed(finding, &finding.expectation, finding.clauses.clone());
        let mut all: Vec<Look> = verdict.findings.iter().map(of_finding).collect();
        let asked = asked(scenario);
        let named: BTreeSet<&str> = asked.iter().map(|asked| &*asked.id).collect();
        for one in &asked {
            let Some(came) = self.came(one, &named, at) else { continue };
            let (scenario, expectation) = (Some(name.to_string()), one.id.clone());
            all.push(Look { clauses: words(&one.clauses), scenario, expectation, came });
        }
        all
    }

    /// What was seen of something asked; nothing if a finding says it already.
    fn came(&self, asked: &Asked, named: &BTreeSet<&str>, at: At<'_>) -> Option<Came> {
        let Judged { scenario, verdict, .. } = self.judged;
        if let Some(unasked) = at.unasked(asked) {
            return Some(unasked);
        }
        let about = verdict.findings.iter().filter(|finding| step_of(&finding.expectation) == asked.step);
        if let Some(finding) = about.clone().find(|finding| covers(&finding.expectation, &asked.id)) {
            let look = self.missed(finding, &asked.id, Vec::new());
            let is_said = finding.expectation == asked.id
                && asked.clauses.iter().all(|clause| finding.clauses.iter().any(|said| **said == **clause));
            return (!is_said).then_some(look.came);
        }
        if let Some(finding) = about.clone().find(|finding| hides(&finding.expectation, &asked.id, named)) {
            return Some(Came::NotSeen(format!("{} was missed before it", finding.expectation)));
        }
        let step = scenario.steps.iter().find(|step| step.index == asked.step)?;
        if is_elsewhere(scenario, step, verdict) {
            return Some(Came::NotApplicable("the write before it came to another of its legal ends".to_owned()));
        }
        let Some(out) = verdict.came_out.iter().find(|out| out.step == asked.step) else {
            let first = verdict.findings.iter().find(|finding| !finding.consequence).map(|f| f.expectation.as_str());
            let stopped = first.map_or_else(|| "it was not come to".to_owned(), |id| format!("it stopped at {id}"));
            return Some(Came::NotSeen(stopped));
        };
        Some(match ending_of(&asked.id, step) {
            Some(endings) if !out.ending.is_some_and(|ending| endings.contains(&ending)) => {
                Came::NotApplicable("the write came to another of its legal ends".to_owned())
            }
            _ => Came::Held,
        })
    }

    fn missed(&self, finding: &Finding, expectation: &str, clauses: Vec<String>) -> Look {
        let known = (self.record.outcome == Outcome::KnownFailure).then(|| self.record.reason.clone()).flatten();
        let miss = Miss {
            severity: finding.severity,
            expected: finding.expected.clone(),
            seen: finding.seen.clone(),
            late: finding.late,
            consequence: finding.consequence,
            known,
        };
        let (scenario, expectation) = (Some(self.judged.name.to_string()), expectation.to_owned());
        Look { clauses, scenario, expectation, came: Came::Missed(miss) }
    }
}

/// Whether a finding is about an expectation, or about all that it is a part of.
fn covers(finding: &str, asked: &str) -> bool {
    asked.strip_prefix(finding).is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
}

/// Whether a finding is about what no manifest says, and stands in the way of what is asked of the same part.
fn hides(finding: &str, asked: &str, named: &BTreeSet<&str>) -> bool {
    let whole = finding.rsplit_once('.').map_or(finding, |(whole, _)| whole);
    !named.contains(finding) && covers(whole, asked)
}

/// Whether a step is done only behind an end that a write did not come to.
fn is_elsewhere(scenario: &Scenario, step: &Step, verdict: &Verdict) -> bool {
    let came_to = |step: usize| verdict.came_out.iter().find(|out| out.step == step).and_then(|out| out.ending);
    scenario.branches(step).iter().any(|branch| came_to(branch.step).is_some_and(|ending| ending != branch.ending))
}

/// Which ends of its write an expectation belongs to, if it belongs to some.
fn ending_of(asked: &str, step: &Step) -> Option<Vec<usize>> {
    let of = |wanted: fn(&Ending) -> bool| {
        step.either.iter().enumerate().filter(|(_, ending)| wanted(ending)).map(|(position, _)| position).collect()
    };
    if asked == id::refused(step.index) {
        return Some(of(|ending| matches!(ending, Ending::Refused(..))));
    }
    let settles = |position: &usize| covers(&id::settle(step.index, Some(*position)), asked);
    (0..step.either.len()).find(settles).map(|position| vec![position])
}

/// What the contract shows of the whole run.
fn rules(records: &[ContractRecord], contract: &Contract) -> Vec<Look> {
    let look = |record: &ContractRecord, scenario: Option<String>, came| Look {
        clauses: record.clauses.clone(),
        scenario,
        expectation: record.name.clone(),
        came,
    };
    let mut all = Vec::new();
    for record in records {
        let Some(first) = record.breaches.first() else {
            all.extend((record.objects > 0).then(|| look(record, None, Came::Held)));
            continue;
        };
        let more = record.breaches.len() - 1;
        let more = if more == 0 { String::new() } else { format!("; and {more} more") };
        let miss = Miss {
            severity: record.severity,
            expected: format!("{} holds", record.name),
            seen: format!("{} {}: {}{more}", first.object, first.path, first.seen),
            late: false,
            consequence: false,
            known: record.known.clone(),
        };
        let scenario = Some(first.scenario.clone()).filter(|name| !name.is_empty());
        all.push(look(record, scenario, Came::Missed(miss)));
    }
    let kind = |name: &str| name.split('/').nth(1).unwrap_or_default().to_owned();
    let watched: BTreeSet<String> = records.iter().filter(|one| one.objects > 0).map(|one| kind(&one.name)).collect();
    let known: BTreeSet<&str> = records.iter().map(|record| &*record.name).collect();
    for name in contract.rule_names().into_iter().filter(|name| !known.contains(&**name)) {
        let clauses = contract.clauses().filter(|(rule, _)| name.rsplit('/').next() == Some(rule.name()));
        let clauses: Vec<String> = clauses.map(|(_, clause)| clause.to_owned()).collect();
        let came = match watched.contains(&kind(&name)) {
            true => Came::NotApplicable("no such rule is held of its kind here".to_owned()),
            false => Came::NotSeen("no object of its kind was watched".to_owned()),
        };
        all.push(Look { clauses, scenario: None, expectation: name, came });
    }
    all
}

#[cfg(test)]
#[path = "looks_tests.rs"]
mod tests;
