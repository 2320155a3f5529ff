//! What is changed on its way although no filter says so.

use std::sync::Arc;

use gateproof_proxy::{
    body,
    exchange::{Exchange, RequestHead},
    grpc,
};
use http::{
    HeaderValue, Method, Request, Response, StatusCode, Version,
    header::{CONTENT_LENGTH, CONTENT_TYPE, COOKIE, LOCATION, TRANSFER_ENCODING, WWW_AUTHENTICATE},
    request::Parts,
    response,
};
use http_body_util::BodyExt;

use super::{
    Fault, Seam,
    exchange::{Answers, Body, Forwards},
};

/// Another request than the one that goes to a backend.
pub(super) struct Sends(pub(super) fn(&RequestHead, Request<Body>) -> Request<Body>);

impl Exchange for Sends {
    fn on_try(&self, request: &RequestHead, _: u32, sent: Request<Body>) -> Request<Body> {
        (self.0)(request, sent)
    }
}

/// Another answer than the one that a backend gave.
pub(super) struct Hears(pub(super) fn(&RequestHead, &mut response::Parts));

impl Exchange for Hears {
    fn on_answer(&self, request: &RequestHead, answer: &mut response::Parts) {
        (self.0)(request, answer);
    }
}

/// Puts another path and query in place of what is forwarded.
fn redirect_to(parts: &mut Parts, path: &str, query: Option<&str>) {
    let query = query.map(|query| format!("?{query}")).unwrap_or_default();
    if let Ok(target) = format!("{path}{query}").parse::<http::uri::PathAndQuery>() {
        parts.uri = target.into();
    }
}

/// Forwards other parameters of the query, in their order.
fn with_parameters(parts: &mut Parts, change: fn(&mut Vec<&str>)) {
    let uri = parts.uri.clone();
    let Some(query) = uri.query() else { return };
    let mut parameters: Vec<&str> = query.split('&').collect();
    change(&mut parameters);
    redirect_to(parts, uri.path(), Some(&parameters.join("&")));
}

/// The first half of every piece.
fn halved(sent: Request<Body>) -> Request<Body> {
    let (mut parts, whole) = sent.into_parts();
    parts.headers.remove(CONTENT_LENGTH);
    let halves = whole.map_frame(|frame| frame.map_data(|data| data.slice(..data.len() / 2)));
    Request::from_parts(parts, body::of_unknown_length(body::stream(halves)))
}

/// No more of a body than this many bytes.
pub(super) fn cut_behind(sent: Request<Body>, bytes: usize) -> Request<Body> {
    let (mut parts, whole) = sent.into_parts();
    parts.headers.remove(CONTENT_LENGTH);
    Request::from_parts(parts, first(whole, bytes))
}

/// The first bytes of a body, and then its end.
fn first(whole: Body, bytes: usize) -> Body {
    let mut left = bytes;
    let begun = whole.map_frame(move |frame| {
        frame.map_data(|mut data| {
            data.truncate(left);
            left -= data.len();
            data
        })
    });
    body::of_unknown_length(body::stream(begun))
}

/// The most of a body that is forwarded by who has room for no more.
const ROOM: usize = 64 * 1024;

/// Gives a client the first of what a backend answered, if that is long, or nobody knows beforehand how long it is.
fn cut_answer(response: &mut Response<Body>) {
    let length = response.headers().get(CONTENT_LENGTH).and_then(|length| length.to_str().ok()?.parse().ok());
    if response.status() == StatusCode::OK && length.is_none_or(|length: usize| length > ROOM) {
        response.headers_mut().remove(CONTENT_LENGTH);
        let whole = std::mem::replace(response.body_mut(), body::empty());
        *response.body_mut() = first(whole, ROOM);
    }
}

pub(super) fn has_body(request: &RequestHead) -> bool {
    [Method::POST, Method::PUT, Method::PATCH].contains(&request.method) && !grpc::is_grpc(&request.headers)
}

fn is_plain_post(request: &RequestHead) -> bool {
    request.method == Method::POST && !grpc::is_grpc(&request.headers)
}

