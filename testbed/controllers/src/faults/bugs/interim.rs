//! What stands around a message of HTTP/1.1: an interim answer before it, trailers behind it.

use std::{
    collections::{HashMap, HashSet},
    sync::{Arc, Mutex, PoisonError},
};

use async_trait::async_trait;
use futures::StreamExt;
use gateproof_proxy::{
    body::{self, Body},
    exchange::{Exchange, RequestHead},
    grpc::is_grpc,
};
use http::{Request, Response, StatusCode, Version, header::TRAILER};
use http_body_util::{BodyExt, BodyStream, StreamBody};

use super::Bug;
use crate::faults::{Fault, Seam};

/// Breaks an answer off where its trailers begin.
struct BreaksOffAtTrailers;

#[async_trait]
impl Exchange for BreaksOffAtTrailers {
    async fn on_response(&self, request: &RequestHead, response: Response<Body>) -> Option<Response<Body>> {
        if is_grpc(&request.headers) {
            return Some(response);
        }
        let whole = |body: Body| {
            let frames = BodyStream::new(body).map(|frame| match frame {
                Ok(frame) if frame.is_trailers() => Err("a chunk has no length".into()),
                frame => frame,
            });
            StreamBody::new(frames).boxed_unsync()
        };
        Some(response.map(whole))
    }
}

/// Answers 400 to the request behind one with trailers, for which it takes these.
#[derive(Default)]
struct TakesTrailersForARequest(Mutex<HashSet<u64>>);

#[async_trait]
impl Exchange for TakesTrailersForARequest {
    async fn on_response(&self, request: &RequestHead, response: Response<Body>) -> Option<Response<Body>> {
        let mut trailed = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if trailed.remove(&request.connection.id) {
            return Some(refusal(StatusCode::BAD_REQUEST, "not a request line\n"));
        }
        if request.version == Version::HTTP_11 && request.headers.contains_key(TRAILER) {
            trailed.insert(request.connection.id);
        }
        Some(response)
    }
}

/// Takes an interim answer for the one that it asked for, and can make nothing of it.
#[derive(Default)]
struct TakesHintsForTheAnswer(Arc<Mutex<HashMap<u64, StatusCode>>>);

#[async_trait]
impl Exchange for TakesHintsForTheAnswer {
    fn on_try(&self, request: &RequestHead, _: u32, mut sent: Request<Body>) -> Request<Body> {
        let (known, id) = (Arc::clone(&self.0), request.connection.id);
        hyper::ext::on_informational(&mut sent, move |answer| {
            if answer.status() != StatusCode::CONTINUE {
                known.lock().unwrap_or_else(PoisonError::into_inner).insert(id, answer.status());
            }
        });
        sent
    }

    async fn on_response(&self, request: &RequestHead, response: Response<Body>) -> Option<Response<Body>> {
        let hinted = self.0.lock().unwrap_or_else(PoisonError::into_inner).remove(&request.connection.id);
        Some(match hinted {
            Some(status) => refusal(StatusCode::BAD_GATEWAY, &format!("the backend answered {status}\n")),
            None => response,
        })
    }
}

fn refusal(status: StatusCode, text: &str) -> Response<Body> {
    let mut response = Response::new(body::full(text.to_owned()));
    *response.status_mut() = status;
    response
}

pub(super) const BUGS: &[Bug] = &[
    Bug {
        fault: Fault {
            name: "breaks-off-at-trailers",
            summary: "Breaks an answer off where trailers follow its body.",
            clauses: &["OWN-70"],
            seam: Seam::Exchange(|| Arc::new(BreaksOffAtTrailers)),
        },
        reported: &["linkerd/linkerd2#4714", "sozu-proxy/sozu#899", "freeunitorg/freeunit#106"],
    },
    Bug {
        fault: Fault {
            name: "takes-trailers-for-a-request",
            summary: "Takes the trailers behind the body of a request for the next request on its connection.",
            clauses: &["OWN-70"],
            seam: Seam::Exchange(|| Arc::new(TakesTrailersForARequest::default())),
        },
        reported: &["sozu-proxy/sozu#899"],
    },
    Bug {
        fault: Fault {
            name: "takes-hints-for-the-answer",
            summary: "Takes the 103 that a backend sends before its answer for that answer, and gives 502.",
            clauses: &["OWN-71"],
            seam: Seam::Exchange(|| Arc::new(TakesHintsForTheAnswer::default())),
        },
        reported: &["mitmproxy/mitmproxy#2229", "fpco/http-reverse-proxy#44", "freenginx/nginx#3"],
    },
];
