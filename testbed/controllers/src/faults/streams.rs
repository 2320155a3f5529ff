//! What becomes of streams on their way.

use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use gateproof_proxy::{
    exchange::{Connection, Exchange, TcpChoice},
    stream::Stream,
};

use super::{Fault, Seam};

/// How much of a stream goes through before it is cut.
const MOST: usize = 256 * 1024;

/// Breaks a connection off once so much has come from its client.
struct CutsLongStreams;

#[async_trait]
impl Exchange for CutsLongStreams {
    async fn serve_tcp(&self, _: &Connection, stream: Stream, choice: TcpChoice) -> Option<(Stream, TcpChoice)> {
        Some((stream.breaking_behind(MOST), choice))
    }
}

/// How long a stream may be idle before it is broken off.
const LONGEST_REST: Duration = Duration::from_secs(1);

/// Breaks a connection off once nothing has come or gone for a while.
struct BreaksIdleStreams;

#[async_trait]
impl Exchange for BreaksIdleStreams {
    async fn serve_tcp(&self, _: &Connection, stream: Stream, choice: TcpChoice) -> Option<(Stream, TcpChoice)> {
        Some((stream.breaking_when_idle(LONGEST_REST), choice))
    }
}

pub(super) const FAULTS: &[Fault] = &[
    Fault {
        name: "cuts-long-streams",
        summary: "Breaks a connection of TCP or TLS off behind the first 256 KiB of its client.",
        clauses: &["IMPL-38", "IMPL-39", "blind:TLSRouteSimpleSameNamespace.1"],
        seam: Seam::Exchange(|| Arc::new(CutsLongStreams)),
    },
    Fault {
        name: "breaks-idle-streams",
        summary: "Breaks a connection of TCP or TLS off once it has been idle for a second.",
        clauses: &["OWN-25"],
        seam: Seam::Exchange(|| Arc::new(BreaksIdleStreams)),
    },
];
