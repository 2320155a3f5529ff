//! What goes wrong with the routability of addresses.

use serde_json::{Value, json};

use super::{
    Fault, Seam,
    tools::{drop_field, each, has_reason, own, say, set, view},
};
use crate::{
    snapshot::Kind,
    status::{DesiredStatus, GatewayAddress, StatusUpdate, Truth},
};

const HAD: &str = "OWN-56";
const SAID: &str = "OWN-57";
const NOT_REPLACED: &str = "OWN-58";
const CHECKED: &str = "OWN-59";

/// The addresses of every Gateway.
fn addresses(statuses: &mut [StatusUpdate]) -> impl Iterator<Item = &mut Vec<GatewayAddress>> {
    statuses.iter_mut().filter_map(|update| match &mut update.status {
        DesiredStatus::Gateway { addresses, .. } => Some(addresses),
        _ => None,
    })
}

/// Takes the rule about its values off a routability that is asked for.
fn admit_any(crds: &mut [Value]) {
    for crd in crds.iter_mut().filter(|crd| crd["spec"]["names"]["kind"] == "Gateway") {
        for version in each(crd, "/spec/versions") {
            let asked = "/schema/openAPIV3Schema/properties/spec/properties/addresses/items/properties/routability";
            if let Some(asked) = version.pointer_mut(asked) {
                drop_field(asked, "x-kubernetes-validations");
            }
        }
    }
}

pub(super) const FAULTS: &[Fault] = &[
    Fault {
        name: "reports-every-address-as-one-by-default",
        summary: "Says of an address that was asked for with a routability that it has none.",
        clauses: &[HAD],
        seam: Seam::Statuses(|| {
            say(|_, statuses| {
                for address in addresses(statuses).flatten() {
                    address.routability = address.routability.take().map(|_| String::new());
                }
            })
        }),
    },
    Fault {
        name: "says-no-routability-by-default",
        summary: "Leaves routability out of an address of a Gateway that asks for none.",
        clauses: &[SAID],
        seam: Seam::Statuses(|| {
            say(|_, statuses| {
                for address in addresses(statuses).flatten() {
                    address.routability = address.routability.take().filter(|of| !of.is_empty());
                }
            })
        }),
    },
    Fault {
        name: "replaces-routability-that-cannot-be-had",
        summary: "Gives a Gateway an address of the default routability where the one that it asks for cannot be had.",
        clauses: &[NOT_REPLACED],
        seam: Seam::Snapshot(|| {
            view(|snapshot| {
                snapshot.edit(Kind::Gateway, |gateway| {
                    for address in each(gateway, "/spec/addresses") {
                        if address["routability"].as_str().is_some_and(|of| !of.ends_with("/sentinel")) {
                            address["routability"] = json!("");
                        }
                    }
                });
            })
        }),
    },
    Fault {
        name: "finds-addresses-unusable-that-cannot-be-reached",
        summary: "Says AddressNotUsable of a Gateway whose routability cannot be had, as if it had asked for a value.",
        clauses: &[NOT_REPLACED],
        seam: Seam::Statuses(|| {
            say(|_, statuses| {
                for conditions in own(statuses, Kind::Gateway) {
                    if has_reason(conditions, "Programmed", "AddressNotAssigned") {
                        set(conditions, "Programmed", Truth::False, "AddressNotUsable");
                    }
                }
            })
        }),
    },
    Fault {
        name: "crds-with-any-routability",
        summary: "Serves CRDs that store a Gateway with a routability that has no meaning.",
        clauses: &[CHECKED],
        seam: Seam::ApiSurface(|crds| admit_any(crds)),
    },
];
