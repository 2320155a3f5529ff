//! Where reports go: into a directory, or nowhere, to be held against what is in one.

use std::collections::BTreeMap;
use std::path::PathBuf;

use super::Failure;
use super::output::tell;
use super::report_dir::{ReportDir, listed_as};

/// Takes the files of a report directory.
pub(crate) trait Shelf {
    /// A file: folders, and its name, each of which may be any text.
    fn write(&mut self, parts: &[&str], text: &str) -> Result<(), Failure>;
    /// Where the log is.
    fn events_file(&mut self) -> Result<PathBuf, Failure>;
    /// What a person may want to know of them.
    fn note(&mut self, text: &str);
}

impl Shelf for ReportDir {
    fn write(&mut self, parts: &[&str], text: &str) -> Result<(), Failure> {
        ReportDir::write(self, parts, text)
    }

    fn events_file(&mut self) -> Result<PathBuf, Failure> {
        ReportDir::events_file(self)
    }

    fn note(&mut self, text: &str) {
        tell!("{text}");
    }
}

/// Keeps them, and writes nothing.
pub(crate) struct Held {
    /// The log that they are made of.
    log: PathBuf,
    /// What was written, by its path below the directory.
    pub(crate) files: BTreeMap<String, String>,
}

impl Held {
    /// One with nothing in it.
    pub(crate) fn of(log: PathBuf) -> Held {
        Held { log, files: BTreeMap::new() }
    }
}

impl Shelf for Held {
    fn write(&mut self, parts: &[&str], text: &str) -> Result<(), Failure> {
        self.files.insert(listed_as(parts), text.to_owned());
        Ok(())
    }

    fn events_file(&mut self) -> Result<PathBuf, Failure> {
        Ok(self.log.clone())
    }

    fn note(&mut self, _: &str) {}
}
