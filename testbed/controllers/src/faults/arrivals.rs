//! Routes that are ordered by when they came.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::{
    Fault, Seam,
    tools::{parents, say, serve_from, set},
};
use crate::{
    runtime::seams::{Seen, SnapshotSeam},
    snapshot::{Kind, Object, ObjectKey, Snapshot},
    status::{StatusUpdate, Truth},
};

/// Takes of two routes of one age the one for the older that it heard of first.
struct ByArrival {
    kind: Kind,
    known: BTreeMap<String, usize>,
}

impl ByArrival {
    fn boxed(kind: Kind) -> Box<dyn SnapshotSeam> {
        Box::new(Self { kind, known: BTreeMap::new() })
    }
}

impl SnapshotSeam for ByArrival {
    fn view(&mut self, mut snapshot: Snapshot) -> Snapshot {
        // What comes at once was written one after the other.
        let mut all: Vec<(u64, String)> = snapshot
            .all(self.kind)
            .map(|route| {
                let version = route.raw["metadata"]["resourceVersion"].as_str().and_then(|text| text.parse().ok());
                (version.unwrap_or_default(), route.meta.uid.clone())
            })
            .collect();
        all.sort();
        for (_, uid) in all {
            let next = self.known.len();
            self.known.entry(uid).or_insert(next);
        }
        let known = &self.known;
        snapshot.edit(self.kind, |route| {
            let at = route["metadata"]["uid"].as_str().and_then(|uid| known.get(uid)).copied().unwrap_or_default();
            date_within_its_second(route, at);
        });
        snapshot
    }
}

/// Takes of the routes of one kind and age the one for the older whose name comes first, and compares no namespaces before that.
struct ByNameAlone {
    kind: Kind,
}

impl ByNameAlone {
    fn boxed(kind: Kind) -> Box<dyn SnapshotSeam> {
        Box::new(Self { kind })
    }
}

impl SnapshotSeam for ByNameAlone {
    fn view(&mut self, mut snapshot: Snapshot) -> Snapshot {
        let names: BTreeSet<String> = snapshot.all(self.kind).map(|route| route.meta.name.clone()).collect();
        let rank = |name: &str| names.iter().take_while(|one| one.as_str() < name).count();
        snapshot.edit(self.kind, |route| {
            let at = route["metadata"]["name"].as_str().map(rank).unwrap_or_default();
            date_within_its_second(route, at);
        });
        snapshot
    }
}

/// Makes the age of a route finer than a second, so that its place decides among those of one second.
fn date_within_its_second(route: &mut Value, at: usize) {
    let created = route["metadata"]["creationTimestamp"].as_str().unwrap_or_default().trim_end_matches('Z');
    route["metadata"]["creationTimestamp"] = format!("{created}.{at:06}Z").into();
}

/// Of two routes of streams or datagrams that are of one age and want the same, the one whose name comes first.
fn first_of_equals(snapshot: &Snapshot) -> Vec<(Kind, ObjectKey)> {
    let wants = |route: &Object| {
        let spec = &route.raw["spec"];
        (
            route.meta.namespace.clone(),
            route.meta.creation_timestamp.clone(),
            spec["parentRefs"].clone(),
            spec["hostnames"].clone(),
        )
    };
    let mut found = Vec::new();
    for kind in [Kind::TcpRoute, Kind::TlsRoute, Kind::UdpRoute] {
        for route in snapshot.all(kind) {
            let mut others = snapshot.all(kind).filter(|other| wants(other) == wants(route));
            if others.any(|other| route.meta.name < other.meta.name) {
                found.push((kind, route.key()));
            }
        }
    }
    found
}

fn refuse_first_of_equals(seen: Seen<'_>, statuses: &mut [StatusUpdate]) {
    let refused = first_of_equals(seen.snapshot);
    for update in statuses.iter_mut().filter(|update| refused.contains(&(update.kind, update.key.clone()))) {
        for parent in parents(std::slice::from_mut(update)) {
            set(&mut parent.conditions, "Accepted", Truth::False, "NotAllowedByListeners");
        }
    }
}

