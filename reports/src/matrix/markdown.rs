//! The matrix as Markdown: who has which profile, where implementations differ, and what was tolerated. A table of every cell
//! would be wider than anybody reads: that is what the page and the JSON are for.

use std::fmt::Write as _;

use super::{Cell, Column, Half, Matrix, Row, Says, Subject};
use crate::markdown::code;
use crate::words::counted;

/// How many names a cell of a table shows.
const SHOWN: usize = 8;

/// The whole, as Markdown.
pub fn markdown(matrix: &Matrix) -> String {
    let mut out = String::new();
    let _ = writeln!(out, "# Conformance matrix\n\n{}\n", sentence(matrix));
    profiles(&mut out, matrix);
    differences(&mut out, matrix);
    if !matrix.tolerated.is_empty() {
        let _ = writeln!(out, "## Tolerated\n\n| file | field | problem | taken instead |\n|---|---|---|---|");
        for one in &matrix.tolerated {
            let place = code(&format!("{}:{}", one.file, one.line));
            let (field, problem, assumed) = (code(&one.field), code(&one.problem), code(&one.assumed));
            let _ = writeln!(out, "| {place} | {field} | {problem} | {assumed} |");
        }
        let _ = writeln!(out);
    }
    if !matrix.unread.is_empty() {
        let _ = writeln!(out, "## Not read\n\n| file | why |\n|---|---|");
        for one in &matrix.unread {
            let _ = writeln!(out, "| {} | {} |", code(&format!("{}:{}", one.file, one.line)), code(&one.problem));
        }
    }
    out
}

/// What there is, in a sentence.
pub(super) fn sentence(matrix: &Matrix) -> String {
    let differing = matrix.rows.iter().filter(|row| row.differs.is_some()).count();
    let chosen = if matrix.not_chosen > 0 {
        format!(" ({} not chosen)", counted(matrix.not_chosen, "more is", "more are"))
    } else {
        String::new()
    };
    let unread =
        if matrix.unread.is_empty() { String::new() } else { format!(" {} could not be read.", matrix.unread.len()) };
    format!(
        "{} of {}{chosen}. In {differing} of {}, implementations that claim the same differ. {} tolerated.{unread}",
        counted(matrix.columns.len(), "report", "reports"),
        counted(matrix.implementations(), "implementation", "implementations"),
        counted(matrix.rows.len(), "row", "rows"),
        counted(matrix.tolerated.len(), "defect of files was", "defects of files were")
    )
}

fn profiles(out: &mut String, matrix: &Matrix) {
    let halves: Vec<&Row> = matrix.rows.iter().filter(|row| row.subject == Subject::Tests).collect();
    if halves.is_empty() {
        return;
    }
    let mut names: Vec<&str> = halves.iter().map(|row| &*row.profile).collect();
    names.dedup();
    let heads: Vec<String> = names.iter().map(|name| code(name)).collect();
    let _ =
        writeln!(out, "Tests passed in core + extended of each profile; in brackets what was left out or failed.\n");
    let _ = writeln!(out, "| implementation | Gateway API | {} |", heads.join(" | "));
    let _ = writeln!(out, "|---|---|{}", "---|".repeat(names.len()));
    for (index, column) in matrix.columns.iter().enumerate() {
        let cells = names.iter().map(|name| {
            let of = |half| {
                let row = halves.iter().find(|row| row.profile == **name && row.half == half)?;
                row.cells.get(index)?.as_ref().map(counts)
            };
            match (of(Half::Core), of(Half::Extended)) {
                (Some(core), Some(extended)) => format!("{core} + {extended}"),
                (Some(one), None) | (None, Some(one)) => one,
                (None, None) => String::new(),
            }
        });
        let cells: Vec<String> = cells.collect();
        let _ = writeln!(out, "| {} | {} | {} |", code(&name(column)), code(&release(column)), cells.join(" | "));
    }
    let _ = writeln!(out);
}

fn counts(cell: &Cell) -> String {
    let [passed, left_out, failed] = cell.counts.unwrap_or_default();
    let parts = [(left_out, "left out"), (failed, "failed")];
    let parts: Vec<String> = parts.iter().filter(|(n, _)| *n > 0).map(|(n, word)| format!("{n} {word}")).collect();
    if parts.is_empty() { passed.to_string() } else { format!("{passed} ({})", parts.join(", ")) }
}

fn differences(out: &mut String, matrix: &Matrix) {
    let differing: Vec<&Row> = matrix.rows.iter().filter(|row| row.differs.is_some()).collect();
    if differing.is_empty() {
        return;
    }
    let _ = writeln!(out, "## Where they differ\n\n| what | passed | left out | failed |\n|---|---|---|---|");
    for row in differing {
        let split = row.differs.unwrap_or_default();
        let who = |says| {
            let cells = matrix.columns.iter().zip(&row.cells);
            let mut names: Vec<String> = cells
                .filter(|(_, cell)| cell.as_ref().is_some_and(|cell| cell.says == says))
                .map(|(column, _)| format!("{} {}", column.project, column.version))
                .collect();
            names.dedup();
            let more = names.len().saturating_sub(SHOWN);
            names.truncate(SHOWN);
            let names: Vec<String> = names.iter().map(|name| code(name)).collect();
            let more = if more > 0 { format!(" and {more} more") } else { String::new() };
            format!("{}{more}", names.join(", "))
        };
        let _ = writeln!(
            out,
            "| {} | {} | {} | {} |",
            title(row),
            counted(split.passed, "implementation", "implementations"),
            who(Says::LeftOut),
            who(Says::Failed)
        );
    }
    let _ = writeln!(out);
}

fn title(row: &Row) -> String {
    let name = match row.subject {
        Subject::Tests => row.half.word().to_owned(),
        Subject::Feature | Subject::Test => code(&row.name),
    };
    let name = match row.link.as_deref().filter(|link| link.starts_with("https://")) {
        Some(link) => format!("[{name}]({link})"),
        None => name,
    };
    format!("{} {name}", code(&row.profile))
}

pub(super) fn name(column: &Column) -> String {
    let (organization, project) = column.who();
    let who = if organization == project {
        column.project.clone()
    } else {
        format!("{}/{}", column.organization, column.project)
    };
    format!("{who} {}", column.version)
}

pub(super) fn release(column: &Column) -> String {
    let more = [column.channel.as_deref(), column.mode.as_deref()];
    let more: Vec<&str> = more.into_iter().flatten().filter(|word| !word.is_empty()).collect();
    if more.is_empty() { column.release.clone() } else { format!("{} {}", column.release, more.join(" ")) }
}
