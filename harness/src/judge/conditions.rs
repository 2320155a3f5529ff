//! Reading conditions, parent references and status entries of any object.

use std::fmt;

use serde_json::Value;

use crate::dialects::{Dialect, Generation};

/// Reasons of the placeholders that the API server itself puts into a new object's status (K8S-10).
const PLACEHOLDER_REASONS: [&str; 2] = ["Pending", "Waiting"];
/// Their `lastTransitionTime`.
const EPOCH: &str = "1970-01-01T00:00:00Z";

/// One condition, read leniently: what is missing is empty or `None`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Condition<'a> {
    /// The whole entry.
    pub raw: &'a Value,
    /// `type`.
    pub type_: &'a str,
    /// `status`; an empty one reads as `Unknown` (K8S-02).
    pub status: &'a str,
    /// `reason`.
    pub reason: &'a str,
    /// `message`.
    pub message: &'a str,
    /// `observedGeneration`.
    pub observed_generation: Option<i64>,
    /// `lastTransitionTime` as written.
    pub last_transition_time: Option<&'a str>,
}

impl<'a> Condition<'a> {
    /// Reads one entry of a condition list.
    pub fn of(raw: &'a Value) -> Condition<'a> {
        let text = |field: &str| raw.get(field).and_then(Value::as_str).unwrap_or_default();
        let status = match text("status") {
            "" => "Unknown",
            status => status,
        };
        Condition {
            raw,
            type_: text("type"),
            status,
            reason: text("reason"),
            message: text("message"),
            observed_generation: raw.get("observedGeneration").and_then(Value::as_i64),
            last_transition_time: raw.get("lastTransitionTime").and_then(Value::as_str),
        }
    }

    /// Whether the API server's schema defaults put it there, so no controller has spoken yet (K8S-10).
    pub fn is_placeholder(&self) -> bool {
        self.last_transition_time == Some(EPOCH)
            && self.status == "Unknown"
            && PLACEHOLDER_REASONS.contains(&self.reason)
            && self.observed_generation.is_none()
    }
}

impl fmt::Display for Condition<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}={}/{}", self.type_, self.status, self.reason)?;
        match self.observed_generation {
            Some(generation) => write!(f, " at observedGeneration {generation}")?,
            None => write!(f, " without observedGeneration")?,
        }
        if self.message.is_empty() { write!(f, " with an empty message") } else { write!(f, " ({:?})", self.message) }
    }
}

/// The conditions in a list; nothing if it is missing or no list.
pub fn list(value: Option<&Value>) -> Vec<Condition<'_>> {
    array(value).iter().map(Condition::of).collect()
}

/// The conditions in `status.conditions` of an object. Where the whole status says which generation it is about, that is
/// what each of them says; where nothing does, they are about the newest.
pub fn own<'a>(object: &'a Value, dialect: &Dialect) -> Vec<Condition<'a>> {
    let mut conditions = list(object.pointer("/status/conditions"));
    let kind = object.get("kind").and_then(Value::as_str).unwrap_or_default();
    let observed = match dialect.generation(kind) {
        Generation::Conditions => return conditions,
        Generation::Status => object.pointer("/status/observedGeneration").and_then(Value::as_i64),
        Generation::Unsaid => Some(generation(object)),
        Generation::Shown => match object.pointer("/status/observedGeneration").and_then(Value::as_i64) {
            None if conditions.iter().any(|one| one.observed_generation.is_some()) => return conditions,
            None => Some(generation(object)),
            observed => observed,
        },
    };
    conditions.iter_mut().for_each(|condition| condition.observed_generation = observed);
    conditions
}

/// The condition of a type.
pub fn find<'a>(conditions: &[Condition<'a>], type_: &str) -> Option<Condition<'a>> {
    conditions.iter().find(|c| c.type_ == type_).copied()
}

/// Whether a condition may be about an older generation: it says that the object is taken on, and those beside it that the controller
/// fell back to the last good spec.
pub fn may_be_older(condition: &Condition<'_>, beside: &[Condition<'_>], dialect: &Dialect) -> bool {
    dialect.accepted() == Some(condition.type_)
        && dialect.falls_back().is_some_and(|falls_back| {
            find(beside, &falls_back.condition)
                .is_some_and(|c| c.status == "True" && c.message.starts_with(&falls_back.message))
        })
}

