//! How a call ended, as its client sees it.

use crate::log::{Exchange, HttpAnswer, ProbeRequest};
use crate::scenario::GrpcCode;

/// The content type of calls and their answers.
pub(super) const CONTENT_TYPE: (&str, &str) = ("content-type", "application/grpc");

/// Whether the request was a call.
pub(super) fn is_call(exchange: &Exchange) -> bool {
    let ProbeRequest::Http(request) = &exchange.request else { return false };
    request.headers.iter().any(|(name, value)| (name.as_str(), value.as_str()) == CONTENT_TYPE)
}

/// The code of an answer: that of its trailers, or of its head if it has no more than that. Without one, what clients take
/// the HTTP status for. `None` if what stands there is no code.
pub(super) fn code(answer: &HttpAnswer) -> Option<GrpcCode> {
    let find =
        |fields: &[(String, String)]| fields.iter().find(|(name, _)| name == "grpc-status").map(|(_, v)| v.clone());
    let own = find(&answer.trailers).or_else(|| find(&answer.headers).filter(|_| answer.trailers.is_empty()));
    match own {
        Some(text) if answer.status == 200 => text.parse().ok().map(GrpcCode),
        _ => Some(GrpcCode::of_http(answer.status)),
    }
}

/// What stands at the end of an answer: of one to a call that has no more than a head, that is its end as well.
pub(super) fn trailers(answer: &HttpAnswer) -> &[(String, String)] {
    match answer.messages {
        Some(0) if answer.trailers.is_empty() => &answer.headers,
        _ => &answer.trailers,
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case::trailers(200, &[], &[("grpc-status", "5")], Some(5))]
    #[case::head_alone(200, &[("grpc-status", "14")], &[], Some(14))]
    #[case::trailers_win(200, &[("grpc-status", "0")], &[("grpc-status", "13")], Some(13))]
    #[case::lost_trailers(200, &[], &[], Some(2))]
    #[case::plain_404(404, &[], &[], Some(12))]
    #[case::plain_503(503, &[("content-type", "text/html")], &[], Some(14))]
    #[case::plain_500(500, &[], &[], Some(2))]
    #[case::no_number(200, &[("grpc-status", "UNAVAILABLE")], &[], None)]
    fn codes(
        #[case] status: u16,
        #[case] headers: &[(&str, &str)],
        #[case] trailers: &[(&str, &str)],
        #[case] expected: Option<u32>,
    ) {
        let owned = |fields: &[(&str, &str)]| fields.iter().map(|(n, v)| ((*n).to_owned(), (*v).to_owned())).collect();
        let answer = HttpAnswer { status, headers: owned(headers), trailers: owned(trailers), ..HttpAnswer::default() };
        assert_eq!(code(&answer), expected.map(GrpcCode));
    }

    #[rstest]
    #[case::a_head_alone(Some(0), &[], &["h"])]
    #[case::trailers(Some(0), &["t"], &["t"])]
    #[case::lost_behind_a_message(Some(1), &[], &[])]
    #[case::no_call(None, &[], &[])]
    fn ends(#[case] messages: Option<u32>, #[case] behind: &[&str], #[case] expected: &[&str]) {
        let owned = |names: &[&str]| names.iter().map(|name| ((*name).to_owned(), String::new())).collect();
        let answer = HttpAnswer { headers: owned(&["h"]), trailers: owned(behind), messages, ..HttpAnswer::default() };
        let found: Vec<_> = trailers(&answer).iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(found, expected);
    }
}
