//! Steps of which each is for one of two releases, and that ask partly for the same.

use crate::scenario::expectations::{Expectation, asserted};
use crate::scenario::{Scenario, Step, Version};

/// Those of the expectations, each with the only release at which it is asked, that have no twin: the same value of the same, as
/// binding, asked at the other release while the objects are the same.
pub(super) fn without(scenario: &Scenario, mut once: Vec<(&Expectation, Version)>) -> Vec<(Option<String>, Version)> {
    let mut differing = Vec::new();
    while !once.is_empty() {
        let (one, at) = once.remove(0);
        match once.iter().position(|(other, release)| *release != at && are_twins(scenario, one, other)) {
            Some(twin) => drop(once.remove(twin)),
            None => differing.push((Some(one.id.clone()), at)),
        }
    }
    differing
}

fn are_twins(scenario: &Scenario, one: &Expectation, other: &Expectation) -> bool {
    let (Some((first, asked)), Some((second, likewise))) = (place(&one.id), place(&other.id)) else { return false };
    let between = |step: &&Step| (first.min(second) + 1..=first.max(second)).contains(&step.index);
    asked == likewise
        && one.level == other.level
        && !scenario.steps.iter().filter(between).any(|step| step.verb.writes())
        && match (asserted(scenario, &one.id), asserted(scenario, &other.id)) {
            (Some(asserted), Some(likewise)) => asserted.is_alike(&likewise),
            _ => false,
        }
}

/// The index of the step that an expectation belongs to, and what it is there.
fn place(id: &str) -> Option<(usize, &str)> {
    let (index, rest) = id.strip_prefix("steps[")?.split_once(']')?;
    Some((index.parse().ok()?, rest))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use rstest::rstest;

    use super::super::differences;
    use crate::scenario::{Vocabulary, parse};

    const TWINS: &str = r#"
apiVersion: gateproof.dev/v1alpha1
kind: Scenario
metadata: {name: twins}
spec:
  summary: A condition is asked at both releases, and has more reasons at one.
  features: [Gateway]
  gateways: {gw: http}
  steps:
    - apply:
        - {apiVersion: gateway.networking.k8s.io/v1, kind: HTTPRoute, metadata: {name: own}, spec: {parentRefs: [{name: gw}]}}
    - settle: {HTTPRoute/own: {Accepted: "True/Accepted", ResolvedRefs: "False/BackendNotFound"}}
      until: "1.7"
      proves: [IMPL-28]
BETWEEN    - settle: {HTTPRoute/own: {Accepted: "True/Accepted", ResolvedRefs: "STATUS/BackendNotFound|RefNotPermitted"}}
      since: "1.7"
      proves: [IMPL-28]
"#;

    const WRITES: &str = "    - patch: {target: HTTPRoute/own, merge: {spec: {hostnames: [example.test]}}}\n";
    const READS: &str = "    - settle: {HTTPRoute/own: {Accepted: \"True\"}}\n      proves: [IMPL-28]\n";

    #[rstest]
    #[case::other_reasons("", "False", &["reason BackendNotFound", "reason BackendNotFound or RefNotPermitted"])]
    #[case::read_between(READS, "False", &["reason BackendNotFound", "reason BackendNotFound or RefNotPermitted"])]
    #[case::other_status("", "True", &["reason BackendNotFound", "reason BackendNotFound or RefNotPermitted", "status False", "status True"])]
    fn what_both_releases_ask_is_no_difference(#[case] between: &str, #[case] status: &str, #[case] expected: &[&str]) {
        assert_eq!(said(between, status), expected);
    }

    #[test]
    fn after_a_write_it_is_another_question() {
        let said = said(WRITES, "False");
        let accepted = said.iter().filter(|one| ["status True", "reason Accepted"].contains(&one.as_str())).count();
        assert_eq!(accepted, 4, "{said:?}");
    }

    /// The last part of each name that differs, with the values.
    fn said(between: &str, status: &str) -> Vec<String> {
        let text = TWINS.replace("BETWEEN", between).replace("STATUS", status);
        let all = parse("twins.yaml", &text, &Vocabulary::builtin()).unwrap();
        let differing = differences(&all, "1.6".parse().unwrap(), "1.7".parse().unwrap());
        let mut said: Vec<String> = differing
            .into_iter()
            .map(|one| {
                let id = one.expectation.unwrap();
                format!("{} {}", id.rsplit_once('.').unwrap().1, one.asks.unwrap_or_default())
            })
            .collect();
        said.sort();
        said
    }
}
