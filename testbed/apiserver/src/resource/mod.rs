//! One kind in one version: how it is addressed, shown and written.

mod columns;
mod schemas;

use std::sync::Arc;

pub use columns::{Column, ColumnKind};
pub use schemas::{SchemaSource, compile};

/// One kind in one version, as a client addresses it.
#[derive(Debug, Clone)]
pub struct Resource {
    /// The API group, empty for the core group.
    pub group: String,
    /// The API version.
    pub version: String,
    /// The kind.
    pub kind: String,
    /// The kind of its list.
    pub list_kind: String,
    /// The resource's name in paths.
    pub plural: String,
    /// The resource's name for one object.
    pub singular: String,
    /// Abbreviations that kubectl takes.
    pub short_names: Vec<String>,
    /// Groups of kinds that kubectl takes, such as `all`.
    pub categories: Vec<String>,
    /// Whether its objects live in namespaces.
    pub namespaced: bool,
    /// Which collection of the store holds its objects, as `resource.group` of the stored form.
    pub collection: Arc<str>,
    /// The apiVersion under which the store holds them.
    pub stored_as: String,
    /// Whether `/status` exists and the main resource leaves `status` alone.
    pub status_subresource: bool,
    /// Where `/scale` finds what it shows, where it exists.
    pub scale: Option<ScalePaths>,
    /// How objects are written.
    pub behaviour: Behaviour,
    /// Whether it comes from a CustomResourceDefinition.
    pub custom: bool,
    /// What `kubectl get` shows.
    pub columns: Vec<Column>,
    /// The fields that field selectors may name, beside name and namespace; JSON paths with a leading dot.
    pub selectable: Vec<String>,
    /// What every request for it is warned of, if anything.
    pub deprecation: Option<String>,
    /// Where its schema comes from.
    pub schema: SchemaSource,
}

/// The fields behind `/scale`, as JSON paths with a leading dot.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScalePaths {
    /// The replicas asked for.
    pub spec: String,
    /// The replicas there are.
    pub status: String,
    /// The selector as a text, or as a LabelSelector; empty where there is none.
    pub selector: String,
}

/// What differs from kind to kind in how objects are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Behaviour {
    /// `metadata.generation` is kept.
    pub generation: bool,
    /// An update may leave `metadata.resourceVersion` out.
    pub unconditional_update: bool,
    /// A PUT to a name that does not exist creates the object.
    pub create_on_update: bool,
    /// `status` is kept at creation although there is a status subresource.
    pub status_on_create: bool,
    /// A deletion answers with the deleted object, not with a Status.
    pub returns_deleted: bool,
    /// Objects are reviews: answered, never stored.
    pub review: bool,
    /// How names are checked.
    pub name: NameRule,
}

/// Which names a kind admits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NameRule {
    /// RFC 1123 subdomain, up to 253 characters.
    Subdomain,
    /// RFC 1123 label, up to 63 characters.
    Label,
    /// A segment of a path.
    PathSegment,
}

impl Resource {
    /// `group/version`, or the version alone for the core group.
    pub fn api_version(&self) -> String {
        if self.group.is_empty() { self.version.clone() } else { format!("{}/{}", self.group, self.version) }
    }

    /// `resource.group`, or the resource alone for the core group.
    pub fn group_resource(&self) -> String {
        if self.group.is_empty() { self.plural.clone() } else { format!("{}.{}", self.plural, self.group) }
    }

    /// The verbs that discovery tells.
    pub fn verbs(&self) -> &'static [&'static str] {
        if self.behaviour.review {
            &["create"]
        } else if &*self.collection == crate::store::NAMESPACES {
            &["create", "delete", "get", "list", "patch", "update", "watch"]
        } else {
            &["create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"]
        }
    }
}
