use rstest::rstest;

use super::{World, conditions, lanes, listeners};
use crate::snapshot::Kind;

fn world(listeners: &str) -> World {
    World::with(&format!(
        "- {{apiVersion: gateway.networking.k8s.io/v1, kind: Gateway, metadata: {{namespace: demo, name: gw, uid: gw, \
         generation: 3}}, spec: {{gatewayClassName: ours, listeners: [{listeners}]}}}}"
    ))
}

const GOOD: &str = "Accepted=True/Accepted Programmed=True/Programmed ResolvedRefs=True/ResolvedRefs";

#[rstest]
#[case::tcp("{name: a, port: 1, protocol: TCP}", "a 0 [TCPRoute]", GOOD)]
#[case::unsupported(
    "{name: a, port: 1, protocol: x.dev/odd}",
    "a 0 []",
    "Accepted=False/UnsupportedProtocol Programmed=False/Invalid ResolvedRefs=True/ResolvedRefs"
)]
#[case::udp("{name: a, port: 1, protocol: UDP}", "a 0 [UDPRoute]", GOOD)]
#[case::kinds_known(
    "{name: a, port: 1, protocol: HTTP, allowedRoutes: {kinds: [{kind: HTTPRoute}]}}",
    "a 0 [HTTPRoute]",
    GOOD
)]
#[case::kinds_some(
    "{name: a, port: 1, protocol: HTTP, allowedRoutes: {kinds: [{kind: Odd}, {kind: HTTPRoute}]}}",
    "a 0 [HTTPRoute]",
    "Accepted=True/Accepted Programmed=True/Programmed ResolvedRefs=False/InvalidRouteKinds"
)]
#[case::kinds_none(
    "{name: a, port: 1, protocol: HTTP, allowedRoutes: {kinds: [{kind: Odd}]}}",
    "a 0 []",
    "Accepted=True/Accepted Programmed=False/Invalid ResolvedRefs=False/InvalidRouteKinds"
)]
#[case::kinds_group(
    "{name: a, port: 1, protocol: HTTP, allowedRoutes: {kinds: [{group: x.dev, kind: HTTPRoute}]}}",
    "a 0 []",
    "Accepted=True/Accepted Programmed=False/Invalid ResolvedRefs=False/InvalidRouteKinds"
)]
#[case::kinds_protocol(
    "{name: a, port: 1, protocol: TCP, allowedRoutes: {kinds: [{kind: HTTPRoute}]}}",
    "a 0 []",
    "Accepted=True/Accepted Programmed=False/Invalid ResolvedRefs=False/InvalidRouteKinds"
)]
fn a_listener_is_judged_by_its_own_spec(#[case] listener: &str, #[case] start: &str, #[case] expected: &str) {
    assert_eq!(listeners(&world(listener).settle()), [format!("{start} {expected}")]);
}

#[test]
fn protocols_on_one_port_conflict_and_neither_wins() {
    let mut world = world(
        "{name: a, port: 80, protocol: HTTP}, {name: b, port: 80, protocol: TCP}, {name: c, port: 81, protocol: HTTP}",
    );
    let outcome = world.settle();
    let lost = "Accepted=False/ProtocolConflict Programmed=False/Invalid ResolvedRefs=True/ResolvedRefs \
                Conflicted=True/ProtocolConflict";
    let expected = [
        format!("a 0 [HTTPRoute+GRPCRoute] {lost}"),
        format!("b 0 [TCPRoute] {lost}"),
        format!("c 0 [HTTPRoute+GRPCRoute] {GOOD}"),
    ];
    assert_eq!(listeners(&outcome), expected);
    assert_eq!(
        conditions(&outcome, Kind::Gateway, "gw"),
        ["Accepted=True/ListenersNotValid Programmed=True/Programmed"]
    );
    assert_eq!(lanes(&outcome), ["127.90.0.1:81 *"]);
}

#[test]
fn equal_hostnames_on_one_port_conflict() {
    let mut world = world(
        "{name: a, port: 80, protocol: HTTP, hostname: x.test}, {name: b, port: 80, protocol: HTTP, hostname: X.test}",
    );
    let outcome = world.settle();
    assert!(listeners(&outcome).iter().all(|line| line.contains("Conflicted=True/HostnameConflict")), "{outcome:?}");
    assert_eq!(
        conditions(&outcome, Kind::Gateway, "gw"),
        ["Accepted=False/ListenersNotValid Programmed=False/Invalid"]
    );
}

#[test]
fn an_unsupported_protocol_does_not_conflict_with_its_neighbour() {
    let mut world = world("{name: a, port: 80, protocol: HTTP}, {name: b, port: 80, protocol: x.dev/odd}");
    let outcome = world.settle();
    assert_eq!(listeners(&outcome)[0], format!("a 0 [HTTPRoute+GRPCRoute] {GOOD}"));
    assert_eq!(
        conditions(&outcome, Kind::Gateway, "gw"),
        ["Accepted=True/ListenersNotValid Programmed=True/Programmed"]
    );
}

#[test]
fn hostnames_on_one_port_share_a_lane() {
    let mut world = world(
        "{name: a, port: 80, protocol: HTTP, hostname: x.test}, {name: b, port: 80, protocol: HTTP, hostname: '*.test'}",
    );
    let outcome = world.settle();
    assert_eq!(outcome.config.listeners.len(), 1);
    assert_eq!(lanes(&outcome), ["127.90.0.1:80 x.test", "127.90.0.1:80 *.test"]);
    assert!(!listeners(&outcome).iter().any(|line| line.contains("Overlapping")), "HTTP has no TLS configuration");
}
