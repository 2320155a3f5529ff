//! Statuses that a scenario writes in the name of components that are not under test.

use std::collections::BTreeSet;

use super::check::Checker;
use super::read::{all_steps, boolean, text};
use super::tree::Node;

/// The condition types in such statuses: nobody else has to know them.
pub(super) fn conditions(root: &Node) -> BTreeSet<String> {
    let steps = root.get("spec").map(all_steps).unwrap_or_default();
    let patches = steps.iter().filter_map(|step| step.get("patch"));
    let mut found = BTreeSet::new();
    for patch in patches.filter(|patch| boolean(patch, "component") == Some(true)) {
        for body in [patch.get("merge"), patch.get("json")].into_iter().flatten() {
            collect(body, &mut found);
        }
    }
    found
}

fn collect(node: &Node, found: &mut BTreeSet<String>) {
    if let (Some(type_), Some(_)) = (text(node, "type"), text(node, "status")) {
        found.insert(type_.to_owned());
    }
    node.list().iter().for_each(|item| collect(item, found));
    node.entries().iter().for_each(|(_, value)| collect(value, found));
}

/// Whether a patch plays such a component.
pub(super) fn plays(patch: &Node, checker: &mut Checker<'_>) -> bool {
    let Some((key, _)) = patch.entries().iter().find(|(key, _)| key.name == "component") else { return false };
    let (message, help) = match boolean(patch, "component") {
        Some(false) => ("`component: false` says nothing", "leave it out"),
        Some(true) if text(patch, "subresource") != Some("status") => {
            ("`component` without `subresource: status`", "components are told by the statuses that they write")
        }
        _ => return true,
    };
    checker.report(key.mark, message.to_owned(), Some(help.to_owned()));
    false
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use rstest::rstest;

    use crate::scenario::{Verb, Vocabulary, parse};

    const HEAD: &str = r#"
apiVersion: gateproof.dev/v1alpha1
kind: Scenario
metadata: {name: sample}
spec:
  summary: A sentence.
  features: [Gateway]
  gateways: {gw: http}
  steps:
    - apply: [{apiVersion: v1, kind: Pod, metadata: {name: pod}}]
"#;
    const STATUS: &str =
        "merge: {status: {conditions: [{type: ContainersReady, status: \"True\"}, {type: Own, reason: A}]}}";

    fn read(step: &str, expected: &str) -> Result<Vec<bool>, Vec<(usize, usize, String)>> {
        let text =
            format!("{HEAD}    - patch: {{{step}, {STATUS}}}\n    - settle: {{Pod/pod: {{{expected}: \"True\"}}}}\n");
        let scenarios = parse("a.yaml", &text, &Vocabulary::builtin());
        let played = |verb: &Verb| matches!(verb, Verb::Patch(patch) if patch.component);
        scenarios
            .map(|scenarios| scenarios[0].steps.iter().map(|step| played(&step.verb)).collect())
            .map_err(|found| found.into_iter().map(|one| (one.line, one.column, one.message)).collect())
    }

    #[test]
    fn its_conditions_are_known() {
        let played = read("target: Pod/pod, subresource: status, component: true", "ContainersReady").unwrap();
        assert_eq!(played, [false, true, false]);
    }

    #[rstest]
    #[case::of_nobody(
        "target: Pod/pod, subresource: status",
        "ContainersReady",
        12,
        "ContainersReady",
        "unknown condition type `ContainersReady`"
    )]
    #[case::no_condition(
        "target: Pod/pod, subresource: status, component: true",
        "Own",
        12,
        "Own",
        "unknown condition type `Own`"
    )]
    #[case::no_status(
        "target: Pod/pod, component: true",
        "ContainersReady",
        11,
        "component",
        "`component` without `subresource: status`"
    )]
    #[case::nothing(
        "target: Pod/pod, subresource: status, component: false",
        "Accepted",
        11,
        "component",
        "`component: false` says nothing"
    )]
    #[case::shared(
        "target: \"${gw}\", subresource: status, component: true",
        "Accepted",
        11,
        "\"${gw",
        "the status of what scenarios share is for the target alone"
    )]
    fn mistakes_have_their_places(
        #[case] step: &str,
        #[case] expected: &str,
        #[case] line: usize,
        #[case] at: &str,
        #[case] message: &str,
    ) {
        let column = if line == 11 {
            "    - patch: {".len() + step.find(at).unwrap() + 1
        } else {
            "    - settle: {Pod/pod: {".len() + 1
        };
        let found = read(step, expected).unwrap_err();
        assert!(found.contains(&(line, column, message.to_owned())), "{found:?}");
    }
}
