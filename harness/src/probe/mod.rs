//! Probes: one attempt each on the data path, over the dialer. Nothing here decides whether an answer is right.

mod attempt;
mod grpc;
mod http;
mod kept;
mod pieces;
mod spelled;
mod stream;
mod tap;
mod tcp;
mod tls;
mod udp;
mod websocket;

use std::sync::Arc;
use std::time::Duration;

use crate::cluster::dial::Dialer;
use crate::log::{Elapsed, Exchange, ProbeRequest};

/// The header that carries the exchange's id to the backends' journals.
pub const REQUEST_HEADER: &str = "X-Gateproof-Request";

/// The certificate of a client and its key, both in PEM.
#[derive(Clone)]
pub struct ClientPair {
    /// The certificate.
    pub certificate: String,
    /// The key.
    pub key: String,
}

/// What a client has for handshakes.
#[derive(Clone, Default)]
pub struct Client {
    /// What it shows to who asks for a certificate.
    pub pair: Option<ClientPair>,
    /// The certificate, in PEM, of the authority by which it looks at what is presented. It goes on whatever it finds.
    pub authority: Option<String>,
}

/// Makes attempts.
#[derive(Clone)]
pub struct Prober {
    dialer: Arc<dyn Dialer>,
    budget: Duration,
    tls: tls::Connectors,
    kept: kept::Connections,
    sessions: tls::Sessions,
}

impl Prober {
    /// Over a dialer; `budget` bounds one attempt from dialling to the last byte.
    pub fn new(dialer: Arc<dyn Dialer>, budget: Duration) -> Prober {
        let (kept, sessions) = (kept::Connections::default(), tls::Sessions::default());
        Prober { dialer, budget, tls: tls::connectors(), kept, sessions }
    }

    /// Closes the connections that the scenario of this token has kept open, and forgets its TLS sessions.
    pub fn release(&self, token: &str) {
        self.kept.release(token);
        self.sessions.release(token);
    }

    /// One attempt by a client that has nothing, as [`Prober::attempt_as`] makes it.
    pub async fn attempt(&self, id: String, request: ProbeRequest, started: Elapsed) -> Exchange {
        self.attempt_as(&Client::default(), id, request, started).await
    }

    /// One attempt, over a fresh connection unless the request names one that is kept open, by a client that has this.
    /// Never fails: what went wrong stands in the exchange.
    pub async fn attempt_as(&self, client: &Client, id: String, request: ProbeRequest, started: Elapsed) -> Exchange {
        let exchange = Exchange {
            id,
            request,
            connected_to: None,
            reused: false,
            certificate: None,
            alpn: None,
            tls_version: None,
            resumed: false,
            unasked: false,
            started,
            http: None,
            replies: Vec::new(),
            tcp: None,
            udp: None,
            error: None,
            received: None,
        };
        match exchange.request.clone() {
            ProbeRequest::Http(request) => http::attempt(self, exchange, &request, client).await,
            ProbeRequest::Tcp { host, port, send, behind, listens, half_close, idle, tls } => {
                let line = if listens { String::new() } else { tcp::text(&exchange.id, &send, half_close) };
                let text = tcp::Text { line, behind, half_close, idle: idle.map(Duration::from_millis) };
                match tls {
                    None => tcp::attempt(self, exchange, &host, port, &text).await,
                    Some(hello) => stream::attempt(self, exchange, (&host, port), (&hello, client), &text).await,
                }
            }
            ProbeRequest::Udp { host, port, send, behind, empty, single, flows } => {
                let (text, flows) = (send + &behind, flows.unwrap_or(1));
                let text = (!empty).then_some(text.as_str());
                udp::attempt(self, exchange, (&host, port), text, (single, flows)).await
            }
        }
    }
}
