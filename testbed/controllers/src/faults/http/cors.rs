use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use gateproof_proxy::{
    Config, body,
    config::{Cors, Filter},
    exchange::{Exchange, RequestHead},
};
use http::{
    HeaderMap, HeaderName, HeaderValue, Method, Response, StatusCode,
    header::{
        ACCESS_CONTROL_ALLOW_CREDENTIALS, ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS,
        ACCESS_CONTROL_ALLOW_ORIGIN, ACCESS_CONTROL_EXPOSE_HEADERS, ACCESS_CONTROL_MAX_AGE,
        ACCESS_CONTROL_REQUEST_HEADERS, ACCESS_CONTROL_REQUEST_METHOD, CONTENT_LENGTH, ORIGIN,
    },
    response,
};

use super::super::{
    Fault, Seam,
    exchange::{Answers, Body},
    tools::{filters, serve},
};

fn each_cors(config: &mut Config) -> impl Iterator<Item = &mut Cors> {
    filters(config).flatten().filter_map(|filter| match filter {
        Filter::Cors(cors) => Some(cors),
        _ => None,
    })
}

fn is_preflight(request: &RequestHead) -> bool {
    request.method == Method::OPTIONS && request.headers.contains_key(ACCESS_CONTROL_REQUEST_METHOD)
}

/// Puts what was asked for behind what is granted, unless it is there.
fn grant_as_asked(asked: &HeaderMap, by: HeaderName, granted: &mut HeaderMap, to: HeaderName) {
    let text = |value: Option<&HeaderValue>| value.and_then(|value| value.to_str().ok()).unwrap_or_default().to_owned();
    let (asked, before) = (text(asked.get(by)), text(granted.get(&to)));
    let is_listed = |one: &&str| before.split(',').any(|known| known.trim().eq_ignore_ascii_case(one));
    let more: Vec<&str> = asked.split(',').map(str::trim).filter(|one| !one.is_empty() && !is_listed(one)).collect();
    if let Ok(value) = HeaderValue::try_from(format!("{before},{}", more.join(",")))
        && !before.is_empty()
        && before != "*"
        && !more.is_empty()
    {
        granted.insert(to, value);
    }
}

/// Tells a refused origin what it would have been granted.
fn leak(request: &RequestHead, response: &mut Response<Body>) -> bool {
    let refused = is_preflight(request)
        && response.status() == StatusCode::NO_CONTENT
        && !response.headers().contains_key(ACCESS_CONTROL_ALLOW_ORIGIN);
    if refused {
        let headers = response.headers_mut();
        headers.insert(ACCESS_CONTROL_ALLOW_METHODS, HeaderValue::from_static("GET, PUT"));
        headers.insert(ACCESS_CONTROL_ALLOW_CREDENTIALS, HeaderValue::from_static("true"));
    }
    refused
}

/// Lets what a backend says of cross-origin requests through, beside what the filter says.
#[derive(Default)]
struct KeepsBackendsWord(Mutex<HashMap<u64, HeaderValue>>);

#[async_trait]
impl Exchange for KeepsBackendsWord {
    fn on_answer(&self, request: &RequestHead, answer: &mut response::Parts) {
        if let Some(said) = answer.headers.get(ACCESS_CONTROL_ALLOW_ORIGIN) {
            let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            known.insert(request.connection.id, said.clone());
        }
    }

    async fn on_response(&self, request: &RequestHead, mut response: Response<Body>) -> Option<Response<Body>> {
        let said = self.0.lock().unwrap_or_else(PoisonError::into_inner).remove(&request.connection.id);
        if let Some(said) = said {
            response.headers_mut().append(ACCESS_CONTROL_ALLOW_ORIGIN, said);
        }
        Some(response)
    }
}

pub(in super::super) const CONFIG: &[Fault] = &[
    Fault {
        name: "ignores-cors",
        summary: "Leaves CORS filters out.",
        clauses: &["upstream:HTTPRouteCORS"],
        seam: Seam::Config(|| {
            serve(|_, config| filters(config).for_each(|list| list.retain(|of| !matches!(of, Filter::Cors(_)))))
        }),
    },
    Fault {
        name: "leaves-cors-off-redirects-and-rewrites",
        summary: "Leaves a CORS filter out where the rule redirects or rewrites too.",
        clauses: &["OWN-41", "blind:HTTPRouteCORS.8"],
        seam: Seam::Config(|| {
            serve(|_, config| {
                let moves = |of: &Filter| matches!(of, Filter::RequestRedirect(_) | Filter::UrlRewrite(_));
                let moving = filters(config).filter(|list| list.iter().any(moves));
                moving.for_each(|list| list.retain(|of| !matches!(of, Filter::Cors(_))));
            })
        }),
    },
    Fault {
        name: "allows-origins-of-any-scheme",
        summary: "Takes no notice of the scheme of an origin.",
        clauses: &["blind:HTTPRouteCORS.2"],
        seam: Seam::Config(|| {
            serve(|_, config| {
                for cors in each_cors(config) {
                    let other = |origin: &String| origin.strip_prefix("https").map(|rest| format!("http{rest}"));
                    let more: Vec<String> = cors.allow_origins.iter().filter_map(other).collect();
                    cors.allow_origins.extend(more);
                }
            })
        }),
    },
    Fault {
        name: "allows-origins-without-their-label",
        summary: "Lets the wildcard of an origin stand for no label at all.",
        clauses: &["blind:HTTPRouteCORS.2"],
        seam: Seam::Config(|| {
            serve(|_, config| {
                for cors in each_cors(config) {
                    let more: Vec<String> = cors
                        .allow_origins
                        .iter()
                        .filter(|one| one.contains("*."))
                        .map(|one| one.replace("*.", ""))
                        .collect();
                    cors.allow_origins.extend(more);
                }
            })
        }),
    },
    Fault {
        name: "grants-a-star-with-credentials",
        summary: "Allows all methods by a star where credentials are allowed.",
        clauses: &["upstream:HTTPRouteCORS"],
        seam: Seam::Config(|| {
            serve(|_, config| {
                for cors in each_cors(config).filter(|cors| cors.allow_credentials && cors.allow_methods == ["*"]) {
                    cors.allow_methods.push("*".to_owned());
                }
            })
        }),
    },
    Fault {
        name: "exposes-a-star-with-credentials",
        summary: "Exposes all headers by a star where credentials are allowed.",
        clauses: &["blind:HTTPRouteCORS.6"],
        seam: Seam::Config(|| {
            serve(|_, config| {
                for cors in each_cors(config).filter(|cors| cors.allow_credentials && cors.expose_headers == ["*"]) {
                    cors.expose_headers.push("*".to_owned());
                }
            })
        }),
    },
];

