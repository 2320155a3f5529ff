//! What targets say of the policies that affect them.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::{accepted, key};
use crate::object::{Kind, Snapshot, full_name, items, name, namespace, text};
use crate::settings::Settings;
use crate::status::{CONTROLLER_NAME, Change, Condition, StatusUpdate, is_affected};
use crate::topology::target;

/// Where a policy sits: the key of its target and the section in it.
struct Placed<'a> {
    kind: Kind,
    policy: &'a Value,
    target: (Kind, String, String),
    section: Option<&'a str>,
}

/// The statuses of Gateways and routes that accepted policies affect, or did before.
pub(super) fn affected(snapshot: &Snapshot, settings: &Settings) -> Vec<StatusUpdate> {
    let mut placed = Vec::new();
    for kind in Kind::POLICIES {
        for policy in snapshot.all(kind) {
            if accepted::accepted(snapshot, settings, kind, policy).is_ok()
                && let Ok((target, _)) = target(snapshot, policy)
            {
                placed.push(Placed {
                    kind,
                    policy,
                    target,
                    section: policy["spec"]["targetRef"]["sectionName"].as_str(),
                });
            }
        }
    }
    let gateways = snapshot.all(Kind::Gateway).filter_map(|gateway| of_gateway(gateway, &placed));
    let routes = [Kind::HttpRoute, Kind::GrpcRoute].into_iter();
    let routes = routes.flat_map(|kind| snapshot.all(kind).map(move |route| (kind, route)));
    let routes = routes.filter_map(|(kind, route)| of_route(snapshot, kind, route, &placed));
    gateways.chain(routes).collect()
}

/// One condition for each kind of the policies, which it lists.
fn conditions<'a>(policies: impl Iterator<Item = &'a Placed<'a>>, object: &Value) -> Vec<Condition> {
    let mut by_kind: BTreeMap<Kind, Vec<String>> = BTreeMap::new();
    for placed in policies {
        by_kind.entry(placed.kind).or_default().push(full_name(placed.policy));
    }
    let one = |(kind, names): (Kind, Vec<String>)| {
        let r#type = format!("kuadrant.io/{}Affected", kind.name());
        let message = format!("affected by {} [{}]", kind.name(), names.join(" "));
        let generation = object["metadata"]["generation"].as_i64();
        Condition { observed_generation: generation, ..Condition::new(&r#type, true, "Accepted", message) }
    };
    by_kind.into_iter().map(one).collect()
}

fn of_gateway(gateway: &Value, placed: &[Placed<'_>]) -> Option<StatusUpdate> {
    let this = key(Kind::Gateway, gateway);
    let here: Vec<&Placed<'_>> = placed.iter().filter(|placed| placed.target == this).collect();
    let mut lists = items(gateway, "/status/listeners").chain(std::iter::once(&gateway["status"]));
    let had = lists.any(|holder| items(holder, "/conditions").any(|one| is_affected(text(one, "/type"))));
    if here.is_empty() && !had {
        return None;
    }
    let whole = here.iter().copied().filter(|placed| placed.section.is_none());
    let of_listener = |listener: &Value| {
        let on = here.iter().copied().filter(|one| one.section.is_none_or(|section| listener["name"] == section));
        (text(listener, "/name").to_owned(), conditions(on, gateway))
    };
    let listeners = items(gateway, "/spec/listeners").map(of_listener).collect();
    Some(StatusUpdate { key: this, change: Change::Gateway { conditions: conditions(whole, gateway), listeners } })
}

/// A route is affected by the policies on the whole of it and by those of the Gateways and listeners that accepted it. One on a rule
/// of it is told of nowhere.
fn of_route(snapshot: &Snapshot, kind: Kind, route: &Value, placed: &[Placed<'_>]) -> Option<StatusUpdate> {
    let this = key(kind, route);
    let mut entries: Vec<(Value, Vec<Condition>)> = Vec::new();
    let mut had = false;
    let mut gateways: BTreeMap<(String, String), Vec<&Value>> = BTreeMap::new();
    for parent in items(route, "/status/parents") {
        if parent["controllerName"] == CONTROLLER_NAME {
            had = true;
        } else if crate::object::is_true(parent, "Accepted") {
            let home = parent["parentRef"]["namespace"].as_str().unwrap_or(namespace(route)).to_owned();
            gateways.entry((home, text(parent, "/parentRef/name").to_owned())).or_default().push(parent);
        }
    }
    for ((home, of), parents) in gateways {
        let Some(gateway) = snapshot.get(Kind::Gateway, &home, &of) else { continue };
        let gateway_key = key(Kind::Gateway, gateway);
        let reaches = |section: &str| {
            parents.iter().any(|parent| parent["parentRef"]["sectionName"].as_str().is_none_or(|one| one == section))
        };
        let on = placed.iter().filter(|one| {
            (one.target == this && one.section.is_none())
                || (one.target == gateway_key && one.section.is_none_or(reaches))
        });
        let found = conditions(on, route);
        if !found.is_empty() {
            let reference = json!({"group": "gateway.networking.k8s.io", "kind": "Gateway", "namespace": home, "name": name(gateway)});
            entries.push((reference, found));
        }
    }
    (had || !entries.is_empty()).then_some(StatusUpdate { key: this, change: Change::Route(entries) })
}
