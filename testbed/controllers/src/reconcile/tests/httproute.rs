use rstest::rstest;

use super::{World, conditions, lanes, message};
use crate::snapshot::Kind;

const TO: &str = "backendRefs: [{name: echo, port: 8080}]";
const OK: &str = "Accepted=True/Accepted ResolvedRefs=True/ResolvedRefs";
const REWRITE: &str = "{type: URLRewrite, urlRewrite: {hostname: b.test}}";
const REDIRECT: &str = "{type: RequestRedirect, requestRedirect: {hostname: b.test}}";

fn judge(rules: &str) -> (Vec<String>, Vec<String>, String) {
    let mut world = World::with("[]");
    world.http_route("route", &format!("rules: [{rules}]"));
    let outcome = world.settle();
    let lines = lanes(&outcome).into_iter().filter(|line| line.starts_with("  ")).collect();
    let all: Vec<String> =
        ["Accepted", "ResolvedRefs"].map(|of| message(&outcome, Kind::HttpRoute, "route", of)).into();
    (conditions(&outcome, Kind::HttpRoute, "route"), lines, all.join("\n"))
}

#[rstest]
#[case::no_matches(format!("{{{TO}}}"))]
#[case::expression(format!("{{matches: [{{path: {{type: RegularExpression, value: '/a.*'}}}}], {TO}}}"))]
#[case::headers(format!("{{matches: [{{headers: [{{name: a, value: b}}], queryParams: [{{name: c, value: d}}]}}], {TO}}}"))]
#[case::redirect_only(format!("{{filters: [{REDIRECT}]}}"))]
#[case::rewrite(format!("{{filters: [{REWRITE}], {TO}}}"))]
#[case::no_backends("{}".to_owned())]
#[case::cors(format!("{{filters: [{{type: CORS, cors: {{allowOrigins: ['*']}}}}], {TO}}}"))]
#[case::retry(format!("{{retry: {{codes: [500], attempts: 2, backoff: 100ms}}, {TO}}}"))]
#[case::timeouts(format!("{{timeouts: {{request: 1s, backendRequest: 500ms}}, {TO}}}"))]
#[case::mirror("{filters: [{type: RequestMirror, requestMirror: {backendRef: {name: echo, port: 8080}}}]}".to_owned())]
#[case::one_prefix(format!(
    "{{matches: [{{path: {{value: /a}}}}], filters: [{{type: URLRewrite, urlRewrite: {{path: {{type: ReplacePrefixMatch, \
     replacePrefixMatch: /b}}}}}}], {TO}}}"
))]
fn good_rules_are_accepted(#[case] rule: String) {
    let (conditions, lines, _) = judge(&rule);
    assert_eq!(conditions, [OK]);
    assert_eq!(lines.len(), 1);
}

#[rstest]
#[case::path(format!("{{matches: [{{path: {{type: RegularExpression, value: '('}}}}], {TO}}}"), "UnsupportedValue")]
#[case::header(format!(
    "{{matches: [{{headers: [{{type: RegularExpression, name: a, value: '['}}]}}], {TO}}}"
), "UnsupportedValue")]
#[case::query(format!(
    "{{matches: [{{queryParams: [{{type: RegularExpression, name: a, value: '*'}}]}}], {TO}}}"
), "UnsupportedValue")]
#[case::match_type(format!("{{matches: [{{path: {{type: Fuzzy, value: /a}}}}], {TO}}}"), "UnsupportedValue")]
#[case::filter_type(format!("{{filters: [{{type: Unheard}}], {TO}}}"), "UnsupportedValue")]
#[case::retry(format!("{{retry: {{backoff: soon}}, {TO}}}"), "UnsupportedValue")]
#[case::session(format!("{{sessionPersistence: {{}}, {TO}}}"), "UnsupportedValue")]
#[case::replace_on_exact(format!(
    "{{matches: [{{path: {{type: Exact, value: /a}}}}], filters: [{{type: URLRewrite, urlRewrite: {{path: {{type: \
     ReplacePrefixMatch, replacePrefixMatch: /b}}}}}}], {TO}}}"
), "UnsupportedValue")]
#[case::filters_of_one_list(format!("{{filters: [{REWRITE}, {REDIRECT}]}}"), "IncompatibleFilters")]
#[case::filters_of_two_levels(
    format!("{{filters: [{REWRITE}], backendRefs: [{{name: echo, port: 8080, filters: [{REDIRECT}]}}]}}"),
    "IncompatibleFilters"
)]
fn bad_rules_alone_refuse_the_route_and_beside_a_good_one_are_dropped(#[case] rule: String, #[case] reason: &str) {
    let (conditions, lines, _) = judge(&rule);
    assert_eq!(conditions, [format!("Accepted=False/{reason} ResolvedRefs=True/ResolvedRefs")]);
    assert_eq!(lines.len(), 0);

    let mut world = World::with("[]");
    world.http_route("route", &format!("rules: [{{{TO}}}, {rule}]"));
    let outcome = world.settle();
    assert_eq!(
        super::conditions(&outcome, Kind::HttpRoute, "route"),
        [format!("{OK} PartiallyInvalid=True/UnsupportedValue")]
    );
    let said = message(&outcome, Kind::HttpRoute, "route", "PartiallyInvalid");
    assert!(said.starts_with("Dropped Rule 1 ("), "{said}");
    let lines: Vec<String> = lanes(&outcome).into_iter().filter(|line| line.starts_with("  ")).collect();
    assert_eq!(lines, ["  route.0 [] -> 1x[10.0.0.1:3000]"]);
}

