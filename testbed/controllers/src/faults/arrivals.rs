//! Routes that are ordered by when they came.

use std::collections::BTreeMap;

use super::{
    Fault, Seam,
    tools::{has_reason, parents, say, serve, set},
};
use crate::{
    runtime::seams::{Seen, SnapshotSeam},
    snapshot::{Kind, Object, Snapshot},
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
            let created = route["metadata"]["creationTimestamp"].as_str().unwrap_or_default().trim_end_matches('Z');
            route["metadata"]["creationTimestamp"] = format!("{created}.{at:06}Z").into();
        });
        snapshot
    }
}

/// Refuses, of two routes of one age at the same parents, the one whose name comes first.
fn refuse_first_of_equals(seen: Seen<'_>, statuses: &mut [StatusUpdate]) {
    const KINDS: [Kind; 3] = [Kind::TcpRoute, Kind::TlsRoute, Kind::UdpRoute];
    for update in statuses.iter_mut().filter(|update| KINDS.contains(&update.kind)) {
        let Some(route) = seen.snapshot.get(update.kind, &update.key.namespace, &update.key.name) else { continue };
        let of = |route: &Object| {
            let spec = &route.raw["spec"];
            (route.meta.creation_timestamp.clone(), spec["parentRefs"].clone(), spec["hostnames"].clone())
        };
        let here = seen.snapshot.all(update.kind).filter(|other| other.meta.namespace == route.meta.namespace);
        let is_first = here.filter(|other| of(other) == of(route)).any(|other| route.meta.name < other.meta.name);
        for parent in parents(std::slice::from_mut(update)).filter(|_| is_first) {
            set(&mut parent.conditions, "Accepted", Truth::False, "RouteConflict");
        }
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
        name: "refuses-the-first-of-equals",
        summary: "Refuses, of two routes of streams or datagrams that are of one age, the one whose name comes first, and serves the other.",
        clauses: &["OWN-72"],
        seam: Seam::Several(&[
            Seam::Statuses(|| say(|seen, statuses| refuse_first_of_equals(seen, statuses))),
            Seam::Config(|| {
                serve(|seen, config| {
                    let refused = |update: &StatusUpdate| {
                        let mut update = update.clone();
                        parents(std::slice::from_mut(&mut update))
                            .any(|parent| has_reason(&parent.conditions, "Accepted", "RouteConflict"))
                    };
                    let mut statuses = seen.otherwise(|_| {}).statuses;
                    refuse_first_of_equals(seen, &mut statuses);
                    let keys: Vec<_> =
                        statuses.iter().filter(|one| refused(one)).map(|one| (one.kind, one.key.clone())).collect();
                    *config = seen
                        .otherwise(|snapshot| {
                            for (kind, key) in keys {
                                snapshot.remove(kind, &key);
                            }
                        })
                        .config;
                })
            }),
        ]),
    },
];
