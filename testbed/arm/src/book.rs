//! The scripts that are in force, and how often their rules were used.

use globset::GlobMatcher;
use http::Method;
use indexmap::IndexMap;
use tokio_util::sync::DropGuard;

use crate::script::{CheckedRule, Script, ScriptError, Verb};

/// How many scripts may be in force.
pub(crate) const MOST_SCRIPTS: usize = 256;

/// How many bytes the key of a script may have.
pub(crate) const LONGEST_KEY: usize = 128;

#[derive(Debug, Default)]
pub(crate) struct Book {
    scripts: IndexMap<String, Vec<Entry>>,
}

#[derive(Debug)]
struct Entry {
    rule: CheckedRule,
    matcher: GlobMatcher,
    used: u64,
    /// Lets go what the rule still keeps back, once it is out of force.
    _gone: DropGuard,
}

impl Book {
    /// Puts a script in force; one of the same key loses its place and its counts to it. True if there was none.
    pub fn put(&mut self, key: &str, script: &Script) -> Result<bool, ScriptError> {
        let rules = script.checked()?;
        if self.scripts.len() >= MOST_SCRIPTS && !self.scripts.contains_key(key) {
            let problem = format!("{MOST_SCRIPTS} scripts are in force: delete one");
            return Err(ScriptError { place: "script".into(), problem });
        }
        let entry = |rule: CheckedRule| Entry {
            matcher: rule.glob.compile_matcher(),
            _gone: rule.gone.clone().drop_guard(),
            rule,
            used: 0,
        };
        Ok(self.scripts.insert(key.to_owned(), rules.into_iter().map(entry).collect()).is_none())
    }

    /// Takes a script out of force, if it is there.
    pub fn remove(&mut self, key: &str) -> bool {
        self.scripts.shift_remove(key).is_some()
    }

    /// The rule for a request, which is counted as used.
    pub fn take(&mut self, method: &Method, path: &str) -> Option<CheckedRule> {
        let matches = |entry: &&mut Entry| {
            let rule = &entry.rule.rule;
            rule.times.is_none_or(|times| entry.used < times)
                && rule.method.is_none_or(|verb| verb.method() == method)
                && entry.matcher.is_match(path)
        };
        let entry = self.scripts.values_mut().flatten().find(matches)?;
        entry.used += 1;
        Some(entry.rule.clone())
    }
}

impl Verb {
    fn method(self) -> Method {
        match self {
            Self::Get => Method::GET,
            Self::Head => Method::HEAD,
            Self::Put => Method::PUT,
            Self::Patch => Method::PATCH,
            Self::Post => Method::POST,
            Self::Delete => Method::DELETE,
        }
    }
}