#[rstest]
#[case::missing("{name: nope, port: 8080}", "BackendNotFound", "demo/nope:8080")]
#[case::missing_port("{name: echo, port: 9}", "BackendNotFound", "demo/echo:9")]
#[case::kind("{kind: ConfigMap, name: echo, port: 8080}", "InvalidKind", "ConfigMap demo/echo")]
#[case::group("{group: x.dev, name: echo, port: 8080}", "InvalidKind", "x.dev")]
#[case::namespace("{namespace: other, name: echo, port: 8080}", "RefNotPermitted", "other/echo:8080")]
#[case::extension(
    "{name: echo, port: 8080, filters: [{type: ExtensionRef, extensionRef: {group: x.dev, kind: Odd, name: o}}]}",
    "InvalidKind",
    "Odd o"
)]
fn a_bad_backend_gets_its_share_of_500s_and_leaves_the_route_accepted(
    #[case] backend: &str,
    #[case] reason: &str,
    #[case] named: &str,
) {
    let (conditions, lines, said) =
        judge(&format!("{{backendRefs: [{{name: echo, port: 8080, weight: 3}}, {backend}]}}"));
    assert_eq!(conditions, [format!("Accepted=True/Accepted ResolvedRefs=False/{reason}")]);
    assert_eq!(lines, ["  route.0 [] -> 3x[10.0.0.1:3000] 1x500"]);
    assert!(said.contains(named), "{said}");
}

#[test]
fn an_unsupported_extension_of_a_rule_answers_500_in_place_of_its_filters_and_backends() {
    let extension = "{type: ExtensionRef, extensionRef: {group: x.dev, kind: Odd, name: o}}";
    let (conditions, lines, said) = judge(&format!("{{filters: [{extension}], {TO}}}"));
    assert_eq!(conditions, ["Accepted=True/Accepted ResolvedRefs=False/InvalidKind"]);
    assert_eq!(lines, ["  route.0 [] -> 1x500"]);
    assert!(said.contains("Odd o"), "{said}");
}

#[test]
fn a_mirror_that_cannot_be_followed_costs_the_copies_only() {
    let mirror = "{type: RequestMirror, requestMirror: {backendRef: {name: nope, port: 1}}}";
    let (conditions, lines, said) = judge(&format!("{{filters: [{mirror}], {TO}}}"));
    assert_eq!(conditions, ["Accepted=True/Accepted ResolvedRefs=False/BackendNotFound"]);
    assert_eq!(lines, ["  route.0 [] -> 1x[10.0.0.1:3000]"]);
    assert!(said.contains("demo/nope:1"), "{said}");
}

#[test]
fn every_bad_reference_is_named() {
    let (conditions, _, said) = judge("{backendRefs: [{name: one, port: 1}, {name: two, port: 2}]}");
    assert_eq!(conditions, ["Accepted=True/Accepted ResolvedRefs=False/BackendNotFound"]);
    assert!(said.contains("demo/one:1") && said.contains("demo/two:2"), "{said}");
}

#[rstest]
#[case::plain("{port: 8080}", "1x[10.0.0.1:3000]", OK)]
#[case::websocket("{port: 8080, appProtocol: kubernetes.io/ws}", "1x[10.0.0.1:3000]", OK)]
#[case::h2c("{port: 8080, appProtocol: kubernetes.io/h2c}", "1xh2c[10.0.0.1:3000]", OK)]
#[case::tls(
    "{port: 8080, appProtocol: kubernetes.io/wss}",
    "1x500",
    "Accepted=True/Accepted ResolvedRefs=False/UnsupportedProtocol"
)]
#[case::udp("{port: 8080, protocol: UDP}", "1x500", "Accepted=True/Accepted ResolvedRefs=False/UnsupportedProtocol")]
#[case::udp_before_tcp(
    "{port: 8080, name: datagrams, protocol: UDP}, {port: 8080, protocol: TCP}",
    "1x[10.0.0.1:3000]",
    OK
)]
#[case::other_name("{port: 8080, name: web}", "1x503", OK)]
fn the_service_port_says_what_is_spoken(#[case] port: &str, #[case] target: &str, #[case] expected: &str) {
    let mut world = World::with(&format!(
        "- {{apiVersion: v1, kind: Service, metadata: {{namespace: demo, name: echo}}, spec: {{ports: [{port}]}}}}"
    ));
    world.http_route("route", &format!("rules: [{{{TO}}}]"));
    let outcome = world.settle();
    assert_eq!(conditions(&outcome, Kind::HttpRoute, "route"), [expected]);
    assert_eq!(lanes(&outcome)[1], format!("  route.0 [] -> {target}"));
}

