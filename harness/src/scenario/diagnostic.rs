//! A problem of a manifest, with the place where it stands.

use std::fmt;
use std::sync::Arc;

use miette::{LabeledSpan, SourceCode};
use schemars::JsonSchema;
use serde::Serialize;

use super::model::Place;

/// A problem of a manifest.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Diagnostic {
    /// The file as the user named it.
    pub file: String,
    /// Line, from 1.
    pub line: usize,
    /// Column, from 1.
    pub column: usize,
    /// What is wrong.
    pub message: String,
    /// What to do about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub help: Option<String>,
    /// The line of the file.
    pub snippet: String,
    #[serde(skip)]
    span: (usize, usize),
    #[serde(skip)]
    source: Arc<Source>,
}

impl Diagnostic {
    /// Whether it says the same of the same place.
    pub fn is_same(&self, other: &Diagnostic) -> bool {
        let of = |one: &Diagnostic| (one.line, one.column);
        self.file == other.file && of(self) == of(other) && self.message == other.message
    }
}

/// A stretch of the source.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(in crate::scenario) struct Mark {
    pub(in crate::scenario) place: Place,
    pub(in crate::scenario) offset: usize,
    pub(in crate::scenario) length: usize,
}

/// A file that is being read.
#[derive(Debug)]
pub(in crate::scenario) struct Source {
    pub(in crate::scenario) file: String,
    pub(in crate::scenario) text: String,
    named: miette::NamedSource<String>,
}

impl Source {
    pub(in crate::scenario) fn new(file: &str, text: &str) -> Arc<Source> {
        Arc::new(Source {
            file: file.to_owned(),
            text: text.to_owned(),
            named: miette::NamedSource::new(file, text.to_owned()).with_language("yaml"),
        })
    }

    /// The rest of the line from a place on.
    pub(in crate::scenario) fn mark_of(&self, place: Place) -> Mark {
        let above = place.line.saturating_sub(1);
        let offset = self.text.split_inclusive('\n').take(above).map(str::len).sum::<usize>();
        let line = self.text.lines().nth(above).unwrap_or_default();
        let start = line.char_indices().nth(place.column.saturating_sub(1)).map_or(0, |(at, _)| at);
        Mark { place, offset: offset + start, length: line.len() - start }
    }
}

/// Makes a problem of a file.
pub(in crate::scenario) trait Report {
    fn problem(&self, mark: Mark, message: String, help: Option<String>) -> Diagnostic;
}

impl Report for Arc<Source> {
    fn problem(&self, mark: Mark, message: String, help: Option<String>) -> Diagnostic {
        let snippet = lines(&self.text).nth(mark.place.line.saturating_sub(1)).unwrap_or_default();
        // A block that runs over many lines is pointed at by its first.
        let rest = self.text.get(mark.offset..).unwrap_or_default();
        let first_line = rest.find('\n').unwrap_or(rest.len());
        Diagnostic {
            file: self.file.clone(),
            line: mark.place.line,
            column: mark.place.column,
            message,
            help,
            snippet: snippet.to_owned(),
            span: (mark.offset, mark.length.min(first_line)),
            source: Arc::clone(self),
        }
    }
}

/// The lines of a text as YAML counts them: a carriage return alone ends one too.
pub(crate) fn lines(text: &str) -> impl Iterator<Item = &str> {
    text.split('\n').flat_map(|line| line.strip_suffix('\r').unwrap_or(line).split('\r'))
}

impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.message)
    }
}

impl std::error::Error for Diagnostic {}

impl miette::Diagnostic for Diagnostic {
    fn help<'a>(&'a self) -> Option<Box<dyn fmt::Display + 'a>> {
        self.help.as_ref().map(|help| Box::new(help) as Box<dyn fmt::Display>)
    }

    fn source_code(&self) -> Option<&dyn SourceCode> {
        Some(&self.source.named)
    }

    fn labels(&self) -> Option<Box<dyn Iterator<Item = LabeledSpan> + '_>> {
        let (offset, length) = self.span;
        Some(Box::new(std::iter::once(LabeledSpan::new(Some("here".to_owned()), offset, length))))
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::lines;

    #[rstest]
    #[case("", &[""])]
    #[case("a\nb\r\nc\rd", &["a", "b", "c", "d"])]
    #[case("a\r\n\nb\n", &["a", "", "b", ""])]
    fn lines_end_as_in_yaml(#[case] text: &str, #[case] expected: &[&str]) {
        assert_eq!(lines(text).collect::<Vec<_>>(), expected);
    }
}
