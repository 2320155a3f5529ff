#![allow(clippy::unwrap_used)]

use http::{HeaderMap, HeaderName, HeaderValue, Method};
use proptest::prelude::*;
use rstest::rstest;

use super::hostname::{covers, host_of, most_specific};
use super::path::{is_element_prefix, trim_prefix};
use super::precedence::rank;
use super::{MatchPredicate, Subject};
use crate::config::{FieldMatch, Hostname, PathMatch, RequestMatch, ValueMatch};

fn field(name: &str, value: &str) -> FieldMatch {
    FieldMatch { name: name.to_owned(), value: ValueMatch::Exact(value.to_owned()) }
}

fn pattern(name: &str, value: &str) -> FieldMatch {
    FieldMatch { name: name.to_owned(), value: ValueMatch::Regex(value.to_owned()) }
}

fn exact(path: &str) -> RequestMatch {
    RequestMatch { path: PathMatch::Exact(path.to_owned()), ..RequestMatch::default() }
}

fn prefix(path: &str) -> RequestMatch {
    RequestMatch { path: PathMatch::Prefix(path.to_owned()), ..RequestMatch::default() }
}

fn text(path: &str) -> RequestMatch {
    RequestMatch { path: PathMatch::Text(path.to_owned()), ..RequestMatch::default() }
}

fn other(value: &str, absent: bool) -> ValueMatch {
    ValueMatch::Not { value: Box::new(ValueMatch::Exact(value.to_owned())), absent }
}

fn all(name: &str, values: Vec<ValueMatch>) -> FieldMatch {
    FieldMatch { name: name.to_owned(), value: ValueMatch::All(values) }
}

fn regex(path: &str) -> RequestMatch {
    RequestMatch { path: PathMatch::Regex(path.to_owned()), ..RequestMatch::default() }
}

/// Whether `entry` holds for a request of this target, with headers.
fn holds(entry: &RequestMatch, method: &Method, target: &str, fields: &[(&str, &str)]) -> bool {
    let (path, query) = target.split_once('?').map_or((target, None), |(path, query)| (path, Some(query)));
    let mut headers = HeaderMap::new();
    for (name, value) in fields {
        headers.append(name.parse::<HeaderName>().unwrap(), HeaderValue::from_str(value).unwrap());
    }
    MatchPredicate::compile(entry).unwrap().holds(&Subject { method, path, query, headers: &headers })
}

#[rstest]
#[case("", "anything.org", true)]
#[case("example.com", "example.com", true)]
#[case("Example.COM", "example.com", true)]
#[case("example.com", "www.example.com", false)]
#[case("*.example.com", "www.example.com", true)]
#[case("*.example.com", "a.b.example.com", true)]
#[case("*.example.com", "example.com", false)]
#[case("*.example.com", ".example.com", false)]
#[case("*.example.com", "badexample.com", false)]
#[case("*.example.com", "a.example.com.evil.org", false)]
fn hostnames_cover(#[case] hostname: &str, #[case] host: &str, #[case] expected: bool) {
    assert_eq!(covers(&Hostname::parse(hostname), host), expected);
}

#[rstest]
#[case("foo.bar.com", Some(3))]
#[case("baz.bar.com", Some(2))]
#[case("a.foo.bar.com", Some(4))]
#[case("bar.com", Some(1))]
#[case("other.org", Some(0))]
fn the_most_specific_hostname_wins(#[case] host: &str, #[case] expected: Option<usize>) {
    let hostnames = ["", "bar.com", "*.bar.com", "foo.bar.com", "*.foo.bar.com"].map(Hostname::parse);
    assert_eq!(most_specific(&hostnames, host), expected);
    assert_eq!(most_specific(&hostnames[1..3], "other.org"), None);
}

#[rstest]
#[case("Example.com", "example.com")]
#[case("example.com:8080", "example.com")]
#[case("example.com.:80", "example.com")]
#[case("[::1]:8080", "::1")]
#[case("", "")]
fn hosts_are_read_from_authorities(#[case] authority: &str, #[case] expected: &str) {
    assert_eq!(host_of(authority), expected);
}

