//! The account for a terminal.

use std::fmt::Write;

use super::{Account, Cell, Missed, Row, State, Why};
use crate::record::Severity;
use crate::terminal::printable;
use crate::words::counted;

/// How many names are written out where there are many.
const NAMED: usize = 3;

/// The account as text: of one run with its evidence, of several side by side.
pub fn render(account: &Account) -> String {
    let mut out = String::new();
    for run in &account.runs {
        let _ = writeln!(
            out,
            "{}: {}, {}, {}",
            printable(&run.name),
            printable(&run.target),
            printable(&run.of),
            printable(&run.date)
        );
        let _ = writeln!(out, "  {}", counts(account, run));
    }
    match account.runs.len() {
        1 => State::ALL.into_iter().for_each(|state| one(&mut out, account, state)),
        _ => several(&mut out, account),
    }
    out
}

/// How many clauses are in which state, in one line.
pub(super) fn counts(account: &Account, run: &super::Run) -> String {
    let parts: Vec<String> = State::ALL
        .into_iter()
        .filter_map(|state| Some(format!("{} {}", run.counts.get(state.word())?, state.word())))
        .collect();
    let all: usize = run.counts.values().sum();
    let shown = account.clauses.len();
    let only = match shown {
        _ if shown >= all => String::new(),
        1 => "; 1 of them is shown".to_owned(),
        shown => format!("; {shown} of them are shown"),
    };
    format!("{}: {}{only}", counted(all, "clause", "clauses"), parts.join(", "))
}

fn one(out: &mut String, account: &Account, state: State) {
    let rows: Vec<(&Row, &Cell)> = account
        .clauses
        .iter()
        .filter_map(|row| Some((row, row.of.first()?)))
        .filter(|(_, c)| c.state == state)
        .collect();
    if rows.is_empty() {
        return;
    }
    let _ = writeln!(out, "\n{}, {}:", state.word(), rows.len());
    for (row, cell) in rows {
        let _ = writeln!(out, "  {}  {}", printable(&row.id), printable(&row.text));
        lines(cell).iter().for_each(|line| {
            let _ = writeln!(out, "    {}", printable(line));
        });
    }
}

/// What is said of a clause beside its state, one sentence each.
pub(super) fn lines(cell: &Cell) -> Vec<String> {
    let mut lines: Vec<String> = cell.missed.iter().map(missed).collect();
    if !cell.held_by.is_empty() {
        let names: Vec<&str> =
            cell.held_by.iter().map(|met| met.scenario.as_deref().unwrap_or(&met.expectations[0])).collect();
        let count: usize = cell.held_by.iter().map(|met| met.expectations.len()).sum();
        let often = if count == 1 { "once".to_owned() } else { format!("{count} times") };
        lines.push(format!("met {often}, in {}", some(&names)));
    }
    lines.extend(cell.not_seen.iter().map(|why| because("not seen", why)));
    lines.extend(cell.not_applicable.iter().map(|why| because("not applicable", why)));
    lines
}

fn missed(missed: &Missed) -> String {
    let Missed { scenario, expectation, miss } = missed;
    let within = scenario.as_ref().map(|name| format!("{name}: ")).unwrap_or_default();
    let mut marks = Vec::new();
    marks.extend((miss.severity != Severity::Failure).then_some("only should be"));
    marks.extend(miss.late.then_some("came late"));
    marks.extend(miss.consequence.then_some("follows from another"));
    let known = miss.known.as_ref().map(|reason| format!("known: {reason}"));
    marks.extend(known.as_deref());
    let marks = if marks.is_empty() { String::new() } else { format!(" ({})", marks.join(", ")) };
    format!("{within}{expectation}{marks}: expected {}; saw {}", miss.expected, miss.seen)
}

fn because(what: &str, why: &Why) -> String {
    let names: Vec<&str> = why.scenarios.iter().map(String::as_str).collect();
    let within = if names.is_empty() { String::new() } else { format!(", in {}", some(&names)) };
    format!("{what}: {}{within}", why.reason)
}

fn some(names: &[&str]) -> String {
    let more = names.len().saturating_sub(NAMED);
    let named = names[..names.len() - more].join(", ");
    if more == 0 { named } else { format!("{named} and {more} more") }
}

fn several(out: &mut String, account: &Account) {
    let widest = |texts: &mut dyn Iterator<Item = usize>| texts.max().unwrap_or_default();
    let id = widest(&mut account.clauses.iter().map(|row| row.id.chars().count()));
    let state = widest(&mut State::ALL.iter().map(|state| state.word().len()));
    let _ = writeln!(out);
    for row in &account.clauses {
        let mark = if row.differs() { "≠" } else { " " };
        let states: Vec<String> = row.of.iter().map(|cell| format!("{:state$}", cell.state.word())).collect();
        let _ = writeln!(out, "{mark} {:id$}  {}  {}", printable(&row.id), states.join("  "), printable(&row.text));
    }
    let differing = account.clauses.iter().filter(|row| row.differs()).count();
    let _ = writeln!(out, "\n{differing} of {} differ (≠)", account.clauses.len());
}
