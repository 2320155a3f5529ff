use gateproof_proxy::config::{PathMatch, ValueMatch};
use rstest::rstest;

use super::{World, conditions, lanes, listeners};
use crate::snapshot::Kind;

const OK: &str = "Accepted=True/Accepted ResolvedRefs=True/ResolvedRefs";

fn world(spec: &str) -> World {
    let mut world = World::with("");
    world.add(&format!(
        "- {{apiVersion: gateway.networking.k8s.io/v1, kind: GRPCRoute, metadata: {{namespace: demo, name: calls, \
         generation: 1, creationTimestamp: '2026-01-01T00:00:01Z'}}, spec: {{parentRefs: [{{name: gw}}], {spec}}}}}"
    ));
    world
}

fn backend(reference: &str) -> String {
    format!("rules: [{{backendRefs: [{reference}]}}]")
}

#[rstest]
#[case::good("{name: echo, port: 8080}", OK, "1xh2c[10.0.0.1:3000]")]
#[case::missing("{name: nowhere, port: 8080}", "Accepted=True/Accepted ResolvedRefs=False/BackendNotFound", "1x503")]
#[case::kind("{kind: Odd, name: echo, port: 1}", "Accepted=True/Accepted ResolvedRefs=False/InvalidKind", "1x503")]
#[case::no_grant(
    "{name: echo, namespace: other, port: 8080}",
    "Accepted=True/Accepted ResolvedRefs=False/RefNotPermitted",
    "1x503"
)]
fn a_backend_that_does_not_resolve_is_unavailable(#[case] reference: &str, #[case] said: &str, #[case] served: &str) {
    let outcome = world(&backend(reference)).settle();
    assert_eq!(conditions(&outcome, Kind::GrpcRoute, "calls"), [said]);
    assert_eq!(lanes(&outcome), ["127.90.0.1:80 *".to_owned(), format!("  calls.0 [] -> {served}")]);
}

#[rstest]
#[case(None, OK)]
#[case(Some("kubernetes.io/h2c"), OK)]
#[case(Some("http"), "Accepted=True/Accepted ResolvedRefs=False/UnsupportedProtocol")]
#[case(Some("kubernetes.io/ws"), "Accepted=True/Accepted ResolvedRefs=False/UnsupportedProtocol")]
fn calls_need_a_port_for_http2(#[case] protocol: Option<&str>, #[case] expected: &str) {
    let mut world = world(&backend("{name: echo, port: 8080}"));
    let protocol = protocol.map(|protocol| format!(", appProtocol: {protocol}")).unwrap_or_default();
    world.add(&format!(
        "- {{apiVersion: v1, kind: Service, metadata: {{namespace: demo, name: echo}}, spec: {{ports: [{{port: 8080{protocol}}}]}}}}"
    ));
    assert_eq!(conditions(&world.settle(), Kind::GrpcRoute, "calls"), [expected]);
}

#[rstest]
#[case::none("rules: [{}]", None, None)]
#[case::both("rules: [{matches: [{method: {service: a.B, method: C}}]}]", exact("a.B"), exact("C"))]
#[case::empty_service("rules: [{matches: [{method: {service: '', method: C}}]}]", None, exact("C"))]
#[case::expression(
    "rules: [{matches: [{method: {type: RegularExpression, service: 'a[.]B'}}]}]",
    Some(ValueMatch::Regex("a[.]B".to_owned())),
    None
)]
fn matches_become_those_of_calls(
    #[case] spec: &str,
    #[case] service: Option<ValueMatch>,
    #[case] method: Option<ValueMatch>,
) {
    let outcome = world(spec).settle();
    let gateproof_proxy::config::Protocol::Http(http) = &outcome.config.listeners[0].protocol else { panic!() };
    let [rule] = http.virtual_hosts[0].routes.as_slice() else { panic!() };
    assert_eq!(rule.matches.len(), 1);
    assert_eq!(rule.matches[0].path, PathMatch::Rpc { service, method });
}

fn exact(text: &str) -> Option<ValueMatch> {
    Some(ValueMatch::Exact(text.to_owned()))
}

#[test]
fn a_route_is_counted_on_listeners_for_http() {
    let outcome = world("rules: [{backendRefs: [{name: echo, port: 8080}]}]").settle();
    assert!(listeners(&outcome)[0].starts_with("http 1 [HTTPRoute+GRPCRoute] "), "{:?}", listeners(&outcome));
}

#[test]
fn a_route_of_hosts_that_no_listener_takes_is_refused() {
    let mut world = world("hostnames: [a.test], rules: [{}]");
    world.add(
        "- {apiVersion: gateway.networking.k8s.io/v1, kind: Gateway, metadata: {namespace: demo, name: gw, uid: gw}, \
         spec: {gatewayClassName: ours, listeners: [{name: http, port: 80, protocol: HTTP, hostname: b.test}]}}",
    );
    let expected = "Accepted=False/NoMatchingListenerHostname ResolvedRefs=True/ResolvedRefs";
    assert_eq!(conditions(&world.settle(), Kind::GrpcRoute, "calls"), [expected]);
}

#[test]
fn an_expression_that_is_none_drops_its_rule() {
    let bad = "{matches: [{method: {type: RegularExpression, service: '('}}]}";
    let outcome = world(&format!("rules: [{bad}, {{backendRefs: [{{name: echo, port: 8080}}]}}]")).settle();
    let expected = format!("{OK} PartiallyInvalid=True/UnsupportedValue");
    assert_eq!(conditions(&outcome, Kind::GrpcRoute, "calls"), [expected]);
}

/// Where a host is for one kind of route, the HTTPRoute has it: it is older.
#[rstest]
#[case::same("[a.test]", "[a.test]", false)]
#[case::below_a_wildcard("['*.test']", "[a.test]", false)]
#[case::any("[]", "[a.test]", false)]
#[case::one_of_several("[a.test]", "[b.test, a.test]", false)]
#[case::other("[a.test]", "[b.test]", true)]
fn the_younger_of_two_kinds_can_be_refused(#[case] pages: &str, #[case] calls: &str, #[case] accepted: bool) {
    let mut world = world(&format!("hostnames: {calls}"));
    world.http_route("pages", &format!("hostnames: {pages}"));
    let together = conditions(&world.settle(), Kind::GrpcRoute, "calls");
    world.settings.keeps_kinds_apart = true;
    let outcome = world.settle();
    assert_eq!((together, conditions(&outcome, Kind::HttpRoute, "pages")), (vec![OK.to_owned()], vec![OK.to_owned()]));
    let said = if accepted { OK } else { "Accepted=False/NotAllowedByListeners ResolvedRefs=True/ResolvedRefs" };
    assert_eq!(conditions(&outcome, Kind::GrpcRoute, "calls"), [said]);
    assert_eq!(listeners(&outcome)[0].starts_with("http 2 "), accepted, "{:?}", listeners(&outcome));
}

#[test]
fn a_route_that_is_refused_keeps_nobody_out() {
    let mut world = world("hostnames: [a.test, b.test]");
    world.http_route("pages", "hostnames: [a.test]");
    world.add(
        "- {apiVersion: gateway.networking.k8s.io/v1, kind: HTTPRoute, metadata: {namespace: demo, name: late, generation: 1, \
         creationTimestamp: '2026-01-01T00:00:02Z'}, spec: {parentRefs: [{name: gw}], hostnames: [b.test]}}",
    );
    world.settings.keeps_kinds_apart = true;
    assert_eq!(conditions(&world.settle(), Kind::HttpRoute, "late"), [OK]);
}
