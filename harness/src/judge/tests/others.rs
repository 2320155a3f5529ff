use std::sync::Arc;

use rstest::rstest;
use serde_json::{Value, json};

use super::driver::*;
use crate::judge::others::{Foreign, Others};
use crate::log::{Body, Change, Elapsed, Event, ObjectKey, Scope, Write, WriteOutcome, WriteVerb};
use gateproof_report::record::Outcome;

fn service(version: &str, ports: Value) -> Value {
    json!({
        "apiVersion": "v1", "kind": "Service",
        "metadata": {"name": "echo", "namespace": NS, "uid": "u", "resourceVersion": version},
        "spec": {"ports": ports, "selector": {"app": "echo"}},
    })
}

fn sent() -> Value {
    json!({
        "apiVersion": "v1", "kind": "Service", "metadata": {"name": "echo", "namespace": NS},
        "spec": {"ports": [{"port": 80}], "selector": {"app": "echo"}, "ipFamilies": [], "externalName": ""},
    })
}

fn key() -> ObjectKey {
    ObjectKey::of(&sent()).unwrap()
}

fn wrote(verb: WriteVerb, key: ObjectKey, version: &str, sent: Option<Value>) -> Body {
    let outcome = WriteOutcome::Admitted { uid: "u".to_owned(), generation: 1, resource_version: version.to_owned() };
    let (api_version, sent) = ("v1".to_owned(), sent.map(Arc::new));
    Body::Made(Box::new(Write { step: 0, ordinal: 0, verb, key, api_version, sent, outcome }))
}

fn seen(change: Change, object: &Value) -> Body {
    Body::Observed { key: ObjectKey::of(object).unwrap(), change, object: Arc::new(object.clone()) }
}

/// What is found of these events, which come after the Service was made at version 10.
fn found(events: Vec<Body>) -> Vec<Foreign> {
    let mut others = Others::of(crate::dialects::Dialect::gateway_api());
    others.begin(&bindings());
    let made = wrote(WriteVerb::Apply, key(), "10", Some(sent()));
    let first = seen(Change::Added, &service("10", json!([{"port": 80, "protocol": "TCP"}])));
    let mut all = Vec::new();
    for (seq, body) in [made, first].into_iter().chain(events).enumerate() {
        let (seq, at) = (seq as u64, Elapsed(seq as u64));
        others.observe(&Event { seq, at, scope: Scope::Scenario("test".into()), body });
        all.extend(others.interference());
    }
    all
}

fn other(object: &Value, change: impl FnOnce(&mut Value)) -> Value {
    let mut object = object.clone();
    change(&mut object);
    object
}

fn ports() -> Value {
    json!([{"port": 80, "protocol": "TCP"}])
}

#[rstest]
#[case::deleted(seen(Change::Deleted, &service("11", ports())), "deleted")]
#[case::going(seen(Change::Modified, &other(&service("11", ports()), |o| o["metadata"]["deletionTimestamp"] = json!("now"))), "deleted")]
#[case::made_anew(seen(Change::Added, &other(&service("11", ports()), |o| o["metadata"]["uid"] = json!("v"))), "deleted and made anew")]
#[case::changed(seen(Change::Modified, &service("11", json!([{"port": 81}]))), "changed at spec.ports[0].port")]
#[case::more_of_a_list(seen(Change::Modified, &service("11", json!([{"port": 80}, {"port": 81}]))), "changed at spec.ports")]
#[case::taken_away(seen(Change::Modified, &other(&service("11", ports()), |o| o["spec"] = json!({"ports": ports()}))), "changed at spec.selector")]
fn what_others_do_is_found(#[case] event: Body, #[case] what: &str) {
    let found = found(vec![event]);
    assert_eq!(found.iter().map(|foreign| foreign.what.as_str()).collect::<Vec<_>>(), [what]);
}

fn entry(manager: &str, time: &str) -> Value {
    json!({"manager": manager, "operation": "Update", "time": time})
}

