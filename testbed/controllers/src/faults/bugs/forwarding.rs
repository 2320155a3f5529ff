//! What becomes of requests and answers that are nothing special to those who send them.

use std::sync::Arc;

use async_trait::async_trait;
use bytes::Bytes;
use futures::{StreamExt, future};
use gateproof_proxy::{
    body::{self, Body},
    exchange::{Exchange, MatchOutcome, RequestHead},
    grpc::is_grpc,
};
use http::{
    Method, Request, Response, StatusCode, Version,
    header::{CONTENT_LENGTH, COOKIE, EXPECT, TRANSFER_ENCODING},
    request::Parts,
    response,
};
use http_body_util::{BodyExt, BodyStream, StreamBody};
use hyper::body::Frame;

use super::Bug;
use crate::faults::{
    Fault, Seam,
    exchange::{Answers, Finds, Forwards},
    transit::{Hears, Sends, cut_behind, has_body},
};

/// What an HTTP/2 stream may carry before more is asked for, unless something else is said (RFC 9113, section 6.9.2).
const WINDOW: usize = 65_535;

/// Ends the answer to a call without its trailers where what came before them is as long as a window.
struct LosesTrailersBehindWindows;

#[async_trait]
impl Exchange for LosesTrailersBehindWindows {
    async fn on_response(&self, request: &RequestHead, response: Response<Body>) -> Option<Response<Body>> {
        if !is_grpc(&request.headers) {
            return Some(response);
        }
        let mut length = 0;
        let is_kept = move |frame: &Frame<Bytes>| {
            length += frame.data_ref().map_or(0, Bytes::len);
            frame.is_data() || length != WINDOW
        };
        Some(response.map(|body| only(body, is_kept)))
    }
}

/// Marks an answer that says nothing of its length, and so ends with its connection.
#[derive(Clone)]
struct Unbounded;

/// Takes an answer that says nothing of its length for one that has no body.
struct LosesUnboundedBodies;

#[async_trait]
impl Exchange for LosesUnboundedBodies {
    fn on_answer(&self, _: &RequestHead, answer: &mut response::Parts) {
        let says = [CONTENT_LENGTH, TRANSFER_ENCODING].iter().any(|name| answer.headers.contains_key(name));
        if answer.version < Version::HTTP_2 && !says {
            answer.extensions.insert(Unbounded);
        }
    }

    async fn on_response(&self, _: &RequestHead, response: Response<Body>) -> Option<Response<Body>> {
        let is_lost = response.extensions().get::<Unbounded>().is_some();
        Some(if is_lost { response.map(|_| body::empty()) } else { response })
    }
}

/// The frames of a body for which this is so.
fn only(body: Body, mut is_kept: impl FnMut(&Frame<Bytes>) -> bool + Send + 'static) -> Body {
    let frames = BodyStream::new(body).filter_map(move |frame| {
        let is_kept = frame.as_ref().map_or(true, &mut is_kept);
        future::ready(is_kept.then_some(frame))
    });
    StreamBody::new(frames).boxed_unsync()
}

/// Forwards the cookies of a client that speaks HTTP/2 line by line, as they came.
fn keep_cookies_apart(request: &RequestHead, parts: &mut Parts) {
    if request.version == Version::HTTP_2 && parts.headers.contains_key(COOKIE) {
        parts.headers.remove(COOKIE);
        for line in request.headers.get_all(COOKIE) {
            parts.headers.append(COOKIE, line.clone());
        }
    }
}

/// Forwards a PUT that has a body as a POST.
fn post_what_is_put(request: &RequestHead, parts: &mut Parts) {
    if request.method == Method::PUT && request.headers.contains_key(CONTENT_LENGTH) {
        parts.method = Method::POST;
    }
}

/// Breaks off where a backend says that nothing has changed.
struct BreaksOffUnmodified;

#[async_trait]
impl Exchange for BreaksOffUnmodified {
    async fn on_response(&self, _: &RequestHead, response: Response<Body>) -> Option<Response<Body>> {
        (response.status() != StatusCode::NOT_MODIFIED).then_some(response)
    }
}

/// Forwards nothing of a body that came over HTTP/2 without its length.
fn lose_untold(request: &RequestHead, sent: Request<Body>) -> Request<Body> {
    let is_untold = has_body(request) && !request.headers.contains_key(CONTENT_LENGTH);
    if is_untold && request.version == Version::HTTP_2 { cut_behind(sent, 0) } else { sent }
}

/// Does not look at a request before its client has sent what it sends when it is told to.
struct WaitsForWhoWaits;

#[async_trait]
impl Exchange for WaitsForWhoWaits {
    async fn on_forward(&self, request: &RequestHead, parts: Parts) -> Parts {
        if request.version == Version::HTTP_11 && request.headers.contains_key(EXPECT) {
            // That never comes: whoever wants to be told sends no more, until it hangs up.
            future::pending().await
        }
        parts
    }
}

