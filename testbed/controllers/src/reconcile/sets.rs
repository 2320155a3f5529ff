//! ListenerSets: which of them a Gateway lets in, and how their listeners fit in beside its own.

use std::net::IpAddr;

use super::{
    grants::lets_in,
    listener::{Around, Listener, clash, conflict, judge},
    scope::Scoped,
    verdict::Verdict,
};
use crate::{
    model,
    settings::Settings,
    snapshot::{Object, Snapshot},
};

/// A ListenerSet that refers to a Gateway in scope.
pub(crate) struct Set<'a> {
    pub(crate) object: &'a Object,
    /// Whether the Gateway's `allowedListeners` let it in.
    pub(crate) is_let_in: bool,
}

/// The ListenerSets of a Gateway and all of their listeners. Of listeners that cannot be told apart the Gateway's own come
/// first, then those of older sets, then those that come first by namespace and name; only what comes first is served.
pub(crate) fn review<'a>(
    gateway: &Scoped<'a>,
    snapshot: &'a Snapshot,
    settings: &Settings,
    addresses: &[IpAddr],
) -> (Vec<Set<'a>>, Vec<Listener<'a>>) {
    let mut all: Vec<_> = snapshot.listener_sets().filter(|(set, spec)| refers_to(spec, set, gateway.object)).collect();
    all.sort_by_key(|(set, _)| set.meta.precedence());
    let mut taken: Vec<&model::Listener> = gateway.spec.listeners.iter().collect();
    let (mut sets, mut listeners) = (Vec::new(), Vec::new());
    for (index, (object, spec)) in all.into_iter().enumerate() {
        let namespaces = &gateway.spec.allowed_listeners.namespaces;
        let (to, from) = (&gateway.object.meta.namespace, &object.meta.namespace);
        let is_let_in = lets_in(snapshot, namespaces, "None", to, from);
        let parent = (gateway.object, gateway.spec);
        let around = Around { of: object, kind: "ListenerSet", gateway: parent, snapshot, settings, addresses };
        // Within the set too, what has lost against others keeps nobody out.
        let left: Vec<_> = spec.listeners.iter().filter(|one| clash(one, &taken, settings).is_none()).collect();
        let one = |listener: &'a model::Listener| {
            let conflict = clash(listener, &taken, settings).or_else(|| conflict(listener, &left, settings));
            let judged = judge(listener, conflict.filter(|_| is_let_in), &around);
            let refused = Verdict::no("Invalid", "The Gateway does not allow the ListenerSet");
            let [admitted, accepted] = match is_let_in {
                true => [judged.admitted, judged.accepted],
                false => [refused.clone(), refused],
            };
            Listener { set: Some(index), admitted, accepted, ..judged }
        };
        let added: Vec<Listener<'a>> = spec.listeners.iter().map(one).collect();
        // What has lost or is not let in keeps nobody out.
        taken.extend(added.iter().filter(|one| is_let_in && one.conflict.is_none()).map(|one| one.spec));
        listeners.extend(added);
        sets.push(Set { object, is_let_in });
    }
    (sets, listeners)
}

fn refers_to(spec: &model::ListenerSetSpec, set: &Object, gateway: &Object) -> bool {
    let reference = &spec.parent_ref;
    let namespace = reference.namespace.as_deref().unwrap_or(&set.meta.namespace);
    reference.is_gateway() && namespace == gateway.meta.namespace && reference.name == gateway.meta.name
}
