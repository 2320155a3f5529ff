//! Statuses as the implementation wants them, and how they get into an object that others write to as well.

mod merge;

#[cfg(test)]
mod tests;

pub(crate) use merge::ENTRIES;
pub use merge::{merge, same};

use std::fmt;

use serde::Serialize;

use crate::{
    model::{ParentRef, RouteKind},
    snapshot::{Kind, ObjectKey},
};

/// `status` of a condition.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[allow(missing_docs, reason = "the names are the values")]
pub enum Truth {
    True,
    False,
    Unknown,
}

impl fmt::Display for Truth {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self, f)
    }
}

impl From<bool> for Truth {
    fn from(value: bool) -> Self {
        if value { Self::True } else { Self::False }
    }
}

/// A condition as it should read. When it last changed is worked out when it is written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Condition {
    /// Type, such as `Accepted`.
    pub r#type: String,
    /// Status.
    pub status: Truth,
    /// Reason, one word.
    pub reason: String,
    /// Message for people.
    pub message: String,
    /// The generation that it was worked out from.
    pub observed_generation: Option<i64>,
    /// Stands instead of the time that merging works out.
    pub last_transition_time: Option<String>,
}

impl Condition {
    /// A condition without its generation, which [`StatusUpdate`] fills in for all at once.
    pub fn new(r#type: &str, status: impl Into<Truth>, reason: &str, message: impl Into<String>) -> Self {
        Self {
            r#type: r#type.into(),
            status: status.into(),
            reason: reason.into(),
            message: message.into(),
            observed_generation: None,
            last_transition_time: None,
        }
    }
}

/// Desired status of one object. Everything that belongs to others is absent and will be kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StatusUpdate {
    /// Kind of the object.
    pub kind: Kind,
    /// Namespace and name.
    pub key: ObjectKey,
    /// The generation of the spec that this was worked out from.
    pub generation: i64,
    /// Whose entries these are, where the status has entries by controller.
    pub controller_name: String,
    /// What the status should say.
    pub status: DesiredStatus,
}

/// What a status should say, by kind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DesiredStatus {
    /// `GatewayClass.status`.
    GatewayClass {
        /// Conditions.
        conditions: Vec<Condition>,
        /// Names of features, sorted.
        supported_features: Vec<String>,
        /// Whether they are plain names, as releases before v1.2 have them, and not objects.
        as_names: bool,
    },
    /// `Gateway.status`.
    Gateway {
        /// Conditions.
        conditions: Vec<Condition>,
        /// Addresses of the Gateway.
        addresses: Vec<GatewayAddress>,
        /// One entry for each listener of the spec.
        listeners: Vec<ListenerStatus>,
        /// How many ListenerSets are attached; nothing where the release has no place for it.
        attached_listener_sets: Option<usize>,
    },
    /// `ListenerSet.status`.
    ListenerSet {
        /// Conditions.
        conditions: Vec<Condition>,
        /// One entry for each listener of the spec.
        listeners: Vec<ListenerStatus>,
    },
    /// `status.parents` of a route: our entries only.
    Route {
        /// One entry for each parentRef to a Gateway of ours.
        parents: Vec<ParentStatus>,
    },
    /// `status.ancestors` of a policy: our entries only.
    Policy {
        /// One entry for each Gateway of ours under which it applies.
        ancestors: Vec<ParentStatus>,
    },
}

/// One entry of `Gateway.status.addresses`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct GatewayAddress {
    /// Type.
    pub r#type: String,
    /// Value.
    pub value: String,
    /// From where it is reached; nothing where the definitions have no place for that.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub routability: Option<String>,
}

/// One entry of `status.listeners` of a Gateway or ListenerSet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListenerStatus {
    /// Name of the listener.
    pub name: String,
    /// Kinds that can attach.
    pub supported_kinds: Vec<RouteKind>,
    /// How many routes are attached.
    pub attached_routes: usize,
    /// Conditions.
    pub conditions: Vec<Condition>,
}

/// One entry of a route's `status.parents`, or of a policy's `status.ancestors`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParentStatus {
    /// The parentRef as it stands in the spec, or the ancestor.
    pub parent_ref: ParentRef,
    /// The controller that writes it.
    pub controller_name: String,
    /// Conditions.
    pub conditions: Vec<Condition>,
}

impl StatusUpdate {
    /// Every list of conditions in the status, the object's own first.
    pub fn condition_lists(&mut self) -> Vec<&mut Vec<Condition>> {
        match &mut self.status {
            DesiredStatus::GatewayClass { conditions, .. } => vec![conditions],
            DesiredStatus::Gateway { conditions, listeners, .. }
            | DesiredStatus::ListenerSet { conditions, listeners } => {
                let mut lists = vec![conditions];
                lists.extend(listeners.iter_mut().map(|listener| &mut listener.conditions));
                lists
            }
            DesiredStatus::Route { parents: entries } | DesiredStatus::Policy { ancestors: entries } => {
                entries.iter_mut().map(|entry| &mut entry.conditions).collect()
            }
        }
    }

    /// Stamps every condition with the generation that it was worked out from.
    pub fn stamped(mut self) -> Self {
        let generation = self.generation;
        for condition in self.condition_lists().into_iter().flatten() {
            condition.observed_generation = Some(generation);
        }
        self
    }
}
