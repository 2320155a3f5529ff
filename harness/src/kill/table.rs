//! The tables of what shows each fault, as files that the program keeps: which rows hold it finds out, which of them comes first is
//! a judgement, and stays.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use gateproof_testbed::KnownFault;

use super::complaint::Complaint;
use super::drive::drive;
use super::matrix::Matrix;
use super::plan::{Extent, Plan, Watcher};
use super::shown_by::{Showing, ShownBy};

/// What was seen of a fault.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Seen {
    /// What shows it: of what was listed all that failed, and what else its clauses need.
    pub rows: Vec<Showing>,
    /// Scenarios that could not tell. What is listed of them stays.
    pub open: BTreeSet<String>,
    /// Clauses that the fault declares, and none of the rows carries.
    pub unproven: BTreeSet<String>,
    /// Why nothing could be run under it. All that is listed stays.
    pub error: Option<String>,
}

/// Runs each fault of the plan with what is listed for it; where that does not hold, or leaves a clause open, once more with all
/// that is about its clauses.
pub async fn seen(plan: &mut Plan, listed: &ShownBy, seed: u64, watcher: &dyn Watcher) -> BTreeMap<String, Seen> {
    plan.extent = Extent::Sample(seed);
    let first = drive(plan, listed, watcher).await;
    let is_doubtful = |complaint: &Complaint| !matches!(complaint, Complaint::Undeclared { .. });
    let doubtful: BTreeSet<&str> =
        first.complaints.iter().filter(|one| is_doubtful(one)).map(Complaint::fault).collect();
    plan.faults.retain(|fault| doubtful.contains(fault.name));
    plan.extent = Extent::Declared(seed);
    let second = drive(plan, listed, watcher).await;
    let mut all: BTreeMap<String, Seen> =
        first.rows.iter().map(|row| (row.fault.clone(), seen_of(&first, &row.fault))).collect();
    for row in &second.rows {
        let earlier = all.remove(&row.fault).unwrap_or_default();
        all.insert(row.fault.clone(), earlier.and(seen_of(&second, &row.fault), listed.of(&row.fault)));
    }
    all
}

/// What a matrix says of one of its faults.
fn seen_of(matrix: &Matrix, fault: &str) -> Seen {
    let mut seen = Seen::default();
    if let Some(row) = matrix.rows.iter().find(|row| row.fault == fault) {
        seen.rows = row.shown_by.iter().filter_map(|row| Showing::try_from(row.clone()).ok()).collect();
        seen.unproven.clone_from(&row.unproven);
    }
    for complaint in matrix.complaints.iter().filter(|one| one.fault() == fault) {
        match complaint {
            Complaint::Inconclusive { scenario, .. } => drop(seen.open.insert(scenario.clone())),
            Complaint::NotRun { error, .. } => seen.error = Some(error.clone()),
            _ => {}
        }
    }
    seen
}

impl Seen {
    /// With a second look: what was listed and failed in one of the two holds, and nothing takes its place if all of it does, or may.
    fn and(self, second: Seen, listed: &[Showing]) -> Seen {
        if second.error.is_some() {
            return second;
        }
        let failed = |row: &&Showing| self.rows.contains(row) || second.rows.contains(row);
        let mut rows: Vec<Showing> = listed.iter().filter(failed).cloned().collect();
        let is_open = |row: &Showing| second.open.contains(&row.scenario);
        let misses = listed.iter().any(|row| !rows.contains(row) && !is_open(row));
        let held_once = listed.iter().any(|row| rows.contains(row) && !second.rows.contains(row));
        let undecided = listed.iter().any(is_open);
        if misses || !(held_once || undecided) {
            rows.extend(second.rows.into_iter().filter(|row| !listed.contains(row)));
        }
        let unproven = self.unproven.intersection(&second.unproven).cloned().collect();
        Seen { rows, unproven, ..second }
    }
}

/// Why a file is none of these tables.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NoTable {
    /// It begins otherwise.
    #[error("its first comment does not say that `{0}` prints it, so it is another table or none")]
    Another(String),
    /// A line has no place in a table.
    #[error(
        "line {line}: {text} is neither a comment, nor the name of a fault with a colon, nor a row below one ({why})"
    )]
    Line {
        /// Its number.
        line: usize,
        /// The line, in quotes.
        text: String,
        /// What is wrong with it.
        why: String,
    },
    /// A fault has two lists.
    #[error("line {line}: {fault} stands there already")]
    Twice {
        /// The number of the line.
        line: usize,
        /// The fault.
        fault: String,
    },
    /// It is about something else.
    #[error("line {line}: there is no fault {fault}")]
    NoFault {
        /// The number of the line.
        line: usize,
        /// What stands in the place of a fault.
        fault: String,
    },
}

