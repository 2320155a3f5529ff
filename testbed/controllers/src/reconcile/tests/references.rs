use rstest::rstest;

use super::{World, conditions, lanes};
use crate::snapshot::Kind;

const OTHER: &str = r#"
- {apiVersion: v1, kind: Service, metadata: {namespace: other, name: far}, spec: {ports: [{port: 80}]}}
- apiVersion: discovery.k8s.io/v1
  kind: EndpointSlice
  metadata: {namespace: other, name: far-1, labels: {kubernetes.io/service-name: far}}
  addressType: IPv4
  ports: [{port: 3000}]
  endpoints: [{addresses: [10.0.0.9]}]
"#;

fn grant(name: &str, namespace: &str, from: &str, to: &str) -> String {
    format!(
        "- {{apiVersion: gateway.networking.k8s.io/v1beta1, kind: ReferenceGrant, metadata: {{namespace: {namespace}, \
         name: {name}}}, spec: {{from: [{from}], to: [{to}]}}}}"
    )
}

const FROM: &str = "{group: gateway.networking.k8s.io, kind: HTTPRoute, namespace: demo}";
const TO: &str = "{group: '', kind: Service}";

#[rstest]
#[case::all("other", FROM, TO, true)]
#[case::by_name("other", FROM, "{group: '', kind: Service, name: far}", true)]
#[case::second_entries(
    "other",
    "{group: x.dev, kind: A, namespace: b}, {group: gateway.networking.k8s.io, kind: HTTPRoute, namespace: demo}",
    "{group: '', kind: Secret}, {group: '', kind: Service}",
    true
)]
#[case::wrong_place("demo", FROM, TO, false)]
#[case::from_group("other", "{group: x.dev, kind: HTTPRoute, namespace: demo}", TO, false)]
#[case::from_kind("other", "{group: gateway.networking.k8s.io, kind: TCPRoute, namespace: demo}", TO, false)]
#[case::from_namespace("other", "{group: gateway.networking.k8s.io, kind: HTTPRoute, namespace: other}", TO, false)]
#[case::to_group("other", FROM, "{group: x.dev, kind: Service}", false)]
#[case::to_kind("other", FROM, "{group: '', kind: Secret}", false)]
#[case::to_name("other", FROM, "{group: '', kind: Service, name: near}", false)]
fn a_grant_permits_exactly_what_it_says(
    #[case] namespace: &str,
    #[case] from: &str,
    #[case] to: &str,
    #[case] permitted: bool,
) {
    let mut world = World::with(OTHER);
    world.add(&grant("g", namespace, from, to));
    world.http_route("route", "rules: [{backendRefs: [{namespace: other, name: far, port: 80}]}]");
    let outcome = world.settle();
    let (expected, target) =
        if permitted { ("True/ResolvedRefs", "[10.0.0.9:3000]") } else { ("False/RefNotPermitted", "500") };
    let found = conditions(&outcome, Kind::HttpRoute, "route");
    assert_eq!(found, [format!("Accepted=True/Accepted ResolvedRefs={expected}")]);
    assert_eq!(lanes(&outcome)[1], format!("  route.0 [] -> 1x{target}"));
}

#[test]
fn halves_of_two_grants_do_not_add_up() {
    let mut world = World::with(OTHER);
    world.add(&grant("from", "other", FROM, "{group: '', kind: Secret}"));
    world.add(&grant("to", "other", "{group: gateway.networking.k8s.io, kind: TCPRoute, namespace: demo}", TO));
    world.http_route("route", "rules: [{backendRefs: [{namespace: other, name: far, port: 80}]}]");
    let found = conditions(&world.settle(), Kind::HttpRoute, "route");
    assert_eq!(found, ["Accepted=True/Accepted ResolvedRefs=False/RefNotPermitted"]);
}

#[test]
fn whether_a_forbidden_service_exists_is_not_told() {
    let mut world = World::with("[]");
    world.http_route("route", "rules: [{backendRefs: [{namespace: other, name: nope, port: 80}]}]");
    let found = conditions(&world.settle(), Kind::HttpRoute, "route");
    assert_eq!(found, ["Accepted=True/Accepted ResolvedRefs=False/RefNotPermitted"]);
}
