//! What browsers ask for before they ask.

use std::sync::Arc;

use gateproof_proxy::{body::Body, exchange::RequestHead};
use http::{
    HeaderMap, HeaderName, Response,
    header::{ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_REQUEST_HEADERS},
};

use super::Bug;
use crate::faults::{Fault, Seam, exchange::Answers};

fn members<'a>(headers: &'a HeaderMap, name: &HeaderName) -> impl Iterator<Item = &'a str> + use<'a> {
    let lines = headers.get_all(name).iter().filter_map(|value| value.to_str().ok());
    lines.flat_map(|line| line.split(',')).map(str::trim)
}

/// Grants no header if one is asked for in another case than it is granted in.
fn compare_as_written(request: &RequestHead, response: &mut Response<Body>) {
    let is_other = |asked: &str| {
        let granted = || members(response.headers(), &ACCESS_CONTROL_ALLOW_HEADERS);
        granted().any(|one| one.eq_ignore_ascii_case(asked)) && !granted().any(|one| one == asked)
    };
    if members(&request.headers, &ACCESS_CONTROL_REQUEST_HEADERS).any(is_other) {
        response.headers_mut().remove(ACCESS_CONTROL_ALLOW_HEADERS);
    }
}

pub(super) const BUGS: &[Bug] = &[Bug {
    fault: Fault {
        name: "compares-names-of-granted-headers-as-written",
        summary: "Grants a browser no headers that a CORS filter writes in another case than the browser.",
        clauses: &["upstream:HTTPRouteCORS"],
        seam: Seam::Exchange(|| Arc::new(Answers(compare_as_written))),
    },
    reported: &["akka/akka-http#4495", "quarkusio/quarkus#3681", "versity/versitygw#1492"],
}];
