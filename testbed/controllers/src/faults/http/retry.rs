use std::{
    collections::{HashMap, HashSet},
    net::SocketAddr,
    sync::{Arc, Mutex, PoisonError},
};

use async_trait::async_trait;
use gateproof_proxy::{
    Config, body,
    compiled::CompiledRoute,
    config::{Backend, BackendTarget, Retry, Route},
    exchange::{BackendChoice, Exchange, RequestHead, Unreached},
};
use http::{
    Request, Response, StatusCode,
    header::{CONNECTION, CONTENT_LENGTH, HOST},
};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};

use super::super::{
    Fault, Seam,
    exchange::Body,
    tools::{rules, serve},
};

fn each_retry(config: &mut Config) -> impl Iterator<Item = &mut Retry> {
    rules(config).filter_map(|rule| rule.retry.as_mut())
}

fn with_retry(config: &mut Config) -> impl Iterator<Item = &mut Route> {
    rules(config).filter(|rule| rule.retry.is_some())
}

/// Sends the body of a request with the first try only.
struct ForgetsBodies;

#[async_trait]
impl Exchange for ForgetsBodies {
    fn on_try(&self, _: &RequestHead, number: u32, sent: Request<Body>) -> Request<Body> {
        if number == 0 {
            return sent;
        }
        let (mut parts, _) = sent.into_parts();
        parts.headers.remove(CONTENT_LENGTH);
        Request::from_parts(parts, body::empty())
    }
}

/// Turns away from endpoints that took no connection.
#[derive(Default)]
struct Avoids(Mutex<Known>);

#[derive(Default)]
struct Known {
    /// Where the request of a connection goes.
    under_way: HashMap<u64, SocketAddr>,
    refused: HashSet<SocketAddr>,
}

#[async_trait]
impl Exchange for Avoids {
    fn on_backend(&self, request: &RequestHead, route: &CompiledRoute, mut drawn: BackendChoice) -> BackendChoice {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let BackendChoice::Forward { backend, endpoint, .. } = &mut drawn
            && route.rule.retry.is_some()
        {
            let all = route.target(*backend).map_or(&[][..], BackendTarget::endpoints);
            let others = all.iter().find(|other| !known.refused.contains(other));
            *endpoint = *others.filter(|_| known.refused.contains(endpoint)).unwrap_or(endpoint);
            known.under_way.insert(request.connection.id, *endpoint);
        }
        drawn
    }

    async fn on_response(&self, request: &RequestHead, response: Response<Body>) -> Option<Response<Body>> {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(endpoint) = known.under_way.remove(&request.connection.id)
            && response.extensions().get::<Unreached>().is_some()
        {
            known.refused.insert(endpoint);
        }
        Some(response)
    }
}

/// Goes on with tries when the client was told that its time is over.
#[derive(Default)]
struct GoesOn(Mutex<HashMap<u64, (SocketAddr, Retry)>>);

#[async_trait]
impl Exchange for GoesOn {
    fn on_backend(&self, request: &RequestHead, route: &CompiledRoute, drawn: BackendChoice) -> BackendChoice {
        if let (BackendChoice::Forward { endpoint, .. }, Some(retry)) = (&drawn, &route.rule.retry)
            && route.rule.timeouts.request.is_some()
        {
            let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            known.insert(request.connection.id, (*endpoint, retry.clone()));
        }
        drawn
    }

    async fn on_response(&self, request: &RequestHead, response: Response<Body>) -> Option<Response<Body>> {
        let known = self.0.lock().unwrap_or_else(PoisonError::into_inner).remove(&request.connection.id);
        if let Some((endpoint, retry)) = known.filter(|_| response.status() == StatusCode::GATEWAY_TIMEOUT) {
            tokio::spawn(go_on(endpoint, retry, request.clone()));
        }
        Some(response)
    }
}

/// Asks an endpoint again and again for an answer that nobody waits for.
async fn go_on(endpoint: SocketAddr, retry: Retry, request: RequestHead) {
    for _ in 0..retry.attempts {
        match status(endpoint, &request).await {
            Ok(status) if retry.codes.contains(&status) => tokio::time::sleep(retry.backoff).await,
            Ok(_) => return,
            Err(error) => return tracing::debug!(%error, "the backend is gone"),
        }
    }
}

