//! Which requests a rule is for.

use serde::Serialize;

/// One entry of a rule's `matches`: all parts must hold.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct RequestMatch {
    /// The path; the default is the prefix `/`.
    pub path: PathMatch,
    /// Headers, all of which must match. Entries that repeat a name (in any case) after the first are ignored.
    pub headers: Vec<FieldMatch>,
    /// Query parameters, all of which must match. Entries that repeat a name after the first are ignored.
    pub query: Vec<FieldMatch>,
    /// The method, in upper case.
    pub method: Option<String>,
}

/// How a path is matched.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub enum PathMatch {
    /// The whole path, case-sensitive.
    Exact(String),
    /// A prefix, element by element; a trailing slash of the prefix has no meaning.
    Prefix(String),
    /// A prefix, character by character: `/ab` is one of `/abc`.
    Text(String),
    /// A regular expression over the whole path.
    Regex(String),
    /// A call of gRPC, whose path is `/SERVICE/METHOD`; other requests do not match, whatever their path.
    Rpc {
        /// The service with its package; not given: every service.
        service: Option<ValueMatch>,
        /// The method; not given: every method.
        method: Option<ValueMatch>,
    },
}

impl Default for PathMatch {
    fn default() -> Self {
        Self::Prefix("/".to_owned())
    }
}

/// A header or query parameter with the value it must have.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct FieldMatch {
    /// The name: of a header in any case, of a query parameter exactly.
    pub name: String,
    /// The value.
    pub value: ValueMatch,
}

/// How a value is matched.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub enum ValueMatch {
    /// The whole value, case-sensitive.
    Exact(String),
    /// A regular expression over the whole value.
    Regex(String),
    /// There is no value at all.
    Absent,
    /// Any other value than these.
    Not {
        /// Those that it must not be.
        value: Box<ValueMatch>,
        /// Whether no value at all counts as one that is empty; else it does not match.
        absent: bool,
    },
    /// All of these.
    All(Vec<ValueMatch>),
}
