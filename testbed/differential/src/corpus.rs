//! The corpus: sequences of requests, one YAML file a topic.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde_json::Value;

/// A file of the corpus.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Topic {
    /// The file's name without its ending.
    #[serde(skip)]
    pub name: String,
    /// What it is about, for people.
    pub about: String,
    /// The sequences; they are independent of each other.
    pub sequences: Vec<Sequence>,
}

/// Requests that build on each other, in namespaces of their own.
///
/// Texts may hold `${ns}`, `${ns2}` (namespaces that are there from the start), `${id}` (unique, for what is
/// cluster-scoped) and `${NAME}` for what an earlier step saved.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Sequence {
    /// A name that is unique within the topic.
    pub name: String,
    /// The steps, in order.
    pub steps: Vec<Step>,
}

/// One request, or a look at an open watch.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Step {
    /// `METHOD /path?query`; characters that a URL cannot hold are escaped.
    pub request: String,
    /// The media type of the body, or `json`, `merge`, `strategic`, `apply` for the patches; JSON otherwise.
    #[serde(rename = "type")]
    pub media: String,
    /// The media type asked for, or `table`, `metadata`, `metadata-list`, `protobuf`.
    pub accept: String,
    /// The user agent, from which a server takes the field manager where none is named.
    pub agent: String,
    /// The body, sent as JSON.
    pub body: Option<Value>,
    /// The body as it is sent, in the place of `body`.
    pub text: Option<String>,
    /// What to remember of the answer: a name and a dotted path.
    pub save: BTreeMap<String, String>,
    /// The request is sent again until this holds.
    pub until: Option<Until>,
    /// What to compare of the answer, by dotted paths; everything otherwise. A segment `key=value` finds the member of a
    /// list that has it.
    pub pick: Vec<String>,
    /// The request is a watch, kept open under this name.
    pub watch: String,
    /// Events of an open watch.
    pub events: Option<Events>,
}

/// What a repeated request waits for.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Until {
    /// This code.
    #[serde(default)]
    pub code: Option<u16>,
    /// Something at this dotted path …
    #[serde(default)]
    pub at: String,
    /// … that equals this; anything will do where nothing is named.
    #[serde(default)]
    pub is: Option<Value>,
    /// Nothing at the path, in the place of something.
    #[serde(default)]
    pub absent: bool,
}

/// Which events to take.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Events {
    /// The watch.
    pub of: String,
    /// How many; none for all up to the end of the watch.
    pub count: Option<usize>,
}

/// Why there is no corpus.
#[derive(Debug, thiserror::Error)]
pub enum CorpusError {
    /// A file or folder cannot be read.
    #[error("cannot read {path}: {source}")]
    Read {
        /// Which.
        path: PathBuf,
        /// What the operating system says.
        source: std::io::Error,
    },
    /// A file is not a topic.
    #[error("{path}: {message}")]
    Malformed {
        /// Which.
        path: PathBuf,
        /// What is wrong with it.
        message: String,
    },
}

impl Topic {
    /// Reads all topics of a folder, ordered by name.
    ///
    /// # Errors
    /// [`CorpusError`]: a file that cannot be read or says something unknown.
    pub fn read_all(folder: &Path) -> Result<Vec<Self>, CorpusError> {
        let failed = |source| CorpusError::Read { path: folder.to_owned(), source };
        let entries = std::fs::read_dir(folder).map_err(failed)?;
        let mut paths: Vec<PathBuf> =
            entries.map(|entry| entry.map(|entry| entry.path())).collect::<Result<_, _>>().map_err(failed)?;
        paths.retain(|path| path.extension().is_some_and(|ending| ending == "yaml"));
        paths.sort();
        paths.iter().map(|path| Self::read(path)).collect()
    }

    fn read(path: &Path) -> Result<Self, CorpusError> {
        let text =
            std::fs::read_to_string(path).map_err(|source| CorpusError::Read { path: path.to_owned(), source })?;
        let malformed = |message: String| CorpusError::Malformed { path: path.to_owned(), message };
        let mut topic: Self = serde_yaml::from_str(&text).map_err(|error| malformed(error.to_string()))?;
        topic.name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        topic.check().map_err(malformed)?;
        Ok(topic)
    }

    fn check(&self) -> Result<(), String> {
        let mut names = BTreeSet::new();
        for sequence in &self.sequences {
            if !names.insert(&sequence.name) {
                return Err(format!("two sequences are named {}", sequence.name));
            }
            let mut watches = BTreeSet::new();
            for (index, step) in sequence.steps.iter().enumerate() {
                let at = format!("{}, step {index}", sequence.name);
                match &step.events {
                    Some(events) if !step.request.is_empty() || !watches.contains(&events.of) => {
                        return Err(format!("{at}: events are of a watch opened before, and without a request"));
                    }
                    None if step.request.split_once(' ').is_none() => {
                        return Err(format!("{at}: a request is `METHOD /path`"));
                    }
                    _ => {}
                }
                if step.body.is_some() && step.text.is_some() {
                    return Err(format!("{at}: there is a body and a text"));
                }
                watches.insert(step.watch.clone());
            }
        }
        Ok(())
    }

    /// How many requests there are.
    pub fn requests(&self) -> usize {
        self.sequences.iter().flat_map(|sequence| &sequence.steps).filter(|step| step.events.is_none()).count()
    }
}
