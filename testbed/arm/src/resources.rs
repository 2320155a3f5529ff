//! The resources that are there.

use std::collections::BTreeMap;

use http::StatusCode;
use serde_json::{Map, Value};

use crate::answer::Fault;
use crate::id::ResourceId;

/// How many resources there may be.
const MOST_RESOURCES: usize = 10_000;

/// How many bytes all of them may have together, in JSON.
const MOST_BYTES: usize = 64 << 20;

/// One resource.
#[derive(Debug, Clone)]
pub(crate) struct Resource {
    pub id: ResourceId,
    /// What was put, without id, name, type and provisioningState.
    body: Map<String, Value>,
    pub state: String,
    /// The operation that decides what becomes of it.
    pub operation: Option<u64>,
    /// Tells it from an earlier one of the same id.
    pub made: u64,
    size: usize,
}

impl Resource {
    /// What a GET answers.
    pub fn shown(&self) -> Value {
        let mut shown = Map::new();
        shown.insert("id".into(), self.id.to_string().into());
        shown.insert("name".into(), self.id.name().into());
        shown.insert("type".into(), self.id.resource_type().into());
        shown.extend(self.body.clone());
        let properties = shown.entry("properties").or_insert_with(|| Value::Object(Map::new()));
        if let Value::Object(properties) = properties {
            properties.insert("provisioningState".into(), self.state.clone().into());
        }
        Value::Object(shown)
    }
}

#[derive(Debug, Default)]
pub(crate) struct Resources {
    by_key: BTreeMap<String, Resource>,
    bytes: usize,
    made: u64,
}

impl Resources {
    pub fn get(&self, id: &ResourceId) -> Option<&Resource> {
        self.by_key.get(&id.key())
    }

    pub fn get_mut(&mut self, id: &ResourceId) -> Option<&mut Resource> {
        self.by_key.get_mut(&id.key())
    }

    /// Creates a resource or replaces its content. It keeps the id under which it was created. True if it is new.
    pub fn put(&mut self, id: &ResourceId, mut body: Map<String, Value>) -> Result<bool, Fault> {
        strip(&mut body)?;
        let size = Value::Object(body.clone()).to_string().len();
        let key = id.key();
        let old = self.by_key.get(&key);
        let bytes = self.bytes - old.map_or(0, |old| old.size) + size;
        if bytes > MOST_BYTES || old.is_none() && self.by_key.len() >= MOST_RESOURCES {
            let message = format!("There is room for {MOST_RESOURCES} resources and {MOST_BYTES} bytes; delete some.");
            return Err(Fault::new(StatusCode::CONFLICT, "QuotaExceeded", message));
        }
        let is_new = old.is_none();
        let (id, made) = match old {
            Some(old) => (old.id.clone(), old.made),
            None => {
                self.made += 1;
                (id.clone(), self.made)
            }
        };
        let state = "Succeeded".to_owned();
        self.by_key.insert(key, Resource { id, body, state, operation: None, made, size });
        self.bytes = bytes;
        Ok(is_new)
    }

    /// Applies a merge patch, if the resource is there and can have what comes of it.
    pub fn change(&mut self, id: &ResourceId, patch: &Map<String, Value>) -> Result<(), Fault> {
        let Some(old) = self.get(id).cloned() else { return Ok(()) };
        let mut whole = old.shown();
        json_patch::merge(&mut whole, &Value::Object(patch.clone()));
        let state = whole["properties"]["provisioningState"].as_str().unwrap_or("Succeeded").to_owned();
        let Value::Object(body) = whole else { return Ok(()) };
        self.put(id, body)?;
        if let Some(resource) = self.get_mut(id) {
            resource.state = state;
            resource.operation = old.operation;
        }
        Ok(())
    }

    /// Deletes a resource and what is in it. True if it was there.
    pub fn delete(&mut self, id: &ResourceId) -> bool {
        let key = id.key();
        let within = format!("{key}/");
        let inner: Vec<String> = self
            .by_key
            .range(within.clone()..)
            .map(|(key, _)| key.clone())
            .take_while(|key| key.starts_with(&within))
            .collect();
        let was_there = self.by_key.contains_key(&key);
        for key in inner.iter().chain([&key]) {
            if let Some(resource) = self.by_key.remove(key) {
                self.bytes -= resource.size;
            }
        }
        was_there
    }
}

/// Takes away what only the server says.
fn strip(body: &mut Map<String, Value>) -> Result<(), Fault> {
    for field in ["id", "name", "type"] {
        body.shift_remove(field);
    }
    match body.get_mut("properties") {
        None => {}
        Some(Value::Object(properties)) => _ = properties.shift_remove("provisioningState"),
        Some(_) => return Err(Fault::bad("InvalidRequestContent", "The field `properties` of the body is no object.")),
    }
    Ok(())
}
