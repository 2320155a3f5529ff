#![allow(clippy::unwrap_used)]
use rstest::rstest;

use super::super::parse;
use crate::log::Bindings;
use crate::scenario::bind::{bind, made, needs};
use crate::scenario::{Verb, Vocabulary};

const SAMPLE: &str = "\
apiVersion: gateproof.dev/v1alpha1
kind: Scenario
metadata: {name: sample}
spec:
  summary: A sentence.
  features: []
  gateways: {gw: http}
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

/// By names of its own, wherever it lives.
#[rstest]
#[case::placeholder("apps/v1", "Deployment", "proxy-${token}", "Deployment/proxy-${token}", "proxy-r-1")]
#[case::class("apps/v1", "Deployment", "${class}-proxy", "Deployment/${class}-proxy", "class-proxy")]
#[case::of_the_cluster("v1", "Node", "node-${ns}", "Node/node-${ns}", "node-gp-r-1-ns")]
#[case::by_alias("v1", "Node", "${name:node}", "Node/node", "gp-r-1-node")]
#[case::beside_an_alias("v1", "Node", "${name:node}-b", "Node/${name:node}-b", "gp-r-1-node-b")]
fn it_may_be_called_by_what_the_run_is_given(
    #[case] version: &str,
    #[case] kind: &str,
    #[case] name: &str,
    #[case] subject: &str,
    #[case] bound: &str,
) {
    let text = SAMPLE
        .replace(
            "apiVersion: apps/v1, kind: Deployment, name: proxy}",
            &format!("apiVersion: {version}, kind: {kind}, name: \"{name}\"}}"),
        )
        .replace("Deployment/proxy", &format!("\"{subject}\""));
    let scenario = parse("a.yaml", &text, &Vocabulary::builtin()).unwrap().remove(0);
    let names = needs(&scenario).names;
    let bindings = Bindings {
        token: "r-1".to_owned(),
        namespaces: [("ns".to_owned(), "gp-r-1-ns".to_owned())].into_iter().collect(),
        names: names.into_iter().map(|alias| (alias.clone(), format!("gp-r-1-{alias}"))).collect(),
        gateway_class: Some("class".to_owned()),
        ..Bindings::default()
    };
    let whole = bind(&scenario, &bindings).unwrap();
    assert_eq!(whole.made, made(&scenario, &bindings).unwrap());
    assert_eq!(whole.made[0].object.name, bound);
    let Verb::Settle(settle) = &whole.steps[0].verb else { panic!("{:?}", whole.steps) };
    assert!(whole.is_made(&settle.subjects[0].subject), "{settle:?}");
}

#[rstest]
#[case::of_a_gateway(
    "name: proxy}",
    "name: \"${gw.name}\"}",
    "`${gw.name}` in the name of what a target makes is not known"
)]
#[case::port("name: proxy}", "name: \"proxy-${port:http}\"}", "`${port:http}` in the name")]
#[case::unknown_placeholder("name: proxy}", "name: \"proxy-${tokn}\"}", "unknown placeholder `${tokn}`")]
#[case::no_namespace("apps/v1, kind: Deployment", "v1, kind: Namespace", "cannot ask after one that a target makes")]
#[case::somebody_elses("apps/v1, kind: Deployment", "v1, kind: Node", "a Node is in no namespace, and `proxy` may be")]
#[case::anybodys(
    "kind: Deployment, name: proxy}",
    "kind: Node, name: \"${class}\"}",
    "`${class}` may be somebody else's"
)]
#[case::in_none(
    "kind: Deployment, name: proxy}",
    "kind: Node, name: \"${token}\", namespace: other}",
    "a Node is in no namespace"
)]
#[case::unknown_namespace("name: proxy}", "name: proxy, namespace: others}", "unknown namespace `others`")]
#[case::twice("name: proxy}", "name: proxy}, {apiVersion: apps/v1, kind: Deployment, name: proxy}", "is there twice")]
#[case::deleted("  steps:", "  steps:\n    - delete: [Deployment/proxy]", "what a run did not create is never deleted")]
#[case::changed(
    "  steps:",
    "  steps:\n    - patch: {target: Deployment/proxy, merge: {spec: {replicas: 0}}}",
    "what a run did not create is never changed"
)]
#[case::unknown_kind(
    "apps/v1, kind: Deployment",
    "gateway.networking.k8s.io/v1, kind: HTTPRout",
    "the dialect `gateway-api` has no kind `HTTPRout` of the group `gateway.networking.k8s.io`"
)]
#[case::of_another_dialect(
    "apps/v1, kind: Deployment",
    "kuadrant.io/v1, kind: AuthPolicy",
    "this is an object of the dialect `kuadrant`, and the scenario is one of `gateway-api`"
)]
#[case::real(
    "  steps:",
    "  steps:\n    - apply: [{apiVersion: compute.azure.com/v1, kind: VirtualMachine, metadata: {name: vm}}]",
    "an operator may make something real of an object of `compute.azure.com`, as of those of the dialect `aso`"
)]
#[case::applied(
    "  steps:",
    "  steps:\n    - apply: [{apiVersion: apps/v1, kind: Deployment, metadata: {name: proxy}}]",
    "`Deployment/proxy` stands in `made` as what the target makes, and this step applies it"
)]
#[case::unknown_field("name: proxy}", "name: proxy, labels: {}}", "unknown field of a Made `labels`")]
fn what_a_target_cannot_make_is_told(#[case] from: &str, #[case] to: &str, #[case] told: &str) {
    assert!(SAMPLE.contains(from));
    let problems = parse("a.yaml", &SAMPLE.replacen(from, to, 1), &Vocabulary::builtin()).unwrap_err();
    let said: Vec<_> = problems.iter().map(|problem| problem.message.as_str()).collect();
    assert!(said.iter().any(|message| message.contains(told)), "{said:?}");
}
