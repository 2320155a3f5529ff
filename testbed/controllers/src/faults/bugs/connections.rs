//! What belongs to one connection, and what does not.

use std::sync::Arc;

use async_trait::async_trait;
use gateproof_proxy::exchange::{Connection, Exchange, RequestHead, TcpChoice};
use http::{
    header::{CONNECTION, UPGRADE},
    request::Parts,
};
use tokio::net::TcpStream;

use super::Bug;
use crate::faults::{Fault, Seam, exchange::Forwards};

/// Takes what the client named in Connection out of what the filters made of the request.
fn strip_last(request: &RequestHead, parts: &mut Parts) {
    let values = request.headers.get_all(CONNECTION).iter().filter_map(|value| value.to_str().ok());
    for name in values.flat_map(|value| value.split(',')).map(str::trim) {
        if !name.eq_ignore_ascii_case(UPGRADE.as_str()) {
            parts.headers.remove(name);
        }
    }
}

/// Looks at the first byte of a stream before it is forwarded.
struct WaitsForTheClient;

#[async_trait]
impl Exchange for WaitsForTheClient {
    async fn serve_tcp(&self, _: &Connection, stream: TcpStream, choice: TcpChoice) -> Option<(TcpStream, TcpChoice)> {
        if let TcpChoice::Forward(_) = choice
            && let Err(error) = stream.peek(&mut [0]).await
        {
            tracing::debug!(%error, "the client is gone already");
        }
        Some((stream, choice))
    }
}

pub(super) const BUGS: &[Bug] = &[
    Bug {
        fault: Fault {
            name: "strips-headers-behind-filters",
            summary: "Takes a header that the client names in Connection away after a filter has set it.",
            clauses: &["upstream:HTTPRouteRequestHeaderModifier"],
            seam: Seam::Exchange(|| Arc::new(Forwards(strip_last))),
        },
        reported: &["traefik/traefik#8319", "golang/go#50580", "ory/oathkeeper#1098"],
    },
    Bug {
        fault: Fault {
            name: "waits-for-the-client-to-speak",
            summary: "Forwards a TCP connection when its client has sent something, and not before.",
            clauses: &["IMPL-39"],
            seam: Seam::Exchange(|| Arc::new(WaitsForTheClient)),
        },
        reported: &["traefik/traefik#7730", "traefik/traefik#6838", "traefik/traefik#11302"],
    },
];
