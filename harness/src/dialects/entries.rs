//! Where traffic comes in: what a run makes for its scenarios, and where that says how it can be reached.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::{Map, Value};

use super::Protocol;

/// The entries of a dialect.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Entries {
    /// The label by which what serves an entry, such as a Service, names it.
    pub label: Option<String>,
    /// The condition that says that it serves.
    pub ready: String,
    /// Where its addresses stand.
    pub addresses: Addresses,
    /// JSON pointer to its port; without it, its ports stand in `spec.listeners`, as a Gateway's.
    pub port: Option<String>,
    /// Its ports by what is spoken there, where they are the same of all entries and stand in none.
    #[serde(default)]
    pub ports: BTreeMap<Protocol, u16>,
    /// Shapes that scenarios may ask for: a protocol, perhaps with a port.
    #[serde(default)]
    pub shapes: Vec<String>,
    /// What is applied for a shape of each protocol.
    #[serde(default)]
    manifests: BTreeMap<Protocol, Value>,
}

/// Where the addresses of an entry stand.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Addresses {
    /// JSON pointer to the list of them.
    pub at: String,
    /// The fields of an element of which one has the address.
    pub values: Vec<String>,
    /// The field that says which sort of address it is, if there is one: `IPAddress` without it, or `Hostname`.
    #[serde(rename = "type")]
    pub type_: Option<String>,
}

impl Addresses {
    /// The list.
    pub fn list<'o>(&self, object: &'o Value) -> &'o [Value] {
        object.pointer(&self.at).and_then(Value::as_array).map_or(&[], Vec::as_slice)
    }

    /// The address of an element.
    pub fn value<'o>(&self, element: &'o Value) -> Option<&'o str> {
        self.values.iter().find_map(|field| element.get(field).and_then(Value::as_str))
    }

    /// All addresses of an object, in its order.
    pub fn of<'o>(&self, object: &'o Value) -> impl Iterator<Item = &'o str> {
        self.list(object).iter().filter_map(|element| self.value(element))
    }
}

/// What an entry of a run is to be.
#[derive(Debug)]
pub struct Entry<'e> {
    /// Its name.
    pub name: &'e str,
    /// Its namespace.
    pub namespace: &'e str,
    /// Its labels.
    pub labels: Map<String, Value>,
    /// Whose it is.
    pub class: &'e str,
    /// What it speaks.
    pub protocol: Protocol,
    /// The port on which it does.
    pub port: u16,
    /// The Secret with its certificate, if it needs one.
    pub secret: &'e str,
    /// The label of the namespaces from which it admits what is attached to it.
    pub admits: (&'e str, &'e str),
}

/// What stands for a value of the run in a manifest.
const PLACEHOLDERS: [&str; 4] = ["${class}", "${port}", "${certificate}", "${namespaces}"];

impl Entries {
    /// The manifest of an entry; none if there is none for its protocol.
    pub fn manifest(&self, entry: Entry<'_>) -> Option<Value> {
        let mut manifest = self.manifests.get(&entry.protocol)?.clone();
        let (label, run) = entry.admits;
        let values = [
            Value::from(entry.class),
            Value::from(entry.port),
            Value::from(entry.secret),
            serde_json::json!({"matchLabels": {label: run}}),
        ];
        fill(&mut manifest, &|text| {
            PLACEHOLDERS.iter().zip(&values).find(|(name, _)| **name == text).map(|(_, value)| value.clone())
        });
        manifest["metadata"] =
            serde_json::json!({"name": entry.name, "namespace": entry.namespace, "labels": entry.labels});
        Some(manifest)
    }

    /// The manifests as they are written, each with what it speaks.
    pub fn manifests(&self) -> impl Iterator<Item = (Protocol, &Value)> {
        self.manifests.iter().map(|(protocol, manifest)| (*protocol, manifest))
    }

    /// Why no run could make them, if so. `is_own` says whether objects of this `apiVersion` are the dialect's.
    pub(super) fn problem(&self, kind: Option<&str>, is_own: impl Fn(&str) -> bool) -> Option<String> {
        let Some(kind) = kind else { return Some("no kind has the role `entry`".to_owned()) };
        let pointers = [("addresses.at", Some(&self.addresses.at)), ("port", self.port.as_ref())];
        let wrong = |(_, pointer): &(&str, Option<&String>)| pointer.is_some_and(|pointer| !pointer.starts_with('/'));
        if let Some((field, Some(pointer))) = pointers.into_iter().find(wrong) {
            return Some(format!("`{field}` is to be a JSON pointer, and is `{pointer}`"));
        }
        if self.port.is_some() && !self.ports.is_empty() {
            return Some("`port` and `ports` exclude each other".to_owned());
        }
        if let Some((protocol, _)) = self.ports.iter().find(|(_, port)| **port == 0) {
            return Some(format!("`ports.{}` is to be from 1 to 65535", protocol.listener()));
        }
        if self.addresses.values.is_empty() {
            return Some("`addresses.values` names no field".to_owned());
        }
        for shape in &self.shapes {
            let Some((protocol, _)) = Protocol::of_shape(shape) else {
                return Some(format!(
                    "`{shape}` is no shape: those are http, https, tls, tcp and udp, each perhaps with a port as in http-8080"
                ));
            };
            if !self.manifests.contains_key(&protocol) {
                return Some(format!("the shape `{shape}` has no manifest `{}`", protocol.listener()));
            }
        }
        self.manifests.iter().find_map(|(protocol, manifest)| {
            let at = |problem: String| Some(format!("{problem} in the manifest `{}`", protocol.listener()));
            let text = |field: &str| manifest.get(field).and_then(Value::as_str).unwrap_or_default();
            if text("kind") != kind {
                return at(format!("`kind` is to be {kind}"));
            }
            if !is_own(text("apiVersion")) {
                return at("`apiVersion` is to have a group of the dialect".to_owned());
            }
            if manifest.get("metadata").is_some() {
                return at("`metadata` is the run's: leave it out".to_owned());
            }
            let unknown = unknown_placeholder(manifest)?;
            at(format!("`{unknown}` stands for nothing: there are {}", PLACEHOLDERS.join(", ")))
        })
    }
}

/// Replaces every string for which there is a value.
fn fill(manifest: &mut Value, value_of: &impl Fn(&str) -> Option<Value>) {
    match manifest {
        Value::String(text) => {
            if let Some(value) = value_of(text) {
                *manifest = value;
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| fill(item, value_of)),
        Value::Object(fields) => fields.values_mut().for_each(|field| fill(field, value_of)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// The first string that looks as if it stood for something, and does not.
fn unknown_placeholder(manifest: &Value) -> Option<&str> {
    match manifest {
        Value::String(text) => Some(&**text).filter(|text| text.contains("${") && !PLACEHOLDERS.contains(text)),
        Value::Array(items) => items.iter().find_map(unknown_placeholder),
        Value::Object(fields) => fields.values().find_map(unknown_placeholder),
        Value::Null | Value::Bool(_) | Value::Number(_) => None,
    }
}
