//! ConformanceReports of anybody beside each other: which implementation claims what at which release, how it went, and where
//! implementations that claim the same differ.

mod choice;
mod html;
mod known;
mod markdown;
mod read;
mod rows;
mod yaml;

use schemars::JsonSchema;
use serde::Serialize;

pub use choice::{Choice, Unmatched};
pub use html::html;
pub use known::{Clause, Known, KnownFeature, SuiteTest};
pub use markdown::markdown;
pub use read::{Read, Tolerated, Unread, read};

use crate::conformance::ConformanceReport;
use known::release;

/// A report of an implementation: a column.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Column {
    /// Who made it.
    pub organization: String,
    /// What.
    pub project: String,
    /// Which version of it.
    pub version: String,
    /// The release of Gateway API, such as `v1.6.1`.
    pub release: String,
    /// Its channel, if the report says which.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub channel: Option<String>,
    /// The mode, if the report has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mode: Option<String>,
    /// When it was made, as the report says.
    pub date: String,
    /// The file as the user named it.
    pub file: String,
}

impl Column {
    /// Which implementation it is: two reports of one never disagree.
    fn who(&self) -> (String, String) {
        (self.organization.to_lowercase(), self.project.to_lowercase())
    }
}

/// What a row is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum Subject {
    /// All core or all extended tests of a profile.
    Tests,
    /// An extended feature.
    Feature,
    /// One test that somebody failed or left out.
    Test,
}

/// The two parts of a profile.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum Half {
    /// What is asked of everyone.
    Core,
    /// What is asked of those who claim it.
    Extended,
}

impl Half {
    /// Its word.
    pub fn word(self) -> &'static str {
        match self {
            Half::Core => "core",
            Half::Extended => "extended",
        }
    }
}

/// What a report says of a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum Says {
    /// It is claimed, and no test of it failed or was left out.
    Passed,
    /// It is claimed, and tests of it were left out.
    LeftOut,
    /// It is claimed, and tests of it failed.
    Failed,
    /// It is claimed, and nothing was counted.
    Untested,
    /// It is not claimed.
    Unsupported,
}

impl Says {
    /// Whether it tells how tests went.
    fn is_verdict(self) -> bool {
        matches!(self, Says::Passed | Says::LeftOut | Says::Failed)
    }

    /// As it is said.
    pub fn words(self) -> &'static str {
        match self {
            Says::Passed => "passed",
            Says::LeftOut => "left out",
            Says::Failed => "failed",
            Says::Untested => "claimed, nothing was run",
            Says::Unsupported => "not claimed",
        }
    }
}

/// A cell.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Cell {
    /// What the report says.
    pub says: Says,
    /// How many tests passed, were left out and failed; of a part of a profile only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub counts: Option<[u32; 3]>,
    /// The tests that failed or were left out; none in the row of a test.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tests: Vec<String>,
}

/// How many implementations say what, where those that claim the same differ.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Split {
    /// Implementations with a report in which it passed.
    pub passed: usize,
    /// With one that left it out.
    pub left_out: usize,
    /// With one in which it failed.
    pub failed: usize,
}

/// A row.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Row {
    /// The profile.
    pub profile: String,
    /// Which part of it.
    pub half: Half,
    /// What it is about.
    pub subject: Subject,
    /// The name of the feature or test; empty for a part of a profile.
    pub name: String,
    /// Where the feature is defined, if that is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub link: Option<String>,
    /// Clauses of the specification that are about the feature alone.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub clauses: Vec<Clause>,
    /// Scenarios that ask for what the test asks for.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub scenarios: Vec<String>,
    /// Where implementations that claim it differ: how many say what.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub differs: Option<Split>,
    /// What each report says, in the order of the columns; nothing if it does not speak of it.
    pub cells: Vec<Option<Cell>>,
}

/// The whole.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Matrix {
    /// The reports, by implementation, release and date.
    pub columns: Vec<Column>,
    /// What they say, by profile.
    pub rows: Vec<Row>,
    /// How many reports there were that the choice of columns leaves out.
    pub not_chosen: usize,
    /// What was wrong with files, and what was taken instead.
    pub tolerated: Vec<Tolerated>,
    /// What could not be read.
    pub unread: Vec<Unread>,
}

impl Matrix {
    /// How many implementations have a column.
    pub fn implementations(&self) -> usize {
        self.columns.iter().map(Column::who).collect::<std::collections::BTreeSet<_>>().len()
    }
}

/// A report and its column.
#[derive(Debug)]
struct Entry {
    column: Column,
    report: ConformanceReport,
}

/// Builds the matrix of what was read of files, each with its name.
///
/// # Errors
/// [`Unmatched`] if the user chooses what no report has.
pub fn matrix(files: Vec<(String, Read)>, choice: &Choice, known: &Known) -> Result<Matrix, Unmatched> {
    let (mut entries, mut tolerated, mut unread): (Vec<Entry>, Vec<Tolerated>, Vec<Unread>) = Default::default();
    for (file, read) in files {
        tolerated.extend(read.tolerated);
        unread.extend(read.unread);
        for report in read.reports {
            if let Some(same) = entries.iter().find(|entry| entry.report == report) {
                let (problem, assumed) =
                    (format!("is the report of {} once more", same.column.file), "once".to_owned());
                let (file, field) = (file.clone(), String::new());
                tolerated.push(Tolerated { file, line: 1, field, problem, assumed });
                continue;
            }
            entries.push(Entry { column: column(&file, &report), report });
        }
    }
    let there: Vec<String> = entries.iter().map(|entry| entry.column.file.clone()).collect();
    let mut entries = choice.of(entries)?;
    // What is wrong with a report that was not chosen is nobody's matter here.
    let is_chosen = |file: &String| entries.iter().any(|entry| entry.column.file == *file);
    tolerated.retain(|one| is_chosen(&one.file) || !there.contains(&one.file));
    let order = |entry: &Entry| {
        let column = &entry.column;
        (column.who(), release(&column.release), column.date.clone(), column.file.clone())
    };
    entries.sort_by_cached_key(order);
    Ok(Matrix {
        rows: rows::rows(&entries, known),
        not_chosen: there.len() - entries.len(),
        columns: entries.into_iter().map(|entry| entry.column).collect(),
        tolerated,
        unread,
    })
}

fn column(file: &str, report: &ConformanceReport) -> Column {
    let who = &report.implementation;
    Column {
        organization: who.organization.clone(),
        project: who.project.clone(),
        version: who.version.clone(),
        release: report.gateway_api_version.clone(),
        channel: report.gateway_api_channel.clone(),
        mode: report.mode.clone(),
        date: report.date.clone(),
        file: file.to_owned(),
    }
}
