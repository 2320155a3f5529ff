//! Objects that a target makes, with something else on them.

use std::sync::Arc;

use gateproof_controllers::faults::tamper::ObjectEdit;
use serde_json::{Map, Value};

use super::OTHER;
use crate::scenario::{Carried, FieldTest, MadeFor};

/// They carry something else in this place, or nothing.
pub(super) fn carries(made: &MadeFor, part: &Carried) -> Option<ObjectEdit> {
    let (field, key, test) = match part {
        Carried::Label(key) => ("labels", key, made.labels.get(key)?),
        Carried::Annotation(key) => ("annotations", key, made.annotations.get(key)?),
    };
    let (key, value) = match test {
        // Whatever stands there is as good as anything.
        FieldTest::NotEmpty => (key.clone(), None),
        _ => (key.clone(), Some(OTHER)),
    };
    Some(Arc::new(move |object: &mut Value| {
        let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) else { return };
        let Some(fields) = metadata.entry(field).or_insert_with(|| Map::new().into()).as_object_mut() else { return };
        match value {
            Some(value) => drop(fields.insert(key.clone(), value.into())),
            None => drop(fields.shift_remove(&key)),
        }
    }))
}
