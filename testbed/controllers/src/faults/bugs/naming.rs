//! Names of listeners, and what they are taken for.

use std::collections::BTreeMap;

use gateproof_proxy::config::{Config, Route};

use super::Bug;
use crate::faults::{
    Fault, Seam,
    tools::{hosts, serve, virtual_hosts},
};

/// As much of a name as it can do with.
const NAME: usize = 63;

/// Serves on all listeners of a port whose names read the same the routes of the first.
fn serve_by_name(config: &mut Config, reads: fn(&str) -> String) {
    for lane in &mut config.listeners {
        let mut first: BTreeMap<String, Vec<Route>> = BTreeMap::new();
        for host in virtual_hosts(lane) {
            host.routes = first.entry(reads(&host.listener)).or_insert_with(|| host.routes.clone()).clone();
        }
    }
}

pub(super) const BUGS: &[Bug] = &[
    Bug {
        fault: Fault {
            name: "has-no-listeners-with-dots",
            summary: "Serves nothing on a listener that has a dot in its name.",
            clauses: &["GEP1364-14"],
            seam: Seam::Config(|| {
                serve(|_, config| {
                    hosts(config).filter(|host| host.listener.contains('.')).for_each(|host| host.routes.clear());
                })
            }),
        },
        reported: &["istio/istio#53200"],
    },
    Bug {
        fault: Fault {
            name: "reads-dots-of-listeners-as-dashes",
            summary: "Takes two listeners for one if their names differ in a dot and a dash.",
            clauses: &["GEP1364-14"],
            seam: Seam::Config(|| serve(|_, config| serve_by_name(config, |name| name.replace('.', "-")))),
        },
        reported: &["kgateway-dev/kgateway#13132"],
    },
    Bug {
        fault: Fault {
            name: "cuts-names-of-listeners",
            summary: "Takes two listeners for one if the first 63 characters of their names are the same.",
            clauses: &["blind:GatewayNameMaximumLength.3", "GEP1364-14"],
            seam: Seam::Config(|| serve(|_, config| serve_by_name(config, |name| name.chars().take(NAME).collect()))),
        },
        reported: &["istio/istio#61258"],
    },
];
