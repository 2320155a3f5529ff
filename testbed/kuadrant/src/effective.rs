//! Effective policies: what is left on a path when all policies on it are put over each other.

use serde_json::Value;

use crate::object::{age, full_name, items, text};
use crate::topology::Path;

/// One rule of a policy, with where it comes from.
#[derive(Clone, Debug, PartialEq)]
pub struct Rule {
    /// Its section and name, such as `authentication/keys` or `limits/per-user`. Rules of one ID exclude each other.
    pub id: String,
    /// `namespace/name` of the policy.
    pub source: String,
    /// The predicates of the policy that the rule stands under.
    pub when: Vec<String>,
    /// The rule itself.
    pub body: Value,
}

/// The part of a spec that holds rules, whether it overrides what is nearer to the request, and whether it merges.
fn body(policy: &Value) -> (&Value, bool, bool) {
    let spec = &policy["spec"];
    let (body, overrides) = match (&spec["overrides"], &spec["defaults"]) {
        (Value::Object(_), _) => (&spec["overrides"], true),
        (_, Value::Object(_)) => (&spec["defaults"], false),
        _ => return (spec, false, false),
    };
    (body, overrides, body["strategy"] == "merge")
}

/// The rules of a policy.
#[must_use]
pub fn rules(policy: &Value) -> Vec<Rule> {
    let (body, ..) = body(policy);
    let when: Vec<String> = items(body, "/when").map(|one| text(one, "/predicate").to_owned()).collect();
    let mut rules = Vec::new();
    let sections = [
        ("limits", &body["limits"]),
        ("authentication", &body["rules"]["authentication"]),
        ("metadata", &body["rules"]["metadata"]),
        ("authorization", &body["rules"]["authorization"]),
        ("response", &body["rules"]["response"]),
        ("callbacks", &body["rules"]["callbacks"]),
        ("patterns", &body["patterns"]),
    ];
    for (section, named) in sections {
        rules.extend(named.as_object().into_iter().flatten().map(|(name, rule)| Rule {
            id: format!("{section}/{name}"),
            source: full_name(policy),
            when: when.clone(),
            body: rule.clone(),
        }));
    }
    rules
}

/// Puts policies over each other, from the one farthest from the request to the nearest.
#[must_use]
pub fn effective(policies: &[&Value]) -> Vec<Rule> {
    policies.iter().rev().fold(Vec::new(), |below, policy| {
        let (_, overrides, merges) = body(policy);
        let own = rules(policy);
        match (overrides, merges) {
            (true, false) => own,
            (true, true) => united(own, below),
            (false, true) => united(below, own),
            (false, false) if below.is_empty() => own,
            (false, false) => below,
        }
    })
}

/// All rules of the first, and those of the second whose ID the first does not have.
fn united(mut first: Vec<Rule>, second: Vec<Rule>) -> Vec<Rule> {
    let more: Vec<Rule> = second.into_iter().filter(|rule| first.iter().all(|known| known.id != rule.id)).collect();
    first.extend(more);
    first
}

/// The policies on a path in the order that [`effective`] takes: on one object the older one comes first. So the oldest of those
/// that override has precedence there, else the newest.
#[must_use]
pub fn ordered<'a>(path: &Path<'_>, policies: &[&'a Value]) -> Vec<&'a Value> {
    let mut on_path: Vec<(u8, &Value)> =
        policies.iter().filter_map(|policy| Some((path.level(policy)?, *policy))).collect();
    on_path.sort_by(|(level, one), (other_level, other)| level.cmp(other_level).then(age(one).cmp(&age(other))));
    on_path.into_iter().map(|(_, policy)| policy).collect()
}