#[rstest]
#[case(exact("/foo"), "/foo", true)]
#[case(exact("/foo"), "/foo/", false)]
#[case(exact("/foo"), "/Foo", false)]
#[case(exact("/foo"), "/foo?x=y", true)]
#[case(prefix("/"), "/", true)]
#[case(prefix("/"), "/any/thing", true)]
#[case(prefix("/v2"), "/v2", true)]
#[case(prefix("/v2"), "/v2/", true)]
#[case(prefix("/v2"), "/v2/example", true)]
#[case(prefix("/v2/"), "/v2", true)]
#[case(prefix("/v2/"), "/v2/example", true)]
#[case(prefix("/v2"), "/v2example", false)]
#[case(prefix("/v2"), "/foo/v2", false)]
#[case(prefix("/v2"), "/V2", false)]
#[case(text("/v2"), "/v2example", true)]
#[case(text("/v2/"), "/v2", false)]
#[case(text("/v2"), "/V2", false)]
#[case(text("/v2"), "/foo/v2", false)]
#[case(regex("/v[0-9]+"), "/v12", true)]
#[case(regex("/v[0-9]+"), "/v12/x", false)]
#[case(regex("/a|/b"), "/b", true)]
#[case(regex("/a|/b"), "/ab", false)]
fn paths(#[case] entry: RequestMatch, #[case] target: &str, #[case] expected: bool) {
    assert_eq!(holds(&entry, &Method::GET, target, &[]), expected);
}

#[rstest]
#[case(vec![field("version", "one")], &[("Version", "one")], true)]
#[case(vec![field("VERSION", "one")], &[("version", "one")], true)]
#[case(vec![field("version", "one")], &[("version", "One")], false)]
#[case(vec![field("version", "one")], &[("version", "one more")], false)]
#[case(vec![field("version", "one")], &[], false)]
#[case(vec![field("version", "one"), field("color", "blue")], &[("version", "one")], false)]
#[case(vec![field("version", "one"), field("color", "blue")], &[("color", "blue"), ("version", "one")], true)]
#[case::a_repeated_name_counts_once(vec![field("version", "one"), field("Version", "two")], &[("version", "one")], true)]
#[case::lines_are_joined(vec![field("version", "one,two")], &[("version", "one"), ("version", "two")], true)]
#[case::absent(vec![all("version", vec![ValueMatch::Absent])], &[], true)]
#[case::absent_and_there(vec![all("version", vec![ValueMatch::Absent])], &[("version", "")], false)]
#[case::another(vec![all("version", vec![other("one", false)])], &[("version", "two")], true)]
#[case::the_same(vec![all("version", vec![other("one", false)])], &[("version", "one")], false)]
#[case::none_is_not_another(vec![all("version", vec![other("one", false)])], &[], false)]
#[case::none_is_empty(vec![all("version", vec![other("one", true)])], &[], true)]
#[case::none_is_empty_which_it_must_not_be(vec![all("version", vec![other("", true)])], &[], false)]
#[case::neither(vec![all("version", vec![other("one", false), other("two", false)])], &[("version", "three")], true)]
#[case::one_of_both(vec![all("version", vec![other("one", false), other("two", false)])], &[("version", "two")], false)]
#[case(vec![pattern("version", "o.e")], &[("version", "one")], true)]
#[case(vec![pattern("version", "o.e")], &[("version", "none")], false)]
fn headers(#[case] conditions: Vec<FieldMatch>, #[case] fields: &[(&str, &str)], #[case] expected: bool) {
    let entry = RequestMatch { headers: conditions, ..RequestMatch::default() };
    assert_eq!(holds(&entry, &Method::GET, "/", fields), expected);
}

#[rstest]
#[case("/?animal=whale", true)]
#[case("/?other=x&animal=whale", true)]
#[case("/?animal=whale&animal=dog", true)]
#[case("/?animal=dog&animal=whale", false)]
#[case("/?Animal=whale", false)]
#[case("/?animal=Whale", false)]
#[case("/?animal=whaledolphin", false)]
#[case("/?animal=wh%61le", true)]
#[case("/?animal=wh%6", false)]
#[case("/?animal", false)]
#[case("/", false)]
fn query_parameters(#[case] target: &str, #[case] expected: bool) {
    let query = vec![field("animal", "whale"), field("animal", "ignored")];
    assert_eq!(holds(&RequestMatch { query, ..RequestMatch::default() }, &Method::GET, target, &[]), expected);
}

#[test]
fn a_query_value_is_decoded() {
    let query = vec![field("q", "a b&c")];
    assert!(holds(&RequestMatch { query, ..RequestMatch::default() }, &Method::GET, "/?q=a+b%26c", &[]));
}

#[rstest]
#[case(Method::POST, true)]
#[case(Method::GET, false)]
fn methods(#[case] method: Method, #[case] expected: bool) {
    let entry = RequestMatch { method: Some("POST".to_owned()), ..RequestMatch::default() };
    assert_eq!(holds(&entry, &method, "/", &[]), expected);
}

