//! Several behaviours at the seam around exchanges: each works on what the one before it made.

use std::sync::Arc;

use async_trait::async_trait;
use gateproof_lengths::Wrong;
use http::request::Parts;
use http::{Request, Response};
use rustls::{ServerConfig, ServerConnection};

use crate::body::Body;
use crate::compiled::{Compiled, CompiledRoute};
use crate::exchange::{
    BackendChoice, Connection, Exchange, Hello, MatchOutcome, Passage, Plain, RequestHead, TcpChoice, Way,
};
use crate::routing::Routing;
use crate::stream::{Stream, Upgraded};

/// Behaviours in order; none at all is the plain one.
#[derive(Clone, Default)]
pub struct Chain(pub Vec<Arc<dyn Exchange>>);

impl std::fmt::Debug for Chain {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Chain").field(&self.0.len()).finish()
    }
}

#[async_trait]
impl Exchange for Chain {
    fn choose_config(
        &self,
        connection: &Connection,
        current: &Arc<Compiled>,
        previous: &[Arc<Compiled>],
    ) -> Arc<Compiled> {
        self.0.iter().fold(Arc::clone(current), |chosen, one| one.choose_config(connection, &chosen, previous))
    }

    fn refuses(&self, request: &RequestHead, wrong: Wrong) -> bool {
        let plain = Plain.refuses(request, wrong);
        // The one that does otherwise decides.
        self.0.iter().map(|one| one.refuses(request, wrong)).find(|refuses| *refuses != plain).unwrap_or(plain)
    }

    fn on_route(&self, request: &RequestHead, routing: &Routing<'_>, found: MatchOutcome) -> MatchOutcome {
        self.0.iter().fold(found, |found, one| one.on_route(request, routing, found))
    }

    fn on_backend(&self, request: &RequestHead, route: &CompiledRoute, drawn: BackendChoice) -> BackendChoice {
        self.0.iter().fold(drawn, |drawn, one| one.on_backend(request, route, drawn))
    }

    async fn on_forward(&self, request: &RequestHead, mut parts: Parts) -> Parts {
        for one in &self.0 {
            parts = one.on_forward(request, parts).await;
        }
        parts
    }

    fn on_try(&self, request: &RequestHead, number: u32, sent: Request<Body>) -> Request<Body> {
        self.0.iter().fold(sent, |sent, one| one.on_try(request, number, sent))
    }

    fn on_mirror(&self, request: &RequestHead, copy: Request<Body>) -> Option<Request<Body>> {
        self.0.iter().try_fold(copy, |copy, one| one.on_mirror(request, copy))
    }

    async fn before_mirror(&self, request: &RequestHead) {
        for one in &self.0 {
            one.before_mirror(request).await;
        }
    }

    fn on_question(&self, request: &RequestHead, whom: &str, question: Request<Body>) -> Request<Body> {
        self.0.iter().fold(question, |question, one| one.on_question(request, whom, question))
    }

    fn on_mirrored(&self, request: &RequestHead) {
        self.0.iter().for_each(|one| one.on_mirrored(request));
    }

    fn on_answer(&self, request: &RequestHead, answer: &mut http::response::Parts) {
        self.0.iter().for_each(|one| one.on_answer(request, answer));
    }

    fn body_end(&self, request: &RequestHead, end: Option<tokio::time::Instant>) -> Option<tokio::time::Instant> {
        self.0.iter().fold(end, |end, one| one.body_end(request, end))
    }

    async fn serve_tunnel(
        &self,
        request: &RequestHead,
        client: Upgraded,
        backend: Upgraded,
    ) -> Option<(Upgraded, Upgraded)> {
        let mut both = (client, backend);
        for one in &self.0 {
            both = one.serve_tunnel(request, both.0, both.1).await?;
        }
        Some(both)
    }

    async fn on_response(&self, request: &RequestHead, mut response: Response<Body>) -> Option<Response<Body>> {
        for one in &self.0 {
            response = one.on_response(request, response).await?;
        }
        Some(response)
    }

    fn on_hello(&self, hello: Hello) -> bool {
        self.0.iter().all(|one| one.on_hello(hello))
    }

    fn takes_clear_text(&self, is_http: bool) -> bool {
        self.0.iter().any(|one| one.takes_clear_text(is_http))
    }

    fn keeps_strangers(&self) -> bool {
        self.0.iter().any(|one| one.keeps_strangers())
    }

    fn on_terms(&self, connection: &Connection, terms: Arc<ServerConfig>) -> Arc<ServerConfig> {
        self.0.iter().fold(terms, |terms, one| one.on_terms(connection, terms))
    }

    fn on_shaken(&self, connection: &Connection, handshake: &ServerConnection, is_admitted: bool) -> bool {
        self.0.iter().fold(is_admitted, |is_admitted, one| one.on_shaken(connection, handshake, is_admitted))
    }

    fn on_protocols(&self, connection: &Connection, offered: &[Vec<u8>], spoken: Vec<Vec<u8>>) -> Vec<Vec<u8>> {
        self.0.iter().fold(spoken, |spoken, one| one.on_protocols(connection, offered, spoken))
    }

    fn on_tcp(&self, connection: &Connection, drawn: TcpChoice) -> TcpChoice {
        self.0.iter().fold(drawn, |drawn, one| one.on_tcp(connection, drawn))
    }

    fn on_udp(&self, flow: &Connection, drawn: TcpChoice) -> TcpChoice {
        self.0.iter().fold(drawn, |drawn, one| one.on_udp(flow, drawn))
    }

    fn on_datagram(&self, flow: &Connection, way: Way, datagram: &[u8]) -> Passage {
        let mut made = Passage::Pass;
        for one in &self.0 {
            let bytes = match &made {
                Passage::Pass => datagram,
                Passage::As(bytes) => bytes,
                Passage::Drop | Passage::FromElsewhere | Passage::To(_) => return made,
            };
            match one.on_datagram(flow, way, bytes) {
                Passage::Pass => {}
                other => made = other,
            }
        }
        made
    }

    async fn serve_passed(
        &self,
        connection: &Connection,
        stream: Stream,
        choice: TcpChoice,
    ) -> Option<(Stream, TcpChoice)> {
        let mut both = (stream, choice);
        for one in &self.0 {
            both = one.serve_passed(connection, both.0, both.1).await?;
        }
        Some(both)
    }

    async fn serve_tcp(
        &self,
        connection: &Connection,
        stream: Stream,
        choice: TcpChoice,
    ) -> Option<(Stream, TcpChoice)> {
        let mut both = (stream, choice);
        for one in &self.0 {
            both = one.serve_tcp(connection, both.0, both.1).await?;
        }
        Some(both)
    }
}
