//! The text of objects, lists and watch events.

use bytes::Bytes;
use jiff::Timestamp;
use serde::{Serialize, Serializer};
use serde_json::{Value, json};

use super::columns;
use super::{Accepted, Form, Format};
use crate::cluster::view;
use crate::error::ApiError;
use crate::meta;
use crate::resource::Resource;
use crate::store::Object;

/// `metadata` of a list.
#[derive(Debug, Clone, Default, Serialize)]
pub struct ListMeta {
    /// The revision that the list shows.
    #[serde(rename = "resourceVersion")]
    pub resource_version: String,
    /// Where to go on.
    #[serde(rename = "continue", skip_serializing_if = "String::is_empty")]
    pub resume: String,
    /// How many objects follow, where that is known.
    #[serde(rename = "remainingItemCount", skip_serializing_if = "Option::is_none")]
    pub remaining: Option<usize>,
}

#[derive(Serialize)]
struct List<'a, T> {
    kind: &'a str,
    #[serde(rename = "apiVersion")]
    api_version: &'a str,
    metadata: &'a ListMeta,
    items: Vec<T>,
}

/// An object as it stands in a list of a built-in kind: the list says of what kind its items are.
struct Typeless(Object);

impl Serialize for Typeless {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let members = self.0.as_object().into_iter().flatten();
        serializer.collect_map(members.filter(|(name, _)| !["apiVersion", "kind"].contains(&name.as_str())))
    }
}

#[derive(Serialize)]
struct WatchEvent<'a, T> {
    #[serde(rename = "type")]
    kind: &'a str,
    object: T,
}

fn text(value: &impl Serialize, format: Format) -> Result<Bytes, ApiError> {
    match format {
        Format::Json => {
            serde_json::to_vec(value).map(Bytes::from).map_err(|error| ApiError::internal(error.to_string()))
        }
        Format::Yaml => {
            serde_yaml::to_string(value).map(Bytes::from).map_err(|error| ApiError::internal(error.to_string()))
        }
    }
}

/// One object.
///
/// # Errors
/// 500 if it cannot be written.
pub fn object(resource: &Resource, accepted: Accepted, stored: &Object, include: &str) -> Result<Bytes, ApiError> {
    match accepted.form {
        Form::Full => text(&view(resource, stored), accepted.format),
        Form::Partial(version) => text(&partial(stored, version), accepted.format),
        Form::Table(version) => {
            let metadata = json!({"resourceVersion": meta::resource_version(stored)});
            let table = table(resource, version, metadata, std::slice::from_ref(stored), include, true);
            text(&table, accepted.format)
        }
    }
}

/// A list of objects.
///
/// # Errors
/// 500 if it cannot be written.
pub fn list(
    resource: &Resource,
    accepted: Accepted,
    objects: &[Object],
    metadata: &ListMeta,
    include: &str,
) -> Result<Bytes, ApiError> {
    match accepted.form {
        Form::Full => {
            let shown = objects.iter().map(|stored| view(resource, stored));
            let (kind, api_version) = (resource.list_kind.as_str(), resource.api_version());
            let api_version = api_version.as_str();
            if resource.custom {
                let items = shown.collect();
                return text(&List { kind, api_version, metadata, items }, accepted.format);
            }
            let items = shown.map(Typeless).collect();
            text(&List { kind, api_version, metadata, items }, accepted.format)
        }
        Form::Partial(version) => {
            let items = objects.iter().map(|stored| partial(stored, version)).collect();
            let kind = "PartialObjectMetadataList";
            text(&List { kind, api_version: version, metadata, items }, accepted.format)
        }
        Form::Table(version) => {
            text(&table(resource, version, json!(metadata), objects, include, true), accepted.format)
        }
    }
}

fn partial(stored: &Value, version: &str) -> Value {
    json!({"kind": "PartialObjectMetadata", "apiVersion": version, "metadata": stored["metadata"]})
}

fn table(
    resource: &Resource,
    version: &str,
    metadata: Value,
    objects: &[Object],
    include: &str,
    headed: bool,
) -> Value {
    let now = Timestamp::now();
    let row = |stored: &Object| {
        let shown = view(resource, stored);
        let cells: Vec<Value> = resource.columns.iter().map(|column| columns::cell(column, &shown, now)).collect();
        let object = match include {
            "None" => Value::Null,
            "Object" => (*shown).clone(),
            _ => partial(&shown, version),
        };
        json!({"cells": cells, "object": object})
    };
    let head: Value = if headed { resource.columns.iter().map(columns::definition).collect() } else { Value::Null };
    json!({
        "kind": "Table",
        "apiVersion": version,
        "metadata": metadata,
        "columnDefinitions": head,
        "rows": objects.iter().map(row).collect::<Vec<_>>(),
    })
}

/// Appends one watch event with an object; `headed` says whether a Table defines its columns.
pub fn event(out: &mut Vec<u8>, resource: &Resource, form: Form, kind: &str, stored: &Object, headed: bool) {
    match form {
        Form::Full => line(out, kind, &view(resource, stored)),
        Form::Partial(version) => line(out, kind, &partial(stored, version)),
        Form::Table(version) => {
            let metadata = json!({"resourceVersion": meta::resource_version(stored)});
            line(out, kind, &table(resource, version, metadata, std::slice::from_ref(stored), "", headed));
        }
    }
}

/// Appends a bookmark; `end` marks the end of the initial events.
pub fn bookmark(out: &mut Vec<u8>, resource: &Resource, form: Form, revision: u64, end: bool) {
    let mut metadata = json!({"resourceVersion": revision.to_string()});
    if end {
        metadata["annotations"] = json!({"k8s.io/initial-events-end": "true"});
    }
    let api_version = resource.api_version();
    let object = match form {
        Form::Full => json!({"kind": resource.kind, "apiVersion": api_version, "metadata": metadata}),
        Form::Partial(version) => json!({"kind": "PartialObjectMetadata", "apiVersion": version, "metadata": metadata}),
        Form::Table(version) => table(resource, version, metadata, &[], "", false),
    };
    line(out, "BOOKMARK", &object);
}

/// Appends the event that ends a watch with a refusal.
pub fn error_event(out: &mut Vec<u8>, error: &ApiError) {
    line(out, "ERROR", &error.status());
}

fn line(out: &mut Vec<u8>, kind: &str, object: &impl Serialize) {
    let start = out.len();
    match serde_json::to_writer(&mut *out, &WatchEvent { kind, object }) {
        Ok(()) => out.push(b'\n'),
        // A half-written line would spoil the stream.
        Err(_) => out.truncate(start),
    }
}
