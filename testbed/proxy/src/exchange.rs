//! The seam around one exchange: everything between match and answer can be watched or changed here, and nowhere else.
//!
//! The default of every method is the plain behaviour, so [`Plain`] overrides nothing.

use std::net::SocketAddr;
use std::sync::Arc;

use async_trait::async_trait;
use gateproof_lengths::Wrong;
use http::request::Parts;
use http::{Request, Response};
use rustls::{ServerConfig, ServerConnection};

use crate::body::Body;
use crate::compiled::{Compiled, CompiledRoute};
use crate::config::BackendTarget;
pub use crate::draw::TcpChoice;
pub use crate::request::{Connection, RequestHead};
pub use crate::routing::MatchOutcome;
use crate::routing::Routing;
use crate::stream::{Stream, Upgraded};

/// Marks, among the extensions of a response, an answer that the proxy gives because no backend did.
#[derive(Debug, Clone, Copy)]
pub struct Unreached;

/// What the shares of a rule gave.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BackendChoice {
    /// Forward.
    Forward {
        /// The position of the backend in the rule; its filters apply.
        backend: usize,
        /// The endpoint.
        endpoint: SocketAddr,
        /// Over HTTP/2 rather than HTTP/1.1, with prior knowledge where the backend's target is not encrypted.
        h2c: bool,
    },
    /// Answer without a backend.
    Fail {
        /// The position of the backend, if one was drawn; its filters apply.
        backend: Option<usize>,
        /// The status code.
        status: u16,
        /// Why, for the body.
        reason: String,
    },
    /// Answer what the proxy was told to say.
    Answer {
        /// The position of the backend in the rule; its filters apply.
        backend: usize,
        /// The status code.
        status: u16,
        /// The whole body.
        body: String,
    },
}

impl BackendChoice {
    /// What the backend at `index` gives for one request, or that none was drawn.
    pub fn of(route: &CompiledRoute, index: Option<usize>) -> Self {
        let Some(index) = index else {
            let reason = "it has no backend with a weight above 0".to_owned();
            return BackendChoice::Fail { backend: None, status: 500, reason };
        };
        let id = route.rule.backends.get(index).map_or("", |backend| backend.id.as_str());
        let unready = |endpoints| match route.next_endpoint(index, endpoints) {
            Some(endpoint) => Ok(*endpoint),
            None => Err(format!("backend {id} has no ready endpoints")),
        };
        let drawn = match route.target(index) {
            Some(BackendTarget::Endpoints(endpoints)) => unready(endpoints).map(|endpoint| (endpoint, false)),
            Some(BackendTarget::H2cEndpoints(endpoints)) => unready(endpoints).map(|endpoint| (endpoint, true)),
            Some(BackendTarget::Tls { endpoints, h2, .. }) => unready(endpoints).map(|endpoint| (endpoint, *h2)),
            Some(BackendTarget::Fail { status, reason }) => {
                let reason = format!("backend {id}: {reason}");
                return BackendChoice::Fail { backend: Some(index), status: *status, reason };
            }
            Some(BackendTarget::Answer { status, body }) => {
                return BackendChoice::Answer { backend: index, status: *status, body: body.clone() };
            }
            None => Err("the drawn backend does not exist".to_owned()),
        };
        match drawn {
            Ok((endpoint, h2c)) => BackendChoice::Forward { backend: index, endpoint, h2c },
            Err(reason) => BackendChoice::Fail { backend: Some(index), status: 503, reason },
        }
    }
}

/// Which way a datagram goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Way {
    /// From the client to the backend.
    There,
    /// From the backend to the client.
    Back,
}

/// What becomes of a datagram.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Passage {
    /// It goes on as it is.
    Pass,
    /// It goes nowhere.
    Drop,
    /// These bytes go on in its stead.
    As(Vec<u8>),
    /// On its way back it comes from another port than the client sent to. There: as if it were dropped.
    FromElsewhere,
    /// On its way back it goes to this client. There: as if it were dropped.
    To(SocketAddr),
}

/// What the first message of a client says in a handshake for HTTP.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Hello {
    /// A server name.
    pub has_name: bool,
    /// Protocols that it would speak.
    pub has_protocols: bool,
}

