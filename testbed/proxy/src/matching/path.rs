//! Paths: exact, by prefix of elements, by regular expression, by what they call.

use regex::Regex;

use super::fields::whole;
use super::rpc::RpcPredicate;
use crate::config::PathMatch;

/// A path match, ready to use.
#[derive(Debug, Clone)]
pub enum PathPredicate {
    /// The whole path.
    Exact(String),
    /// A prefix of elements, stored without trailing slashes; the prefix `/` is the empty text.
    Prefix(String),
    /// A prefix of characters.
    Text(String),
    /// A regular expression that the whole path has to match.
    Regex(Regex),
    /// The service and method of a call.
    Rpc(RpcPredicate),
}

impl PathPredicate {
    /// Compiles a path match.
    ///
    /// # Errors
    /// The regular expression is none.
    pub fn compile(path: &PathMatch) -> Result<Self, regex::Error> {
        Ok(match path {
            PathMatch::Exact(exact) => Self::Exact(exact.clone()),
            PathMatch::Prefix(prefix) => Self::Prefix(trim_prefix(prefix).to_owned()),
            PathMatch::Text(prefix) => Self::Text(prefix.clone()),
            PathMatch::Regex(pattern) => Self::Regex(whole(pattern)?),
            PathMatch::Rpc { service, method } => Self::Rpc(RpcPredicate::compile(service.as_ref(), method.as_ref())?),
        })
    }

    /// Whether the raw path matches.
    pub fn holds(&self, path: &str) -> bool {
        match self {
            Self::Exact(exact) => exact == path,
            Self::Prefix(prefix) => is_element_prefix(prefix, path),
            Self::Text(prefix) => path.starts_with(prefix.as_str()),
            Self::Regex(regex) => regex.is_match(path),
            Self::Rpc(rpc) => rpc.holds(path),
        }
    }
}

/// A prefix without its trailing slashes, which mean nothing.
pub fn trim_prefix(prefix: &str) -> &str {
    prefix.trim_end_matches('/')
}

/// Whether the elements of `prefix` are the first elements of `path`. `prefix` has no trailing slash.
pub fn is_element_prefix(prefix: &str, path: &str) -> bool {
    path.strip_prefix(prefix).is_some_and(|rest| rest.starts_with('/') || (rest.is_empty() && !prefix.is_empty()))
}