/// Nothing of an object tells who deleted it, or who took a field away: whoever wrote last did so before.
#[rstest]
#[case::edited(json!([{"port": 81}]), json!([entry("somebody", "2")]), None, &["somebody"])]
#[case::edited_after_the_target(json!([{"port": 81}]), json!([entry("target", "1"), entry("somebody", "1")]), None, &["somebody"])]
#[case::taken_away(json!([]), json!([entry("target", "1")]), None, &[])]
#[case::taken_away_later(json!([]), json!([entry("target", "2")]), None, &[])]
#[case::deleted_under_a_finalizer(json!([{"port": 80}]), json!([entry("target", "2")]), Some("now"), &[])]
fn who_did_it_is_said_only_where_it_tells(
    #[case] ports: Value,
    #[case] entries: Value,
    #[case] deleted: Option<&str>,
    #[case] by: &[&str],
) {
    let before =
        other(&service("11", self::ports()), |o| o["metadata"]["managedFields"] = json!([entry("target", "1")]));
    let after = other(&service("12", ports), |o| {
        o["metadata"]["managedFields"] = entries;
        if let Some(time) = deleted {
            o["metadata"]["deletionTimestamp"] = json!(time);
        }
    });
    let found = found(vec![seen(Change::Modified, &before), seen(Change::Modified, &after)]);
    assert_eq!(found.len(), 1, "{found:?}");
    assert_eq!(found[0].by, by);
}

#[rstest]
#[case::status(seen(Change::Modified, &other(&service("11", ports()), |o| o["status"] = json!({"loadBalancer": {}}))))]
#[case::more_beside_what_was_sent(seen(Change::Modified, &other(&service("11", ports()), |o| {
    o["metadata"]["finalizers"] = json!(["a/b"]);
    o["metadata"]["annotations"] = json!({"a": "b"});
    o["spec"]["clusterIP"] = json!("10.0.0.1");
})))]
#[case::an_old_version(seen(Change::Modified, &service("9", json!([{"port": 81}]))))]
#[case::versions_that_are_no_numbers(seen(Change::Modified, &service("x", json!([{"port": 81}]))))]
fn what_is_no_interference_is_none(#[case] event: Body) {
    assert_eq!(found(vec![event]), []);
}

const DEFINED: &str = "tcproutes.gateway.networking.k8s.io";

/// A definition as it is watched, and what is sent for one.
fn definition(generation: i64, version: &str) -> Value {
    let metadata = json!({"name": DEFINED, "uid": "u", "generation": generation, "resourceVersion": version});
    json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": metadata})
}

/// What is found of a definition that the run made, and of a route of that kind.
fn found_of_definition(events: Vec<(Scope, Body)>) -> Vec<String> {
    let key = ObjectKey::of(&definition(1, "1")).unwrap();
    let sent = other(&definition(1, "1"), |o| o["metadata"] = json!({"name": DEFINED, "labels": {"a": "b"}}));
    let mut others = Others::of(crate::dialects::Dialect::gateway_api());
    others.begin(&bindings());
    let made = (Scope::Scenario("test".into()), wrote(WriteVerb::Apply, key, "10", Some(sent)));
    let mut all = Vec::new();
    for (seq, (scope, body)) in [made].into_iter().chain(events).enumerate() {
        let (seq, at) = (seq as u64, Elapsed(seq as u64));
        others.observe(&Event { seq, at, scope, body });
        all.extend(others.interference().into_iter().map(|foreign| format!("{} {}", foreign.key.kind, foreign.what)));
    }
    all
}

