//! CEL rules of a source: `$rules` as written, `$union` spelt out, and the fragments that both may use.

use indexmap::IndexMap;
use serde_json::{Map, Value, json};

use super::error::Problem;
use super::mark::{self, Variant};

/// How deep fragments may hold fragments.
const FRAGMENT_DEPTH: usize = 8;

/// Named pieces of patterns and rules: the kind's own first, then the shared ones.
#[derive(Clone, Copy)]
pub struct Fragments<'a> {
    pub own: &'a IndexMap<String, String>,
    pub shared: &'a IndexMap<String, String>,
}

impl Fragments<'_> {
    /// The text with every `${name}` replaced.
    pub fn fill(&self, text: &str) -> Result<String, Problem> {
        self.fill_to(text, FRAGMENT_DEPTH)
    }

    fn fill_to(&self, text: &str, depth: usize) -> Result<String, Problem> {
        let mut filled = String::with_capacity(text.len());
        let mut rest = text;
        while let Some(start) = rest.find("${") {
            let end =
                rest[start..].find('}').ok_or_else(|| Problem::UnknownFragment(rest[start..].to_owned()))? + start;
            let name = &rest[start + 2..end];
            let fragment = self.own.get(name).or_else(|| self.shared.get(name));
            let fragment = fragment.ok_or_else(|| Problem::UnknownFragment(name.to_owned()))?;
            filled.push_str(&rest[..start]);
            filled.push_str(&self.fill_to(fragment, depth.checked_sub(1).ok_or(Problem::Endless)?)?);
            rest = &rest[end + 1..];
        }
        filled.push_str(rest);
        Ok(filled)
    }
}

/// The rules of a `$rules` list that hold in a variant.
pub fn written(rules: &Value, fragments: Fragments<'_>, variant: Variant<'_>) -> Result<Vec<Value>, Problem> {
    let mut out = Vec::new();
    for entry in rules.as_array().ok_or(Problem::Shape("$rules must be a list"))? {
        let entry = entry.as_object().ok_or(Problem::Shape("a rule must be a mapping"))?;
        let (mut rule, mut message, mut applies) = (None, None, true);
        for (text, value) in entry {
            let key = mark::key(text, variant)?;
            let value = value.as_str().ok_or(Problem::Shape("rule and message must be strings"))?;
            match key.name {
                "rule" => {
                    rule = Some(value);
                    applies = key.applies;
                }
                "message" => message = Some(value),
                other => return Err(Problem::UnknownKey(other.to_owned())),
            }
        }
        let (Some(rule), Some(message)) = (rule, message) else {
            return Err(Problem::Shape("a rule needs rule and message"));
        };
        if applies {
            out.push(json!({"rule": fragments.fill(rule)?, "message": message}));
        }
    }
    Ok(out)
}

/// A rule a member of a `$union`: its field is set exactly when the discriminator has its value.
pub fn union(union: &Value, variant: Variant<'_>) -> Result<Vec<Value>, Problem> {
    let union = union.as_object().ok_or(Problem::Shape("$union must be a mapping"))?;
    let (by, members) = union_parts(union)?;
    let mut out = Vec::new();
    for (text, field) in members {
        let key = mark::key(text, variant)?;
        let field = field.as_str().ok_or(Problem::Shape("a member of a union must name a field"))?;
        if key.applies {
            let value = key.name;
            out.push(json!({
                "rule": format!("(self.{by} == '{value}') == has(self.{field})"),
                "message": format!("{field} goes with {by} {value}: one cannot be without the other"),
            }));
        }
    }
    Ok(out)
}

fn union_parts(union: &Map<String, Value>) -> Result<(&str, &Map<String, Value>), Problem> {
    if let Some(other) = union.keys().find(|key| !matches!(key.as_str(), "by" | "members")) {
        return Err(Problem::UnknownKey(other.clone()));
    }
    match (union.get("by").and_then(Value::as_str), union.get("members").and_then(Value::as_object)) {
        (Some(by), Some(members)) => Ok((by, members)),
        _ => Err(Problem::Shape("$union needs by and members")),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::crds::Channel;

    const V1: Variant<'_> = Variant { channel: Channel::Standard, version: "v1" };

    fn fragments(pairs: &[(&str, &str)]) -> IndexMap<String, String> {
        pairs.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned())).collect()
    }

    #[test]
    fn fragments_nest_and_own_ones_come_first() {
        let own = fragments(&[("b", "own")]);
        let shared = fragments(&[("a", "<${b}>"), ("b", "shared")]);
        let fragments = Fragments { own: &own, shared: &shared };
        assert_eq!(fragments.fill("^$|^${a}${b}$").unwrap(), "^$|^<own>own$");
    }

    #[test]
    fn a_fragment_that_holds_itself_is_refused() {
        let (own, shared) = (fragments(&[]), fragments(&[("a", "${b}"), ("b", "${a}")]));
        let fragments = Fragments { own: &own, shared: &shared };
        assert_eq!(fragments.fill("${a}"), Err(Problem::Endless));
        assert_eq!(fragments.fill("${c}"), Err(Problem::UnknownFragment("c".to_owned())));
    }

    #[test]
    fn a_union_binds_each_member_to_its_value() {
        let rules = union(&json!({"by": "type", "members": {"URI": "uri", "New @experimental": "new"}}), V1).unwrap();
        assert_eq!(rules.len(), 1);
        assert_eq!(rules[0]["rule"], "(self.type == 'URI') == has(self.uri)");
    }

    #[test]
    fn a_rule_of_another_channel_is_left_out() {
        let (own, shared) = (fragments(&[]), fragments(&[]));
        let fragments = Fragments { own: &own, shared: &shared };
        let rules = json!([{"rule @experimental": "a", "message": "m"}, {"rule": "b", "message": "n"}]);
        assert_eq!(written(&rules, fragments, V1).unwrap(), vec![json!({"rule": "b", "message": "n"})]);
        assert_eq!(
            written(&json!([{"rule": "b", "massage": "n"}]), fragments, V1),
            Err(Problem::UnknownKey("massage".to_owned()))
        );
    }
}
