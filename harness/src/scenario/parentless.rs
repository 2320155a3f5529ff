//! Conditions that are asked of every parent of an object that names none: nothing would be looked at.

use serde_json::Value;

use crate::dialects::Standing;

use super::model::{Ending, ObjectRef, Parents, Place, Scenario, Step, SubjectExpectation, Verb};
use super::vocabulary::suggest;

/// The field that names the parents.
const PARENTS: &str = "parentRefs";

/// Where conditions are asked of parents that nothing in the scenario names.
pub(super) fn look_at_nothing(scenario: &Scenario) -> Vec<Place> {
    let subjects = scenario.steps.iter().flat_map(subjects);
    let found = subjects.filter(|subject| asks_every(subject) && names_none(scenario, &subject.subject));
    found.map(|subject| subject.place).collect()
}

fn subjects(step: &Step) -> Vec<&SubjectExpectation> {
    let mut found: Vec<&SubjectExpectation> = match &step.verb {
        Verb::Settle(settle) => settle.subjects.iter().collect(),
        Verb::Hold(hold) => hold.never.iter().chain(&hold.always).collect(),
        _ => Vec::new(),
    };
    for ending in &step.either {
        if let Ending::Settle(settle, _) = ending {
            found.extend(&settle.subjects);
        }
    }
    found
}

fn asks_every(subject: &SubjectExpectation) -> bool {
    subject.standing == Standing::Parents && subject.parents == Parents::Every && !subject.conditions.is_empty()
}

/// Whether the scenario makes the object, and no write of it names a parent. One that it does not make may be as it likes.
fn names_none(scenario: &Scenario, object: &ObjectRef) -> bool {
    let mut makes = false;
    for step in &scenario.steps {
        match &step.verb {
            Verb::Apply(apply) => {
                for value in apply.objects.iter().filter(|value| is(value, object)) {
                    makes = true;
                    if value.get("spec").is_some_and(may_name_some) {
                        return false;
                    }
                }
            }
            Verb::Patch(patch) if patch.target == *object && patch.patch.to_string().contains(PARENTS) => return false,
            _ => {}
        }
    }
    makes
}

/// Whether a spec names a parent, or was to: a misspelt field is one mistake, and told as such.
fn may_name_some(spec: &Value) -> bool {
    let names_some = |refs: &Value| refs.as_array().is_none_or(|refs| !refs.is_empty());
    let mut fields = spec.as_object().into_iter().flatten();
    fields.any(|(field, value)| suggest(field, [PARENTS].into_iter()).is_some() && names_some(value))
}

fn is(value: &Value, object: &ObjectRef) -> bool {
    value["kind"] == object.kind.as_str() && value["metadata"]["name"] == object.name.as_str()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use rstest::rstest;

    use super::super::parse;
    use super::super::vocabulary::Vocabulary;

    const HEAD: &str = r#"
apiVersion: gateproof.dev/v1alpha1
kind: Scenario
metadata: {name: sample}
spec:
  summary: A sentence.
  features: [Gateway, HTTPRoute]
  gateways: {gw: http}
  steps:
"#;
    const ROUTE: &str =
        "    - apply: [{apiVersion: gateway.networking.k8s.io/v1, kind: HTTPRoute, metadata: {name: a}, spec: {}}]\n";
    const EMPTY: &str = "    - apply: [{apiVersion: gateway.networking.k8s.io/v1, kind: HTTPRoute, metadata: {name: a}, spec: {parentRefs: []}}]\n";
    const NAMED: &str = "    - apply: [{apiVersion: gateway.networking.k8s.io/v1, kind: HTTPRoute, metadata: {name: a}, spec: {parentRefs: [\"${gw}\"]}}]\n";
    const MISSPELT: &str = "    - apply: [{apiVersion: gateway.networking.k8s.io/v1, kind: HTTPRoute, metadata: {name: a}, spec: {parentRef: [\"${gw}\"]}}]\n";
    const PATCH: &str = "    - patch: {target: HTTPRoute/a, merge: {spec: {parentRefs: [{name: x}]}}}\n";
    const POINTED: &str =
        "    - patch: {target: HTTPRoute/a, json: [{op: add, path: /spec/parentRefs, value: [{name: x}]}]}\n";
    const OTHER: &str = "    - patch: {target: HTTPRoute/a, merge: {spec: {hostnames: [a.test]}}}\n";
    const SETTLE: &str = "    - settle: {HTTPRoute/a: {Accepted: \"True\"}}\n";
    const NEVER: &str = "    - hold: {for: quiet, never: {HTTPRoute/a: {Accepted: \"True\"}}}\n";
    const CHOSEN: &str = "    - settle: {HTTPRoute/a: {parents: [{ref: \"${gw}\", Accepted: \"True\"}]}}\n";

    #[rstest]
    #[case::none(&[ROUTE, SETTLE], 1)]
    #[case::an_empty_list(&[EMPTY, SETTLE], 1)]
    #[case::held(&[ROUTE, NEVER], 1)]
    #[case::another_patch(&[ROUTE, OTHER, SETTLE], 1)]
    #[case::misspelt(&[MISSPELT, SETTLE], 0)]
    #[case::named(&[NAMED, SETTLE], 0)]
    #[case::taken_away_and_asked_before(&[NAMED, SETTLE, ROUTE], 0)]
    #[case::patched(&[ROUTE, PATCH, SETTLE], 0)]
    #[case::pointed_at(&[ROUTE, POINTED, SETTLE], 0)]
    #[case::chosen(&[ROUTE, CHOSEN], 0)]
    fn conditions_of_no_parent_are_no_question(#[case] steps: &[&str], #[case] problems: usize) {
        let text = format!("{HEAD}{}", steps.concat());
        let found = parse("a.yaml", &text, &Vocabulary::builtin()).err().unwrap_or_default();
        let told: Vec<_> = found.iter().map(|p| p.message.as_str()).collect();
        assert_eq!(told.len(), problems, "{told:?}");
        assert!(found.iter().all(|p| p.message.contains("names no parent") && p.snippet.contains("HTTPRoute/a")));
    }
}
