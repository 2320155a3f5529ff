//! Port-forward: the bytes of a Pod's ports over one WebSocket.
//!
//! Spoken is `v4.channel.k8s.io`: each port has a channel for its bytes and one for an error, and the first message on each
//! of them names the port. SPDY, which kubectl speaks within a WebSocket or without one, is not.

use std::net::{IpAddr, SocketAddr};

use bytes::{BufMut, Bytes, BytesMut};
use futures::{SinkExt, StreamExt};
use http::request::Parts;
use http::{HeaderMap, HeaderName, HeaderValue, Response, StatusCode, header};
use hyper::upgrade::{OnUpgrade, Upgraded};
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::handshake::derive_accept_key;
use tokio_tungstenite::tungstenite::protocol::Role;

use super::app::App;
use super::body::Body;
use super::pod::{address, pod};
use super::query::Query;
use super::route::ObjectPath;
use crate::auth::User;
use crate::error::ApiError;

/// The subprotocol.
const PROTOCOL: &str = "v4.channel.k8s.io";
/// Most bytes of a Pod in one message.
const PIECE: usize = 32 * 1024;
/// Messages that may wait to be sent or written.
const QUEUE: usize = 16;

/// Begins to forward, once the connection is handed over.
///
/// # Errors
/// 403 unless the user may, 404 where there is no such Pod, 400 for what is no WebSocket of this protocol or no port, 500 if the Pod does
/// not run.
pub fn begin(app: &App, user: &User, parts: &Parts, path: &ObjectPath) -> Result<Response<Body>, ApiError> {
    let pod = pod(app, user, parts, "get", path)?;
    // A WebSocket begins with a GET; from v1.35 on, servers ask for the verb of its POST as well.
    app.permit_object(user, "create", path)?;
    let host = address(&pod)?;
    let ports = ports(&Query::parse(parts.uri.query().unwrap_or("")))?;
    let (response, upgrade) = accept(parts)?;
    let (closing, outage) = (app.closing.clone(), app.trouble.goes_away());
    tokio::spawn(async move {
        let forwarding = async {
            match upgrade.await {
                Ok(stream) => forward(stream, host, &ports).await,
                Err(error) => tracing::debug!(%error, "the client did not switch protocols"),
            }
        };
        tokio::select! {
            () = forwarding => {}
            () = closing.cancelled() => {}
            () = outage => {}
        }
    });
    Ok(response)
}

/// The ports asked for, in the order of their channels.
fn ports(query: &Query) -> Result<Vec<u16>, ApiError> {
    let texts = query.all("ports").flat_map(|list| list.split(','));
    let read = |text: &str| {
        let port = text.parse().ok().filter(|port: &u16| *port > 0);
        port.ok_or_else(|| ApiError::bad_request(format!("query parameter ports holds {text:?}, which is no port")))
    };
    let ports: Vec<u16> = texts.map(read).collect::<Result<_, _>>()?;
    // Channels are numbered in a byte.
    match ports.len() {
        1..=127 => Ok(ports),
        0 => Err(ApiError::bad_request("query parameter ports is required")),
        _ => Err(ApiError::bad_request("query parameter ports holds too many ports")),
    }
}

/// The answer that switches protocols, and the connection that follows.
fn accept(parts: &Parts) -> Result<(Response<Body>, OnUpgrade), ApiError> {
    let headers = &parts.headers;
    if !lists(headers, header::CONNECTION, "upgrade") || !lists(headers, header::UPGRADE, "websocket") {
        return Err(ApiError::bad_request("Upgrade request required: to websocket, as nothing else is spoken here"));
    }
    let offers = headers.contains_key(header::SEC_WEBSOCKET_PROTOCOL);
    if offers && !lists(headers, header::SEC_WEBSOCKET_PROTOCOL, PROTOCOL) {
        return Err(ApiError::bad_request(format!("none of the offered protocols is spoken here, only {PROTOCOL}")));
    }
    let key = headers.get(header::SEC_WEBSOCKET_KEY);
    let key = key.ok_or_else(|| ApiError::bad_request("the header Sec-WebSocket-Key is required"))?;
    let upgrade = parts.extensions.get::<OnUpgrade>().cloned();
    let upgrade = upgrade.ok_or_else(|| ApiError::bad_request("this connection cannot switch protocols"))?;
    let mut response = Response::new(Body::full(""));
    *response.status_mut() = StatusCode::SWITCHING_PROTOCOLS;
    let fields = response.headers_mut();
    fields.insert(header::CONNECTION, HeaderValue::from_static("Upgrade"));
    fields.insert(header::UPGRADE, HeaderValue::from_static("websocket"));
    if let Ok(accept) = derive_accept_key(key.as_bytes()).parse() {
        fields.insert(header::SEC_WEBSOCKET_ACCEPT, accept);
    }
    if offers {
        fields.insert(header::SEC_WEBSOCKET_PROTOCOL, HeaderValue::from_static(PROTOCOL));
    }
    Ok((response, upgrade))
}

