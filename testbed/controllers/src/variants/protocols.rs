//! Handshakes that agree on another protocol, or on none, and streams that end in their own time.

use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use gateproof_proxy::{
    exchange::{Connection, Exchange, TcpChoice},
    stream::Stream,
};

use super::{Place, Variant};
use crate::faults::protocols::{Agrees, HTTP1, HTTP2, Protocol};

/// HTTP/1.1 before HTTP/2.
fn oldest_first(_: &[Protocol], mut spoken: Vec<Protocol>) -> Vec<Protocol> {
    spoken.sort_by_key(|protocol| protocol != HTTP1);
    spoken
}

/// Nothing unless HTTP/2 is offered.
fn newest_alone(offered: &[Protocol], spoken: Vec<Protocol>) -> Vec<Protocol> {
    if offered.iter().any(|protocol| protocol == HTTP2) { spoken } else { Vec::new() }
}

/// How long a stream may be idle.
const LONGEST_REST: Duration = Duration::from_secs(6);

/// What becomes of streams.
pub(super) struct Streams(pub(super) fn(Stream) -> Stream);

#[async_trait]
impl Exchange for Streams {
    async fn serve_tcp(&self, _: &Connection, stream: Stream, choice: TcpChoice) -> Option<(Stream, TcpChoice)> {
        Some(((self.0)(stream), choice))
    }
}

pub(super) const VARIANTS: &[Variant] = &[
    Variant {
        name: "prefers-the-older-http",
        summary: "Agrees on HTTP/1.1 over HTTPS with every client that offers it, though it speaks HTTP/2.",
        source: "RFC 7301, 3.2: a server chooses by its own preferences.",
        place: Place::Exchange(|| Arc::new(Agrees(oldest_first))),
    },
    Variant {
        name: "names-the-newest-http-alone",
        summary: "Serves HTTP/1.1 over HTTPS without naming it in the handshake.",
        source: "RFC 7301, 3.1: a server may ignore what a client offers, and HTTP/1.1 is older than the extension.",
        place: Place::Exchange(|| Arc::new(Agrees(newest_alone))),
    },
    Variant {
        name: "ends-streams-idle-for-seconds",
        summary: "Breaks a connection of TCP or TLS off once it has been idle for six seconds.",
        source: "TCPRoute and TLSRoute name no time for which a stream may be idle, so that a data path has one of its own.",
        place: Place::Exchange(|| Arc::new(Streams(|stream| stream.breaking_when_idle(LONGEST_REST)))),
    },
    Variant {
        name: "ends-streams-with-their-clients",
        summary: "Ends a connection of TCP or TLS in both directions when the client has ended its half.",
        source: "No document of the API speaks of halves of a stream; of its tunnels RFC 9110, 9.3.6, asks just that.",
        place: Place::Exchange(|| Arc::new(Streams(Stream::ending_with_its_client))),
    },
];
