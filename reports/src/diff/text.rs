//! A comparison as people read it.

use std::fmt::Write as _;

use super::slower::Slower;
use super::summary::of_both;
use super::{Change, Changed, ChangedRule, Diff};
use crate::terminal::printable;
use crate::words::counted;

/// The whole, in lines. Nothing is said of what is as it was.
pub fn render(diff: &Diff) -> String {
    let mut out = String::new();
    let [before, here] = diff.dates.each_ref().map(|date| printable(date));
    let runs = match diff.runs[0] {
        1 => format!("the run of {before}"),
        count => format!("{count} runs, the last of {before}"),
    };
    let _ = writeln!(out, "{here} against {runs}");
    for one in &diff.circumstances {
        let _ = writeln!(out, "{}: was {}, is {}", one.what, printable(&one.before), printable(&one.here));
    }
    for (verb, features) in [("claimed newly", &diff.features_claimed), ("claimed no longer", &diff.features_dropped)] {
        if !features.is_empty() {
            let _ = writeln!(out, "{verb}: {}", printable(&features.join(", ")));
        }
    }
    for change in Change::ALL {
        let scenarios: Vec<&Changed> = diff.scenarios.iter().filter(|one| one.change == change).collect();
        let rules: Vec<&ChangedRule> = diff.contract.iter().filter(|one| one.change == change).collect();
        if scenarios.is_empty() && rules.is_empty() {
            continue;
        }
        let _ = writeln!(out, "{} ({})", change.words(), of_both(scenarios.len(), rules.len()));
        for alike in scenarios.chunk_by(|one, next| is_plain(one) && is_plain(next) && one.reason == next.reason) {
            scenario(&mut out, alike);
        }
        rules.iter().for_each(|one| rule(&mut out, one));
    }
    if !diff.slower.is_empty() {
        let _ = writeln!(out, "slower to settle ({})", diff.slower.len());
        diff.slower.iter().for_each(|one| slower(&mut out, one));
    }
    if diff.interrupted {
        let _ = writeln!(out, "a run of now was broken off: what it lacks says nothing");
    }
    let _ = writeln!(out, "{}", diff.summary.join(" "));
    for ruling in &diff.gate {
        let mark = if ruling.held { '✓' } else { '✗' };
        let _ = writeln!(out, "gate {mark} {}: {}", ruling.rule, ruling.found);
    }
    out
}

/// So many names stand in a line.
const NAMED: usize = 10;

/// Whether a scenario has nothing to say but its reason, which many may share.
fn is_plain(one: &Changed) -> bool {
    one.reason.is_some() && one.findings.is_empty() && !one.known && one.executions.iter().all(|count| *count <= 1)
}

/// Scenarios of which the same is to be said, one at least.
fn scenario(out: &mut String, alike: &[&Changed]) {
    let Some(one) = alike.first() else { return };
    let known = if one.known { ", as is known" } else { "" };
    let often = if one.executions.iter().any(|count| *count > 1) {
        format!(" ({}, {} before)", counted(one.executions[1], "execution", "executions"), one.executions[0])
    } else {
        String::new()
    };
    for some in alike.chunks(NAMED) {
        let names = some.iter().map(|one| one.scenario.as_str()).collect::<Vec<_>>().join(", ");
        let _ = writeln!(out, "  {}{known}{often}", printable(&names));
    }
    if let Some(reason) = &one.reason {
        let _ = writeln!(out, "      {}", printable(reason));
    }
    for finding in &one.findings {
        let clauses =
            if finding.clauses.is_empty() { String::new() } else { format!(" ({})", finding.clauses.join(", ")) };
        let line = format!("{}: expected {}, seen {}{clauses}", finding.expectation, finding.expected, finding.seen);
        let _ = writeln!(out, "      {}", printable(&line));
    }
}

fn rule(out: &mut String, one: &ChangedRule) {
    let known = if one.known { ", as is known" } else { "" };
    let _ = writeln!(out, "  {}{known}", printable(&one.rule));
    if let Some(seen) = &one.seen {
        let _ = writeln!(out, "      {} ({})", printable(seen), printable(&one.clauses.join(", ")));
    }
}

fn slower(out: &mut String, one: &Slower) {
    let what = match &one.step {
        None => format!("{} of {} steps", one.stage, one.compared),
        Some((scenario, step)) => format!("{scenario} steps[{step}] {}, {} executions", one.stage, one.compared),
    };
    let (before, here) = (one.before_ms, one.here_ms);
    let _ = writeln!(
        out,
        "  {}: {before:.0} ms before, {here:.0} ms now (by chance: {:.1e})",
        printable(&what),
        one.chance
    );
}
