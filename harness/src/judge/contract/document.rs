//! A contract as it is written, before anything in it means anything.

use indexmap::IndexMap;
use serde::Deserialize;
use serde_json::Value;

use super::graded::Graded;
use super::terms::{Presence, SortedField, Transition};
use super::typed::TypedValues;
use crate::dialects::StatusList;
use crate::scenario::Level;

/// Between the names of sets that make one.
pub(super) const SEPARATOR: &str = "+";

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(super) struct Document {
    pub(super) api_version: ApiVersion,
    pub(super) kind: DocumentKind,
    pub(super) metadata: Metadata,
    pub(super) spec: Spec,
}

#[derive(Deserialize)]
pub(super) enum ApiVersion {
    #[serde(rename = "gateproof.dev/v1alpha1")]
    V1Alpha1,
}

#[derive(Deserialize)]
pub(super) enum DocumentKind {
    StatusContract,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Metadata {
    pub(super) name: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(super) struct Spec {
    /// The contract that it is laid over.
    pub(super) refines: Option<String>,
    pub(super) transition_time: Option<Transition>,
    pub(super) message_required: Option<bool>,
    #[serde(default)]
    pub(super) forms: Forms,
    /// What is refined takes a rule away with nothing.
    #[serde(default)]
    pub(super) rules: IndexMap<String, Option<RawTerms>>,
    #[serde(default)]
    pub(super) conditions: IndexMap<String, Option<Conditions>>,
    #[serde(default)]
    pub(super) kinds: Vec<RawKind>,
    /// What is otherwise in an edition.
    #[serde(default)]
    pub(super) editions: IndexMap<String, Value>,
}

/// A set of conditions, by type.
pub(super) type Conditions = IndexMap<String, Option<RawCondition>>;

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(super) struct Forms {
    pub(super) reason: Option<String>,
    pub(super) reason_lint: Option<String>,
    pub(super) r#type: Option<String>,
    pub(super) controller_name: Option<String>,
    pub(super) time: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawTerms {
    pub(super) level: Option<Level>,
    #[serde(default)]
    pub(super) clauses: Vec<String>,
    pub(super) since: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(super) struct RawCondition {
    /// A type of the same set that this one is like, but for what it says itself. That type is a pattern, and no condition by itself.
    pub(super) like: Option<String>,
    pub(super) presence: Option<Presence>,
    #[serde(default)]
    pub(super) negative: bool,
    #[serde(default)]
    pub(super) explains: bool,
    #[serde(default)]
    pub(super) closed: bool,
    #[serde(default)]
    pub(super) configured: bool,
    pub(super) asked_by: Option<String>,
    #[serde(default)]
    pub(super) needs: Vec<String>,
    #[serde(default)]
    pub(super) needs_when_true: Vec<String>,
    pub(super) since: Option<String>,
    pub(super) until: Option<String>,
    #[serde(default)]
    pub(super) reasons: IndexMap<String, Vec<String>>,
    #[serde(default)]
    pub(super) open: Vec<String>,
    #[serde(default)]
    pub(super) graded: Graded,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(super) struct RawKind {
    pub(super) kind: String,
    pub(super) group: String,
    pub(super) subjects: Vec<RawSubject>,
    #[serde(default)]
    pub(super) sorted: Vec<SortedField>,
    #[serde(default)]
    pub(super) typed: Vec<TypedValues>,
    pub(super) handled_by: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(super) struct RawSubject {
    pub(super) at: StatusList,
    pub(super) conditions: Sets,
    #[serde(default)]
    pub(super) counts: Vec<String>,
    #[serde(default)]
    pub(super) one_per_listener: bool,
    pub(super) controller: Option<String>,
}

/// The sets of conditions of a place, each laid over those before it.
#[derive(Deserialize)]
#[serde(untagged)]
pub(super) enum Sets {
    One(String),
    Several(Vec<String>),
}

impl Sets {
    pub(super) fn names(&self) -> Vec<&str> {
        match self {
            Sets::One(name) => vec![name],
            Sets::Several(names) => names.iter().map(String::as_str).collect(),
        }
    }

    /// What the set that they make is called.
    pub(super) fn name(&self) -> String {
        self.names().join(SEPARATOR)
    }
}
