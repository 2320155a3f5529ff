//! What several faults need to be a few lines each.

use std::collections::BTreeMap;

use gateproof_proxy::config::{Backend, Config, Filter, Listener, Protocol, RequestMatch, Route, VirtualHost};
use serde_json::Value;

use crate::{
    model::ParentRef,
    runtime::seams::{ConfigSeam, Seen, SnapshotSeam, StatusesSeam},
    snapshot::{Kind, Object, ObjectKey, Snapshot},
    status::{Condition, DesiredStatus, ListenerStatus, ParentStatus, StatusUpdate, Truth},
};

/// A snapshot fault without memory.
pub(super) struct View(pub(super) fn(&mut Snapshot));

impl SnapshotSeam for View {
    fn view(&mut self, mut snapshot: Snapshot) -> Snapshot {
        (self.0)(&mut snapshot);
        snapshot
    }
}

/// A snapshot fault that remembers objects; what it does with them is up to the function.
#[derive(Default)]
pub(super) struct Memory {
    pub(super) objects: BTreeMap<(Kind, ObjectKey), std::sync::Arc<Object>>,
}

/// A snapshot fault with memory.
pub(super) struct Remembering(pub(super) Memory, pub(super) fn(&mut Memory, &mut Snapshot));

impl SnapshotSeam for Remembering {
    fn view(&mut self, mut snapshot: Snapshot) -> Snapshot {
        (self.1)(&mut self.0, &mut snapshot);
        snapshot
    }
}

impl Memory {
    /// Puts back every object of the kind that was ever seen and is gone.
    pub(super) fn keep_removed(&mut self, snapshot: &mut Snapshot, kind: Kind) {
        for object in snapshot.all(kind) {
            self.objects.insert((kind, object.key()), object.clone());
        }
        for ((of, _), object) in &self.objects {
            if *of == kind {
                snapshot.insert(kind, object.clone());
            }
        }
    }

    /// Shows every object of the kind as it was when it was first seen.
    pub(super) fn keep_first(&mut self, snapshot: &mut Snapshot, kind: Kind) {
        let now: Vec<_> = snapshot.all(kind).cloned().collect();
        self.objects.retain(|(of, key), _| *of != kind || now.iter().any(|object| object.key() == *key));
        for object in now {
            let first = self.objects.entry((kind, object.key())).or_insert_with(|| object.clone());
            if first.meta.uid == object.meta.uid {
                snapshot.insert(kind, first.clone());
            } else {
                *first = object;
            }
        }
    }

    /// Shows a field of every listener as it was when its Gateway was first seen.
    pub(super) fn keep_first_of_listeners(&mut self, snapshot: &mut Snapshot, field: &str) {
        let mut first = snapshot.clone();
        self.keep_first(&mut first, Kind::Gateway);
        snapshot.edit(Kind::Gateway, |gateway| {
            let (namespace, name) = (&gateway["metadata"]["namespace"], &gateway["metadata"]["name"]);
            let (Some(namespace), Some(name)) = (namespace.as_str(), name.as_str()) else { return };
            let Some(before) = first.get(Kind::Gateway, namespace, name).map(|object| (*object.raw).clone()) else {
                return;
            };
            for listener in each(gateway, "/spec/listeners") {
                let mut known = before.pointer("/spec/listeners").and_then(Value::as_array).into_iter().flatten();
                let old = known.find(|one| one["name"] == listener["name"]).and_then(|one| one.get(field));
                if let Some(old) = old {
                    listener[field] = old.clone();
                }
            }
        });
    }
}