/// Up to v1.1 there was one code for every backend that cannot be had.
#[rstest]
#[case("v1.0.0", "1x500")]
#[case("v1.1.1", "1x500")]
#[case("v1.2.0", "1x503")]
#[case("v1.7.0", "1x503")]
fn a_service_without_endpoints_is_unavailable_since_v1_2(#[case] release: &str, #[case] target: &str) {
    let mut world = World::with(&format!(
        "- {{apiVersion: v1, kind: Service, metadata: {{namespace: demo, name: idle}}, spec: {{ports: [{{port: 80}}]}}}}
- {{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {{name: \
         httproutes.gateway.networking.k8s.io, annotations: {{gateway.networking.k8s.io/bundle-version: {release}}}}}, \
         spec: {{group: gateway.networking.k8s.io, names: {{kind: HTTPRoute, plural: httproutes}}}}}}"
    ));
    world.http_route("route", "rules: [{backendRefs: [{name: idle, port: 80}]}]");
    let outcome = world.settle();
    assert_eq!(conditions(&outcome, Kind::HttpRoute, "route"), [OK]);
    assert_eq!(lanes(&outcome)[1], format!("  route.0 [] -> {target}"));
}

#[test]
fn endpoints_are_the_ready_ones_of_all_slices_of_the_family() {
    let mut world = World::with(
        r#"
- {apiVersion: v1, kind: Service, metadata: {namespace: demo, name: echo}, spec: {ipFamilies: [IPv4], ports: [{name: web, port: 8080}]}}
- apiVersion: discovery.k8s.io/v1
  kind: EndpointSlice
  metadata: {namespace: demo, name: echo-1, labels: {kubernetes.io/service-name: echo}}
  addressType: IPv4
  ports: [{name: web, port: 3000}, {name: admin, port: 9000}]
  endpoints: [{addresses: [10.0.0.2]}, {addresses: [10.0.0.3], conditions: {ready: false}}]
- apiVersion: discovery.k8s.io/v1
  kind: EndpointSlice
  metadata: {namespace: demo, name: echo-2, labels: {kubernetes.io/service-name: echo}}
  addressType: IPv4
  ports: [{name: web, port: 3001}]
  endpoints: [{addresses: [10.0.0.1], conditions: {ready: true}}]
- apiVersion: discovery.k8s.io/v1
  kind: EndpointSlice
  metadata: {namespace: demo, name: echo-6, labels: {kubernetes.io/service-name: echo}}
  addressType: IPv6
  ports: [{name: web, port: 3000}]
  endpoints: [{addresses: ["fd00::1"]}]
- apiVersion: discovery.k8s.io/v1
  kind: EndpointSlice
  metadata: {namespace: other, name: echo-1, labels: {kubernetes.io/service-name: echo}}
  addressType: IPv4
  ports: [{name: web, port: 3000}]
  endpoints: [{addresses: [10.9.9.9]}]
"#,
    );
    world.http_route("route", &format!("rules: [{{{TO}}}]"));
    assert_eq!(lanes(&world.settle())[1], "  route.0 [] -> 1x[10.0.0.1:3001, 10.0.0.2:3000]");
}

#[test]
fn the_oldest_route_comes_first_then_the_name_decides() {
    let mut world = World::with("[]");
    for (name, created) in [("b", 2), ("a", 2), ("c", 1)] {
        world.add(&format!(
            "- {{apiVersion: gateway.networking.k8s.io/v1, kind: HTTPRoute, metadata: {{namespace: demo, name: {name}, \
             creationTimestamp: '2026-01-01T00:00:0{created}Z'}}, spec: {{parentRefs: [{{name: gw}}], rules: [{{}}, {{}}]}}}}"
        ));
    }
    let order: Vec<String> =
        lanes(&world.settle())[1..].iter().map(|line| line.trim().split(' ').next().unwrap().to_owned()).collect();
    assert_eq!(order, ["c.0", "c.1", "a.0", "a.1", "b.0", "b.1"]);
}
