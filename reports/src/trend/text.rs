//! A trend as people read it in a terminal.

use std::fmt::Write as _;

use super::spark::{bars, from_zero};
use super::{Course, Row, Trend};
use crate::diff::State;
use crate::terminal::printable;

/// How many scenarios of one course are shown.
const SHOWN: usize = 200;

/// The whole, in lines. Of what is as ever only the number is told, unless everything is asked for.
pub fn render(trend: &Trend, everything: bool) -> String {
    let mut out = String::new();
    for (index, run) in trend.runs.iter().enumerate() {
        let release = run.release.as_deref().unwrap_or("no release");
        let flaky = if run.flaky > 0 { format!(", {} flaky", run.flaky) } else { String::new() };
        let known = if run.known > 0 { format!(" ({} known)", run.known) } else { String::new() };
        let settle = run.settle_ms.map(|ms| format!(", settles in {ms:.0} ms")).unwrap_or_default();
        let line = format!(
            "{:>3}  {}  {} passed, {} failed{known}{flaky}, {} not tested{settle}  {release}  {}",
            index + 1,
            run.date,
            run.passed,
            run.failed,
            run.untested,
            run.place
        );
        let _ = writeln!(out, "{}", printable(&line));
    }
    if trend.older > 0 {
        let _ = writeln!(out, "{} older runs are not shown", trend.older);
    }
    let rates: Vec<Option<f64>> = trend.runs.iter().map(|run| run.pass_rate).collect();
    let settles: Vec<Option<f64>> = trend.runs.iter().map(|run| run.settle_ms).collect();
    let _ = writeln!(
        out,
        "pass rate  {}  {}",
        bars(&rates, (0.0, 1.0)),
        ends(&rates, |rate| format!("{:.1} %", 100.0 * rate))
    );
    let _ = writeln!(
        out,
        "settling   {}  {}",
        bars(&settles, from_zero(&settles)),
        ends(&settles, |ms| format!("{ms:.0} ms"))
    );
    for course in Course::ALL.into_iter().filter(|course| everything || !course.is_steady()) {
        let rows: Vec<&Row> = trend.scenarios.iter().filter(|row| row.course == course).collect();
        if rows.is_empty() {
            continue;
        }
        let _ = writeln!(out, "{} ({})", course.words(), rows.len());
        let shown = if everything { rows.len() } else { SHOWN };
        rows.iter().take(shown).for_each(|row| line(&mut out, row));
        if rows.len() > shown {
            let _ = writeln!(out, "  and {} more", rows.len() - shown);
        }
    }
    for one in trend.slower.iter().filter(|one| one.step.is_none()) {
        let (stage, before, here) = (printable(&one.stage), one.before_ms, one.here_ms);
        let _ = writeln!(
            out,
            "the last run is slower: {stage} took {before:.0} ms before, {here:.0} ms now, over {} steps",
            one.compared
        );
    }
    for note in &trend.notes {
        let _ = writeln!(out, "{}", printable(note));
    }
    let _ = writeln!(out, "{} runs, {} scenarios: {}", trend.runs.len(), trend.scenarios.len(), trend.counts());
    out
}

fn line(out: &mut String, row: &Row) {
    let states: String = row.states.iter().map(|state| mark(*state)).collect();
    let since = row.since.as_ref().map(|place| format!(", since {place}")).unwrap_or_default();
    let times = ends(&row.settle_ms, |ms| format!("{ms:.0} ms"));
    let settles = bars(&row.settle_ms, from_zero(&row.settle_ms));
    let settles = if times.is_empty() { String::new() } else { format!("  {settles} {times}") };
    let _ = writeln!(out, "  {states}{settles}  {}", printable(&format!("{}{since}", row.scenario)));
}

/// The first and the last of the values.
fn ends(values: &[Option<f64>], words: fn(f64) -> String) -> String {
    let mut known = values.iter().flatten().copied();
    match (known.next(), known.next_back()) {
        (Some(first), Some(last)) => format!("{} → {}", words(first), words(last)),
        (Some(only), None) => words(only),
        _ => String::new(),
    }
}

/// The letter of a state.
pub(super) fn mark(state: State) -> char {
    match state {
        State::Passed => '✓',
        State::Failed => '✗',
        State::Known => 'k',
        State::Flaky => '~',
        State::Untested => '·',
    }
}
