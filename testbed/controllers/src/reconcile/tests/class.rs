use rstest::rstest;
use serde_json::json;

use super::{World, conditions, message, update};
use crate::{
    settings::{EXPERIMENTAL_FEATURES, FEATURES_SINCE, SUPPORTED_FEATURES},
    snapshot::Kind,
    status::{DesiredStatus, merge},
};

#[rstest]
#[case::known("annotations: {gateway.networking.k8s.io/bundle-version: v1.7.0}", "True/SupportedVersion")]
#[case::older("annotations: {gateway.networking.k8s.io/bundle-version: v1.0.0}", "True/SupportedVersion")]
#[case::candidate("annotations: {gateway.networking.k8s.io/bundle-version: v1.7.0-rc.1}", "True/SupportedVersion")]
#[case::newer("annotations: {gateway.networking.k8s.io/bundle-version: v1.99.0}", "False/UnsupportedVersion")]
#[case::garbled("annotations: {gateway.networking.k8s.io/bundle-version: '1.6'}", "False/UnsupportedVersion")]
#[case::absent("labels: {}", "False/UnsupportedVersion")]
fn supported_version_follows_the_annotation_of_every_crd(#[case] metadata: &str, #[case] expected: &str) {
    let mut world = World::with(&format!(
        "- {{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, \
         metadata: {{name: gateways.gateway.networking.k8s.io, {metadata}}}, \
         spec: {{group: gateway.networking.k8s.io, names: {{kind: Gateway, plural: gateways}}}}}}"
    ));
    let outcome = world.settle();
    let found = conditions(&outcome, Kind::GatewayClass, "ours");
    assert_eq!(found, [format!("Accepted=True/Accepted SupportedVersion={expected}")]);
}

#[test]
fn parameters_are_refused_and_gateways_of_the_class_are_left_alone() {
    let mut world = World::with(
        "- {apiVersion: gateway.networking.k8s.io/v1, kind: GatewayClass, metadata: {name: ours, generation: 2}, spec: \
         {controllerName: gateproof.dev/reference, parametersRef: {group: x.dev, kind: Settings, name: big}}}",
    );
    world.http_route("route", "rules: [{backendRefs: [{name: echo, port: 8080}]}]");
    let outcome = world.settle();
    let found = conditions(&outcome, Kind::GatewayClass, "ours");
    assert_eq!(found, ["Accepted=False/InvalidParameters SupportedVersion=True/SupportedVersion"]);
    assert!(message(&outcome, Kind::GatewayClass, "ours", "Accepted").contains("Settings big"));
    assert_eq!(update(&outcome, Kind::Gateway, "gw"), None);
    assert_eq!(update(&outcome, Kind::HttpRoute, "route"), None);
    assert!(outcome.config.listeners.is_empty());
}

#[test]
fn classes_of_other_controllers_are_left_alone() {
    let mut world = World::with(
        "- {apiVersion: gateway.networking.k8s.io/v1, kind: GatewayClass, metadata: {name: theirs}, spec: \
         {controllerName: example.com/other}}",
    );
    assert_eq!(update(&world.settle(), Kind::GatewayClass, "theirs"), None);
}

/// One CRD of an older release is enough, as that of HTTPRoute is here: its fields are those of that release.
#[rstest]
#[case("httproutes", "standard", true)]
#[case("httproutes", "experimental", true)]
#[case("gateways", "standard", false)]
fn features_are_sorted_and_those_of_the_release(#[case] renewed: &str, #[case] channel: &str, #[case] all: bool) {
    let mut world = World::with(&format!(
        "- {{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {{name: \
         {renewed}.gateway.networking.k8s.io, annotations: {{gateway.networking.k8s.io/bundle-version: v1.7.0, \
         gateway.networking.k8s.io/channel: {channel}}}}}, \
         spec: {{group: gateway.networking.k8s.io, names: {{kind: Any, plural: {renewed}}}}}}}"
    ));
    let outcome = world.settle();
    let status = &update(&outcome, Kind::GatewayClass, "ours").unwrap().status;
    let DesiredStatus::GatewayClass { supported_features, .. } = status else { panic!("{status:?}") };
    let newer = FEATURES_SINCE.1.iter().filter(|_| all);
    let further = EXPERIMENTAL_FEATURES.iter().filter(|_| channel == "experimental");
    let mut expected: Vec<_> = SUPPORTED_FEATURES.iter().chain(newer).chain(further).copied().collect();
    expected.sort_unstable();
    assert_eq!(supported_features, &expected);
    assert!(expected.is_sorted_by(|one, other| one < other));
}

/// Before v1.2 a feature was a string, at v1.0 one of a list: an API server of those releases takes nothing else.
#[rstest]
#[case("type: string", json!("BackendTLSPolicy"))]
#[case("type: string, enum: [Gateway, Mesh]", json!("Gateway"))]
#[case("type: object", json!({"name": "BackendTLSPolicy"}))]
fn features_have_the_form_of_the_release(#[case] items: &str, #[case] first: serde_json::Value) {
    let mut world = World::with(&format!(
        "- {{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, \
         metadata: {{name: gatewayclasses.gateway.networking.k8s.io}}, spec: {{group: gateway.networking.k8s.io, \
         names: {{kind: GatewayClass, plural: gatewayclasses}}, versions: [{{schema: {{openAPIV3Schema: {{properties: \
         {{status: {{properties: {{supportedFeatures: {{items: {{{items}}}}}}}}}}}}}}}}}]}}}}"
    ));
    let outcome = world.settle();
    let merged = merge(&json!({}), update(&outcome, Kind::GatewayClass, "ours").unwrap(), "now");
    assert_eq!(merged["supportedFeatures"][0], first);
}

/// A definition without schemas says nothing of its fields; one with schemas has the field in one of its versions or lacks it.
#[rstest]
#[case::nothing_known("[]", true)]
#[case::there(
    "[{schema: {openAPIV3Schema: {properties: {spec: {properties: {rules: {items: {properties: {timeouts: {}}}}}}}}}}]",
    true
)]
#[case::in_one_version(
    "[{schema: {openAPIV3Schema: {properties: {spec: {}}}}}, {schema: {openAPIV3Schema: {properties: {spec: {properties: \
     {rules: {items: {properties: {timeouts: {}}}}}}}}}}]",
    true
)]
#[case::elsewhere(
    "[{schema: {openAPIV3Schema: {properties: {spec: {properties: {timeouts: {}, rules: {items: {}}}}}}}}]",
    false
)]
fn no_feature_is_claimed_without_its_field(#[case] versions: &str, #[case] expected: bool) {
    let mut world = World::with(&format!(
        "- {{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {{name: \
         httproutes.gateway.networking.k8s.io}}, spec: {{group: gateway.networking.k8s.io, names: {{kind: HTTPRoute, \
         plural: httproutes}}, versions: {versions}}}}}"
    ));
    let outcome = world.settle();
    let status = &update(&outcome, Kind::GatewayClass, "ours").unwrap().status;
    let DesiredStatus::GatewayClass { supported_features, .. } = status else { panic!("{status:?}") };
    let is_claimed = |name: &&str| supported_features.iter().any(|feature| feature == name);
    let of_timeouts = ["HTTPRouteBackendTimeout", "HTTPRouteRequestTimeout"];
    assert_eq!(of_timeouts.iter().filter(|name| is_claimed(name)).count(), if expected { 2 } else { 0 });
    assert!(is_claimed(&"HTTPRoute"));
}
