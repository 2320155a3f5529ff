//! What is as good as no answer.

use super::handshake;
use crate::log::{Exchange, HttpAnswer, ProbeError, ProbeRequest, TcpEnd};

/// An alert of TLS as bytes: a record of 5 and its 2 (RFC 8446, sections 5.1 and 6).
const ALERT: usize = 7;

/// Whether a request over HTTP got nothing: no connection, or its end without the head of an answer.
pub(super) fn is_silent(exchange: &Exchange) -> bool {
    let is_begun = exchange.received.as_ref().is_some_and(|received| received.status.is_some());
    exchange.http.is_none()
        && !is_begun
        && matches!(
            exchange.error,
            Some(
                ProbeError::ConnectRefused(_)
                    | ProbeError::ConnectTimedOut
                    | ProbeError::Handshake(_)
                    | ProbeError::Broken(_)
                    // Such as an alert of TLS.
                    | ProbeError::Malformed(_)
            )
        )
}

/// Whether others who share the address and port answer, and know nothing of the request: implementations may merge
/// Gateways onto one address, where a port stays open although one of its listeners is not programmed. To clear text they may say
/// that it is no request, or that TLS is to be spoken, as at a port of TLS.
pub(super) fn is_turned_away(exchange: &Exchange) -> bool {
    let (Some(answer), ProbeRequest::Http(request)) = (&exchange.http, &exchange.request) else { return false };
    let is_foreign_to_tls = request.tls_server_name.is_none() && (answer.status == 400 || sends_to_tls(answer));
    (matches!(answer.status, 404 | 421) || is_foreign_to_tls)
        && answer.echo.is_none()
        && !handshake::presents_own(exchange)
}

/// Whether an answer redirects to the same within TLS or to another place there (RFC 9110, section 15.4).
fn sends_to_tls(answer: &HttpAnswer) -> bool {
    const SCHEME: &str = "https://";
    let location = answer.headers.iter().find(|(name, _)| name == "location").map(|(_, value)| value);
    let scheme = location.and_then(|location| location.get(..SCHEME.len()));
    matches!(answer.status, 301 | 302 | 303 | 307 | 308) && scheme.is_some_and(|of| of.eq_ignore_ascii_case(SCHEME))
}

/// Whether all that came over TCP is an alert of TLS: what a port of TLS has for who does not shake hands.
pub(super) fn is_alert(exchange: &Exchange) -> bool {
    match (&exchange.received, &exchange.tcp) {
        (Some(received), _) => received.bytes == ALERT as u64 && received.start.starts_with(r"\x15\x03"),
        // The last of its bytes may be the end of a line.
        (None, Some(TcpEnd::Answered { line, echo: None })) => line.len() < ALERT && line.starts_with("\u{15}\u{3}"),
        _ => false,
    }
}
