//! What the watch delivered of each object: its latest version, and of earlier ones what may still be asked about.

use std::collections::HashSet;
use std::sync::Arc;

use indexmap::{IndexMap, IndexSet};
use serde_json::Value;

use super::conditions::{generation, uid};
use crate::dialects::Dialect;
use crate::log::{Body, Change, Elapsed, Event, ObjectKey, Sight, WriteOutcome, WriteVerb};
use crate::scenario::ObjectRef;

/// Where a Gateway names its class.
const CLASS: &str = "/spec/gatewayClassName";

/// One version of an object.
#[derive(Debug, Clone, PartialEq)]
pub struct Version {
    /// The event that delivered it.
    pub seq: u64,
    /// When it was delivered.
    pub at: Elapsed,
    /// The object.
    pub object: Arc<Value>,
}

/// What is known of one object.
#[derive(Debug, Clone, Default)]
struct Track {
    /// Those that say where it can be reached in different ways, each as it was seen last; the latest is the last.
    versions: Vec<Version>,
    /// The newest resourceVersion that was shown, as far as they have an order …
    newest: Option<u64>,
    /// … and as far as they have none, those of the versions that are not kept.
    earlier: HashSet<String>,
    gone: bool,
    written: Option<Written>,
}

impl Track {
    /// Takes in the latest version. Of earlier ones it is only asked where the object could be reached, and whether they were shown: a
    /// flood of versions takes no more room than that.
    fn push(&mut self, version: Version, dialect: &Dialect) {
        let Track { versions, newest, earlier, .. } = self;
        *newest = number(&version.object).max(*newest);
        versions.retain(|before| {
            let Some(name) = resource_version(&before.object) else { return true };
            let is_alike = reached_at(&before.object, dialect) == reached_at(&version.object, dialect);
            if is_alike && number(&before.object).is_none() {
                earlier.insert(name.to_owned());
            }
            !is_alike
        });
        versions.push(version);
    }

    fn has_shown(&self, found: &Value) -> bool {
        number(found).is_some_and(|found| self.newest >= Some(found))
            || self.versions.iter().any(|known| same_version(&known.object, found))
            || resource_version(found).is_some_and(|version| self.earlier.contains(version))
    }
}

/// What of an object says where it can be reached, and by whose doing.
fn reached_at<'o>(object: &'o Value, dialect: &Dialect) -> (Option<&'o Value>, Option<&'o Value>, &'o [Value]) {
    let addresses = dialect.entries().map_or(&[][..], |entries| entries.addresses.list(object));
    (object.pointer(CLASS), object.pointer("/spec/listeners"), addresses)
}

/// What the harness last wrote.
#[derive(Debug, Clone)]
struct Written {
    uid: String,
    generation: i64,
    resource_version: String,
}

impl Written {
    /// Whether a version is older than this write. resourceVersions are compared where they are numbers, which
    /// Kubernetes promises for its own resources; elsewhere only the generation tells.
    fn is_after(&self, object: &Value) -> bool {
        let newer = match (number(object), self.resource_version.parse::<u64>()) {
            (Some(seen), Ok(written)) => written > seen,
            _ => false,
        };
        newer || self.uid != uid(object) || self.generation > generation(object)
    }
}

/// What is known of every object of a scenario.
#[derive(Debug, Clone, Default)]
pub struct History {
    tracks: IndexMap<ObjectKey, Track>,
    /// The kind of each resource whose watch was ever lost.
    kinds: IndexMap<String, String>,
    /// How often each kind's watches came back or were listed anew; of those of unknown kind under nothing.
    breaks: IndexMap<String, u32>,
    /// The resources whose watches are not open, with since when.
    blind: IndexMap<String, Elapsed>,
    /// The kinds of which a watch once did not show what a read showed.
    doubted: IndexSet<String>,
}

/// What the latest version of an object can be used for.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Latest<'a> {
    /// It shows at least what the harness last wrote.
    Current(&'a Version),
    /// The watch has not shown the last write yet: judging it would be believing a stale read.
    Behind {
        /// Generation that was written.
        written: i64,
        /// The version that was seen.
        seen: &'a Version,
    },
    /// Deleted.
    Gone,
    /// Never seen.
    Unknown,
}

impl History {
    /// Takes in an event.
    pub fn observe(&mut self, event: &Event, dialect: &Dialect) {
        match &event.body {
            Body::Observed { key, change, object } => {
                let track = self.tracks.entry(key.clone()).or_default();
                track.gone = *change == Change::Deleted;
                track.push(Version { seq: event.seq, at: event.at, object: object.clone() }, dialect);
            }
            Body::Wrote(write) if write.verb != WriteVerb::Delete => {
                if let WriteOutcome::Admitted { uid, generation, resource_version } = &write.outcome {
                    let track = self.tracks.entry(write.key.clone()).or_default();
                    track.written = Some(Written {
                        uid: uid.clone(),
                        generation: *generation,
                        resource_version: resource_version.clone(),
                    });
                }
            }
            Body::Gap { resource, .. } => {
                let kind = self.kinds.get(resource).cloned().unwrap_or_default();
                *self.breaks.entry(kind).or_default() += 1;
            }
            Body::Blind { resource, kind, doubted, .. } => {
                self.kinds.insert(resource.clone(), kind.clone());
                self.blind.entry(resource.clone()).or_insert(event.at);
                if *doubted {
                    self.doubted.insert(kind.clone());
                }
            }
            Body::Sighted { resource, kind, .. } => {
                self.blind.swap_remove(resource);
                *self.breaks.entry(kind.clone()).or_default() += 1;
            }
            _ => {}
        }
    }

