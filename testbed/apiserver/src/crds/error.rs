//! What can be wrong with a source of definitions.

/// A mistake in a source, and where it stands.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error("{at}: {problem}")]
pub struct SourceError {
    /// The kind and the path of fields, as in `HTTPRoute.spec.rules`.
    pub at: String,
    /// What is wrong there.
    pub problem: Problem,
}

/// One kind of mistake.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum Problem {
    #[error("cannot read the source: {0}")]
    Yaml(String),
    #[error("{0:?} is no type and no definition")]
    UnknownType(String),
    #[error("{0:?} is no channel and no version")]
    UnknownMark(String),
    #[error("{0:?} is no key of the notation")]
    UnknownKey(String),
    #[error("{0:?} is no fragment")]
    UnknownFragment(String),
    #[error("definitions or fragments refer to each other without end")]
    Endless,
    #[error("{0:?} does not read as bounds (\"1..5\", \"..5\", \"1..\")")]
    Bounds(String),
    #[error("{0:?} does not read as a type of list (plain, atomic, set, map(KEY))")]
    ListType(String),
    #[error("the default {0:?} does not fit the type")]
    Default(String),
    #[error("{0}")]
    Shape(&'static str),
}

impl Problem {
    /// The mistake, at a path.
    pub fn at(self, at: &str) -> SourceError {
        SourceError { at: at.to_owned(), problem: self }
    }
}
