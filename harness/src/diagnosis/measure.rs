//! How much of what is said of runs is true, measured on runs whose causes are known. Pure.
//!
//! A run under a fault is looked at as it is, and cut: without some of the features, as a target that does not claim them has it, and
//! without some of the scenarios, as somebody who selects. A cut takes from a record what was never run then; nothing else of it
//! depends on that. Each is looked at once more with a table that does not know the fault: then nothing should fit. Of two runs at
//! once, that failure of a scenario is seen which comes first. Of five at once it is asked, too, what failed in the first of them by
//! itself.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};

use gateproof_report::record::{Outcome, RunRecord, ScenarioRecord, Severity, repeat_of};
use gateproof_testbed::KnownFault;
use rand::seq::IndexedRandom;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::SeedableRng;

use super::Diagnosis;
use super::evidence::Seen;
use crate::kill::{ShownBy, add_rules};

/// How often each run is cut.
const CUTS: usize = 5;
/// One in how many features, and in how many scenarios, a cut takes away.
const TAKEN: usize = 3;
/// How many pairs of runs are drawn, and how many fives.
const DRAWN: usize = 300;
/// Of a hundred runs whose cause is not known, nothing may be named of so many at least.
const HONEST: usize = 90;

/// What was said of runs of one sort.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Tally {
    /// Every cause was named, and nothing else.
    pub right: usize,
    /// Some of several causes were named, and nothing else.
    pub part: usize,
    /// A cause was named, and another fault beside it that was none.
    pub beside: usize,
    /// It was said that nothing fits.
    pub nothing: usize,
    /// What was named was no cause.
    pub wrong: usize,
    /// Nothing failed, so nothing was asked.
    pub silent: usize,
}

impl Tally {
    /// How many runs were asked about.
    pub fn asked(&self) -> usize {
        self.right + self.part + self.beside + self.nothing + self.wrong
    }

