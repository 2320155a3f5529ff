//! `metadata.managedFields`: who owns which fields.

use serde_json::{Map, Value, json};

use super::set::FieldSet;

/// One entry of `metadata.managedFields`.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Entry {
    pub(crate) manager: String,
    /// Whether the entry stems from server-side apply.
    pub(crate) applied: bool,
    pub(crate) api_version: String,
    pub(crate) subresource: String,
    pub(crate) time: Option<String>,
    pub(crate) fields: FieldSet,
}

impl Entry {
    /// Whether two entries belong to the same writer. One that applies is the same whatever version it applies at.
    pub(crate) fn same_writer(&self, other: &Entry) -> bool {
        self.manager == other.manager
            && self.applied == other.applied
            && self.subresource == other.subresource
            && (self.applied || self.api_version == other.api_version)
    }

    /// How conflicts name the writer.
    pub(crate) fn describe(&self) -> String {
        let mut text = format!("{:?}", self.manager);
        if !self.subresource.is_empty() {
            text.push_str(&format!(" with subresource {:?}", self.subresource));
        }
        if !self.applied {
            text.push_str(&format!(" using {}", self.api_version));
        }
        text
    }

    fn decode(entry: &Value) -> Option<Entry> {
        let text = |name: &str| entry.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
        let applied = match text("operation").as_str() {
            "Apply" => true,
            "Update" => false,
            _ => return None,
        };
        Some(Entry {
            manager: text("manager"),
            applied,
            api_version: text("apiVersion"),
            subresource: text("subresource"),
            time: entry.get("time").and_then(Value::as_str).map(str::to_owned),
            fields: match entry.get("fieldsV1") {
                Some(fields) => FieldSet::decode(fields)?,
                None => FieldSet::default(),
            },
        })
    }

    fn encode(&self) -> Value {
        let mut map = Map::new();
        map.insert("manager".to_owned(), json!(self.manager));
        map.insert("operation".to_owned(), json!(if self.applied { "Apply" } else { "Update" }));
        map.insert("apiVersion".to_owned(), json!(self.api_version));
        if let Some(time) = &self.time {
            map.insert("time".to_owned(), json!(time));
        }
        map.insert("fieldsType".to_owned(), json!("FieldsV1"));
        map.insert("fieldsV1".to_owned(), self.fields.encode());
        if !self.subresource.is_empty() {
            map.insert("subresource".to_owned(), json!(self.subresource));
        }
        Value::Object(map)
    }
}

/// What an object says about its managers.
pub(crate) enum Managed {
    /// Nothing, or nothing that can be read.
    Nothing,
    /// The single empty entry by which a client asks to forget them all.
    Reset,
    /// The entries.
    Entries(Vec<Entry>),
}

/// Reads the managed fields of an object.
pub(crate) fn read(object: &Value) -> Managed {
    let Some(list) = object.pointer("/metadata/managedFields").and_then(Value::as_array) else {
        return Managed::Nothing;
    };
    if list.len() == 1 && list[0].as_object().is_some_and(Map::is_empty) {
        return Managed::Reset;
    }
    match list.iter().map(Entry::decode).collect::<Option<Vec<Entry>>>() {
        Some(entries) if !entries.is_empty() => Managed::Entries(entries),
        _ => Managed::Nothing,
    }
}

/// Takes the managed fields out of an object.
pub(crate) fn strip(object: &mut Value) {
    if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) {
        metadata.shift_remove("managedFields");
    }
}

/// Writes managed fields into an object: appliers first, each group by time and name.
pub(crate) fn write(object: &mut Value, mut entries: Vec<Entry>) {
    strip(object);
    entries.retain(|entry| !entry.fields.is_empty());
    if entries.is_empty() {
        return;
    }
    entries.sort_by(|a, b| {
        let key = |entry: &Entry| {
            let rank = u8::from(!entry.applied);
            (rank, entry.time.clone(), entry.manager.clone(), entry.api_version.clone(), entry.subresource.clone())
        };
        key(a).cmp(&key(b))
    });
    let Some(object) = object.as_object_mut() else { return };
    let metadata = object.entry("metadata").or_insert_with(|| Value::Object(Map::new()));
    if let Some(metadata) = metadata.as_object_mut() {
        metadata.insert("managedFields".to_owned(), entries.iter().map(Entry::encode).collect());
    }
}