/// A table as its file has it, with its comments.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Table {
    head: Vec<String>,
    faults: BTreeMap<String, Listed>,
    tail: Vec<String>,
}

/// What is listed for a fault. Comments belong to what they stand above.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Listed {
    comments: Vec<String>,
    rows: Vec<(Vec<String>, Showing)>,
}

/// A row that was put in or taken out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    /// The fault.
    pub fault: String,
    /// The row.
    pub row: Showing,
    /// Whether it is new.
    pub is_new: bool,
}

impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}: {}", if self.is_new { '+' } else { '-' }, self.fault, self.row)
    }
}

impl Table {
    /// Reads the table that a command prints, which its first comment names.
    ///
    /// # Errors
    /// It is another one, or none.
    pub fn parse(text: &str, command: &str, faults: &[KnownFault]) -> Result<Table, NoTable> {
        let table = Table::read(text, faults)?;
        let head: String = table.head.iter().map(|line| line.trim_start_matches('#')).collect();
        match head.contains(&format!("`{command}`")) {
            true => Ok(table),
            false => Err(NoTable::Another(command.to_owned())),
        }
    }

    fn read(text: &str, known: &[KnownFault]) -> Result<Table, NoTable> {
        let mut table = Table { head: Vec::new(), faults: BTreeMap::new(), tail: Vec::new() };
        let mut comments = Vec::new();
        let mut last: Option<String> = None;
        for (number, line) in (1..).zip(text.lines()) {
            let wrong = |why: &str| {
                let text = if line.is_empty() { "an empty line".to_owned() } else { format!("`{line}`") };
                NoTable::Line { line: number, text, why: why.to_owned() }
            };
            if line.trim_start().starts_with('#') {
                let to = if last.is_none() { &mut table.head } else { &mut comments };
                to.push(line.to_owned());
            } else if let Some(row) = line.strip_prefix("  - ") {
                let showing = Showing::try_from(row.to_owned()).map_err(|why| wrong(&why))?;
                let listed = last.as_ref().and_then(|fault| table.faults.get_mut(fault));
                let Some(listed) = listed else { return Err(wrong("no fault stands above")) };
                listed.rows.push((std::mem::take(&mut comments), showing));
            } else if let Some(fault) = line.strip_suffix(':').filter(|fault| !fault.contains(char::is_whitespace)) {
                let fault = fault.to_owned();
                if !known.iter().any(|one| one.name == fault) {
                    return Err(NoTable::NoFault { line: number, fault });
                }
                if table.faults.contains_key(&fault) {
                    return Err(NoTable::Twice { line: number, fault });
                }
                let comments = std::mem::take(&mut comments);
                table.faults.insert(fault.clone(), Listed { comments, rows: Vec::new() });
                last = Some(fault);
            } else {
                return Err(wrong("two spaces, a dash and a space begin a row"));
            }
        }
        table.tail = comments;
        Ok(table)
    }

    /// What it lists, by fault.
    pub fn rows(&self) -> BTreeMap<String, Vec<Showing>> {
        let rows = |listed: &Listed| listed.rows.iter().map(|(_, row)| row.clone()).collect();
        self.faults.iter().map(|(fault, listed)| (fault.clone(), rows(listed))).collect()
    }

    /// Makes it say what was seen of these faults, and what that changes. What holds stays in its place; what is new comes last.
    pub fn put(&mut self, seen: &BTreeMap<String, Seen>) -> Vec<Change> {
        let mut changes = Vec::new();
        for (fault, seen) in seen.iter().filter(|(_, seen)| seen.error.is_none()) {
            let listed = self.faults.entry(fault.clone()).or_default();
            let mut change = |row: &Showing, is_new| {
                changes.push(Change { fault: fault.clone(), row: row.clone(), is_new });
            };
            listed.rows.retain(|(_, row)| {
                let holds = seen.rows.contains(row) || seen.open.contains(&row.scenario);
                if !holds {
                    change(row, false);
                }
                holds
            });
            for row in &seen.rows {
                if listed.rows.iter().all(|(_, there)| there != row) {
                    change(row, true);
                    listed.rows.push((Vec::new(), row.clone()));
                }
            }
        }
        // A fault without a row would be no list.
        self.faults.retain(|_, listed| !listed.rows.is_empty());
        changes
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let comments =
            |f: &mut fmt::Formatter<'_>, lines: &[String]| lines.iter().try_for_each(|line| writeln!(f, "{line}"));
        comments(f, &self.head)?;
        for (fault, listed) in &self.faults {
            comments(f, &listed.comments)?;
            writeln!(f, "{fault}:")?;
            for (above, row) in &listed.rows {
                comments(f, above)?;
                writeln!(f, "  - {row}")?;
            }
        }
        comments(f, &self.tail)
    }
}

#[cfg(test)]
#[path = "table_tests.rs"]
mod tests;