/// What goes with a definition that the run deletes is no interference; a definition that others delete or change is.
#[test]
fn definitions_of_the_run_come_and_go() {
    let key = ObjectKey::of(&definition(1, "1")).unwrap();
    let run = |body| (Scope::Run, body);
    let metadata = json!({"name": "late", "namespace": NS, "uid": "r", "resourceVersion": "12"});
    let route = json!({"apiVersion": "gateway.networking.k8s.io/v1", "kind": "TCPRoute", "metadata": metadata});
    let mine = |body| (Scope::Scenario("test".into()), body);
    let route_made = Body::Made(Box::new(Write {
        step: 0,
        ordinal: 0,
        verb: WriteVerb::Apply,
        key: ObjectKey::of(&route).unwrap(),
        api_version: "gateway.networking.k8s.io/v1".to_owned(),
        sent: Some(Arc::new(json!({}))),
        outcome: WriteOutcome::Admitted { uid: "r".to_owned(), generation: 1, resource_version: "12".to_owned() },
    }));
    let begin = || {
        vec![
            // Of the version that was written nothing is seen: definitions get a status at once.
            run(seen(Change::Added, &definition(1, "11"))),
            mine(route_made.clone()),
        ]
    };
    let with = |more: Vec<(Scope, Body)>| found_of_definition(begin().into_iter().chain(more).collect());
    let gone = || mine(seen(Change::Deleted, &route));
    let deleted = run(wrote(WriteVerb::Delete, key, "", None));
    let away = || run(seen(Change::Deleted, &definition(2, "14")));
    assert_eq!(with(vec![deleted, gone(), away()]), Vec::<String>::new());
    assert_eq!(with(vec![gone()]), ["TCPRoute deleted"]);
    assert_eq!(with(vec![away()]), ["CustomResourceDefinition deleted"]);
    assert_eq!(with(vec![run(seen(Change::Modified, &definition(2, "13")))]), ["CustomResourceDefinition added to"]);
}

fn namespace() -> ObjectKey {
    ObjectKey { group: String::new(), kind: "Namespace".to_owned(), namespace: None, name: NS.to_owned() }
}

#[rstest]
#[case::deleted(vec![wrote(WriteVerb::Delete, key(), "", None), seen(Change::Deleted, &service("11", ports()))])]
#[case::its_namespace(vec![wrote(WriteVerb::Delete, namespace(), "", None), seen(Change::Deleted, &service("11", ports()))])]
#[case::its_owner(vec![
    wrote(WriteVerb::Delete, ObjectKey { kind: "Gateway".to_owned(), ..key() }, "", None),
    seen(Change::Deleted, &other(&service("11", ports()), |o| o["metadata"]["ownerReferences"] = json!([{"kind": "Gateway", "name": "echo"}]))),
])]
#[case::patched(vec![
    wrote(WriteVerb::Patch, key(), "11", Some(json!({"spec": {"ports": [{"port": 81}]}}))),
    seen(Change::Modified, &service("11", json!([{"port": 81}]))),
    seen(Change::Modified, &service("12", json!([{"port": 81}]))),
])]
#[case::patched_by_operations(vec![
    wrote(WriteVerb::Patch, key(), "11", Some(json!([{"op": "replace", "path": "/spec/ports/0/port", "value": 81}]))),
    seen(Change::Modified, &service("12", json!([{"port": 81}]))),
])]
#[case::applied_again(vec![
    wrote(WriteVerb::Apply, key(), "11", Some(other(&sent(), |o| o["spec"]["ports"] = json!([{"port": 81}])))),
    seen(Change::Modified, &service("12", json!([{"port": 81}]))),
])]
#[case::mutated_on_the_way_in(vec![
    wrote(WriteVerb::Apply, key(), "11", Some(other(&sent(), |o| o["spec"]["ports"] = json!([{"port": 81}])))),
    seen(Change::Modified, &service("11", json!([{"port": 82}]))),
    seen(Change::Modified, &service("12", json!([{"port": 82}]))),
])]
fn what_the_run_did_explains_itself(#[case] events: Vec<Body>) {
    assert_eq!(found(events), []);
}

fn managed(object: &Value, entries: &[(&str, &str)]) -> Value {
    let entries: Vec<Value> = entries
        .iter()
        .map(|(manager, subresource)| json!({"manager": manager, "operation": "Update", "subresource": subresource, "time": "t"}))
        .collect();
    other(object, |o| o["metadata"]["managedFields"] = json!(entries))
}

/// The route, its spec changed at version 11 by this manager; the controller under test has written its status before.
fn spec_changed_by(managers: &[(&str, &str)]) -> crate::judge::Verdict {
    spec_changed_after(&[("controller", "status")], managers)
}

