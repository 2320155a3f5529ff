//! Sending a request to its backend, once or several times.

use std::sync::Arc;
use std::time::Duration;

use http::request::Parts;
use http::{Request, Response};
use hyper::body::Incoming;
use tokio::time::Instant;

use crate::body::{self, Ahead, Body};
use crate::compiled::CompiledRoute;
use crate::config::{BackendTarget, Retry};
use crate::error::UpstreamError;
use crate::exchange::{BackendChoice, RequestHead};
use crate::shared::Shared;
use crate::upstream::Way;

/// A body longer than this many bytes is not kept, and its request not sent again.
const KEPT_BODY: usize = 256 * 1024;

/// A backend's answer and when it has to be through at the latest.
pub struct Answered {
    /// The answer; its body is under way.
    pub response: Response<Incoming>,
    /// When its body breaks off.
    pub end: Option<Instant>,
}

/// One request on its way to a backend.
pub struct Sending<'a> {
    /// The proxy.
    pub shared: &'a Arc<Shared>,
    /// The request as the client sent it.
    pub head: &'a RequestHead,
    /// The rule.
    pub route: &'a CompiledRoute,
    /// When the request arrived.
    pub arrived: Instant,
}

impl Sending<'_> {
    /// Sends the request to the backend that was drawn, and again as its rule permits: each time to the endpoint whose
    /// turn it is.
    ///
    /// # Errors
    /// Those of the last try.
    pub async fn send(&self, parts: Parts, body: Body, choice: &BackendChoice) -> Result<Answered, UpstreamError> {
        let BackendChoice::Forward { backend, endpoint, h2c } = *choice else {
            return Err(UpstreamError::Exchange("there is no backend".to_owned()));
        };
        let target = self.route.target(backend);
        let mut way = Way { endpoint, h2: h2c, tls: target.and_then(BackendTarget::tls) };
        let limits = &self.route.rule.timeouts;
        let overall = limits.request.map(|limit| (limit, self.arrived + limit));
        let Some(retry) = &self.route.rule.retry else {
            return self.once(0, Request::from_parts(parts, body), way, overall).await;
        };
        let body = match body::read_ahead(body, KEPT_BODY).await {
            Ok(Ahead::Long(body)) => {
                return self.once(0, Request::from_parts(parts, body), way, overall).await;
            }
            Ok(whole) => whole,
            Err(error) => return Err(UpstreamError::Exchange(error.to_string())),
        };
        let mut number = 0;
        loop {
            let again = body.again().unwrap_or_else(body::empty);
            let tried = self.once(number, Request::from_parts(parts.clone(), again), way, overall).await;
            if number >= retry.attempts || !is_reason(retry, &tried) {
                return tried;
            }
            number += 1;
            if let Some((limit, end)) = overall
                && Instant::now() + retry.backoff >= end
            {
                tokio::time::sleep_until(end).await;
                return Err(UpstreamError::Timeout(limit));
            }
            tokio::time::sleep(retry.backoff).await;
            if let Some(target) = target {
                way.endpoint = self.route.next_endpoint(backend, target.endpoints()).copied().unwrap_or(way.endpoint);
            }
        }
    }

    async fn once(
        &self,
        number: u32,
        request: Request<Body>,
        way: Way<'_>,
        overall: Option<(Duration, Instant)>,
    ) -> Result<Answered, UpstreamError> {
        let now = Instant::now();
        let own = self.route.rule.timeouts.backend_request.map(|limit| (limit, now + limit));
        let limit = [own, overall].into_iter().flatten().min_by_key(|(_, end)| *end);
        let request = self.shared.exchange.on_try(self.head, number, request);
        let left = limit.map(|(_, end)| end.saturating_duration_since(now));
        let sent = self.shared.upstream.send(way, request, left).await;
        match (sent, limit) {
            (Ok(response), limit) => Ok(Answered { response, end: limit.map(|(_, end)| end) }),
            (Err(UpstreamError::Timeout(_)), Some((limit, _))) => Err(UpstreamError::Timeout(limit)),
            (Err(error), _) => Err(error),
        }
    }
}

fn is_reason(retry: &Retry, tried: &Result<Answered, UpstreamError>) -> bool {
    match tried {
        Ok(answered) => retry.codes.contains(&answered.response.status().as_u16()),
        Err(UpstreamError::Timeout(_)) => retry.on_timeouts,
        Err(UpstreamError::Connect(_)) => retry.on_refused_connections,
        Err(UpstreamError::Exchange(_)) => retry.on_broken_connections,
        Err(UpstreamError::Tls(_)) => retry.on_failed_handshakes,
        Err(UpstreamError::Address(_)) => false,
    }
}