    /// Takes in what was seen of other objects.
    pub fn join(&mut self, other: &History) {
        self.tracks.extend(other.tracks.iter().map(|(key, track)| (key.clone(), track.clone())));
        self.kinds.extend(other.kinds.clone());
        self.blind.extend(other.blind.clone());
        self.doubted.extend(other.doubted.iter().cloned());
        for (kind, times) in &other.breaks {
            *self.breaks.entry(kind.clone()).or_default() += times;
        }
    }

    /// How often what was seen of these objects was broken off so far.
    pub fn breaks<'o>(&self, objects: impl Iterator<Item = &'o ObjectRef>) -> u32 {
        let kinds: IndexSet<&str> = objects.map(|object| object.kind.as_str()).chain([""]).collect();
        kinds.into_iter().filter_map(|kind| self.breaks.get(kind)).sum()
    }

    /// Since when changes of one of these objects are not seen, if that is so now.
    pub fn blind<'o>(&self, objects: impl Iterator<Item = &'o ObjectRef>) -> Option<Elapsed> {
        let kinds: IndexSet<&str> = objects.map(|object| object.kind.as_str()).collect();
        let blind =
            self.blind.iter().filter(|(resource, _)| self.kinds.get(*resource).is_some_and(|k| kinds.contains(&**k)));
        blind.map(|(_, since)| *since).min()
    }

    /// Whether the watch of one of these objects once did not show what was there.
    pub fn is_doubted<'o>(&self, mut objects: impl Iterator<Item = &'o ObjectRef>) -> bool {
        objects.any(|object| self.doubted.contains(&object.kind))
    }

    /// Whether the watch has shown what a read found of an object, or something later.
    pub fn has_shown(&self, sight: &Sight) -> bool {
        let seen = self.tracks.get(&sight.key).filter(|track| !track.versions.is_empty());
        match (&sight.object, seen) {
            (None, seen) => seen.is_none_or(|track| track.gone),
            (Some(found), seen) => seen.is_some_and(|track| track.has_shown(found)),
        }
    }

    /// Whether a Gateway was once of this class, and is of another now.
    pub fn has_left(&self, gateway: &ObjectRef, class: &str) -> bool {
        let is_of = |version: &Version| version.object.pointer(CLASS).and_then(Value::as_str) == Some(class);
        let Latest::Current(latest) = self.latest(gateway) else { return false };
        !is_of(latest) && self.versions(gateway).iter().any(is_of)
    }

    /// The key of an object that was seen or written.
    pub fn key(&self, object: &ObjectRef) -> Option<&ObjectKey> {
        self.tracks.keys().find(|key| names(object, key))
    }

    /// The latest version of an object.
    pub fn latest(&self, object: &ObjectRef) -> Latest<'_> {
        let Some(track) = self.tracks.iter().find(|(key, _)| names(object, key)).map(|(_, track)| track) else {
            return Latest::Unknown;
        };
        let Some(seen) = track.versions.last() else { return Latest::Unknown };
        if track.gone {
            return match &track.written {
                Some(written) if written.uid != uid(&seen.object) => Latest::Unknown,
                _ => Latest::Gone,
            };
        }
        match &track.written {
            Some(written) if written.is_after(&seen.object) => Latest::Behind { written: written.generation, seen },
            _ => Latest::Current(seen),
        }
    }

    /// The versions of an object that say where it can be reached in different ways, each as it was seen last; the latest is the last.
    pub fn versions(&self, object: &ObjectRef) -> &[Version] {
        self.tracks.iter().find(|(key, _)| names(object, key)).map_or(&[], |(_, track)| &track.versions)
    }
}

fn resource_version(object: &Value) -> Option<&str> {
    object.pointer("/metadata/resourceVersion").and_then(Value::as_str)
}

/// resourceVersions are numbers where Kubernetes promises so.
fn number(object: &Value) -> Option<u64> {
    resource_version(object)?.parse().ok()
}

fn same_version(one: &Value, other: &Value) -> bool {
    match (resource_version(one), resource_version(other)) {
        (None, None) => one == other,
        (one, other) => one == other,
    }
}

/// Whether a key is the object that a bound reference names. Kinds are unique among what a scenario touches.
pub fn names(object: &ObjectRef, key: &ObjectKey) -> bool {
    object.kind == key.kind && object.name == key.name && object.namespace == key.namespace
}
