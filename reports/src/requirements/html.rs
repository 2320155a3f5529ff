//! The account as a page.

use std::fmt::Write;

use super::text::{counts, lines};
use super::{Account, Cell, State};
use crate::page::{link, page, text};

const STYLE: &str = "\
:root{color-scheme:light dark;--line:#8884;--bad:#b3261e;--dim:#6b6b6b}\
@media(prefers-color-scheme:dark){:root{--bad:#ff8a80;--dim:#a5a5a5}}\
body{font:15px/1.45 system-ui,sans-serif;margin:1rem auto;padding:0 1rem;max-width:80rem}\
table{border-collapse:collapse;width:100%}\
th,td{text-align:left;vertical-align:top;padding:.35rem .6rem;border-bottom:1px solid var(--line)}\
thead th{position:sticky;top:0;background:Canvas}\
td{overflow-wrap:anywhere}\
.broken{color:var(--bad);font-weight:600}\
.notSeen,.notApplicable{color:var(--dim)}\
.differs td:first-child{border-left:4px solid var(--bad)}\
summary{cursor:pointer}\
li{overflow-wrap:anywhere}";

/// The account as a page that loads nothing and runs nothing.
pub fn render(account: &Account) -> String {
    let mut body = "<main>\n<h1>Clause by clause</h1>\n<ul>\n".to_owned();
    for run in &account.runs {
        let about = [&run.name, &run.target, &run.of, &run.date].map(|part| text(part)).join(" · ");
        let _ = writeln!(body, "<li>{about}: {}</li>", text(&counts(account, run)));
    }
    body.push_str("</ul>\n<table>\n<thead><tr><th scope=\"col\">clause</th>");
    for run in &account.runs {
        let _ = write!(body, "<th scope=\"col\">{}</th>", text(&run.name));
    }
    body.push_str("<th scope=\"col\">what it asks</th></tr></thead>\n<tbody>\n");
    for row in &account.clauses {
        let differs = if row.differs() { " class=\"differs\"" } else { "" };
        let level = row.level.as_ref().map(|level| format!(" ({})", text(level))).unwrap_or_default();
        let name = link(row.source.as_deref(), &text(&row.id));
        let cells: String = row.of.iter().map(cell).collect();
        let _ = writeln!(
            body,
            "<tr id=\"{}\"{differs}><td>{name}</td>{cells}<td>{}{level}</td></tr>",
            text(&row.id),
            text(&row.text)
        );
    }
    body.push_str("</tbody>\n</table>\n</main>\n");
    page("Clause by clause", STYLE, &body)
}

fn cell(cell: &Cell) -> String {
    let class = match cell.state {
        State::Broken => "broken",
        State::NotSeen => "notSeen",
        State::NotApplicable => "notApplicable",
        State::Held => "held",
    };
    let said: String = lines(cell).iter().map(|line| format!("<li>{}</li>", text(line))).collect();
    let open = if cell.state == State::Broken { " open" } else { "" };
    format!(
        "<td><details{open}><summary class=\"{class}\">{}</summary><ul>{said}</ul></details></td>",
        cell.state.word()
    )
}
