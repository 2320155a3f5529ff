//! What was seen of one scenario, as the page shows it. Whoever has the log makes it.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// One execution of a scenario. Times are microseconds after its start.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Evidence {
    /// Its start, in microseconds after that of the run.
    pub began: u64,
    /// Its end, after its start.
    pub ended: u64,
    /// When its steps began, as far as something was done in them, in order.
    pub steps: Vec<Step>,
    /// What was written, in order.
    pub writes: Vec<Write>,
    /// Its objects, and the Gateways that it shares, in the order in which they were seen first.
    pub objects: Vec<Object>,
    /// What was sent by its probes.
    pub requests: Vec<Request>,
    /// The attempts of its probes, in order.
    pub rows: Vec<Row>,
    /// What else happened, in order.
    pub notes: Vec<Note>,
    /// What was left out, in words; nothing if it is whole.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cut: Option<String>,
}

/// A step in which something was done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Step {
    /// Which, from 0.
    pub step: usize,
    /// When the first thing was done in it.
    pub from: u64,
    /// And the last.
    pub to: u64,
}

/// A write and its answer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Write {
    /// When it was answered.
    pub at: u64,
    /// The step that asked.
    pub step: usize,
    /// `apply`, `patch` or `delete`.
    pub verb: String,
    /// `Kind/namespace/name`.
    pub object: String,
    /// The answer, in words.
    pub answer: String,
    /// Whether it was taken.
    pub taken: bool,
    /// What was sent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sent: Option<Value>,
}

/// An object, and every version that was seen.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Object {
    /// `Kind/namespace/name`.
    pub name: String,
    /// In order.
    pub versions: Vec<Version>,
    /// Its fields as they are in the last version, while versions are added.
    #[serde(skip)]
    latest: Map<String, Value>,
}

/// A version of an object, against the one before.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Version {
    /// When it was seen; 0 for what was there before the scenario.
    pub at: u64,
    /// Whether the object is gone with it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub gone: bool,
    /// Fields of the object that differ, such as `status`, whole; null where one is no longer there.
    pub parts: Map<String, Value>,
}

impl Object {
    /// One of which nothing was seen yet.
    pub fn named(name: String) -> Object {
        Object { name, versions: Vec::new(), latest: Map::new() }
    }

    /// Adds a version, without what changes with every write and says nothing. One that differs in nothing else is none.
    pub fn saw(&mut self, at: u64, gone: bool, object: &Value) {
        let mut now = object.as_object().cloned().unwrap_or_default();
        if let Some(metadata) = now.get_mut("metadata").and_then(Value::as_object_mut) {
            metadata.shift_remove("managedFields");
            metadata.shift_remove("resourceVersion");
        }
        let before = std::mem::replace(&mut self.latest, now);
        let now = &self.latest;
        let mut parts: Map<String, Value> =
            before.keys().filter(|name| !now.contains_key(*name)).map(|name| (name.clone(), Value::Null)).collect();
        let new = now.iter().filter(|(name, part)| before.get(*name) != Some(part));
        parts.extend(new.map(|(name, part)| (name.clone(), part.clone())));
        if gone || !parts.is_empty() {
            self.versions.push(Version { at, gone, parts });
        }
    }

    /// Its fields as they are in the last version.
    pub fn last(&self) -> Map<String, Value> {
        last_of(&self.versions)
    }
}

/// What versions one after the other come to.
pub(super) fn last_of(versions: &[Version]) -> Map<String, Value> {
    let mut whole = Map::new();
    for (name, part) in versions.iter().flat_map(|version| &version.parts) {
        if part.is_null() {
            whole.shift_remove(name);
        } else {
            whole.insert(name.clone(), part.clone());
        }
    }
    whole
}

/// What the attempts of a probe sent, but for the id of each.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Request {
    /// In a few words, such as `GET http://host/`.
    pub line: String,
    /// Where it went, as it was really connected to.
    pub to: String,
    /// The bytes, as far as they are text, before the id.
    pub sent: String,
    /// Those behind it.
    pub rest: String,
    /// A line for a shell that asks the same, if one can.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub curl: Option<String>,
}

/// Attempts one after the other of one probe that ended alike.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Row {
    /// The step that asked.
    pub step: usize,
    /// `main`, `contrast` or `reach`.
    pub role: String,
    /// Number of the first attempt within step and role.
    pub first: u32,
    /// Which of the requests it was.
    pub request: usize,
    /// How each ended, in a few words, such as `200 from echo`.
    pub ended: String,
    /// When each ended.
    pub at: Vec<u64>,
    /// The first that came, and the last.
    pub came: Vec<Came>,
}

/// What came back for one attempt.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Came {
    /// Its id.
    pub id: String,
    /// Microseconds that it took.
    pub took: u64,
    /// The bytes, as far as they are text.
    pub text: String,
}

