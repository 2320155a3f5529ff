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
        reason: String,
    },
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
            End::NotRun { outcome, reason } => {
                self.listed.push(ScenarioRecord { outcome, reason: Some(reason), ..blank() });
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
    let outside_profiles = scenarios.iter().filter(in_no_profile).map(|s| s.name.clone()).collect();
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
mod tests {
    #![allow(clippy::unwrap_used)]
    use std::time::Duration;

    use gateproof_report::record::{Finding, ProbeRecord};
    use rstest::rstest;
    use serde_json::{Value, json};

    use super::*;
    use crate::judge::contract::GATEWAY_API;
    use crate::log::{Body, Elapsed, Event, Timing, TimingProfile};
    use crate::scenario::{Channel, load};

    fn event(seq: u64, scope: Scope, body: Body) -> Arc<Event> {
        Arc::new(Event { seq, at: Elapsed(seq * 1000), scope, body })
    }

    fn scenario(name: &str) -> Scope {
        Scope::Scenario(Arc::from(name))
    }

    fn pool(name: &str) -> Scope {
        Scope::Pool(Arc::from(name))
    }

    /// Hundreds of executions of everything would not fit into memory otherwise.
    #[test]
    fn executions_of_a_scenario_have_its_manifest_in_common() {
        let scenario = Arc::new(load::builtin_once()[0].clone());
        let mut records = Records::default();
        for (name, duration_ms) in [("a", 3), ("a#2", 4)] {
            let end = End::NotRun { outcome: Outcome::Skipped, reason: "it was left out".to_owned() };
            records.add(Entry { name: Arc::from(name), scenario: Arc::clone(&scenario), end }, duration_ms);
        }
        let [first, second] = &records.all()[..] else { panic!("two were added") };
        assert_eq!((second.name.as_str(), second.duration_ms, second.outcome), ("a#2", 4, Outcome::Skipped));
        assert!(!first.summary.is_empty() && Arc::ptr_eq(&first.summary, &second.summary));
        assert!(!first.proves.is_empty() && Arc::ptr_eq(&first.proves, &second.proves));
    }

    fn verdict(outcome: Outcome) -> Verdict {
        Verdict {
            outcome,
            reason: None,
            findings: Vec::new(),
            stages: Vec::new(),
            shares: Vec::new(),
            probes: vec![ProbeRecord { converging: 3, ..ProbeRecord::default() }],
            came_out: Vec::new(),
            checked: 1,
            contract: Vec::new(),
            contract_watched: Watched::default(),
            slowest_settle: Duration::ZERO,
        }
    }

    fn finding() -> Finding {
        serde_json::from_value(json!({
            "expectation": "steps[1].settle", "severity": "warning", "clauses": [], "line": 1, "stage": "observed",
            "expected": "one thing", "seen": "another", "late": false, "consequence": false, "atMs": 1,
        }))
        .unwrap()
    }

    fn breach() -> (String, Breach) {
        let (scenario, object, path, seen) = Default::default();
        ("contract/Gateway/a".to_owned(), Breach { scenario, object, path, seen, seq: 1 })
    }

    /// What stays of each is what a long run takes of memory.
    #[rstest]
    #[case::passed(|_: &mut Verdict| (), false)]
    #[case::failed(|one: &mut Verdict| one.outcome = Outcome::Failed, true)]
    #[case::with_a_warning(|one: &mut Verdict| one.findings.push(finding()), true)]
    #[case::not_all_the_time(|one: &mut Verdict| one.probes[0].staying = 1, true)]
    #[case::against_the_contract(|one: &mut Verdict| one.contract.push(breach()), true)]
    fn what_passed_as_others_did_is_counted(#[case] differs: fn(&mut Verdict), #[case] is_listed: bool) {
        const MOST: usize = 10;
        let scenario = Arc::new(load::builtin_once()[0].clone());
        let last = MOST + 4;
        let mut ended = Vec::new();
        for number in 1..=last {
            let mut verdict = verdict(if number == 1 { Outcome::Failed } else { Outcome::Passed });
            if number == MOST + 2 {
                differs(&mut verdict);
            }
            let name = if number == 1 { scenario.name.clone() } else { format!("{}#{number}", scenario.name) };
            ended.push((Arc::from(name), verdict));
        }
        // The last first, but for one.
        ended[1..].reverse();
        let (mut alike, mut entries) = (Alike { most: MOST, listed: HashMap::new() }, Vec::<Entry>::new());
        for (name, verdict) in ended {
            let beyond = alike.beyond(entries.len(), &name, &verdict);
            entries.push(Entry { name, scenario: Arc::clone(&scenario), end: End::Judged(Box::new(verdict)) });
            beyond.into_iter().for_each(|beyond| entries[beyond].end = End::Alike);
        }
        let mut records = Records::default();
        entries.into_iter().for_each(|entry| records.add(entry, 1));
        let all = records.all();
        let told: Vec<(u32, u32)> = all.iter().map(|one| (repeat_of(&one.name).1, one.alike)).collect();
        let mut expected: Vec<(u32, u32)> = (1..).take(MOST + 1).map(|number| (number, 0)).collect();
        expected[1].1 = if is_listed { 2 } else { 3 };
        expected.extend(is_listed.then_some((expected.len() as u32 + 1, 0)));
        assert_eq!(told, expected);
        assert_eq!(all.iter().map(ScenarioRecord::executions).sum::<usize>(), last);
    }

    #[rstest]
    #[case::one(1, 5_000)]
    #[case::none(0, 5_000)]
    #[case::some(100, 50)]
    #[case::all(900, 5)]
    #[case::more_than_there_are(9_000, 5)]
    fn of_few_scenarios_more_executions_are_listed(#[case] scenarios: usize, #[case] expected: u32) {
        assert_eq!(listed(scenarios), expected);
    }

    #[test]
    fn an_execution_lasts_from_its_first_event_to_its_last() {
        let events = [
            event(0, Scope::Run, Body::Tick),
            event(3, scenario("a"), Body::Tick),
            event(4, scenario("b"), Body::Tick),
            event(5, scenario("a"), Body::Tick),
            event(6, pool("http"), Body::Tick),
        ];
        let tally = tally(&events);
        assert_eq!((tally.duration("a"), tally.duration("b"), tally.duration("c"), tally.whole()), (2, 0, 0, 6));
    }

    fn basis() -> Basis {
        Basis::release("1.6.1".parse().unwrap(), Channel::Standard)
    }

    fn tally(events: &[Arc<Event>]) -> Tally {
        let contract = Arc::new(Contract::parse(GATEWAY_API).unwrap());
        let mut tally = Tally::new(&contract, basis(), "a.test/b", &timing());
        events.iter().for_each(|event| tally.observe(event));
        tally
    }

    fn timing() -> Timing {
        let quiet = Duration::from_millis(100);
        Timing { quiet, gateway: Duration::from_secs(1), ..Timing::of(TimingProfile::Embedded) }
    }

    /// A pool Gateway at generation 2 whose Accepted is about the one before.
    fn outdated(resource_version: &str, programmed: &str) -> Value {
        let condition = |type_: &str, status: &str, generation: u64| {
            json!({"type": type_, "status": status, "reason": type_, "message": "because",
                "observedGeneration": generation, "lastTransitionTime": "2026-01-01T00:00:00Z"})
        };
        json!({
            "apiVersion": "gateway.networking.k8s.io/v1", "kind": "Gateway",
            "metadata": {"name": "http", "namespace": "p", "generation": 2, "uid": "u", "resourceVersion": resource_version},
            "status": {"conditions": [condition("Accepted", "True", 1), condition("Programmed", programmed, 2)]},
        })
    }

    #[rstest]
    #[case::stands_still("True", 1, 200, true)]
    #[case::not_yet("True", 1, 90, false)]
    #[case::between_two_versions("True", 101, 150, true)]
    #[case::never_still("True", 60, 130, false)]
    #[case::not_programmed("False", 1, 200, false)]
    fn a_pool_gateway_is_held_to_what_settled_ones_must_be(
        #[case] programmed: &str,
        #[case] second_after_ms: u64,
        #[case] end_ms: u64,
        #[case] found: bool,
    ) {
        let seen = |resource_version: &str| {
            let object = outdated(resource_version, programmed);
            let key = crate::log::ObjectKey::of(&object).unwrap();
            Body::Observed { key, change: crate::log::Change::Modified, object: Arc::new(object) }
        };
        let events = [
            event(0, pool("http"), seen("1")),
            event(second_after_ms, pool("http"), seen("2")),
            event(end_ms, Scope::Run, Body::RunEnded { interrupted: false }),
        ];
        let contract = Contract::parse(GATEWAY_API).unwrap();
        let records = contract_records(&contract, basis(), tally(&events).shared(), Watched::default(), &[]);
        let rule = "contract/Gateway/observed-generation-current";
        let record = records.iter().find(|record| record.name == rule).unwrap();
        let paths: Vec<&str> = record.breaches.iter().map(|breach| breach.path.as_str()).collect();
        assert_eq!(!paths.is_empty(), found, "{paths:?}");
    }

    #[rstest]
    #[case::within_the_budget(900, false)]
    #[case::after_the_budget(1100, true)]
    fn a_changed_pool_gateway_has_time_to_be_answered(#[case] end_ms: u64, #[case] found: bool) {
        let seen = |resource_version: &str, generation: u64| {
            let mut object = outdated(resource_version, "True");
            object["metadata"]["generation"] = json!(generation);
            let key = crate::log::ObjectKey::of(&object).unwrap();
            Body::Observed { key, change: crate::log::Change::Modified, object: Arc::new(object) }
        };
        let events = [
            event(0, pool("http"), seen("1", 1)),
            event(1, pool("http"), seen("2", 2)),
            event(end_ms, Scope::Run, Body::RunEnded { interrupted: false }),
        ];
        let contract = Contract::parse(GATEWAY_API).unwrap();
        let records = contract_records(&contract, basis(), tally(&events).shared(), Watched::default(), &[]);
        let record =
            records.iter().find(|record| record.name == "contract/Gateway/observed-generation-current").unwrap();
        assert_eq!(!record.breaches.is_empty(), found);
    }

    #[test]
    fn repeats_are_counted_as_people_count() {
        let mut names = ["a#10", "b", "a#2", "a"];
        names.sort_by(|a, b| repeat_of(a).cmp(&repeat_of(b)));
        assert_eq!(names, ["a", "a#2", "a#10", "b"]);
    }
}
