//! Asking somebody about a request before it is matched.

use std::time::Duration;

use http::header::{AUTHORIZATION, CONTENT_LENGTH, HOST};
use http::uri::PathAndQuery;
use http::{HeaderMap, HeaderName, HeaderValue, Request, Response, StatusCode};
use hyper::body::Incoming;

use crate::body::{self, Body};
use crate::config::{Authorization, BackendTarget};
use crate::exchange::RequestHead;
use crate::filters::hop;
use crate::matching::hostname::host_of;
use crate::shared::Shared;
use crate::upstream::Way;

/// After this time without an answer the request is refused.
const LIMIT: Duration = Duration::from_secs(10);

/// Asks all that are to be asked, one after the other, and changes the request as they say.
///
/// # Errors
/// The answer to the client, from whoever lets the request go no further.
pub async fn all(
    shared: &Shared,
    before: &[Authorization],
    head: &mut RequestHead,
    request: &mut Request<Incoming>,
) -> Result<(), Box<Response<Body>>> {
    // What is asked next knows what was added before, whatever rules see of it.
    let mut seen = head.clone();
    for one in before {
        let added = ask(shared, one, &seen).await?;
        for (name, value) in &added {
            if *name == HOST {
                if one.may_change_host
                    && let Ok(host) = value.to_str()
                {
                    (head.authority, head.host) = (host.to_owned(), host_of(host));
                }
                continue;
            }
            request.headers_mut().insert(name, value.clone());
            seen.headers.insert(name, value.clone());
            if one.is_seen_by_rules {
                head.headers.insert(name, value.clone());
            }
        }
    }
    Ok(())
}

/// The headers that the request goes on with, or the answer to the client.
async fn ask(shared: &Shared, of: &Authorization, head: &RequestHead) -> Result<HeaderMap, Box<Response<Body>>> {
    let refused = |why: &str| {
        tracing::debug!(authorization = of.id, why, "the request is not let through");
        let mut response = Response::new(body::full(format!("{}: {why}\n", of.id)));
        *response.status_mut() = StatusCode::INTERNAL_SERVER_ERROR;
        Box::new(response)
    };
    let h2 = match &of.target {
        BackendTarget::Fail { reason, .. } => return Err(refused(reason)),
        BackendTarget::Answer { .. } => return Err(refused("nobody is to be asked")),
        BackendTarget::Endpoints(_) => false,
        BackendTarget::H2cEndpoints(_) => true,
        BackendTarget::Tls { h2, .. } => *h2,
    };
    let endpoints = of.target.endpoints();
    if endpoints.is_empty() {
        return Err(refused("no ready endpoints"));
    }
    let endpoint = endpoints[rand::random_range(0..endpoints.len())];
    let question = question(of, head).map_err(|why| refused(&why))?;
    let question = shared.exchange.on_question(head, &of.id, question);
    let way = Way { endpoint, h2, tls: of.target.tls() };
    let (mut answer, incoming) = shared
        .upstream
        .send(way, question, Some(LIMIT))
        .await
        .map_err(|error| refused(&error.to_string()))?
        .into_parts();
    hop::strip(&mut answer.headers);
    if answer.status != StatusCode::OK {
        return Err(Box::new(Response::from_parts(answer, body::stream(incoming))));
    }
    answer.headers.remove(CONTENT_LENGTH);
    let is_taken =
        |name: &HeaderName| of.taken.is_empty() || of.taken.iter().any(|one| one.eq_ignore_ascii_case(name.as_str()));
    Ok(answer
        .headers
        .iter()
        .filter(|(name, _)| is_taken(name))
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect())
}

/// The request that asks: the method, the path, the host and what else is shown, without a body.
fn question(of: &Authorization, head: &RequestHead) -> Result<Request<Body>, String> {
    let query = head.query.as_ref().map(|query| format!("?{query}")).unwrap_or_default();
    let target = format!("{}{}{query}", of.prefix.trim_end_matches('/'), head.path);
    let target: PathAndQuery = target.parse().map_err(|error| format!("{target}: {error}"))?;
    let mut request = Request::new(body::empty());
    *request.method_mut() = head.method.clone();
    *request.uri_mut() = target.into();
    let headers = request.headers_mut();
    let host = head.authority.parse().map_err(|error| format!("{}: {error}", head.authority))?;
    headers.insert(HOST, host);
    headers.insert(CONTENT_LENGTH, HeaderValue::from_static("0"));
    let shown = |name: &HeaderName| {
        *name == AUTHORIZATION || of.shown.iter().any(|one| one.eq_ignore_ascii_case(name.as_str()))
    };
    for (name, value) in head.headers.iter().filter(|(name, _)| ![HOST, CONTENT_LENGTH].contains(name) && shown(name)) {
        headers.append(name, value.clone());
    }
    Ok(request)
}
