//! Rules of scripts, held against what their service takes: one that it refuses would come to light only when it is put to it.

use serde_json::Value;

use super::super::diagnostic::{Diagnostic, Report, Source};
use super::super::parse::tree::{self, Node};
use super::locate;

/// What services take for rules.
pub trait ScriptSchemas {
    /// What a service would refuse of these rules; nothing if nobody says what it takes.
    fn wrong_rules(&self, service: &str, rules: &[Value]) -> Vec<WrongRule>;
}

/// A part of a rule that its service does not take.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WrongRule {
    /// Which of the rules it is, from 0.
    pub rule: usize,
    /// Where in it, such as `operation.kind`; empty for all of it.
    pub path: String,
    /// What is wrong.
    pub message: String,
    /// What to do about it.
    pub help: Option<String>,
}

/// Rules of a file that their service would refuse, in order of place. What a script has beside its rules is the business of
/// [`parse`](super::super::parse).
pub fn scripts(file: &str, text: &str, schemas: &dyn ScriptSchemas) -> Vec<Diagnostic> {
    let source = Source::new(file, text);
    let mut problems = Vec::new();
    for document in tree::read(&source, &mut Vec::new()) {
        let steps = document.root.get("spec").and_then(|spec| spec.get("steps"));
        each(steps, &mut |service, rules| {
            let values: Vec<Value> = rules.iter().map(Node::value).collect();
            for WrongRule { rule, path, message, help } in schemas.wrong_rules(service, &values) {
                if let Some(node) = rules.get(rule) {
                    problems.push(source.problem(locate(node, &path), message, help));
                }
            }
        });
    }
    problems.sort_by_key(|problem| (problem.line, problem.column));
    problems
}

/// Calls with the service and the rules of each script, those in ends of writes too.
fn each(steps: Option<&Node>, visit: &mut dyn FnMut(&str, &[Node])) {
    for step in steps.map(Node::list).unwrap_or_default() {
        if let Some(script) = step.get("script")
            && let Some(service) = script.get("service").and_then(Node::text)
        {
            visit(service, script.get("rules").map(Node::list).unwrap_or_default());
        }
        for end in step.get("either").map(Node::list).unwrap_or_default() {
            each(end.get("then"), visit);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Knows one service, which takes nothing.
    struct Nothing;

    impl ScriptSchemas for Nothing {
        fn wrong_rules(&self, service: &str, rules: &[Value]) -> Vec<WrongRule> {
            let path = |at: usize| if at == 0 { "a.b".to_owned() } else { String::new() };
            let wrong = |(rule, value): (usize, &Value)| WrongRule {
                rule,
                path: path(rule),
                message: value.to_string(),
                help: None,
            };
            if service == "known" { rules.iter().enumerate().map(wrong).collect() } else { Vec::new() }
        }
    }

    #[test]
    fn rules_are_held_wherever_a_script_stands() {
        let text = "spec:\n  steps:\n    - script: {service: known, rules: [{a: {b: 1}}, {c: 2}]}\n    - script: {service: other, rules: [{a: 1}]}\n    \
                    - either:\n        - then:\n            - script: {service: known, rules: [{a: 3}]}\n    - script: {service: known, rules: 4}\n";
        let found: Vec<_> =
            scripts("a.yaml", text, &Nothing).into_iter().map(|one| (one.line, one.column, one.message)).collect();
        let told = |line, column, message: &str| (line, column, message.to_owned());
        let expected = [told(3, 45, r#"{"a":{"b":1}}"#), told(3, 53, r#"{"c":2}"#), told(7, 49, r#"{"a":3}"#)];
        assert_eq!(found, expected);
    }
}
