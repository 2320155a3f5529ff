use std::collections::BTreeSet;

use rstest::rstest;

use super::{World, conditions, lanes, listeners, message, update};
use crate::{
    snapshot::{Addresses, Bind, Kind},
    status::DesiredStatus,
};

const ACCEPTED: &str = "Accepted=True/Accepted Programmed=True/Programmed";

fn gateway(name: &str, created: u32, spec: &str) -> String {
    format!(
        "- {{apiVersion: gateway.networking.k8s.io/v1, kind: Gateway, metadata: {{namespace: demo, name: {name}, uid: \
         {name}, generation: 1, creationTimestamp: '2026-01-01T00:00:{created:02}Z'}}, spec: {{gatewayClassName: ours, \
         {spec}}}}}"
    )
}

const HTTP: &str = "listeners: [{name: http, port: 80, protocol: HTTP}]";

fn addresses(outcome: &super::Outcome, name: &str) -> Vec<String> {
    let Some(DesiredStatus::Gateway { addresses, .. }) =
        update(outcome, Kind::Gateway, name).map(|update| &update.status)
    else {
        return Vec::new();
    };
    addresses.iter().map(|address| format!("{} {}", address.r#type, address.value)).collect()
}

#[test]
fn a_gateway_gets_an_address_and_is_programmed() {
    let outcome = World::with("[]").settle();
    assert_eq!(conditions(&outcome, Kind::Gateway, "gw"), [ACCEPTED]);
    assert_eq!(addresses(&outcome, "gw"), ["IPAddress 127.90.0.1"]);
    assert_eq!(
        listeners(&outcome),
        [
            "http 0 [HTTPRoute+GRPCRoute] Accepted=True/Accepted Programmed=True/Programmed ResolvedRefs=True/ResolvedRefs"
        ]
    );
    let mut update = update(&outcome, Kind::Gateway, "gw").unwrap().clone();
    let generations: Vec<_> =
        update.condition_lists().into_iter().flatten().map(|condition| condition.observed_generation).collect();
    assert_eq!(generations, vec![Some(3); 5]);
}

#[test]
fn nothing_is_claimed_before_the_data_plane_has_answered() {
    let world = World::with("[]");
    let outcome = super::reconcile(&world.snapshot, &world.settings);
    assert_eq!(conditions(&outcome, Kind::Gateway, "gw"), ["Accepted=True/Accepted Programmed=Unknown/Pending"]);
    assert_eq!(
        listeners(&outcome),
        [
            "http 0 [HTTPRoute+GRPCRoute] Accepted=True/Accepted Programmed=Unknown/Pending ResolvedRefs=True/ResolvedRefs"
        ]
    );
}

#[test]
fn a_port_that_cannot_be_bound_is_unavailable_and_tried_again() {
    let mut world = World::with(&gateway(
        "gw",
        0,
        "listeners: [{name: good, port: 80, protocol: HTTP}, {name: bad, port: 81, protocol: HTTP}]",
    ));
    let bad = |port| if port == 81 { Bind::Failed("in use".into()) } else { Bind::Bound };
    let outcome = world.settle_with(bad);
    assert_eq!(
        conditions(&outcome, Kind::Gateway, "gw"),
        ["Accepted=True/ListenersNotValid Programmed=True/Programmed"]
    );
    assert_eq!(
        listeners(&outcome)[1],
        "bad 0 [HTTPRoute+GRPCRoute] Accepted=False/PortUnavailable Programmed=False/Invalid ResolvedRefs=True/ResolvedRefs"
    );
    let outcome = world.settle();
    assert_eq!(conditions(&outcome, Kind::Gateway, "gw"), [ACCEPTED]);
}

#[test]
fn a_gateway_with_no_port_at_all_stays_in_the_configuration() {
    let outcome = World::with("[]").settle_with(|_| Bind::Failed("in use".into()));
    assert_eq!(
        conditions(&outcome, Kind::Gateway, "gw"),
        ["Accepted=False/ListenersNotValid Programmed=False/Invalid"]
    );
    assert_eq!(lanes(&outcome), ["127.90.0.1:80 *"]);
}

#[test]
fn ports_outside_the_settings_are_unavailable() {
    let mut world = World::with("[]");
    world.settings.ports = Some(BTreeSet::from([8080]));
    let outcome = world.settle();
    assert_eq!(
        listeners(&outcome),
        [
            "http 0 [HTTPRoute+GRPCRoute] Accepted=False/PortUnavailable Programmed=False/Invalid ResolvedRefs=True/ResolvedRefs"
        ]
    );
    assert!(outcome.config.listeners.is_empty());
}

#[rstest]
#[case::parameters(
    "infrastructure: {parametersRef: {group: x.dev, kind: Settings, name: big}}, ",
    "Accepted=False/InvalidParameters Programmed=False/Invalid"
)]
#[case::labels_only("infrastructure: {labels: {a: b}}, ", ACCEPTED)]
#[case::address_type(
    "addresses: [{type: x.dev/fake, value: a}, {type: IPAddress, value: 127.90.0.9}], ",
    "Accepted=False/UnsupportedAddress Programmed=False/Invalid"
)]
#[case::hostname(
    "addresses: [{type: Hostname, value: a.b}], ",
    "Accepted=False/UnsupportedAddress Programmed=False/Invalid"
)]
#[case::unusable(
    "addresses: [{type: IPAddress, value: 203.0.113.1}, {type: IPAddress, value: 127.90.0.9}], ",
    "Accepted=True/Accepted Programmed=False/AddressNotUsable"
)]
#[case::usable("addresses: [{type: IPAddress, value: 127.90.0.9}], ", ACCEPTED)]
#[case::any_value("addresses: [{type: IPAddress}], ", ACCEPTED)]
fn a_gateway_is_judged_by_its_own_spec(#[case] spec: &str, #[case] expected: &str) {
    let mut world = World::with(&gateway("gw", 0, &format!("{spec}{HTTP}")));
    let outcome = world.settle();
    assert_eq!(conditions(&outcome, Kind::Gateway, "gw"), [expected]);
    assert_eq!(outcome.config.listeners.is_empty(), expected != ACCEPTED);
    assert_eq!(addresses(&outcome, "gw").is_empty(), expected != ACCEPTED);
    assert_eq!(listeners(&outcome)[0].contains("Programmed=True"), expected == ACCEPTED);
}

