use super::{World, conditions, lanes, listeners, message};
use crate::snapshot::Kind;

const GATEWAY: &str = r#"
- apiVersion: gateway.networking.k8s.io/v1
  kind: Gateway
  metadata: {namespace: demo, name: gw, uid: gw, generation: 3}
  spec:
    gatewayClassName: ours
    listeners: [{name: one, port: 9000, protocol: TCP}, {name: two, port: 9001, protocol: TCP}, {name: http, port: 80, protocol: HTTP}]
"#;

fn world(routes: &[(&str, u32, &str)]) -> World {
    let mut world = World::with(GATEWAY);
    for (name, created, spec) in routes {
        world.add(&format!(
            "- {{apiVersion: gateway.networking.k8s.io/v1alpha2, kind: TCPRoute, metadata: {{namespace: demo, name: {name}, \
             creationTimestamp: '2026-01-01T00:00:0{created}Z'}}, spec: {{{spec}}}}}"
        ));
    }
    world
}

const OK: &str = "Accepted=True/Accepted ResolvedRefs=True/ResolvedRefs";

#[test]
fn a_route_without_section_takes_every_tcp_listener_and_no_other() {
    let mut world = world(&[("a", 1, "parentRefs: [{name: gw}], rules: [{backendRefs: [{name: echo, port: 8080}]}]")]);
    let outcome = world.settle();
    assert_eq!(conditions(&outcome, Kind::TcpRoute, "a"), [OK]);
    assert_eq!(
        lanes(&outcome),
        ["127.90.0.1:80 *", "127.90.0.1:9000 tcp -> 1x[10.0.0.1:3000]", "127.90.0.1:9001 tcp -> 1x[10.0.0.1:3000]"]
    );
    let counts: Vec<String> = listeners(&outcome).iter().map(|line| line.chars().take(6).collect()).collect();
    assert_eq!(counts, ["one 1 ", "two 1 ", "http 0"]);
}

#[test]
fn the_oldest_route_has_the_listener_and_the_others_stay_accepted() {
    let to = |port| {
        format!(
            "parentRefs: [{{name: gw, sectionName: one}}], rules: [{{backendRefs: [{{name: echo, port: {port}}}]}}]"
        )
    };
    let mut world = world(&[("a", 2, &to(9)), ("b", 1, &to(8080))]);
    let outcome = world.settle();
    assert_eq!(conditions(&outcome, Kind::TcpRoute, "b"), [OK]);
    assert_eq!(
        conditions(&outcome, Kind::TcpRoute, "a"),
        ["Accepted=True/Accepted ResolvedRefs=False/BackendNotFound"]
    );
    assert_eq!(lanes(&outcome)[1], "127.90.0.1:9000 tcp -> 1x[10.0.0.1:3000]");
    assert!(listeners(&outcome)[0].starts_with("one 2 "));
    world.snapshot.remove(Kind::TcpRoute, &crate::snapshot::ObjectKey::new("demo", "b"));
    assert_eq!(lanes(&world.settle())[1], "127.90.0.1:9000 tcp -> 1xrefuse");
}

#[test]
fn a_missing_backend_refuses_its_share_and_leaves_the_route_accepted() {
    let spec = "parentRefs: [{name: gw, sectionName: one}], rules: [{backendRefs: [{name: echo, port: 8080, weight: 7}, \
                {name: nope, port: 1, weight: 3}]}]";
    let outcome = world(&[("a", 1, spec)]).settle();
    assert_eq!(
        conditions(&outcome, Kind::TcpRoute, "a"),
        ["Accepted=True/Accepted ResolvedRefs=False/BackendNotFound"]
    );
    assert!(message(&outcome, Kind::TcpRoute, "a", "ResolvedRefs").contains("demo/nope:1"));
    assert_eq!(lanes(&outcome)[1], "127.90.0.1:9000 tcp -> 7x[10.0.0.1:3000] 3xrefuse");
}

#[test]
fn only_the_first_rule_can_have_an_effect() {
    let spec = "parentRefs: [{name: gw, sectionName: one}], rules: [{backendRefs: [{name: echo, port: 8080}]}, \
                {backendRefs: [{name: echo, port: 8080}]}]";
    let outcome = world(&[("a", 1, spec)]).settle();
    assert_eq!(conditions(&outcome, Kind::TcpRoute, "a"), [format!("{OK} PartiallyInvalid=True/UnsupportedValue")]);
    assert!(message(&outcome, Kind::TcpRoute, "a", "PartiallyInvalid").starts_with("Dropped Rule 1 ("));
}

#[test]
fn other_listeners_do_not_let_it_in() {
    for (parent, reason) in [
        ("{name: gw, sectionName: http}", "NotAllowedByListeners"),
        ("{name: gw, sectionName: one, port: 9001}", "NoMatchingParent"),
    ] {
        let spec = format!("parentRefs: [{parent}], rules: [{{backendRefs: [{{name: echo, port: 8080}}]}}]");
        let outcome = world(&[("a", 1, &spec)]).settle();
        assert_eq!(
            conditions(&outcome, Kind::TcpRoute, "a"),
            [format!("Accepted=False/{reason} ResolvedRefs=True/ResolvedRefs")]
        );
    }
}
