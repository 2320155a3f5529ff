//! What a judge begins with is what it would have come to by itself.

use std::sync::Arc;
use std::time::Duration;

use proptest::prelude::*;
use serde_json::{Value, json};

use super::driver::*;
use crate::dialects::Dialect;
use crate::judge::account::Account;
use crate::judge::contract::ContractState;
use crate::judge::history::Latest;
use crate::judge::{Checkpoints, others::Foreign};
use crate::log::{Body, Change, Elapsed, Event, ObjectKey, Scope, Sight, Write, WriteOutcome, WriteVerb};
use crate::scenario::{Basis, ObjectRef};

fn class_ref() -> ObjectRef {
    ObjectRef { kind: "GatewayClass".to_owned(), namespace: None, name: "class".to_owned(), pool: false }
}

fn class(generation: i64) -> Value {
    json!({
        "apiVersion": "gateway.networking.k8s.io/v1", "kind": "GatewayClass",
        "metadata": {"name": "class", "uid": "uid-class", "generation": generation, "resourceVersion": generation.to_string()},
        "spec": {"controllerName": CONTROLLER, "description": generation},
    })
}

/// A version of the shared Gateway.
fn gateway(version: u64, generation: i64, port: u16, address: Option<&str>, writer: &str) -> Value {
    let mut gateway = pool_gateway();
    let by = json!({"manager": writer, "subresource": "status", "time": "2026-01-01T00:00:00Z"});
    gateway["metadata"]["generation"] = json!(generation);
    gateway["metadata"]["resourceVersion"] = json!(version.to_string());
    gateway["metadata"]["managedFields"] = json!([by]);
    gateway["spec"]["listeners"][0]["port"] = json!(port);
    gateway["status"]["addresses"] = address.map_or(json!([]), |value| json!([{"value": value}]));
    gateway
}

fn made(verb: WriteVerb, generation: i64, version: u64, port: u16) -> Body {
    let sent = match verb {
        WriteVerb::Apply => pool_gateway(),
        _ => json!({"spec": {"listeners": [{"name": "http", "port": port, "protocol": "HTTP"}]}}),
    };
    let resource_version = version.to_string();
    let outcome = WriteOutcome::Admitted { uid: "uid-gw".to_owned(), generation, resource_version };
    let (key, api_version) = (ObjectKey::of(&pool_gateway()).unwrap(), "gateway.networking.k8s.io/v1".to_owned());
    Body::Made(Box::new(Write { step: 0, ordinal: 0, verb, key, api_version, sent: Some(Arc::new(sent)), outcome }))
}

fn happening() -> impl Strategy<Value = (Scope, Body)> {
    let pool = || Scope::Pool("http".into());
    let resource = "gateways".to_owned();
    let observed = (0..9u64, 1..3i64, 80..83u16, prop::option::of(Just("10.0.0.1")), prop_oneof![Just("a"), Just("b")])
        .prop_map(move |(version, generation, port, address, writer)| {
            (pool(), modified(&gateway(version, generation, port, address, writer)))
        });
    let made = (prop_oneof![Just(WriteVerb::Apply), Just(WriteVerb::Patch)], 1..3i64, 0..9u64, 80..83u16)
        .prop_map(move |(verb, generation, version, port)| (pool(), made(verb, generation, version, port)));
    let of_run = prop_oneof![
        (1..4i64).prop_map(|generation| seen(Change::Modified, &class(generation))),
        Just(seen(Change::Deleted, &class(1))),
        Just(Body::Gap { resource: resource.clone(), reason: String::new() }),
        any::<bool>().prop_map(|doubted| Body::Blind {
            resource: "gateways".to_owned(),
            kind: "Gateway".to_owned(),
            reason: String::new(),
            doubted,
        }),
        Just(Body::Sighted { resource, kind: "Gateway".to_owned(), by: 5 }),
        prop_oneof![Just(10), Just(100_000)].prop_map(|by| Body::Lagged { by }),
    ];
    let elsewhere = Just((Scope::Pool("other".into()), made_elsewhere()));
    prop_oneof![4 => observed, 2 => made, 3 => of_run.prop_map(|body| (Scope::Run, body)), 1 => elsewhere]
}

