//! Entries of a route that are taken for one another, and those of others beside them.

use serde_json::Value;

use super::Bug;
use crate::{
    faults::{
        Fault, Seam,
        tools::{has_reason, say},
        writer::merge,
    },
    model::ParentRef,
    runtime::seams::Seen,
    snapshot::Kind,
    status::{DesiredStatus, ParentStatus, StatusUpdate},
};

/// Leaves a route the entries for Gateways of one class: that of its last parent.
fn keep_last_class(seen: Seen<'_>, statuses: &mut [StatusUpdate]) {
    for update in statuses {
        let (key, DesiredStatus::Route { parents }) = (&update.key, &mut update.status) else { continue };
        let class = |of: &ParentRef| {
            let gateway = seen.snapshot.gateway(of.namespace.as_deref().unwrap_or(&key.namespace), &of.name);
            gateway.map(|(_, spec)| spec.gateway_class_name.clone())
        };
        let Some(last) = parents.last().map(|parent| class(&parent.parent_ref)) else { continue };
        parents.retain(|parent| class(&parent.parent_ref) == last);
    }
}

/// Says of every parent of a route what it says of the first one for which the two are the same.
fn repeat_first(statuses: &mut [StatusUpdate], is_same: fn(&ParentRef, &ParentRef) -> bool) {
    for update in statuses {
        let DesiredStatus::Route { parents } = &mut update.status else { continue };
        for at in 1..parents.len() {
            let (before, rest) = parents.split_at_mut(at);
            let Some(own) = rest.first_mut() else { continue };
            if let Some(first) = before.iter().find(|of| is_same(&of.parent_ref, &own.parent_ref)) {
                own.conditions.clone_from(&first.conditions);
            }
        }
    }
}

fn have_same_section(one: &ParentRef, other: &ParentRef) -> bool {
    one.section_name.is_some() && one.section_name == other.section_name
}

/// Refuses a route at all sections of a Gateway if one of them refuses it for its hostnames.
fn spread_over_sections(statuses: &mut [StatusUpdate]) {
    let is_refused = |of: &&ParentStatus| has_reason(&of.conditions, "Accepted", "NoMatchingListenerHostname");
    for update in statuses {
        let DesiredStatus::Route { parents } = &mut update.status else { continue };
        let refused: Vec<ParentStatus> = parents.iter().filter(is_refused).cloned().collect();
        let names_section = |parent: &&mut ParentStatus| parent.parent_ref.section_name.is_some();
        for parent in parents.iter_mut().filter(names_section) {
            let of = |one: &ParentRef| (one.namespace.clone(), one.name.clone());
            if let Some(other) = refused.iter().find(|other| of(&other.parent_ref) == of(&parent.parent_ref)) {
                parent.conditions.clone_from(&other.conditions);
            }
        }
    }
}

/// Whether it is the entry of another controller.
fn is_foreign(entry: &Value, desired: &StatusUpdate) -> bool {
    entry["controllerName"] != desired.controller_name.as_str()
}

fn entries(status: &mut Value) -> Option<&mut Vec<Value>> {
    status.get_mut("parents")?.as_array_mut()
}

/// Has every entry of another controller twice.
fn double(entries: &mut Vec<Value>, desired: &StatusUpdate) {
    let single = |of: &&Value| is_foreign(of, desired) && entries.iter().filter(|one| one == of).count() == 1;
    let again: Vec<Value> = entries.iter().filter(single).cloned().collect();
    entries.extend(again);
}

/// Drops what another controller says of a parent that has an entry of ours.
fn take_over(entries: &mut Vec<Value>, desired: &StatusUpdate) {
    let own: Vec<Value> =
        entries.iter().filter(|of| !is_foreign(of, desired)).map(|of| of["parentRef"].clone()).collect();
    entries.retain(|of| !is_foreign(of, desired) || !own.contains(&of["parentRef"]));
}

pub(super) const BUGS: &[Bug] = &[
    Bug {
        fault: Fault {
            name: "publishes-entries-of-one-class",
            summary: "Publishes the entries of a route for the Gateways of one of its classes alone.",
            clauses: &["IMPL-35"],
            seam: Seam::Statuses(|| say(|seen, statuses| keep_last_class(seen, statuses))),
        },
        reported: &[
            "envoyproxy/gateway#7537",
            "envoyproxy/gateway#8318",
            "envoyproxy/gateway#4264",
            "kgateway-dev/kgateway#12405",
        ],
    },
    Bug {
        fault: Fault {
            name: "tells-parents-apart-by-section",
            summary: "Says the same of two Gateways if a route names sections of one name.",
            clauses: &["blind:Generic.8"],
            seam: Seam::Statuses(|| say(|_, statuses| repeat_first(statuses, have_same_section))),
        },
        reported: &["nginx/nginx-gateway-fabric#484"],
    },
    Bug {
        fault: Fault {
            name: "refuses-all-sections-of-a-gateway",
            summary: "Refuses a route at every section of a Gateway that it names if one has none of its hostnames.",
            clauses: &["blind:Generic.8"],
            seam: Seam::Statuses(|| say(|_, statuses| spread_over_sections(statuses))),
        },
        reported: &["kubernetes-sigs/aws-load-balancer-controller#4499"],
    },
    Bug {
        fault: Fault {
            name: "drops-foreign-entries-of-streams",
            summary: "Removes the entries of other controllers from the status of TCPRoutes.",
            clauses: &["IMPL-20", "blind:HTTPRoutePreserveForeignStatus.4"],
            seam: Seam::StatusWriter(|inner| {
                merge(inner, |_, desired, status| {
                    if let (Kind::TcpRoute, Some(entries)) = (desired.kind, entries(status)) {
                        entries.retain(|entry| !is_foreign(entry, desired));
                    }
                })
            }),
        },
        reported: &["nginx/nginx-gateway-fabric#5416", "nginx/nginx-gateway-fabric#4249"],
    },
    Bug {
        fault: Fault {
            name: "doubles-foreign-entries-of-calls",
            summary: "Writes the entries of other controllers twice into the status of GRPCRoutes.",
            clauses: &["IMPL-20"],
            seam: Seam::StatusWriter(|inner| {
                merge(inner, |_, desired, status| {
                    if let (Kind::GrpcRoute, Some(entries)) = (desired.kind, entries(status)) {
                        double(entries, desired);
                    }
                })
            }),
        },
        reported: &["nginx/nginx-gateway-fabric#3509"],
    },
    Bug {
        fault: Fault {
            name: "takes-over-entries-for-its-parents",
            summary: "Replaces what another controller says of a parent by what it says itself.",
            clauses: &["blind:HTTPRoutePreserveForeignStatus.3", "IMPL-20"],
            seam: Seam::StatusWriter(|inner| {
                merge(inner, |_, desired, status| {
                    if let Some(entries) = entries(status) {
                        take_over(entries, desired);
                    }
                })
            }),
        },
        reported: &["kubernetes-sigs/gateway-api#3846"],
    },
];
