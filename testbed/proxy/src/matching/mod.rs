//! Which rule a request belongs to: pure functions over a request's head and compiled candidates.
//!
//! Precedence is a sort key that depends on the configuration alone ([`precedence`]), so a request simply belongs to
//! the first candidate, in sorted order, whose conditions hold.

pub mod fields;
pub mod hostname;
pub mod path;
pub mod precedence;
pub mod rpc;

use http::{HeaderMap, Method};

use crate::config::RequestMatch;
use crate::grpc;
use fields::{FieldPredicate, header_holds, query_holds};
use path::PathPredicate;

/// The parts of a request that matches look at.
#[derive(Debug, Clone, Copy)]
pub struct Subject<'a> {
    /// The method.
    pub method: &'a Method,
    /// The raw path, without the query.
    pub path: &'a str,
    /// The raw query, without the question mark.
    pub query: Option<&'a str>,
    /// The header fields.
    pub headers: &'a HeaderMap,
}

/// One entry of a rule's `matches`, with its regular expressions compiled.
#[derive(Debug, Clone)]
pub struct MatchPredicate {
    path: PathPredicate,
    headers: Vec<FieldPredicate>,
    query: Vec<FieldPredicate>,
    method: Option<String>,
}

impl MatchPredicate {
    /// Compiles an entry.
    ///
    /// # Errors
    /// The error of the first regular expression that is none.
    pub fn compile(entry: &RequestMatch) -> Result<Self, regex::Error> {
        Ok(Self {
            path: PathPredicate::compile(&entry.path)?,
            headers: fields::compile(&entry.headers, |a, b| a.eq_ignore_ascii_case(b))?,
            query: fields::compile(&entry.query, |a, b| a == b)?,
            method: entry.method.clone(),
        })
    }

    /// Whether every part of the entry holds for the request.
    pub fn holds(&self, subject: &Subject<'_>) -> bool {
        self.path.holds(subject.path)
            && (!matches!(self.path, PathPredicate::Rpc(_)) || grpc::is_grpc(subject.headers))
            && self.method.as_deref().is_none_or(|method| method == subject.method.as_str())
            && self.headers.iter().all(|field| header_holds(field, subject.headers))
            && self.query.iter().all(|field| query_holds(field, subject.query.unwrap_or_default()))
    }

    /// The predicate for the path.
    pub fn path(&self) -> &PathPredicate {
        &self.path
    }

    /// How many header conditions count.
    pub fn header_count(&self) -> usize {
        self.headers.len()
    }

    /// How many query conditions count.
    pub fn query_count(&self) -> usize {
        self.query.len()
    }

    /// Whether the entry asks for a method.
    pub fn has_method(&self) -> bool {
        self.method.is_some()
    }
}

#[cfg(test)]
mod tests;
