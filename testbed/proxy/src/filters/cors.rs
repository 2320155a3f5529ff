//! Cross-origin requests (the Fetch standard, section 3.2).

use http::header::{
    ACCESS_CONTROL_ALLOW_CREDENTIALS, ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS,
    ACCESS_CONTROL_ALLOW_ORIGIN, ACCESS_CONTROL_EXPOSE_HEADERS, ACCESS_CONTROL_MAX_AGE, ACCESS_CONTROL_REQUEST_HEADERS,
    ACCESS_CONTROL_REQUEST_METHOD, HeaderName, ORIGIN, VARY,
};
use http::{HeaderMap, HeaderValue, Method};

use crate::config::Cors;

const ALL: &str = "*";

/// What backends may have said about cross-origin requests, which is the filter's to say.
const ANSWERED: [HeaderName; 6] = [
    ACCESS_CONTROL_ALLOW_ORIGIN,
    ACCESS_CONTROL_ALLOW_CREDENTIALS,
    ACCESS_CONTROL_ALLOW_METHODS,
    ACCESS_CONTROL_ALLOW_HEADERS,
    ACCESS_CONTROL_EXPOSE_HEADERS,
    ACCESS_CONTROL_MAX_AGE,
];

/// The headers of the answer to a preflight; nothing if the request is none. A refused one gets no header.
pub fn preflight(cors: &Cors, method: &Method, request: &HeaderMap) -> Option<HeaderMap> {
    let asked = request.get(ACCESS_CONTROL_REQUEST_METHOD).filter(|_| method == Method::OPTIONS)?;
    let origin = request.get(ORIGIN)?;
    let mut answer = HeaderMap::new();
    if !share(cors, origin, &mut answer) {
        return Some(answer);
    }
    if let Some(methods) = granted(cors, &cors.allow_methods, Some(asked)) {
        answer.insert(ACCESS_CONTROL_ALLOW_METHODS, methods);
    }
    if let Some(asked) = request.get(ACCESS_CONTROL_REQUEST_HEADERS)
        && let Some(headers) = granted(cors, &cors.allow_headers, Some(asked))
    {
        answer.insert(ACCESS_CONTROL_ALLOW_HEADERS, headers);
    }
    if let Some(exposed) = granted(cors, &cors.expose_headers, None) {
        answer.insert(ACCESS_CONTROL_EXPOSE_HEADERS, exposed);
    }
    answer.insert(ACCESS_CONTROL_MAX_AGE, HeaderValue::from(cors.max_age));
    Some(answer)
}

/// Puts the filter's word on an answer that is none to a preflight, in place of what the backend said.
pub fn grant(cors: &Cors, request: &HeaderMap, answer: &mut HeaderMap) {
    for name in ANSWERED {
        answer.remove(name);
    }
    let Some(origin) = request.get(ORIGIN) else { return };
    if !share(cors, origin, answer) {
        return;
    }
    let names: Vec<&str> = answer.keys().map(HeaderName::as_str).collect();
    let all = HeaderValue::try_from(names.join(", ")).ok();
    if let Some(exposed) = granted(cors, &cors.expose_headers, all.as_ref()) {
        answer.insert(ACCESS_CONTROL_EXPOSE_HEADERS, exposed);
    }
}

/// Lets an origin read the answer, if it may.
fn share(cors: &Cors, origin: &HeaderValue, answer: &mut HeaderMap) -> bool {
    let Ok(text) = origin.to_str() else { return false };
    let Some(pattern) = cors.allow_origins.iter().find(|pattern| allows(pattern, text)) else { return false };
    if pattern == ALL && !cors.allow_credentials {
        answer.insert(ACCESS_CONTROL_ALLOW_ORIGIN, HeaderValue::from_static(ALL));
    } else {
        answer.insert(ACCESS_CONTROL_ALLOW_ORIGIN, origin.clone());
        answer.append(VARY, HeaderValue::from_static("Origin"));
    }
    if cors.allow_credentials {
        answer.insert(ACCESS_CONTROL_ALLOW_CREDENTIALS, HeaderValue::from_static("true"));
    }
    true
}

/// A list as it is told: a browser that sends credentials takes `*` for a name, so it gets `instead`.
fn granted(cors: &Cors, list: &[String], instead: Option<&HeaderValue>) -> Option<HeaderValue> {
    match list {
        [] => None,
        [all] if all == ALL && cors.allow_credentials => instead.cloned(),
        list => HeaderValue::try_from(list.join(", ")).ok(),
    }
}

/// Whether a pattern of the filter fits an origin. A port that is not given is the scheme's, on both sides.
fn allows(pattern: &str, origin: &str) -> bool {
    if pattern == ALL {
        return true;
    }
    let (Some(pattern), Some(origin)) = (Parts::of(pattern), Parts::of(origin)) else { return false };
    let host = origin.host.to_ascii_lowercase();
    let fits = match pattern.host.to_ascii_lowercase().strip_prefix('*') {
        Some(suffix) => host.len() > suffix.len() && host.ends_with(suffix),
        None => host.eq_ignore_ascii_case(pattern.host),
    };
    fits && pattern.scheme.eq_ignore_ascii_case(origin.scheme) && pattern.port() == origin.port()
}

