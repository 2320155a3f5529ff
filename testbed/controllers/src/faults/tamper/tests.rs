#![allow(clippy::unwrap_used)]

use std::sync::Arc;

use serde_json::{Value, json};

use super::*;
use crate::status::{Condition, DesiredStatus, Truth};

fn update() -> StatusUpdate {
    let conditions = vec![Condition::new("Accepted", Truth::True, "Accepted", "")];
    StatusUpdate {
        kind: Kind::GatewayClass,
        key: ObjectKey::new("", "class"),
        generation: 1,
        controller_name: "example.net/controller".to_owned(),
        status: DesiredStatus::GatewayClass { conditions, supported_features: Vec::new(), as_names: false },
    }
}

fn flip() -> StatusEdit {
    Arc::new(|_, status| status["conditions"][0]["status"] = json!("False"))
}

fn tampered(kind: Kind, name: &str) -> Tamper {
    let tamper = Tamper::default();
    lock(&tamper.0.statuses).push((kind.name().to_owned(), ObjectKey::new("", name), flip()));
    tamper
}

#[test]
fn a_plain_handle_changes_nothing() {
    let (live, update) = (json!({}), update());
    assert_eq!(Tamper::default().merge(&live, &update, "now"), crate::status::merge(&live, &update, "now"));
    assert_eq!(tampered(Kind::GatewayClass, "other").merge(&live, &update, "now")["conditions"][0]["status"], "True");
}

#[test]
fn what_is_wrong_stays_wrong_and_is_written_once() {
    let tamper = tampered(Kind::GatewayClass, "class");
    let first = tamper.merge(&json!({}), &update(), "then");
    assert_eq!(first["conditions"][0]["status"], "False");
    let live = json!({"status": first});
    let second = tamper.merge(&live, &update(), "later");
    assert!(!tamper.is_needed(&live, &second), "{second} is written over {first}");
}

#[test]
fn times_of_conditions_are_kept_wherever_they_stand() {
    let status = |value: &str, time: &str| -> Value {
        let conditions = json!([{"type": "Accepted", "status": value, "lastTransitionTime": time}]);
        json!({
            "conditions": conditions,
            "listeners": [{"name": "one", "conditions": conditions}],
            "parents": [{"parentRef": {"name": "gw"}, "controllerName": "a/b", "conditions": conditions}],
        })
    };
    let mut after = status("False", "later");
    keep_times(&status("False", "then"), &mut after);
    assert_eq!(after, status("False", "then"));
    let mut after = status("True", "later");
    keep_times(&status("False", "then"), &mut after);
    assert_eq!(after, status("True", "later"));
}

#[test]
fn what_is_spoiled_can_be_read_as_it_would_be() {
    let tamper = Tamper::default();
    let key = ObjectKey::new("ns", "name");
    lock(&tamper.0.statuses).push(("Other".to_owned(), key.clone(), flip()));
    let unfinish: ObjectEdit = Arc::new(|object| drop(object["metadata"]["finalizers"].take()));
    lock(&tamper.0.objects).push(("Other".to_owned(), key, unfinish));
    let plain = json!({
        "metadata": {"namespace": "ns", "name": "name", "finalizers": ["one"]},
        "status": {"conditions": [{"type": "Ready", "status": "True"}]},
    });
    let mut spoiled = plain.clone();
    tamper.spoil("Other", &plain, &mut spoiled);
    assert_eq!(spoiled["status"]["conditions"][0]["status"], "False");
    assert_eq!(spoiled["metadata"]["finalizers"], Value::Null);
    assert_eq!(tamper.restore("Other", &spoiled), Some(plain.clone()));
    assert_eq!((tamper.restore("Other", &plain), tamper.restore("Another", &spoiled)), (None, None));
    // What others write since then is as it is.
    spoiled["status"]["conditions"] = json!([]);
    assert_eq!(tamper.restore("Other", &spoiled).unwrap()["status"]["conditions"], json!([]));
}
