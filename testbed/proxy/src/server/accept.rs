//! Taking connections on one bound port.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustls::server::Acceptor;
use tokio::io::AsyncWriteExt;
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::LazyConfigAcceptor;
use tokio_util::sync::CancellationToken;

use super::{http, tcp, tls};
use crate::answer::Client;
use crate::compiled::{CompiledVirtualHost, ListenerKey, Service};
use crate::exchange::{Connection, Hello, TcpChoice};
use crate::matching::hostname::most_specific;
use crate::shared::Shared;
use crate::stream::Stream;
use crate::streams::{CompiledStream, draw_first};
use crate::tls::TlsTerms;

/// The longest pause after a failure to take connections.
const LONGEST_PAUSE: Duration = Duration::from_secs(1);

/// Takes connections until `closing`, which ends them too. The port is free when this returns.
pub async fn accept(shared: Arc<Shared>, listener: TcpListener, key: ListenerKey, closing: CancellationToken) {
    let mut pause = Duration::from_millis(1);
    loop {
        let accepted = tokio::select! {
            () = closing.cancelled() => return,
            accepted = listener.accept() => accepted,
        };
        match accepted {
            Ok((stream, peer)) => {
                pause = Duration::from_millis(1);
                let serving = serve(Arc::clone(&shared), stream, peer, key, closing.clone());
                shared.tasks.spawn(shared.abort.clone().run_until_cancelled_owned(serving));
            }
            Err(error) => {
                // The process is out of descriptors, most likely; the pause grows until some are free again.
                tracing::warn!(listener = %key, %error, "no connection could be taken");
                tokio::select! {
                    () = closing.cancelled() => return,
                    () = tokio::time::sleep(pause) => pause = (pause * 2).min(LONGEST_PAUSE),
                }
            }
        }
    }
}

async fn serve(shared: Arc<Shared>, stream: TcpStream, peer: SocketAddr, key: ListenerKey, closing: CancellationToken) {
    let connection =
        Arc::new(Connection { id: shared.next_connection(), listener: key, peer, opened_at: Instant::now() });
    let config = shared.config_for(&connection);
    let Some(listener) = config.listener(key) else { return };
    if config.applied_at.elapsed() < config.config.hitch {
        if let Err(error) = stream.set_zero_linger() {
            tracing::debug!(%error, "the client is gone already");
        }
        return;
    }
    if let Err(error) = stream.set_nodelay(true) {
        tracing::debug!(%error, "the client is gone already");
        return;
    }
    let client = |scheme, server_name| Client {
        shared: Arc::clone(&shared),
        connection: Arc::clone(&connection),
        scheme,
        server_name,
        closing: closing.clone(),
    };
    if let Service::Https { streams, .. } = &listener.service
        && shared.exchange.takes_clear_text(streams.is_empty())
        && !tls::begins(&stream).await
    {
        // No handshake has an empty name.
        if streams.is_empty() {
            http::serve(stream, client("https", Some(String::new())), &closing).await;
        } else {
            tcp::carry_out(stream.into(), draw_first(streams)).await;
        }
        return;
    }
    if shared.exchange.keeps_strangers() && is_strange(&listener.service, &stream).await {
        return keep(stream, &listener.service, &closing).await;
    }
    match &listener.service {
        Service::Http(_) => http::serve(stream, client("http", None), &closing).await,
        Service::Https { terms, hosts, streams } if !streams.is_empty() => {
            let belongs = async {
                match tls::hello(stream).await {
                    Ok((name, stream)) => Some((place(hosts, streams, name.as_deref()), stream, name)),
                    Err(error) => {
                        tracing::debug!(listener = %key, %error, "no server name");
                        None
                    }
                }
            };
            let Some(Some((place, stream, name))) = closing.run_until_cancelled(belongs).await else { return };
            if let Place::Http = place {
                return https(&shared, &connection, stream, terms, client, &closing).await;
            }
            let (terms, drawn) = match place {
                Place::Stream(of) => (of.terms.as_ref(), of.draw(name.as_deref())),
                _ => (None, TcpChoice::Refuse { reason: "no listener has this server name".to_owned() }),
            };
            let choice = shared.exchange.on_tcp(&connection, drawn);
            let serve = async {
                let Some((stream, choice)) = shared.exchange.serve_tcp(&connection, stream, choice).await else {
                    return;
                };
                match terms.map(|terms| terms.server_for(None)) {
                    None => {
                        let Some((stream, choice)) = shared.exchange.serve_passed(&connection, stream, choice).await
                        else {
                            return;
                        };
                        tcp::carry_out(stream, choice).await;
                    }
                    Some(Some(server)) => {
                        tls::terminate(stream, server, (&*shared.exchange, &connection), choice).await;
                    }
                    Some(None) => tcp::reset(&stream, "tls cannot be set up"),
                }
            };
            closing.run_until_cancelled(serve).await;
        }
        Service::Https { terms, .. } => https(&shared, &connection, stream.into(), terms, client, &closing).await,
        // Nobody can connect to it.
        Service::Udp(_) => {}
        Service::Tcp(service) => {
            let choice = shared.exchange.on_tcp(&connection, service.draw());
            let serve = async {
                if let Some((stream, choice)) = shared.exchange.serve_tcp(&connection, stream.into(), choice).await {
                    tcp::carry_out(stream, choice).await;
                }
            };
            closing.run_until_cancelled(serve).await;
        }
    }
}

