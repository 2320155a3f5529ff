#![allow(clippy::unwrap_used)]
use rstest::rstest;

use super::super::parse;
use crate::scenario::Vocabulary;

const SAMPLE: &str = "\
apiVersion: gateproof.dev/v1alpha1
kind: Scenario
metadata: {name: sample}
spec:
  summary: A sentence.
  features: []
  namespaces: {other: {}}
  made: [{apiVersion: apps/v1, kind: Deployment, name: proxy}]
  steps:
    - settle: {Deployment/proxy: {fields: [{at: /spec/replicas, equals: 1}]}}
";

#[test]
fn what_a_target_makes_is_known_from_the_start() {
    let scenario = parse("a.yaml", SAMPLE, &Vocabulary::builtin()).unwrap().remove(0);
    let [made] = &scenario.made[..] else { panic!("{:?}", scenario.made) };
    assert_eq!((made.group.as_str(), made.object.to_string().as_str()), ("apps", "Deployment/proxy"));
    assert!(scenario.is_made(&made.object));
}

#[rstest]
#[case::placeholder("name: proxy}", "name: \"${token}\"}", "has no placeholders")]
#[case::no_namespace("apps/v1, kind: Deployment", "v1, kind: Namespace", "a Namespace is in no namespace")]
#[case::of_the_cluster("apps/v1, kind: Deployment", "v1, kind: Node", "a Node is in no namespace")]
#[case::unknown_namespace("name: proxy}", "name: proxy, namespace: others}", "unknown namespace `others`")]
#[case::twice("name: proxy}", "name: proxy}, {apiVersion: apps/v1, kind: Deployment, name: proxy}", "is there twice")]
#[case::deleted("  steps:", "  steps:\n    - delete: [Deployment/proxy]", "what a run did not create is never deleted")]
#[case::changed(
    "  steps:",
    "  steps:\n    - patch: {target: Deployment/proxy, merge: {spec: {replicas: 0}}}",
    "what a run did not create is never changed"
)]
#[case::unknown_field("name: proxy}", "name: proxy, labels: {}}", "unknown field of a Made `labels`")]
fn what_a_target_cannot_make_is_told(#[case] from: &str, #[case] to: &str, #[case] told: &str) {
    assert!(SAMPLE.contains(from));
    let problems = parse("a.yaml", &SAMPLE.replacen(from, to, 1), &Vocabulary::builtin()).unwrap_err();
    let said: Vec<_> = problems.iter().map(|problem| problem.message.as_str()).collect();
    assert!(said.iter().any(|message| message.contains(told)), "{said:?}");
}