pub(super) const FAULTS: &[Fault] = &[
    Fault {
        name: "loses-queries-on-the-way",
        summary: "Forwards requests without their query.",
        clauses: &[
            "blind:Generic.16",
            "GEP1364-18",
            "blind:HTTPRouteRequestMirror.1",
            "blind:HTTPRouteRetry.2",
            "blind:HTTPRouteTimeoutBackendRequest.1",
            "blind:HTTPRouteTimeoutRequest.2",
            "upstream:HTTPRouteRetry",
            "upstream:HTTPRouteTimeoutBackendRequest",
            "upstream:HTTPRouteTimeoutRequest",
            "OWN-07",
            "blind:HTTPRouteBackendURLRewrite.4",
        ],
        seam: Seam::Exchange(|| {
            Arc::new(Forwards(|_, parts| {
                let path = parts.uri.path().to_owned();
                redirect_to(parts, &path, None);
            }))
        }),
    },
    Fault {
        name: "lowers-paths",
        summary: "Forwards the path in lower case.",
        clauses: &[
            "upstream:HTTPRouteSimpleSameNamespace",
            "upstream:GRPCExactMethodMatching",
            "blind:HTTPRouteRequestMirror.1",
            "GRPC-02",
            "OWN-07",
        ],
        seam: Seam::Exchange(|| {
            Arc::new(Forwards(|_, parts| {
                let uri = parts.uri.clone();
                redirect_to(parts, &uri.path().to_ascii_lowercase(), uri.query());
            }))
        }),
    },
    Fault {
        name: "sorts-parameters",
        summary: "Forwards the parameters of a query in the order of the alphabet.",
        clauses: &["OWN-07"],
        seam: Seam::Exchange(|| {
            Arc::new(Forwards(|_, parts| with_parameters(parts, |parameters| parameters.sort_unstable())))
        }),
    },
    Fault {
        name: "forwards-parameters-once",
        summary: "Forwards only the first of several query parameters of one name.",
        clauses: &["OWN-07"],
        seam: Seam::Exchange(|| {
            Arc::new(Forwards(|_, parts| {
                with_parameters(parts, |parameters| {
                    let name = |one: &str| one.split('=').next().unwrap_or_default().to_owned();
                    let mut known = Vec::new();
                    parameters.retain(|one| {
                        let is_new = !known.contains(&name(one));
                        known.push(name(one));
                        is_new
                    });
                });
            }))
        }),
    },
    Fault {
        name: "unescapes-queries",
        summary: "Forwards a query with a plain & for %26, and = for %3D.",
        clauses: &["OWN-07"],
        seam: Seam::Exchange(|| {
            Arc::new(Forwards(|_, parts| {
                let uri = parts.uri.clone();
                let query = uri.query().map(|query| query.replace("%26", "&").replace("%3D", "="));
                redirect_to(parts, uri.path(), query.as_deref());
            }))
        }),
    },
    Fault {
        name: "merges-slashes",
        summary: "Forwards a path with one slash where there are several.",
        clauses: &["OWN-06"],
        seam: Seam::Exchange(|| {
            Arc::new(Forwards(|_, parts| {
                let uri = parts.uri.clone();
                let mut path = uri.path().to_owned();
                while path.contains("//") {
                    path = path.replace("//", "/");
                }
                redirect_to(parts, &path, uri.query());
            }))
        }),
    },
    Fault {
        name: "forwards-post-as-get",
        summary: "Forwards a POST, unless it is a call, as a GET.",
        clauses: &["OWN-07", "blind:Generic.6"],
        seam: Seam::Exchange(|| {
            Arc::new(Forwards(|request, parts| {
                if is_plain_post(request) {
                    parts.method = Method::GET;
                }
            }))
        }),
    },
    Fault {
        name: "cuts-bodies-short",
        summary: "Forwards the first half of each piece of the body of a POST, unless it is that of a call.",
        clauses: &["OWN-07", "blind:Generic.6"],
        seam: Seam::Exchange(|| {
            Arc::new(Sends(|request, sent| if is_plain_post(request) { halved(sent) } else { sent }))
        }),
    },
    Fault {
        name: "cuts-bodies-of-puts",
        summary: "Forwards the first half of each piece of the body of a PUT.",
        clauses: &["OWN-07"],
        seam: Seam::Exchange(|| {
            Arc::new(Sends(|request, sent| if request.method == Method::PUT { halved(sent) } else { sent }))
        }),
    },
    Fault {
        name: "cuts-bodies-of-patches",
        summary: "Forwards the first half of each piece of the body of a PATCH.",
        clauses: &["OWN-07"],
        seam: Seam::Exchange(|| {
            Arc::new(Sends(|request, sent| if request.method == Method::PATCH { halved(sent) } else { sent }))
        }),
    },
    Fault {
        name: "forwards-patches-as-puts",
        summary: "Forwards a PATCH that has a body as a PUT.",
        clauses: &["OWN-07"],
        seam: Seam::Exchange(|| {
            Arc::new(Forwards(|request, parts| {
                if request.method == Method::PATCH && request.headers.contains_key(CONTENT_LENGTH) {
                    parts.method = Method::PUT;
                }
            }))
        }),
    },
    Fault {
        name: "forwards-deletions-as-reads",
        summary: "Forwards a DELETE as a GET.",
        clauses: &["OWN-07"],
        seam: Seam::Exchange(|| {
            Arc::new(Forwards(|request, parts| {
                if request.method == Method::DELETE {
                    parts.method = Method::GET;
                }
            }))
        }),
    },
    Fault {
        name: "cuts-large-bodies",
        summary: "Forwards the first 64 KiB of the body of a POST, PUT or PATCH, unless it is that of a call.",
        clauses: &["OWN-07"],
        seam: Seam::Exchange(|| {
            Arc::new(Sends(|request, sent| if has_body(request) { cut_behind(sent, ROOM) } else { sent }))
        }),
    },
    Fault {
        name: "loses-bodies-without-length",
        summary: "Forwards nothing of the body of a POST, PUT or PATCH whose length was not told before it, unless it is that of a call.",
        clauses: &["OWN-07"],
        seam: Seam::Exchange(|| {
            Arc::new(Sends(|request, sent| {
                let is_chunked = has_body(request) && request.headers.contains_key(TRANSFER_ENCODING);
                if is_chunked { cut_behind(sent, 0) } else { sent }
            }))
        }),
    },
    Fault {
        name: "loses-bodies-of-http2-clients",
        summary: "Forwards nothing of the body of a POST, PUT or PATCH that came over HTTP/2 with its length, unless it is that of a call.",
        clauses: &["OWN-07"],
        seam: Seam::Exchange(|| {
            Arc::new(Sends(|request, sent| {
                let is_told = has_body(request) && request.headers.contains_key(CONTENT_LENGTH);
                if is_told && request.version == Version::HTTP_2 { cut_behind(sent, 0) } else { sent }
            }))
        }),
    },
    Fault {
        name: "forgets-types-of-bodies",
        summary: "Forwards the body of every POST, unless it is that of a call, as one of no special type.",
        clauses: &["OWN-07"],
        seam: Seam::Exchange(|| {
            Arc::new(Forwards(|request, parts| {
                if is_plain_post(request) {
                    parts.headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/octet-stream"));
                }
            }))
        }),
    },
    Fault {
        name: "joins-cookies-with-commas",
        summary: "Joins cookies that came over HTTP/2 in several lines as other headers are joined.",
        clauses: &["OWN-42"],
        seam: Seam::Exchange(|| {
            Arc::new(Forwards(|request, parts| {
                let lines: Vec<_> = request.headers.get_all(COOKIE).iter().map(HeaderValue::as_bytes).collect();
                if request.version == Version::HTTP_2
                    && lines.len() > 1
                    && let Ok(joined) = HeaderValue::from_bytes(&lines.join(&b", "[..]))
                {
                    parts.headers.insert(COOKIE, joined);
                }
            }))
        }),
    },
    Fault {
        name: "calls-answers-text",
        summary: "Says of every JSON document that a backend answers with that it is plain text.",
        clauses: &["OWN-08"],
        seam: Seam::Exchange(|| {
            Arc::new(Answers(|_, response| {
                if response.headers().get(CONTENT_TYPE).is_some_and(|of| of.as_bytes().starts_with(b"application/json"))
                {
                    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("text/plain"));
                }
            }))
        }),
    },
    Fault {
        name: "cuts-large-answers",
        summary: "Ends an answer behind its first 64 KiB where the backend said how long it is.",
        clauses: &["OWN-08"],
        seam: Seam::Exchange(|| {
            Arc::new(Answers(|request, response| {
                if !grpc::is_grpc(&request.headers) && response.headers().contains_key(CONTENT_LENGTH) {
                    cut_answer(response);
                }
            }))
        }),
    },
    Fault {
        name: "cuts-large-answers-without-length",
        summary: "Ends an answer behind its first 64 KiB where the backend did not say how long it is.",
        clauses: &["OWN-08"],
        seam: Seam::Exchange(|| {
            Arc::new(Answers(|request, response| {
                if !grpc::is_grpc(&request.headers) && !response.headers().contains_key(CONTENT_LENGTH) {
                    cut_answer(response);
                }
            }))
        }),
    },
    Fault {
        name: "hides-refusals-of-backends",
        summary: "Answers 404 where a backend answers that access is refused.",
        clauses: &["OWN-08"],
        seam: Seam::Exchange(|| {
            Arc::new(Answers(|_, response| {
                if matches!(response.status(), StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN) {
                    *response.status_mut() = StatusCode::NOT_FOUND;
                }
            }))
        }),
    },
    Fault {
        name: "keeps-challenges",
        summary: "Leaves WWW-Authenticate out of what a backend answers.",
        clauses: &["OWN-08"],
        seam: Seam::Exchange(|| {
            Arc::new(Hears(|_, answer| {
                answer.headers.remove(WWW_AUTHENTICATE);
            }))
        }),
    },
    Fault {
        name: "leads-home-where-backends-redirect",
        summary: "Puts the host of the request into the Location that a backend answers with.",
        clauses: &["OWN-08"],
        seam: Seam::Exchange(|| {
            Arc::new(Hears(|request, answer| {
                let to = answer.headers.get(LOCATION).and_then(|to| to.to_str().ok()?.parse::<http::Uri>().ok());
                let Some(path) = to.as_ref().and_then(http::Uri::path_and_query) else { return };
                if let Ok(home) = format!("{}://{}{path}", request.scheme, request.authority).parse() {
                    answer.headers.insert(LOCATION, home);
                }
            }))
        }),
    },
];
