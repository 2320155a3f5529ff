//! The `README.md` beside reports in upstream's repository: a table with a row for each report, and how to come to them.

use super::place::same_versions;

/// What the table has to say of a report.
#[derive(Debug, Clone, Copy)]
pub(super) struct Row<'a> {
    /// The name of its file.
    pub(super) name: &'a str,
    /// `gatewayAPIChannel`.
    pub(super) channel: &'a str,
    /// `implementation.version`.
    pub(super) version: &'a str,
    /// `mode`.
    pub(super) mode: &'a str,
}

/// Says what the README lacks. Whether its words lead to the same report is for people to judge.
pub(super) fn check(text: &str, row: &Row<'_>, mut say: impl FnMut(String)) {
    let lines = outside_of_code(text);
    let rows: Vec<Vec<String>> =
        lines.iter().map(|line| cells(line)).filter(|cells| links_to(cells, row.name)).collect();
    let wrong = rows.iter().map(|cells| differences(cells, row)).min_by_key(Vec::len);
    match wrong {
        Some(differences) => differences.into_iter().for_each(&mut say),
        None => {
            let Row { name, channel, version, mode } = row;
            say(format!(
                "has no row for this report in its table: `| {channel} | {version} | {mode} | [link](./{name}) |`"
            ));
        }
    }
    match reproduce(&lines) {
        Some(true) => {}
        Some(false) => say("says nothing under `Reproduce`; write how to come to the same report".to_owned()),
        None => say("has no section `Reproduce`; write there how to come to the same report".to_owned()),
    }
}

/// The lines that are no code, each of which may look like a heading or a table.
fn outside_of_code(text: &str) -> Vec<&str> {
    let mut fence = None;
    let mut lines = Vec::new();
    for line in text.lines() {
        let begins = ["```", "~~~"].into_iter().find(|mark| line.trim_start().starts_with(mark));
        match (fence, begins) {
            (None, Some(_)) => {
                fence = begins;
                // A section of code alone is not empty.
                lines.push("code");
            }
            (Some(_), _) if fence == begins => fence = None,
            (Some(_), _) => {}
            (None, None) => lines.push(line),
        }
    }
    lines
}

/// The cells of a row; a line that is none has one.
fn cells(line: &str) -> Vec<String> {
    let mut cells = vec![String::new()];
    let mut is_escaped = false;
    for c in line.trim().chars() {
        if c == '|' && !is_escaped {
            cells.push(String::new());
        } else if let Some(cell) = cells.last_mut() {
            cell.push(c);
        }
        is_escaped = c == '\\' && !is_escaped;
    }
    let last = cells.len() - 1;
    let is_edge = |(at, cell): &(usize, String)| last > 0 && (*at == 0 || *at == last) && cell.trim().is_empty();
    cells.into_iter().enumerate().filter(|one| !is_edge(one)).map(|(_, cell)| cell.trim().to_owned()).collect()
}

/// Whether a row has a link to a file beside the README.
fn links_to(cells: &[String], name: &str) -> bool {
    let targets = |cell: &String| {
        let links = cell.split("](").skip(1);
        links.filter_map(|rest| Some(rest.split_once(')')?.0.split_whitespace().next()?.to_owned())).collect::<Vec<_>>()
    };
    let leads_there = |target: &String| {
        let target = target.trim_start_matches('<').trim_end_matches('>');
        target.strip_prefix("./").unwrap_or(target) == name
    };
    cells.len() > 1 && cells.iter().flat_map(targets).any(|target| leads_there(&target))
}

/// What a row says otherwise than the report.
fn differences(cells: &[String], row: &Row<'_>) -> Vec<String> {
    let [channel, version, mode, ..] = cells else {
        let problem = "has too few cells in the row for this report; write channel, version, mode and report";
        return vec![problem.to_owned()];
    };
    let versions = same_versions(row.version);
    let wanted = [
        ("API channel", channel, row.channel, has_word(channel, &[row.channel])),
        ("implementation version", version, row.version, has_word(version, &versions.each_ref().map(String::as_str))),
        ("mode", mode, row.mode, has_word(mode, &[row.mode])),
    ];
    let differ = wanted.into_iter().filter(|(.., wanted, is_said)| !is_said && !wanted.is_empty());
    differ
        .map(|(column, cell, wanted, _)| {
            format!("has `{}` as {column} of this report, which itself says `{wanted}`", shown(cell))
        })
        .collect()
}

/// What is read of a cell: the text of its link, without marks.
fn shown(cell: &str) -> String {
    let text = cell.split_once("](").map_or(cell, |(before, _)| before);
    text.chars().filter(|c| !"[]*`\\".contains(*c)).collect::<String>().trim().to_owned()
}

/// Whether a cell says one of these, among other words perhaps, as `ControllerNamespace(default)` says `default`, and
/// `version-4.8.5` says `4.8.5`.
fn has_word(cell: &str, wanted: &[&str]) -> bool {
    let shown = shown(cell);
    let mut words = shown.split(|c: char| !(c.is_alphanumeric() || "-_.+".contains(c)));
    wanted.iter().any(|one| shown.eq_ignore_ascii_case(one))
        || words.any(|word| {
            let bare = word.strip_prefix("version-").unwrap_or(word);
            wanted.iter().any(|one| bare.eq_ignore_ascii_case(one))
        })
}

/// Whether there is anything in the section on how to come to the reports, if there is one.
fn reproduce(lines: &[&str]) -> Option<bool> {
    let mut sections = lines.iter().enumerate().filter_map(|(at, line)| {
        let level = heading(line)?;
        line.to_lowercase().contains("reproduc").then(|| {
            let mut of_it = lines[at + 1..].iter().take_while(|line| heading(line).is_none_or(|other| other > level));
            of_it.any(|line| heading(line).is_none() && !line.trim().is_empty())
        })
    });
    let first = sections.next()?;
    Some(first || sections.any(|is_filled| is_filled))
}

/// The level of a heading.
fn heading(line: &str) -> Option<usize> {
    let level = line.chars().take_while(|c| *c == '#').count();
    ((1..=6).contains(&level) && line[level..].starts_with([' ', '\t'])).then_some(level)
}
