//! The matrix as a page: one file without script, whose heads stay in sight and whose filters are its style.

use std::fmt::Write as _;

use super::markdown::{name, release, sentence};
use super::{Cell, Matrix, Row, Says, Subject};
use crate::page::{link, page, text};
use crate::words::counted;

const STYLE: &str = include_str!("matrix.css");

/// The whole, as a page of HTML.
pub fn html(matrix: &Matrix) -> String {
    let mut out = String::new();
    let _ = writeln!(out, "<h1>Conformance matrix</h1>\n<p>{}</p>", text(&sentence(matrix)));
    let legend = [Says::Passed, Says::LeftOut, Says::Failed, Says::Untested, Says::Unsupported]
        .map(|says| format!("<span class=\"{}\">{}</span>{}", class(says), mark(says), says.words()));
    let _ = writeln!(
        out,
        "<p class=\"legend\">{} · an empty cell: the report does not speak of it. Where implementations that claim the same differ, the row has a red edge and counts implementations, and what most of them do not say has a red frame.</p>",
        legend.join(" ")
    );
    let _ = writeln!(
        out,
        "<p><label><input type=\"checkbox\" id=\"differ\"> only where they differ</label><label><input type=\"checkbox\" id=\"tests\" checked> tests, too</label></p>"
    );
    table(&mut out, matrix);
    tolerated(&mut out, matrix);
    page("Conformance matrix", STYLE, &out)
}

fn table(out: &mut String, matrix: &Matrix) {
    let _ = writeln!(
        out,
        "<div class=\"wide\" tabindex=\"0\" role=\"region\" aria-label=\"Matrix\">\n<table>\n<thead><tr>"
    );
    let _ = writeln!(out, "<th class=\"first\" scope=\"col\">profile, feature or test</th>");
    for column in &matrix.columns {
        let (who, at) = (text(&name(column)), text(&release(column)));
        let _ = writeln!(
            out,
            "<th scope=\"col\" title=\"{who}, {at}, {}, {}\"><span>{who}<br>{at}</span></th>",
            text(&column.date),
            text(&column.file)
        );
    }
    let _ = writeln!(out, "</tr></thead>\n<tbody class=\"rows\">");
    matrix.rows.iter().for_each(|row| line(out, row));
    let _ = writeln!(out, "</tbody>\n</table>\n</div>");
}

fn line(out: &mut String, row: &Row) {
    let kind = match row.subject {
        Subject::Tests => "half",
        Subject::Feature => "feature",
        Subject::Test => "test",
    };
    let differs = if row.differs.is_some() { " differs" } else { "" };
    let title = match row.subject {
        Subject::Tests => format!("{} {}", text(&row.profile), row.half.word()),
        Subject::Feature | Subject::Test => link(row.link.as_deref(), &text(&row.name)),
    };
    let _ = write!(out, "<tr class=\"{kind}{differs}\"><th scope=\"row\">{title}");
    // With a filter on, the row that it stands under is not there.
    let place = match row.subject {
        Subject::Tests => String::new(),
        Subject::Feature | Subject::Test => format!("{} {}", text(&row.profile), row.half.word()),
    };
    let differ = row.differs.map(|split| {
        let parts = [(split.passed, "passed"), (split.left_out, "left out"), (split.failed, "failed")];
        let parts: Vec<String> = parts.iter().filter(|(n, _)| *n > 0).map(|(n, word)| format!("{n} {word}")).collect();
        format!("<b>differ:</b> {}", parts.join(", "))
    });
    let under: Vec<String> = [place].into_iter().filter(|place| !place.is_empty()).chain(differ).collect();
    if !under.is_empty() {
        let _ = write!(out, "<br><small>{}</small>", under.join(" · "));
    }
    if !row.clauses.is_empty() {
        let links: Vec<String> = row.clauses.iter().map(|one| link(Some(&one.link), &text(&one.id))).collect();
        let _ = write!(
            out,
            "<details><summary>{}</summary>{}</details>",
            counted(links.len(), "clause", "clauses"),
            links.join(" ")
        );
    }
    if !row.scenarios.is_empty() {
        let names: Vec<String> = row.scenarios.iter().map(|name| text(name)).collect();
        let _ = write!(
            out,
            "<details><summary>{}</summary>{}</details>",
            counted(names.len(), "scenario", "scenarios"),
            names.join(", ")
        );
    }
    let _ = write!(out, "</th>");
    let most = most(row);
    for one in &row.cells {
        match one {
            None => out.push_str("<td></td>"),
            Some(one) => cell(out, one, most.is_some_and(|most| one.says.is_verdict() && one.says != most)),
        }
    }
    out.push_str("</tr>\n");
}

