//! Fields that are wrong.

use std::net::IpAddr;
use std::sync::Arc;

use gateproof_controllers::faults::tamper::{ObjectEdit, StatusEdit};
use serde_json::{Value, json};

use super::OTHER;
use crate::scenario::FieldTest;
use crate::scenario::pointer::resolved;

/// A field of a status with another value.
pub(super) fn of_status(pointer: &str, test: &FieldTest) -> StatusEdit {
    let (pointer, test) = (pointer.to_owned(), test.clone());
    Arc::new(move |object, status| {
        let at = object.pointer("/metadata/creationTimestamp").cloned().unwrap_or_default();
        spoil(status, &resolved(status, &pointer), &test, &at);
    })
}

/// A field of an object with another value. What only waits for its finalizers goes.
pub(super) fn of_object(pointer: &str, test: &FieldTest) -> ObjectEdit {
    let (pointer, test) = (pointer.to_owned(), test.clone());
    Arc::new(move |object| {
        let is_going = object["metadata"].get("deletionTimestamp").is_some();
        // A finalizer that nobody knows would keep it for ever.
        if !(is_going && pointer == FINALIZERS && is_none(&test)) {
            spoil(object, &resolved(object, &pointer), &test, &Value::Null);
        }
    })
}

const FINALIZERS: &str = "/metadata/finalizers";

/// An address of documentation (RFC 5737).
const NOBODYS: &str = "198.51.100.1";

/// A text that nobody else writes, with a domain.
fn other() -> Value {
    json!(format!("{OTHER}.example/{OTHER}"))
}

fn is_none(test: &FieldTest) -> bool {
    matches!(test, FieldTest::Empty | FieldTest::Absent)
}

/// Makes a field fail a test, with a value of the same type.
fn spoil(holder: &mut Value, pointer: &str, test: &FieldTest, at: &Value) {
    if is_none(test) {
        return fill(holder, pointer, at);
    }
    if let FieldTest::OneOf(legal) = test
        && legal.contains(&Value::Null)
        && holder.pointer(pointer).is_none_or(Value::is_null)
    {
        // It may be left out, and is.
        ensure(holder, pointer);
        if let Some((Value::Object(fields), name)) = above(holder, pointer) {
            fields.insert(name, beside(legal));
        }
        return;
    }
    let Some(value) = holder.pointer_mut(pointer) else { return };
    match (test, value) {
        (FieldTest::Contains(item), Value::Array(items)) => items.retain(|one| one != item),
        (FieldTest::SortedBy(_), Value::Array(items)) => items.reverse(),
        (_, Value::Array(items)) => items.clear(),
        (FieldTest::NotEmpty, _) => remove(holder, pointer),
        (_, Value::Bool(value)) => *value = !*value,
        (_, value @ Value::Number(_)) => *value = json!(value.as_i64().unwrap_or_default() + 1),
        // What is of the type of an address has to be one, or nobody takes it.
        (_, Value::String(value)) if value.parse::<IpAddr>().is_ok() => NOBODYS.clone_into(value),
        (_, value) => *value = other_at(pointer, value),
    }
}

/// A text that nobody else writes and that is taken where the old one stands: definitions ask of kinds, of groups, and of status and reason of
/// a condition that they look like one, and what stands below `data` has to be base64 in a Secret.
fn other_at(pointer: &str, old: &Value) -> Value {
    match (pointer.rsplit_once('/').map(|(_, name)| name), old.as_str()) {
        (Some("kind" | "reason"), _) => json!("Tampered"),
        (Some("group"), _) => json!(format!("{OTHER}.example")),
        (Some("status"), Some("True")) => json!("False"),
        (Some("status"), Some("False" | "Unknown")) => json!("True"),
        _ if pointer.starts_with("/data/") => json!("VGFtcGVyZWQ="),
        _ => other(),
    }
}

/// A value that is none of these, of the type of those that are not null.
fn beside(legal: &[Value]) -> Value {
    match legal.iter().filter_map(Value::as_i64).max() {
        Some(most) => json!(most + 1),
        None => other(),
    }
}

/// The field that a pointer leads to, with what it stands in.
fn above<'v>(holder: &'v mut Value, pointer: &str) -> Option<(&'v mut Value, String)> {
    let (above, name) = pointer.rsplit_once('/')?;
    Some((holder.pointer_mut(above)?, name.replace("~1", "/").replace("~0", "~")))
}

fn remove(holder: &mut Value, pointer: &str) {
    if let Some((Value::Object(fields), name)) = above(holder, pointer) {
        fields.shift_remove(&name);
    }
}

/// Makes the objects that a field stands in, where they are not there.
fn ensure(holder: &mut Value, pointer: &str) {
    let upper = pointer.rsplit_once('/').map_or("", |(upper, _)| upper);
    if holder.pointer(upper).is_none() {
        ensure(holder, upper);
        if let Some((Value::Object(fields), name)) = above(holder, upper) {
            fields.insert(name, json!({}));
        }
    }
}

