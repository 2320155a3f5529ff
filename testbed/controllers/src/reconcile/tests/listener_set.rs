use rstest::rstest;

use super::{World, conditions, lanes, listeners, update};
use crate::{
    snapshot::Kind,
    status::{DesiredStatus, Truth},
};

/// The base Gateway with `allowedListeners` from such namespaces, and two listeners of its own.
fn world(allowed: &str) -> World {
    World::with(&format!(
        "- {{apiVersion: gateway.networking.k8s.io/v1, kind: Gateway, metadata: {{namespace: demo, name: gw, uid: gw, \
         generation: 3}}, spec: {{gatewayClassName: ours, allowedListeners: {{namespaces: {allowed}}}, listeners: \
         [{{name: http, port: 80, protocol: HTTP, hostname: a.test}}]}}}}"
    ))
}

fn set(world: &mut World, (namespace, name): (&str, &str), created: u32, listeners: &str) {
    world.add(&format!(
        "- {{apiVersion: gateway.networking.k8s.io/v1, kind: ListenerSet, metadata: {{namespace: {namespace}, name: {name}, \
         uid: {name}, generation: 2, creationTimestamp: '2026-01-01T00:00:0{created}Z'}}, spec: {{parentRef: {{name: gw, \
         namespace: demo}}, listeners: [{listeners}]}}}}"
    ));
}

