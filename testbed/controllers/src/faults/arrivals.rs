//! Routes that are ordered by when they came.

use std::collections::BTreeMap;

use super::{Fault, Seam};
use crate::{
    runtime::seams::SnapshotSeam,
    snapshot::{Kind, Snapshot},
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
];
