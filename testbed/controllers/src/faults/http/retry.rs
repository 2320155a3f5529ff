use std::sync::Arc;

use async_trait::async_trait;
use gateproof_proxy::{
    Config, body,
    config::{Retry, Route},
    exchange::{Exchange, RequestHead},
};
use http::{Request, header::CONTENT_LENGTH};

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

pub(in super::super) const CONFIG: &[Fault] = &[
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
        clauses: &["OWN-11"],
        seam: Seam::Config(|| {
            serve(|_, config| each_retry(config).for_each(|retry| retry.on_broken_connections = true))
        }),
    },
];

pub(in super::super) const EXCHANGE: &[Fault] = &[Fault {
    name: "forgets-bodies-of-retries",
    summary: "Tries again without the body of the request.",
    clauses: &["blind:HTTPRouteRetry.2"],
    seam: Seam::Exchange(|| Arc::new(ForgetsBodies)),
}];
