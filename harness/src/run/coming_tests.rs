#![allow(clippy::unwrap_used)]
use rstest::rstest;
use serde_json::{Value, json};

use super::*;
use crate::log::{Elapsed, Write};
use crate::scenario::load;

fn key(kind: &str) -> ObjectKey {
    ObjectKey {
        group: "gateway.networking.k8s.io".into(),
        kind: kind.into(),
        namespace: Some("n".into()),
        name: "own".into(),
    }
}

fn own_scope() -> Scope {
    Scope::Scenario(Arc::from("test"))
}

fn wrote(kind: &str, verb: WriteVerb, code: u16) -> Body {
    let outcome = match code {
        200 => WriteOutcome::Admitted { uid: "u".into(), generation: 1, resource_version: "1".into() },
        code => WriteOutcome::Refused { code, reason: String::new(), message: String::new(), causes: Vec::new() },
    };
    let api_version = "gateway.networking.k8s.io/v1".into();
    Body::Wrote(Box::new(Write { step: 0, ordinal: 0, verb, key: key(kind), api_version, sent: None, outcome }))
}

fn seen(kind: &str, change: Change, programmed: &str) -> Body {
    let address = json!([{"type": "IPAddress", "value": "10.0.0.1"}]);
    let status = json!({"conditions": [{"type": "Programmed", "status": programmed}], "addresses": address});
    let object: Value = json!({"kind": kind, "metadata": {"namespace": "n", "name": "own"}, "status": status});
    Body::Observed { key: key(kind), change, object: Arc::new(object) }
}

/// The same, where its conditions say that they came at a time.
fn at(mut body: Body, time: &str) -> Body {
    if let Body::Observed { object, .. } = &mut body {
        Arc::make_mut(object)["status"]["conditions"][0]["lastTransitionTime"] = json!(time);
    }
    body
}

fn told(events: Vec<(Scope, Body)>) -> Vec<Moved> {
    let mut watch = Watch::new(Dialect::gateway_api());
    let event = |(seq, (scope, body))| Event { seq, at: Elapsed(seq), scope, body };
    (0_u64..).zip(events).map(event).filter_map(|event| watch.observe(&event)).collect()
}

#[rstest]
#[case::to_the_end(
    vec![wrote("Gateway", WriteVerb::Apply, 200), seen("Gateway", Change::Added, "Unknown"), seen("Gateway", Change::Modified, "False"),
        seen("Gateway", Change::Modified, "True"), seen("Gateway", Change::Modified, "False"), wrote("Gateway", WriteVerb::Apply, 200),
        seen("Gateway", Change::Deleted, "True"), seen("Gateway", Change::Deleted, "True")],
    vec![Moved::Made(key("Gateway")), Moved::Changed(key("Gateway")), Moved::Changed(key("Gateway")),
        Moved::Programmed(key("Gateway")), Moved::Gone(key("Gateway"))],
)]
#[case::refused(vec![wrote("Gateway", WriteVerb::Apply, 422)], vec![Moved::Refused])]
#[case::a_change_that_is_refused(
    vec![wrote("Gateway", WriteVerb::Apply, 200), wrote("Gateway", WriteVerb::Apply, 422), wrote("Gateway", WriteVerb::Patch, 200)],
    vec![Moved::Made(key("Gateway"))],
)]
#[case::seen_before_it_was_answered(
    vec![seen("Gateway", Change::Added, "Unknown"), wrote("Gateway", WriteVerb::Apply, 200)],
    vec![Moved::Made(key("Gateway"))],
)]
#[case::programmed_before_it_was_answered(
    vec![seen("Gateway", Change::Added, "True"), wrote("Gateway", WriteVerb::Apply, 200)],
    vec![Moved::Programmed(key("Gateway"))],
)]
#[case::made_again(
    vec![wrote("Gateway", WriteVerb::Apply, 200), seen("Gateway", Change::Deleted, "True"), wrote("Gateway", WriteVerb::Apply, 200)],
    vec![Moved::Made(key("Gateway")), Moved::Gone(key("Gateway")), Moved::Made(key("Gateway"))],
)]
#[case::with_new_times(
    vec![seen("Gateway", Change::Added, "Unknown"), at(seen("Gateway", Change::Modified, "Unknown"), "1"),
        at(seen("Gateway", Change::Modified, "Unknown"), "2"), at(seen("Gateway", Change::Modified, "False"), "2")],
    vec![Moved::Made(key("Gateway")), Moved::Changed(key("Gateway"))],
)]
#[case::another_kind(vec![wrote("HTTPRoute", WriteVerb::Apply, 200), seen("HTTPRoute", Change::Added, "True")], vec![])]
fn what_becomes_of_a_gateway_is_told_once(#[case] bodies: Vec<Body>, #[case] expected: Vec<Moved>) {
    assert_eq!(told(bodies.into_iter().map(|body| (own_scope(), body)).collect()), expected);
}

#[test]
fn gateways_of_the_pool_are_nobodys_own() {
    let pool = Scope::Pool(Arc::from("http-1"));
    assert_eq!(told(vec![(pool, seen("Gateway", Change::Added, "True"))]), []);
}

#[rstest]
#[case("httproute-simple", 0)]
#[case("gateway-serves", 1)]
fn scenarios_say_how_many_gateways_they_make(#[case] name: &str, #[case] gateways: usize) {
    let scenarios = load::builtin_once();
    let scenario = scenarios.iter().find(|scenario| scenario.name == name).unwrap();
    assert_eq!(own(scenario), gateways);
}
