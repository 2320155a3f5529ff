//! Where scenarios come from: the embedded manifests, and files of the user.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use super::diagnostic::Diagnostic;
use super::model::Scenario;
use super::parse::parse_with_places;
use super::vocabulary::Vocabulary;

/// Why scenarios cannot be loaded.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// A file or folder cannot be read.
    #[error("cannot read {}: {source}", path.display())]
    Read {
        /// Which.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// No manifest below a folder.
    #[error("{} holds no manifest (*.yaml, *.yml)", .0.display())]
    Empty(PathBuf),
    /// Problems of manifests.
    #[error("{} problem(s) in scenario manifests", .0.len())]
    Manifests(Vec<Diagnostic>),
}

/// The embedded scenarios.
///
/// # Errors
/// The problems of the manifests; there are none in a tested build.
pub fn builtin(vocabulary: &Vocabulary) -> Result<Vec<Scenario>, LoadError> {
    all(gateproof_suites::manifests().into_iter(), vocabulary)
}

/// The scenarios of a file, or of every `*.yaml` and `*.yml` below a folder, in order of path.
///
/// # Errors
/// If something cannot be read, nothing is found, or manifests have problems.
pub fn path(path: &Path, vocabulary: &Vocabulary) -> Result<Vec<Scenario>, LoadError> {
    parsed(&texts(path)?, vocabulary)
}

/// The scenarios of files that were read, as by [`texts`]. Their names must be unique among them.
///
/// # Errors
/// If manifests have problems.
pub fn parsed(texts: &[(String, String)], vocabulary: &Vocabulary) -> Result<Vec<Scenario>, LoadError> {
    all(texts.iter().map(|(file, text)| (file.as_str(), text.as_str())), vocabulary)
}

/// Name and text of a file, or of every `*.yaml` and `*.yml` below a folder, in order of path.
///
/// # Errors
/// If something cannot be read or nothing is found.
pub fn texts(path: &Path) -> Result<Vec<(String, String)>, LoadError> {
    let mut files = Vec::new();
    find(path, true, &mut files)?;
    files.sort();
    if files.is_empty() {
        return Err(LoadError::Empty(path.to_owned()));
    }
    let read = |file: PathBuf| match std::fs::read_to_string(&file) {
        Ok(text) => Ok((file.display().to_string(), text)),
        Err(source) => Err(LoadError::Read { path: file, source }),
    };
    files.into_iter().map(read).collect()
}

fn find(path: &Path, named: bool, files: &mut Vec<PathBuf>) -> Result<(), LoadError> {
    let read = |source| LoadError::Read { path: path.to_owned(), source };
    if std::fs::metadata(path).map_err(read)?.is_dir() {
        for entry in std::fs::read_dir(path).map_err(read)? {
            find(&entry.map_err(read)?.path(), false, files)?;
        }
    } else if named || path.extension().is_some_and(|e| e == "yaml" || e == "yml") {
        files.push(path.to_owned());
    }
    Ok(())
}

/// Parses many files; names must be unique among them.
fn all<'t>(
    files: impl Iterator<Item = (&'t str, &'t str)>,
    vocabulary: &Vocabulary,
) -> Result<Vec<Scenario>, LoadError> {
    let mut scenarios = Vec::new();
    let mut problems = Vec::new();
    let mut first: HashMap<String, String> = HashMap::new();
    for (file, text) in files {
        let (found, mut wrong) = parse_with_places(file, text, vocabulary);
        for (scenario, name) in found {
            match first.get(&scenario.name) {
                Some(before) => wrong.push(name.duplicate(before)),
                None => {
                    first.insert(scenario.name.clone(), file.to_owned());
                    scenarios.push(scenario);
                }
            }
        }
        wrong.sort_by_key(|p| (p.line, p.column));
        problems.append(&mut wrong);
    }
    if problems.is_empty() { Ok(scenarios) } else { Err(LoadError::Manifests(problems)) }
}
