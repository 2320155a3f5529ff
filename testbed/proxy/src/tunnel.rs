//! Upgraded connections (WebSocket): bytes both ways.

use std::sync::Arc;

use http::Response;
use http::header::{CONNECTION, UPGRADE};
use hyper::body::Incoming;
use hyper::upgrade::OnUpgrade;
use hyper_util::rt::TokioIo;
use tokio::io::copy_bidirectional;
use tokio_util::sync::CancellationToken;

use crate::body::{self, Body};
use crate::filters::hop;
use crate::request::RequestHead;
use crate::shared::Shared;
use crate::stream::Upgraded;

/// Joins both sides of an upgrade once both are done, and returns the answer for the client. The tunnel ends with
/// either side, or when `closing` says so.
pub fn open(
    shared: &Arc<Shared>,
    head: &RequestHead,
    client_side: OnUpgrade,
    mut response: Response<Incoming>,
    closing: CancellationToken,
) -> Response<Body> {
    let backend_side = hyper::upgrade::on(&mut response);
    let (exchange, head) = (Arc::clone(&shared.exchange), head.clone());
    shared.tasks.spawn(closing.run_until_cancelled_owned(async move {
        match tokio::try_join!(client_side, backend_side) {
            Ok((client, backend)) => {
                let plain = exchange.serve_tunnel(&head, TokioIo::new(client), TokioIo::new(backend)).await;
                if let Some((client, backend)) = plain {
                    carry(client, backend).await;
                }
            }
            Err(error) => tracing::debug!(%error, "upgrade failed"),
        }
    }));
    let (mut parts, _) = response.into_parts();
    let protocol = hop::requested_upgrade(&parts.headers);
    hop::strip(&mut parts.headers);
    if let Some(protocol) = protocol {
        parts.headers.insert(CONNECTION, http::HeaderValue::from_static("upgrade"));
        parts.headers.insert(UPGRADE, protocol);
    }
    Response::from_parts(parts, body::empty())
}

/// Copies bytes both ways until either side ends.
pub async fn carry(mut client: Upgraded, mut backend: Upgraded) {
    let ended = copy_bidirectional(&mut client, &mut backend).await;
    tracing::debug!(?ended, "tunnel ended");
}
