//! Mirroring: copies of requests whose answers nobody reads.

use std::sync::Arc;
use std::time::Duration;

use http::Request;
use http::request::Parts;
use http_body_util::BodyExt;

use crate::body::{self, Body};
use crate::compiled::CompiledRoute;
use crate::config::{BackendTarget, Filter, RequestMirror};
use crate::exchange::RequestHead;
use crate::shared::Shared;
use crate::upstream::Way;

/// After this time a copy without an answer is given up.
const LIMIT: Duration = Duration::from_secs(30);

/// Sends a copy to each mirror of the rule and the drawn backend, and returns the body for the original. A copy has the
/// head that the backend gets.
pub fn start(
    shared: &Arc<Shared>,
    request: &RequestHead,
    route: &CompiledRoute,
    backend: Option<usize>,
    parts: &Parts,
    original: Body,
) -> Body {
    let drawn: Vec<&RequestMirror> = route
        .filters(backend)
        .filter_map(|filter| match filter {
            Filter::RequestMirror(mirror) if is_drawn(mirror) => Some(mirror),
            _ => None,
        })
        .collect();
    let (original, copies) = body::tee(original, drawn.len());
    for (mirror, copy) in drawn.into_iter().zip(copies) {
        let h2 = match &mirror.target {
            BackendTarget::Endpoints(_) => false,
            BackendTarget::H2cEndpoints(_) => true,
            BackendTarget::Tls { h2, .. } => *h2,
            BackendTarget::Fail { reason, .. } => {
                tracing::debug!(mirror = mirror.id, reason, "copy dropped");
                continue;
            }
            BackendTarget::Answer { .. } => continue,
        };
        let endpoints = mirror.target.endpoints();
        if endpoints.is_empty() {
            tracing::debug!(mirror = mirror.id, "copy dropped: no ready endpoints");
            continue;
        }
        let endpoint = endpoints[rand::random_range(0..endpoints.len())];
        let (mut head, ()) = Request::new(()).into_parts();
        head.method = parts.method.clone();
        head.uri = parts.uri.clone();
        head.headers = parts.headers.clone();
        let Some(copy) = shared.exchange.on_mirror(request, Request::from_parts(head, copy)) else { continue };
        let (shared, id, request) = (Arc::clone(shared), mirror.id.clone(), request.clone());
        let tls = mirror.target.tls().cloned();
        let tasks = shared.tasks.clone();
        tasks.spawn(async move {
            shared.exchange.before_mirror(&request).await;
            let way = Way { endpoint, h2, tls: tls.as_ref() };
            match shared.upstream.send(way, copy, Some(LIMIT)).await {
                Ok(response) => drain(body::stream(response.into_body())).await,
                Err(error) => tracing::debug!(mirror = id, %error, "copy failed"),
            }
            shared.exchange.on_mirrored(&request);
        });
    }
    original
}

/// Reads a body to its end.
pub async fn drain(mut body: Body) {
    while let Some(Ok(_)) = body.frame().await {}
}

fn is_drawn(mirror: &RequestMirror) -> bool {
    mirror.fraction.is_none_or(|share| rand::random_range(0..share.denominator.max(1)) < share.numerator)
}
