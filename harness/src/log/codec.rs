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
#[derive(Deserialize, JsonSchema)]
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

/// The same of an event that is at hand.
#[derive(Serialize)]
struct Written<'e> {
    seq: u64,
    at: Elapsed,
    scope: &'e Scope,
    #[serde(skip_serializing_if = "Option::is_none")]
    body: Option<&'e Body>,
    #[serde(skip_serializing_if = "Option::is_none")]
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

/// The kind of definitions.
const DEFINITION: &str = "CustomResourceDefinition";

/// The last version of every object that a later event may be about.
#[derive(Debug, Default)]
struct Latest {
    objects: HashMap<ObjectKey, Arc<Value>>,
    /// Those of each execution: once it has ended nothing more is logged of them, not even that they are gone. A definition, which has the
    /// name that its kind gives it, may be made again by others.
    of: HashMap<Arc<str>, Vec<ObjectKey>>,
}

impl Latest {
    fn get(&self, key: &ObjectKey) -> Option<&Arc<Value>> {
        self.objects.get(key)
    }

    /// Takes in what an event says.
    fn take(&mut self, scope: &Scope, body: &Body) {
        match (scope, body) {
            (_, Body::Observed { key, change: Change::Deleted, .. }) => drop(self.objects.remove(key)),
            (scope, Body::Observed { key, object, .. }) => {
                let is_new = self.objects.insert(key.clone(), Arc::clone(object)).is_none();
                let is_its_own = key.kind != DEFINITION;
                if let (true, Scope::Scenario(name)) = (is_new && is_its_own, scope) {
                    self.of.entry(Arc::clone(name)).or_default().push(key.clone());
                }
            }
            (Scope::Scenario(name), Body::ScenarioEnded(_)) => {
                self.of.remove(name).into_iter().flatten().for_each(|key| drop(self.objects.remove(&key)));
            }
            _ => {}
        }
    }
}

/// Writes events. One encoder a log, in log order.
#[derive(Debug, Default)]
pub struct Encoder {
    latest: Latest,
}

impl Encoder {
    /// The line of an event, without its end.
    pub fn line(&mut self, event: &Event) -> Result<String, serde_json::Error> {
        let Event { seq, at, scope, body } = event;
        let delta = match body {
            Body::Observed { key, change, object } => self.latest.get(key).map(|before| {
                let patch = json_patch::diff(before, object);
                Delta { key: key.clone(), change: *change, patch }
            }),
            _ => None,
        };
        let whole = delta.is_none().then_some(body);
        let line = serde_json::to_string(&Written { seq: *seq, at: *at, scope, body: whole, delta });
        self.latest.take(scope, body);
        line
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
    latest: Latest,
    read: usize,
}

impl Decoder {
    /// The event of the next line, as its bytes were read, with its end or without.
    pub fn event_of(&mut self, line: &[u8]) -> Result<Event, DecodeError> {
        match str::from_utf8(line.strip_suffix(b"\n").unwrap_or(line)) {
            Ok(line) => self.event(line),
            Err(error) => Err(DecodeError { line: self.read + 1, problem: error.to_string() }),
        }
    }

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
                    self.latest.get(&key).ok_or_else(|| wrong(format!("changes {key}, which was not seen before")))?;
                let mut object = (**before).clone();
                // The variant that reverts what it did panics where it cannot; a copy need not be reverted.
                json_patch::patch_unsafe(&mut object, &patch).map_err(|error| wrong(error.to_string()))?;
                Body::Observed { key, change, object: Arc::new(object) }
            }
            _ => return Err(wrong("must hold either `body` or `delta`".to_owned())),
        };
        self.latest.take(&line.scope, &body);
        Ok(Event { seq: line.seq, at: line.at, scope: line.scope, body })
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;
    use crate::log::Ended;

    #[test]
    fn bytes_that_are_no_text_are_told_with_their_line() {
        let mut decoder = Decoder::default();
        let first = br#"{"seq":0,"at":0,"scope":"run","body":"tick"}"#;
        assert_eq!(decoder.event_of(first).map_err(|error| error.to_string()).map(|event| event.seq), Ok(0));
        let error = decoder.event_of(b"\"\xff\n").unwrap_err().to_string();
        assert!(error.starts_with("line 2 of the log: invalid utf-8"), "{error}");
    }

    fn observed(seq: u64, name: &str, change: Change, object: Value) -> Event {
        let kind = if name == "definition" { DEFINITION } else { "Thing" }.to_owned();
        let namespace = (!["definition", "whole"].contains(&name)).then(|| "n".to_owned());
        let key = ObjectKey { group: String::new(), kind, namespace, name: name.to_owned() };
        let body = Body::Observed { key, change, object: Arc::new(object) };
        Event { seq, at: Elapsed(seq), scope: Scope::Run, body }
    }

    fn scenario(name: &str) -> Scope {
        Scope::Scenario(Arc::from(name))
    }

    fn ended(seq: u64) -> Event {
        Event { seq, at: Elapsed(seq), scope: scenario("a"), body: Body::ScenarioEnded(Ended::Completed) }
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
        fn what_is_written_is_read_back(steps in prop::collection::vec((0..3u8, 0..4u8, 0..3u8, value()), 0..16)) {
            let events: Vec<Arc<Event>> = steps
                .into_iter()
                .enumerate()
                .map(|(seq, (name, what, of, object))| {
                    let scope = [Scope::Run, scenario("a"), scenario("b")][usize::from(of)].clone();
                    let change = [Change::Added, Change::Modified, Change::Deleted].get(usize::from(what)).copied();
                    let event = match change {
                        Some(change) => observed(seq as u64, &name.to_string(), change, object),
                        None => ended(seq as u64),
                    };
                    Arc::new(Event { scope, ..event })
                })
                .collect();
            let mut encoder = Encoder::default();
            let text: String = events.iter().map(|event| encoder.line(event).unwrap() + "\n").collect();
            prop_assert_eq!(read(&text).unwrap(), events);
        }
    }

    /// That they are gone is not logged any more then.
    #[test]
    fn of_what_has_ended_nothing_is_kept() {
        let of = |scope: Scope, seq: u64, name: &str| Event {
            scope,
            ..observed(seq, name, Change::Added, json!({"of": name}))
        };
        let events = [
            of(scenario("a"), 0, "a"),
            of(scenario("b"), 1, "b"),
            of(Scope::Run, 2, "c"),
            of(scenario("a"), 3, "whole"),
            of(scenario("a"), 4, "definition"),
            ended(5),
        ];
        let (mut encoder, mut decoder) = (Encoder::default(), Decoder::default());
        for event in &events {
            let line = encoder.line(event).unwrap();
            assert_eq!(decoder.event(&line).unwrap(), *event);
        }
        for Latest { objects, of } in [&encoder.latest, &decoder.latest] {
            let mut left: Vec<&str> = objects.keys().map(|key| key.name.as_str()).collect();
            left.sort_unstable();
            assert_eq!((left.as_slice(), of.len()), (["b", "c", "definition"].as_slice(), 1));
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
