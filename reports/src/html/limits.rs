//! How much of a run the page holds.
//!
//! What did not pass comes first, whole as far as there is room; the largest of it gives way first. What passed has its outline, in the
//! order in which it ended, as far as the rest of the room goes. The page says what was left out.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use super::evidence::{Evidence, Version, last_of};
use super::text::{clip, json};
use crate::record::{Outcome, RunRecord};

/// How many bytes the page has at most, but for a record that alone has more.
pub const PAGE: usize = 4_500_000;
/// What evidence may have, however large the record is.
const LEAST: usize = 400_000;
/// How many bytes a text of the evidence may have.
const TEXT: usize = 16_000;
/// How much of what is long stays in an outline.
#[derive(Clone, Copy)]
struct Measure {
    /// How many rows, versions and notes at each end.
    ends: usize,
    /// How many bytes of a text.
    text: usize,
}

/// Of what did not pass.
const OTHERS: Measure = Measure { ends: 12, text: 1_000 };
/// Of what passed: it is many, and few ask for it.
const PASSED: Measure = Measure { ends: 4, text: 300 };

/// What was left out of the page.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Cuts {
    /// How many executions that did not pass have all their evidence.
    pub whole: usize,
    /// How many have their outline, or less.
    pub shortened: usize,
    /// How many that passed have their outline.
    pub passed: usize,
    /// How many that passed have none.
    pub passed_without: usize,
    /// How many texts of the record were too long.
    pub texts: usize,
}

/// Where evidence is put, one execution after the other.
pub struct Shelf {
    room: usize,
    outcomes: BTreeMap<String, Outcome>,
    passed: Vec<(String, Box<RawValue>)>,
    passed_size: usize,
    passed_without: usize,
    /// As JSON, which takes a fraction of what it stands for: a target that writes without end has thousands of versions in each.
    others: Vec<(String, String)>,
}

impl Shelf {
    /// One for what was seen of this run. `taken` is how many bytes the rest of the page has.
    pub fn of(record: &RunRecord, taken: usize) -> Shelf {
        Shelf {
            room: PAGE.saturating_sub(taken).max(LEAST),
            outcomes: record.scenarios.iter().map(|one| (one.name.clone(), one.outcome)).collect(),
            passed: Vec::new(),
            passed_size: 0,
            passed_without: 0,
            others: Vec::new(),
        }
    }

    /// Takes what was seen of one execution, unless the record does not know it.
    pub fn put(&mut self, name: &str, evidence: Evidence) -> Result<(), serde_json::Error> {
        match self.outcomes.get(name) {
            None => {}
            Some(Outcome::Passed) if self.passed_size >= self.room => self.passed_without += 1,
            Some(Outcome::Passed) => {
                let text = json(&outline(lean(evidence), PASSED))?;
                if self.passed_size + text.len() > self.room {
                    self.passed_without += 1;
                } else {
                    self.passed_size += text.len();
                    self.passed.push((name.to_owned(), RawValue::from_string(text)?));
                }
            }
            Some(_) => self.others.push((name.to_owned(), json(&clipped(evidence, TEXT)?)?)),
        }
        Ok(())
    }

    /// What the page holds, by name, and what it does not.
    pub fn close(self) -> Result<(BTreeMap<String, Box<RawValue>>, Cuts), serde_json::Error> {
        let mut cuts = Cuts { passed_without: self.passed_without, ..Cuts::default() };
        let mut kept = BTreeMap::new();
        let mut size = 0;
        for (name, text) in fitting(self.others, self.room, &mut cuts)? {
            size += text.len();
            kept.insert(name, RawValue::from_string(text)?);
        }
        for (name, text) in self.passed {
            if size + text.get().len() > self.room {
                cuts.passed_without += 1;
            } else {
                size += text.get().len();
                cuts.passed += 1;
                kept.insert(name, text);
            }
        }
        Ok((kept, cuts))
    }
}

/// What did not pass, as it goes into the page.
struct Fitted {
    name: String,
    text: String,
    /// What it was, if that was too much.
    whole: Option<String>,
}

