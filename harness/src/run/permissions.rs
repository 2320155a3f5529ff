//! What a run asks of the API server, by resource and verb: worked out from what its scenarios do. Preflight asks whether
//! all of it is permitted, and `gateproof rbac` prints the role that permits it and nothing else.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use kube::core::{ApiResource, GroupVersionKind};
use serde_json::{Value, json};

use super::locks;
use crate::cluster::api::{Api, ApiError};
use crate::cluster::kinds::{Kind, Kinds};
use crate::cluster::shape::Shape;
use crate::dialects::Dialect;
use crate::log::ObjectKey;
use crate::scenario::objects::{applied, references, referred};
use crate::scenario::scope::{self, is_cluster_scoped};
use crate::scenario::{Patch, Scenario, Verb};

/// How much depends on a permission.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Need {
    /// Without it something cannot be tested.
    Run,
    /// Without it evidence, diagnoses or `gateproof clean` have less to say or do.
    Help,
}

/// Something that is asked of the API server, in any namespace.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Permission {
    /// API group; empty for core.
    pub group: String,
    /// The resource, with `/subresource` where it is about one.
    pub resource: String,
    /// The verb as Kubernetes authorizes it.
    pub verb: &'static str,
    /// How much depends on it.
    pub need: Need,
}

impl std::fmt::Display for Permission {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let dot = if self.group.is_empty() { "" } else { "." };
        write!(f, "{} {}{dot}{}", self.verb, self.resource, self.group)
    }
}

/// A part of the table: group, resource, verbs, and how much depends on them.
type Row = (&'static str, &'static str, &'static [&'static str], Need);

const CRDS: &str = "apiextensions.k8s.io";
const DEFINITIONS: &str = "customresourcedefinitions";
const POLICY_BINDINGS: &str = "validatingadmissionpolicybindings";
const COORDINATION: &str = "coordination.k8s.io";
const CREATE: &[&str] = &["create"];
const WATCH: &[&str] = &["list", "watch"];
const LIST: &[&str] = &["list"];

/// What every run asks.
const ALWAYS: &[Row] = &[
    (CRDS, "customresourcedefinitions", &["get"], Need::Run),
    // Whether others change them meanwhile.
    (CRDS, "customresourcedefinitions", WATCH, Need::Help),
    ("", "namespaces", CREATE, Need::Run),
    ("", "namespaces", WATCH, Need::Run),
    ("", "namespaces", &["delete"], Need::Run),
    // What holds a namespace that does not go is read there.
    ("", "namespaces", &["get"], Need::Help),
    ("", "events", WATCH, Need::Help),
    // A run says that it is alive; without an answer it looks whether it has done so, and `gateproof clean` looks at all.
    (COORDINATION, "leases", &["create", "patch"], Need::Run),
    (COORDINATION, "leases", &["get", "list"], Need::Help),
    // Notes of what is to be restored.
    ("", "configmaps", &["list"], Need::Help),
];
/// What a pool Gateway with TLS asks.
const POOL_TLS: &[Row] = &[("", "secrets", CREATE, Need::Run)];
/// What it asks to have something of the cluster to itself. Who holds it is read only if somebody does.
const LOCKS: &[Row] = &[(COORDINATION, "leases", &["delete"], Need::Run)];
/// What hosted backends ask.
const BACKENDS: &[Row] =
    &[("", "services", CREATE, Need::Run), ("discovery.k8s.io", "endpointslices", CREATE, Need::Run)];
/// What port-forward asks. It is a GET of a WebSocket, and servers from v1.35 on ask for `create` as well.
const PORT_FORWARD: &[Row] = &[
    ("", "services", WATCH, Need::Run),
    ("discovery.k8s.io", "endpointslices", WATCH, Need::Run),
    ("", "pods/portforward", &["get", "create"], Need::Run),
];
/// What deployed backends ask.
const DEPLOYED: &[Row] = &[
    ("", "services", CREATE, Need::Run),
    ("apps", "deployments", CREATE, Need::Run),
    // They name the Pods that are ready.
    ("discovery.k8s.io", "endpointslices", WATCH, Need::Run),
    // Journals are read by way of it.
    ("", "pods/proxy", &["get"], Need::Run),
];
/// What a patch of an object asks that is not the scenario's own: it is noted before, and restored after.
const NOTES: &[Row] =
    &[("", "configmaps", &["create", "patch"], Need::Run), ("", "configmaps", &["delete"], Need::Help)];

/// What of the API server serves as a way to the target, beside writing and watching.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Ways {
    /// Probes go by port-forward.
    pub port_forward: bool,
    /// Backends are deployed.
    pub deployed: bool,
}

