//! What the user names: records of runs, and other files.

use std::collections::HashSet;
use std::path::Path;

use gateproof_report::record::RunRecord;

use super::Failure;
use super::report_dir::{RECORD, file_of};
use crate::run::record::RECORD_FORMAT;

/// Reads `record.json`, given itself or the directory that it is in.
pub(crate) fn read_record(path: &Path) -> Result<RunRecord, Failure> {
    let file = file_of(path, RECORD)?;
    let text = read(&file)?;
    let record = serde_json::from_str::<RunRecord>(&text);
    let problem = match record {
        Ok(record) => match wrong_in(&record) {
            None => return Ok(record),
            Some(problem) => problem,
        },
        Err(error) => format!("not a run record: {error}"),
    };
    let help = match foreign_producer(&text) {
        Some(producer) => format!("{producer} wrote it, and this is {OWN}: read it with that one, or with a newer one"),
        None => "name the report directory of a run".to_owned(),
    };
    Err(Failure::usage(format!("{}: {problem}", file.display()), help))
}

/// As records name who wrote them.
const OWN: &str = concat!("gateproof ", env!("CARGO_PKG_VERSION"));

/// What is wrong with a record that has the form of one.
fn wrong_in(record: &RunRecord) -> Option<String> {
    if record.format != RECORD_FORMAT {
        return Some(format!("it is of format {}; this version reads format {RECORD_FORMAT}", record.format));
    }
    let mut names = HashSet::new();
    let twice = record.scenarios.iter().find(|one| !names.insert(&*one.name))?;
    Some(format!("`{}` is there twice", twice.name))
}

/// Who wrote a record, if that was another version.
fn foreign_producer(text: &str) -> Option<String> {
    let value: serde_json::Value = serde_json::from_str(text).ok()?;
    let producer = value["producer"].as_str()?;
    (producer != OWN).then(|| producer.to_owned())
}

/// Reads a file that the user named.
pub(crate) fn read(file: &Path) -> Result<String, Failure> {
    std::fs::read_to_string(file)
        .map_err(|error| Failure::usage(format!("cannot read {}: {error}", file.display()), "check the path"))
}

/// The record of a run, or those of every run of a directory, of which there is one at least.
pub(super) fn records(path: &Path) -> Result<Vec<RunRecord>, Failure> {
    if !path.is_dir() || path.join(RECORD).exists() {
        return Ok(vec![read_record(path)?]);
    }
    let unreadable = |error| Failure::usage(format!("cannot read {}: {error}", path.display()), "check the path");
    let mut files = Vec::new();
    for entry in std::fs::read_dir(path).map_err(unreadable)? {
        let entry = entry.map_err(unreadable)?.path();
        if entry.join(RECORD).is_file() {
            files.push(entry.join(RECORD));
        } else if entry.extension().is_some_and(|extension| extension == "json") && entry.is_file() {
            files.push(entry);
        }
    }
    files.sort();
    if files.is_empty() {
        return Err(none_in(path));
    }
    files.iter().map(|file| read_record(file)).collect()
}

/// That a directory has none.
pub(super) fn none_in(path: &Path) -> Failure {
    let problem = format!("{}: there is no record of a run", path.display());
    Failure::usage(
        problem,
        "name the report directory of a run, or a directory of such directories or of their record.json",
    )
}
