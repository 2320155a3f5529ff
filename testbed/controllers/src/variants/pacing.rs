//! Data planes that answer at another pace, or refuse in another way.

use std::{
    collections::BTreeSet,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use async_trait::async_trait;
use gateproof_proxy::{
    Config,
    body::Body,
    exchange::{Exchange, RequestHead},
};
use http::{
    Method, Response, StatusCode,
    header::{ACCESS_CONTROL_ALLOW_METHODS, ACCESS_CONTROL_REQUEST_METHOD},
    request::Parts,
};

use super::{Place, Variant};
use crate::{
    faults::{exchange::Answers, tools},
    runtime::seams::{ConfigSeam, Seen},
};

/// How long the first request of a connection waits.
const WARM_UP: Duration = Duration::from_millis(50);

/// Holds the first request of every connection.
#[derive(Default)]
struct WarmsUp(Mutex<BTreeSet<u64>>);

#[async_trait]
impl Exchange for WarmsUp {
    async fn on_forward(&self, request: &RequestHead, parts: Parts) -> Parts {
        let is_first = self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(request.connection.id);
        if is_first {
            tokio::time::sleep(WARM_UP).await;
        }
        parts
    }
}

/// How long a copy waits: long beside what an answer takes.
const BEHIND: Duration = Duration::from_millis(300);

/// Sends copies some time after their originals, as where they wait in a queue.
struct CopiesLater;

#[async_trait]
impl Exchange for CopiesLater {
    async fn before_mirror(&self, _: &RequestHead) {
        tokio::time::sleep(BEHIND).await;
    }
}

/// How long it is between two tries at least.
const PAUSE: Duration = Duration::from_millis(40);

/// Waits before it tries again, whether a route asks for that or not.
struct Pauses;

impl ConfigSeam for Pauses {
    fn edit(&mut self, _: Seen<'_>, config: &mut Config) {
        for retry in tools::rules(config).filter_map(|rule| rule.retry.as_mut()) {
            retry.backoff = retry.backoff.max(PAUSE);
        }
    }
}

/// Refuses a preflight for a method that is not allowed, instead of answering without its name.
fn forbid(request: &RequestHead, response: &mut Response<Body>) {
    let Some(wanted) = request.headers.get(ACCESS_CONTROL_REQUEST_METHOD).and_then(|method| method.to_str().ok())
    else {
        return;
    };
    let allowed = response.headers().get(ACCESS_CONTROL_ALLOW_METHODS).and_then(|methods| methods.to_str().ok());
    let is_allowed =
        allowed.is_none_or(|methods| methods.split(',').map(str::trim).any(|one| one == "*" || one == wanted));
    if request.method == Method::OPTIONS && !is_allowed {
        *response.status_mut() = StatusCode::FORBIDDEN;
    }
}

pub(super) const VARIANTS: &[Variant] = &[
    Variant {
        name: "warms-up",
        summary: "Holds the first request of every connection for 50 ms.",
        source: "Nothing in the specification says how fast a data plane is.",
        place: Place::Exchange(|| Arc::new(WarmsUp::default())),
    },
    Variant {
        name: "copies-later",
        summary: "Sends the copies of a request to its mirrors 300 ms after the request.",
        source: "HTTPRequestMirrorFilter: nothing ties a copy to the answer of its original, which does not wait for it.",
        place: Place::Exchange(|| Arc::new(CopiesLater)),
    },
    Variant {
        name: "pauses-between-tries",
        summary: "Waits 40 ms before each further try, where a route asks for no pause, too.",
        source: "HTTPRouteRetry.backoff: where it is left out, the pause between tries is left to implementations.",
        place: Place::Runtime(|seams| seams.config.push(Box::new(Pauses))),
    },
    Variant {
        name: "forbids-preflights-of-other-methods",
        summary: "Answers a preflight for a method that is not allowed with 403.",
        source: "HTTPCORSFilter.allowMethods: the fetch standard takes any answer without the method for a refusal.",
        place: Place::Exchange(|| Arc::new(Answers(forbid))),
    },
];

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use std::time::Instant;

    use gateproof_proxy::{ListenerKey, body, exchange::Connection};
    use http::{HeaderMap, HeaderValue, Request, Version};
    use rstest::rstest;

    use super::*;

    fn request(connection: u64, method: Method) -> RequestHead {
        let listener = ListenerKey {
            address: [127, 0, 0, 1].into(),
            port: 80,
            transport: gateproof_proxy::config::Transport::Tcp,
        };
        let peer = ([127, 0, 0, 9], 4711).into();
        let mut headers = HeaderMap::new();
        headers.insert(ACCESS_CONTROL_REQUEST_METHOD, HeaderValue::from_static("PUT"));
        RequestHead {
            connection: Arc::new(Connection { id: connection, listener, peer, opened_at: Instant::now() }),
            version: Version::HTTP_11,
            scheme: "http",
            server_name: None,
            method,
            authority: "a.test".to_owned(),
            host: "a.test".to_owned(),
            absolute: false,
            path: "/".to_owned(),
            query: None,
            headers,
        }
    }

    fn exchange(name: &str) -> Arc<dyn Exchange> {
        super::super::find(name).unwrap().exchange().unwrap()
    }

    #[tokio::test(start_paused = true)]
    async fn the_first_request_of_a_connection_is_held() {
        let warms_up = exchange("warms-up");
        let mut held = Vec::new();
        for connection in [1, 1, 2] {
            let before = tokio::time::Instant::now();
            let parts = Request::get("/").body(()).unwrap().into_parts().0;
            warms_up.on_forward(&request(connection, Method::GET), parts).await;
            held.push(before.elapsed());
        }
        assert_eq!(held, [WARM_UP, Duration::ZERO, WARM_UP]);
    }

    #[tokio::test(start_paused = true)]
    async fn copies_come_behind() {
        let before = tokio::time::Instant::now();
        exchange("copies-later").before_mirror(&request(1, Method::GET)).await;
        assert_eq!(before.elapsed(), BEHIND);
    }

    #[rstest]
    #[case::refused(Method::OPTIONS, Some("GET, POST"), 403)]
    #[case::allowed(Method::OPTIONS, Some("GET, PUT"), 204)]
    #[case::any(Method::OPTIONS, Some("*"), 204)]
    #[case::no_preflight(Method::GET, Some("GET"), 204)]
    #[case::nothing_said(Method::OPTIONS, None, 204)]
    #[tokio::test]
    async fn a_preflight_for_a_method_that_is_not_allowed_is_forbidden(
        #[case] method: Method,
        #[case] allowed: Option<&str>,
        #[case] status: u16,
    ) {
        let mut response = Response::new(body::empty());
        *response.status_mut() = StatusCode::NO_CONTENT;
        if let Some(methods) = allowed {
            response.headers_mut().insert(ACCESS_CONTROL_ALLOW_METHODS, methods.parse().unwrap());
        }
        let forbids = exchange("forbids-preflights-of-other-methods");
        let answer = forbids.on_response(&request(1, method), response).await.unwrap();
        assert_eq!(answer.status().as_u16(), status);
    }
}
