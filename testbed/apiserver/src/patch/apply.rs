//! Server-side apply, and the bookkeeping of plain writes.

use std::sync::LazyLock;

use serde_json::{Map, Value, json};

use super::managed::{self, Entry, Managed};
use super::set::FieldSet;
use super::typed::{Difference, compare, field_set, merge, remove, with_named_fields};
use super::{Conflict, PatchError};
use crate::schema::CompiledSchema;
use crate::schema::node::Node;

/// Who writes, and when.
#[derive(Clone, Copy, Debug)]
pub struct Writer<'a> {
    /// The field manager.
    pub manager: &'a str,
    /// The `apiVersion` of the request's object.
    pub api_version: &'a str,
    /// The subresource written to: empty for the object itself, or `status`, `scale`.
    pub subresource: &'a str,
    /// The time of the write, RFC 3339 with whole seconds.
    pub now: &'a str,
}

impl Writer<'_> {
    fn entry(&self, applied: bool, fields: FieldSet) -> Entry {
        Entry {
            manager: self.manager.to_owned(),
            applied,
            api_version: self.api_version.to_owned(),
            subresource: self.subresource.to_owned(),
            time: Some(self.now.to_owned()),
            fields,
        }
    }
}

/// The writer that everything in an object belongs to when its first apply finds no managed fields.
const BEFORE_FIRST_APPLY: &str = "before-first-apply";

/// Fields that the system sets and nobody owns.
static UNOWNED: LazyLock<FieldSet> = LazyLock::new(|| {
    let fields = json!({
        "f:apiVersion": {},
        "f:kind": {},
        "f:metadata": {
            ".": {}, "f:name": {}, "f:namespace": {}, "f:creationTimestamp": {}, "f:selfLink": {}, "f:uid": {},
            "f:clusterName": {}, "f:generation": {}, "f:managedFields": {}, "f:resourceVersion": {},
        },
    });
    FieldSet::decode(&fields).unwrap_or_default()
});

/// Applies a configuration on behalf of a field manager and returns the object to store, with its managed fields.
///
/// Fields that this manager applied before and now leaves out are removed unless somebody else owns them. An apply that
/// changes nothing but the time returns an object equal to the live one; to tell, the result is already defaulted. Nulls of
/// fields that are not nullable count as left out, and identity and system metadata stay those of the live object, so a
/// caller that supports optimistic locking compares `metadata.resourceVersion` itself.
///
/// Under subresource `status`, only the status of the applied configuration counts; at the object itself the status of
/// built-in kinds does not. For a custom resource whose status is a subresource, the caller takes it out of `applied`.
///
/// # Errors
/// [`PatchError::Conflicts`] when another manager owns a field with another value and `force` is not set;
/// [`PatchError::Nulls`] when a custom resource is left with an owned container without members;
/// [`PatchError::Invalid`] when the configuration is no object or brings managed fields of its own.
pub fn server_side_apply(
    live: Option<&Value>,
    applied: &Value,
    schema: &CompiledSchema,
    writer: Writer<'_>,
    force: bool,
) -> Result<Value, PatchError> {
    let Some(config) = applied.as_object() else {
        return Err(PatchError::Invalid("an applied configuration must be an object".to_owned()));
    };
    if applied.pointer("/metadata/managedFields").is_some_and(|fields| fields.as_array().is_none_or(|f| !f.is_empty()))
    {
        return Err(PatchError::Invalid("metadata.managedFields must be nil".to_owned()));
    }
    let root = schema.root();
    let mut config = config.clone();
    if writer.subresource == "status" {
        config.retain(|name, _| matches!(name.as_str(), "apiVersion" | "kind" | "metadata" | "status"));
        keep_identity(&mut config);
    }
    if writer.subresource.is_empty() && schema.is_built_in() {
        config.shift_remove("status");
    }
    let mut config = Value::Object(config);
    managed::strip(&mut config);
    drop_nulls(root, &mut config);

    let mut base = live.cloned().unwrap_or_else(|| Value::Object(Map::new()));
    let before = read_or_assume(&base, root, &writer);
    managed::strip(&mut base);

    let mut own = writer.entry(true, field_set(Some(root), &config).difference(&UNOWNED));
    let earlier = before.iter().find(|entry| entry.same_writer(&own));
    let previous = earlier.map(|entry| entry.fields.clone());
    let last_time = earlier.and_then(|entry| entry.time.clone());
    let mut entries: Vec<Entry> = before.iter().filter(|entry| !entry.same_writer(&own)).cloned().collect();
    let mut merged = merge(Some(root), &base, &config);
    prune_abandoned(root, &mut merged, previous.unwrap_or_default(), entries.iter().chain([&own]));
    keep_system_metadata(&base, &mut merged);
    // What is owned as a whole conflicts as it was applied: without the defaults that the live value has.
    let difference = compare(Some(root), &base, &merged);
    // Metadata is decoded by its type, to which a null is nothing.
    if let (Some(node), Some(metadata)) = (root.member("metadata"), merged.get_mut("metadata")) {
        drop_nulls(node, metadata);
    }
    let without_members = (!schema.is_built_in() && holds_null(root, &merged)).then(|| merged.clone());
    schema.apply_defaults(&mut merged);
    release(&mut entries, &difference, force)?;
    if let Some(merged) = without_members {
        return Err(PatchError::Nulls(schema.validate(&merged, live)));
    }
    if live.is_some() && difference.is_empty() {
        // The time is that of the last change; who never changed anything has none.
        own.time = last_time;
    }
    entries.push(own);

    let tracked = live.is_some_and(|live| matches!(managed::read(live), Managed::Entries(_)));
    let untouched = live.is_some() && (tracked || before.is_empty());
    if untouched && difference.is_empty() && same_ownership(&before, &entries) {
        // Nothing happened: neither the object nor the time of the entry moves.
        return Ok(live.cloned().unwrap_or(merged));
    }
    managed::write(&mut merged, entries);
    Ok(merged)
}

