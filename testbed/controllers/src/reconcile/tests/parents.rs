use rstest::rstest;

use super::{World, conditions, lanes, listeners, update};
use crate::{snapshot::Kind, status::DesiredStatus};

const GATEWAY: &str = r#"
- apiVersion: gateway.networking.k8s.io/v1
  kind: Gateway
  metadata: {namespace: demo, name: gw, uid: gw, generation: 3}
  spec:
    gatewayClassName: ours
    listeners:
      - {name: open, port: 80, protocol: HTTP, allowedRoutes: {namespaces: {from: All}}}
      - {name: named, port: 80, protocol: HTTP, hostname: "*.x.test"}
      - {name: alt, port: 8080, protocol: HTTP, hostname: a.x.test}
      - {name: blue, port: 90, protocol: HTTP, allowedRoutes: {namespaces: {from: Selector, selector: {matchExpressions: [{key: team, operator: In, values: [blue]}]}}}}
      - {name: stream, port: 9000, protocol: TCP}
"#;

const RULES: &str = "rules: [{backendRefs: [{name: echo, port: 8080}]}]";
const OK: &str = "Accepted=True/Accepted ResolvedRefs=True/ResolvedRefs";

fn refused(reason: &str) -> String {
    format!("Accepted=False/{reason} ResolvedRefs=True/ResolvedRefs")
}

#[rstest]
#[case::all("{name: gw}", "", &["open", "named", "alt"], OK)]
#[case::section("{name: gw, sectionName: named}", "", &["named"], OK)]
#[case::port("{name: gw, port: 80}", "", &["open", "named"], OK)]
#[case::section_and_port("{name: gw, sectionName: alt, port: 8080}", "", &["alt"], OK)]
#[case::no_section("{name: gw, sectionName: nope}", "", &[], "NoMatchingParent")]
#[case::no_port("{name: gw, port: 81}", "", &[], "NoMatchingParent")]
#[case::section_with_other_port("{name: gw, sectionName: alt, port: 80}", "", &[], "NoMatchingParent")]
#[case::other_protocol("{name: gw, sectionName: stream}", "", &[], "NotAllowedByListeners")]
#[case::namespace_not_selected("{name: gw, sectionName: blue}", "", &[], "NotAllowedByListeners")]
#[case::host("{name: gw}", "hostnames: [b.x.test], ", &["open", "named"], OK)]
#[case::wildcard("{name: gw}", "hostnames: ['*.x.test'], ", &["open", "named", "alt"], OK)]
#[case::apex("{name: gw, sectionName: named}", "hostnames: [x.test], ", &[], "NoMatchingListenerHostname")]
#[case::no_host("{name: gw, sectionName: alt}", "hostnames: [b.x.test, y.test], ", &[], "NoMatchingListenerHostname")]
fn a_parent_ref_narrows_down_to_listeners(
    #[case] parent: &str,
    #[case] hostnames: &str,
    #[case] attached: &[&str],
    #[case] expected: &str,
) {
    let mut world = World::with(GATEWAY);
    world.http_route("route", &format!("parentRefs: [{parent}], {hostnames}{RULES}"));
    let outcome = world.settle();
    let expected = if expected == OK { OK.to_owned() } else { refused(expected) };
    assert_eq!(conditions(&outcome, Kind::HttpRoute, "route"), [expected]);
    let counts = listeners(&outcome);
    let found: Vec<&str> =
        counts.iter().filter(|line| line.contains(" 1 ")).filter_map(|line| line.split(' ').next()).collect();
    assert_eq!(found, attached);
    assert_eq!(lanes(&outcome).iter().filter(|line| line.contains("route.0")).count(), attached.len());
}

