//! What one listener does to the others of its Gateway.

use std::{collections::BTreeMap, sync::Arc};

use gateproof_proxy::Config;

use super::Bug;
use crate::{
    faults::{
        Fault, Seam,
        limits::{names, stop_beside, with_listener},
        tools::{has_reason, serve},
    },
    runtime::seams::{ConfigSeam, Seen},
    snapshot::{Kind, Object, Snapshot},
    status::Condition,
};

/// Whether what a listener has for a certificate is none, or not there.
fn lacks_its_certificate(conditions: &[Condition]) -> bool {
    has_reason(conditions, "ResolvedRefs", "InvalidCertificateRef")
}

/// Serves the routes of a Gateway with a listener without its certificate as they were when it found that.
#[derive(Default)]
struct Freezes(BTreeMap<String, Arc<Object>>);

impl ConfigSeam for Freezes {
    fn edit(&mut self, seen: Seen<'_>, config: &mut Config) {
        let gateways = with_listener(seen, lacks_its_certificate);
        let is_frozen = |route: &&Arc<Object>| gateways.iter().any(|gateway| names(route, gateway));
        let routes: Vec<&Arc<Object>> = seen.snapshot.all(Kind::HttpRoute).filter(is_frozen).collect();
        let before = std::mem::take(&mut self.0);
        for route in routes {
            let first = before.get(&route.meta.uid).unwrap_or(route);
            self.0.insert(route.meta.uid.clone(), Arc::clone(first));
        }
        if !self.0.is_empty() {
            let past = |snapshot: &mut Snapshot| {
                self.0.values().for_each(|route| snapshot.insert(Kind::HttpRoute, Arc::clone(route)));
            };
            *config = seen.otherwise(past).config;
        }
    }
}

pub(super) const BUGS: &[Bug] = &[
    Bug {
        fault: Fault {
            name: "stops-gateways-without-certificates",
            summary: "Serves nothing of a Gateway with a listener without its certificate, which it says it has accepted.",
            clauses: &["GEP1364-18"],
            seam: Seam::Config(|| serve(|seen, config| stop_beside(seen, config, lacks_its_certificate))),
        },
        reported: &["kgateway-dev/kgateway#11888", "kgateway-dev/kgateway#6957"],
    },
    Bug {
        fault: Fault {
            name: "freezes-gateways-without-certificates",
            summary: "Takes no change of a route up while its Gateway has a listener without its certificate.",
            clauses: &["blind:HTTPRouteObservedGenerationBump.1"],
            seam: Seam::Config(|| Box::<Freezes>::default()),
        },
        reported: &["Azure/AKS#4758"],
    },
];
