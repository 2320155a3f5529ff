//! What belongs to one connection and must not be passed on (RFC 9110 section 7.6.1).

use std::net::IpAddr;

use gateproof_lengths as lengths;
use http::header::{CONNECTION, COOKIE, HOST, TE, UPGRADE};
use http::{HeaderMap, HeaderName, HeaderValue};

const HOP_BY_HOP: [&str; 7] = [
    "connection",
    "keep-alive",
    "proxy-connection",
    "proxy-authenticate",
    "proxy-authorization",
    "transfer-encoding",
    "upgrade",
];

/// Takes away what belongs to the connection it came from, including everything that `Connection` names. `TE: trailers`
/// stays: it asks whoever makes the response, and gRPC depends on it.
pub fn strip(headers: &mut HeaderMap) {
    let named: Vec<HeaderName> = tokens(headers, &CONNECTION).filter_map(|token| token.parse().ok()).collect();
    let trailers = tokens(headers, &TE).any(|token| token.eq_ignore_ascii_case("trailers"));
    for name in named.into_iter().filter(|name| *name != HOST) {
        headers.remove(name);
    }
    for name in HOP_BY_HOP {
        headers.remove(name);
    }
    headers.remove(lengths::ASIDE);
    headers.remove(TE);
    if trailers {
        headers.insert(TE, HeaderValue::from_static("trailers"));
    }
}

/// The protocol that the message asks to switch to, if its `Connection` says so.
pub fn requested_upgrade(headers: &HeaderMap) -> Option<HeaderValue> {
    tokens(headers, &CONNECTION)
        .any(|token| token.eq_ignore_ascii_case("upgrade"))
        .then(|| headers.get(UPGRADE).cloned())
        .flatten()
}

/// Adds what the backend cannot see by itself: the client's address and the scheme it used.
pub fn add_forwarded(headers: &mut HeaderMap, client: IpAddr, scheme: &'static str) {
    let earlier: Vec<_> = tokens(headers, &HeaderName::from_static("x-forwarded-for")).map(str::to_owned).collect();
    let chain = earlier.into_iter().chain([client.to_string()]).collect::<Vec<_>>().join(", ");
    if let Ok(value) = chain.parse() {
        headers.insert("x-forwarded-for", value);
    }
    headers.insert("x-forwarded-proto", HeaderValue::from_static(scheme));
}

/// Joins cookie lines into one, as a request needs that leaves HTTP/2 for HTTP/1.1 (RFC 9113 section 8.2.3).
pub fn join_cookies(headers: &mut HeaderMap) {
    let lines: Vec<_> = headers.get_all(COOKIE).iter().map(HeaderValue::as_bytes).collect();
    if lines.len() > 1
        && let Ok(joined) = HeaderValue::from_bytes(&lines.join(&b"; "[..]))
    {
        headers.insert(COOKIE, joined);
    }
}

fn tokens<'a>(headers: &'a HeaderMap, name: &HeaderName) -> impl Iterator<Item = &'a str> + use<'a> {
    headers
        .get_all(name)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .map(str::trim)
        .filter(|token| !token.is_empty())
}
