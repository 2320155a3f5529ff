//! The list of differences that are meant, or known and bearable.

use std::path::Path;

use regex::Regex;
use serde::Deserialize;

use crate::compare::Divergence;
use crate::corpus::CorpusError;

/// Differences with one reason.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Entry {
    /// What the embedded server does otherwise, in a sentence for readers.
    pub what: String,
    /// Why that stays.
    pub why: String,
    /// Where it shows: regular expressions for the whole of `topic/sequence#step pointer`.
    #[serde(rename = "where")]
    pub places: Vec<String>,
}

/// What is left of divergences when the list is held against them.
#[derive(Debug, Default)]
pub struct Judged {
    /// Divergences that no entry explains.
    pub unexplained: Vec<Divergence>,
    /// How many are explained.
    pub explained: usize,
    /// Places of entries where nothing diverges any more.
    pub idle: Vec<String>,
}

/// Reads the list.
///
/// # Errors
/// [`CorpusError`]: it cannot be read or says something unknown.
pub fn read(path: &Path) -> Result<Vec<Entry>, CorpusError> {
    let text = std::fs::read_to_string(path).map_err(|source| CorpusError::Read { path: path.to_owned(), source })?;
    serde_yaml::from_str(&text)
        .map_err(|error| CorpusError::Malformed { path: path.to_owned(), message: error.to_string() })
}

/// Holds divergences against the list. Idle entries are told for these topics, which ran in whole.
///
/// # Errors
/// A place that is not a regular expression.
pub fn judge(found: Vec<Divergence>, entries: &[Entry], topics: &[&str]) -> Result<Judged, regex::Error> {
    let places = entries.iter().flat_map(|entry| &entry.places);
    let mut patterns: Vec<(&String, Regex, bool)> =
        places.map(|place| Ok((place, Regex::new(&format!("^(?:{place})$"))?, false))).collect::<Result<_, _>>()?;
    let mut judged = Judged::default();
    for divergence in found {
        let place = divergence.place();
        let mut explained = false;
        for (_, pattern, used) in &mut patterns {
            if pattern.is_match(&place) {
                *used = true;
                explained = true;
            }
        }
        match explained {
            true => judged.explained += 1,
            false => judged.unexplained.push(divergence),
        }
    }
    let ran = |place: &str| place.split_once('/').is_some_and(|(topic, _)| topics.contains(&topic));
    let idle = patterns.into_iter().filter(|(place, _, used)| !used && ran(place));
    judged.idle = idle.map(|(place, ..)| place.clone()).collect();
    Ok(judged)
}

/// The list as a section of a page in Markdown.
pub fn markdown(entries: &[Entry]) -> String {
    entries.iter().map(|entry| format!("- **{}** {}\n", entry.what, entry.why)).collect()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    fn divergence(at: &str) -> Divergence {
        Divergence { sequence: "t/s".to_owned(), step: 0, at: at.to_owned(), left: None, right: None }
    }

    #[test]
    fn only_what_is_listed_is_explained() {
        let places = ["t/s#0 /a/.*", "t/other#0 /a", "bundles/X#0 /a"].map(str::to_owned).to_vec();
        let entries = [Entry { what: String::new(), why: String::new(), places }];
        let judged = judge(vec![divergence("/a/b"), divergence("/b/a/c")], &entries, &["t"]).unwrap();
        assert_eq!((judged.explained, judged.unexplained.len()), (1, 1));
        assert_eq!(judged.idle, ["t/other#0 /a"]);
    }
}