    fn add(&mut self, said: Option<Said>) {
        let count = match said {
            Some(Said::Right) => &mut self.right,
            Some(Said::Part) => &mut self.part,
            Some(Said::Beside) => &mut self.beside,
            Some(Said::Nothing) => &mut self.nothing,
            Some(Said::Wrong) => &mut self.wrong,
            None => &mut self.silent,
        };
        *count += 1;
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Said {
    Right,
    Part,
    Beside,
    Nothing,
    Wrong,
}

/// What was said of all runs.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Measured {
    /// Of runs as they are.
    pub whole: Tally,
    /// Of cut runs.
    pub cut: Tally,
    /// Of runs as they are, by a table without the cause.
    pub whole_unlisted: Tally,
    /// Of cut runs, by a table without the cause.
    pub cut_unlisted: Tally,
    /// Of two runs at once.
    pub pairs: Tally,
    /// Of five runs at once.
    pub fives: Tally,
    /// Of what failed in one of five runs at once, asked by itself.
    pub one_of_five: Tally,
    /// The same by a table without its cause.
    pub one_of_five_unlisted: Tally,
    /// What was named and was no cause: of which run, and what.
    pub wrong: Vec<String>,
    /// What failed first in whole runs, and neither breaks a clause that the fault declares nor is known to follow from it.
    pub unknown: Vec<String>,
}

impl Measured {
    /// All of it, with a name for each row.
    pub fn rows(&self) -> [(&'static str, Tally); 8] {
        [
            ("as they are", self.whole),
            ("cut", self.cut),
            ("as they are, cause not known", self.whole_unlisted),
            ("cut, cause not known", self.cut_unlisted),
            ("two at once", self.pairs),
            ("five at once", self.fives),
            ("one of five", self.one_of_five),
            ("one of five, cause not known", self.one_of_five_unlisted),
        ]
    }

    /// Whether nothing was named often enough where the cause is not known.
    pub fn is_honest(&self) -> bool {
        [self.whole_unlisted, self.cut_unlisted].iter().all(|one| one.nothing * 100 >= HONEST * one.asked())
    }

    /// Of the records of runs that had causes: what each was is in the name of its target. The seed draws what is cut, and pairs.
    pub fn of(records: &[RunRecord], faults: &[KnownFault], shown_by: &ShownBy, seed: u64) -> Measured {
        let table = Table { faults, shown_by };
        let mut draw = ChaCha8Rng::seed_from_u64(seed);
        let mut found = Measured::default();
        let mut noticed = Vec::new();
        for record in records {
            let Some(fault) = cause(record, faults) else { continue };
            let whole = Diagnosis::of(record, faults, shown_by);
            found.unknown.extend(unknown(record, fault, shown_by));
            if whole.is_some() {
                noticed.push((record, fault));
            }
            let alike = table.alike(fault, whole.as_ref());
            let rest: Vec<KnownFault> = faults.iter().filter(|one| !alike.contains(one.name)).copied().collect();
            let said = found.note("as it is", record, whole.as_ref(), &[&alike]);
            found.whole.add(said);
            let said =
                found.note("as it is, cause not known", record, Diagnosis::of(record, &rest, shown_by).as_ref(), &[]);
            found.whole_unlisted.add(said);
            for _ in 0..CUTS {
                let cut = cut(record, &mut draw);
                let said = found.note("cut", record, Diagnosis::of(&cut, faults, shown_by).as_ref(), &[&alike]);
                found.cut.add(said);
                let said =
                    found.note("cut, cause not known", record, Diagnosis::of(&cut, &rest, shown_by).as_ref(), &[]);
                found.cut_unlisted.add(said);
            }
        }
        for (all, drawn) in together(&noticed, 2, &mut draw) {
            let said = found.note_all(&all, &drawn, &table);
            found.pairs.add(said);
        }
        for (all, drawn) in together(&noticed, 5, &mut draw) {
            let said = found.note_all(&all, &drawn, &table);
            found.fives.add(said);
            let said = found.note_one(&all, drawn[0], &table);
            found.one_of_five.add(said[0]);
            found.one_of_five_unlisted.add(said[1]);
        }
        found
    }

    /// What was said of several runs at once.
    fn note_all(&mut self, all: &RunRecord, drawn: &[Run<'_>], table: &Table<'_>) -> Option<Said> {
        let alike: Vec<BTreeSet<&str>> = drawn.iter().map(|(_, fault)| table.alike(fault, None)).collect();
        let found = Diagnosis::of(all, table.faults, table.shown_by);
        self.note("at once", all, found.as_ref(), &alike.iter().collect::<Vec<_>>())
    }

    /// What was said of what failed in one of several runs at once, by itself: by the table, and by one that does not know its cause.
    fn note_one(&mut self, all: &RunRecord, (one, fault): Run<'_>, table: &Table<'_>) -> [Option<Said>; 2] {
        let still = failures(all);
        let asked: Vec<String> = failures(one).intersection(&still).map(|name| (*name).to_owned()).collect();
        let alike = table.alike(fault, None);
        let rest: Vec<KnownFault> = table.faults.iter().filter(|one| !alike.contains(one.name)).copied().collect();
        let mut of = |what: &str, faults: &[KnownFault], causes: &[&BTreeSet<&str>]| {
            let found = Diagnosis::only(all, &asked, faults, table.shown_by).ok()?;
            self.note(what, one, found.as_ref(), causes)
        };
        let known = of("one of five", table.faults, &[&alike]);
        [known, of("one of five, cause not known", &rest, &[])]
    }

    /// What was said of a run with these causes, each with what cannot be told from it; nothing if nothing failed. What is wrong is
    /// kept.
    fn note(
        &mut self,
        of: &str,
        record: &RunRecord,
        found: Option<&Diagnosis>,
        causes: &[&BTreeSet<&str>],
    ) -> Option<Said> {
        let found = found?;
        let said = said(found, causes);
        if matches!(said, Said::Beside | Said::Wrong) {
            let named: Vec<String> = found
                .causes
                .iter()
                .map(|cause| format!("{} ({} of {})", cause.fault, cause.explains.len(), found.failures))
                .collect();
            self.wrong.push(format!("{of}: {}: {}", record.target.name, named.join(", ")));
        }
        Some(said)
    }
}

/// A run, and the fault that it was under.
type Run<'a> = (&'a RunRecord, &'a KnownFault);

/// So many runs at once, drawn again and again, each with what it was drawn of; nothing if there are not so many.
fn together<'a>(runs: &[Run<'a>], number: usize, draw: &mut ChaCha8Rng) -> Vec<(RunRecord, Vec<Run<'a>>)> {
    let drawn = (0..DRAWN).map(|_| runs.choose_multiple(draw, number).copied().collect::<Vec<_>>());
    let whole = drawn.filter(|drawn| drawn.len() == number);
    whole
        .filter_map(|drawn| {
            let mut records = drawn.iter().map(|(record, _)| *record);
            let first = records.next().cloned()?;
            Some((records.fold(first, |known, record| at_once(&known, record)), drawn))
        })
        .collect()
}

/// The scenarios and rules that failed in a run.
fn failures(record: &RunRecord) -> BTreeSet<&str> {
    Seen::of(record).failures()
}

struct Table<'a> {
    faults: &'a [KnownFault],
    shown_by: &'a ShownBy,
}