pub(in super::super) const EXCHANGE: &[Fault] = &[
    Fault {
        name: "grants-whatever-is-asked",
        summary: "Allows the methods and headers that a preflight asks for beside those of the filter.",
        clauses: &["blind:HTTPRouteCORS.1"],
        seam: Seam::Exchange(|| {
            Arc::new(Answers(|request, response| {
                if is_preflight(request) {
                    let (asked, granted) = (&request.headers, response.headers_mut());
                    grant_as_asked(asked, ACCESS_CONTROL_REQUEST_METHOD, granted, ACCESS_CONTROL_ALLOW_METHODS);
                    grant_as_asked(asked, ACCESS_CONTROL_REQUEST_HEADERS, granted, ACCESS_CONTROL_ALLOW_HEADERS);
                }
            }))
        }),
    },
    Fault {
        name: "tells-refused-origins-the-rest",
        summary: "Leaves only the origin out of the answer to a preflight that it refuses.",
        clauses: &["blind:HTTPRouteCORS.3"],
        seam: Seam::Exchange(|| {
            Arc::new(Answers(|request, response| {
                leak(request, response);
            }))
        }),
    },
    Fault {
        name: "refuses-preflights-with-a-grant",
        summary: "Refuses a preflight with 403 and the headers of one that is granted.",
        clauses: &["blind:HTTPRouteCORS.4"],
        seam: Seam::Exchange(|| {
            Arc::new(Answers(|request, response| {
                if leak(request, response) {
                    *response.status_mut() = StatusCode::FORBIDDEN;
                }
            }))
        }),
    },
    Fault {
        name: "exposes-headers-to-preflights-only",
        summary: "Leaves Access-Control-Expose-Headers out of answers that are none to a preflight.",
        clauses: &["blind:HTTPRouteCORS.5"],
        seam: Seam::Exchange(|| {
            Arc::new(Answers(|request, response| {
                if !is_preflight(request) {
                    response.headers_mut().remove(ACCESS_CONTROL_EXPOSE_HEADERS);
                }
            }))
        }),
    },
    Fault {
        name: "leaves-the-default-max-age-out",
        summary: "Sends no Access-Control-Max-Age where the filter names none.",
        clauses: &["blind:HTTPRouteCORS.6"],
        seam: Seam::Exchange(|| {
            Arc::new(Answers(|_, response| {
                if response.headers().get(ACCESS_CONTROL_MAX_AGE).is_some_and(|age| age == "5") {
                    response.headers_mut().remove(ACCESS_CONTROL_MAX_AGE);
                }
            }))
        }),
    },
    Fault {
        name: "takes-every-options-for-a-preflight",
        summary: "Answers an OPTIONS request of another origin by itself, whether it is a preflight or not.",
        clauses: &["blind:HTTPRouteCORS.6"],
        seam: Seam::Exchange(|| {
            Arc::new(Answers(|request, response| {
                let is_crossing = request.method == Method::OPTIONS && request.headers.contains_key(ORIGIN);
                if is_crossing && !is_preflight(request) {
                    *response.status_mut() = StatusCode::NO_CONTENT;
                    response.headers_mut().remove(CONTENT_LENGTH);
                    *response.body_mut() = body::empty();
                }
            }))
        }),
    },
    Fault {
        name: "keeps-the-backends-cors-headers",
        summary: "Lets the Access-Control-Allow-Origin of a backend through beside the one of the filter.",
        clauses: &["blind:HTTPRouteCORS.7"],
        seam: Seam::Exchange(|| Arc::new(KeepsBackendsWord::default())),
    },
    Fault {
        name: "denies-credentials-by-word",
        summary: "Sends Access-Control-Allow-Credentials: false instead of leaving it out.",
        clauses: &["upstream:HTTPRouteCORS"],
        seam: Seam::Exchange(|| {
            Arc::new(Answers(|_, response| {
                let headers = response.headers_mut();
                if headers.contains_key(ACCESS_CONTROL_ALLOW_ORIGIN) {
                    headers.entry(ACCESS_CONTROL_ALLOW_CREDENTIALS).or_insert(HeaderValue::from_static("false"));
                }
            }))
        }),
    },
];
