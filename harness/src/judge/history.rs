//! Versions of each object, in the order in which the watch delivered them.

use std::sync::Arc;

use indexmap::IndexMap;
use serde_json::Value;

use super::conditions::{generation, uid};
use crate::log::{Body, Change, Elapsed, Event, ObjectKey, WriteOutcome, WriteVerb};
use crate::scenario::ObjectRef;

/// One version of an object.
#[derive(Debug, Clone, PartialEq)]
pub struct Version {
    /// The event that delivered it.
    pub seq: u64,
    /// When it was delivered.
    pub at: Elapsed,
    /// The object.
    pub object: Arc<Value>,
    /// Whether versions may have been missed between the one before and this.
    pub after_gap: bool,
}

/// What is known of one object.
#[derive(Debug, Clone, Default)]
struct Track {
    versions: Vec<Version>,
    gone: bool,
    written: Option<Written>,
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
        let seen = object.pointer("/metadata/resourceVersion").and_then(Value::as_str).unwrap_or_default();
        let newer = match (seen.parse::<u64>(), self.resource_version.parse::<u64>()) {
            (Ok(seen), Ok(written)) => written > seen,
            _ => false,
        };
        newer || self.uid != uid(object) || self.generation > generation(object)
    }
}

/// What is known of every object of a scenario.
#[derive(Debug, Clone, Default)]
pub struct History {
    tracks: IndexMap<ObjectKey, Track>,
    /// How often each resource's watch was lost.
    gaps: IndexMap<String, u32>,
    gap_pending: Vec<ObjectKey>,
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
    pub fn observe(&mut self, event: &Event) {
        match &event.body {
            Body::Observed { key, change, object } => {
                let after_gap = match self.gap_pending.iter().position(|k| k == key) {
                    Some(index) => {
                        self.gap_pending.swap_remove(index);
                        true
                    }
                    None => false,
                };
                let track = self.tracks.entry(key.clone()).or_default();
                track.gone = *change == Change::Deleted;
                track.versions.push(Version { seq: event.seq, at: event.at, object: object.clone(), after_gap });
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
                *self.gaps.entry(resource.clone()).or_default() += 1;
                self.gap_pending = self.tracks.keys().cloned().collect();
            }
            _ => {}
        }
    }

    /// How many times watches were lost so far, all together.
    pub fn gaps(&self) -> u32 {
        self.gaps.values().sum()
    }

    /// How many times the watch was lost so far that was lost most often: what takes all watches at once counts once.
    pub fn most_gaps(&self) -> u32 {
        self.gaps.values().copied().max().unwrap_or_default()
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

    /// Every version of an object, oldest first.
    pub fn versions(&self, object: &ObjectRef) -> &[Version] {
        self.tracks.iter().find(|(key, _)| names(object, key)).map_or(&[], |(_, track)| &track.versions)
    }
}

/// Whether a key is the object that a bound reference names. Kinds are unique among what a scenario touches.
pub fn names(object: &ObjectRef, key: &ObjectKey) -> bool {
    object.kind == key.kind && object.name == key.name && object.namespace == key.namespace
}
