//! The kinds that the target serves, and where their objects live.

use std::cmp::Reverse;
use std::sync::Arc;

use indexmap::IndexMap;

use crate::dialects::{Dialect, is_borrowed};
use crate::log::ObjectKey;

/// A served kind.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Kind {
    /// API group; empty for core.
    pub group: String,
    /// Served versions, newest first by Kubernetes' order (v2 before v1 before v1beta1 before v1alpha2).
    pub versions: Vec<String>,
    /// The kind.
    pub kind: String,
    /// The resource, such as `httproutes`.
    pub plural: String,
    /// Whether its objects live in namespaces.
    pub namespaced: bool,
    /// Whether it is served only from the time on at which a scenario has created its definition.
    pub later: bool,
}

impl Kind {
    /// `group/version`, or `version` alone for core, at the newest version served.
    pub fn api_version(&self) -> String {
        let version = self.versions.first().map_or("v1", String::as_str);
        if self.group.is_empty() { version.to_owned() } else { format!("{}/{version}", self.group) }
    }

    /// The kind as if it were served at one version alone; nothing if it is not served at that.
    pub fn at(&self, version: &str) -> Option<Kind> {
        let is_served = self.versions.iter().any(|served| served == version);
        is_served.then(|| Kind { versions: vec![version.to_owned()], ..self.clone() })
    }

    /// URL path of the collection: in a namespace, or everywhere.
    pub fn collection(&self, namespace: Option<&str>) -> String {
        let version = self.versions.first().map_or("v1", String::as_str);
        let root =
            if self.group.is_empty() { format!("/api/{version}") } else { format!("/apis/{}/{version}", self.group) };
        match namespace {
            Some(namespace) if self.namespaced => format!("{root}/namespaces/{namespace}/{}", self.plural),
            _ => format!("{root}/{}", self.plural),
        }
    }

    /// URL path of one object.
    pub fn object(&self, key: &ObjectKey) -> String {
        format!("{}/{}", self.collection(key.namespace.as_deref()), key.name)
    }

    /// `plural.group`, as people name resources.
    pub fn resource(&self) -> String {
        if self.group.is_empty() { self.plural.clone() } else { format!("{}.{}", self.plural, self.group) }
    }
}

/// Every kind that a run may need, by group and kind.
#[derive(Debug, Clone)]
pub struct Kinds {
    dialect: Arc<Dialect>,
    table: IndexMap<(String, String), Kind>,
}

impl Kinds {
    /// None yet, on a target that speaks this dialect.
    pub fn new(dialect: Arc<Dialect>) -> Kinds {
        Kinds { dialect, table: IndexMap::new() }
    }

    /// The dialect that the target speaks.
    pub fn dialect(&self) -> &Arc<Dialect> {
        &self.dialect
    }

    fn of_dialect(&self, kind: &str) -> Option<&Kind> {
        self.of(self.dialect.group_of(kind), kind)
    }

    /// Its class, if it is served.
    pub fn class(&self) -> Option<&Kind> {
        self.of_dialect(&self.dialect.class()?.kind)
    }

    /// Where traffic comes in, if that is served.
    pub fn entry(&self) -> Option<&Kind> {
        self.of_dialect(&self.dialect.entry()?.kind)
    }

    /// The groups of the dialect without which nothing of it can be tried: that of where traffic comes in, if that is part of it
    /// and not there, or else its own, if none of its own kinds is there. What it has of another dialect is not its own, unless
    /// all is.
    pub fn lacks(&self) -> Vec<&str> {
        let dialect = &self.dialect;
        if let Some(entry) = dialect.entry().filter(|_| self.entry().is_none()) {
            return vec![dialect.group_of(&entry.kind)];
        }
        let own: Vec<&String> = dialect.groups().iter().filter(|group| !is_borrowed(group, dialect)).collect();
        let own = if own.is_empty() { dialect.groups().iter().collect() } else { own };
        let is_own = |kind: &Kind| own.contains(&&kind.group) && dialect.kind(&kind.kind).is_some();
        if self.iter().any(is_own) { Vec::new() } else { own.into_iter().map(String::as_str).collect() }
    }

    /// Those of the dialect's own groups.
    pub fn own(&self) -> impl Iterator<Item = &Kind> {
        self.iter().filter(|kind| self.dialect.has_group(&kind.group))
    }

