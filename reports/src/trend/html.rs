//! A trend as a page: one file without script.

use std::fmt::Write as _;

use super::spark::{from_zero, line};
use super::text::mark;
use super::{Course, Row, Trend};
use crate::diff::State;
use crate::page::{page, text};

const STYLE: &str = include_str!("trend.css");

/// The whole, as a page of HTML.
pub fn html(trend: &Trend) -> String {
    let mut out = String::new();
    let older = if trend.older > 0 { format!(", {} older ones are not shown", trend.older) } else { String::new() };
    let _ = writeln!(
        out,
        "<h1>Trend</h1>\n<p>{} runs{older}; {} scenarios: {}.</p>",
        trend.runs.len(),
        trend.scenarios.len(),
        trend.counts()
    );
    trend.notes.iter().for_each(|note| {
        let _ = writeln!(out, "<p>Note: {}.</p>", text(note));
    });
    for one in trend.slower.iter().filter(|one| one.step.is_none()) {
        let (stage, before, here) = (text(&one.stage), one.before_ms, one.here_ms);
        let _ = writeln!(
            out,
            "<p>The last run is slower: {stage} took {before:.0} ms before, {here:.0} ms now, over {} steps.</p>",
            one.compared
        );
    }
    let _ = writeln!(
        out,
        "<p><label><input type=\"checkbox\" id=\"news\" checked> only what is news</label> ✓ passed, ✗ failed, k failed as is known, ~ flaky, · not tested</p>"
    );
    table(&mut out, trend);
    page("Trend", STYLE, &out)
}

fn table(out: &mut String, trend: &Trend) {
    let _ = writeln!(
        out,
        "<div class=\"wide\" tabindex=\"0\" role=\"region\" aria-label=\"Scenarios by run\">\n<table>\n<thead><tr>"
    );
    let _ = writeln!(out, "<th class=\"first\" scope=\"col\">scenario</th><th scope=\"col\">settling</th>");
    for run in &trend.runs {
        let what = format!(
            "{}, {}, {}, {}",
            run.place,
            run.target,
            run.release.as_deref().unwrap_or("no release"),
            run.producer
        );
        let _ = writeln!(out, "<th scope=\"col\" title=\"{}\"><span>{}</span></th>", text(&what), text(&run.date));
    }
    let _ = writeln!(out, "</tr></thead>\n<tbody>");
    whole(out, trend);
    for course in Course::ALL {
        let rows: Vec<&Row> = trend.scenarios.iter().filter(|row| row.course == course).collect();
        if rows.is_empty() {
            continue;
        }
        let steady = if course.is_steady() { " steady" } else { "" };
        let columns = trend.runs.len() + 1;
        let _ = writeln!(
            out,
            "<tr class=\"course{steady}\"><th scope=\"rowgroup\">{} ({})</th><td colspan=\"{columns}\"></td></tr>",
            course.words(),
            rows.len()
        );
        rows.iter().for_each(|row| scenario(out, row, steady));
    }
    let _ = writeln!(out, "</tbody>\n</table>\n</div>");
}

/// The rows of all scenarios together.
fn whole(out: &mut String, trend: &Trend) {
    let settles: Vec<Option<f64>> = trend.runs.iter().map(|run| run.settle_ms).collect();
    let rates: Vec<Option<f64>> = trend.runs.iter().map(|run| run.pass_rate).collect();
    let _ = write!(
        out,
        "<tr class=\"course\"><th scope=\"row\">pass rate</th><td>{}</td>",
        line(&rates, (0.0, 1.0), "pass rate")
    );
    for run in &trend.runs {
        let rate = run.pass_rate.map(|rate| format!("{:.1} %", 100.0 * rate)).unwrap_or_default();
        let counts =
            format!("{} passed, {} failed, {} flaky, {} not tested", run.passed, run.failed, run.flaky, run.untested);
        let _ = write!(out, "<td title=\"{counts}\">{rate}</td>");
    }
    let _ = write!(
        out,
        "</tr>\n<tr class=\"course\"><th scope=\"row\">settling, median</th><td>{}</td>",
        line(&settles, from_zero(&settles), "median of what scenarios take to settle")
    );
    for run in &trend.runs {
        let _ = write!(out, "<td>{}</td>", run.settle_ms.map(|ms| format!("{ms:.0} ms")).unwrap_or_default());
    }
    out.push_str("</tr>\n");
}

fn scenario(out: &mut String, row: &Row, steady: &str) {
    let since = row.since.as_ref().map(|place| format!("<small>since {}</small>", text(place))).unwrap_or_default();
    let plot = line(&row.settle_ms, from_zero(&row.settle_ms), "what it takes to settle");
    let plot = if row.settle_ms.iter().any(Option::is_some) { plot } else { String::new() };
    let _ = write!(
        out,
        "<tr class=\"scenario{steady}\"><th scope=\"row\">{}{since}</th><td>{plot}</td>",
        text(&row.scenario)
    );
    for (state, settle) in row.states.iter().zip(&row.settle_ms) {
        let took = settle.map(|ms| format!(" title=\"settled in {ms:.0} ms\"")).unwrap_or_default();
        let _ = write!(out, "<td class=\"{}\"{took}>{}</td>", class(*state), mark(*state));
    }
    out.push_str("</tr>\n");
}

fn class(state: State) -> &'static str {
    match state {
        State::Passed => "p",
        State::Failed => "f",
        State::Known => "k",
        State::Flaky => "y",
        State::Untested => "n",
    }
}
