//! What nobody has a meaning for: kinds and values that are not known, rules that contradict themselves, Gateways of nobody's.

use std::cmp::Reverse;

use gateproof_proxy::Config;
use serde_json::{Value, json};

use super::{
    Fault, Seam,
    tools::{drop_field, each, hosts, say, serve, serve_from, view},
};
use crate::{
    model::{GATEWAY_GROUP, ParentRef},
    runtime::seams::Seen,
    snapshot::{Kind, Snapshot},
    status::{DesiredStatus, ParentStatus, StatusUpdate},
};

/// Adds an entry for each parent that is no Gateway and has the name of one that the route is attached to.
fn speak_for_namesakes(seen: Seen<'_>, statuses: &mut [StatusUpdate]) {
    for update in statuses.iter_mut().filter(|update| update.kind == Kind::HttpRoute) {
        let Some((_, route)) = seen.snapshot.http_route(&update.key.namespace, &update.key.name) else { continue };
        let DesiredStatus::Route { parents } = &mut update.status else { continue };
        for other in route.parent_refs.iter().filter(|other| !other.is_gateway()) {
            let is_namesake = |entry: &&ParentStatus| {
                let of = |of: &ParentRef| (of.namespace.clone(), of.name.clone());
                of(&entry.parent_ref) == of(other)
            };
            if let Some(entry) = parents.iter().find(is_namesake).cloned() {
                parents.push(ParentStatus { parent_ref: other.clone(), ..entry });
            }
        }
    }
}

/// Takes a match of a header whose type it does not know for one of the usual type.
fn read_unknown_types_as_exact(snapshot: &mut Snapshot) {
    snapshot.edit(Kind::HttpRoute, |route| {
        for rule in each(route, "/spec/rules") {
            for header in each(rule, "/matches").flat_map(|one| each(one, "/headers")) {
                if !matches!(header["type"].as_str(), Some("Exact" | "RegularExpression")) {
                    drop_field(header, "type");
                }
            }
        }
    });
}

/// Takes the rules off HTTPRoutes by which no list of filters redirects and rewrites.
fn admit_conflicting_filters(crds: &mut [Value]) {
    let routes = crds.iter_mut().filter(|crd| crd["spec"]["names"]["kind"] == "HTTPRoute");
    for version in routes.flat_map(|crd| each(crd, "/spec/versions")) {
        let filters = "/schema/openAPIV3Schema/properties/spec/properties/rules/items/properties/filters";
        let checks = version.pointer_mut(filters).and_then(|list| list["x-kubernetes-validations"].as_array_mut());
        if let Some(checks) = checks {
            let is_about = |check: &Value, what: &str| check["rule"].as_str().unwrap_or_default().contains(what);
            checks.retain(|check| !(is_about(check, "'RequestRedirect'") && is_about(check, "'URLRewrite'")));
        }
    }
}

/// Leaves a rewrite out where there is a redirect beside it.
fn overlook_rewrites_beside_redirects(snapshot: &mut Snapshot) {
    snapshot.edit(Kind::HttpRoute, |route| {
        for rule in each(route, "/spec/rules") {
            let Some(filters) = rule.pointer_mut("/filters").and_then(Value::as_array_mut) else { continue };
            if filters.iter().any(|filter| filter["type"] == "RequestRedirect") {
                filters.retain(|filter| filter["type"] != "URLRewrite");
            }
        }
    });
}

/// Takes the rules off HTTPRoutes by which who replaces a prefix matches by one.
fn admit_prefixes_of_any_match(crds: &mut [Value]) {
    let routes = crds.iter_mut().filter(|crd| crd["spec"]["names"]["kind"] == "HTTPRoute");
    for version in routes.flat_map(|crd| each(crd, "/spec/versions")) {
        let rule = "/schema/openAPIV3Schema/properties/spec/properties/rules/items";
        let checks = version.pointer_mut(rule).and_then(|rule| rule["x-kubernetes-validations"].as_array_mut());
        if let Some(checks) = checks {
            checks.retain(|check| !check["rule"].as_str().unwrap_or_default().contains("ReplacePrefixMatch"));
        }
    }
}

/// Has the whole path replaced where a prefix is to be, and there is not the one match by a prefix that says which.
fn replace_what_is_no_prefix(snapshot: &mut Snapshot) {
    snapshot.edit(Kind::HttpRoute, |route| {
        for rule in each(route, "/spec/rules") {
            let is_prefix = |one: &Value| {
                let r#type = one.pointer("/path/type").and_then(Value::as_str);
                r#type.is_none_or(|r#type| r#type == "PathPrefix")
            };
            let matches = rule["matches"].as_array();
            if matches.is_none_or(|all| all.len() < 2 && all.iter().all(is_prefix)) {
                continue;
            }
            for filter in each(rule, "/filters") {
                for place in ["/requestRedirect/path", "/urlRewrite/path"] {
                    let Some(path) = filter.pointer_mut(place) else { continue };
                    if path["type"] == "ReplacePrefixMatch" {
                        let whole = path["replacePrefixMatch"].as_str().filter(|by| !by.is_empty()).unwrap_or("/");
                        *path = json!({"type": "ReplaceFullPath", "replaceFullPath": whole});
                    }
                }
            }
        }
    });
}

