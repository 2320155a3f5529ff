//! Names, parts of names and numbers that two things have in common, and that are taken for what tells them apart.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use gateproof_proxy::config::{BackendTarget, Config, Route};
use serde_json::Value;

use super::{Bug, bystanders::Chokes};
use crate::{
    faults::{
        Fault, Seam,
        tools::{backends, each, serve, serve_from},
    },
    runtime::seams::{ConfigSeam, Seen},
    snapshot::{Kind, Object, ObjectKey, Snapshot},
};

/// Sends what there is for Services whose namespaces and names read the same with a dash between to the first of them.
fn join_services(config: &mut Config) {
    let mut first: BTreeMap<String, (String, BackendTarget)> = BTreeMap::new();
    for backend in backends(config) {
        let joined = backend.id.replace('/', "-");
        let (id, target) = first.entry(joined).or_insert_with(|| (backend.id.clone(), backend.target.clone()));
        if *id != backend.id {
            backend.target = target.clone();
        }
    }
}

/// Whether a rule names a Service at one port more than once.
fn repeats_a_service(rule: &Route) -> bool {
    let mut known = BTreeSet::new();
    rule.backends.iter().any(|backend| !known.insert(&backend.id))
}

/// Whether the route of a rule names a hostname more than once.
fn repeats_a_hostname(rule: &Route) -> bool {
    let mut known = HashSet::new();
    rule.hostnames.iter().any(|hostname| !known.insert(hostname))
}

/// Gives every port of a Service whose target port has a name what is behind the first of those.
fn take_named_ports_for_one(snapshot: &mut Snapshot) {
    snapshot.edit(Kind::Service, |service| {
        let mut first: Option<Value> = None;
        for port in each(service, "/spec/ports").filter(|port| port["targetPort"].is_string()) {
            port["name"] = first.get_or_insert_with(|| port["name"].clone()).clone();
        }
    });
}

/// Serves no HTTPRoute any more whose name began with that of another when that one was deleted.
#[derive(Default)]
struct DropsWhatBeginsAlike {
    known: BTreeSet<ObjectKey>,
    dropped: BTreeSet<ObjectKey>,
}

impl ConfigSeam for DropsWhatBeginsAlike {
    fn edit(&mut self, seen: Seen<'_>, config: &mut Config) {
        let now: BTreeSet<ObjectKey> = seen.snapshot.all(Kind::HttpRoute).map(|route| route.key()).collect();
        for gone in self.known.difference(&now) {
            let begins = |of: &&ObjectKey| of.namespace == gone.namespace && of.name.starts_with(&gone.name);
            self.dropped.extend(now.iter().filter(begins).cloned());
        }
        self.known = now;
        if !self.dropped.is_empty() {
            let without = |snapshot: &mut Snapshot| {
                snapshot.retain(Kind::HttpRoute, |route| !self.dropped.contains(&route.key()));
            };
            *config = seen.otherwise(without).config;
        }
    }
}

/// Serves no HTTPRoute under a name that another one had before.
#[derive(Default)]
struct DropsWhatIsMadeAgain {
    /// The uid of the first one.
    known: BTreeMap<ObjectKey, String>,
}

impl ConfigSeam for DropsWhatIsMadeAgain {
    fn edit(&mut self, seen: Seen<'_>, config: &mut Config) {
        for route in seen.snapshot.all(Kind::HttpRoute) {
            self.known.entry(route.key()).or_insert_with(|| route.meta.uid.clone());
        }
        let is_first = |route: &Object| self.known.get(&route.key()) == Some(&route.meta.uid);
        if !seen.snapshot.all(Kind::HttpRoute).all(|route| is_first(route)) {
            *config = seen.otherwise(|snapshot| snapshot.retain(Kind::HttpRoute, is_first)).config;
        }
    }
}

pub(super) const BUGS: &[Bug] = &[
    Bug {
        fault: Fault {
            name: "joins-names-of-services",
            summary: "Takes two Services for one if their namespaces and names read the same with a dash between.",
            clauses: &["GEP1364-14"],
            seam: Seam::Config(|| serve(|_, config| join_services(config))),
        },
        reported: &["traefik/traefik#13367"],
    },
    Bug {
        fault: Fault {
            name: "chokes-on-services-named-twice",
            summary: "Takes no change up on a port where a rule names one Service twice.",
            clauses: &["upstream:HTTPRouteWeight"],
            seam: Seam::Config(|| Chokes::on(repeats_a_service)),
        },
        reported: &["Kong/kubernetes-ingress-controller#5761"],
    },
    Bug {
        fault: Fault {
            name: "chokes-on-hostnames-named-twice",
            summary: "Takes no change up on a port where a route names a hostname twice.",
            clauses: &["blind:HTTPRouteObservedGenerationBump.1"],
            seam: Seam::Config(|| Chokes::on(repeats_a_hostname)),
        },
        reported: &["nginx/nginx-gateway-fabric#478", "istio/istio#24455"],
    },
    Bug {
        fault: Fault {
            name: "drops-routes-that-begin-like-a-deleted-one",
            summary: "Takes a deleted HTTPRoute for every other whose name begins with its own.",
            clauses: &["GEP1364-14"],
            seam: Seam::Config(|| Box::<DropsWhatBeginsAlike>::default()),
        },
        reported: &["apache/apisix-ingress-controller#2472"],
    },
    Bug {
        fault: Fault {
            name: "drops-routes-made-again",
            summary: "Takes an HTTPRoute for the one that was deleted if it has the name of that one.",
            clauses: &["GEP1364-14"],
            seam: Seam::Config(|| Box::<DropsWhatIsMadeAgain>::default()),
        },
        reported: &["kubernetes-sigs/aws-load-balancer-controller#3834", "Kong/kong-operator#4465"],
    },
    Bug {
        fault: Fault {
            name: "takes-named-target-ports-for-one",
            summary: "Sends the requests for all ports of a Service whose target port has a name to the first of them.",
            clauses: &["blind:HTTPRouteServiceTypes.1"],
            seam: Seam::Config(|| serve_from(take_named_ports_for_one)),
        },
        reported: &["kubernetes-sigs/aws-load-balancer-controller#4876"],
    },
];
