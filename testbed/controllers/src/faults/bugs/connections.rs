//! What belongs to one connection, and what does not.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
};

use async_trait::async_trait;
use gateproof_proxy::{
    compiled::{Compiled, Service},
    exchange::{Connection, Exchange, Hello, RequestHead, TcpChoice},
    stream::Stream,
};
use http::{
    header::{CONNECTION, UPGRADE},
    request::Parts,
};

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
    async fn serve_tcp(&self, _: &Connection, stream: Stream, choice: TcpChoice) -> Option<(Stream, TcpChoice)> {
        if let TcpChoice::Forward(_) = choice
            && let Err(error) = stream.has_begun().await
        {
            tracing::debug!(%error, "the client is gone already");
        }
        Some((stream, choice))
    }
}

/// Ends a stream when its client ends one half of it.
struct EndsWithItsClient;

#[async_trait]
impl Exchange for EndsWithItsClient {
    async fn serve_tcp(&self, _: &Connection, stream: Stream, choice: TcpChoice) -> Option<(Stream, TcpChoice)> {
        Some((stream.ending_with_its_client(), choice))
    }
}

/// Finds no server name where the first message of a client is like this.
struct FindsNoName(fn(&Stream) -> bool);

#[async_trait]
impl Exchange for FindsNoName {
    async fn serve_tcp(&self, _: &Connection, stream: Stream, choice: TcpChoice) -> Option<(Stream, TcpChoice)> {
        let refused = || TcpChoice::Refuse { reason: "no server name".to_owned() };
        let choice = if (self.0)(&stream) { refused() } else { choice };
        Some((stream, choice))
    }
}

/// Answers no handshake for HTTP whose first message lacks something.
struct Demands(fn(Hello) -> bool);

impl Exchange for Demands {
    fn on_hello(&self, hello: Hello) -> bool {
        (self.0)(hello)
    }
}

/// Serves a connection over TLS by the configuration of the time of its handshake.
#[derive(Default)]
struct ServesAsShakenHands(Mutex<HashMap<u64, Arc<Compiled>>>);

impl Exchange for ServesAsShakenHands {
    fn choose_config(&self, of: &Connection, current: &Arc<Compiled>, _: &[Arc<Compiled>]) -> Arc<Compiled> {
        let is_secure = |config: &Compiled| {
            config.listener(of.listener).is_some_and(|lane| matches!(lane.service, Service::Https { .. }))
        };
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match known.get(&of.id) {
            Some(first) => Arc::clone(first),
            None if is_secure(current) => Arc::clone(known.entry(of.id).or_insert_with(|| Arc::clone(current))),
            None => Arc::clone(current),
        }
    }
}

pub(super) const BUGS: &[Bug] = &[
    Bug {
        fault: Fault {
            name: "serves-tls-connections-as-at-their-handshake",
            summary: "Goes on serving an open connection over TLS by the routes of the time of its handshake.",
            clauses: &["blind:Generic.7"],
            seam: Seam::Exchange(|| Arc::new(ServesAsShakenHands::default())),
        },
        reported: &["agentgateway/agentgateway#1590"],
    },
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
    Bug {
        fault: Fault {
            name: "ends-streams-with-a-half",
            summary: "Closes a connection of TCP or TLS as soon as its client has ended its half.",
            clauses: &["OWN-24"],
            seam: Seam::Exchange(|| Arc::new(EndsWithItsClient)),
        },
        reported: &["envoyproxy/envoy#2067", "agentgateway/agentgateway#2427"],
    },
    Bug {
        fault: Fault {
            name: "demands-server-names",
            summary: "Answers no handshake for HTTP whose client says no server name.",
            clauses: &["OWN-26"],
            seam: Seam::Exchange(|| Arc::new(Demands(|hello| hello.has_name))),
        },
        reported: &["nginx/nginx-gateway-fabric#4836", "cilium/cilium#40966"],
    },
    Bug {
        fault: Fault {
            name: "demands-protocols-in-handshakes",
            summary: "Answers no handshake for HTTP whose client names no protocol that it would speak.",
            clauses: &["OWN-27"],
            seam: Seam::Exchange(|| Arc::new(Demands(|hello| hello.has_protocols))),
        },
        reported: &["kumahq/kuma#4198"],
    },
    Bug {
        fault: Fault {
            name: "reads-one-piece-of-a-hello",
            summary: "Finds no server name for a TLSRoute where the first message of a client does not come at once.",
            clauses: &["IMPL-38"],
            seam: Seam::Exchange(|| Arc::new(FindsNoName(|stream| stream.pieces() > 1))),
        },
        reported: &["kubernetes/ingress-nginx#11424", "kubernetes/ingress-nginx#11491", "mholt/caddy-l4#346"],
    },
    Bug {
        fault: Fault {
            name: "reads-one-record-of-a-hello",
            summary: "Finds no server name for a TLSRoute where the first message of a client is split over two records.",
            clauses: &["IMPL-38"],
            seam: Seam::Exchange(|| Arc::new(FindsNoName(|stream| stream.records() > 1))),
        },
        reported: &["golang/vulndb#4793", "traefik/traefik#12787", "9seconds/mtg#431"],
    },
    Bug {
        fault: Fault {
            name: "reads-the-first-bytes-of-a-hello",
            summary: "Finds no server name for a TLSRoute where the first message of a client is longer than a thousand bytes.",
            clauses: &["IMPL-38"],
            seam: Seam::Exchange(|| Arc::new(FindsNoName(|stream| stream.read_before() > 1024))),
        },
        reported: &["droe/sslsplit#342", "linkerd/linkerd2-proxy#958"],
    },
    Bug {
        fault: Fault {
            name: "reads-no-hello-of-tls-1-2",
            summary: "Finds no server name for a TLSRoute where a client speaks nothing newer than TLS 1.2.",
            clauses: &["OWN-134"],
            seam: Seam::Exchange(|| Arc::new(FindsNoName(|stream| stream.is_known() && !stream.is_of_tls13()))),
        },
        reported: &["mitmproxy/mitmproxy#1816"],
    },
];
