#![allow(clippy::unwrap_used)]

use http::HeaderMap;
use rstest::rstest;

use super::location::{Origin, location};
use super::path::NoPrefix;
use super::{headers, hop, path};
use crate::config::{self, HeaderModifier, PathMatch, PathModifier, RequestRedirect};
use crate::matching::path::PathPredicate;

fn prefix(prefix: &str) -> PathPredicate {
    PathPredicate::compile(&PathMatch::Prefix(prefix.to_owned())).unwrap()
}

fn map(fields: &[(&'static str, &str)]) -> HeaderMap {
    fields.iter().map(|(name, value)| (name.parse().unwrap(), value.parse().unwrap())).fold(
        HeaderMap::new(),
        |mut map, (name, value): (http::HeaderName, http::HeaderValue)| {
            map.append(name, value);
            map
        },
    )
}

/// The table of HTTPPathModifier in the API reference.
#[rstest]
#[case("/foo/bar", "/foo", "/xyz", "/xyz/bar")]
#[case("/foo/bar", "/foo", "/xyz/", "/xyz/bar")]
#[case("/foo/bar", "/foo/", "/xyz", "/xyz/bar")]
#[case("/foo/bar", "/foo/", "/xyz/", "/xyz/bar")]
#[case("/foo", "/foo", "/xyz", "/xyz")]
#[case("/foo/", "/foo", "/xyz", "/xyz/")]
#[case("/foo/bar", "/foo", "", "/bar")]
#[case("/foo/", "/foo", "", "/")]
#[case("/foo", "/foo", "", "/")]
#[case("/foo/", "/foo", "/", "/")]
#[case("/foo", "/foo", "/", "/")]
#[case("/foo", "/", "/xyz", "/xyz/foo")]
fn prefixes_are_replaced(#[case] from: &str, #[case] matched: &str, #[case] by: &str, #[case] expected: &str) {
    let modifier = PathModifier::ReplacePrefixMatch(by.to_owned());
    assert_eq!(path::modify(&modifier, &prefix(matched), from).unwrap(), expected);
}

/// Nothing is added or taken away between what replaces a text and what stood behind it.
#[rstest]
#[case("/foosball", "/foo", "/bar", "/barsball")]
#[case("/foo/v1", "/foo", "/", "//v1")]
#[case("/foo/v1", "/foo/", "/bar/", "/bar/v1")]
#[case("/foo", "/foo", "bar", "/bar")]
fn texts_are_replaced(#[case] from: &str, #[case] matched: &str, #[case] by: &str, #[case] expected: &str) {
    let modifier = PathModifier::ReplacePrefixMatch(by.to_owned());
    assert_eq!(path::modify(&modifier, &PathPredicate::Text(matched.to_owned()), from).unwrap(), expected);
}

#[test]
fn whole_paths_are_replaced_under_any_match_and_prefixes_only_under_prefixes() {
    let exact = PathPredicate::Exact("/foo".to_owned());
    assert_eq!(path::modify(&PathModifier::ReplaceFullPath("/x".to_owned()), &exact, "/foo").unwrap(), "/x");
    assert_eq!(path::modify(&PathModifier::ReplacePrefixMatch("/x".to_owned()), &exact, "/foo"), Err(NoPrefix));
}

/// `listener_port` and scheme as the client used them, then the redirect's scheme and port.
#[rstest]
#[case("http", 80, None, None, "http://example.org/a?b")]
#[case("http", 80, None, Some(80), "http://example.org/a?b")]
#[case("http", 80, None, Some(8080), "http://example.org:8080/a?b")]
#[case("http", 80, Some("https"), None, "https://example.org/a?b")]
#[case("http", 80, Some("https"), Some(443), "https://example.org/a?b")]
#[case("http", 80, Some("https"), Some(8443), "https://example.org:8443/a?b")]
#[case("http", 8080, None, None, "http://example.org:8080/a?b")]
#[case("http", 8080, None, Some(80), "http://example.org/a?b")]
#[case("http", 8080, Some("https"), None, "https://example.org/a?b")]
#[case("https", 443, None, None, "https://example.org/a?b")]
#[case("https", 443, Some("http"), None, "http://example.org/a?b")]
#[case("https", 443, Some("http"), Some(8080), "http://example.org:8080/a?b")]
#[case("https", 443, None, Some(80), "https://example.org:80/a?b")]
fn locations_have_the_right_port(
    #[case] scheme: &str,
    #[case] listener_port: u16,
    #[case] to: Option<&str>,
    #[case] port: Option<u16>,
    #[case] expected: &str,
) {
    let redirect = RequestRedirect { scheme: to.map(str::to_owned), hostname: None, path: None, port, status: 302 };
    let matched = prefix("/");
    let origin = Origin { scheme, host: "example.org", listener_port, path: "/a", query: Some("b"), matched: &matched };
    assert_eq!(location(&redirect, &origin).unwrap(), expected);
}

#[test]
fn a_location_takes_hostname_and_path_of_the_redirect() {
    let path = Some(PathModifier::ReplacePrefixMatch("/new".to_owned()));
    let redirect =
        RequestRedirect { scheme: None, hostname: Some("new.org".to_owned()), path, port: None, status: 302 };
    let matched = prefix("/old");
    let origin =
        Origin { scheme: "http", host: "::1", listener_port: 80, path: "/old/x", query: None, matched: &matched };
    assert_eq!(location(&redirect, &origin).unwrap(), "http://new.org/new/x");
    let same_host = RequestRedirect { hostname: None, path: None, ..redirect };
    assert_eq!(location(&same_host, &origin).unwrap(), "http://[::1]/old/x");
}

#[test]
fn modifiers_remove_set_and_add_in_any_case() {
    let value = |name: &str, value: &str| config::HeaderValue { name: name.to_owned(), value: value.to_owned() };
    let modifier = HeaderModifier {
        set: vec![value("X-Set", "new")],
        add: vec![value("X-ADD", "more"), value("X-New", "first")],
        remove: vec!["X-remove".to_owned()],
    };
    let mut fields =
        map(&[("x-set", "old"), ("x-set", "older"), ("x-add", "one"), ("x-remove", "a"), ("x-remove", "b")]);
    headers::modify(&modifier, &mut fields);
    assert_eq!(fields, map(&[("x-set", "new"), ("x-add", "one"), ("x-add", "more"), ("x-new", "first")]));
}

#[rstest]
#[case(&[("connection", "keep-alive, x-private"), ("x-private", "p"), ("keep-alive", "5"), ("x-kept", "k")], &[("x-kept", "k")])]
#[case(&[("te", "trailers, deflate"), ("transfer-encoding", "chunked")], &[("te", "trailers")])]
#[case(&[("te", "deflate"), ("connection", "te, host"), ("host", "h")], &[("host", "h")])]
#[case(&[("connection", "upgrade"), ("upgrade", "websocket")], &[])]
fn nothing_of_the_connection_is_passed_on(
    #[case] fields: &[(&'static str, &str)],
    #[case] expected: &[(&'static str, &str)],
) {
    let mut fields = map(fields);
    hop::strip(&mut fields);
    assert_eq!(fields, map(expected));
}

#[rstest]
#[case(&[("connection", "keep-alive, Upgrade"), ("upgrade", "websocket")], Some("websocket"))]
#[case(&[("upgrade", "websocket")], None)]
#[case(&[("connection", "upgrade")], None)]
fn upgrades_are_recognised(#[case] fields: &[(&'static str, &str)], #[case] expected: Option<&str>) {
    assert_eq!(
        hop::requested_upgrade(&map(fields)).map(|value| value.to_str().unwrap().to_owned()).as_deref(),
        expected
    );
}

#[test]
fn the_client_is_appended_to_those_before_it() {
    let mut fields =
        map(&[("x-forwarded-for", "10.0.0.1"), ("x-forwarded-for", "10.0.0.2"), ("x-forwarded-proto", "ftp")]);
    hop::add_forwarded(&mut fields, [192, 0, 2, 7].into(), "https");
    assert_eq!(fields, map(&[("x-forwarded-for", "10.0.0.1, 10.0.0.2, 192.0.2.7"), ("x-forwarded-proto", "https")]));
}

#[test]
fn cookie_lines_become_one() {
    let mut fields = map(&[("cookie", "a=b"), ("cookie", "c=d")]);
    hop::join_cookies(&mut fields);
    assert_eq!(fields, map(&[("cookie", "a=b; c=d")]));
}
