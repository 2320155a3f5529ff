//! From a closed log and its verdicts to the run record. Pure.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use gateproof_report::record::{Breach, ContractRecord, Outcome, RunRecord, ScenarioRecord, Target, repeat_of};
use gateproof_suites::profiles_of;

use super::known;
use super::tally::Tally;
use crate::dialects::Dialect;
use crate::judge::Verdict;
use crate::judge::contract::{Contract, ContractState, Watched, records};
use crate::log::{Bindings, RunStarted, Scope};
use crate::scenario::select::clauses;
use crate::scenario::{Basis, Scenario};

/// Version of the log's format.
pub const LOG_FORMAT: u32 = 1;
/// Version of the run record's format.
pub const RECORD_FORMAT: u32 = 1;

/// One selected scenario, or one execution of it, and what became of it.
pub struct Entry {
    /// Name, with `#2` and up for repeats.
    pub name: Arc<str>,
    /// The scenario.
    pub scenario: Arc<Scenario>,
    /// What became of it.
    pub end: End,
}

impl Entry {
    /// The verdict, if it ran.
    pub fn verdict(&self) -> Option<&Verdict> {
        match &self.end {
            End::Judged(verdict) => Some(verdict),
            End::Alike | End::NotRun { .. } => None,
        }
    }
}

/// How many executions are listed, all scenarios together, that passed with nothing else to say: so many fit into memory, and into reports
/// that are read.
const LISTED: usize = 5_000;
/// How many of a scenario are, however many scenarios there are: whoever compares the times of one needs as many at least.
const LISTED_OF_EACH: usize = 5;

/// How many executions of each of so many scenarios are listed that passed with nothing else to say.
pub fn listed(scenarios: usize) -> u32 {
    u32::try_from((LISTED / scenarios.max(1)).max(LISTED_OF_EACH)).unwrap_or(u32::MAX)
}

/// Tells executions that are listed from those that are counted only: the first ones are, by their numbers, in whatever order they end.
pub struct Alike {
    most: usize,
    listed: HashMap<String, BTreeMap<u32, usize>>,
}

impl Alike {
    /// Of a run that began so.
    pub fn of(started: &RunStarted) -> Alike {
        let most = started.listed.and_then(|most| usize::try_from(most).ok()).unwrap_or(usize::MAX).max(1);
        Alike { most, listed: HashMap::new() }
    }

    /// Takes in the verdict on the entry at an index, called `name`. Gives the index of one that is counted only from now on, if there is.
    pub fn beyond(&mut self, index: usize, name: &str, verdict: &Verdict) -> Option<usize> {
        if !says_nothing_else(verdict) {
            return None;
        }
        let (scenario, number) = repeat_of(name);
        let listed = self.listed.entry(scenario.to_owned()).or_default();
        listed.insert(number, index);
        if listed.len() > self.most { listed.pop_last().map(|(_, beyond)| beyond) } else { None }
    }
}

/// Whether it passed, and that is all.
fn says_nothing_else(verdict: &Verdict) -> bool {
    let Verdict { outcome, reason, findings, probes, contract, .. } = verdict;
    *outcome == Outcome::Passed
        && reason.is_none()
        && findings.is_empty()
        && contract.is_empty()
        && probes.iter().all(|probe| probe.staying == 0)
}

/// What became of a selected scenario.
pub enum End {
    /// It ran.
    Judged(Box<Verdict>),
    /// It ran, and passed as others of its scenario did that are listed.
    Alike,
    /// It did not.
    NotRun {
        /// Skipped, not supported or inconclusive.
        outcome: Outcome,
        /// Why.
        reason: Arc<str>,
        /// How many more executions of the scenario never began for the same reason.
        alike: u32,
    },
}

impl End {
    /// Of one that did not run, for this reason.
    pub fn not_run(outcome: Outcome, reason: impl Into<Arc<str>>) -> End {
        End::NotRun { outcome, reason: reason.into(), alike: 0 }
    }
}

