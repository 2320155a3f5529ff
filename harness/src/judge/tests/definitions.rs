use std::sync::Arc;

use rstest::rstest;
use serde_json::{Value, json};

use super::driver::{CONTROLLER, contract};
use crate::judge::contract::{ContractState, Watched, records};
use crate::log::{Body, Change, Elapsed, Event, ObjectKey, Scope, Write, WriteOutcome, WriteVerb};
use crate::scenario::{Basis, Channel};

const NAME: &str = "httproutes.gateway.networking.k8s.io";

fn seen(object: Value) -> Body {
    let key = ObjectKey::of(&object).unwrap();
    Body::Observed { key, change: Change::Modified, object: Arc::new(object) }
}

/// A version of the definition: its number, release and channel, and who wrote it.
fn version(number: u64, release: &str, channel: &str, by: &str) -> Body {
    seen(json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {
            "name": NAME, "uid": "u", "resourceVersion": number.to_string(),
            "annotations": {"gateway.networking.k8s.io/bundle-version": release, "gateway.networking.k8s.io/channel": channel},
            "managedFields": [{"manager": by, "operation": "Update", "time": number.to_string()}],
        },
    }))
}

/// The target says something of its class.
fn status() -> Body {
    seen(json!({
        "apiVersion": "gateway.networking.k8s.io/v1", "kind": "GatewayClass",
        "metadata": {"name": "class", "uid": "c", "resourceVersion": "1",
            "managedFields": [{"manager": "target", "operation": "Update", "subresource": "status", "time": "1"}]},
        "spec": {"controllerName": CONTROLLER},
    }))
}

/// The run writes the definition.
fn wrote(number: u64) -> Body {
    let outcome = WriteOutcome::Admitted { uid: "u".to_owned(), generation: 1, resource_version: number.to_string() };
    let key = ObjectKey {
        group: "apiextensions.k8s.io".to_owned(),
        kind: "CustomResourceDefinition".to_owned(),
        namespace: None,
        name: NAME.to_owned(),
    };
    let (verb, api_version, sent) = (WriteVerb::Patch, "apiextensions.k8s.io/v1".to_owned(), None);
    Body::Made(Box::new(Write { step: 0, ordinal: 0, verb, key, api_version, sent, outcome }))
}

fn state(bodies: Vec<Body>) -> ContractState {
    let basis = Basis::release("v1.7.0".parse().unwrap(), Channel::Standard);
    let mut state = ContractState::new(contract(), basis, CONTROLLER.to_owned());
    for (seq, body) in bodies.into_iter().enumerate() {
        let (seq, at) = (seq as u64, Elapsed(seq as u64));
        state.observe(&Event { seq, at, scope: Scope::Run, body });
    }
    state
}

/// The paths of steps back.
fn found(bodies: Vec<Body>) -> Vec<String> {
    let state = state(bodies);
    let key = ObjectKey::of(
        &json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": NAME}}),
    );
    let kept = state.breaches().into_iter().filter(|(name, _)| name.ends_with("/definitions-kept"));
    let paths: Vec<String> = kept.map(|(_, breach)| breach.path.rsplit('/').next().unwrap().to_owned()).collect();
    assert_eq!(state.steps_back(&key.unwrap()), !paths.is_empty());
    paths
}

#[rstest]
#[case::older(("v1.7.0", "standard"), ("v1.6.3", "standard"), &["bundle-version"])]
#[case::older_patch(("v1.7.1", "standard"), ("v1.7.0", "standard"), &["bundle-version"])]
#[case::other_channel(("v1.7.0", "standard"), ("v1.7.0", "experimental"), &["channel"])]
#[case::other_channel_of_a_newer_one(("v1.6.0", "experimental"), ("v1.7.0", "standard"), &["channel"])]
#[case::both(("v1.7.0", "standard"), ("v1.6.0", "experimental"), &["bundle-version"])]
#[case::newer(("v1.6.3", "standard"), ("v1.7.0", "standard"), &[])]
#[case::the_same(("v1.7.0", "standard"), ("v1.7.0", "standard"), &[])]
#[case::under_development(("v1.7.0", "standard"), ("v0.0.0-dev", "standard"), &[])]
#[case::no_release(("v1.7.0", "standard"), ("monthly", "standard"), &[])]
fn a_target_takes_no_definition_back(#[case] was: (&str, &str), #[case] is: (&str, &str), #[case] expected: &[&str]) {
    let before = version(10, was.0, was.1, "kubectl");
    let events = vec![status(), before.clone(), version(11, is.0, is.1, "target")];
    assert_eq!(found(events), expected);
    // Somebody else may, and who that is need not be known at once.
    assert_eq!(found(vec![status(), before.clone(), version(11, is.0, is.1, "kubectl")]), Vec::<String>::new());
    assert_eq!(found(vec![before, version(11, is.0, is.1, "target"), status()]), expected);
}

#[rstest]
#[case::told_before(&[0, 1, 2], &[])]
#[case::told_after(&[0, 2, 1], &[])]
#[case::not_told(&[0, 2], &["bundle-version"])]
#[case::shown_twice(&[0, 1, 2, 0, 2], &[])]
fn what_the_run_wrote_is_its_own(#[case] order: &[usize], #[case] expected: &[&str]) {
    // What was there before was the target's, and within a second nothing else tells who wrote.
    let events = [version(10, "v1.99.0", "standard", "target"), wrote(11), version(12, "v1.7.0", "standard", "target")];
    let events = [status()].into_iter().chain(order.iter().map(|at| events[*at].clone()));
    assert_eq!(found(events.collect()), expected);
}

#[test]
fn definitions_are_counted_where_they_are_held() {
    let state = state(vec![status(), version(10, "v1.7.0", "standard", "kubectl")]);
    let basis = Basis::release("v1.7.0".parse().unwrap(), Channel::Standard);
    let records = records(&contract(), basis, &Watched::of(state.watched(), |_| false), state.breaches());
    let name = "contract/CustomResourceDefinition/definitions-kept";
    let record = records.iter().find(|record| record.name == name).unwrap();
    assert_eq!((record.objects, record.breaches.len(), &record.clauses[..]), (1, 0, &["IMPL-11".to_owned()][..]));
    assert!(contract().rule_names().contains(&name.to_owned()));
}
