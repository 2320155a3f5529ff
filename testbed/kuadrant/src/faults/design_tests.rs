//! What the faults of the edition `design` change there, and that they change nothing in the other.
#![allow(clippy::unwrap_used)]

use rstest::rstest;
use serde_json::json;

use super::design::FAULTS;
use crate::behaviour::Behaviour;
use crate::object::{Kind, Snapshot};
use crate::reconcile::tests::{gw, limits, policy, route, world};
use crate::settings::{Edition, Settings};

/// The older of two policies of one kind on one target, which is called `p`, and the younger, `q`.
fn two(kind: Kind) -> Snapshot {
    let mut world = world();
    let (target, body) = match kind {
        Kind::AuthPolicy => (route(), json!({"rules": {"authentication": {"a": {"anonymous": {}}}}})),
        Kind::RateLimitPolicy => (route(), limits("l")),
        Kind::TlsPolicy => (gw(), json!({"issuerRef": {"name": "i"}})),
        _ => (gw(), json!({})),
    };
    for (name, created) in [("p", 4), ("q", 5)] {
        world.put(kind, policy(kind, name, target.clone(), created, body.clone()));
    }
    world
}

/// What both say, with what acts on the path, when their statuses had been written once before as if they waited.
fn said(kind: Kind, behaviour: Option<&str>, edition: Edition) -> String {
    let mut world = two(kind);
    let settings = Settings { edition, ..Settings::default() };
    let mut seams = Behaviour::of(behaviour).unwrap().seams();
    world.edit(kind, |one| {
        one["status"] = json!({"ancestors": [{"controllerName": "first"}]});
    });
    let outcome = seams.round(world.clone(), &settings);
    let mut said: Vec<String> = Vec::new();
    for name in ["p", "q"] {
        let update = outcome.statuses.iter().find(|one| one.key.0 == kind && one.key.2 == name).unwrap();
        let status = seams.merge(world.get(kind, "ns", name).unwrap(), &update.change, "2026-02-02T00:00:00Z");
        said.push(format!("{name}: {status}"));
    }
    let guards = outcome.gate.guards.values();
    let sources =
        guards.flat_map(|guard| guard.auth.iter().chain(&guard.limits)).map(|rule| format!("acts: {}", rule.source));
    said.extend(sources);
    said.join("\n")
}

#[rstest]
#[case("names-no-ancestors", Kind::POLICIES.as_slice())]
#[case("names-no-ancestors-for-tls", &[Kind::TlsPolicy])]
#[case("names-no-ancestors-for-dns", &[Kind::DnsPolicy])]
#[case("calls-every-ancestor-a-class", &[Kind::AuthPolicy])]
#[case("gives-ancestors-its-own-group", &[Kind::RateLimitPolicy])]
#[case("writes-entries-twice", &[Kind::RateLimitPolicy])]
#[case("repeats-acceptance-alone", &[Kind::DnsPolicy])]
#[case("keeps-the-first-entry", &[Kind::TlsPolicy])]
#[case("keeps-good-entries", Kind::POLICIES.as_slice())]
#[case("accepts-second-auth-policies", &[Kind::AuthPolicy])]
#[case("accepts-second-rate-limit-policies", &[Kind::RateLimitPolicy])]
#[case("refuses-both-in-conflict", &[Kind::AuthPolicy, Kind::RateLimitPolicy])]
#[case("acts-by-conflicted-policies", &[Kind::AuthPolicy, Kind::RateLimitPolicy])]
fn each_changes_the_kinds_that_it_names_in_this_edition_alone(#[case] fault: &str, #[case] kinds: &[Kind]) {
    assert!(FAULTS.iter().any(|one| one.name == fault));
    for kind in Kind::POLICIES {
        let differs = |edition| said(kind, None, edition) != said(kind, Some(fault), edition);
        assert_eq!(differs(Edition::Design), kinds.contains(&kind), "{}", kind.name());
        assert!(!differs(Edition::Current), "{}", kind.name());
    }
}

