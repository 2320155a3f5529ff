//! The backend for WebSocket: returns every message.

use bytes::Bytes;
use futures::{SinkExt, StreamExt};
use http::header::{CONNECTION, SEC_WEBSOCKET_ACCEPT, SEC_WEBSOCKET_KEY, SEC_WEBSOCKET_PROTOCOL, UPGRADE};
use http::{HeaderMap, HeaderName, HeaderValue, Response, StatusCode};
use http_body_util::Full;
use hyper::upgrade::OnUpgrade;
use hyper_util::rt::TokioIo;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::Error;
use tokio_tungstenite::tungstenite::handshake::derive_accept_key;
use tokio_tungstenite::tungstenite::protocol::Role;

/// The answer that switches protocols, if the request asks for that. Of the subprotocols that are offered it takes the
/// first.
pub(crate) fn accept(headers: &HeaderMap) -> Option<Response<Full<Bytes>>> {
    if !lists(headers, CONNECTION, "upgrade") || !lists(headers, UPGRADE, "websocket") {
        return None;
    }
    let accepted = derive_accept_key(headers.get(SEC_WEBSOCKET_KEY)?.as_bytes());
    let mut response = Response::new(Full::default());
    *response.status_mut() = StatusCode::SWITCHING_PROTOCOLS;
    let fields = response.headers_mut();
    fields.insert(CONNECTION, HeaderValue::from_static("Upgrade"));
    fields.insert(UPGRADE, HeaderValue::from_static("websocket"));
    fields.insert(SEC_WEBSOCKET_ACCEPT, HeaderValue::from_str(&accepted).ok()?);
    let offered = headers.get(SEC_WEBSOCKET_PROTOCOL).and_then(|offered| offered.to_str().ok());
    if let Some(first) = offered.and_then(|offered| offered.split(',').next()) {
        fields.insert(SEC_WEBSOCKET_PROTOCOL, HeaderValue::from_str(first.trim()).ok()?);
    }
    Some(response)
}

/// Returns every message of an upgraded connection until the client closes it.
pub(crate) async fn echo(upgrade: OnUpgrade) {
    let stream = match upgrade.await {
        Ok(stream) => stream,
        Err(error) => return tracing::debug!(%error, "the client did not switch protocols"),
    };
    let mut socket = WebSocketStream::from_raw_socket(TokioIo::new(stream), Role::Server, None).await;
    while let Some(message) = socket.next().await {
        let sent = match message {
            Ok(message) if message.is_text() || message.is_binary() => socket.send(message).await,
            Ok(_) => Ok(()),
            Err(error) => Err(error),
        };
        match sent {
            Ok(()) => {}
            Err(Error::ConnectionClosed) => return,
            Err(error) => return tracing::debug!(%error, "a WebSocket ended"),
        }
    }
}

/// Whether a field has a member, in any case.
fn lists(headers: &HeaderMap, field: HeaderName, member: &str) -> bool {
    let lines = headers.get_all(field);
    let mut texts = lines.iter().filter_map(|line| line.to_str().ok());
    texts.any(|text| text.split(',').any(|one| one.trim().eq_ignore_ascii_case(member)))
}
