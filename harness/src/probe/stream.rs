//! One conversation within TLS: the handshake names a server or none, and what follows is that of TCP.

use std::io::{self, ErrorKind};

use rustls::AlertDescription;

use super::pieces::Pieces;
use super::tap::{Seen, Tap};
use super::tcp::{Text, converse, end_of};
use super::{Client, Prober, attempt, tls};
use crate::cluster::clock;
use crate::log::{Exchange, Hello, ProbeError, TcpEnd};

/// What rustls wants to know where no name is said: it takes any certificate.
const NOBODY: &str = "nobody.invalid";

pub(super) async fn attempt(
    prober: &Prober,
    mut exchange: Exchange,
    (host, port): (&str, u16),
    (hello, client): (&Hello, &Client),
    text: &Text,
) -> Exchange {
    let end = clock::now() + prober.budget + text.idle.unwrap_or_default();
    let seen = Seen::default();
    let mut talking = async || -> Result<TcpEnd, ProbeError> {
        let name = hello.server_name.as_deref().unwrap_or(NOBODY);
        let name = tls::server_name(name)?;
        let connection = attempt::connect(prober, host, port, end).await?;
        exchange.connected_to = connection.peer;
        let stream = Pieces::new(Tap::wire(connection.stream, seen.clone()), hello);
        let own = (!hello.alpn.is_empty() || hello.version.is_some()).then(|| tls::of_stream(hello));
        let known = if hello.server_name.is_some() { &prober.tls.stream } else { &prober.tls.nameless };
        let connector = own.as_ref().unwrap_or(known);
        let resuming = hello.session.as_ref().map(|session| prober.sessions.of(session, connector));
        let connector = resuming.as_ref().unwrap_or(connector);
        let shaken = match tokio::time::timeout_at(end, connector.connect(name.clone(), stream)).await {
            Ok(shaken) => shaken,
            Err(_) => return end_of(None, seen.received(None).is_some()),
        };
        let stream = match shaken {
            Ok(stream) => stream,
            Err(error) => return of_handshake(&error, seen.received(None).is_some()),
        };
        exchange.certificate = tls::presented(stream.get_ref().1, &name, client);
        exchange.alpn = Some(tls::agreed(stream.get_ref().1));
        tls::note(stream.get_ref().1, &mut exchange);
        let conversing = converse(Tap::content(stream, seen.clone()), text);
        let talked = tokio::time::timeout_at(end, conversing).await.ok();
        if let Some(Err(error)) = &talked
            && let Some(alert) = tls::alert(error)
        {
            return Ok(TcpEnd::Alert(words(alert)));
        }
        end_of(talked, seen.received(None).is_some())
    };
    let ended = talking().await;
    match ended {
        Ok(end) => exchange.tcp = Some(end),
        Err(error) => {
            exchange.error = Some(seen.reason(error));
            exchange.received = seen.received(None);
        }
    }
    exchange
}

/// What a handshake that failed came to. `is_begun` says whether any byte came.
fn of_handshake(error: &io::Error, is_begun: bool) -> Result<TcpEnd, ProbeError> {
    let is_closed = matches!(
        error.kind(),
        ErrorKind::ConnectionReset | ErrorKind::ConnectionAborted | ErrorKind::BrokenPipe | ErrorKind::UnexpectedEof
    );
    match (tls::alert(error), attempt::of_connection(error)) {
        (Some(alert), _) => Ok(TcpEnd::Alert(words(alert))),
        (None, Some(error)) => Err(error),
        (None, None) if is_closed && !is_begun => Ok(TcpEnd::ClosedBeforeAnyByte),
        (None, None) => Err(ProbeError::Handshake(error.to_string())),
    }
}

fn words(alert: AlertDescription) -> String {
    format!("{alert:?}")
}
