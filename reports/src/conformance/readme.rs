//! The `README.md` beside reports in upstream's repository: a table with a row for each report, and how to come to them.

use pulldown_cmark::{Event, HeadingLevel, Options, Parser, Tag, TagEnd};

use super::layout::same_versions;

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
    let page = Page::of(text);
    let rows = page.rows.iter().filter(|cells| cells.iter().any(|cell| cell.leads_to(row.name)));
    match rows.map(|cells| differences(cells, row)).min_by_key(Vec::len) {
        Some(differences) => differences.into_iter().for_each(&mut say),
        None => {
            let Row { name, channel, version, mode } = row;
            say(format!(
                "has no row for this report in its table: `| {channel} | {version} | {mode} | [link](./{name}) |`"
            ));
        }
    }
    match page.reproduce {
        Some(true) => {}
        Some(false) => say("says nothing under `Reproduce`; write how to come to the same report".to_owned()),
        None => say("has no section `Reproduce`; write there how to come to the same report".to_owned()),
    }
}

/// What is looked at of a README.
#[derive(Default)]
struct Page {
    /// The rows of its tables.
    rows: Vec<Vec<Cell>>,
    /// Whether there is anything in the section on how to come to the reports, if there is one.
    reproduce: Option<bool>,
}

/// A cell of a table.
#[derive(Default)]
struct Cell {
    /// What is read of it.
    text: String,
    /// Where its links lead.
    links: Vec<String>,
}

impl Cell {
    fn leads_to(&self, name: &str) -> bool {
        self.links.iter().any(|link| link.strip_prefix("./").unwrap_or(link) == name)
    }
}

impl Page {
    fn of(text: &str) -> Page {
        let mut page = Page::default();
        let (mut row, mut is_in_cell) = (Vec::<Cell>::new(), false);
        let mut title: Option<String> = None;
        let mut section: Option<HeadingLevel> = None;
        for event in Parser::new_ext(text, Options::ENABLE_TABLES) {
            match event {
                Event::Start(Tag::Heading { level, .. }) => {
                    title = Some(String::new());
                    section = section.filter(|of| level > *of);
                }
                Event::End(TagEnd::Heading(level)) => {
                    let is_it = title.take().is_some_and(|title| title.to_lowercase().contains("reproduc"));
                    if is_it && section.is_none() {
                        section = Some(level);
                        page.reproduce.get_or_insert(false);
                    }
                }
                Event::End(TagEnd::TableHead | TagEnd::TableRow) => page.rows.push(std::mem::take(&mut row)),
                Event::Start(Tag::TableCell) => {
                    row.push(Cell::default());
                    is_in_cell = true;
                }
                Event::End(TagEnd::TableCell) => is_in_cell = false,
                Event::Start(Tag::Link { dest_url, .. }) if is_in_cell => {
                    row.last_mut().into_iter().for_each(|cell| cell.links.push(dest_url.to_string()));
                }
                Event::Text(text) | Event::Code(text) | Event::Html(text) | Event::InlineHtml(text) => {
                    match &mut title {
                        Some(title) => title.push_str(&text),
                        None if section.is_some() => page.reproduce = Some(true),
                        None => {}
                    }
                    row.last_mut().filter(|_| is_in_cell).into_iter().for_each(|cell| cell.text.push_str(&text));
                }
                _ => {}
            }
        }
        page
    }
}

/// What a row says otherwise than the report.
fn differences(cells: &[Cell], row: &Row<'_>) -> Vec<String> {
    let [channel, version, mode, ..] = cells else {
        let problem = "has too few cells in the row for this report; write channel, version, mode and report";
        return vec![problem.to_owned()];
    };
    let versions = same_versions(row.version);
    let wanted = [
        ("API channel", channel, row.channel, has_word(&channel.text, &[row.channel])),
        (
            "implementation version",
            version,
            row.version,
            has_word(&version.text, &versions.each_ref().map(String::as_str)),
        ),
        ("mode", mode, row.mode, has_word(&mode.text, &[row.mode])),
    ];
    let differ = wanted.into_iter().filter(|(.., wanted, is_said)| !is_said && !wanted.is_empty());
    differ
        .map(|(column, cell, wanted, _)| {
            format!("has `{}` as {column} of this report, which itself says `{wanted}`", cell.text.trim())
        })
        .collect()
}

/// Whether a cell says one of these, among other words perhaps, as `ControllerNamespace(default)` says `default`, and
/// `version-4.8.5` says `4.8.5`.
fn has_word(text: &str, wanted: &[&str]) -> bool {
    let text = text.trim();
    let mut words = text.split(|c: char| !(c.is_alphanumeric() || "-_.+".contains(c)));
    wanted.iter().any(|one| text.eq_ignore_ascii_case(one))
        || words.any(|word| {
            let bare = word.strip_prefix("version-").unwrap_or(word);
            wanted.iter().any(|one| bare.eq_ignore_ascii_case(one))
        })
}
