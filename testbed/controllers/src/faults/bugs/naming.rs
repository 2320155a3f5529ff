//! Names of listeners and Gateways, and what they are taken for.

use std::collections::BTreeMap;

use gateproof_proxy::config::{Config, Route};

use super::Bug;
use crate::faults::{
    Fault, Seam,
    tools::{hosts, serve, virtual_hosts},
    unseen::gateway_of,
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

/// Serves nothing at Gateways whose names no Service could begin with.
fn drop_digits(config: &mut Config) {
    let begins_with_digit = |id: &str| gateway_of(id).starts_with(|first: char| first.is_ascii_digit());
    for lane in config.listeners.iter_mut().filter(|lane| begins_with_digit(&lane.id)) {
        virtual_hosts(lane).into_iter().for_each(|host| host.routes.clear());
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
    Bug {
        fault: Fault {
            name: "serves-nothing-for-gateways-with-digits-in-front",
            summary: "Serves nothing at a Gateway whose name begins with a digit.",
            clauses: &["OWN-14"],
            seam: Seam::Config(|| serve(|_, config| drop_digits(config))),
        },
        reported: &["istio/istio#56296"],
    },
];
