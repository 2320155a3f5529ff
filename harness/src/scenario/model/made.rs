//! What objects must carry that a target makes for one of a scenario's.

use indexmap::IndexMap;
use serde_json::Value;

use super::{FieldTest, Level, ObjectRef};
use crate::dialects::MadeKind;
use crate::log::Carrier;

/// What is expected of the objects that a target made for another one, found by the label that names that.
#[derive(Debug, Clone, PartialEq)]
pub struct MadeFor {
    /// The object that they were made for.
    pub object: ObjectRef,
    /// The label whose value is the name of that.
    pub label: String,
    /// The kinds of objects that are looked at.
    pub kinds: Vec<MadeKind>,
    /// Labels, by key.
    pub labels: IndexMap<String, FieldTest>,
    /// Annotations, by key.
    pub annotations: IndexMap<String, FieldTest>,
    /// Whether one object of each kind that is there is enough.
    pub some_of_each: bool,
    /// How binding.
    pub level: Level,
}

/// What of the objects that a target made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Carried {
    /// A label, by its key.
    Label(String),
    /// An annotation, by its key.
    Annotation(String),
}

impl MadeFor {
    /// Each thing that is asked for.
    pub fn parts(&self) -> impl Iterator<Item = (Carried, &FieldTest)> {
        let labels = self.labels.iter().map(|(key, test)| (Carried::Label(key.clone()), test));
        labels.chain(self.annotations.iter().map(|(key, test)| (Carried::Annotation(key.clone()), test)))
    }

    /// The tests of them.
    pub fn tests_mut(&mut self) -> impl Iterator<Item = &mut FieldTest> {
        self.labels.values_mut().chain(self.annotations.values_mut())
    }

    /// What is to be known of an object as the API server has it: nothing but what is asked for. Nothing of one that is being deleted.
    pub fn seen(&self, kind: &MadeKind, object: &Value) -> Option<Carrier> {
        let metadata = object.get("metadata")?;
        if metadata.get("deletionTimestamp").is_some() {
            return None;
        }
        let of = |field: &str, asked: &IndexMap<String, FieldTest>| {
            let there =
                asked.keys().filter_map(|key| Some((key.clone(), metadata.get(field)?.get(key)?.as_str()?.to_owned())));
            there.collect()
        };
        Some(Carrier {
            kind: kind.kind.clone(),
            name: metadata.get("name")?.as_str()?.to_owned(),
            labels: of("labels", &self.labels),
            annotations: of("annotations", &self.annotations),
        })
    }
}
