//! What handshakes agree on: which protocol is spoken within TLS.

use std::{
    collections::BTreeSet,
    sync::{Arc, Mutex, PoisonError},
};

use async_trait::async_trait;
use gateproof_proxy::{
    body::Body,
    exchange::{Connection, Exchange, RequestHead, TcpChoice},
    stream::Stream,
};
use http::{Response, Version};

use super::{Fault, Seam, tamper::intercept};

/// HTTP/2 as handshakes name it.
pub(crate) const HTTP2: &[u8] = b"h2";

/// HTTP/1.1 likewise.
pub(crate) const HTTP1: &[u8] = b"http/1.1";

fn offers(offered: &[Protocol], protocol: &[u8]) -> bool {
    offered.iter().any(|one| one == protocol)
}

/// The name of a protocol, as a handshake has it.
pub(crate) type Protocol = Vec<u8>;

/// What may be agreed on, by what a client offers and what is spoken.
pub(crate) struct Agrees(pub(crate) fn(&[Protocol], Vec<Protocol>) -> Vec<Protocol>);

impl Exchange for Agrees {
    fn on_protocols(&self, _: &Connection, offered: &[Protocol], spoken: Vec<Protocol>) -> Vec<Protocol> {
        (self.0)(offered, spoken)
    }
}

/// Those of the first protocol alone. Where that is unknown, nothing can be agreed on.
fn first_alone(offered: &[Protocol], spoken: Vec<Protocol>) -> Vec<Protocol> {
    match offered.first() {
        Some(first) if !spoken.is_empty() && !spoken.contains(first) => vec![b"none-of-yours".to_vec()],
        Some(first) if !spoken.is_empty() => vec![first.clone()],
        _ => spoken,
    }
}

/// Nothing where both versions of HTTP are offered.
fn nothing_of_two(offered: &[Protocol], spoken: Vec<Protocol>) -> Vec<Protocol> {
    if offers(offered, HTTP2) && offers(offered, HTTP1) { Vec::new() } else { spoken }
}

/// Agrees on HTTP/2 with whoever offers both versions, and breaks off what then comes.
#[derive(Default)]
struct DoesNotSpeakIt(Mutex<BTreeSet<u64>>);

#[async_trait]
impl Exchange for DoesNotSpeakIt {
    fn on_protocols(&self, of: &Connection, offered: &[Protocol], spoken: Vec<Protocol>) -> Vec<Protocol> {
        if offers(offered, HTTP2) && offers(offered, HTTP1) {
            self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(of.id);
        }
        spoken
    }

    async fn on_response(&self, request: &RequestHead, response: Response<Body>) -> Option<Response<Body>> {
        let is_of_two = self.0.lock().unwrap_or_else(PoisonError::into_inner).contains(&request.connection.id);
        (!is_of_two || request.version != Version::HTTP_2).then_some(response)
    }
}

/// Ends TLS that is to be passed on, and agrees itself on what its client would like best.
struct AnswersItself;

#[async_trait]
impl Exchange for AnswersItself {
    async fn serve_passed(&self, _: &Connection, stream: Stream, choice: TcpChoice) -> Option<(Stream, TcpChoice)> {
        match stream.offered().first() {
            Some(best) => {
                let best = vec![best.clone()];
                intercept(stream, choice, best).await
            }
            None => Some((stream, choice)),
        }
    }
}

pub(super) const FAULTS: &[Fault] = &[
    Fault {
        name: "looks-at-the-first-protocol-alone",
        summary: "Refuses a handshake over HTTPS if it does not know the protocol that the client offers first, whatever follows.",
        clauses: &["GRPC-01", "OWN-31"],
        seam: Seam::Exchange(|| Arc::new(Agrees(first_alone))),
    },
    Fault {
        name: "agrees-on-nothing-with-who-offers-both",
        summary: "Agrees on no protocol over HTTPS with a client that offers HTTP/2 and HTTP/1.1.",
        clauses: &["OWN-32"],
        seam: Seam::Exchange(|| Arc::new(Agrees(nothing_of_two))),
    },
    Fault {
        name: "agrees-on-http2-that-it-does-not-speak",
        summary: "Agrees on HTTP/2 with a client that offers HTTP/1.1 too, and breaks off every request of it.",
        clauses: &["IMPL-37", "OWN-32"],
        seam: Seam::Exchange(|| Arc::new(DoesNotSpeakIt::default())),
    },
    Fault {
        name: "answers-protocols-of-passed-streams",
        summary: "Ends TLS that it should pass on if the client offers protocols, agrees on the first, and goes on within TLS of its own.",
        clauses: &["OWN-33"],
        seam: Seam::Exchange(|| Arc::new(AnswersItself)),
    },
];