/// Each pair: the first is tried before the second, whatever the order of the configuration.
#[rstest]
#[case::exact_before_prefix(("", exact("/")), ("", prefix("/longer/prefix")))]
#[case::longer_prefix(("", prefix("/foo/bar")), ("", prefix("/foo")))]
#[case::prefix_before_method(("", prefix("/foo")), ("", RequestMatch { method: Some("GET".into()), ..prefix("/") }))]
#[case::method_before_headers(
    ("", RequestMatch { method: Some("GET".into()), ..prefix("/") }),
    ("", RequestMatch { headers: vec![field("a", "b"), field("c", "d")], ..prefix("/") })
)]
#[case::more_headers(
    ("", RequestMatch { headers: vec![field("a", "b"), field("c", "d")], ..prefix("/") }),
    ("", RequestMatch { headers: vec![field("a", "b")], query: vec![field("x", "y")], ..prefix("/") })
)]
#[case::more_query_parameters(
    ("", RequestMatch { query: vec![field("x", "y"), field("z", "")], ..prefix("/") }),
    ("", RequestMatch { query: vec![field("x", "y")], ..prefix("/") })
)]
#[case::hostname_before_path(("foo.com", prefix("/")), ("", exact("/")))]
#[case::exact_hostname_before_wildcard(("a.com", prefix("/")), ("*.long.example.com", exact("/")))]
#[case::longer_wildcard(("*.b.com", prefix("/")), ("*.com", exact("/")))]
fn precedence(#[case] first: (&str, RequestMatch), #[case] second: (&str, RequestMatch)) {
    let key = |(hostname, entry): &(&str, RequestMatch)| {
        rank(&Hostname::parse(hostname), &MatchPredicate::compile(entry).unwrap())
    };
    assert!(key(&first) < key(&second));
}

#[rstest]
#[case::trailing_slash(prefix("/foo"), prefix("/foo/"))]
#[case::repeated_header(
    RequestMatch { headers: vec![field("a", "b")], ..prefix("/") },
    RequestMatch { headers: vec![field("a", "b"), field("A", "c")], ..prefix("/") }
)]
fn ties_are_left_to_the_order_of_the_configuration(#[case] first: RequestMatch, #[case] second: RequestMatch) {
    let key = |entry: &RequestMatch| rank(&Hostname::Any, &MatchPredicate::compile(entry).unwrap());
    assert_eq!(key(&first), key(&second));
}

#[rstest]
#[case("(")]
#[case("a)(b")]
fn a_broken_pattern_does_not_compile(#[case] path: &str) {
    assert!(MatchPredicate::compile(&regex(path)).is_err());
}

proptest! {
    /// A prefix matches exactly those paths whose elements begin with its elements.
    #[test]
    fn prefixes_match_by_element(
        prefix in prop::collection::vec("[ab]{1,2}", 0..3),
        path in prop::collection::vec("[ab]{0,2}", 1..5),
        slash in any::<bool>(),
    ) {
        let text = format!("/{}{}", prefix.join("/"), if slash && !prefix.is_empty() { "/" } else { "" });
        let matched = is_element_prefix(trim_prefix(&text), &format!("/{}", path.join("/")));
        prop_assert_eq!(matched, path.starts_with(&prefix));
    }
}

fn rpc(service: Option<&str>, method: Option<&str>) -> RequestMatch {
    let exact = |part: Option<&str>| part.map(|name| ValueMatch::Exact(name.to_owned()));
    RequestMatch { path: PathMatch::Rpc { service: exact(service), method: exact(method) }, ..RequestMatch::default() }
}

#[rstest]
#[case::both(rpc(Some("a.B"), Some("C")), "/a.B/C", true)]
#[case::other_method(rpc(Some("a.B"), Some("C")), "/a.B/D", false)]
#[case::other_service(rpc(Some("a.B"), Some("C")), "/a.Bb/C", false)]
#[case::service_alone(rpc(Some("a.B"), None), "/a.B/D", true)]
#[case::method_alone(rpc(None, Some("C")), "/x.Y/C", true)]
#[case::case_counts(rpc(Some("a.B"), None), "/a.b/D", false)]
#[case::anything(rpc(None, None), "/x.Y/Z", true)]
#[case::no_call(rpc(None, None), "/x", false)]
fn calls_match_by_service_and_method(#[case] entry: RequestMatch, #[case] path: &str, #[case] expected: bool) {
    assert_eq!(holds(&entry, &Method::POST, path, &[("content-type", "application/grpc")]), expected);
    assert!(!holds(&entry, &Method::POST, path, &[("content-type", "application/json")]));
}

#[rstest]
#[case::service_first(rpc(Some("a.B"), None), rpc(None, Some("VeryLong")))]
#[case::then_method(rpc(Some("a.B"), Some("C")), rpc(Some("a.B"), None))]
fn longer_names_of_calls_come_first(#[case] first: RequestMatch, #[case] second: RequestMatch) {
    let rank = |entry| rank(&Hostname::Any, &MatchPredicate::compile(&entry).unwrap());
    assert!(rank(first) < rank(second));
}