#[test]
fn each_parent_ref_has_an_entry_of_its_own_as_written() {
    let mut world = World::with(GATEWAY);
    let parents = "{name: gw, sectionName: open}, {name: gw, sectionName: nope}, {name: gw, port: 8080}, {name: other}, \
                   {group: '', kind: Service, name: echo}";
    world.http_route("route", &format!("parentRefs: [{parents}], {RULES}"));
    let outcome = world.settle();
    assert_eq!(
        conditions(&outcome, Kind::HttpRoute, "route"),
        [OK.to_owned(), refused("NoMatchingParent"), OK.to_owned()]
    );
    let Some(DesiredStatus::Route { parents }) =
        update(&outcome, Kind::HttpRoute, "route").map(|update| &update.status)
    else {
        panic!("{outcome:?}")
    };
    let sections: Vec<_> =
        parents.iter().map(|parent| (parent.parent_ref.section_name.as_deref(), parent.parent_ref.port)).collect();
    assert_eq!(sections, [(Some("open"), None), (Some("nope"), None), (None, Some(8080))]);
    assert!(parents.iter().all(|parent| parent.controller_name == "gateproof.dev/reference"));
}

#[test]
fn a_route_counts_once_on_a_listener_that_two_parent_refs_lead_to() {
    let mut world = World::with(GATEWAY);
    world.http_route(
        "route",
        &format!("parentRefs: [{{name: gw, sectionName: open}}, {{name: gw, port: 80}}], {RULES}"),
    );
    let outcome = world.settle();
    assert!(listeners(&outcome)[0].starts_with("open 1 "));
    assert_eq!(lanes(&outcome).iter().filter(|line| line.contains("route.0")).count(), 2);
}

#[rstest]
#[case::all("open", true)]
#[case::same("named", false)]
#[case::selected("blue", true)]
fn routes_of_other_namespaces_need_to_be_let_in(#[case] section: &str, #[case] let_in: bool) {
    let mut world = World::with(GATEWAY);
    world.add(&format!(
        "- {{apiVersion: gateway.networking.k8s.io/v1, kind: HTTPRoute, metadata: {{namespace: other, name: route}}, \
         spec: {{parentRefs: [{{namespace: demo, name: gw, sectionName: {section}}}], rules: [{{}}]}}}}"
    ));
    let outcome = world.settle();
    let expected = if let_in { OK.to_owned() } else { refused("NotAllowedByListeners") };
    assert_eq!(conditions(&outcome, Kind::HttpRoute, "route"), [expected]);
}

#[test]
fn a_route_that_no_longer_names_us_is_cleaned_up_and_one_that_never_did_is_left_alone() {
    let mut world = World::with(
        r#"
- apiVersion: gateway.networking.k8s.io/v1
  kind: HTTPRoute
  metadata: {namespace: demo, name: left, generation: 2}
  spec: {parentRefs: [{name: foreign}]}
  status: {parents: [{controllerName: gateproof.dev/reference, parentRef: {name: gw}, conditions: []}]}
- apiVersion: gateway.networking.k8s.io/v1
  kind: HTTPRoute
  metadata: {namespace: demo, name: never, generation: 2}
  spec: {parentRefs: [{name: foreign}]}
  status: {parents: [{controllerName: example.com/other, parentRef: {name: foreign}, conditions: []}]}
"#,
    );
    let outcome = world.settle();
    let left = update(&outcome, Kind::HttpRoute, "left").map(|update| &update.status);
    assert_eq!(left, Some(&DesiredStatus::Route { parents: Vec::new() }));
    assert_eq!(update(&outcome, Kind::HttpRoute, "never"), None);
}

#[test]
fn listeners_keep_only_the_hostnames_of_which_they_take_hosts() {
    let mut world = World::with(GATEWAY);
    world.http_route("route", &format!("hostnames: ['*.x.test', y.test], {RULES}"));
    let outcome = world.settle();
    let hosts: Vec<String> = lanes(&outcome)
        .iter()
        .filter_map(|line| line.strip_prefix("  route.0 ")?.split_once(" ->").map(|(hosts, _)| hosts.to_owned()))
        .collect();
    assert_eq!(hosts, ["[*.x.test,y.test]", "[*.x.test]", "[*.x.test]"]);
}