#[test]
fn requested_addresses_are_given_and_kept_from_others() {
    let mut world = World::with(&gateway("gw", 0, HTTP));
    world.settle();
    world.add(&gateway("second", 1, &format!("addresses: [{{type: IPAddress, value: 127.90.0.1}}], {HTTP}")));
    world.add(&gateway("third", 2, &format!("addresses: [{{type: IPAddress, value: 127.90.0.7}}], {HTTP}")));
    let outcome = world.settle();
    assert_eq!(addresses(&outcome, "gw"), ["IPAddress 127.90.0.1"]);
    assert_eq!(
        conditions(&outcome, Kind::Gateway, "second"),
        ["Accepted=True/Accepted Programmed=False/AddressNotUsable"]
    );
    assert_eq!(addresses(&outcome, "third"), ["IPAddress 127.90.0.7"]);
}

#[test]
fn addresses_run_out_and_come_back() {
    let mut world = World::with(&gateway("second", 1, HTTP));
    world.settings.hosts = 1..=1;
    let outcome = world.settle();
    assert_eq!(
        conditions(&outcome, Kind::Gateway, "second"),
        ["Accepted=True/Accepted Programmed=False/AddressNotAssigned"]
    );
    world.snapshot.remove(Kind::Gateway, &crate::snapshot::ObjectKey::new("demo", "gw"));
    let outcome = world.settle();
    assert_eq!(addresses(&outcome, "second"), ["IPAddress 127.90.0.1"]);
}

#[test]
fn a_released_address_is_not_the_next_one_given() {
    let mut world = World::with("[]");
    world.settle();
    world.snapshot.remove(Kind::Gateway, &crate::snapshot::ObjectKey::new("demo", "gw"));
    world.add(&gateway("second", 1, HTTP));
    assert_eq!(addresses(&world.settle(), "second"), ["IPAddress 127.90.0.2"]);
}

#[test]
fn without_room_the_newest_gateway_waits() {
    let mut world = World::with(&gateway("second", 1, HTTP));
    world.settings.max_gateways.insert("ours".into(), 1);
    let outcome = world.settle();
    assert_eq!(conditions(&outcome, Kind::Gateway, "gw"), [ACCEPTED]);
    assert_eq!(conditions(&outcome, Kind::Gateway, "second"), ["Accepted=True/Accepted Programmed=False/NoResources"]);
    assert_eq!(lanes(&outcome), ["127.90.0.1:80 *"]);
}

#[test]
fn a_gateway_of_an_unknown_class_is_not_touched() {
    let mut world = World::with(&gateway("gw", 0, HTTP).replace("ours", "nobodys"));
    let outcome = world.settle();
    assert_eq!(update(&outcome, Kind::Gateway, "gw"), None);
    assert!(outcome.config.listeners.is_empty());
}

