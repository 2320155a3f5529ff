//! What goes wrong with what happens to requests before they are matched.

use gateproof_proxy::config::{Authorization, BackendTarget, Config, VirtualHost};
use serde_json::Value;

use super::{
    Fault, Seam,
    tools::{drop_field, each, has_reason, hosts, listeners, say, serve, set},
};
use crate::status::Truth;

const ASKED: &str = "OWN-61";
const SEEN: &str = "OWN-62";
const IN_ORDER: &str = "OWN-63";
const HOST: &str = "OWN-64";
const BROKEN: &str = "OWN-65";
const HTTP_ALONE: &str = "OWN-66";

fn filters(config: &mut Config) -> impl Iterator<Item = &mut Vec<Authorization>> {
    hosts(config).map(|host: &mut VirtualHost| &mut host.before)
}

fn is_broken(one: &Authorization) -> bool {
    matches!(one.target, BackendTarget::Fail { .. })
}

/// Takes the rule about filters off the listeners of Gateways.
fn admit_everywhere(crds: &mut [Value]) {
    for crd in crds.iter_mut().filter(|crd| crd["spec"]["names"]["kind"] == "Gateway") {
        for version in each(crd, "/spec/versions") {
            let listener = "/schema/openAPIV3Schema/properties/spec/properties/listeners/items";
            if let Some(listener) = version.pointer_mut(listener) {
                drop_field(listener, "x-kubernetes-validations");
            }
        }
    }
}

pub(super) const FAULTS: &[Fault] = &[
    Fault {
        name: "asks-nobody-about-requests",
        summary: "Skips the filters of a listener that can be followed, and serves as if there were none.",
        clauses: &[ASKED],
        seam: Seam::Config(|| serve(|_, config| filters(config).for_each(|all| all.retain(is_broken)))),
    },
    Fault {
        name: "matches-without-what-filters-add",
        summary: "Matches requests as they came, and adds what the filters of a listener say for the backend alone.",
        clauses: &[SEEN],
        seam: Seam::Config(|| {
            serve(|_, config| filters(config).flatten().for_each(|one| one.is_seen_by_rules = false))
        }),
    },
    Fault {
        name: "turns-the-order-of-listener-filters",
        summary: "Asks the last filter of a listener first.",
        clauses: &[IN_ORDER],
        seam: Seam::Config(|| serve(|_, config| filters(config).for_each(|all| all.reverse()))),
    },
    Fault {
        name: "lets-listener-filters-change-the-host",
        summary: "Takes the host from the answer of a filter of a listener.",
        clauses: &[HOST],
        seam: Seam::Config(|| serve(|_, config| filters(config).flatten().for_each(|one| one.may_change_host = true))),
    },
    Fault {
        name: "skips-broken-listener-filters",
        summary: "Skips a filter of a listener whose reference cannot be followed.",
        clauses: &[BROKEN],
        seam: Seam::Config(|| serve(|_, config| filters(config).for_each(|all| all.retain(|one| !is_broken(one))))),
    },
    Fault {
        name: "resolves-broken-listener-filters",
        summary: "Says ResolvedRefs=True of a listener with a filter whose reference cannot be followed.",
        clauses: &[BROKEN],
        seam: Seam::Statuses(|| {
            say(|_, statuses| {
                for listener in listeners(statuses) {
                    if has_reason(&listener.conditions, "ResolvedRefs", "InvalidListenerFilterRef") {
                        set(&mut listener.conditions, "ResolvedRefs", Truth::True, "ResolvedRefs");
                    }
                }
            })
        }),
    },
    Fault {
        name: "crds-with-filters-of-streams",
        summary: "Serves CRDs that store a Gateway with filters on a listener of TCP.",
        clauses: &[HTTP_ALONE],
        seam: Seam::ApiSurface(|crds| admit_everywhere(crds)),
    },
];