/// Puts something where nothing should be: in a list another item like the first.
fn fill(holder: &mut Value, pointer: &str, at: &Value) {
    ensure(holder, pointer);
    match above(holder, pointer) {
        Some((Value::Array(items), _)) => {
            let mut item = items.first().cloned().unwrap_or_default();
            item["name"] = json!(OTHER);
            items.push(item);
        }
        Some((Value::Object(fields), name)) => {
            let value = match name.as_str() {
                "conditions" => json!([{
                    "type": "Tampered", "status": "True", "reason": "Tampered", "message": "", "lastTransitionTime": at,
                }]),
                "finalizers" => json!([other()]),
                "loadBalancer" => json!({"ingress": [{"ip": NOBODYS}]}),
                _ => json!(OTHER),
            };
            fields.insert(name, value);
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case::equal(FieldTest::Equals(json!("a")), json!({"x": "a"}), json!({"x": "tampered.example/tampered"}))]
    #[case::address(FieldTest::Equals(json!("192.0.2.1")), json!({"x": "192.0.2.1"}), json!({"x": NOBODYS}))]
    #[case::number(FieldTest::Equals(json!(1)), json!({"x": 1}), json!({"x": 2}))]
    #[case::truth(FieldTest::Equals(json!(true)), json!({"x": true}), json!({"x": false}))]
    #[case::not_empty(FieldTest::NotEmpty, json!({"x": [1]}), json!({"x": []}))]
    #[case::not_empty_text(FieldTest::NotEmpty, json!({"x": "a"}), json!({}))]
    #[case::contains(FieldTest::Contains(json!(1)), json!({"x": [1, 2]}), json!({"x": [2]}))]
    #[case::sorted(FieldTest::SortedBy("n".to_owned()), json!({"x": [{"n": 1}, {"n": 2}]}), json!({"x": [{"n": 2}, {"n": 1}]}))]
    #[case::empty(FieldTest::Empty, json!({}), json!({"x": "tampered"}))]
    #[case::absent(FieldTest::Absent, json!({}), json!({"x": "tampered"}))]
    #[case::one_of(FieldTest::OneOf(vec![json!("a")]), json!({"x": "a"}), json!({"x": "tampered.example/tampered"}))]
    #[case::none_of(FieldTest::OneOf(vec![json!(0), Value::Null]), json!({}), json!({"x": 1}))]
    #[case::neither(FieldTest::OneOf(vec![json!("a"), Value::Null]), json!({"x": null}), json!({"x": "tampered.example/tampered"}))]
    #[case::same(FieldTest::SameAs("/y".to_owned()), json!({"x": "a", "y": "a"}), json!({"x": "tampered.example/tampered", "y": "a"}))]
    #[case::mentions(FieldTest::Mentions(json!("a")), json!({"x": "an a"}), json!({"x": "tampered.example/tampered"}))]
    #[case::current(FieldTest::Current, json!({"x": 2}), json!({"x": 3}))]
    fn a_field_is_made_wrong(#[case] test: FieldTest, #[case] mut status: Value, #[case] after: Value) {
        of_status("/x", &test)(&json!({}), &mut status);
        assert_eq!(status, after);
    }

    #[test]
    fn addresses_where_none_should_be_are_some_that_definitions_take() {
        let mut status = json!({});
        of_status("/loadBalancer", &FieldTest::Empty)(&json!({}), &mut status);
        assert_eq!(status, json!({"loadBalancer": {"ingress": [{"ip": "198.51.100.1"}]}}));
    }

    #[rstest]
    #[case::kind("/ancestorRef/kind", "Gateway", "Tampered")]
    #[case::group("/ancestorRef/group", "", "tampered.example")]
    #[case::good("/conditions/status", "True", "False")]
    #[case::bad("/conditions/status", "False", "True")]
    #[case::open("/conditions/status", "Unknown", "True")]
    #[case::state("/status", "Running", "tampered.example/tampered")]
    fn what_has_a_form_keeps_it(#[case] pointer: &str, #[case] old: &str, #[case] after: &str) {
        assert_eq!(other_at(pointer, &json!(old)), after);
    }

    #[rstest]
    #[case::there("/metadata/annotations/a~1b", json!({"metadata": {"annotations": {"a/b": "c"}}}), FieldTest::NotEmpty, json!({"metadata": {"annotations": {}}}))]
    #[case::nowhere("/metadata/annotations/a~1b", json!({"metadata": {}}), FieldTest::Absent, json!({"metadata": {"annotations": {"a/b": "tampered"}}}))]
    #[case::stays(FINALIZERS, json!({"metadata": {}}), FieldTest::Empty, json!({"metadata": {"finalizers": ["tampered.example/tampered"]}}))]
    #[case::goes(FINALIZERS, json!({"metadata": {"deletionTimestamp": "then"}}), FieldTest::Empty, json!({"metadata": {"deletionTimestamp": "then"}}))]
    fn a_field_of_an_object_is_made_wrong(
        #[case] pointer: &str,
        #[case] mut object: Value,
        #[case] test: FieldTest,
        #[case] after: Value,
    ) {
        of_object(pointer, &test)(&mut object);
        assert_eq!(object, after);
    }
}