#[test]
fn messages_name_the_listeners_at_fault() {
    let spec = "listeners: [{name: good, port: 80, protocol: HTTP}, {name: odd, port: 81, protocol: x.dev/odd}]";
    let outcome = World::with(&gateway("gw", 0, spec)).settle();
    assert!(message(&outcome, Kind::Gateway, "gw", "Accepted").contains("odd"));
}

#[rstest]
#[case::any("", "True/AddressesAssigned")]
#[case::usable("addresses: [{type: IPAddress, value: 127.90.0.9}], ", "True/AddressesAssigned")]
#[case::part(
    "addresses: [{type: IPAddress, value: 127.90.0.9}, {type: IPAddress, value: 192.0.2.1}], ",
    "False/PartiallyAssigned"
)]
#[case::none("addresses: [{type: IPAddress, value: 192.0.2.1}], ", "False/NotAssigned")]
#[case::unknown_type("addresses: [{type: Hostname, value: a.b}], ", "False/NotAssigned")]
fn from_v1_7_on_a_gateway_says_whether_it_has_its_addresses(#[case] addresses: &str, #[case] expected: &str) {
    let mut world =
        World::with(&gateway("gw", 0, &format!("{addresses}listeners: [{{name: http, port: 80, protocol: HTTP}}]")));
    world.add(
        "- {apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: \
         httproutes.gateway.networking.k8s.io, annotations: {gateway.networking.k8s.io/bundle-version: v1.7.0}}, \
         spec: {group: gateway.networking.k8s.io, names: {kind: HTTPRoute, plural: httproutes}}}",
    );
    let said = conditions(&world.settle(), Kind::Gateway, "gw");
    assert!(said[0].ends_with(&format!("AddressesAssigned={expected}")), "{said:?}");
}

/// What a Gateway says of these addresses, and the routability of each that it has.
fn reached(addresses: &str, channel: &str, all_or_none: bool) -> (String, Vec<Option<String>>) {
    let mut world =
        World::with(&gateway("gw", 0, &format!("{addresses}listeners: [{{name: http, port: 80, protocol: HTTP}}]")));
    world.add(&format!(
        "- {{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {{name: \
         httproutes.gateway.networking.k8s.io, annotations: {{gateway.networking.k8s.io/bundle-version: v1.7.0, \
         gateway.networking.k8s.io/channel: {channel}}}}}, spec: {{group: gateway.networking.k8s.io, names: {{kind: HTTPRoute, \
         plural: httproutes}}}}}}"
    ));
    world.settings.all_or_none = all_or_none;
    let outcome = world.settle();
    let DesiredStatus::Gateway { addresses, .. } = &update(&outcome, Kind::Gateway, "gw").unwrap().status else {
        panic!("no status of a Gateway")
    };
    (conditions(&outcome, Kind::Gateway, "gw").concat(), addresses.iter().map(|one| one.routability.clone()).collect())
}

const SENTINEL: &str = "{type: IPAddress, routability: testing.x-k8s.io/sentinel}";
const OTHER: &str = "{type: IPAddress, routability: testing.x-k8s.io/other}";

#[rstest]
#[case::none_asked("", "Programmed=True/Programmed AddressesAssigned=True/AddressesAssigned", &[""])]
#[case::asked(SENTINEL, "Programmed=True/Programmed AddressesAssigned=True/AddressesAssigned", &["testing.x-k8s.io/sentinel"])]
#[case::other(OTHER, "Programmed=False/AddressNotAssigned AddressesAssigned=False/NotAssigned", &[])]
#[case::cluster("{type: IPAddress, routability: Cluster}", "Programmed=False/AddressNotAssigned AddressesAssigned=False/NotAssigned", &[])]
#[case::of_a_value(
    "{type: IPAddress, value: 127.90.0.9, routability: testing.x-k8s.io/other}",
    "Programmed=False/AddressNotAssigned AddressesAssigned=False/NotAssigned",
    &[]
)]
fn an_address_is_reached_as_it_was_asked_for(#[case] asked: &str, #[case] said: &str, #[case] routability: &[&str]) {
    let addresses = if asked.is_empty() { String::new() } else { format!("addresses: [{asked}], ") };
    let (conditions, reached) = reached(&addresses, "experimental", false);
    assert!(conditions.contains(said), "{conditions}");
    assert_eq!(reached, routability.iter().map(|of| Some((*of).to_owned())).collect::<Vec<_>>());
}

#[test]
fn each_address_has_the_routability_of_its_own_request() {
    let fixed = "{type: IPAddress, value: 127.90.0.9}";
    let (_, reached) = reached(&format!("addresses: [{SENTINEL}, {fixed}], "), "experimental", false);
    assert_eq!(reached, [Some(String::new()), Some("testing.x-k8s.io/sentinel".to_owned())]);
}