/// Of the metadata in a status apply, only what names the object counts.
fn keep_identity(config: &mut Map<String, Value>) {
    if let Some(metadata) = config.get_mut("metadata").and_then(Value::as_object_mut) {
        metadata.retain(|name, _| matches!(name.as_str(), "name" | "namespace"));
    }
}

/// Metadata that no configuration sets.
const SYSTEM_METADATA: [&str; 7] = [
    "uid",
    "resourceVersion",
    "generation",
    "creationTimestamp",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
    "selfLink",
];

fn keep_system_metadata(live: &Value, merged: &mut Value) {
    let (Some(live), Some(merged)) =
        (live.get("metadata").and_then(Value::as_object), merged.get_mut("metadata").and_then(Value::as_object_mut))
    else {
        return;
    };
    for name in SYSTEM_METADATA {
        match live.get(name) {
            Some(value) => merged.insert(name.to_owned(), value.clone()),
            None => merged.shift_remove(name),
        };
    }
}

/// Typed clients write absent fields as nulls; only a nullable field can be one.
fn drop_nulls(node: &Node, value: &mut Value) {
    match value {
        Value::Object(map) => map.retain(|name, value| {
            let Some(schema) = node.member(name) else { return true };
            drop_nulls(schema, value);
            !value.is_null() || schema.nullable
        }),
        Value::Array(items) => {
            let Some(schema) = &node.items else { return };
            items.iter_mut().for_each(|item| drop_nulls(schema, item));
        }
        _ => {}
    }
}

/// Whether a null stands where the schema neither allows nor replaces it.
fn holds_null(node: &Node, value: &Value) -> bool {
    match value {
        Value::Object(map) => map.iter().any(|(name, value)| {
            node.member(name).is_some_and(|schema| match value {
                Value::Null => !schema.nullable && schema.default.is_none(),
                _ => holds_null(schema, value),
            })
        }),
        Value::Array(items) => {
            node.items.as_ref().is_some_and(|schema| items.iter().any(|item| holds_null(schema, item)))
        }
        _ => false,
    }
}

/// The live entries; where there are none, everything belongs to the time before the first apply.
fn read_or_assume(live: &Value, root: &Node, writer: &Writer<'_>) -> Vec<Entry> {
    if let Managed::Entries(entries) = managed::read(live) {
        return entries;
    }
    let mut bare = live.clone();
    managed::strip(&mut bare);
    let all = compare(Some(root), &Value::Object(Map::new()), &bare).added.difference(&UNOWNED);
    if all.is_empty() {
        return Vec::new();
    }
    vec![Writer { manager: BEFORE_FIRST_APPLY, subresource: "", ..*writer }.entry(false, all)]
}