/// The seam. See the module's documentation.
#[async_trait]
pub trait Exchange: Send + Sync + 'static {
    /// Which configuration a connection, or the next request on it, is served by. `previous` holds the last few
    /// configurations, newest first.
    fn choose_config(
        &self,
        _connection: &Connection,
        current: &Arc<Compiled>,
        _previous: &[Arc<Compiled>],
    ) -> Arc<Compiled> {
        Arc::clone(current)
    }

    /// Whether a request is refused that says of its length what nobody can go by, or what nobody has to.
    fn refuses(&self, _request: &RequestHead, wrong: Wrong) -> bool {
        wrong != Wrong::BesideChunks
    }

    /// What the matcher's finding becomes.
    fn on_route(&self, _request: &RequestHead, _routing: &Routing<'_>, found: MatchOutcome) -> MatchOutcome {
        found
    }

    /// What the drawn backend becomes.
    fn on_backend(&self, _request: &RequestHead, _route: &CompiledRoute, drawn: BackendChoice) -> BackendChoice {
        drawn
    }

    /// What is sent to the backend: `parts` are those after all filters.
    async fn on_forward(&self, _request: &RequestHead, parts: Parts) -> Parts {
        parts
    }

    /// What is sent in one try: 0 is the first.
    fn on_try(&self, _request: &RequestHead, _number: u32, sent: Request<Body>) -> Request<Body> {
        sent
    }

    /// What is sent to a mirror. Nothing: no copy.
    fn on_mirror(&self, _request: &RequestHead, copy: Request<Body>) -> Option<Request<Body>> {
        Some(copy)
    }

    /// A copy is about to be sent, whose original goes its own way.
    async fn before_mirror(&self, _request: &RequestHead) {}

    /// What somebody of this name is asked about a request before it is matched.
    fn on_question(&self, _request: &RequestHead, _whom: &str, question: Request<Body>) -> Request<Body> {
        question
    }

    /// A copy has been answered by its mirror, or has failed.
    fn on_mirrored(&self, _request: &RequestHead) {}

    /// The head of a backend's answer as it came, before any filter.
    fn on_answer(&self, _request: &RequestHead, _answer: &mut http::response::Parts) {}

    /// When the body of an answer breaks off if it is not through.
    fn body_end(&self, _request: &RequestHead, end: Option<tokio::time::Instant>) -> Option<tokio::time::Instant> {
        end
    }

    /// Carries an upgraded connection between client and backend, until it ends, or gives it back to be carried plainly.
    async fn serve_tunnel(
        &self,
        _request: &RequestHead,
        client: Upgraded,
        backend: Upgraded,
    ) -> Option<(Upgraded, Upgraded)> {
        Some((client, backend))
    }

    /// What the client gets. Nothing: the connection (over HTTP/2: the stream) breaks off.
    async fn on_response(&self, _request: &RequestHead, response: Response<Body>) -> Option<Response<Body>> {
        Some(response)
    }

    /// Whether a handshake for HTTP goes on behind the first message of its client.
    fn on_hello(&self, _hello: Hello) -> bool {
        true
    }

    /// Whether what comes at a port of TLS without a handshake is served all the same: requests, whose server name is empty
    /// then, or else streams, which go to the first route.
    fn takes_clear_text(&self, _is_http: bool) -> bool {
        false
    }

    /// Whether who speaks otherwise than its port, or asks for a name that nobody has there, is kept waiting, and a stream told so, in
    /// place of being turned away.
    fn keeps_strangers(&self) -> bool {
        false
    }

    /// The server side of a handshake for HTTP: where its sessions are kept, most of all.
    fn on_terms(&self, _connection: &Connection, terms: Arc<ServerConfig>) -> Arc<ServerConfig> {
        terms
    }

    /// Whether a client is admitted whose handshake for HTTP is through.
    fn on_shaken(&self, _connection: &Connection, _handshake: &ServerConnection, is_admitted: bool) -> bool {
        is_admitted
    }

    /// The protocols that a handshake may agree on here, the most preferred first; none: nothing is agreed on. `offered` are
    /// those of the client in its order, `spoken` what it would be.
    fn on_protocols(&self, _connection: &Connection, _offered: &[Vec<u8>], spoken: Vec<Vec<u8>>) -> Vec<Vec<u8>> {
        spoken
    }

    /// What becomes of a TCP connection, or of one of TLS whose listener is known.
    fn on_tcp(&self, _connection: &Connection, drawn: TcpChoice) -> TcpChoice {
        drawn
    }

    /// Carries such a connection out, until it ends, or gives it back to be carried out plainly.
    async fn serve_tcp(
        &self,
        _connection: &Connection,
        stream: Stream,
        choice: TcpChoice,
    ) -> Option<(Stream, TcpChoice)> {
        Some((stream, choice))
    }

    /// Carries a connection over TLS out that is passed on as it is, until it ends, or gives it back to be carried out plainly.
    async fn serve_passed(
        &self,
        _connection: &Connection,
        stream: Stream,
        choice: TcpChoice,
    ) -> Option<(Stream, TcpChoice)> {
        Some((stream, choice))
    }

    /// What becomes of a flow of datagrams, that is of all that a client address sends to a UDP listener. To refuse is to drop.
    fn on_udp(&self, _flow: &Connection, drawn: TcpChoice) -> TcpChoice {
        drawn
    }

    /// What becomes of one datagram of a flow that has a backend.
    fn on_datagram(&self, _flow: &Connection, _way: Way, _datagram: &[u8]) -> Passage {
        Passage::Pass
    }
}

/// The behaviour that the specification asks for.
#[derive(Debug, Clone, Copy, Default)]
pub struct Plain;

impl Exchange for Plain {}