/// Whether a connection begins with a handshake where there is none, or without one.
async fn is_strange(service: &Service, stream: &TcpStream) -> bool {
    match service {
        Service::Http(_) => tls::begins(stream).await,
        Service::Https { .. } => !tls::begins(stream).await,
        Service::Tcp(_) | Service::Udp(_) => false,
    }
}

/// Keeps a connection open, with a line where it is one of streams.
async fn keep(mut stream: TcpStream, service: &Service, closing: &CancellationToken) {
    if matches!(service, Service::Https { streams, .. } if !streams.is_empty()) {
        let said = stream.write_all(b"stranger\n").await;
        tracing::debug!(?said, "a stranger was answered");
    }
    closing.cancelled().await;
}

/// Whose a connection is on a port of several listeners.
enum Place<'a> {
    Http,
    Stream(&'a CompiledStream),
    Nobody,
}

/// The listener with the most specific hostname gets it, whatever it serves.
fn place<'a>(hosts: &[CompiledVirtualHost], streams: &'a [CompiledStream], name: Option<&str>) -> Place<'a> {
    let all = hosts.iter().map(|host| &host.hostname).chain(streams.iter().map(|stream| &stream.hostname));
    match most_specific(all, name.unwrap_or_default()) {
        None => Place::Nobody,
        Some(at) => at.checked_sub(hosts.len()).and_then(|at| streams.get(at)).map_or(Place::Http, Place::Stream),
    }
}

/// Serves HTTP over TLS.
async fn https(
    shared: &Shared,
    connection: &Connection,
    stream: Stream,
    terms: &TlsTerms,
    client: impl FnOnce(&'static str, Option<String>) -> Client,
    closing: &CancellationToken,
) {
    let handshake = async {
        let unset = || io::Error::other("tls cannot be set up");
        let start = LazyConfigAcceptor::new(Acceptor::default(), stream).await?;
        let hello = start.client_hello();
        let name = hello.server_name().map(str::to_ascii_lowercase);
        if !shared.exchange.on_hello(Hello { has_name: name.is_some(), has_protocols: hello.alpn().is_some() }) {
            return Err(io::Error::other("the handshake is not answered"));
        }
        if shared.exchange.keeps_strangers() && terms.listener_for(name.as_deref()).is_none() {
            return std::future::pending().await;
        }
        let server = terms.server_for(name.as_deref()).ok_or_else(unset)?;
        let server = tls::agreeing(server, &start.client_hello(), &*shared.exchange, connection);
        let server = shared.exchange.on_terms(connection, server);
        let stream = start.into_stream(server).await?;
        let shaken = stream.get_ref().1;
        let is_admitted = terms.admits(name.as_deref(), shaken.peer_certificates());
        if !shared.exchange.on_shaken(connection, shaken, is_admitted) {
            return Err(io::Error::other("the client has shown no valid certificate"));
        }
        Ok(stream)
    };
    match closing.run_until_cancelled(handshake).await {
        Some(Ok(stream)) => {
            let server_name = stream.get_ref().1.server_name().map(str::to_ascii_lowercase);
            http::serve(stream, client("https", server_name), closing).await;
        }
        Some(Err(error)) => tracing::debug!(listener = %connection.listener, %error, "handshake failed"),
        None => {}
    }
}