impl<'a> Table<'a> {
    /// The faults of one signature: the same shows them, or a whole run could not tell them apart.
    fn alike(&self, fault: &'a KnownFault, whole: Option<&'a Diagnosis>) -> BTreeSet<&'a str> {
        let signature = |name: &str| self.shown_by.of(name).iter().collect::<BTreeSet<_>>();
        let own = signature(fault.name);
        let same = self.faults.iter().filter(|other| signature(other.name) == own).map(|other| other.name);
        let causes = whole.into_iter().flat_map(|found| &found.causes);
        let groups = causes.map(|cause| names(&cause.fault, &cause.alike));
        same.chain(groups.filter(|group| group.contains(fault.name)).flatten()).collect()
    }
}

fn names<'a>(fault: &'a str, alike: &'a [String]) -> BTreeSet<&'a str> {
    alike.iter().map(String::as_str).chain([fault]).collect()
}

fn said(found: &Diagnosis, causes: &[&BTreeSet<&str>]) -> Said {
    if !found.fits {
        return Said::Nothing;
    }
    let groups: Vec<BTreeSet<&str>> = found.causes.iter().map(|cause| names(&cause.fault, &cause.alike)).collect();
    let hits = causes.iter().filter(|cause| groups.iter().any(|group| !group.is_disjoint(cause))).count();
    let strangers = groups.iter().filter(|group| causes.iter().all(|cause| group.is_disjoint(cause))).count();
    match (hits, strangers) {
        (0, _) => Said::Wrong,
        (hits, 0) if hits == causes.len() => Said::Right,
        (_, 0) => Said::Part,
        (_, _) => Said::Beside,
    }
}

/// The fault that a run had, by the name of its target; nothing if it had none or several.
fn cause<'a>(record: &RunRecord, faults: &'a [KnownFault]) -> Option<&'a KnownFault> {
    let (_, behaviour) = record.target.name.split_once(':')?;
    let mut named = behaviour.split('+').filter(|name| !name.starts_with("variant:"));
    let name = named.next().filter(|_| named.next().is_none())?;
    faults.iter().find(|fault| fault.name == name)
}

/// What failed first without being known to do so under the fault.
fn unknown(record: &RunRecord, fault: &KnownFault, shown_by: &ShownBy) -> Vec<String> {
    let is_known = |name: &str, expectation: &str, clauses: &[String]| {
        clauses.iter().any(|clause| fault.clauses.contains(&&**clause))
            || shown_by.of(fault.name).iter().any(|one| one.scenario == name && one.expectation == expectation)
            || shown_by.is_beside(fault.name, name, expectation)
    };
    let mut found = Vec::new();
    for scenario in &record.scenarios {
        let name = repeat_of(&scenario.name).0;
        let firsts = scenario.findings.iter().filter(|one| one.severity == Severity::Failure && !one.consequence);
        let strange = firsts.filter(|one| !is_known(name, &one.expectation, &one.clauses));
        found.extend(strange.map(|one| format!("{}: {name} {}", record.target.name, one.expectation)));
    }
    for rule in &record.contract {
        let broken = rule.breaches.iter().filter(|_| rule.severity == Severity::Failure);
        let places: BTreeSet<&str> = broken.map(|breach| repeat_of(&breach.scenario).0).collect();
        let strange = places.into_iter().filter(|name| !is_known(name, &rule.name, &rule.clauses));
        found.extend(strange.map(|name| format!("{}: {name} {}", record.target.name, rule.name)));
    }
    found
}

