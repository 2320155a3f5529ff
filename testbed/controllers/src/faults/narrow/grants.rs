//! Those of such mistakes that are made with one thing which a grant says, each as an HTTPRoute has it.

use serde_json::{Value, json};

use crate::{
    faults::{
        Fault, Seam,
        tools::{backend_refs, each, view, widen_grants},
    },
    model::GATEWAY_GROUP,
    snapshot::{Kind, Snapshot},
};

/// Puts grants to HTTPRoutes that are in the namespace of these into those of the backends, too.
fn spread_near_grants(snapshot: &mut Snapshot) {
    let mut copies = Vec::new();
    for grant in snapshot.all(Kind::ReferenceGrant) {
        let own = grant.meta.namespace.as_str();
        let from = grant.raw.pointer("/spec/from").and_then(Value::as_array);
        if !from.into_iter().flatten().any(|one| one["kind"] == "HTTPRoute" && one["namespace"] == own) {
            continue;
        }
        for route in snapshot.all(Kind::HttpRoute).filter(|route| route.meta.namespace == own) {
            let mut route = (*route.raw).clone();
            for namespace in backend_refs(&mut route).filter_map(|backend| backend["namespace"].as_str()) {
                let mut copy = (*grant.raw).clone();
                copy["metadata"]["namespace"] = namespace.into();
                copy["metadata"]["name"] = format!("{own}-{}", grant.key().name).into();
                copies.push(copy);
            }
        }
    }
    for copy in copies {
        if let Err(error) = snapshot.put(Kind::ReferenceGrant, copy) {
            tracing::error!(%error, "the fault made an unreadable grant");
        }
    }
}

/// Adds Services to what a grant is for, of the names that it has for Secrets.
fn add_services(grant: &mut Value) {
    if let Some(to) = grant.pointer_mut("/spec/to").and_then(Value::as_array_mut) {
        let mut services: Vec<Value> = to.iter().filter(|one| one["kind"] == "Secret").cloned().collect();
        services.iter_mut().for_each(|one| one["kind"] = json!("Service"));
        to.extend(services);
    }
}

pub(in crate::faults) const FAULTS: &[Fault] = &[
    Fault {
        name: "takes-grants-to-secrets-for-services",
        summary: "Reads a grant for Secrets as one for the Services of the same names, too.",
        clauses: &["IMPL-41", "upstream:HTTPRouteInvalidReferenceGrant"],
        seam: Seam::Snapshot(|| view(|snapshot| snapshot.edit(Kind::ReferenceGrant, add_services))),
    },
    Fault {
        name: "takes-grants-to-httproutes-of-other-groups",
        summary: "Reads a grant to HTTPRoutes of another group as one to those of Gateway API.",
        clauses: &["IMPL-41", "upstream:HTTPRouteInvalidReferenceGrant"],
        seam: Seam::Snapshot(|| {
            view(|snapshot| {
                snapshot.edit(Kind::ReferenceGrant, |grant| {
                    let from = each(grant, "/spec/from").filter(|from| from["kind"] == "HTTPRoute");
                    from.for_each(|from| from["group"] = json!(GATEWAY_GROUP));
                });
            })
        }),
    },
    Fault {
        name: "takes-grants-to-gateways-for-httproutes",
        summary: "Reads a grant to the Gateways of a namespace as one to its HTTPRoutes, too.",
        clauses: &["IMPL-41", "upstream:HTTPRouteInvalidReferenceGrant"],
        seam: Seam::Snapshot(|| view(|snapshot| widen_grants(snapshot, "Gateway", &["HTTPRoute"]))),
    },
    Fault {
        name: "honours-grants-beside-routes",
        summary: "Honours a grant that is in the namespace of the HTTPRoute, and not of its backend.",
        clauses: &["IMPL-41", "upstream:HTTPRouteInvalidReferenceGrant"],
        seam: Seam::Snapshot(|| view(spread_near_grants)),
    },
];