/// The status that a request without a body is answered with.
async fn status(endpoint: SocketAddr, request: &RequestHead) -> std::io::Result<u16> {
    let query = request.query.as_ref().map(|query| format!("?{query}")).unwrap_or_default();
    let RequestHead { method, path, authority, .. } = request;
    let mut text = format!("{method} {path}{query} HTTP/1.1\r\nHost: {authority}\r\nConnection: close\r\n");
    for (name, value) in &request.headers {
        if ![HOST, CONNECTION, CONTENT_LENGTH].contains(name) {
            text += &format!("{name}: {}\r\n", String::from_utf8_lossy(value.as_bytes()));
        }
    }
    let mut stream = TcpStream::connect(endpoint).await?;
    stream.write_all(format!("{text}\r\n").as_bytes()).await?;
    let mut begin = *b"HTTP/1.1 200";
    stream.read_exact(&mut begin).await?;
    let digits = std::str::from_utf8(&begin[9..]).unwrap_or_default();
    digits.parse().map_err(|_| std::io::ErrorKind::InvalidData.into())
}

pub(in super::super) const CONFIG: &[Fault] = &[
    Fault {
        name: "has-no-retries-for-h2c",
        summary: "Tries nothing again that goes to a backend over HTTP/2 with prior knowledge.",
        clauses: &["upstream:HTTPRouteRetry"],
        seam: Seam::Config(|| {
            serve(|_, config| {
                let speaks_h2c = |to: &Backend| matches!(to.target, BackendTarget::H2cEndpoints(_));
                let of_h2c = rules(config).filter(|rule| rule.backends.iter().any(speaks_h2c));
                of_h2c.for_each(|rule| rule.retry = None);
            })
        }),
    },
    Fault {
        name: "never-retries",
        summary: "Takes no status code of a backend for a reason to try again.",
        clauses: &["upstream:HTTPRouteRetry", "upstream:HTTPRouteRetryWithBackendTimeout", "blind:HTTPRouteRetry.2"],
        seam: Seam::Config(|| {
            serve(|_, config| {
                for retry in each_retry(config) {
                    retry.codes.clear();
                }
            })
        }),
    },
    Fault {
        name: "counts-the-first-try-as-a-retry",
        summary: "Makes one retry too few.",
        clauses: &["blind:HTTPRouteRetry.1"],
        seam: Seam::Config(|| {
            serve(|_, config| {
                for retry in each_retry(config).filter(|retry| retry.attempts > 1) {
                    retry.attempts -= 1;
                }
            })
        }),
    },
    Fault {
        name: "retries-once-too-often",
        summary: "Makes one retry more than it may.",
        clauses: &["upstream:HTTPRouteRetry"],
        seam: Seam::Config(|| serve(|_, config| each_retry(config).for_each(|retry| retry.attempts += 1))),
    },
    Fault {
        name: "retries-every-error",
        summary: "Tries again after every error of a backend, whatever codes the route names.",
        clauses: &["upstream:HTTPRouteRetry"],
        seam: Seam::Config(|| {
            serve(|_, config| {
                for retry in each_retry(config).filter(|retry| !retry.codes.is_empty()) {
                    retry.codes = (500..600).collect();
                }
            })
        }),
    },
    Fault {
        name: "retries-past-the-timeout",
        summary: "Goes on with retries when the time for the request is over.",
        clauses: &["upstream:HTTPRouteRetryWithRequestTimeout", "blind:HTTPRouteRetry.2"],
        seam: Seam::Config(|| serve(|_, config| with_retry(config).for_each(|rule| rule.timeouts.request = None))),
    },
    Fault {
        name: "limits-all-tries-together",
        summary: "Takes the timeout of a backend for one of the request with all its tries.",
        clauses: &["blind:HTTPRouteTimeoutBackendRequest.3"],
        seam: Seam::Config(|| {
            serve(|_, config| {
                for timeouts in with_retry(config).map(|rule| &mut rule.timeouts) {
                    timeouts.request = timeouts.backend_request.or(timeouts.request);
                }
            })
        }),
    },
    Fault {
        name: "retries-timeouts-once-too-often",
        summary: "Makes one try more than it may where each takes longer than the backend's time.",
        clauses: &["blind:HTTPRouteRetry.2"],
        seam: Seam::Config(|| {
            serve(|_, config| {
                for rule in with_retry(config).filter(|rule| rule.timeouts.request.is_none()) {
                    if let (Some(_), Some(retry)) = (rule.timeouts.backend_request, &mut rule.retry) {
                        retry.on_timeouts = true;
                        retry.attempts += 1;
                    }
                }
            })
        }),
    },
    Fault {
        name: "takes-no-retry-for-one",
        summary: "Tries once again where a route asks for no further attempt.",
        clauses: &["blind:HTTPRouteRetryWithRequestTimeout.2", "blind:HTTPRouteRetry.6"],
        seam: Seam::Config(|| {
            serve(|_, config| each_retry(config).for_each(|retry| retry.attempts = retry.attempts.max(1)))
        }),
    },
    Fault {
        name: "takes-one-retry-for-none",
        summary: "Does not try again where a route does not say how often.",
        clauses: &["blind:HTTPRouteRetryWithRequestTimeout.2", "blind:HTTPRouteRetry.6"],
        seam: Seam::Config(|| {
            serve(|_, config| {
                for retry in each_retry(config).filter(|retry| retry.attempts == 1) {
                    retry.attempts = 0;
                }
            })
        }),
    },
    Fault {
        name: "gives-up-on-refused-connections",
        summary: "Does not try another endpoint after one took no connection.",
        clauses: &["upstream:HTTPRouteRetryConnectionError"],
        seam: Seam::Config(|| {
            serve(|_, config| each_retry(config).for_each(|retry| retry.on_refused_connections = false))
        }),
    },
    Fault {
        name: "gives-up-on-failed-handshakes",
        summary: "Does not try another endpoint after the handshake with one failed.",
        clauses: &["OWN-22", "blind:HTTPRouteRetryConnectionError.4"],
        seam: Seam::Config(|| {
            serve(|_, config| each_retry(config).for_each(|retry| retry.on_failed_handshakes = false))
        }),
    },
    Fault {
        name: "avoids-endpoints-instead-of-retrying",
        summary: "Answers with an error where an endpoint takes no connection, and turns to another with the next request only.",
        clauses: &["OWN-22", "blind:HTTPRouteRetryConnectionError.1"],
        seam: Seam::Several(&[
            Seam::Config(|| {
                serve(|_, config| each_retry(config).for_each(|retry| retry.on_refused_connections = false))
            }),
            Seam::Exchange(|| Arc::new(Avoids::default())),
        ]),
    },
    Fault {
        name: "never-gives-up-on-refused-connections",
        summary: "Tries endpoints for ever while none takes a connection.",
        clauses: &["blind:HTTPRouteRetryConnectionError.5"],
        seam: Seam::Config(|| {
            serve(|_, config| {
                for retry in each_retry(config).filter(|retry| retry.codes.is_empty()) {
                    retry.attempts = u32::MAX;
                }
            })
        }),
    },
    Fault {
        name: "repeats-requests-of-broken-connections",
        summary: "Sends a request again that the backend got before the connection broke off.",
        clauses: &["OWN-11", "blind:HTTPRouteRetryConnectionError.3"],
        seam: Seam::Config(|| {
            serve(|_, config| each_retry(config).for_each(|retry| retry.on_broken_connections = true))
        }),
    },
];

pub(in super::super) const EXCHANGE: &[Fault] = &[
    Fault {
        name: "forgets-bodies-of-retries",
        summary: "Tries again without the body of the request.",
        clauses: &["blind:HTTPRouteRetry.2"],
        seam: Seam::Exchange(|| Arc::new(ForgetsBodies)),
    },
    Fault {
        name: "goes-on-with-retries-behind-the-answer",
        summary: "Tells the client in time that its time is over, and goes on trying.",
        clauses: &["blind:HTTPRouteRetryWithRequestTimeout.1"],
        seam: Seam::Exchange(|| Arc::new(GoesOn::default())),
    },
];
