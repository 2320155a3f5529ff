//! How often who asked for what.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

/// How often one user agent did one thing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequestCount {
    /// The verb as Kubernetes authorizes it: get, list, watch, create, update, patch, delete or deletecollection.
    pub verb: String,
    /// `resource.group`, with `/subresource` behind it where one was asked for; the path for anything else.
    pub resource: String,
    /// The User-Agent header, or nothing.
    pub user_agent: String,
    /// How many requests there were.
    pub count: u64,
}

/// The counters of a server.
#[derive(Debug, Default)]
pub struct Counters(Mutex<BTreeMap<(String, String, String), u64>>);

impl Counters {
    /// Counts one request.
    pub fn count(&self, verb: &str, resource: &str, user_agent: &str) {
        let key = (verb.to_owned(), resource.to_owned(), user_agent.to_owned());
        *self.0.lock().unwrap_or_else(PoisonError::into_inner).entry(key).or_default() += 1;
    }

    /// All counts so far.
    pub fn all(&self) -> Vec<RequestCount> {
        let counts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let row = |((verb, resource, user_agent), count): (&(String, String, String), &u64)| RequestCount {
            verb: verb.clone(),
            resource: resource.clone(),
            user_agent: user_agent.clone(),
            count: *count,
        };
        counts.iter().map(row).collect()
    }
}
