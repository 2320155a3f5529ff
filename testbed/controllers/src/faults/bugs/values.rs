//! What filters write into headers.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
};

use async_trait::async_trait;
use gateproof_proxy::{
    body::Body,
    config::{Config, Filter, HeaderValue},
    exchange::{Exchange, RequestHead},
};
use http::{Response, header::SET_COOKIE, response::Parts};

use super::Bug;
use crate::faults::{
    Fault, Seam,
    tools::{filters, serve},
};

/// Writes a line for each member of a value that a filter sets.
fn split_members(config: &mut Config) {
    for filter in filters(config).flatten() {
        let (Filter::RequestHeaderModifier(modifier) | Filter::ResponseHeaderModifier(modifier)) = filter else {
            continue;
        };
        for header in &mut modifier.set {
            let whole = std::mem::take(&mut header.value);
            let mut members = whole.split(',').map(str::trim).map(str::to_owned);
            header.value = members.next().unwrap_or_default();
            modifier.add.extend(members.map(|value| HeaderValue { name: header.name.clone(), value }));
        }
    }
}

/// Has a cookie that a filter adds in one line with the last one of the backend.
#[derive(Default)]
struct FoldsAddedCookies(Mutex<HashMap<u64, usize>>);

#[async_trait]
impl Exchange for FoldsAddedCookies {
    fn on_answer(&self, request: &RequestHead, answer: &mut Parts) {
        let cookies = answer.headers.get_all(SET_COOKIE).iter().count();
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(request.connection.id, cookies);
    }

    async fn on_response(&self, request: &RequestHead, mut response: Response<Body>) -> Option<Response<Body>> {
        let own = self.0.lock().unwrap_or_else(PoisonError::into_inner).remove(&request.connection.id).unwrap_or(0);
        let lines: Vec<http::HeaderValue> = response.headers().get_all(SET_COOKIE).iter().cloned().collect();
        if 0 < own && own < lines.len() {
            let (kept, folded) = lines.split_at(own - 1);
            let folded: Vec<&[u8]> = folded.iter().map(http::HeaderValue::as_bytes).collect();
            let folded = http::HeaderValue::from_bytes(&folded.join(&b", "[..]));
            response.headers_mut().remove(SET_COOKIE);
            for line in kept.iter().cloned().chain(folded.ok()) {
                response.headers_mut().append(SET_COOKIE, line);
            }
        }
        Some(response)
    }
}

pub(super) const BUGS: &[Bug] = &[
    Bug {
        fault: Fault {
            name: "splits-values-with-commas",
            summary: "Writes a line for each member of a value with commas that a header filter sets.",
            clauses: &["upstream:HTTPRouteRequestHeaderModifier"],
            seam: Seam::Config(|| serve(|_, config| split_members(config))),
        },
        reported: &["kumahq/kuma#10156", "envoyproxy/gateway#7436"],
    },
    Bug {
        fault: Fault {
            name: "folds-added-cookies",
            summary: "Has a cookie that a filter adds in one line with the last one of the backend.",
            clauses: &["blind:HTTPRouteResponseHeaderModifier.3"],
            seam: Seam::Exchange(|| Arc::new(FoldsAddedCookies::default())),
        },
        reported: &["envoyproxy/envoy#7488"],
    },
];
