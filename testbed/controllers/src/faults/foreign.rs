//! Conditions that others have put into entries of routes, kept for some kinds and for others not.

use serde_json::Value;

use super::{
    Fault, Seam,
    tools::each,
    writer::{Inner, merge},
};
use crate::snapshot::Kind;

const KEPT: &[&str] = &["GEP1364-19", "K8S-11", "blind:GatewayPreserveForeignConditions.4"];

fn drop_foreign(status: &mut Value) {
    for entry in each(status, "/parents") {
        if let Some(conditions) = entry["conditions"].as_array_mut() {
            conditions.retain(|condition| !condition["type"].as_str().unwrap_or_default().contains('/'));
        }
    }
}

macro_rules! drop_from {
    ($kind:ident) => {
        |inner: Inner| {
            merge(inner, |_, desired, status| {
                if desired.kind == Kind::$kind {
                    drop_foreign(status);
                }
            })
        }
    };
}

pub(super) const FAULTS: &[Fault] = &[
    Fault {
        name: "drops-foreign-conditions-of-calls",
        summary: "Removes the conditions of others from its entries in GRPCRoutes.",
        clauses: KEPT,
        seam: Seam::StatusWriter(drop_from!(GrpcRoute)),
    },
    Fault {
        name: "drops-foreign-conditions-of-streams",
        summary: "Removes the conditions of others from its entries in TCPRoutes.",
        clauses: KEPT,
        seam: Seam::StatusWriter(drop_from!(TcpRoute)),
    },
    Fault {
        name: "drops-foreign-conditions-of-tls",
        summary: "Removes the conditions of others from its entries in TLSRoutes.",
        clauses: KEPT,
        seam: Seam::StatusWriter(drop_from!(TlsRoute)),
    },
    Fault {
        name: "drops-foreign-conditions-of-datagrams",
        summary: "Removes the conditions of others from its entries in UDPRoutes.",
        clauses: KEPT,
        seam: Seam::StatusWriter(drop_from!(UdpRoute)),
    },
];