/// The record of a run without a third of the scenarios, which somebody did not select, and of the features, which a target does not claim.
fn cut(record: &RunRecord, draw: &mut ChaCha8Rng) -> RunRecord {
    let features: BTreeSet<&str> =
        record.scenarios.iter().flat_map(|one| one.features.iter()).map(String::as_str).collect();
    let features: Vec<&str> = features.into_iter().collect();
    let off: BTreeSet<&str> = features.choose_multiple(draw, features.len() / TAKEN).copied().collect();
    let names: BTreeSet<&str> = record.scenarios.iter().map(|one| repeat_of(&one.name).0).collect();
    let names: Vec<&str> = names.into_iter().collect();
    let gone: BTreeSet<&str> = names.choose_multiple(draw, names.len() / TAKEN).copied().collect();
    let is_unclaimed = |one: &ScenarioRecord| one.features.iter().any(|feature| off.contains(feature.as_str()));
    let unclaimed = record.scenarios.iter().filter(|one| is_unclaimed(one)).map(|one| repeat_of(&one.name).0);
    let silent: BTreeSet<&str> = unclaimed.chain(gone.iter().copied()).collect();
    let mut left = record.clone();
    left.scenarios.retain(|one| !gone.contains(repeat_of(&one.name).0));
    for one in left.scenarios.iter_mut().filter(|one| is_unclaimed(one)) {
        one.outcome = Outcome::NotSupported;
        one.findings.clear();
    }
    for rule in &mut left.contract {
        rule.breaches.retain(|breach| !silent.contains(repeat_of(&breach.scenario).0));
    }
    left
}

/// The record of a run under what two runs were under: of a scenario that failed in both, what comes first is seen.
fn at_once(one: &RunRecord, other: &RunRecord) -> RunRecord {
    let mut scenarios: BTreeMap<&str, ScenarioRecord> = BTreeMap::new();
    for scenario in one.scenarios.iter().chain(&other.scenarios) {
        match scenarios.get_mut(scenario.name.as_str()) {
            None => drop(scenarios.insert(&scenario.name, scenario.clone())),
            Some(known) => match (has_failed(known), has_failed(scenario)) {
                (true, true) => match first_step(known).cmp(&first_step(scenario)) {
                    Ordering::Less => {}
                    Ordering::Equal => known.findings.extend_from_slice(&scenario.findings),
                    Ordering::Greater => *known = scenario.clone(),
                },
                (false, true) => *known = scenario.clone(),
                (_, false) => {}
            },
        }
    }
    let scenarios = scenarios.into_values().collect();
    let mut contract = one.contract.clone();
    add_rules(&mut contract, &other.contract);
    let mut both = RunRecord { scenarios, contract, ..one.clone() };
    both.target.name = format!("{} and {}", one.target.name, other.target.name);
    both
}

fn has_failed(scenario: &ScenarioRecord) -> bool {
    matches!(scenario.outcome, Outcome::Failed | Outcome::Late | Outcome::KnownFailure)
}

/// The number of the step in which a scenario failed first.
fn first_step(scenario: &ScenarioRecord) -> Option<usize> {
    let firsts = scenario.findings.iter().filter(|one| one.severity == Severity::Failure && !one.consequence);
    let number = |expectation: &str| expectation.strip_prefix("steps[")?.split_once(']')?.0.parse().ok();
    firsts.filter_map(|one| number(&one.expectation)).min()
}

#[cfg(test)]
#[path = "measure_tests.rs"]
mod tests;
