//! The account as Markdown.

use std::fmt::Write;

use super::text::{counts, lines};
use super::{Account, Row};
use crate::markdown::code;

/// The account as a table of Markdown. Text from targets is shown as code: it can hold anything.
pub fn render(account: &Account) -> String {
    let mut out = "# Clause by clause\n\n".to_owned();
    for run in &account.runs {
        let about = [&run.name, &run.target, &run.of, &run.date].map(|text| code(text)).join(" · ");
        let _ = writeln!(out, "- {about}: {}", counts(account, run));
    }
    let heads: Vec<String> = account.runs.iter().map(|run| code(&run.name)).collect();
    let rule = "---|".repeat(account.runs.len());
    let _ = writeln!(out, "\n| clause | {} | what it asks |\n|---|{rule}---|", heads.join(" | "));
    for row in &account.clauses {
        let cells: Vec<String> = row.of.iter().map(|cell| cell.state.word().to_owned()).collect();
        let _ = writeln!(out, "| {} | {} | {} |", name(row), cells.join(" | "), code(&row.text));
    }
    for (index, run) in account.runs.iter().enumerate() {
        let told = account.clauses.iter().filter(|row| row.of.get(index).is_some_and(|cell| !cell.missed.is_empty()));
        let told: Vec<&Row> = told.collect();
        if told.is_empty() {
            continue;
        }
        let _ = writeln!(out, "\n## Broken in {}\n", code(&run.name));
        for row in told {
            let _ = writeln!(out, "- {}", name(row));
            for line in row.of.get(index).map(lines).unwrap_or_default() {
                let _ = writeln!(out, "  - {}", code(&line));
            }
        }
    }
    out
}

/// The clause, with a link to where it stands.
fn name(row: &Row) -> String {
    let is_address = |source: &&String| {
        source.starts_with("https://") && !source.contains(|c: char| c.is_whitespace() || "()<>|\\`".contains(c))
    };
    match row.source.as_ref().filter(is_address) {
        Some(source) => format!("[{}]({source})", code(&row.id)),
        None => code(&row.id),
    }
}
