//! The order in which candidates are tried.
//!
//! Gateway API asks, across all rules of a listener: the most specific hostname of a route first; then an exact path,
//! then the longest prefix, then a method, then the most headers, then the most query parameters; then the oldest
//! route, then namespace and name, then the order of rules. The place of regular expressions is left to
//! implementations; here they come between exact paths and prefixes. Of calls, the longest service comes first, then the
//! longest method; they have no order among other requests, with which they share no hostname.

use std::cmp::Reverse;

use super::MatchPredicate;
use super::hostname::specificity;
use super::path::PathPredicate;
use crate::config::Hostname;

/// A sort key: the smaller one is tried first.
pub type Rank = (Reverse<(usize, usize)>, PathRank, Reverse<bool>, Reverse<usize>, Reverse<usize>);

/// The place of a path match.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum PathRank {
    /// A call; the longer service first, then the longer method.
    Rpc(Reverse<(usize, usize)>),
    /// An exact path.
    Exact,
    /// A regular expression; the longer pattern first.
    Regex(Reverse<usize>),
    /// A prefix; the longer one first.
    Prefix(Reverse<usize>),
}

/// The rank of a match under a hostname of its route. Equal ranks keep the order of the configuration.
pub fn rank(hostname: &Hostname, predicate: &MatchPredicate) -> Rank {
    let path = match predicate.path() {
        PathPredicate::Rpc(rpc) => PathRank::Rpc(Reverse(rpc.lengths())),
        PathPredicate::Exact(_) => PathRank::Exact,
        PathPredicate::Regex(regex) => PathRank::Regex(Reverse(regex.as_str().len())),
        PathPredicate::Text(prefix) | PathPredicate::Prefix(prefix) => PathRank::Prefix(Reverse(prefix.len())),
    };
    (
        Reverse(specificity(hostname)),
        path,
        Reverse(predicate.has_method()),
        Reverse(predicate.header_count()),
        Reverse(predicate.query_count()),
    )
}
