//! ListenerSets: which of them a Gateway lets in, how their listeners fit in beside its own, and what their statuses say.

use std::net::IpAddr;

use super::{
    attach::{Routes, lets_in},
    gateway::{Gateway, Scoped, programmed_listener},
    listener::{Around, Listener, clash, conflict, judge},
    verdict::Verdict,
};
use crate::{
    model,
    settings::Settings,
    snapshot::{Kind, Object, Snapshot},
    status::{Condition, DesiredStatus, ListenerStatus, StatusUpdate},
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

/// How many ListenerSets are attached to a Gateway: those that are accepted, whatever else is said of them.
pub(super) fn attached(gateway: &Gateway<'_>) -> usize {
    (0..gateway.sets.len()).filter(|set| accepted(gateway, *set).is_true()).count()
}

fn of_set<'g, 'a>(gateway: &'g Gateway<'a>, set: usize) -> impl Iterator<Item = (usize, &'g Listener<'a>)> {
    gateway.listeners.iter().enumerate().filter(move |(_, listener)| listener.set == Some(set))
}

/// A set is accepted for one listener that can be served, even if others cannot.
fn accepted(gateway: &Gateway<'_>, set: usize) -> Verdict {
    if !gateway.sets[set].is_let_in {
        let message =
            format!("allowedListeners of Gateway {} let no ListenerSet of this namespace in", gateway.object.key());
        return Verdict::no("NotAllowed", message);
    }
    if !gateway.accepted.is_true() {
        return Verdict::no("ParentNotAccepted", format!("Gateway {} is not accepted", gateway.object.key()));
    }
    let bad: Vec<&str> = of_set(gateway, set)
        .filter(|(_, listener)| !listener.is_valid())
        .map(|(_, listener)| listener.name())
        .collect();
    let message = || format!("listeners not valid: {}", bad.join(", "));
    if of_set(gateway, set).all(|(_, listener)| listener.unservable().is_some()) {
        Verdict::no("ListenersNotValid", message())
    } else if bad.is_empty() {
        Verdict::yes("Accepted", "The listeners are added to the Gateway")
    } else {
        Verdict::yes("ListenersNotValid", message())
    }
}

fn programmed(gateway: &Gateway<'_>, accepted: &Verdict, listeners: &[Verdict]) -> Verdict {
    if !accepted.is_true() {
        let reason = if accepted.reason == "ParentNotAccepted" { "ParentNotProgrammed" } else { accepted.reason };
        return Verdict::no(reason, &accepted.message);
    }
    if !gateway.placed.is_true() {
        return Verdict::no("ParentNotProgrammed", &gateway.placed.message);
    }
    if listeners.iter().any(Verdict::is_true) {
        return Verdict::yes("Programmed", "The data plane serves the listeners");
    }
    Verdict::unknown("Pending", "Waiting for the data plane")
}

/// What the data plane has reached for a listener, in the words that there are for those of ListenerSets.
fn programmed_entry(gateway: &Gateway<'_>, listener: &Listener<'_>, snapshot: &Snapshot) -> Verdict {
    let verdict = programmed_listener(gateway, listener, snapshot);
    match &listener.conflict {
        Some(conflict) => Verdict::no(conflict.reason, &conflict.message),
        None if verdict.is_false() => Verdict { reason: "Invalid", ..verdict },
        None => verdict,
    }
}

fn conditions(listener: &Listener<'_>, programmed: &Verdict) -> Vec<Condition> {
    let mut conditions = listener.conditions(programmed);
    for condition in &mut conditions {
        // A reason of Gateways that ListenerSets have not.
        if condition.r#type == "Accepted" && condition.reason == "UnsupportedValue" {
            condition.reason = "Invalid".into();
        }
    }
    conditions
}

/// Desired status of every ListenerSet of a Gateway in scope.
pub(crate) fn statuses(
    gateways: &[Gateway<'_>],
    routes: &Routes<'_>,
    snapshot: &Snapshot,
    settings: &Settings,
) -> Vec<StatusUpdate> {
    let mut statuses = Vec::new();
    for (index, gateway) in gateways.iter().enumerate() {
        for (set, Set { object, .. }) in gateway.sets.iter().enumerate() {
            let verdicts: Vec<Verdict> =
                of_set(gateway, set).map(|(_, listener)| programmed_entry(gateway, listener, snapshot)).collect();
            let accepted = accepted(gateway, set);
            let entry = |((at, listener), programmed): ((usize, &Listener<'_>), &Verdict)| ListenerStatus {
                name: listener.name().to_owned(),
                supported_kinds: listener.kinds.clone(),
                attached_routes: routes.attached(index, at),
                conditions: conditions(listener, programmed),
            };
            let update = StatusUpdate {
                kind: Kind::ListenerSet,
                key: object.key(),
                generation: object.meta.generation,
                controller_name: settings.controller_name.clone(),
                status: DesiredStatus::ListenerSet {
                    conditions: vec![
                        accepted.condition("Accepted"),
                        programmed(gateway, &accepted, &verdicts).condition("Programmed"),
                    ],
                    listeners: of_set(gateway, set).zip(&verdicts).map(entry).collect(),
                },
            };
            statuses.push(update.stamped());
        }
    }
    statuses
}