pub(super) const BUGS: &[Bug] = &[
    Bug {
        fault: Fault {
            name: "loses-trailers-behind-full-windows",
            summary: "Ends the answer to a call without its trailers where its messages come to 65,535 bytes, which is a window of HTTP/2.",
            clauses: &["blind:GRPCExactMethodMatching.3"],
            seam: Seam::Exchange(|| Arc::new(LosesTrailersBehindWindows)),
        },
        reported: &["istio/istio#56734", "envoyproxy/envoy#40821"],
    },
    Bug {
        fault: Fault {
            name: "keeps-cookies-apart",
            summary: "Forwards cookies that came over HTTP/2 in several lines as so many lines over HTTP/1.1.",
            clauses: &["OWN-42"],
            seam: Seam::Exchange(|| Arc::new(Forwards(keep_cookies_apart))),
        },
        reported: &["cloudflare/pingora#892", "varnishcache/varnish-cache#2291", "tempesta-tech/tempesta#1736"],
    },
    Bug {
        fault: Fault {
            name: "knows-no-absolute-targets",
            summary: "Finds no rule for a request over HTTP/1.1 whose target is a whole URL.",
            clauses: &["OWN-43"],
            seam: Seam::Exchange(|| {
                Arc::new(Finds(|request, _, found| if request.absolute { MatchOutcome::NoRule } else { found }))
            }),
        },
        reported: &["cloudfoundry/gorouter#106", "zoxy-io/zoxy#248"],
    },
    Bug {
        fault: Fault {
            name: "posts-what-is-put",
            summary: "Forwards a PUT that has a body as a POST.",
            clauses: &["OWN-07"],
            seam: Seam::Exchange(|| Arc::new(Forwards(post_what_is_put))),
        },
        reported: &["nghttp2/nghttp2#389"],
    },
    Bug {
        fault: Fault {
            name: "reads-for-heads",
            summary: "Forwards a HEAD as a GET.",
            clauses: &["OWN-07"],
            seam: Seam::Exchange(|| {
                Arc::new(Forwards(|request, parts| {
                    if request.method == Method::HEAD {
                        parts.method = Method::GET;
                    }
                }))
            }),
        },
        reported: &["varnishcache/varnish-cache#680"],
    },
    Bug {
        fault: Fault {
            name: "refuses-heads",
            summary: "Answers 405 to a HEAD that is served.",
            clauses: &["OWN-07"],
            seam: Seam::Exchange(|| {
                Arc::new(Answers(|request, response| {
                    if request.method == Method::HEAD && response.status() == StatusCode::OK {
                        *response.status_mut() = StatusCode::METHOD_NOT_ALLOWED;
                    }
                }))
            }),
        },
        reported: &["istio/proxy#34"],
    },
    Bug {
        fault: Fault {
            name: "takes-no-content-for-a-failure",
            summary: "Answers 502 where a backend answers 204.",
            clauses: &["OWN-08"],
            seam: Seam::Exchange(|| {
                Arc::new(Hears(|_, answer| {
                    if answer.status == StatusCode::NO_CONTENT {
                        answer.status = StatusCode::BAD_GATEWAY;
                    }
                }))
            }),
        },
        reported: &["Azure/application-gateway-kubernetes-ingress#1108", "nghttp2/nghttp2#871"],
    },
    Bug {
        fault: Fault {
            name: "breaks-off-where-nothing-has-changed",
            summary: "Closes the connection where a backend answers 304.",
            clauses: &["OWN-08"],
            seam: Seam::Exchange(|| Arc::new(BreaksOffUnmodified)),
        },
        reported: &["microsoft/service-fabric-issues#200", "eclipse-vertx/vertx-http-proxy#116"],
    },
    Bug {
        fault: Fault {
            name: "loses-http2-bodies-without-length",
            summary: "Forwards nothing of the body of a POST, PUT or PATCH that came over HTTP/2 without its length, unless it is that of a call.",
            clauses: &["OWN-07"],
            seam: Seam::Exchange(|| Arc::new(Sends(lose_untold))),
        },
        reported: &["gravitee-io/gravitee-api-management#15769", "netty/netty#5811"],
    },
    Bug {
        fault: Fault {
            name: "loses-bodies-that-end-with-a-connection",
            summary: "Gives a client nothing of the body of an answer that says nothing of its length, and ends with its connection.",
            clauses: &["OWN-85"],
            seam: Seam::Exchange(|| Arc::new(LosesUnboundedBodies)),
        },
        reported: &["varnishcache/varnish-cache#1918", "twisted/twisted#11144", "scality/Droplet#71"],
    },
    Bug {
        fault: Fault {
            name: "never-tells-clients-to-go-on",
            summary: "Waits for the body of a client that waits to be told to send it.",
            clauses: &["OWN-07"],
            seam: Seam::Exchange(|| Arc::new(WaitsForWhoWaits)),
        },
        reported: &["traefik/traefik#2899", "gravitee-io/issues#1733", "spring-cloud/spring-cloud-gateway#1337"],
    },
];
