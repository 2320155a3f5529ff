#![allow(clippy::unwrap_used)]

use rstest::rstest;

use super::*;
use crate::scenario::{Vocabulary, load, parse};

const ROUTE: &str = "{apiVersion: gateway.networking.k8s.io/v1, kind: HTTPRoute, metadata: {name: route}, spec: ";
const OWN: &str = "{apiVersion: gateway.networking.k8s.io/v1, kind: Gateway, metadata: {name: own}, spec: {gatewayClassName: \"${class}\", \
                   listeners: [{name: open, port: 80, protocol: HTTP}, {name: named, port: 80, protocol: HTTP, hostname: \"${host}\"}, \
                   {name: tcp, port: 90, protocol: TCP}]}}";

fn scenario(steps: &[String]) -> Scenario {
    let head = "apiVersion: gateproof.dev/v1alpha1\nkind: Scenario\nmetadata: {name: a-scenario}\nspec:\n  summary: Something holds.\n  \
                features: [Gateway, HTTPRoute]\n  gateways: {gw: http}\n  steps:\n";
    let steps: String = steps.iter().map(|step| format!("    - {step}\n")).collect();
    parse("a.yaml", &format!("{head}{steps}"), &Vocabulary::builtin()).unwrap().remove(0)
}

#[rstest]
#[case::hosts("parentRefs: [{name: own}], hostnames: [\"${host}\"]", false)]
#[case::none("parentRefs: [{name: own}]", true)]
#[case::empty("parentRefs: [{name: own}], hostnames: []", true)]
#[case::named("parentRefs: [{name: own, sectionName: named}]", false)]
#[case::open("parentRefs: [{name: own, sectionName: open}]", true)]
#[case::streams("parentRefs: [{name: own, sectionName: tcp}]", false)]
#[case::pool("parentRefs: [\"${gw}\"]", true)]
#[case::pool_with_hosts("parentRefs: [\"${gw}\"], hostnames: [\"${host}\"]", false)]
#[case::one_of_two("parentRefs: [{name: own, sectionName: named}, {name: own, sectionName: open}]", true)]
fn a_route_takes_any_host_if_neither_it_nor_its_listener_names_one(#[case] spec: &str, #[case] takes: bool) {
    let scenario = scenario(&[format!("apply: [{OWN}, {ROUTE}{{{spec}}}}}]")]);
    assert_eq!(takes_any_host(&scenario), takes);
}

#[rstest]
#[case::hosts_merged("{target: HTTPRoute/route, merge: {spec: {hostnames: null}}}", true)]
#[case::hosts_removed("{target: HTTPRoute/route, json: [{op: remove, path: /spec/hostnames}]}", true)]
#[case::hosts_replaced(
    "{target: HTTPRoute/route, json: [{op: replace, path: /spec/hostnames, value: [\"${host}\"]}]}",
    false
)]
#[case::something_else("{target: HTTPRoute/route, merge: {spec: {rules: []}}}", false)]
#[case::listener("{target: Gateway/own, merge: {spec: {listeners: [{name: named, port: 80, protocol: HTTP}]}}}", true)]
#[case::listener_added(
    "{target: Gateway/own, json: [{op: add, path: /spec/listeners/-, value: {name: named, port: 81, protocol: HTTP}}]}",
    true
)]
fn a_patch_may_free_of_hosts(#[case] patch: &str, #[case] takes: bool) {
    let route = if patch.contains("Gateway") { "" } else { ", hostnames: [\"${host}\"]" };
    let objects = format!("apply: [{OWN}, {ROUTE}{{parentRefs: [{{name: own, sectionName: named}}]{route}}}}}]");
    assert_eq!(takes_any_host(&scenario(&[objects, format!("patch: {patch}")])), takes);
}

#[test]
fn most_scenarios_name_their_hosts() {
    let all = load::builtin_once();
    let (any, named): (Vec<&Scenario>, Vec<&Scenario>) = all.iter().partition(|scenario| takes_any_host(scenario));
    let has = |name: &str| any.iter().any(|scenario| scenario.name == name);
    assert!(has("httproute-any-host-beside-named-one"));
    assert!(!has("gateway-listener-names-that-read-alike") && !has("httproute-simple"));
    assert!(any.len() * 10 < named.len(), "{} scenarios run alone where Gateways are merged", any.len());
}