/// What a run asks of the API server.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Permissions {
    table: BTreeMap<(String, String), BTreeMap<&'static str, Need>>,
    /// The definitions that are deleted: everything of a kind goes with its definition, so each is permitted by name.
    definitions: BTreeSet<String>,
    /// What binds admission policies and is patched, likewise: by another one the run itself may be confined.
    bindings: BTreeSet<String>,
}

impl Permissions {
    /// What these scenarios, run together by these ways, ask.
    pub fn of<'s>(scenarios: impl Iterator<Item = &'s Scenario>, kinds: &Kinds, ways: Ways) -> Permissions {
        let mut found = Permissions::default();
        found.rows(ALWAYS);
        let dialect = kinds.dialect();
        if let Some(class) = dialect.class() {
            found.add(dialect.group_of(&class.kind), &class.plural, WATCH, Need::Run);
            found.add(dialect.group_of(&class.kind), &class.plural, &["get"], Need::Help);
        }
        if let Some(entry) = dialect.entry() {
            found.add(dialect.group_of(&entry.kind), &entry.plural, WATCH, Need::Run);
        }
        if ways.port_forward {
            found.rows(PORT_FORWARD);
        }
        for scenario in scenarios {
            found.scenario(scenario, kinds, ways);
        }
        found
    }

    /// Adds what other runs ask.
    pub fn join(&mut self, others: Permissions) {
        for ((group, resource), verbs) in others.table {
            for (verb, need) in verbs {
                self.add(&group, &resource, &[verb], need);
            }
        }
        self.definitions.extend(others.definitions);
        self.bindings.extend(others.bindings);
    }

    fn scenario(&mut self, scenario: &Scenario, kinds: &Kinds, ways: Ways) {
        self.definitions.extend(scope::definitions(scenario).into_iter().map(str::to_owned));
        if let Some(entry) = kinds.dialect().entry().filter(|_| !scenario.gateways.is_empty()) {
            self.add(kinds.dialect().group_of(&entry.kind), &entry.plural, CREATE, Need::Run);
        }
        if scenario.gateways.values().any(|shape| shape.starts_with("https")) {
            self.rows(POOL_TLS);
        }
        if !scenario.backends.is_empty() {
            self.rows(if ways.deployed { DEPLOYED } else { BACKENDS });
        }
        let shapes: Vec<Shape> = scenario.gateways.values().filter_map(|shape| shape.parse().ok()).collect();
        if locks::needs_any(scenario, shapes.iter()) {
            self.rows(LOCKS);
        }
        let own: Vec<ObjectKey> = applied(scenario).collect();
        for (place, key) in own.iter().enumerate() {
            self.kind(kinds, &key.group, &key.kind, "", CREATE);
            // What is applied once more is patched.
            if own[..place].contains(key) {
                self.kind(kinds, &key.group, &key.kind, "", &["patch"]);
            }
            // What lies in a namespace goes with it.
            if kinds.of(&key.group, &key.kind).is_some_and(|kind| !kind.namespaced) {
                self.kind(kinds, &key.group, &key.kind, "", &["delete"]);
            }
        }
        for (kind, _) in watched(scenario, kinds) {
            self.add(&kind.group, &kind.plural, WATCH, Need::Run);
        }
        for step in &scenario.steps {
            match &step.verb {
                Verb::Patch(patch) => self.patch(patch, &own, kinds),
                Verb::Delete(delete) => {
                    for object in &delete.objects {
                        self.named(kinds, &object.kind, "", &["delete"]);
                    }
                }
                Verb::Made(made) => {
                    for kind in &made.kinds {
                        self.add(&kind.group, &kind.plural, LIST, Need::Run);
                    }
                }
                _ => {}
            }
        }
    }

    fn patch(&mut self, patch: &Patch, own: &[ObjectKey], kinds: &Kinds) {
        let subresource = patch.subresource.as_ref().map(|name| format!("/{name}")).unwrap_or_default();
        self.named(kinds, &patch.target.kind, &subresource, &["patch"]);
        let kind = &patch.target.kind;
        if kind == scope::POLICY_BINDING {
            self.bindings.insert(patch.target.name.clone());
        }
        let namespaced = kinds.named(kind).is_none_or(|kind| kind.namespaced);
        // Names of own objects are placeholders here, so the kind tells.
        if !namespaced && kind != "Namespace" && own.iter().all(|key| key.kind != *kind) {
            self.named(kinds, kind, "", &["get"]);
            self.rows(NOTES);
        }
    }

    fn rows(&mut self, rows: &[Row]) {
        for (group, resource, verbs, need) in rows {
            self.add(group, resource, verbs, *need);
        }
    }

    fn kind(&mut self, kinds: &Kinds, group: &str, kind: &str, subresource: &str, verbs: &[&'static str]) {
        if let Some(kind) = kinds.of(group, kind) {
            self.add(&kind.group, &format!("{}{subresource}", kind.plural), verbs, Need::Run);
        }
    }

    fn named(&mut self, kinds: &Kinds, kind: &str, subresource: &str, verbs: &[&'static str]) {
        if let Some(kind) = kinds.named(kind) {
            self.add(&kind.group, &format!("{}{subresource}", kind.plural), verbs, Need::Run);
        }
    }

    /// Adds verbs of a resource; what is needed to run stays so.
    pub fn add(&mut self, group: &str, resource: &str, verbs: &[&'static str], need: Need) {
        let known = self.table.entry((group.to_owned(), resource.to_owned())).or_default();
        for verb in verbs {
            let entry = known.entry(*verb).or_insert(need);
            *entry = need.min(*entry);
        }
    }

    /// Each permission, in order of group and resource.
    pub fn iter(&self) -> impl Iterator<Item = Permission> + '_ {
        self.table.iter().flat_map(|((group, resource), verbs)| {
            verbs.iter().map(|(verb, need)| Permission {
                group: group.clone(),
                resource: resource.clone(),
                verb,
                need: *need,
            })
        })
    }

    /// The rules of a ClusterRole that permits all of it and nothing else: resources of a group with the same verbs together.
    pub fn rules(&self) -> Vec<Value> {
        let mut rules: Vec<(&str, Vec<&str>, Vec<&str>)> = Vec::new();
        for ((group, resource), verbs) in &self.table {
            let named = |verb: &&str| is_by_name(group, resource, verb);
            let verbs: Vec<&str> = verbs.keys().copied().filter(|verb| !named(verb)).collect();
            match rules.iter_mut().find(|(of, _, with)| *of == group.as_str() && *with == verbs) {
                Some((_, resources, _)) => resources.push(resource.as_str()),
                None => rules.push((group.as_str(), vec![resource.as_str()], verbs)),
            }
        }
        let rule = |(group, resources, verbs): (&str, Vec<&str>, Vec<&str>)| json!({"apiGroups": [group], "resources": resources, "verbs": verbs});
        let mut rules: Vec<Value> = rules.into_iter().map(rule).collect();
        for (group, resource, verb) in BY_NAME {
            let names = self.names(group);
            if !names.is_empty() {
                let verbs = [verb];
                rules.push(
                    json!({"apiGroups": [group], "resources": [resource], "resourceNames": names, "verbs": verbs}),
                );
            }
        }
        rules
    }

    /// The names for which something of a group is permitted by name.
    fn names(&self, group: &str) -> &BTreeSet<String> {
        if group == scope::ADMISSION { &self.bindings } else { &self.definitions }
    }

    /// Those that the API server does not grant us.
    ///
    /// # Errors
    /// If it does not answer access reviews.
    pub async fn missing(&self, api: &Api) -> Result<Vec<Permission>, ApiError> {
        let reviews = self.iter().map(|permission| async move {
            let by_name = is_by_name(&permission.group, &permission.resource, permission.verb);
            let names = self.names(&permission.group).iter().filter(|_| by_name).map(|name| Some(name.as_str()));
            let names: Vec<Option<&str>> = if by_name { names.collect() } else { vec![None] };
            let granted = names.into_iter().map(|name| is_granted(api, &permission, name));
            let granted = futures::future::try_join_all(granted).await?.into_iter().all(|granted| granted);
            Ok::<_, ApiError>((!granted).then_some(permission))
        });
        Ok(futures::future::try_join_all(reviews).await?.into_iter().flatten().collect())
    }
}

/// What is permitted by name alone.
const BY_NAME: [(&str, &str, &str); 2] = [(CRDS, DEFINITIONS, "delete"), (scope::ADMISSION, POLICY_BINDINGS, "patch")];

/// Whether something is permitted by name alone.
fn is_by_name(group: &str, resource: &str, verb: &str) -> bool {
    BY_NAME.contains(&(group, resource, verb))
}

/// Whether we may list these resources of these API groups, in every namespace.
///
/// # Errors
/// If the API server does not answer access reviews.
pub async fn may_list(api: &Api, resources: &[(&str, &str)]) -> Result<bool, ApiError> {
    let permission = |(group, resource): &(&str, &str)| Permission {
        group: (*group).to_owned(),
        resource: (*resource).to_owned(),
        verb: "list",
        need: Need::Help,
    };
    let permissions: Vec<Permission> = resources.iter().map(permission).collect();
    let granted = permissions.iter().map(|permission| is_granted(api, permission, None));
    Ok(futures::future::try_join_all(granted).await?.into_iter().all(|granted| granted))
}

async fn is_granted(api: &Api, permission: &Permission, name: Option<&str>) -> Result<bool, ApiError> {
    let (resource, subresource) = permission.resource.split_once('/').unwrap_or((&permission.resource, ""));
    let mut attributes = json!({"verb": permission.verb, "group": permission.group, "resource": resource});
    if !subresource.is_empty() {
        attributes["subresource"] = json!(subresource);
    }
    if let Some(name) = name {
        attributes["name"] = json!(name);
    }
    let review = json!({
        "apiVersion": "authorization.k8s.io/v1",
        "kind": "SelfSubjectAccessReview",
        "spec": {"resourceAttributes": attributes},
    });
    let path = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews";
    let answer = api.ask(path, &review).await?;
    Ok(answer.pointer("/status/allowed").and_then(Value::as_bool).unwrap_or_default())
}

/// The kinds that scenarios touch, without asking a cluster: plurals follow the rule that Kubernetes' own kinds follow.
pub fn kinds_of<'s>(scenarios: impl Iterator<Item = &'s Scenario>) -> Kinds {
    let mut scenarios = scenarios.peekable();
    let dialect = scenarios.peek().map_or_else(Dialect::gateway_api, |scenario| Arc::clone(&scenario.dialect));
    let mut kinds = Kinds::new(dialect);
    let mut add = |group: &str, kind: &str, dialect: &Dialect| {
        let resource = ApiResource::from_gvk(&GroupVersionKind::gvk(group, "v1", kind));
        let known = dialect.kind(kind).filter(|_| dialect.has_group(group));
        let plural = known.map_or(&resource.plural, |kind| &kind.plural);
        kinds.add(group, "v1", kind, plural, !is_cluster_scoped(kind, dialect));
    };
    let mut defined = BTreeSet::new();
    for scenario in scenarios {
        let dialect = &*scenario.dialect;
        for (group, kind) in [
            ("", "Namespace"),
            ("", "Service"),
            ("discovery.k8s.io", "EndpointSlice"),
            (CRDS, "CustomResourceDefinition"),
            (scope::ADMISSION, scope::POLICY_BINDING),
        ] {
            add(group, kind, dialect);
        }
        for kind in [dialect.class(), dialect.entry()].into_iter().flatten() {
            add(dialect.group_of(&kind.kind), &kind.kind, dialect);
        }
        defined.extend(referred(scenario));
        for key in applied(scenario) {
            add(&key.group, &key.kind, dialect);
        }
        for made in &scenario.made {
            add(&made.group, &made.object.kind, dialect);
        }
        // What is not applied by the scenario, and not named above, is of its dialect.
        for object in references(scenario) {
            let of_cluster = [scope::DEFINITION, scope::POLICY_BINDING].contains(&object.kind.as_str());
            let known = ["Namespace", "Service", "EndpointSlice", "Secret", "ConfigMap"];
            let is_named = scenario.is_made(object) || applied(scenario).any(|key| key.kind == object.kind);
            if !of_cluster && !known.contains(&object.kind.as_str()) && !is_named {
                add(dialect.group_of(&object.kind), &object.kind, dialect);
            }
        }
    }
    for name in defined {
        // The name of a definition does not say its kind: the resource stands for it.
        if let Some((plural, group)) = name.split_once('.').filter(|_| kinds.defined_by(name).is_none()) {
            kinds.add(group, "v1", plural, plural, true);
        }
    }
    kinds
}

