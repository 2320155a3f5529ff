//! What is long, or asked for by few: refused in words alone, taken for something else, or left unfinished.

use std::collections::BTreeSet;

use gateproof_proxy::Config;
use serde_json::Value;

use super::{
    Fault, Seam,
    tools::{is, own, parents, say, serve, set},
};
use crate::{
    runtime::seams::Seen,
    snapshot::{Kind, Object, ObjectKey, Snapshot},
    status::{Condition, DesiredStatus, StatusUpdate, Truth},
};

/// The most matches of a route, the longest hostname, and the longest name of a Gateway.
const MATCHES: usize = 100;
const HOSTNAME: usize = 200;
pub(crate) const NAME: usize = 200;

/// Whether a route is beyond limits that a controller may have: matches, length of hostnames, pauses between tries.
pub(crate) fn is_beyond(snapshot: &Snapshot, update: &StatusUpdate) -> bool {
    let ObjectKey { namespace, name } = &update.key;
    update.kind == Kind::HttpRoute
        && snapshot.get(update.kind, namespace, name).is_some_and(|route| is_large(&route.raw))
}

/// Whether it is a large one.
pub(crate) fn is_large(route: &Value) -> bool {
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let rules = list(&route["spec"]["rules"]);
    let matches: usize = rules.iter().map(|rule| list(&rule["matches"]).len()).sum();
    let hostnames = list(&route["spec"]["hostnames"]);
    matches > MATCHES
        || hostnames.iter().any(|host| host.as_str().is_some_and(|host| host.len() > HOSTNAME))
        || rules.iter().any(|rule| rule["retry"]["backoff"].is_string())
}

/// Refuses routes beyond limits of its own.
fn refuse_in_words(seen: Seen<'_>, statuses: &mut [StatusUpdate]) {
    for update in statuses.iter_mut().filter(|update| is_beyond(seen.snapshot, update)) {
        for parent in parents(std::slice::from_mut(update)) {
            set(&mut parent.conditions, "Accepted", Truth::False, "UnsupportedValue");
        }
    }
}

/// Never comes to an end with Gateways of long names.
fn leave_unfinished(statuses: &mut [StatusUpdate]) {
    for update in statuses.iter_mut().filter(|update| update.key.name.len() > NAME) {
        for conditions in own(std::slice::from_mut(update), Kind::Gateway) {
            set(conditions, "Programmed", Truth::False, "Pending");
        }
    }
}

/// Serves of Gateways whose long names begin alike the routes of the first alone.
fn cut_names(seen: Seen<'_>, config: &mut Config) {
    let mut known = BTreeSet::new();
    let mut named: Vec<ObjectKey> = seen.snapshot.all(Kind::Gateway).map(|gateway| gateway.key()).collect();
    named.retain(|key| key.name.len() > NAME);
    named.sort_by(|a, b| (&a.namespace, &a.name).cmp(&(&b.namespace, &b.name)));
    named.retain(|key| !known.insert((key.namespace.clone(), key.name[..NAME].to_owned())));
    serve_no_routes(seen, config, &named);
}

/// Serves no HTTPRoute of these Gateways.
fn serve_no_routes(seen: Seen<'_>, config: &mut Config, gateways: &[ObjectKey]) {
    if !gateways.is_empty() {
        let without = |snapshot: &mut Snapshot| {
            snapshot.retain(Kind::HttpRoute, |route| !gateways.iter().any(|gateway| names(route, gateway)));
        };
        *config = seen.otherwise(without).config;
    }
}

/// Whether a route names a Gateway of its own namespace.
pub(super) fn names(route: &Object, gateway: &ObjectKey) -> bool {
    let mut parents = route.raw["spec"]["parentRefs"].as_array().into_iter().flatten();
    route.meta.namespace == gateway.namespace && parents.any(|parent| parent["name"] == gateway.name.as_str())
}

/// The Gateways with such a listener.
pub(super) fn with_listener(seen: Seen<'_>, is_such: fn(&[Condition]) -> bool) -> Vec<ObjectKey> {
    let has_such = |update: &StatusUpdate| match &update.status {
        DesiredStatus::Gateway { listeners, .. } => listeners.iter().any(|listener| is_such(&listener.conditions)),
        _ => false,
    };
    seen.otherwise(|_| {}).statuses.into_iter().filter(has_such).map(|update| update.key).collect()
}

/// Serves no HTTPRoute of Gateways with such a listener.
pub(super) fn stop_beside(seen: Seen<'_>, config: &mut Config, is_such: fn(&[Condition]) -> bool) {
    serve_no_routes(seen, config, &with_listener(seen, is_such));
}

/// Whether a listener conflicts with another one.
fn conflicts(conditions: &[Condition]) -> bool {
    is(conditions, "Conflicted", Truth::True)
}

/// Accepts Gateways that have nothing but listeners which conflict.
fn accept_conflicts(statuses: &mut [StatusUpdate]) {
    for update in statuses {
        if let DesiredStatus::Gateway { conditions, listeners, .. } = &mut update.status
            && !listeners.is_empty()
            && listeners.iter().all(|listener| conflicts(&listener.conditions))
        {
            set(conditions, "Accepted", Truth::True, "ListenersNotValid");
        }
    }
}

pub(super) const FAULTS: &[Fault] = &[
    Fault {
        name: "refuses-large-routes-in-words-alone",
        summary: "Says Accepted=False of routes with very many matches, a very long hostname or a backoff, and serves them.",
        clauses: &["GEP1364-14"],
        seam: Seam::Statuses(|| say(|seen, statuses| refuse_in_words(seen, statuses))),
    },
    Fault {
        name: "never-programs-long-names",
        summary: "Says of a Gateway with a very long name that it is accepted, and for ever that its data plane is to come.",
        clauses: &["blind:GatewayNameMaximumLength.1"],
        seam: Seam::Statuses(|| say(|_, statuses| leave_unfinished(statuses))),
    },
    Fault {
        name: "takes-gateways-of-long-names-for-one",
        summary: "Serves of two Gateways whose long names differ at the end one, and says that it serves both.",
        clauses: &["blind:GatewayNameMaximumLength.2"],
        seam: Seam::Config(|| serve(cut_names)),
    },
    Fault {
        name: "stops-gateways-with-conflicts",
        summary: "Serves nothing of a Gateway with listeners that conflict, which it says it has accepted.",
        clauses: &["GEP1364-18"],
        seam: Seam::Config(|| serve(|seen, config| stop_beside(seen, config, conflicts))),
    },
    Fault {
        name: "accepts-gateways-of-conflicts-alone",
        summary: "Accepts a Gateway all of whose listeners conflict.",
        clauses: &["GEP1364-14", "GEP1364-35"],
        seam: Seam::Statuses(|| say(|_, statuses| accept_conflicts(statuses))),
    },
];