/// The same entries, but of those of a scenario that never began for one reason the first alone, which says how many more there are:
/// whoever breaks off a run of everything hundreds of times has no use for each. The log tells of those that `began`.
pub fn folded(entries: impl Iterator<Item = Entry>, began: impl Fn(&str) -> bool) -> Vec<Entry> {
    let mut all: Vec<Entry> = Vec::new();
    let mut first: HashMap<(String, Arc<str>), usize> = HashMap::new();
    for entry in entries {
        if let End::NotRun { reason, .. } = &entry.end
            && !began(&entry.name)
        {
            let at = *first.entry((entry.scenario.name.clone(), Arc::clone(reason))).or_insert(all.len());
            if let Some(Entry { end: End::NotRun { alike, .. }, .. }) = all.get_mut(at) {
                *alike += 1;
                continue;
            }
        }
        all.push(entry);
    }
    all
}

/// Makes records of entries. Those of one scenario share what they have of its manifest: a run may have hundreds of each.
#[derive(Default)]
pub struct Records {
    blank: HashMap<String, ScenarioRecord>,
    listed: Vec<ScenarioRecord>,
    /// Of each scenario the number of the first that passed with nothing else to say.
    first: HashMap<String, u32>,
    alike: HashMap<String, u32>,
}

impl Records {
    /// Adds an entry. `duration_ms` is that of its events.
    pub fn add(&mut self, entry: Entry, duration_ms: u64) {
        let Entry { name, scenario, end } = entry;
        let blank = self.blank.entry(scenario.name.clone()).or_insert_with(|| blank(&scenario));
        let blank = || ScenarioRecord { name: name.to_string(), duration_ms, ..blank.clone() };
        match end {
            End::Judged(verdict) => {
                if says_nothing_else(&verdict) {
                    let number = repeat_of(&name).1;
                    self.first
                        .entry(scenario.name.clone())
                        .and_modify(|first| *first = number.min(*first))
                        .or_insert(number);
                }
                self.listed.push(filled(blank(), *verdict));
            }
            End::NotRun { outcome, reason, alike } => {
                self.listed.push(ScenarioRecord { outcome, reason: Some(reason.to_string()), alike, ..blank() });
            }
            End::Alike => *self.alike.entry(scenario.name.clone()).or_default() += 1,
        }
    }

    /// All of them in order of name.
    pub fn all(mut self) -> Vec<ScenarioRecord> {
        self.listed.sort_by(|a, b| repeat_of(&a.name).cmp(&repeat_of(&b.name)));
        for record in &mut self.listed {
            let (scenario, number) = repeat_of(&record.name);
            if self.first.get(scenario) == Some(&number) {
                record.alike = self.alike.remove(scenario).unwrap_or_default();
            }
        }
        self.listed
    }
}

/// The record of one execution. `duration_ms` is that of its events.
pub fn of_execution(name: &str, scenario: &Scenario, verdict: Verdict, duration_ms: u64) -> ScenarioRecord {
    filled(ScenarioRecord { name: name.to_owned(), duration_ms, ..blank(scenario) }, verdict)
}

fn filled(blank: ScenarioRecord, verdict: Verdict) -> ScenarioRecord {
    let Verdict { outcome, reason, findings, stages, probes, .. } = verdict;
    ScenarioRecord { outcome, reason, findings, stages, probes, ..blank }
}

/// What a scenario's manifest says, and nothing of any execution.
fn blank(scenario: &Scenario) -> ScenarioRecord {
    ScenarioRecord {
        name: String::new(),
        suite: scenario.suite.as_str().into(),
        file: scenario.file.as_str().into(),
        summary: scenario.summary.as_str().into(),
        features: scenario.features.as_slice().into(),
        proves: proves(scenario).into(),
        outcome: Outcome::Inconclusive,
        reason: None,
        findings: Vec::new(),
        stages: Vec::new(),
        probes: Vec::new(),
        duration_ms: 0,
        alike: 0,
    }
}

