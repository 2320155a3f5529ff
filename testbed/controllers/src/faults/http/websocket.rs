use std::sync::Arc;

use async_trait::async_trait;
use gateproof_proxy::{
    exchange::{Exchange, MatchOutcome, RequestHead},
    stream::Upgraded,
};
use http::{
    StatusCode,
    header::{CONNECTION, SEC_WEBSOCKET_PROTOCOL, UPGRADE},
};

use super::super::{
    Fault, Seam,
    exchange::{Answers, Finds, Forwards},
    frames::{self, Frame},
    tools::{each, view},
};
use crate::snapshot::{Kind, Snapshot};

/// Carries upgraded connections with changes to what clients send.
struct Carries(fn(&mut Frame) -> bool);

#[async_trait]
impl Exchange for Carries {
    async fn serve_tunnel(&self, _: &RequestHead, client: Upgraded, backend: Upgraded) -> Option<(Upgraded, Upgraded)> {
        frames::carry(client, backend, self.0).await;
        None
    }
}

fn is_upgrade(request: &RequestHead) -> bool {
    request.headers.contains_key(UPGRADE)
}

/// Takes ports of one appProtocol for ports of another.
fn reads_as(from: &'static str, to: &'static str) -> impl Fn(&mut Snapshot) {
    move |snapshot| {
        snapshot.edit(Kind::Service, |service| {
            for port in each(service, "/spec/ports").filter(|port| port["appProtocol"] == from) {
                port["appProtocol"] = to.into();
            }
        });
    }
}

pub(in super::super) const SNAPSHOT: &[Fault] = &[
    Fault {
        name: "does-not-know-ws",
        summary: "Does not resolve a reference to a port of appProtocol kubernetes.io/ws.",
        clauses: &["blind:HTTPRouteBackendProtocolWebSocket.5"],
        seam: Seam::Snapshot(|| view(|snapshot| reads_as("kubernetes.io/ws", "kubernetes.io/unheard-of")(snapshot))),
    },
    Fault {
        name: "takes-wss-for-ws",
        summary: "Speaks in clear text to a port of appProtocol kubernetes.io/wss.",
        clauses: &["blind:HTTPRouteBackendProtocolWebSocket.4"],
        seam: Seam::Snapshot(|| view(|snapshot| reads_as("kubernetes.io/wss", "kubernetes.io/ws")(snapshot))),
    },
];

pub(in super::super) const EXCHANGE: &[Fault] = &[
    Fault {
        name: "never-upgrades",
        summary: "Forwards a request for a WebSocket like any other.",
        clauses: &["upstream:HTTPRouteBackendProtocolWebSocket"],
        seam: Seam::Exchange(|| {
            Arc::new(Forwards(|_, parts| {
                parts.headers.remove(UPGRADE);
                parts.headers.remove(CONNECTION);
            }))
        }),
    },
    Fault {
        name: "upgrades-by-the-default-rule",
        summary: "Carries a WebSocket to the backend of the rule for the path /, whichever rule matches.",
        clauses: &["blind:HTTPRouteBackendProtocolWebSocket.1", "blind:HTTPRouteBackendProtocolWebSocket.4"],
        seam: Seam::Exchange(|| {
            Arc::new(Finds(|request, routing, found| match found {
                MatchOutcome::Rule { .. } if is_upgrade(request) => {
                    match routing.route(&RequestHead { path: "/".to_owned(), ..request.clone() }) {
                        MatchOutcome::NoRule => found,
                        other => other,
                    }
                }
                found => found,
            }))
        }),
    },
    Fault {
        name: "upgrades-for-any-host",
        summary: "Takes no notice of hostnames when a request asks for a WebSocket.",
        clauses: &["blind:HTTPRouteBackendProtocolWebSocket.3"],
        seam: Seam::Exchange(|| {
            Arc::new(Finds(|request, routing, found| match found {
                MatchOutcome::NoRule if is_upgrade(request) => {
                    let candidates = routing.hosts.iter().flat_map(|host| &host.candidates);
                    let held = candidates.into_iter().find(|candidate| candidate.predicate.holds(&request.subject()));
                    held.map_or(MatchOutcome::NoRule, |candidate| MatchOutcome::Rule {
                        route: Arc::clone(&candidate.route),
                        predicate: Arc::clone(&candidate.predicate),
                    })
                }
                found => found,
            }))
        }),
    },
    Fault {
        name: "drops-subprotocols",
        summary: "Leaves the subprotocol out of the answer that switches to WebSocket.",
        clauses: &["blind:HTTPRouteBackendProtocolWebSocket.2"],
        seam: Seam::Exchange(|| {
            Arc::new(Answers(|_, response| {
                if response.status() == StatusCode::SWITCHING_PROTOCOLS {
                    response.headers_mut().remove(SEC_WEBSOCKET_PROTOCOL);
                }
            }))
        }),
    },
    Fault {
        name: "changes-close-codes",
        summary: "Closes a WebSocket with another code than the client does.",
        clauses: &["blind:HTTPRouteBackendProtocolWebSocket.2"],
        seam: Seam::Exchange(|| {
            Arc::new(Carries(|frame| {
                if frame.code() == 8 {
                    frame.spoil();
                }
                true
            }))
        }),
    },
    Fault {
        name: "swallows-pings",
        summary: "Lets no ping through to the backend, and sends no pong.",
        clauses: &["blind:HTTPRouteBackendProtocolWebSocket.2"],
        seam: Seam::Exchange(|| Arc::new(Carries(|frame| frame.code() != 9))),
    },
    Fault {
        name: "loses-fragments",
        summary: "Lets nothing of a fragmented message through but its beginning and its end.",
        clauses: &["blind:HTTPRouteBackendProtocolWebSocket.2"],
        seam: Seam::Exchange(|| Arc::new(Carries(|frame| frame.code() != 0 || frame.is_last()))),
    },
];