#[rstest]
#[case(false, "Programmed=True/Programmed AddressesAssigned=False/PartiallyAssigned", 1)]
#[case(true, "Programmed=False/AddressNotAssigned AddressesAssigned=False/NotAssigned", 0)]
fn who_has_a_part_of_the_addresses_is_served_unless_it_is_all_or_none(
    #[case] all_or_none: bool,
    #[case] said: &str,
    #[case] count: usize,
) {
    let (conditions, reached) = reached(&format!("addresses: [{OTHER}, {SENTINEL}], "), "experimental", all_or_none);
    assert!(conditions.contains(said), "{conditions}");
    assert_eq!(reached.len(), count);
}

#[test]
fn the_standard_channel_has_no_place_for_routability() {
    assert_eq!(reached("", "standard", false).1, [None]);
}

/// The base Gateway has an open listener of HTTP on port 80; what is merged has one address and, on a port that both have, one lane.
#[rstest]
#[case::other_port("{name: a, port: 81, protocol: HTTP}", true)]
#[case::other_port_and_protocol("{name: a, port: 81, protocol: TCP}", true)]
#[case::other_host("{name: a, port: 80, protocol: HTTP, hostname: a.test}", true)]
#[case::same("{name: a, port: 80, protocol: HTTP}", false)]
#[case::one_of_two("{name: a, port: 81, protocol: HTTP}, {name: b, port: 80, protocol: HTTP}", false)]
#[case::other_protocol("{name: a, port: 80, protocol: TCP}", false)]
fn merged_gateways_share_an_address_if_they_are_compatible(#[case] listeners: &str, #[case] merged: bool) {
    let mut world = World::with(&gateway("second", 1, &format!("listeners: [{listeners}]")));
    assert_ne!(addresses(&world.settle(), "second"), addresses(&world.settle(), "gw"));
    world.snapshot.addresses = Addresses::default();
    world.settings.merges = true;
    let outcome = world.settle();
    let (one, other) = (addresses(&outcome, "gw"), addresses(&outcome, "second"));
    assert_eq!((one.len(), other.len(), one == other), (1, 1, merged));
    let ports: Vec<_> = outcome.config.listeners.iter().map(|lane| (lane.address, lane.port)).collect();
    assert_eq!(ports.iter().collect::<BTreeSet<_>>().len(), ports.len(), "{ports:?}");
    for name in ["gw", "second"] {
        assert_eq!(conditions(&outcome, Kind::Gateway, name), [ACCEPTED]);
    }
}

#[test]
fn merged_gateways_part_when_they_no_longer_go_together_and_stay_where_they_are() {
    let first = "listeners: [{name: a, port: 80, protocol: HTTP, hostname: a.test}]";
    let mut world = World::with(&gateway("second", 1, first));
    world.settings.merges = true;
    let before = addresses(&world.settle(), "gw");
    assert_eq!(addresses(&world.settle(), "second"), before);
    world.add(&gateway("second", 1, "listeners: [{name: a, port: 80, protocol: HTTP}]"));
    let outcome = world.settle();
    let parted = addresses(&outcome, "second");
    assert!(addresses(&outcome, "gw") == before && parted != before);
    world.add(&gateway("second", 1, first));
    assert_eq!(addresses(&world.settle(), "second"), parted);
}

#[test]
fn two_addresses_are_served_alike_and_kept() {
    let mut world = World::with(&gateway(
        "asks",
        1,
        "addresses: [{value: 127.90.0.77}], listeners: [{name: a, port: 80, protocol: HTTP}]",
    ));
    world.settings.addresses = 2;
    let before = addresses(&world.settle(), "gw");
    assert_eq!((before.len(), addresses(&world.settle(), "gw")), (2, before.clone()));
    assert_eq!(addresses(&world.settle(), "asks").len(), 1);
    assert_eq!(lanes(&world.settle()).len(), 3);
}

#[test]
fn a_name_stands_for_the_address_of_a_gateway_that_asks_for_none() {
    let mut world = World::with(&gateway(
        "asks",
        1,
        "addresses: [{value: 127.90.0.77}], listeners: [{name: a, port: 80, protocol: HTTP}]",
    ));
    let plain = addresses(&world.settle(), "gw");
    world.settings.names = true;
    let outcome = world.settle();
    let named = addresses(&outcome, "gw");
    let known: Vec<_> =
        world.settings.all_names().filter(|(name, _)| named.iter().any(|one| one.ends_with(name))).collect();
    assert!(known.len() == 1 && plain[0].ends_with(&known[0].1.to_string()), "{named:?} {plain:?}");
    assert!(addresses(&outcome, "asks")[0].ends_with("127.90.0.77"));
}
