//! Golden files: what a real server answered, one file a topic, one line an answer.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::Path;

use serde::Deserialize;

use crate::corpus::CorpusError;
use crate::normal::{Answers, Recorded};

/// A golden file.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    /// The version of the server that answered.
    server: String,
    /// Its answers by sequence.
    sequences: BTreeMap<String, Answers>,
}

/// Writes a file for each topic.
///
/// # Errors
/// What the operating system says.
pub fn write(folder: &Path, server: &str, recorded: &Recorded) -> std::io::Result<()> {
    std::fs::create_dir_all(folder)?;
    for (topic, sequences) in recorded {
        std::fs::write(folder.join(format!("{topic}.json")), text(server, sequences))?;
    }
    Ok(())
}

fn text(server: &str, sequences: &BTreeMap<String, Answers>) -> String {
    let mut text = format!("{{\n\"server\": {},\n\"sequences\": {{", serde_json::Value::from(server));
    for (index, (name, answers)) in sequences.iter().enumerate() {
        let lines: Vec<String> = answers.iter().map(ToString::to_string).collect();
        let comma = if index == 0 { "" } else { "," };
        // Writing to a string does not fail.
        let _ = write!(text, "{comma}\n\"{name}\": [\n{}\n]", lines.join(",\n"));
    }
    text.push_str("\n}\n}\n");
    text
}

/// Reads the files of all topics named: their answers, and the version of the server that gave them.
///
/// # Errors
/// [`CorpusError`]: a file is missing or malformed.
pub fn read<'a>(folder: &Path, topics: impl IntoIterator<Item = &'a str>) -> Result<(Recorded, String), CorpusError> {
    let mut recorded = Recorded::new();
    let mut server = String::new();
    for topic in topics {
        let path = folder.join(format!("{topic}.json"));
        let text = std::fs::read_to_string(&path);
        let text = text.map_err(|source| CorpusError::Read { path: path.clone(), source })?;
        let file: File = serde_json::from_str(&text)
            .map_err(|error| CorpusError::Malformed { path: path.clone(), message: error.to_string() })?;
        server = file.server;
        recorded.insert(topic.to_owned(), file.sequences);
    }
    Ok((recorded, server))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use serde_json::json;

    use super::*;

    #[test]
    fn what_is_written_can_be_read() {
        let sequences = BTreeMap::from([("a".to_owned(), vec![json!({"code": 1})]), ("b".to_owned(), vec![])]);
        let file: File = serde_json::from_str(&text("v1", &sequences)).unwrap();
        assert_eq!((file.server.as_str(), file.sequences), ("v1", sequences));
    }
}