/// Where the document leaves open who reads a predicate, and nowhere else; what is refused does not act.
#[test]
fn what_does_not_compile_is_refused_in_this_edition_alone() {
    let read = |edition, variant: Option<&str>| {
        let mut world = world();
        let body =
            json!({"when": [{"predicate": "this is =="}], "rules": {"authentication": {"a": {"anonymous": {}}}}});
        world.put(Kind::AuthPolicy, policy(Kind::AuthPolicy, "p", route(), 4, body));
        let settings = Settings { edition, ..Settings::default() };
        let outcome = Behaviour::of(variant).unwrap().seams().round(world, &settings);
        let acting = outcome.gate.guards.values().any(|guard| !guard.auth.is_empty());
        (crate::reconcile::tests::said(&outcome, "p").0, acting)
    };
    let refuses = Some("variant:refuses-what-does-not-compile");
    assert_eq!(read(Edition::Design, refuses), (vec!["Accepted=False/Invalid".to_owned()], false));
    assert!(read(Edition::Design, None).1);
    assert_eq!(read(Edition::Current, refuses), read(Edition::Current, None));
}

#[test]
fn an_entry_may_name_what_is_above_the_target() {
    let names = |kind, variant: Option<&str>| {
        let settings = Settings { edition: Edition::Design, ..Settings::default() };
        let outcome = Behaviour::of(variant).unwrap().seams().round(two(kind), &settings);
        let update = outcome.statuses.iter().find(|one| one.key.0 == kind).unwrap();
        let crate::status::Change::Own { ancestors, .. } = &update.change else { panic!("{update:?}") };
        ancestors.iter().map(|one| format!("{}/{}", one["kind"], one["name"]).replace('"', "")).collect::<Vec<_>>()
    };
    let above = Some("variant:takes-gateways-for-ancestors");
    assert_eq!(names(Kind::AuthPolicy, None), ["HTTPRoute/r"]);
    assert_eq!(names(Kind::AuthPolicy, above), ["Gateway/gw"]);
    assert_eq!(names(Kind::TlsPolicy, above), ["Gateway/gw"]);
}

/// What goes wrong with conditions goes wrong where they are repeated, too, and is no mistake of its own there.
#[test]
fn entries_repeat_wrong_conditions() {
    let world = two(Kind::AuthPolicy);
    let settings = Settings { edition: Edition::Design, ..Settings::default() };
    let mut seams = Behaviour::of(Some("writes-times-of-tomorrow")).unwrap().seams();
    let outcome = seams.round(world.clone(), &settings);
    let update = outcome.statuses.iter().find(|one| one.key.0 == Kind::AuthPolicy && one.key.2 == "p").unwrap();
    let plain =
        crate::status::merge(world.get(Kind::AuthPolicy, "ns", "p").unwrap(), &update.change, "2026-02-02T00:00:00Z");
    let status = seams.merge(world.get(Kind::AuthPolicy, "ns", "p").unwrap(), &update.change, "2026-02-02T00:00:00Z");
    let time = |status: &serde_json::Value, at: &str| status.pointer(at).unwrap()["lastTransitionTime"].clone();
    assert_eq!(time(&status, "/conditions/0"), time(&status, "/ancestors/0/conditions/0"));
    assert_ne!(time(&status, "/conditions/0"), time(&plain, "/conditions/0"));
}

/// Entries that stay good have become so once, whenever the policy itself was accepted.
#[rstest]
#[case::in_conflict("q")]
#[case::out_of_it("p")]
fn entries_that_stay_good_keep_their_time(#[case] name: &str) {
    const SINCE: &str = "2020-01-01T00:00:00Z";
    let mut world = two(Kind::AuthPolicy);
    world.edit(Kind::AuthPolicy, |one| {
        let conditions = json!([{"type": "Accepted", "status": "True", "lastTransitionTime": SINCE}]);
        one["status"] = json!({"ancestors": [{"conditions": conditions}]});
    });
    let settings = Settings { edition: Edition::Design, ..Settings::default() };
    let mut seams = Behaviour::of(Some("keeps-good-entries")).unwrap().seams();
    let outcome = seams.round(world.clone(), &settings);
    let update = outcome.statuses.iter().find(|one| one.key.0 == Kind::AuthPolicy && one.key.2 == name).unwrap();
    let status = seams.merge(world.get(Kind::AuthPolicy, "ns", name).unwrap(), &update.change, "2026-02-02T00:00:00Z");
    let entry = &status["ancestors"][0];
    let accepted = crate::object::condition(entry, "Accepted").unwrap();
    assert_eq!((accepted["status"].as_str(), accepted["lastTransitionTime"].as_str()), (Some("True"), Some(SINCE)));
    assert_ne!(status["conditions"][0]["lastTransitionTime"], SINCE);
}
