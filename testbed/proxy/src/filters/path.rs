//! Replacing paths.

use crate::config::PathModifier;
use crate::matching::path::PathPredicate;

/// A replacement of the matched prefix was asked for, but what matched was no prefix.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the rule replaces the matched prefix, but the match that held is no prefix")]
pub struct NoPrefix;

/// The path after the modifier, where `matched` is the path match that held. The query is not touched.
///
/// # Errors
/// [`NoPrefix`] for a replaced prefix where none matched.
pub fn modify(modifier: &PathModifier, matched: &PathPredicate, path: &str) -> Result<String, NoPrefix> {
    match (modifier, matched) {
        (PathModifier::ReplaceFullPath(full), _) => Ok(absolute(full.clone())),
        (PathModifier::ReplacePrefixMatch(replacement), PathPredicate::Prefix(prefix)) => {
            let rest = path.strip_prefix(prefix.as_str()).unwrap_or(path);
            let replacement =
                if rest.starts_with('/') { replacement.trim_end_matches('/') } else { replacement.as_str() };
            Ok(absolute(format!("{replacement}{rest}")))
        }
        (PathModifier::ReplacePrefixMatch(replacement), PathPredicate::Text(prefix)) => {
            Ok(absolute(format!("{replacement}{}", path.strip_prefix(prefix.as_str()).unwrap_or(path))))
        }
        (PathModifier::ReplacePrefixMatch(_), _) => Err(NoPrefix),
    }
}

fn absolute(path: String) -> String {
    if path.starts_with('/') { path } else { format!("/{path}") }
}