/// Something else that happened.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Note {
    /// When.
    pub at: u64,
    /// What sort: `event` of Kubernetes, `journal` of a backend, `harness`.
    pub sort: String,
    /// In words.
    pub text: String,
}

impl Evidence {
    /// Adds an attempt that sent `request`.
    pub fn attempt(&mut self, request: Request, row: Row) {
        let index = self.requests.iter().position(|known| *known == request).unwrap_or_else(|| {
            self.requests.push(request);
            self.requests.len() - 1
        });
        let last = self.rows.iter_mut().rev().find(|known| (known.step, &known.role) == (row.step, &row.role));
        match last {
            Some(last) if last.request == index && last.ended == row.ended => {
                last.at.extend(row.at);
                last.came.truncate(1);
                last.came.extend(row.came);
            }
            _ => self.rows.push(Row { request: index, ..row }),
        }
    }

    /// Notes that something was done in a step.
    pub fn in_step(&mut self, step: usize, at: u64) {
        match self.steps.iter_mut().find(|known| known.step == step) {
            Some(known) => known.to = known.to.max(at),
            None => self.steps.push(Step { step, from: at, to: at }),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn attempt(ended: &str, number: u32) -> (Request, Row) {
        let text = || "text".to_owned();
        let request = Request { line: text(), to: text(), sent: text(), rest: text(), curl: None };
        let came = vec![Came { id: number.to_string(), took: 1, text: text() }];
        let (role, ended) = ("main".to_owned(), ended.to_owned());
        (request, Row { step: 1, role, first: number, request: 0, ended, at: vec![u64::from(number)], came })
    }

    #[test]
    fn attempts_that_end_alike_are_one_row() {
        let mut evidence = Evidence::default();
        for (number, ended) in ["404", "404", "404", "200", "404"].into_iter().enumerate() {
            let (request, row) = attempt(ended, number as u32);
            evidence.attempt(request, row);
        }
        let rows: Vec<(&str, u32, usize, Vec<&str>)> = evidence
            .rows
            .iter()
            .map(|row| (&*row.ended, row.first, row.at.len(), row.came.iter().map(|came| &*came.id).collect()))
            .collect();
        assert_eq!(rows, [("404", 0, 3, vec!["0", "2"]), ("200", 3, 1, vec!["3"]), ("404", 4, 1, vec!["4"])]);
        assert_eq!(evidence.requests.len(), 1);
    }

    /// A contrast is asked between the attempts of a probe.
    #[test]
    fn rows_are_of_one_role() {
        let mut evidence = Evidence::default();
        for (number, role) in ["main", "contrast", "main"].into_iter().enumerate() {
            let (request, row) = attempt("404", number as u32);
            evidence.attempt(request, Row { role: role.to_owned(), ..row });
        }
        let rows: Vec<(&str, usize)> = evidence.rows.iter().map(|row| (&*row.role, row.at.len())).collect();
        assert_eq!(rows, [("main", 2), ("contrast", 1)]);
    }

    #[test]
    fn a_step_lasts_from_the_first_to_the_last_of_it() {
        let mut evidence = Evidence::default();
        [(1, 20), (1, 50), (2, 60), (1, 40)].into_iter().for_each(|(step, at)| evidence.in_step(step, at));
        assert_eq!(evidence.steps, [Step { step: 1, from: 20, to: 50 }, Step { step: 2, from: 60, to: 60 }]);
    }

    #[test]
    fn a_version_is_what_differs() {
        let mut object = Object::named("Thing/a".to_owned());
        let first = json!({"metadata": {"name": "a", "resourceVersion": "1"}, "spec": {"a": 1}, "status": {"b": 1}});
        object.saw(1, false, &first);
        object.saw(2, false, &json!({"metadata": {"name": "a", "resourceVersion": "2", "managedFields": []}, "spec": {"a": 1}, "status": {"b": 1}}));
        object.saw(3, false, &json!({"metadata": {"name": "a"}, "spec": {"a": 1}, "status": {"b": 2}}));
        object.saw(4, false, &json!({"metadata": {"name": "a"}, "spec": {"a": 1}}));
        object.saw(5, true, &json!({"metadata": {"name": "a"}, "spec": {"a": 1}}));
        let parts: Vec<Value> = object.versions.iter().map(|version| json!([version.at, version.parts])).collect();
        assert_eq!(
            parts,
            [
                json!([1, {"metadata": {"name": "a"}, "spec": {"a": 1}, "status": {"b": 1}}]),
                json!([3, {"status": {"b": 2}}]),
                json!([4, {"status": null}]),
                json!([5, {}]),
            ]
        );
        assert_eq!(Value::Object(object.last()), json!({"metadata": {"name": "a"}, "spec": {"a": 1}}));
    }
}
