//! The set of kinds served at one moment.

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

use serde_json::Value;

use super::{crd, table};
use crate::resource::Resource;

/// All kinds served, immutable; a change of a CustomResourceDefinition makes a new one.
#[derive(Debug, Default)]
pub struct Registry {
    /// By group, then version, then plural name.
    groups: BTreeMap<String, BTreeMap<String, BTreeMap<String, Arc<Resource>>>>,
    /// Every apiVersion and kind under which a collection's objects may be owners or be asked for.
    kinds: BTreeMap<(String, String), Arc<Resource>>,
}

fn builtin() -> &'static [Arc<Resource>] {
    static BUILTIN: OnceLock<Vec<Arc<Resource>>> = OnceLock::new();
    BUILTIN.get_or_init(|| table::resources().into_iter().map(Arc::new).collect())
}

/// What not every cluster serves of Kubernetes, as `RESOURCE.GROUP`: older ones do not, nor those with the feature gate off.
pub const OPTIONAL: [&str; 1] = ["clustertrustbundles.certificates.k8s.io"];

/// Whether a group is one of built-in kinds.
pub fn is_built_in(group: &str) -> bool {
    builtin().iter().any(|resource| resource.group == group)
}

impl Registry {
    /// The built-in kinds and those of the given CustomResourceDefinition objects.
    pub fn new<'a>(definitions: impl IntoIterator<Item = &'a Value>) -> Self {
        Self::without(&[], definitions)
    }

    /// The same without these of the [`OPTIONAL`] ones.
    pub fn without<'a>(names: &[String], definitions: impl IntoIterator<Item = &'a Value>) -> Self {
        let mut registry = Self::default();
        let is_served = |resource: &&Arc<Resource>| {
            !names.iter().any(|name| *name == format!("{}.{}", resource.plural, resource.group))
        };
        for resource in builtin().iter().filter(is_served) {
            registry.add(resource.clone());
        }
        for resource in definitions.into_iter().flat_map(crd::resources) {
            registry.add(Arc::new(resource));
        }
        registry
    }

    fn add(&mut self, resource: Arc<Resource>) {
        self.kinds.insert((resource.api_version(), resource.kind.clone()), resource.clone());
        let group = self.groups.entry(resource.group.clone()).or_default();
        group.entry(resource.version.clone()).or_default().insert(resource.plural.clone(), resource);
    }

    /// The kind behind a path.
    pub fn resource(&self, group: &str, version: &str, plural: &str) -> Option<&Arc<Resource>> {
        self.groups.get(group)?.get(version)?.get(plural)
    }

    /// The kind behind an object's own apiVersion and kind.
    pub fn by_kind(&self, api_version: &str, kind: &str) -> Option<&Arc<Resource>> {
        self.kinds.get(&(api_version.to_owned(), kind.to_owned()))
    }

    /// The stored form of a collection: the kind under whose apiVersion its objects are kept.
    pub fn stored(&self, collection: &str) -> Option<&Arc<Resource>> {
        let mut here = self.kinds.values().filter(|resource| *resource.collection == *collection);
        // A storage version need not be served; its objects are then handled under one that is.
        here.clone().find(|resource| resource.stored_as == resource.api_version()).or_else(|| here.next())
    }

    /// The groups except the core one, each with its versions, the preferred one first.
    pub fn groups(&self) -> Vec<(&str, Vec<&str>)> {
        let named = self.groups.iter().filter(|(group, _)| !group.is_empty());
        named.map(|(group, _)| (group.as_str(), self.versions(group))).collect()
    }

    /// The versions of a group, the preferred one first; empty if there is no such group.
    pub fn versions(&self, group: &str) -> Vec<&str> {
        let Some(versions) = self.groups.get(group) else { return Vec::new() };
        let mut versions: Vec<&str> = versions.keys().map(String::as_str).collect();
        versions.sort_by_key(|version| std::cmp::Reverse(priority(version)));
        versions
    }

    /// The kinds of a group-version, in the order of their plural names.
    pub fn resources(&self, group: &str, version: &str) -> Option<impl Iterator<Item = &Arc<Resource>>> {
        Some(self.groups.get(group)?.get(version)?.values())
    }
}

/// Kubernetes' order of versions: GA above beta above alpha, higher numbers above lower ones, everything else last.
fn priority(version: &str) -> (u8, u32, u32) {
    let Some(rest) = version.strip_prefix('v') else { return (0, 0, 0) };
    let digits = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
    let Ok(major) = rest[..digits].parse() else { return (0, 0, 0) };
    let tail = &rest[digits..];
    let staged = |rank, number: &str| number.parse().map_or((0, 0, 0), |minor| (rank, major, minor));
    match (tail.strip_prefix("beta"), tail.strip_prefix("alpha")) {
        _ if tail.is_empty() => (3, major, 0),
        (Some(number), _) => staged(2, number),
        (_, Some(number)) => staged(1, number),
        _ => (0, 0, 0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stable_versions_come_first() {
        let mut versions = ["v1alpha2", "v1", "v10", "v2beta1", "foo", "v1beta3", "v2"];
        versions.sort_by_key(|version| std::cmp::Reverse(priority(version)));
        assert_eq!(versions, ["v10", "v2", "v1", "v2beta1", "v1beta3", "v1alpha2", "foo"]);
    }

    #[test]
    fn every_collection_has_one_stored_form() {
        let registry = Registry::new([]);
        for resource in builtin().iter().filter(|r| !r.behaviour.review) {
            let stored = registry.stored(&resource.collection);
            assert!(stored.is_some(), "{} has no stored form", resource.kind);
        }
    }
}