/// Each listener of a set: its routes, and the conditions that are true or else their reasons.
fn entries(outcome: &super::Outcome, name: &str) -> Vec<String> {
    let Some(DesiredStatus::ListenerSet { listeners, .. }) =
        update(outcome, Kind::ListenerSet, name).map(|update| &update.status)
    else {
        return Vec::new();
    };
    let said = |one: &crate::status::Condition| match one.status {
        Truth::True => one.r#type.clone(),
        _ => format!("{}!{}", one.r#type, one.reason),
    };
    let one = |of: &crate::status::ListenerStatus| {
        let said: Vec<String> = of.conditions.iter().map(said).collect();
        format!("{} {} {}", of.name, of.attached_routes, said.join(" "))
    };
    listeners.iter().map(one).collect()
}

const ALL: &str = "{from: All}";
const GOOD: &str = "Accepted Programmed ResolvedRefs";
const LOST: &str = "Accepted!HostnameConflict Programmed!HostnameConflict ResolvedRefs Conflicted";

#[rstest]
#[case::unless_said("{}", false, false)]
#[case::none("{from: None}", false, false)]
#[case::same("{from: Same}", true, false)]
#[case::all(ALL, true, true)]
#[case::selected("{from: Selector, selector: {matchLabels: {team: blue}}}", false, true)]
fn the_gateway_says_where_sets_may_come_from(#[case] allowed: &str, #[case] near: bool, #[case] far: bool) {
    let mut world = world(allowed);
    set(&mut world, ("demo", "near"), 1, "{name: http, port: 80, protocol: HTTP, hostname: near.test}");
    set(&mut world, ("other", "far"), 2, "{name: http, port: 81, protocol: HTTP, hostname: far.test}");
    let outcome = world.settle();
    for (name, is_let_in) in [("near", near), ("far", far)] {
        let (own, entry) = match is_let_in {
            true => ("Accepted=True/Accepted Programmed=True/Programmed", format!("http 0 {GOOD}")),
            false => (
                "Accepted=False/NotAllowed Programmed=False/NotAllowed",
                "http 0 Accepted!Invalid Programmed!Invalid ResolvedRefs".to_owned(),
            ),
        };
        assert_eq!(conditions(&outcome, Kind::ListenerSet, name), [own]);
        assert_eq!(entries(&outcome, name), [entry]);
    }
    assert_eq!(lanes(&outcome).len(), 1 + usize::from(near) + usize::from(far));
    assert_eq!(listeners(&outcome).len(), 1, "those of a set are not the Gateway's own");
}

#[test]
fn what_is_older_wins_and_what_loses_is_not_served() {
    let mut world = world(ALL);
    let one = |host: &str| format!("{{name: x, port: 80, protocol: HTTP, hostname: {host}}}");
    let ok = "{name: ok, port: 82, protocol: HTTP, hostname: ok.test}";
    set(&mut world, ("demo", "loses-to-gateway"), 1, &format!("{}, {ok}", one("A.test")));
    set(&mut world, ("demo", "b-same-age"), 2, &one("x.test"));
    set(&mut world, ("demo", "a-same-age"), 2, &one("x.test"));
    set(&mut world, ("demo", "a-younger"), 3, &one("x.test"));
    set(&mut world, ("demo", "c-after-loser"), 4, "{name: x, port: 80, protocol: TCP}");
    let outcome = world.settle();
    assert_eq!(entries(&outcome, "loses-to-gateway"), [format!("x 0 {LOST}"), format!("ok 0 {GOOD}")]);
    assert_eq!(
        conditions(&outcome, Kind::ListenerSet, "loses-to-gateway"),
        ["Accepted=True/ListenersNotValid Programmed=True/Programmed"]
    );
    assert_eq!(entries(&outcome, "a-same-age"), [format!("x 0 {GOOD}")]);
    for name in ["b-same-age", "a-younger"] {
        assert_eq!(entries(&outcome, name), [format!("x 0 {LOST}")]);
        assert_eq!(
            conditions(&outcome, Kind::ListenerSet, name),
            ["Accepted=False/ListenersNotValid Programmed=False/ListenersNotValid"]
        );
    }
    assert_eq!(entries(&outcome, "c-after-loser"), [format!("x 0 {}", LOST.replace("Hostname", "Protocol"))]);
    assert_eq!(lanes(&outcome), ["127.90.0.1:80 a.test", "127.90.0.1:80 x.test", "127.90.0.1:82 ok.test"]);
    let good =
        "http 0 [HTTPRoute+GRPCRoute] Accepted=True/Accepted Programmed=True/Programmed ResolvedRefs=True/ResolvedRefs";
    assert_eq!(listeners(&outcome), [good], "the Gateway's own listener never loses");
    world.snapshot.remove(Kind::ListenerSet, &crate::snapshot::ObjectKey::new("demo", "a-same-age"));
    assert_eq!(entries(&world.settle(), "b-same-age"), [format!("x 0 {GOOD}")]);
}

#[test]
fn what_loses_to_others_takes_no_neighbour_along() {
    let mut world = world(ALL);
    let http = "{name: beside, port: 80, protocol: HTTP, hostname: beside.test}";
    set(&mut world, ("demo", "mixed"), 1, &format!("{http}, {{name: tcp, port: 80, protocol: TCP}}"));
    set(&mut world, ("demo", "torn"), 2, "{name: a, port: 82, protocol: HTTP}, {name: b, port: 82, protocol: TCP}");
    let outcome = world.settle();
    let lost = LOST.replace("Hostname", "Protocol");
    assert_eq!(entries(&outcome, "mixed"), [format!("beside 0 {GOOD}"), format!("tcp 0 {lost}")]);
    assert_eq!(entries(&outcome, "torn"), [format!("a 0 {lost}"), format!("b 0 {lost}")]);
    assert_eq!(lanes(&outcome), ["127.90.0.1:80 a.test", "127.90.0.1:80 beside.test"]);
}

#[test]
fn routes_attach_to_the_very_parent_that_they_name() {
    let mut world = world(ALL);
    let host = |name: &str, from: &str| {
        format!(
            "{{name: {name}, port: 80, protocol: HTTP, hostname: {name}.test, allowedRoutes: {{namespaces: {{from: {from}}}}}}}"
        )
    };
    set(&mut world, ("other", "far"), 1, &format!("{}, {}", host("same", "Same"), host("all", "All")));
    let rules = "rules: [{backendRefs: [{name: echo, port: 8080}]}]";
    let of_set = "kind: ListenerSet, name: far, namespace: other";
    world.http_route("of-gateway", &format!("parentRefs: [{{name: gw}}], {rules}"));
    world.http_route("of-set", &format!("parentRefs: [{{{of_set}}}], {rules}"));
    world.http_route("of-section", &format!("parentRefs: [{{{of_set}, sectionName: same}}], {rules}"));
    world.http_route("of-neither", &format!("parentRefs: [{{name: gw, sectionName: all}}], {rules}"));
    let outcome = world.settle();
    let said = |name: &str| conditions(&outcome, Kind::HttpRoute, name);
    assert_eq!(said("of-gateway"), ["Accepted=True/Accepted ResolvedRefs=True/ResolvedRefs"]);
    assert_eq!(said("of-set"), ["Accepted=True/Accepted ResolvedRefs=True/ResolvedRefs"]);
    assert_eq!(said("of-section"), ["Accepted=False/NotAllowedByListeners ResolvedRefs=True/ResolvedRefs"]);
    assert_eq!(said("of-neither"), ["Accepted=False/NoMatchingParent ResolvedRefs=True/ResolvedRefs"]);
    assert_eq!(entries(&outcome, "far"), [format!("same 0 {GOOD}"), format!("all 1 {GOOD}")]);
    assert_eq!(
        lanes(&outcome),
        [
            "127.90.0.1:80 a.test",
            "  of-gateway.0 [] -> 1x[10.0.0.1:3000]",
            "127.90.0.1:80 same.test",
            "127.90.0.1:80 all.test",
            "  of-set.0 [] -> 1x[10.0.0.1:3000]",
        ]
    );
}

#[test]
fn a_set_of_a_gateway_that_is_not_accepted_is_not_either() {
    let mut world = World::with(
        "- {apiVersion: gateway.networking.k8s.io/v1, kind: Gateway, metadata: {namespace: demo, name: gw, uid: gw, generation: 3}, \
         spec: {gatewayClassName: ours, allowedListeners: {namespaces: {from: Same}}, listeners: [{name: a, port: 80, protocol: example.com/OTHER}]}}",
    );
    set(&mut world, ("demo", "set"), 1, "{name: http, port: 80, protocol: HTTP}");
    let outcome = world.settle();
    assert_eq!(
        conditions(&outcome, Kind::ListenerSet, "set"),
        ["Accepted=False/ParentNotAccepted Programmed=False/ParentNotProgrammed"]
    );
    assert_eq!(lanes(&outcome), Vec::<String>::new());
}