/// The record of a run, by what its closed log came to.
pub fn run_record(
    started: &RunStarted,
    tally: &Tally,
    scenarios: Vec<ScenarioRecord>,
    contract: Vec<ContractRecord>,
    interrupted: bool,
) -> RunRecord {
    let (mut scenarios, mut contract) = (scenarios, contract);
    let in_force = known::in_force(&started.known_failures, &started.date);
    scenarios.iter_mut().for_each(|scenario| known::excuse(&in_force, scenario));
    known::excuse_contract(&in_force, &mut contract);
    let known_failures = known::account(&started.known_failures, &started.date, &scenarios, &contract);
    // ConformanceReports are Gateway API's alone.
    let is_reported = started.dialect == Dialect::gateway_api().name();
    let in_no_profile =
        |s: &&ScenarioRecord| is_reported && profiles_of(s.features.iter().map(String::as_str)).is_empty();
    let mut outside_profiles: Vec<String> =
        scenarios.iter().filter(in_no_profile).map(|one| repeat_of(&one.name).0.to_owned()).collect();
    outside_profiles.dedup();
    RunRecord {
        format: RECORD_FORMAT,
        producer: format!("gateproof {}", started.harness),
        date: started.date.clone(),
        target: Target {
            name: started.target.clone(),
            embedded: started.embedded,
            dialect: started.dialect.clone(),
            edition: started.edition.clone(),
            gateway_class: started.gateway_class.clone(),
            controller_name: started.controller_name.clone(),
            gateway_api_version: started.gateway_api_version.clone(),
            gateway_api_channel: started.gateway_api_channel.clone(),
            definitions: started.definitions.clone(),
            features: started.features.clone(),
        },
        arguments: started.arguments.clone(),
        options_file: started.options_file.clone(),
        interrupted,
        impatient: started.timing.impatient,
        scenarios,
        outside_profiles,
        contract,
        known_failures,
        leftovers: tally.leftovers().to_vec(),
        digests: started.digests.clone(),
        shard: started.shard.clone(),
        duration_ms: tally.whole(),
    }
}

/// Contract records of the whole run: what each scenario's objects gave, and once the objects that belong to nobody
/// alone, which are the GatewayClass and the pool. `watched` are the objects of all scenarios.
pub fn contract_records(
    contract: &Contract,
    basis: Basis,
    shared: &ContractState,
    mut watched: Watched,
    entries: &[Entry],
) -> Vec<ContractRecord> {
    watched.add(Watched::of(shared.watched(), |_| false));
    let of_scenarios = entries.iter().flat_map(|entry| {
        let breaches = entry.verdict().map(|verdict| &verdict.contract);
        let named = |(name, breach): &(String, Breach)| {
            (name.clone(), Breach { scenario: entry.name.to_string(), ..breach.clone() })
        };
        breaches.into_iter().flatten().map(named)
    });
    // A version that several scenarios saw breaks a rule once.
    let of_version = |(name, breach): &(String, Breach)| (name.clone(), breach.seq, breach.path.clone());
    let shared = shared.breaches();
    let mut known: HashSet<(String, u64, String)> = shared.iter().map(of_version).collect();
    let news = of_scenarios.filter(|breach| known.insert(of_version(breach)));
    records(contract, basis, &watched, shared.into_iter().chain(news))
}

/// The scopes that an execution shares with others.
pub fn shared_by(bindings: &Bindings) -> Vec<Scope> {
    let pool = bindings.gateways.values().map(|gateway| Scope::Pool(Arc::from(gateway.name.as_str())));
    std::iter::once(Scope::Run).chain(pool).collect()
}

/// Every clause that a scenario proves, sorted.
fn proves(scenario: &Scenario) -> Vec<String> {
    let mut clauses: Vec<String> = clauses(scenario).iter().map(ToString::to_string).collect();
    clauses.sort();
    clauses
}

#[cfg(test)]
#[path = "record_tests.rs"]
mod tests;