/// Removes what the manager applied before and nobody owns any more.
fn prune_abandoned<'e>(root: &Node, merged: &mut Value, previous: FieldSet, owners: impl Iterator<Item = &'e Entry>) {
    if previous.is_empty() {
        return;
    }
    let owned = owners.fold(FieldSet::default(), |owned, entry| owned.union(&entry.fields));
    let owned = with_named_fields(root, owned);
    let abandoned = with_named_fields(root, previous).difference(&owned);
    // What names the object is in nobody's set, and stays.
    remove(Some(root), merged, &abandoned.difference(&UNOWNED), &owned);
}

/// Takes changed and removed fields from other managers, or reports the conflict.
fn release(others: &mut Vec<Entry>, difference: &Difference, force: bool) -> Result<(), PatchError> {
    let changed = difference.modified.union(&difference.added);
    let mut conflicts = Vec::new();
    for entry in others.iter_mut() {
        let contested = entry.fields.intersection(&changed);
        for field in contested.paths() {
            let message = format!("conflict with {}", entry.describe());
            conflicts.push(Conflict { manager: entry.manager.clone(), field, message });
        }
        entry.fields = entry.fields.difference(&contested).difference(&difference.removed);
    }
    if !force && !conflicts.is_empty() {
        return Err(PatchError::Conflicts(conflicts));
    }
    others.retain(|entry| !entry.fields.is_empty());
    Ok(())
}

fn same_ownership(before: &[Entry], after: &[Entry]) -> bool {
    let kept: Vec<&Entry> = after.iter().filter(|entry| !entry.fields.is_empty()).collect();
    before.len() == kept.len()
        && before.iter().all(|old| {
            let same =
                |new: &&&Entry| old.same_writer(new) && old.fields == new.fields && old.api_version == new.api_version;
            kept.iter().any(|new| same(&new))
        })
}

/// Records in the managed fields of `new` what a create, update or patch changed against `live`.
///
/// Managed fields that the client sends back empty are taken from the live object; the single empty entry clears them. An
/// object whose managed fields were cleared stays untracked until its first apply.
pub fn track_update(live: Option<&Value>, new: &mut Value, schema: &CompiledSchema, writer: Writer<'_>) {
    let from_live = live.map_or(Managed::Nothing, managed::read);
    let managed = match managed::read(new) {
        Managed::Reset => Managed::Nothing,
        Managed::Entries(entries) if writer.subresource.is_empty() => Managed::Entries(entries),
        _ => from_live,
    };
    let entries = match (managed, live) {
        (Managed::Entries(entries), _) => entries,
        (_, None) => Vec::new(),
        (_, Some(_)) => {
            managed::strip(new);
            return;
        }
    };
    let mut old = live.cloned().unwrap_or_else(|| Value::Object(Map::new()));
    managed::strip(&mut old);
    own_difference(&old, new, entries, schema, writer);
}

/// Keeps `metadata.managedFields` of a new object that was not applied: the manager owns what it says beyond `zero`, which
/// is what an empty object of the kind says.
pub fn track_creation(zero: Option<&Value>, new: &mut Value, schema: &CompiledSchema, writer: Writer<'_>) {
    let entries = match managed::read(new) {
        Managed::Entries(entries) if writer.subresource.is_empty() => entries,
        _ => Vec::new(),
    };
    let old = zero.cloned().unwrap_or_else(|| Value::Object(Map::new()));
    own_difference(&old, new, entries, schema, writer);
}

fn own_difference(old: &Value, new: &mut Value, mut entries: Vec<Entry>, schema: &CompiledSchema, writer: Writer<'_>) {
    managed::strip(new);
    let difference = compare(Some(schema.root()), old, new);
    let taken = difference.modified.union(&difference.added).difference(&UNOWNED);
    let own = writer.entry(false, taken.clone());
    for entry in &mut entries {
        entry.fields = entry.fields.difference(&difference.removed);
        if !entry.same_writer(&own) {
            entry.fields = entry.fields.difference(&taken);
        }
    }
    if !taken.is_empty() {
        match entries.iter_mut().find(|entry| entry.same_writer(&own)) {
            Some(entry) => *entry = Entry { fields: entry.fields.union(&taken), ..own },
            None => entries.push(own),
        }
    }
    managed::write(new, entries);
}