/// Whether a header has a member, in any case.
fn lists(headers: &HeaderMap, field: HeaderName, member: &str) -> bool {
    let mut texts = headers.get_all(field).iter().filter_map(|line| line.to_str().ok());
    texts.any(|text| text.split(',').any(|one| one.trim().eq_ignore_ascii_case(member)))
}

/// Carries bytes until the client leaves or every port is closed.
async fn forward(stream: Upgraded, host: IpAddr, ports: &[u16]) {
    let socket = WebSocketStream::from_raw_socket(TokioIo::new(stream), Role::Server, None).await;
    let (mut to_client, mut from_client) = socket.split();
    let (outgoing, mut queue) = mpsc::channel(QUEUE);
    let mut carriers = JoinSet::new();
    let mut channels = Vec::new();
    for (index, port) in (0_u8..).zip(ports) {
        let (sender, receiver) = mpsc::channel(QUEUE);
        let replies = Replies { data: 2 * index, outgoing: outgoing.clone() };
        carriers.spawn(carry(SocketAddr::new(host, *port), receiver, replies));
        channels.push(sender);
    }
    drop(outgoing);
    let sending = async {
        while let Some(message) = queue.recv().await {
            to_client.send(Message::Binary(message)).await?;
        }
        to_client.send(Message::Close(None)).await
    };
    let receiving = async {
        while let Some(Ok(message)) = from_client.next().await {
            let Message::Binary(mut bytes) = message else { continue };
            if bytes.is_empty() {
                continue;
            }
            let channel = bytes.split_to(1)[0];
            // Clients have nothing to say on the channels for errors, and a port that is closed takes nothing more.
            if let Some(sender) = channels.get(usize::from(channel / 2)).filter(|_| channel % 2 == 0) {
                let _ = sender.send(bytes).await;
            }
        }
    };
    tokio::select! {
        sent = sending => {
            if let Err(error) = sent {
                tracing::debug!(%error, "a port-forward ended");
            }
        }
        () = receiving => {}
    }
}

/// Where what comes of a port goes to.
struct Replies {
    data: u8,
    outgoing: mpsc::Sender<Bytes>,
}

impl Replies {
    /// Sends on the port's channel for bytes, or on the one for its error. Whoever is gone needs no answer.
    async fn send(&self, is_error: bool, bytes: &[u8]) {
        let mut message = BytesMut::with_capacity(bytes.len() + 1);
        message.put_u8(self.data + u8::from(is_error));
        message.put_slice(bytes);
        let _ = self.outgoing.send(message.freeze()).await;
    }
}

/// Carries the bytes of one port, until either side closes.
async fn carry(place: SocketAddr, mut from_client: mpsc::Receiver<Bytes>, replies: Replies) {
    for is_error in [false, true] {
        replies.send(is_error, &place.port().to_le_bytes()).await;
    }
    let carried = async {
        let mut stream = TcpStream::connect(place).await?;
        stream.set_nodelay(true)?;
        let (mut read, mut write) = stream.split();
        let down = async {
            let mut piece = vec![0; PIECE];
            loop {
                match read.read(&mut piece).await? {
                    0 => return Ok(()),
                    length => replies.send(false, &piece[..length]).await,
                }
            }
        };
        let up = async {
            while let Some(bytes) = from_client.recv().await {
                write.write_all(&bytes).await?;
            }
            Ok(())
        };
        tokio::select! { ended = down => ended, ended = up => ended }
    };
    let carried: std::io::Result<()> = carried.await;
    if let Err(error) = carried {
        replies.send(true, format!("an error occurred forwarding port {}: {error}", place.port()).as_bytes()).await;
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case("ports=80", Ok(vec![80]))]
    #[case("&ports=80%2C8080&ports=9000", Ok(vec![80, 8080, 9000]))]
    #[case("", Err("required"))]
    #[case("ports=0", Err("which is no port"))]
    #[case("ports=web", Err("which is no port"))]
    fn ports_are_read(#[case] query: &str, #[case] expected: Result<Vec<u16>, &str>) {
        match (ports(&Query::parse(query)), expected) {
            (Ok(found), Ok(expected)) => assert_eq!(found, expected),
            (Err(error), Err(expected)) => assert!(error.status().to_string().contains(expected)),
            (found, expected) => unreachable!("{found:?} instead of {expected:?}"),
        }
    }
}
