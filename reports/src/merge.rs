//! The records of all parts of a run (`run --shard PART/PARTS`), put together as one run would have them.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;

use crate::known::{KnownFailureRecord, KnownState};
use crate::record::{ContractRecord, Digests, RunRecord, ShardRecord, repeat_of};

/// Why records cannot be put together.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum MergeError {
    /// There is nothing.
    #[error("there is no part to put together")]
    Nothing,
    /// It is a whole run.
    #[error("{0} is no part of a run: it was not run with --shard")]
    NoPart(String),
    /// It is of something else than the first.
    #[error("{name} is no part of the run that {first} is of: {what}")]
    Foreign {
        /// Which.
        name: String,
        /// The first.
        first: String,
        /// What is different.
        what: String,
    },
    /// A part is there twice.
    #[error("part {part}/{parts} is there twice: {first} and {second}")]
    Doubled {
        /// Which.
        part: usize,
        /// Of how many.
        parts: usize,
        /// One of them.
        first: String,
        /// The other.
        second: String,
    },
    /// Parts are not there.
    #[error("{} missing", in_words(parts, missing))]
    Missing {
        /// Which.
        missing: Vec<usize>,
        /// Of how many.
        parts: usize,
    },
    /// A scenario is in several parts, or fewer scenarios are there than were selected.
    #[error("of {selected} scenarios that were selected the parts have {found}")]
    Incomplete {
        /// How many there are.
        found: usize,
        /// How many there should be.
        selected: usize,
    },
}

fn in_words(parts: &usize, missing: &[usize]) -> String {
    let names: Vec<String> = missing.iter().map(|part| format!("{part}/{parts}")).collect();
    match &names[..] {
        [one] => format!("part {one} is"),
        all => format!("parts {} are", all.join(", ")),
    }
}

/// A part: how the user named it, its record, and which part it is.
type Part<'a> = (&'a str, &'a RunRecord, &'a ShardRecord);

/// Puts the parts of a run together. Each comes with the name under which it is told of.
///
/// What only one run would share is counted in each: objects that all scenarios have in common, such as the class, are watched once
/// a part.
///
/// # Errors
/// Everything that keeps them from being one run: a part that is missing, there twice, or of another run.
pub fn merge(records: &[(String, RunRecord)]) -> Result<RunRecord, Vec<MergeError>> {
    let no_part =
        |(name, record): &(String, RunRecord)| record.shard.is_none().then(|| MergeError::NoPart(name.clone()));
    let errors: Vec<MergeError> = records.iter().filter_map(no_part).collect();
    if !errors.is_empty() {
        return Err(errors);
    }
    let parts = records.iter().filter_map(|(name, record)| Some((name.as_str(), record, record.shard.as_ref()?)));
    let mut parts: Vec<Part<'_>> = parts.collect();
    let Some(&(first, record, shard)) = parts.first() else { return Err(vec![MergeError::Nothing]) };
    let foreign = |(name, other, its): &Part<'_>| {
        let (name, first) = ((*name).to_owned(), first.to_owned());
        difference((record, shard), (other, its)).map(|what| MergeError::Foreign { name, first, what })
    };
    let errors: Vec<MergeError> = parts.iter().skip(1).filter_map(foreign).collect();
    if !errors.is_empty() {
        return Err(errors);
    }
    parts.sort_by_key(|(_, _, shard)| shard.part);
    let twice = parts.windows(2).filter(|two| two[0].2.part == two[1].2.part).map(|two| MergeError::Doubled {
        part: two[0].2.part,
        parts: shard.parts,
        first: two[0].0.to_owned(),
        second: two[1].0.to_owned(),
    });
    let mut errors: Vec<MergeError> = twice.collect();
    let there: BTreeSet<usize> = parts.iter().map(|(_, _, shard)| shard.part).collect();
    let missing: Vec<usize> = (1..=shard.parts).filter(|part| !there.contains(part)).collect();
    if !missing.is_empty() {
        errors.push(MergeError::Missing { missing, parts: shard.parts });
    }
    if errors.is_empty() {
        let names = parts.iter().flat_map(|(_, record, _)| &record.scenarios).map(|one| repeat_of(&one.name).0);
        let found = names.collect::<BTreeSet<_>>().len();
        if found != shard.selected {
            errors.push(MergeError::Incomplete { found, selected: shard.selected });
        }
    }
    if errors.is_empty() { Ok(together(&parts)) } else { Err(errors) }
}

/// What is different between two parts that should be of one run.
fn difference((record, shard): (&RunRecord, &ShardRecord), (other, its): (&RunRecord, &ShardRecord)) -> Option<String> {
    let digests = |of: fn(&Digests) -> &String| record.digests.as_ref().map(of) != other.digests.as_ref().map(of);
    let of_one =
        |what: &str, here: &str, there: &str| (here != there).then(|| format!("{what} is {there}, not {here}"));
    let differs = |what: &str, differs: bool| differs.then(|| what.to_owned());
    let arguments = |record: &RunRecord| match record.arguments.join(" ") {
        none if none.is_empty() => "none".to_owned(),
        some => some,
    };
    of_one("the number of parts", &shard.parts.to_string(), &its.parts.to_string())
        .or_else(|| of_one("its target", &record.target.name, &other.target.name))
        .or_else(|| of_one("its dialect", &record.target.dialect, &other.target.dialect))
        .or_else(|| {
            differs(
                "the target is of another kind or release, or held to other features",
                record.target != other.target,
            )
        })
        .or_else(|| of_one("the arguments of its run", &arguments(record), &arguments(other)))
        .or_else(|| of_one("its gateproof", &record.producer, &other.producer))
        .or_else(|| differs("it was judged by another suite", digests(|one| &one.suite)))
        .or_else(|| {
            differs("other scenarios were selected, or their manifests are others", shard.selection != its.selection)
        })
        .or_else(|| differs("the target said something else of itself", digests(|one| &one.target)))
        .or_else(|| {
            differs("it was run otherwise, such as with other limits or repeats", digests(|one| &one.environment))
        })
        .or_else(|| differs("its file of known failures is another", entries(record) != entries(other)))
}

