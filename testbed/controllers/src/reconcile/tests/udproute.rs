use super::{World, conditions, lanes, listeners, message};
use crate::snapshot::Kind;

const GATEWAY: &str = r#"
- apiVersion: gateway.networking.k8s.io/v1
  kind: Gateway
  metadata: {namespace: demo, name: gw, uid: gw, generation: 3}
  spec:
    gatewayClassName: ours
    listeners: [{name: one, port: 9000, protocol: UDP}, {name: stream, port: 9000, protocol: TCP}, {name: two, port: 9001, protocol: UDP}]
- apiVersion: v1
  kind: Service
  metadata: {namespace: demo, name: datagrams, uid: datagrams}
  spec: {ports: [{name: streams, port: 53}, {name: datagrams, port: 53, protocol: UDP}]}
- apiVersion: discovery.k8s.io/v1
  kind: EndpointSlice
  metadata: {namespace: demo, name: datagrams, uid: datagrams-slice, labels: {kubernetes.io/service-name: datagrams}}
  addressType: IPv4
  ports: [{name: streams, port: 3000}, {name: datagrams, port: 3001, protocol: UDP}]
  endpoints: [{addresses: [10.0.0.2]}]
"#;

fn world(routes: &[(&str, u32, &str)]) -> World {
    let mut world = World::with(GATEWAY);
    for (name, created, spec) in routes {
        world.add(&format!(
            "- {{apiVersion: gateway.networking.k8s.io/v1, kind: UDPRoute, metadata: {{namespace: demo, name: {name}, \
             creationTimestamp: '2026-01-01T00:00:0{created}Z'}}, spec: {{{spec}}}}}"
        ));
    }
    world
}

const OK: &str = "Accepted=True/Accepted ResolvedRefs=True/ResolvedRefs";

#[test]
fn a_route_takes_every_udp_listener_and_the_port_of_the_service_that_is_for_datagrams() {
    let outcome =
        world(&[("a", 1, "parentRefs: [{name: gw}], rules: [{backendRefs: [{name: datagrams, port: 53}]}]")]).settle();
    assert_eq!(conditions(&outcome, Kind::UdpRoute, "a"), [OK]);
    assert_eq!(
        lanes(&outcome),
        [
            "127.90.0.1:9000 tcp -> ",
            "127.90.0.1:9000 udp -> 1x[10.0.0.2:3001]",
            "127.90.0.1:9001 udp -> 1x[10.0.0.2:3001]"
        ]
    );
    let starts: Vec<bool> = ["one 1 [UDPRoute] ", "stream 0 [TCPRoute] ", "two 1 [UDPRoute] "]
        .iter()
        .zip(listeners(&outcome))
        .map(|(start, line)| line.starts_with(start) && line.contains("Accepted=True") && !line.contains("Conflicted"))
        .collect();
    assert_eq!(starts, [true; 3], "{:?}", listeners(&outcome));
}

#[test]
fn the_oldest_route_has_the_listener_and_the_others_stay_accepted() {
    let to = |port| {
        format!(
            "parentRefs: [{{name: gw, sectionName: one}}], rules: [{{backendRefs: [{{name: datagrams, port: {port}}}]}}]"
        )
    };
    let mut world = world(&[("a", 2, &to(9)), ("b", 1, &to(53))]);
    let outcome = world.settle();
    assert_eq!(
        conditions(&outcome, Kind::UdpRoute, "a"),
        ["Accepted=True/Accepted ResolvedRefs=False/BackendNotFound"]
    );
    assert_eq!(lanes(&outcome)[1], "127.90.0.1:9000 udp -> 1x[10.0.0.2:3001]");
    assert!(listeners(&outcome)[0].starts_with("one 2 "));
    world.snapshot.remove(Kind::UdpRoute, &crate::snapshot::ObjectKey::new("demo", "b"));
    assert_eq!(lanes(&world.settle())[1], "127.90.0.1:9000 udp -> 1xrefuse");
}

#[test]
fn a_port_for_streams_carries_no_datagrams() {
    let spec = "parentRefs: [{name: gw, sectionName: one}], rules: [{backendRefs: [{name: echo, port: 8080}]}]";
    let outcome = world(&[("a", 1, spec)]).settle();
    assert_eq!(
        conditions(&outcome, Kind::UdpRoute, "a"),
        ["Accepted=True/Accepted ResolvedRefs=False/UnsupportedProtocol"]
    );
    assert!(message(&outcome, Kind::UdpRoute, "a", "ResolvedRefs").contains("TCP cannot be spoken to"));
}

#[test]
fn other_listeners_do_not_let_it_in() {
    for (parent, reason) in [
        ("{name: gw, sectionName: stream}", "NotAllowedByListeners"),
        ("{name: gw, sectionName: one, port: 9001}", "NoMatchingParent"),
    ] {
        let spec = format!("parentRefs: [{parent}], rules: [{{backendRefs: [{{name: datagrams, port: 53}}]}}]");
        let outcome = world(&[("a", 1, &spec)]).settle();
        assert_eq!(
            conditions(&outcome, Kind::UdpRoute, "a"),
            [format!("Accepted=False/{reason} ResolvedRefs=True/ResolvedRefs")]
        );
    }
}