/// What of a scenario's objects is watched: kinds by the run's label, and cluster-scoped objects that are not the
/// scenario's own by name.
pub fn watched<'k>(scenario: &Scenario, kinds: &'k Kinds) -> Vec<(&'k Kind, Option<String>)> {
    let applied: Vec<ObjectKey> = applied(scenario).collect();
    let mut found: Vec<(&Kind, Option<String>)> =
        applied.iter().filter_map(|key| kinds.of(&key.group, &key.kind)).map(|kind| (kind, None)).collect();
    // Who else changes a backend shows there alone.
    if !scenario.backends.is_empty() {
        let of_backends = [kinds.of("", "Service"), kinds.of("discovery.k8s.io", "EndpointSlice")];
        found.extend(of_backends.into_iter().flatten().map(|kind| (kind, None)));
    }
    // And who else changes what a Gateway of the pool terminates TLS with.
    if scenario.gateways.values().any(|shape| shape.starts_with("https")) {
        found.extend(kinds.of("", "Secret").map(|kind| (kind, None)));
    }
    for object in references(scenario) {
        let Some(kind) = kinds.named(&object.kind) else { continue };
        let own = applied.iter().any(|key| key.kind == object.kind && key.name == object.name);
        // Placeholders stand for names of the run, or for the GatewayClass, which is watched anyway; and so is what the target makes.
        let own = own || scenario.is_made(object);
        let foreign = !kind.namespaced && kind.kind != "Namespace" && !own && !object.name.contains("${");
        found.push((kind, foreign.then(|| object.name.clone())));
    }
    found
}

#[cfg(test)]
#[path = "permissions_tests.rs"]
mod tests;
