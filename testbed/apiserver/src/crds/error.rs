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
    /// The YAML does not read as a source.
    #[error("cannot read the source: {0}")]
    Yaml(String),
    /// A type that nobody defines.
    #[error("{0:?} is no type and no definition")]
    UnknownType(String),
    /// A mark after `@` that means nothing.
    #[error("{0:?} is no channel and no version")]
    UnknownMark(String),
    /// A key that the notation does not have.
    #[error("{0:?} is no key of the notation")]
    UnknownKey(String),
    /// A `${name}` that nobody defines.
    #[error("{0:?} is no fragment")]
    UnknownFragment(String),
    /// Definitions or fragments in a circle.
    #[error("definitions or fragments refer to each other without end")]
    Endless,
    /// Bounds that do not read.
    #[error("{0:?} does not read as bounds (\"1..5\", \"..5\", \"1..\")")]
    Bounds(String),
    /// A type of list that does not read.
    #[error("{0:?} does not read as a type of list (atomic, set, map(KEY))")]
    ListType(String),
    /// A default of another type.
    #[error("the default {0:?} does not fit the type")]
    Default(String),
    /// Something stands where something else belongs.
    #[error("{0}")]
    Shape(&'static str),
}

impl Problem {
    /// The mistake, at a path.
    pub fn at(self, at: &str) -> SourceError {
        SourceError { at: at.to_owned(), problem: self }
    }
}