/// The largest gives way until all have room.
fn fitting(
    all: Vec<(String, String)>,
    room: usize,
    cuts: &mut Cuts,
) -> Result<Vec<(String, String)>, serde_json::Error> {
    let mut all: Vec<Fitted> = all.into_iter().map(|(name, text)| Fitted { name, text, whole: None }).collect();
    let ways: [fn(Evidence) -> Evidence; 2] = [|evidence| outline(evidence, OTHERS), bare];
    for less in ways {
        let mut size: usize = all.iter().map(|one| one.text.len()).sum();
        let mut largest: Vec<usize> = (0..all.len()).collect();
        largest.sort_by(|a, b| (all[*b].text.len(), &all[*a].name).cmp(&(all[*a].text.len(), &all[*b].name)));
        for at in largest {
            if size <= room {
                break;
            }
            let one = &mut all[at];
            let short = json(&less(serde_json::from_str(one.whole.as_ref().unwrap_or(&one.text))?))?;
            if short.len() < one.text.len() {
                size -= one.text.len() - short.len();
                let long = std::mem::replace(&mut one.text, short);
                one.whole.get_or_insert(long);
            }
        }
    }
    let mut size = 0;
    let mut kept = Vec::new();
    for Fitted { name, text, whole } in all {
        // Where even the least of all is too much, the last have nothing.
        if size + text.len() > room {
            cuts.shortened += 1;
            continue;
        }
        size += text.len();
        *(if whole.is_some() { &mut cuts.shortened } else { &mut cuts.whole }) += 1;
        kept.push((name, text));
    }
    Ok(kept)
}

/// The same with no text longer than that.
fn clipped(evidence: Evidence, longest: usize) -> Result<Evidence, serde_json::Error> {
    let mut value = serde_json::to_value(evidence)?;
    clip(&mut value, longest);
    serde_json::from_value(value)
}

/// Of what was there before the scenario and many share, the end alone.
fn lean(mut evidence: Evidence) -> Evidence {
    for object in evidence.objects.iter_mut().filter(|one| one.versions.first().is_some_and(|first| first.at == 0)) {
        let parts = object.last();
        object.versions.drain(..object.versions.len() - 1);
        object.versions.iter_mut().for_each(|last| last.parts.clone_from(&parts));
    }
    evidence
}

/// The ends of everything that is long, and no word of what was written.
fn outline(mut evidence: Evidence, Measure { ends, text }: Measure) -> Evidence {
    evidence.writes.iter_mut().for_each(|write| write.sent = None);
    for object in &mut evidence.objects {
        let whole = object.last();
        let versions = object.versions.len();
        if versions > 2 * ends {
            // What is left builds on the last of those that went.
            let gone: Vec<Version> = object.versions.drain(..versions - ends).collect();
            let at = gone.last().map_or(0, |version| version.at);
            let parts = last_of(&gone);
            object.versions.insert(0, Version { at, gone: false, parts });
        }
        debug_assert_eq!(whole, object.last());
    }
    for row in &mut evidence.rows {
        let attempts = row.at.len();
        if attempts > 2 * ends {
            row.at.drain(ends..attempts - ends);
        }
        row.came.truncate(1);
    }
    middle_out(&mut evidence.rows, ends);
    middle_out(&mut evidence.notes, ends);
    evidence.cut = Some("the middle of what is long, what was written, and the ends of long texts".to_owned());
    let short = clipped(evidence.clone(), text);
    short.unwrap_or(evidence)
}

/// How objects ended, and how probes did.
fn bare(evidence: Evidence) -> Evidence {
    let mut evidence = outline(evidence, OTHERS);
    for object in &mut evidence.objects {
        let parts = object.last().into_iter().filter(|(name, _)| name == "status").collect();
        let at = object.versions.last().map_or(0, |version| version.at);
        object.versions = vec![Version { at, gone: false, parts }];
    }
    evidence.rows.iter_mut().for_each(|row| row.came.clear());
    evidence.notes.clear();
    evidence.cut = Some("all but writes, the last statuses and how probes ended".to_owned());
    evidence
}

fn middle_out<T>(all: &mut Vec<T>, ends: usize) {
    let count = all.len();
    if count > 2 * ends {
        all.drain(ends..count - ends);
    }
}

/// The record as JSON, and how many of its texts were too long for the page. Of a run with many scenarios each is made by itself: as
/// values all of them take several times the room.
pub(super) fn record(record: &RunRecord) -> Result<(String, usize), serde_json::Error> {
    let (mut texts, mut parts) = (0, Vec::new());
    let mut part = |value: &mut Value| {
        texts += clip(value, TEXT / 2);
        json(value)
    };
    for (name, mut value) in head(record)? {
        let text = if name == SCENARIOS {
            let all = record.scenarios.iter().map(|one| part(&mut serde_json::to_value(one)?));
            format!("[{}]", all.collect::<Result<Vec<String>, _>>()?.join(","))
        } else {
            part(&mut value)?
        };
        parts.push(format!("{}:{text}", json(&name)?));
    }
    Ok((format!("{{{}}}", parts.join(",")), texts))
}

/// The field of a record that has its scenarios.
const SCENARIOS: &str = "scenarios";

/// A record without its scenarios.
fn head(record: &RunRecord) -> Result<Map<String, Value>, serde_json::Error> {
    match serde_json::to_value(RunRecord { scenarios: Vec::new(), ..record.clone() })? {
        Value::Object(fields) => Ok(fields),
        _ => Ok(Map::new()),
    }
}