fn leave_first_of_equals_out(snapshot: &mut Snapshot) {
    for (kind, key) in first_of_equals(snapshot) {
        snapshot.remove(kind, &key);
    }
}

pub(super) const FAULTS: &[Fault] = &[
    Fault {
        name: "serves-first-come-routes-first",
        summary: "Decides between equal matches of two routes of one age by which it heard of first, not by name.",
        clauses: &["blind:HTTPRouteMatchingAcrossRoutes.1"],
        seam: Seam::Snapshot(|| ByArrival::boxed(Kind::HttpRoute)),
    },
    Fault {
        name: "serves-first-come-grpcroutes-first",
        summary: "Decides between equal matches of two GRPCRoutes of one age by which it heard of first, not by name.",
        clauses: &["GRPC-03"],
        seam: Seam::Snapshot(|| ByArrival::boxed(Kind::GrpcRoute)),
    },
    Fault {
        name: "serves-first-come-tcproutes-first",
        summary: "Decides between two TCPRoutes of one age by which it heard of first, not by name.",
        clauses: &["OWN-72"],
        seam: Seam::Snapshot(|| ByArrival::boxed(Kind::TcpRoute)),
    },
    Fault {
        name: "serves-first-come-tlsroutes-first",
        summary: "Decides between two TLSRoutes of one age with one hostname by which it heard of first, not by name.",
        clauses: &["OWN-72"],
        seam: Seam::Snapshot(|| ByArrival::boxed(Kind::TlsRoute)),
    },
    Fault {
        name: "serves-first-come-udproutes-first",
        summary: "Decides between two UDPRoutes of one age by which it heard of first, not by name.",
        clauses: &["OWN-72"],
        seam: Seam::Snapshot(|| ByArrival::boxed(Kind::UdpRoute)),
    },
    Fault {
        name: "compares-names-of-routes-alone",
        summary: "Decides between equal matches of two routes of one age by name, whatever their namespaces.",
        clauses: &["blind:HTTPRouteMatchingAcrossRoutes.1"],
        seam: Seam::Snapshot(|| ByNameAlone::boxed(Kind::HttpRoute)),
    },
    Fault {
        name: "compares-names-of-grpcroutes-alone",
        summary: "Decides between equal matches of two GRPCRoutes of one age by name, whatever their namespaces.",
        clauses: &["GRPC-03"],
        seam: Seam::Snapshot(|| ByNameAlone::boxed(Kind::GrpcRoute)),
    },
    Fault {
        name: "compares-names-of-tcproutes-alone",
        summary: "Decides between two TCPRoutes of one age by name, whatever their namespaces.",
        clauses: &["OWN-72"],
        seam: Seam::Snapshot(|| ByNameAlone::boxed(Kind::TcpRoute)),
    },
    Fault {
        name: "compares-names-of-tlsroutes-alone",
        summary: "Decides between two TLSRoutes of one age with one hostname by name, whatever their namespaces.",
        clauses: &["OWN-72"],
        seam: Seam::Snapshot(|| ByNameAlone::boxed(Kind::TlsRoute)),
    },
    Fault {
        name: "compares-names-of-udproutes-alone",
        summary: "Decides between two UDPRoutes of one age by name, whatever their namespaces.",
        clauses: &["OWN-72"],
        seam: Seam::Snapshot(|| ByNameAlone::boxed(Kind::UdpRoute)),
    },
    Fault {
        name: "refuses-the-first-of-equals",
        summary: "Refuses, of two routes of streams or datagrams that are of one age, the one whose name comes first, and serves the other.",
        clauses: &["OWN-72"],
        seam: Seam::Several(&[
            Seam::Statuses(|| say(|seen, statuses| refuse_first_of_equals(seen, statuses))),
            Seam::Config(|| serve_from(leave_first_of_equals_out)),
        ]),
    },
];
