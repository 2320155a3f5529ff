//! What is a scenario's own, and what it leaves alone.
#![allow(clippy::unwrap_used)]

use super::*;

/// What a run did not create it neither deletes nor, unless the scenario says so, changes.
#[rstest]
#[case::deletes_a_definition(
    "delete: [CustomResourceDefinition/tcproutes.gateway.networking.k8s.io]",
    "is never deleted"
)]
#[case::deletes_the_class("delete: [\"GatewayClass/${class}\"]", "is never deleted")]
#[case::deletes_what_is_shared("delete: [\"${gw}\"]", "none of them may delete it")]
#[case::patches_the_class("patch: {target: \"GatewayClass/${class}\", merge: {}}", "is not the scenario's own")]
#[case::patches_a_definition(
    "patch: {target: CustomResourceDefinition/gateways.gateway.networking.k8s.io, merge: {}}",
    "is not the scenario's own"
)]
#[case::adopts_a_role(
    "apply: [{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: precious}}]",
    "must be unique to run and scenario"
)]
#[case::adopts_a_class(
    "apply: [{apiVersion: gateway.networking.k8s.io/v1, kind: GatewayClass, metadata: {name: \"${class}\"}, spec: {controllerName: a.b/c}}]",
    "must be unique to run and scenario"
)]
#[case::writes_elsewhere(
    "apply: [{apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: kube-system}}]",
    "would be shared with others"
)]
fn what_is_not_the_scenarios_own_is_left_alone(#[case] text: &str, #[case] message: &str) {
    let found = problems(&with(text));
    assert!(matches!(&found[..], [(15, said, Some(_))] if said.contains(message)), "{found:?}");
    // No declaration makes a deletion legal; a patch is, if the scenario says what it is.
    let declared = with(text).replacen("  gateways:", "  isolation: cluster\n  gateways:", 1);
    assert_eq!(problems(&declared).is_empty(), text.starts_with("patch"), "{text}");
}

const DEFINES: &str = "apply: [{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: tcproutes.gateway.networking.k8s.io}}]";

/// A definition that a scenario creates is its own, and it may delete it.
#[test]
fn a_definition_may_be_created_and_deleted_again() {
    let alone = |text: String| text.replacen("  gateways:", "  isolation: cluster\n  gateways:", 1);
    let delete = "    - delete: [CustomResourceDefinition/tcproutes.gateway.networking.k8s.io]\n";
    let both = format!("{}{delete}", with(DEFINES));
    assert_eq!(problems(&alone(both.clone())), []);
    let found = problems(&both);
    assert!(found[0].1.contains("changes what the whole cluster serves"), "{found:?}");
    let foreign = DEFINES.replace("gateway.networking.k8s.io", "example.com");
    let found = problems(&alone(with(&foreign)));
    assert!(matches!(&found[..], [(_, said, _)] if said.contains("is no definition of Gateway API")), "{found:?}");
    // One with a content of its own would be a copy.
    let copied = DEFINES.replace("}}]", "}, spec: {}}]");
    let found = problems(&alone(with(&copied)));
    assert!(matches!(&found[..], [(_, said, _)] if said.contains("must be unique")), "{found:?}");
    let name_of_another = delete.replace("tcproutes", "udproutes");
    let found = problems(&alone(format!("{}{name_of_another}", with(DEFINES))));
    assert!(matches!(&found[..], [(_, said, _)] if said.contains("is never deleted")), "{found:?}");
}
