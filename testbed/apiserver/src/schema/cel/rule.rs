//! One rule of a schema node.

use std::sync::OnceLock;

use serde_json::Value;

use super::engine::{Engine, KubeCel};
use crate::schema::SchemaError;
use crate::schema::read::{flag, malformed, text};

type Program = <KubeCel as Engine>::Program;

/// A rule as the schema states it, and its programs once somebody needed them.
#[derive(Debug)]
pub(crate) struct Rule {
    pub(crate) source: String,
    pub(crate) message: Option<String>,
    pub(crate) message_expression: Option<String>,
    pub(crate) reason: Option<String>,
    pub(crate) field_path: Option<String>,
    pub(crate) optional_old_self: bool,
    compiled: OnceLock<Result<Compiled, String>>,
}

/// The programs of a rule.
#[derive(Debug)]
pub(crate) struct Compiled {
    pub(crate) program: Program,
    pub(crate) message: Option<Program>,
    /// A transition rule compares with the old value.
    pub(crate) uses_old_self: bool,
}

impl Rule {
    pub(crate) fn parse(rule: &Value, at: &str) -> Result<Rule, SchemaError> {
        let map = rule.as_object().ok_or_else(|| malformed(at, "a validation rule must be an object"))?;
        Ok(Rule {
            source: text(map, "rule").ok_or_else(|| malformed(at, "a validation rule needs a rule"))?,
            message: text(map, "message").filter(|message| !message.is_empty()),
            message_expression: text(map, "messageExpression").filter(|source| !source.is_empty()),
            reason: text(map, "reason"),
            field_path: text(map, "fieldPath").map(|path| normalize(&path)),
            optional_old_self: flag(map, "optionalOldSelf"),
            compiled: OnceLock::new(),
        })
    }

    /// Whether the rule may be a transition rule, told without compiling it.
    pub(crate) fn mentions_old_self(&self) -> bool {
        self.source.contains("oldSelf")
    }

    /// The programs, compiled at the first call.
    pub(crate) fn compiled(&self) -> Result<&Compiled, &str> {
        let compile = || {
            let program = KubeCel::compile(&self.source)?;
            let message = self.message_expression.as_deref().map(KubeCel::compile).transpose();
            let message = message.map_err(|error| format!("messageExpression: {error}"))?;
            let uses_old_self = KubeCel::mentions(&program, "oldSelf");
            Ok(Compiled { program, message, uses_old_self })
        };
        self.compiled.get_or_init(compile).as_ref().map_err(String::as_str)
    }

    /// What names the rule in messages: its own message, else its source.
    pub(crate) fn title(&self) -> &str {
        self.message.as_deref().unwrap_or(&self.source).trim()
    }

    /// The static message of a failure.
    pub(crate) fn failure(&self) -> String {
        match &self.message {
            Some(message) => message.trim().to_owned(),
            None => format!("failed rule: {}", self.source.trim()),
        }
    }
}

/// `.a.b` and `['a'].b` become `a.b`: a path to append to the node's own.
fn normalize(path: &str) -> String {
    let dotted = path.replace("['", ".").replace("']", "");
    dotted.trim_start_matches('.').to_owned()
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case(".spec.rules", "spec.rules")]
    #[case("['a'].b", "a.b")]
    #[case(".a['b']", "a.b")]
    fn field_paths(#[case] written: &str, #[case] normal: &str) {
        assert_eq!(normalize(written), normal);
    }
}