    /// Adds a version of a kind.
    pub fn add(&mut self, group: &str, version: &str, kind: &str, plural: &str, namespaced: bool) {
        let entry = self.table.entry((group.to_owned(), kind.to_owned())).or_insert_with(|| Kind {
            group: group.to_owned(),
            versions: Vec::new(),
            kind: kind.to_owned(),
            plural: plural.to_owned(),
            namespaced,
            later: false,
        });
        if !entry.versions.iter().any(|known| known == version) {
            entry.versions.push(version.to_owned());
            entry.versions.sort_by_key(|version| Reverse(priority(version)));
        }
    }

    /// Makes a kind one that is served later.
    pub fn postpone(&mut self, definition: &str) {
        self.table.values_mut().filter(|kind| kind.resource() == definition).for_each(|kind| kind.later = true);
    }

    /// The kind of this definition.
    pub fn defined_by(&self, definition: &str) -> Option<&Kind> {
        self.table.values().find(|kind| kind.resource() == definition)
    }

    /// A kind of a group, if it is served, at once or later.
    pub fn of(&self, group: &str, kind: &str) -> Option<&Kind> {
        self.table.get(&(group.to_owned(), kind.to_owned()))
    }

    /// A kind named without its group, as manifests name subjects: the dialect's first, then core's, then any.
    pub fn named(&self, kind: &str) -> Option<&Kind> {
        self.of(self.dialect.group_of(kind), kind)
            .or_else(|| self.of("", kind))
            .or_else(|| self.table.values().find(|known| known.kind == kind))
    }

    /// All of them.
    pub fn iter(&self) -> impl Iterator<Item = &Kind> {
        self.table.values()
    }
}

/// Kubernetes' order of versions: stable, beta, alpha; then major; then minor. Anything else comes last, by name.
fn priority(version: &str) -> (u8, u32, u32, Reverse<String>) {
    let other = (0, 0, 0, Reverse(version.to_owned()));
    let Some(rest) = version.strip_prefix('v') else { return other };
    let digits = rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let (major, rest) = rest.split_at(digits);
    let Ok(major) = major.parse::<u32>() else { return other };
    let stage = |name: &str, rank: u8| {
        let minor = rest.strip_prefix(name)?.parse::<u32>().ok()?;
        Some((rank, major, minor, Reverse(String::new())))
    };
    if rest.is_empty() {
        return (3, major, 0, Reverse(String::new()));
    }
    stage("beta", 2).or_else(|| stage("alpha", 1)).unwrap_or(other)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn versions_are_in_kubernetes_order() {
        let mut kinds = Kinds::new(Dialect::gateway_api());
        for version in ["v1alpha2", "v1", "foo", "v1beta1", "v2alpha1", "v2", "v1alpha3"] {
            kinds.add("g", version, "Thing", "things", true);
        }
        let thing = kinds.of("g", "Thing").unwrap();
        assert_eq!(thing.versions, ["v2", "v1", "v1beta1", "v2alpha1", "v1alpha3", "v1alpha2", "foo"]);
        assert_eq!(thing.api_version(), "g/v2");
        assert_eq!(thing.at("v1beta1").unwrap().api_version(), "g/v1beta1");
        assert_eq!(thing.at("v3"), None);
    }

    #[test]
    fn paths_follow_group_and_scope() {
        let mut kinds = Kinds::new(Dialect::gateway_api());
        kinds.add("", "v1", "Service", "services", true);
        kinds.add("gateway.networking.k8s.io", "v1", "GatewayClass", "gatewayclasses", false);
        let key = |kind: &str, namespace: Option<&str>| ObjectKey {
            group: String::new(),
            kind: kind.to_owned(),
            namespace: namespace.map(str::to_owned),
            name: "a".to_owned(),
        };
        let service = kinds.named("Service").unwrap();
        assert_eq!(service.object(&key("Service", Some("n"))), "/api/v1/namespaces/n/services/a");
        assert_eq!(service.collection(None), "/api/v1/services");
        let class = kinds.named("GatewayClass").unwrap();
        assert_eq!(class.object(&key("GatewayClass", None)), "/apis/gateway.networking.k8s.io/v1/gatewayclasses/a");
    }
}