fn spec_changed_after(before: &[(&str, &str)], managers: &[(&str, &str)]) -> crate::judge::Verdict {
    let version = |version: &str| {
        let route = route_version(1, &["http"], &[("http", GOOD)]);
        other(&route, |o| o["metadata"]["resourceVersion"] = json!(version))
    };
    let good = managed(&version("10"), before);
    let changed =
        other(&managed(&version("11"), managers), |o| o["spec"]["parentRefs"][0]["sectionName"] = json!("tls"));
    let settled = settle(vec![route_subject(&["Accepted=True/Accepted"])]);
    let mut play = Play::new(scenario(vec![apply(vec![route(&["http"])]), settled])).writes(move |_, _| {
        let (WriteOutcome::Admitted { uid, generation, .. }, _) = (admitted(1), ()) else { unreachable!() };
        let outcome = WriteOutcome::Admitted { uid, generation, resource_version: "10".to_owned() };
        (outcome, vec![(10, modified(&good)), (60, modified(&changed))])
    });
    play.run()
}

#[test]
fn what_others_change_leaves_the_scenario_open_and_says_who() {
    let verdict = spec_changed_by(&[("kubectl-edit", "")]);
    assert_eq!(verdict.outcome, Outcome::Inconclusive, "{verdict:?}");
    let reason = verdict.reason.unwrap();
    assert!(reason.contains("HTTPRoute") && reason.contains("changed at spec.parentRefs[0].sectionName"), "{reason}");
    assert!(reason.contains("kubectl-edit") && reason.contains("61 ms"), "{reason}");
    assert_eq!(verdict.contract, []);
    // Whoever wrote the status within the same second did not change the spec.
    let verdict = spec_changed_by(&[("controller", "status"), ("kubectl-edit", "")]);
    assert_eq!(verdict.outcome, Outcome::Inconclusive, "{verdict:?}");
}

#[test]
fn what_the_target_changes_is_a_breach_of_its_own() {
    // The second time within a second of the first, when it claimed the object.
    let before = [("controller", "status"), ("controller", "")];
    for verdict in [spec_changed_by(&[("controller", "")]), spec_changed_after(&before, &before)] {
        let names: Vec<&str> = verdict.contract.iter().map(|(name, _)| name.as_str()).collect();
        assert!(names.contains(&"contract/HTTPRoute/objects-untouched"), "{names:?}");
        assert_ne!(verdict.outcome, Outcome::Inconclusive, "{verdict:?}");
    }
    // Another one had written in that second too.
    let both = [("controller", "status"), ("controller", ""), ("kubectl-edit", "")];
    assert_eq!(spec_changed_after(&both, &both).outcome, Outcome::Inconclusive);
}

#[rstest]
#[case::at_once(20)]
#[case::seen_behind_what_came_of_it(90)]
fn a_failure_is_nobodys_that_came_with_what_others_did(#[case] deleted_ms: u64) {
    let good = route_version(1, &["http"], &[("http", GOOD)]);
    let bad = route_version(1, &["http"], &[("http", &["Accepted=False/Gone"])]);
    let hold = crate::scenario::Verb::Hold(crate::scenario::Hold {
        duration: crate::scenario::HoldFor::Millis(500),
        never: Vec::new(),
        always: vec![route_subject(&["Accepted=True"])],
        unchanged: Vec::new(),
        other_messages: false,
        unchanged_level: crate::scenario::Level::Must,
    });
    let gone =
        Body::Observed { key: key_of(&gateway_ref()), change: Change::Deleted, object: Arc::new(pool_gateway()) };
    let steps = vec![apply(vec![route(&["http"])]), settle(vec![route_subject(&["Accepted=True"])]), hold];
    let play = |gone: Option<Body>| {
        let (good, bad) = (good.clone(), bad.clone());
        let mut play = Play::new(scenario(steps.clone()))
            .writes(move |_, _| (admitted(1), vec![(1, modified(&good)), (200, modified(&bad))]));
        play.made(wrote(WriteVerb::Apply, key_of(&gateway_ref()), "1", None));
        if let Some(gone) = gone {
            play = play.at(180 + deleted_ms, gone);
        }
        play.run()
    };
    assert_eq!(play(None).outcome, Outcome::Failed);
    let verdict = play(Some(gone));
    assert_eq!(verdict.outcome, Outcome::Inconclusive, "{verdict:?}");
    assert!(verdict.reason.unwrap().contains("nobody known"));
}