/// Attaches the routes of Gateways whose class does not exist to every Gateway that there is.
fn attach_to_all(snapshot: &mut Snapshot) {
    let classes: Vec<String> = snapshot.gateway_classes().map(|(object, _)| object.meta.name.clone()).collect();
    let (served, others): (Vec<_>, Vec<_>) =
        snapshot.gateways().partition(|(_, gateway)| classes.contains(&gateway.gateway_class_name));
    let key = |(object, _): &(&crate::snapshot::Object, _)| (object.meta.namespace.clone(), object.meta.name.clone());
    let others: Vec<_> = others.iter().map(key).collect();
    let served: Vec<Value> = served
        .iter()
        .map(key)
        .map(|(namespace, name)| json!({"group": GATEWAY_GROUP, "kind": "Gateway", "namespace": namespace, "name": name}))
        .collect();
    snapshot.edit(Kind::HttpRoute, |route| {
        let own = route["metadata"]["namespace"].clone();
        let is_of_nobody = each(route, "/spec/parentRefs").any(|parent| {
            let namespace = parent["namespace"].as_str().or(own.as_str());
            others.iter().any(|(in_namespace, name)| Some(&**in_namespace) == namespace && parent["name"] == **name)
        });
        if is_of_nobody {
            route["spec"]["parentRefs"] = served.clone().into();
        }
    });
}

/// Of routes of one second lets the one win whose name is the last.
fn prefer_last_names(seen: Seen<'_>, config: &mut Config) {
    for host in hosts(config) {
        host.routes.sort_by_key(|rule| {
            let (namespace, name) = (&rule.id.namespace, &rule.id.name);
            let kinds = [Kind::HttpRoute, Kind::GrpcRoute];
            let route = kinds.iter().find_map(|kind| seen.snapshot.get(*kind, namespace, name));
            let age = route.map(|route| route.meta.creation_timestamp.clone());
            (age, Reverse((namespace.clone(), name.clone())), rule.id.rule)
        });
    }
}

pub(super) const FAULTS: &[Fault] = &[
    Fault {
        name: "speaks-for-parents-of-any-kind",
        summary: "Writes an entry for a parent of an unknown kind that has the name of a Gateway.",
        clauses: &["IMPL-34"],
        seam: Seam::Statuses(|| say(|seen, statuses| speak_for_namesakes(seen, statuses))),
    },
    Fault {
        name: "reads-unknown-types-of-headers-as-exact",
        summary: "Compares a header exactly where the type of its match is one that it does not know.",
        clauses: &["GEP1364-39"],
        seam: Seam::Snapshot(|| view(read_unknown_types_as_exact)),
    },
    Fault {
        name: "serves-rules-of-unknown-values",
        summary: "Refuses a route for a type of a header match that it does not know, and serves it as if it knew it.",
        clauses: &["GEP1364-14", "GEP1364-39"],
        seam: Seam::Config(|| serve_from(read_unknown_types_as_exact)),
    },
    Fault {
        name: "accepts-conflicting-filters",
        summary: "Has CRDs that store rules which both redirect and rewrite, and takes no notice of the rewrite.",
        clauses: &["GEP1364-53", "GEP1364-54"],
        seam: Seam::Several(&[
            Seam::ApiSurface(|crds| admit_conflicting_filters(crds)),
            Seam::Snapshot(|| view(overlook_rewrites_beside_redirects)),
        ]),
    },
    Fault {
        name: "replaces-prefixes-of-any-match",
        summary: "Has CRDs that store routes which replace a prefix without one match by a prefix, and replaces the whole path there.",
        clauses: &["OWN-150"],
        seam: Seam::Several(&[
            Seam::ApiSurface(|crds| admit_prefixes_of_any_match(crds)),
            Seam::Snapshot(|| view(replace_what_is_no_prefix)),
        ]),
    },
    Fault {
        name: "serves-routes-of-nobodys-gateways",
        summary: "Serves the routes of a Gateway whose class does not exist at the other Gateways.",
        clauses: &["IMPL-32"],
        seam: Seam::Config(|| serve_from(attach_to_all)),
    },
    Fault {
        name: "prefers-the-last-name",
        summary: "Decides between equal matches of two routes of one age for the one whose name is the last.",
        clauses: &["blind:HTTPRouteMatchingAcrossRoutes.4"],
        seam: Seam::Config(|| serve(prefer_last_names)),
    },
    Fault {
        name: "calls-its-addresses-hostnames",
        summary: "Gives IP addresses of Gateways as hostnames.",
        clauses: &["OWN-21"],
        seam: Seam::Statuses(|| {
            say(|_, statuses| {
                for update in statuses {
                    if let DesiredStatus::Gateway { addresses, .. } = &mut update.status {
                        addresses.iter_mut().for_each(|address| address.r#type = "Hostname".into());
                    }
                }
            })
        }),
    },
];
