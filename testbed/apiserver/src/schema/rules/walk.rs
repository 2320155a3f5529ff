//! Evaluating the rules of all nodes on an object.

use serde_json::{Value, json};

use super::convert::{convert, convert_scalar, visible};
use crate::schema::cause::Cause;
use crate::schema::cel::{Answer, Compiled, Engine, KubeCel, Rule};
use crate::schema::correlate::{old_item, old_member};
use crate::schema::node::Node;
use crate::schema::path::{NO_FIELD, Path};

type Bound = <KubeCel as Engine>::Value;

/// Evaluates every rule at or below a node; the causes of a node come before those of its children.
pub(crate) fn check(node: &Node, value: &Value, old: Option<&Value>, causes: &mut Vec<Cause>) {
    if node.rules_below {
        walk(node, value, old, &Path::ROOT, false, false, causes);
    }
}

/// Each value is converted once on the way up, and only where a rule here or above (`wanted`) looks at it. `unchanged`
/// says that the nearest ancestor with an old value equals it.
fn walk(
    node: &Node,
    value: &Value,
    old: Option<&Value>,
    path: &Path<'_>,
    wanted: bool,
    unchanged: bool,
    causes: &mut Vec<Cause>,
) -> Option<Bound> {
    if !node.rules_below {
        return wanted.then(|| convert::<KubeCel>(node, value));
    }
    if value.is_null() {
        return wanted.then(|| convert_scalar::<KubeCel>(node, value));
    }
    let unchanged = old.map_or(unchanged, |old| old == value);
    if unchanged && !node.transitions_below {
        // Whatever the rules say about an unchanged value is not held against it.
        return wanted.then(|| convert::<KubeCel>(node, value));
    }
    let convert_here = wanted || !node.rules.is_empty();
    let mut below = Vec::new();
    let bound = match value {
        Value::Array(items) => {
            let mut bound = Vec::with_capacity(items.len());
            for (index, item) in items.iter().enumerate() {
                let Some(schema) = &node.items else { break };
                let old = old_item(node, old, item);
                bound.extend(walk(schema, item, old, &path.index(index), convert_here, unchanged, &mut below));
            }
            convert_here.then(|| KubeCel::list(bound))
        }
        Value::Object(map) => {
            let mut bound = Vec::with_capacity(map.len());
            for (name, member) in map {
                let child = if node.properties.contains_key(name) { path.field(name) } else { path.key(name) };
                let old = old_member(node, old, name);
                let seen = visible(node, name);
                let wanted = convert_here && seen.is_some();
                let converted = match node.member(name) {
                    Some(schema) => walk(schema, member, old, &child, wanted, unchanged, &mut below),
                    None => wanted.then(|| convert::<KubeCel>(&Node::default(), member)),
                };
                if let (Some((name, _)), Some(converted)) = (seen, converted) {
                    bound.push((name, converted));
                }
            }
            convert_here.then(|| KubeCel::map(bound))
        }
        scalar => convert_here.then(|| convert_scalar::<KubeCel>(node, scalar)),
    };
    if let Some(bound) = &bound {
        Site { node, old, path, unchanged, this: bound }.evaluate(causes);
    }
    causes.append(&mut below);
    bound
}

/// One node of the schema at one place in the object.
struct Site<'a> {
    node: &'a Node,
    old: Option<&'a Value>,
    path: &'a Path<'a>,
    unchanged: bool,
    this: &'a Bound,
}

impl Site<'_> {
    fn evaluate(&self, causes: &mut Vec<Cause>) {
        if self.node.rules.is_empty() {
            return;
        }
        let mut plain: Vec<(&Rule, &Compiled)> = Vec::new();
        let mut optional: Vec<(&Rule, &Compiled)> = Vec::new();
        for rule in &self.node.rules {
            match rule.compiled() {
                Err(error) => causes.push(self.invalid(&format!("rule compile error: {error}"))),
                Ok(compiled) if rule.optional_old_self && compiled.uses_old_self => optional.push((rule, compiled)),
                Ok(compiled) if compiled.uses_old_self && self.old.is_none() => {}
                Ok(compiled) => plain.push((rule, compiled)),
            }
        }
        let transitions = plain.iter().any(|(_, compiled)| compiled.uses_old_self);
        let old = (transitions || !optional.is_empty()).then_some(self.old).flatten();
        let old = old.map(|old| convert::<KubeCel>(self.node, old));
        let mut variables = vec![("self", self.this.clone())];
        if let Some(old) = &old {
            variables.push(("oldSelf", old.clone()));
        }
        self.judge(&plain, &variables, causes);
        if !optional.is_empty() {
            let variables = [("self", self.this.clone()), ("oldSelf", KubeCel::optional(old))];
            self.judge(&optional, &variables, causes);
        }
    }

    fn judge(&self, rules: &[(&Rule, &Compiled)], variables: &[(&str, Bound)], causes: &mut Vec<Cause>) {
        if rules.is_empty() {
            return;
        }
        let programs: Vec<_> = rules.iter().map(|(_, compiled)| &compiled.program).collect();
        for ((rule, compiled), answer) in rules.iter().zip(KubeCel::evaluate(variables, &programs)) {
            match answer {
                Ok(Answer::Bool(true)) => {}
                Ok(Answer::Bool(false)) if !compiled.uses_old_self && self.unchanged => {}
                Ok(Answer::Bool(false)) => causes.push(self.failed(rule, compiled, variables)),
                Ok(_) => causes.push(self.invalid(&format!("no such overload evaluating rule: {}", rule.title()))),
                Err(error) => causes.push(self.invalid(&format!("{error} evaluating rule: {}", rule.title()))),
            }
        }
    }

    fn failed(&self, rule: &Rule, compiled: &Compiled, variables: &[(&str, Bound)]) -> Cause {
        let mut field = self.path.bracketed();
        if let Some(below) = &rule.field_path {
            field = if field == NO_FIELD { below.clone() } else { format!("{field}.{below}") };
        }
        let detail = dynamic_message(compiled, variables).unwrap_or_else(|| rule.failure());
        match rule.reason.as_deref() {
            Some("FieldValueForbidden") => Cause::forbidden(field, &detail),
            Some("FieldValueRequired") => Cause::required(field, &detail),
            Some("FieldValueDuplicate") => Cause::duplicate(field, &self.shown()),
            _ => Cause::invalid(field, &self.shown(), &detail),
        }
    }

    fn invalid(&self, detail: &str) -> Cause {
        Cause::invalid(self.path.bracketed(), &self.shown(), detail)
    }

    /// Messages of rules show the type in place of the value.
    fn shown(&self) -> Value {
        json!(self.node.kind.name())
    }
}

/// The text of a `messageExpression`; nothing if it fails or comes to something that is no message.
fn dynamic_message(compiled: &Compiled, variables: &[(&str, Bound)]) -> Option<String> {
    const LONGEST: usize = 5 * 1024;
    let program = compiled.message.as_ref()?;
    match KubeCel::evaluate(variables, &[program]).pop()? {
        Ok(Answer::Text(text)) => {
            let text = text.trim();
            (!text.is_empty() && !text.contains('\n') && text.len() <= LONGEST).then(|| text.to_owned())
        }
        _ => None,
    }
}