/// Puts back into the lists that stand in objects of a kind what they had before, behind what they have now.
pub(super) fn add_former(
    memory: &mut Memory,
    snapshot: &mut Snapshot,
    kind: Kind,
    lists: fn(&mut Value) -> Vec<&mut Vec<Value>>,
    is_same: fn(&Value, &Value) -> bool,
) {
    snapshot.edit(kind, |now| {
        let (namespace, name) = (&now["metadata"]["namespace"], &now["metadata"]["name"]);
        let key = ObjectKey::new(namespace.as_str().unwrap_or_default(), name.as_str().unwrap_or_default());
        let Some(before) = memory.objects.get(&(kind, key)) else { return };
        if before.raw["metadata"]["uid"] != now["metadata"]["uid"] {
            return;
        }
        let mut before = (*before.raw).clone();
        for (list, former) in lists(now).into_iter().zip(lists(&mut before)) {
            let gone = former.iter().filter(|old| !list.iter().any(|one| is_same(one, old)));
            let gone: Vec<Value> = gone.cloned().collect();
            list.extend(gone);
        }
    });
    memory.objects.extend(snapshot.all(kind).map(|object| ((kind, object.key()), std::sync::Arc::clone(object))));
}

/// A status fault without memory.
pub(super) struct Say(pub(super) fn(Seen<'_>, &mut Vec<StatusUpdate>));

impl StatusesSeam for Say {
    fn edit(&mut self, seen: Seen<'_>, statuses: &mut Vec<StatusUpdate>) {
        (self.0)(seen, statuses);
    }
}

/// A configuration fault without memory.
pub(super) struct Serve(pub(super) fn(Seen<'_>, &mut Config));

impl ConfigSeam for Serve {
    fn edit(&mut self, seen: Seen<'_>, config: &mut Config) {
        (self.0)(seen, config);
    }
}

/// A configuration fault that works from another view of the cluster than the statuses do.
pub(super) struct ServeFrom<S>(pub(super) S);

impl<S: SnapshotSeam> ConfigSeam for ServeFrom<S> {
    fn edit(&mut self, seen: Seen<'_>, config: &mut Config) {
        *config = seen.otherwise(|snapshot| *snapshot = self.0.view(snapshot.clone())).config;
    }
}

/// A status fault that works from another view of the cluster than the data plane does.
pub(super) struct SayFrom<S>(pub(super) S);

impl<S: SnapshotSeam> StatusesSeam for SayFrom<S> {
    fn edit(&mut self, seen: Seen<'_>, statuses: &mut Vec<StatusUpdate>) {
        *statuses = seen.otherwise(|snapshot| *snapshot = self.0.view(snapshot.clone())).statuses;
    }
}

/// A configuration fault that keeps a part of a rule when the rule has it no longer, as long as it matches the same.
struct KeepsOfRules<T> {
    /// By the uid of the route and the place of the rule.
    known: BTreeMap<(String, usize), (Vec<RequestMatch>, T)>,
    part: fn(&mut Route) -> &mut T,
    is_empty: fn(&T) -> bool,
}

impl<T: Clone + Send> ConfigSeam for KeepsOfRules<T> {
    fn edit(&mut self, seen: Seen<'_>, config: &mut Config) {
        for rule in rules(config) {
            let id = &rule.id;
            let Some(route) = seen.snapshot.get(Kind::HttpRoute, &id.namespace, &id.name) else { continue };
            let key = (route.meta.uid.clone(), id.rule);
            let matches = rule.matches.clone();
            let part = (self.part)(rule);
            if !(self.is_empty)(part) {
                self.known.insert(key, (matches, part.clone()));
            } else if let Some((_, before)) = self.known.get(&key).filter(|(of, _)| *of == matches) {
                *part = before.clone();
            }
        }
    }
}

/// A fault that goes on with what rules of HTTPRoutes had before where they have nothing of it any more.
pub(super) fn keep_of_rules<T: Clone + Send + 'static>(
    part: fn(&mut Route) -> &mut T,
    is_empty: fn(&T) -> bool,
) -> Box<dyn ConfigSeam> {
    Box::new(KeepsOfRules { known: BTreeMap::new(), part, is_empty })
}

/// A fault that sees another cluster.
pub(crate) fn view(change: fn(&mut Snapshot)) -> Box<dyn SnapshotSeam> {
    Box::new(View(change))
}

/// A fault that says something else.
pub(super) fn say(change: fn(Seen<'_>, &mut Vec<StatusUpdate>)) -> Box<dyn StatusesSeam> {
    Box::new(Say(change))
}

/// A fault that serves something else.
pub(super) fn serve(change: fn(Seen<'_>, &mut Config)) -> Box<dyn ConfigSeam> {
    Box::new(Serve(change))
}

/// A fault that serves what would be right in another cluster.
pub(super) fn serve_from(change: fn(&mut Snapshot)) -> Box<dyn ConfigSeam> {
    Box::new(ServeFrom(View(change)))
}

/// A fault that serves what would be right in the cluster of the past.
pub(super) fn serve_past(change: fn(&mut Memory, &mut Snapshot)) -> Box<dyn ConfigSeam> {
    Box::new(ServeFrom(Remembering(Memory::default(), change)))
}

/// Own entries of every route.
pub(super) fn parents(statuses: &mut [StatusUpdate]) -> impl Iterator<Item = &mut ParentStatus> {
    statuses.iter_mut().flat_map(|update| match &mut update.status {
        DesiredStatus::Route { parents } => parents.iter_mut(),
        _ => [].iter_mut(),
    })
}

/// Entries of every listener of a Gateway.
pub(super) fn listeners(statuses: &mut [StatusUpdate]) -> impl Iterator<Item = &mut ListenerStatus> {
    statuses.iter_mut().flat_map(|update| match &mut update.status {
        DesiredStatus::Gateway { listeners, .. } => listeners.iter_mut(),
        _ => [].iter_mut(),
    })
}

/// Entries of every listener of a Gateway or ListenerSet.
fn entries(update: &mut StatusUpdate) -> &mut [ListenerStatus] {
    match &mut update.status {
        DesiredStatus::Gateway { listeners, .. } | DesiredStatus::ListenerSet { listeners, .. } => listeners,
        _ => &mut [],
    }
}

/// The listeners of a Gateway as its spec has them.
pub(super) fn written_listeners<'a>(
    snapshot: &'a Snapshot,
    namespace: &str,
    gateway: &str,
) -> impl Iterator<Item = &'a Value> + use<'a> {
    let gateway = snapshot.get(Kind::Gateway, namespace, gateway);
    gateway.and_then(|of| of.raw.pointer("/spec/listeners")?.as_array()).into_iter().flatten()
}

/// The protocol of the listener that a reference of a route in that namespace names.
pub(super) fn protocol<'a>(snapshot: &'a Snapshot, own: &str, of: &ParentRef) -> Option<&'a str> {
    let section = of.section_name.as_deref()?;
    let mut all = written_listeners(snapshot, of.namespace.as_deref().unwrap_or(own), &of.name);
    all.find(|listener| listener["name"] == section)?["protocol"].as_str()
}

/// Takes the counts of routes over, listener by listener.
pub(crate) fn copy_counts(from: Vec<StatusUpdate>, to: &mut [StatusUpdate]) {
    for mut other in from {
        let Some(update) = to.iter_mut().find(|update| (update.kind, &update.key) == (other.kind, &other.key)) else {
            continue;
        };
        for (listener, counted) in entries(update).iter_mut().zip(entries(&mut other)) {
            listener.attached_routes = counted.attached_routes;
        }
    }
}

/// Own conditions of every object of a kind; not those of listeners.
pub(super) fn own(statuses: &mut [StatusUpdate], kind: Kind) -> impl Iterator<Item = &mut Vec<Condition>> {
    statuses.iter_mut().filter(move |update| update.kind == kind).filter_map(|update| match &mut update.status {
        DesiredStatus::GatewayClass { conditions, .. } | DesiredStatus::Gateway { conditions, .. } => Some(conditions),
        DesiredStatus::ListenerSet { .. } | DesiredStatus::Route { .. } | DesiredStatus::Policy { .. } => None,
    })
}

/// The condition of a type.
pub(super) fn find<'a>(conditions: &'a mut [Condition], r#type: &str) -> Option<&'a mut Condition> {
    conditions.iter_mut().find(|condition| condition.r#type == r#type)
}

/// Whether the condition of a type stands there with this status.
pub(super) fn is(conditions: &[Condition], r#type: &str, status: Truth) -> bool {
    conditions.iter().any(|condition| condition.r#type == r#type && condition.status == status)
}

/// Whether the condition of a type stands there with this reason.
pub(super) fn has_reason(conditions: &[Condition], r#type: &str, reason: &str) -> bool {
    conditions.iter().any(|condition| condition.r#type == r#type && condition.reason == reason)
}

/// Gives the condition of a type another status and reason.
pub(crate) fn set(conditions: &mut [Condition], r#type: &str, status: Truth, reason: &str) {
    if let Some(condition) = find(conditions, r#type) {
        condition.status = status;
        condition.reason = reason.into();
    }
}

/// Every virtual host of the configuration.
pub(super) fn hosts(config: &mut Config) -> impl Iterator<Item = &mut VirtualHost> {
    config.listeners.iter_mut().flat_map(|listener| virtual_hosts(listener))
}

/// The virtual hosts of one listener.
pub(super) fn virtual_hosts(listener: &mut Listener) -> Vec<&mut VirtualHost> {
    match &mut listener.protocol {
        Protocol::Http(http) => http.virtual_hosts.iter_mut().collect(),
        Protocol::Https(tls) => tls.iter_mut().map(|tls| &mut tls.virtual_host).collect(),
        Protocol::Tls(port) => port.https.iter_mut().map(|tls| &mut tls.virtual_host).collect(),
        Protocol::Tcp(_) | Protocol::Udp(_) => Vec::new(),
    }
}

/// Every rule of the configuration.
pub(crate) fn rules(config: &mut Config) -> impl Iterator<Item = &mut Route> {
    hosts(config).flat_map(|host| host.routes.iter_mut())
}

/// Every backend of every rule.
pub(crate) fn backends(config: &mut Config) -> impl Iterator<Item = &mut Backend> {
    rules(config).flat_map(|rule| rule.backends.iter_mut())
}

/// Every list of filters: of rules and of backends.
pub(super) fn filters(config: &mut Config) -> impl Iterator<Item = &mut Vec<Filter>> {
    rules(config).flat_map(|rule| {
        let Route { filters, backends, .. } = rule;
        std::iter::once(filters).chain(backends.iter_mut().map(|backend| &mut backend.filters))
    })
}

/// Every entry of a list at this place in an object.
pub(super) fn each<'a>(object: &'a mut Value, pointer: &str) -> impl Iterator<Item = &'a mut Value> {
    object.pointer_mut(pointer).and_then(Value::as_array_mut).into_iter().flatten()
}

/// Every backendRef of a route, those of mirrors not included.
pub(super) fn backend_refs(route: &mut Value) -> impl Iterator<Item = &mut Value> {
    each(route, "/spec/rules").flat_map(|rule| each(rule, "/backendRefs"))
}

/// Reads grants to referrers of one kind as grants to those of other kinds, too.
pub(super) fn widen_grants(snapshot: &mut Snapshot, kind: &str, to: &[&str]) {
    snapshot.edit(Kind::ReferenceGrant, |grant| {
        let Some(from) = grant.pointer_mut("/spec/from").and_then(Value::as_array_mut) else { return };
        let granted: Vec<Value> = from.iter().filter(|one| one["kind"] == kind).cloned().collect();
        for (mut one, other) in granted.iter().flat_map(|one| to.iter().map(|other| (one.clone(), *other))) {
            one["kind"] = other.into();
            from.push(one);
        }
    });
}

/// Takes a field out of an object.
pub(super) fn drop_field(object: &mut Value, field: &str) {
    if let Some(map) = object.as_object_mut() {
        map.remove(field);
    }
}

/// Takes a field out of a part of an object, if that part is there.
pub(super) fn drop_at(object: &mut Value, pointer: &str, field: &str) {
    if let Some(part) = object.pointer_mut(pointer) {
        drop_field(part, field);
    }
}
