//! Where scenarios come from: the embedded manifests, and files of the user.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use gateproof_report::words::counted;

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
    #[error("{} in scenario manifests", counted(.0.len(), "problem", "problems"))]
    Manifests(Vec<Diagnostic>),
}

/// The embedded scenarios.
///
/// # Errors
/// The problems of the manifests; there are none in a tested build.
pub fn builtin(vocabulary: &Vocabulary) -> Result<Vec<Scenario>, LoadError> {
    all(gateproof_suites::manifests().into_iter(), vocabulary)
}

/// The embedded scenarios for tests: they are read once for all tests of a program, not for each.
#[cfg(test)]
pub(crate) fn builtin_once() -> &'static [Scenario] {
    static ALL: std::sync::LazyLock<Vec<Scenario>> =
        std::sync::LazyLock::new(|| builtin(&Vocabulary::builtin()).unwrap());
    &ALL
}

/// The scenarios of a file, or of every `*.yaml` and `*.yml` below a folder that is not hidden, in order of path.
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

/// Name and text of a file, or of every `*.yaml` and `*.yml` below a folder that is not hidden, in order of path.
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
            let entry = entry.map_err(read)?;
            if !is_hidden(&entry.file_name()) {
                find(&entry.path(), false, files)?;
            }
        }
    } else if named || is_manifest(path) {
        files.push(path.to_owned());
    }
    Ok(())
}

/// Whether a file in a folder is a manifest, by its name. What editors and version control keep there is hidden.
pub fn is_manifest(path: &Path) -> bool {
    let is_yaml = path.extension().is_some_and(|extension| extension == "yaml" || extension == "yml");
    is_yaml && !path.file_name().is_some_and(is_hidden)
}

/// Whether what is in a folder is passed by, by its name.
pub fn is_hidden(name: &OsStr) -> bool {
    name.as_encoded_bytes().starts_with(b".")
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

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use std::path::Path;

    use super::texts;

    #[test]
    fn what_is_hidden_in_a_folder_is_no_manifest() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(dir.path().join(".git")).unwrap();
        std::fs::create_dir_all(dir.path().join("b")).unwrap();
        for file in ["a.yaml", "b/c.yml", ".a.yaml", ".git/d.yaml", "a.yaml~", "e.json"] {
            std::fs::write(dir.path().join(file), file).unwrap();
        }
        // An editor's lock, which leads nowhere.
        std::os::unix::fs::symlink("nobody@nowhere", dir.path().join(".#a.yaml")).unwrap();
        let read = |path: &Path| texts(path).unwrap().into_iter().map(|(_, text)| text).collect::<Vec<_>>();
        assert_eq!(read(dir.path()), ["a.yaml", "b/c.yml"]);
        // Whoever names it means it.
        assert_eq!(read(&dir.path().join(".a.yaml")), [".a.yaml"]);
        assert_eq!(read(&dir.path().join(".git")), [".git/d.yaml"]);
    }
}