/// The items of a list; nothing if it is missing or no list.
pub fn array(value: Option<&Value>) -> &[Value] {
    value.and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

/// `metadata.generation`, or 0.
pub fn generation(object: &Value) -> i64 {
    object.pointer("/metadata/generation").and_then(Value::as_i64).unwrap_or(0)
}

/// `metadata.uid`, or nothing.
pub fn uid(object: &Value) -> &str {
    object.pointer("/metadata/uid").and_then(Value::as_str).unwrap_or_default()
}

/// `metadata.namespace`, or nothing.
pub fn namespace(object: &Value) -> &str {
    object.pointer("/metadata/namespace").and_then(Value::as_str).unwrap_or_default()
}

/// A parentRef or ancestorRef with the specification's defaults filled in, so that two can be compared.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ParentRef {
    /// `group`, unless it is that of the dialect, which is the default.
    pub group: Option<String>,
    /// `kind`, by default that of entries.
    pub kind: String,
    /// `namespace`, by default the route's.
    pub namespace: String,
    /// `name`.
    pub name: String,
    /// `sectionName`, if any.
    pub section: Option<String>,
    /// `port`, if any.
    pub port: Option<i64>,
}

impl ParentRef {
    /// Reads a reference made by an object in `namespace`.
    pub fn of(raw: &Value, namespace: &str, dialect: &Dialect) -> ParentRef {
        let text = |field: &str| raw.get(field).and_then(Value::as_str).map(str::to_owned);
        ParentRef {
            group: text("group").filter(|group| group != dialect.group()),
            kind: text("kind").unwrap_or_else(|| dialect.entry_kind().to_owned()),
            namespace: text("namespace").filter(|n| !n.is_empty()).unwrap_or_else(|| namespace.to_owned()),
            name: text("name").unwrap_or_default(),
            section: text("sectionName").filter(|s| !s.is_empty()),
            port: raw.get("port").and_then(Value::as_i64),
        }
    }
}

impl fmt::Display for ParentRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}/{}", self.kind, self.namespace, self.name)?;
        if let Some(group) = &self.group {
            write!(f, " of group {group:?}")?;
        }
        if let Some(section) = &self.section {
            write!(f, " section {section}")?;
        }
        if let Some(port) = self.port {
            write!(f, " port {port}")?;
        }
        Ok(())
    }
}

/// One entry of `status.parents` or `status.ancestors`.
#[derive(Debug, Clone, PartialEq)]
pub struct ParentEntry<'a> {
    /// Whom it is about.
    pub parent: ParentRef,
    /// Who wrote it.
    pub controller_name: &'a str,
    /// Its conditions.
    pub conditions: Vec<Condition<'a>>,
    /// The whole entry.
    pub raw: &'a Value,
}

/// The entries of `status.parents` (or `status.ancestors` for policies), in order.
pub fn parent_entries<'a>(object: &'a Value, dialect: &Dialect) -> Vec<ParentEntry<'a>> {
    let (entries, reference) = match object.pointer("/status/ancestors") {
        Some(ancestors) => (Some(ancestors), "ancestorRef"),
        None => (object.pointer("/status/parents"), "parentRef"),
    };
    array(entries)
        .iter()
        .map(|raw| ParentEntry {
            parent: ParentRef::of(raw.get(reference).unwrap_or(&Value::Null), namespace(object), dialect),
            controller_name: raw.get("controllerName").and_then(Value::as_str).unwrap_or_default(),
            conditions: list(raw.get("conditions")),
            raw,
        })
        .collect()
}

/// The parentRefs of a route's spec, in order.
pub fn parent_refs(object: &Value, dialect: &Dialect) -> Vec<ParentRef> {
    let refs = array(object.pointer("/spec/parentRefs"));
    refs.iter().map(|raw| ParentRef::of(raw, namespace(object), dialect)).collect()
}

/// The entry of `status.listeners` with this name.
pub fn listener_entry<'a>(object: &'a Value, name: &str) -> Option<&'a Value> {
    array(object.pointer("/status/listeners")).iter().find(|l| l.get("name").and_then(Value::as_str) == Some(name))
}

/// Every condition list of an object's status with its path: the object's own, its listeners', its parents' or
/// ancestors'.
pub fn conditions_in<'a>(object: &'a Value, dialect: &Dialect) -> Vec<(String, Vec<Condition<'a>>)> {
    let mut lists = Vec::new();
    if object.pointer("/status/conditions").is_some() {
        lists.push(("status.conditions".to_owned(), own(object, dialect)));
    }
    for part in ["listeners", "parents", "ancestors"] {
        let entries = array(object.get("status").and_then(|s| s.get(part)));
        for entry in entries {
            let text = |field: &str| entry.get(field).and_then(Value::as_str).unwrap_or_default();
            let key = match entry.get("parentRef").or_else(|| entry.get("ancestorRef")) {
                Some(reference) => {
                    let reference = ParentRef::of(reference, namespace(object), dialect);
                    format!("{reference} by {}", text("controllerName"))
                }
                None => text("name").to_owned(),
            };
            lists.push((format!("status.{part}[{key}].conditions"), list(entry.get("conditions"))));
        }
    }
    lists
}