/// What most implementations say, where they differ.
fn most(row: &Row) -> Option<Says> {
    let split = row.differs?;
    let counts = [(split.failed, Says::Failed), (split.left_out, Says::LeftOut), (split.passed, Says::Passed)];
    // The last of the largest: of as many that passed as did not, those that did not stand out.
    counts.into_iter().max_by_key(|(count, _)| *count).map(|(_, says)| says)
}

fn cell(out: &mut String, cell: &Cell, stands_out: bool) {
    let marked = if stands_out { " m" } else { "" };
    let words = match cell.counts {
        Some([passed, left_out, failed]) => {
            let counts = format!("{passed} passed, {left_out} left out, {failed} failed");
            if cell.tests.is_empty() { counts } else { format!("{counts}: {}", cell.tests.join(", ")) }
        }
        None if cell.tests.is_empty() => cell.says.words().to_owned(),
        None => format!("{}: {}", cell.says.words(), cell.tests.join(", ")),
    };
    let shown = match (cell.counts, cell.says) {
        (Some([passed, ..]), Says::Passed) => passed.to_string(),
        (Some([passed, left_out, failed]), Says::LeftOut | Says::Failed) => {
            format!("{passed}/{}", u64::from(passed) + u64::from(left_out) + u64::from(failed))
        }
        (_, says) => mark(says).to_owned(),
    };
    let _ = write!(out, "<td class=\"{}{marked}\" title=\"{}\">{shown}</td>", class(cell.says), text(&words));
}

fn class(says: Says) -> &'static str {
    match says {
        Says::Passed => "p",
        Says::LeftOut => "l",
        Says::Failed => "f",
        Says::Untested => "n",
        Says::Unsupported => "u",
    }
}

fn mark(says: Says) -> &'static str {
    match says {
        Says::Passed => "✓",
        Says::LeftOut => "○",
        Says::Failed => "✗",
        Says::Untested => "?",
        Says::Unsupported => "–",
    }
}

fn tolerated(out: &mut String, matrix: &Matrix) {
    if !matrix.tolerated.is_empty() {
        let count = counted(matrix.tolerated.len(), "defect", "defects");
        let _ = writeln!(
            out,
            "<details><summary><h2>Tolerated: {count} of files</h2></summary>\n<table class=\"list\">\n<thead><tr><th scope=\"col\">file</th><th scope=\"col\">field</th><th scope=\"col\">problem</th><th scope=\"col\">taken instead</th></tr></thead>\n<tbody>"
        );
        for one in &matrix.tolerated {
            let place = text(&format!("{}:{}", one.file, one.line));
            let (field, problem, assumed) = (text(&one.field), text(&one.problem), text(&one.assumed));
            let _ = writeln!(out, "<tr><td>{place}</td><td>{field}</td><td>{problem}</td><td>{assumed}</td></tr>");
        }
        let _ = writeln!(out, "</tbody>\n</table>\n</details>");
    }
    if !matrix.unread.is_empty() {
        let _ = writeln!(out, "<h2>Not read</h2>\n<ul>");
        for one in &matrix.unread {
            let _ = writeln!(out, "<li>{}</li>", text(&format!("{}:{}: {}", one.file, one.line, one.problem)));
        }
        let _ = writeln!(out, "</ul>");
    }
}