fn made_elsewhere() -> Body {
    let mut other = pool_gateway();
    other["metadata"]["name"] = json!("gw-other");
    modified(&other)
}

/// All that can be asked of an account.
fn asked(mut account: Account) -> String {
    let (gateway_ref, class_ref) = (gateway_ref(), class_ref());
    let history = &account.history;
    let mut said = vec![format!("{:?}", account.stirred)];
    for object in [&gateway_ref, &class_ref] {
        let latest = match history.latest(object) {
            Latest::Current(version) | Latest::Behind { seen: version, .. } => version.object.to_string(),
            other => format!("{other:?}"),
        };
        let versions: Vec<String> = history.versions(object).iter().map(|one| one.object.to_string()).collect();
        let one = std::iter::once(object);
        let watch = (history.breaks(one.clone()), history.blind(one.clone()), history.is_doubted(one));
        said.push(format!("{latest} {versions:?} {watch:?}"));
    }
    for version in 0..9 {
        let (key, object) = (ObjectKey::of(&pool_gateway()).unwrap(), gateway(version, 1, 80, None, "a"));
        said.push(history.has_shown(&Sight { key, object: Some(Arc::new(object)) }).to_string());
    }
    for name in ["a", "b"] {
        said.push(account.others.is_writer_of_statuses(name).to_string());
    }
    account.others.begin(&bindings());
    let mut foreign: Vec<Foreign> = account.others.interference();
    foreign.sort_by_key(|one| one.seq);
    said.push(format!("{foreign:?}"));
    said.push(account.contract.stands_since().to_string());
    said.join("\n")
}

proptest! {
    #[test]
    fn a_checkpoint_is_what_all_events_come_to(
        happenings in prop::collection::vec((0..3000u64, happening()), 0..24),
    ) {
        let scopes = [Scope::Run, Scope::Pool("http".into())];
        let state = ContractState::new(contract(), Basis::default(), CONTROLLER.to_owned());
        let mut whole = Account::new(&Dialect::gateway_api(), state);
        let mut checkpoints = Checkpoints::new(&contract(), CONTROLLER);
        let mut at = Elapsed(0);
        for (seq, (later, (scope, body))) in happenings.into_iter().enumerate() {
            at = at + Duration::from_millis(later);
            let event = Event { seq: seq as u64, at, scope, body };
            checkpoints.observe(&event);
            if scopes.contains(&event.scope) {
                whole.observe(&event);
            }
        }
        prop_assert_eq!(asked(checkpoints.of(&scopes)), asked(whole));
    }
}

/// A flood of versions takes no more room than what can be asked about.
#[test]
fn of_many_versions_those_are_kept_that_say_where_an_object_can_be_reached() {
    let mut checkpoints = Checkpoints::new(&contract(), CONTROLLER);
    let scope = Scope::Pool("http".into());
    for version in 1..1000u64 {
        let port = if version == 7 { 81 } else { 80 };
        let address = (version % 10 != 0).then_some("10.0.0.1");
        let body = modified(&gateway(version, 1, port, address, "a"));
        checkpoints.observe(&Event { seq: version, at: Elapsed(version), scope: scope.clone(), body });
    }
    let account = checkpoints.of(&[scope]);
    let kept = account.history.versions(&gateway_ref()).iter();
    let kept: Vec<&str> = kept.filter_map(|one| one.object.pointer("/metadata/resourceVersion")?.as_str()).collect();
    assert_eq!(kept, ["7", "990", "999"]);
    let key = ObjectKey::of(&pool_gateway()).unwrap();
    let sight = |version| Sight { key: key.clone(), object: Some(Arc::new(gateway(version, 1, 80, None, "a"))) };
    assert!(account.history.has_shown(&sight(8)));
    assert!(!account.history.has_shown(&sight(1000)));
}