struct Parts<'a> {
    scheme: &'a str,
    host: &'a str,
    port: Option<&'a str>,
}

impl<'a> Parts<'a> {
    fn of(text: &'a str) -> Option<Self> {
        let (scheme, authority) = text.split_once("://")?;
        let (host, port) = match authority.rsplit_once(':') {
            // The colons of an IPv6 address stand within brackets.
            Some((host, port)) if !port.contains(']') => (host, Some(port)),
            _ => (authority, None),
        };
        Some(Self { scheme, host, port })
    }

    fn port(&self) -> Option<&'a str> {
        self.port.or(match self.scheme.to_ascii_lowercase().as_str() {
            "http" => Some("80"),
            "https" => Some("443"),
            _ => None,
        })
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case("*", "https://a.test", true)]
    #[case("*", "null", true)]
    #[case("https://a.test", "https://a.test", true)]
    #[case("https://a.test", "https://A.TEST", true)]
    #[case("https://a.test", "https://a.test:443", true)]
    #[case("https://a.test", "http://a.test", false)]
    #[case("https://a.test", "https://a.test:8443", false)]
    #[case("https://a.test", "https://a.test.evil.test", false)]
    #[case("https://a.test", "null", false)]
    #[case("https://*.a.test", "https://x.a.test", true)]
    #[case("https://*.a.test", "https://y.x.a.test", true)]
    #[case("https://*.a.test", "https://a.test", false)]
    #[case("https://*.a.test", "https://xa.test", false)]
    #[case("https://*", "https://a.test", true)]
    #[case("https://*", "http://a.test", false)]
    #[case("http://*:8080", "http://a.test:8080", true)]
    fn origins(#[case] pattern: &str, #[case] origin: &str, #[case] allowed: bool) {
        assert_eq!(allows(pattern, origin), allowed);
    }

    fn cors(all: bool, credentials: bool) -> Cors {
        let list = |given: &[&str]| given.iter().map(ToString::to_string).collect();
        Cors {
            allow_origins: list(&["https://a.test"]),
            allow_methods: list(if all { &["*"] } else { &["PUT", "GET"] }),
            allow_headers: list(if all { &["*"] } else { &["x-one"] }),
            expose_headers: list(if all { &["*"] } else { &["x-two"] }),
            allow_credentials: credentials,
            max_age: 5,
        }
    }

    fn headers(of: &[(&'static str, &'static str)]) -> HeaderMap {
        of.iter().map(|(name, value)| (HeaderName::from_static(name), HeaderValue::from_static(value))).collect()
    }

    const ASKED: [(&str, &str); 3] = [
        ("origin", "https://a.test"),
        ("access-control-request-method", "PUT"),
        ("access-control-request-headers", "x-one, x-other"),
    ];

    #[rstest]
    #[case::listed(false, true, Some("PUT, GET"), Some("x-one"))]
    #[case::all(true, false, Some("*"), Some("*"))]
    #[case::all_with_credentials(true, true, Some("PUT"), Some("x-one, x-other"))]
    fn preflights(
        #[case] all: bool,
        #[case] credentials: bool,
        #[case] methods: Option<&str>,
        #[case] names: Option<&str>,
    ) {
        let answer = preflight(&cors(all, credentials), &Method::OPTIONS, &headers(&ASKED)).unwrap_or_default();
        let text = |name: &str| answer.get(name).and_then(|value| value.to_str().ok());
        assert_eq!(text("access-control-allow-origin"), Some("https://a.test"));
        assert_eq!(text("access-control-allow-methods"), methods);
        assert_eq!(text("access-control-allow-headers"), names);
        assert_eq!(text("access-control-allow-credentials"), credentials.then_some("true"));
        assert_eq!(text("access-control-max-age"), Some("5"));
    }

    #[rstest]
    #[case::another_method(&Method::GET, &ASKED[..])]
    #[case::plain_options(&Method::OPTIONS, &ASKED[..1])]
    #[case::no_origin(&Method::OPTIONS, &ASKED[1..])]
    fn what_is_no_preflight(#[case] method: &Method, #[case] of: &[(&'static str, &'static str)]) {
        assert_eq!(preflight(&cors(false, false), method, &headers(of)), None);
    }

    #[test]
    fn a_refused_preflight_gets_no_header() {
        let asked = headers(&[("origin", "https://b.test"), ASKED[1]]);
        assert_eq!(preflight(&cors(false, true), &Method::OPTIONS, &asked), Some(HeaderMap::new()));
    }

    #[rstest]
    #[case::granted("https://a.test", Some("https://a.test"), Some("x-two"))]
    #[case::refused("https://b.test", None, None)]
    fn the_backends_word_does_not_count(
        #[case] origin: &'static str,
        #[case] allowed: Option<&str>,
        #[case] exposed: Option<&str>,
    ) {
        let mut answer = headers(&[("access-control-allow-origin", "*"), ("access-control-expose-headers", "x-own")]);
        grant(&cors(false, false), &headers(&[("origin", origin)]), &mut answer);
        let text = |name: &str| answer.get(name).and_then(|value| value.to_str().ok());
        assert_eq!(text("access-control-allow-origin"), allowed);
        assert_eq!(text("access-control-expose-headers"), exposed);
    }
}