fn entries(record: &RunRecord) -> Vec<&crate::known::KnownFailure> {
    record.known_failures.iter().map(|known| &known.entry).collect()
}

/// The parts in their order.
fn together(parts: &[Part<'_>]) -> RunRecord {
    let records = || parts.iter().map(|(_, record, _)| *record);
    let mut scenarios: Vec<_> = records().flat_map(|record| record.scenarios.iter().cloned()).collect();
    scenarios.sort_by(|a, b| repeat_of(&a.name).cmp(&repeat_of(&b.name)));
    let mut outside_profiles: Vec<String> =
        records().flat_map(|record| record.outside_profiles.iter().cloned()).collect();
    outside_profiles.sort_by(|a, b| repeat_of(a).cmp(&repeat_of(b)));
    let first = parts[0].1;
    let date = records().map(|record| &record.date).min().unwrap_or(&first.date).clone();
    RunRecord {
        known_failures: known_failures(records(), &date),
        digests: digests(records()),
        duration_ms: duration(records()),
        interrupted: records().any(|record| record.interrupted),
        contract: contract(records()),
        leftovers: records().flat_map(|record| record.leftovers.iter().cloned()).collect(),
        options_file: None,
        shard: None,
        scenarios,
        outside_profiles,
        date,
        ..first.clone()
    }
}

/// Every part has manifests of its own; all else is the same.
fn digests<'a>(records: impl Iterator<Item = &'a RunRecord>) -> Option<Digests> {
    records.filter_map(|record| record.digests.clone()).reduce(|mut all, one| {
        all.manifests.extend(one.manifests);
        all
    })
}

fn contract<'a>(records: impl Iterator<Item = &'a RunRecord>) -> Vec<ContractRecord> {
    let mut all: BTreeMap<&str, ContractRecord> = BTreeMap::new();
    for one in records.flat_map(|record| &record.contract) {
        let Some(rule) = all.get_mut(&*one.name) else {
            all.insert(&one.name, one.clone());
            continue;
        };
        rule.objects += one.objects;
        rule.known = match (rule.breaches.is_empty(), one.breaches.is_empty()) {
            (_, true) => rule.known.take(),
            (true, false) => one.known.clone(),
            // Each part may say the same of its breaches; one with breaches that nobody expects decides.
            (false, false) => rule.known.take().zip(one.known.clone()).map(|(known, other)| match known == other {
                true => known,
                false => format!("{known}; {other}"),
            }),
        };
        rule.breaches.extend(one.breaches.iter().cloned());
    }
    all.into_values().collect()
}

/// What became of each entry in all parts together: what fails in one of them does not pass because another part has none of it.
fn known_failures<'a>(records: impl Iterator<Item = &'a RunRecord>, date: &str) -> Vec<KnownFailureRecord> {
    let mut all: Vec<KnownFailureRecord> = Vec::new();
    for record in records {
        for (position, known) in record.known_failures.iter().enumerate() {
            match all.get_mut(position) {
                Some(there) => {
                    there.seen.extend(known.seen.iter().cloned());
                    there.passed.extend(known.passed.iter().cloned());
                }
                None => all.push(known.clone()),
            }
        }
    }
    for known in &mut all {
        let (seen, passed): (BTreeSet<_>, BTreeSet<_>) =
            (known.seen.drain(..).collect(), known.passed.drain(..).collect());
        known.passed = passed.difference(&seen).cloned().collect();
        known.seen = seen.into_iter().collect();
        known.state = KnownState::of(&known.entry, date, &known.seen, &known.passed);
    }
    all
}

/// From the first beginning to the last end; the longest part if one of them does not say when it began.
fn duration<'a>(records: impl Iterator<Item = &'a RunRecord>) -> u64 {
    let mut spans: Vec<(Option<Timestamp>, u64)> = Vec::new();
    for record in records {
        spans.push((record.date.parse().ok(), record.duration_ms));
    }
    let longest = spans.iter().map(|(_, ms)| *ms).max().unwrap_or_default();
    let begun: Option<Vec<(i64, u64)>> =
        spans.iter().map(|(at, ms)| Some((at.as_ref()?.as_millisecond(), *ms))).collect();
    let Some(begun) = begun else { return longest };
    let first = begun.iter().map(|(at, _)| *at).min().unwrap_or_default();
    let ends = begun.iter().map(|(at, ms)| u64::try_from(at - first).unwrap_or_default().saturating_add(*ms));
    ends.max().unwrap_or(longest)
}
