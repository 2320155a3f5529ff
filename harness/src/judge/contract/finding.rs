//! What came of holding a rule against something.

use super::rule::Rule;

/// Whether a rule held, where it was held against, and what was seen if it did not.
pub(super) struct Finding {
    pub(super) rule: Rule,
    pub(super) path: String,
    pub(super) seen: Option<String>,
}

/// A rule that was held against what stands at a path; `seen` tells what is there, if that is not good.
pub(super) fn held(rule: Rule, path: String, good: bool, seen: impl FnOnce() -> String) -> Finding {
    Finding { rule, path, seen: (!good).then(seen) }
}
