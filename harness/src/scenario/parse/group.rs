//! Whether an object is one of a kind that its scenario can be about: what has another name would be looked for, or applied, in vain.

use super::super::vocabulary::suggest;
use super::check::Checker;
use super::tree::Node;
use crate::dialects::{dialect_of, has_both, kinds_in, unguarded_by};

impl Checker<'_> {
    /// Reports an object, applied or made by the target, whose group is one of another built-in dialect, or one of this dialect that
    /// has no such kind.
    pub(super) fn of_dialect(&mut self, node: &Node) {
        let dialect = &self.vocabulary.dialect;
        let Some((version, written)) = node.get("apiVersion").and_then(|version| Some((version, version.text()?)))
        else {
            return;
        };
        let Some((group, _)) = written.split_once('/') else { return };
        if let Some(other) = dialect_of(group, dialect) {
            let own = dialect.name();
            let message = format!("this is an object of the dialect `{other}`, and the scenario is one of `{own}`");
            let help = if has_both(other, dialect) {
                format!("name it with --dialect {other}, which has kinds of both")
            } else {
                format!(
                    "write it as a scenario of that dialect, and name it with --dialect {other}; or, in a dialect of your own, name its \
                     group in `groups` and the kind in `kinds` of dialect.yaml"
                )
            };
            return self.report(version.mark, message, Some(help));
        }
        if let Some(guarded) = unguarded_by(group, dialect) {
            let message = format!(
                "an operator may make something real of an object of `{group}`, as of those of the dialect `{}`, and the dialect `{}` has no \
                 canary that would tell",
                guarded.name,
                dialect.name()
            );
            let help = "write it in a dialect of your own that names the group in `groups` of dialect.yaml, and has a canary.yaml";
            return self.report(version.mark, message, Some(help.to_owned()));
        }
        let Some((at, kind)) = node.get("kind").and_then(|at| Some((at, at.text()?))) else { return };
        let Some(kinds) = kinds_in(group, dialect).filter(|kinds| !kinds.contains(kind)) else { return };
        let message = format!("the dialect `{}` has no kind `{kind}` of the group `{group}`", dialect.name());
        let help = suggest(kind, kinds.iter().map(String::as_str)).map(|near| format!("did you mean `{near}`?"));
        let all = || kinds.iter().map(String::as_str).collect::<Vec<_>>().join(", ");
        let help = help
            .unwrap_or_else(|| format!("there is {}; a further one has to stand in `kinds` of dialect.yaml", all()));
        self.report(at.mark, message, Some(help));
    }
}
