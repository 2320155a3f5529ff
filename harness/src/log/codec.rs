//! The log as lines of JSON: an object's first version whole, later ones as JSON patches against the one before.

use std::collections::HashMap;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{Body, Change, Elapsed, Event, ObjectKey, Scope};

/// Why a line is not an event.
#[derive(Debug, thiserror::Error)]
#[error("line {line} of the log: {problem}")]
pub struct DecodeError {
    /// Line, from 1.
    pub line: usize,
    /// What is wrong with it.
    pub problem: String,
}

/// An event as written, one a line. It has a `body`, or a `delta`, which stands for an `observed` body whose object is a
/// patch.
#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Line {
    /// Position in the log, from 0 without holes.
    seq: u64,
    /// When.
    at: Elapsed,
    /// Whom it concerns.
    scope: Scope,
    /// What happened.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    body: Option<Body>,
    /// How an object differs from the version before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    delta: Option<Delta>,
}

/// A later version of an object, as a JSON patch against the one before.
#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Delta {
    key: ObjectKey,
    change: Change,
    /// Operations of RFC 6902.
    #[schemars(with = "Vec<serde_json::Map<String, Value>>")]
    patch: json_patch::Patch,
}

/// Writes events. One encoder a log, in log order.
#[derive(Debug, Default)]
pub struct Encoder {
    last: HashMap<ObjectKey, Arc<Value>>,
}

impl Encoder {
    /// The line of an event, without its end.
    pub fn line(&mut self, event: &Event) -> Result<String, serde_json::Error> {
        let mut line = Line { seq: event.seq, at: event.at, scope: event.scope.clone(), body: None, delta: None };
        match &event.body {
            Body::Observed { key, change, object } => {
                match self.last.insert(key.clone(), Arc::clone(object)) {
                    Some(before) => {
                        let patch = json_patch::diff(&before, object);
                        line.delta = Some(Delta { key: key.clone(), change: *change, patch });
                    }
                    None => line.body = Some(event.body.clone()),
                }
                if *change == Change::Deleted {
                    self.last.remove(key);
                }
            }
            body => line.body = Some(body.clone()),
        }
        serde_json::to_string(&line)
    }
}

/// Reads a whole log back.
pub fn read(text: &str) -> Result<Vec<Arc<Event>>, DecodeError> {
    let mut decoder = Decoder::default();
    text.lines().map(|line| decoder.event(line).map(Arc::new)).collect()
}

/// Reads events back. One decoder a log, in log order.
#[derive(Debug, Default)]
pub struct Decoder {
    last: HashMap<ObjectKey, Arc<Value>>,
    read: usize,
}

impl Decoder {
    /// The event of the next line.
    pub fn event(&mut self, line: &str) -> Result<Event, DecodeError> {
        let index = self.read;
        self.read += 1;
        let wrong = |problem: String| DecodeError { line: index + 1, problem };
        let line: Line = serde_json::from_str(line).map_err(|error| wrong(error.to_string()))?;
        if line.seq != index as u64 {
            return Err(wrong(format!("is event {}, expected {index}", line.seq)));
        }
        let body = match (line.body, line.delta) {
            (Some(body), None) => body,
            (None, Some(Delta { key, change, patch })) => {
                let before =
                    self.last.get(&key).ok_or_else(|| wrong(format!("changes {key}, which was not seen before")))?;
                let mut object = (**before).clone();
                // The variant that reverts what it did panics where it cannot; a copy need not be reverted.
                json_patch::patch_unsafe(&mut object, &patch).map_err(|error| wrong(error.to_string()))?;
                Body::Observed { key, change, object: Arc::new(object) }
            }
            _ => return Err(wrong("must hold either `body` or `delta`".to_owned())),
        };
        if let Body::Observed { key, change, object } = &body {
            if *change == Change::Deleted {
                self.last.remove(key);
            } else {
                self.last.insert(key.clone(), Arc::clone(object));
            }
        }
        Ok(Event { seq: line.seq, at: line.at, scope: line.scope, body })
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn observed(seq: u64, name: &str, change: Change, object: Value) -> Event {
        let key = ObjectKey { group: String::new(), kind: "Thing".to_owned(), namespace: None, name: name.to_owned() };
        let body = Body::Observed { key, change, object: Arc::new(object) };
        Event { seq, at: Elapsed(seq), scope: Scope::Run, body }
    }

    fn value() -> impl Strategy<Value = Value> {
        let leaf =
            prop_oneof![Just(Value::Null), any::<bool>().prop_map(Value::from), "[a-z~/]{0,4}".prop_map(Value::from)];
        leaf.prop_recursive(3, 24, 4, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
                prop::collection::btree_map("[a-z/~]{1,3}", inner, 0..4).prop_map(|map| json!(map)),
            ]
        })
    }

    proptest! {
        #[test]
        fn what_is_written_is_read_back(steps in prop::collection::vec((0..3u8, 0..3u8, value()), 0..12)) {
            let events: Vec<Arc<Event>> = steps
                .into_iter()
                .enumerate()
                .map(|(seq, (name, change, object))| {
                    let change = [Change::Added, Change::Modified, Change::Deleted][usize::from(change)];
                    Arc::new(observed(seq as u64, &name.to_string(), change, object))
                })
                .collect();
            let mut encoder = Encoder::default();
            let text: String = events.iter().map(|event| encoder.line(event).unwrap() + "\n").collect();
            prop_assert_eq!(read(&text).unwrap(), events);
        }
    }

    #[test]
    fn a_hole_is_an_error() {
        let mut encoder = Encoder::default();
        let line = encoder.line(&Event { seq: 1, at: Elapsed(0), scope: Scope::Run, body: Body::Tick }).unwrap();
        assert_eq!(read(&line).unwrap_err().to_string(), "line 1 of the log: is event 1, expected 0");
    }

    #[test]
    fn a_patch_that_fails_half_way_is_an_error() {
        let mut encoder = Encoder::default();
        let first = encoder.line(&observed(0, "a", Change::Added, json!({"a": [1, 2]}))).unwrap();
        let second = encoder.line(&observed(1, "a", Change::Modified, json!({}))).unwrap();
        let broken = r#"[{"op":"move","from":"/a/0","path":"/a"},{"op":"remove","path":"/b"}]"#;
        let patched = r#"[{"op":"remove","path":"/a"}]"#;
        assert!(second.contains(patched), "{second}");
        let error = read(&format!("{first}\n{}\n", second.replace(patched, broken))).unwrap_err();
        assert_eq!(error.line, 2);
    }

    #[test]
    fn later_versions_are_patches() {
        let mut encoder = Encoder::default();
        let big = "x".repeat(1000);
        let first = observed(0, "a", Change::Added, json!({"spec": big, "status": 1}));
        let second = observed(1, "a", Change::Modified, json!({"spec": big, "status": 2}));
        assert!(encoder.line(&first).unwrap().len() > 1000);
        assert!(encoder.line(&second).unwrap().len() < 250);
    }
}
