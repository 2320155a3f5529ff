//! What an answer says by itself.

use rstest::rstest;

use super::driver::*;
use crate::judge::answer::compare;
use crate::log::{Elapsed, HttpAnswer, HttpRequest, ProbeRequest};
use crate::scenario::{Answer, Level, Seen};

#[rstest]
#[case::the_same("gone for good", None)]
#[case::with_a_line_end("gone for good\n", None)]
#[case::another("gone", Some("\"gone\""))]
#[case::more("gone for good, or so", Some("\"gone for good, or so\""))]
#[case::nothing("", Some("\"\""))]
fn a_body_is_as_expected(#[case] body: &str, #[case] told: Option<&str>) {
    let request = ProbeRequest::from(HttpRequest::default());
    let mut exchange = exchange("id".to_owned(), request, Elapsed(0), Back::Status(410));
    exchange.http = Some(HttpAnswer { status: 410, body: body.to_owned(), ..HttpAnswer::default() });
    let seen = Seen { status: vec![410], body: Some("gone for good".to_owned()), ..Seen::default() };
    let misses = compare(&Answer::Http(Box::new(seen)), &exchange, Level::Must, "probe", &bindings());
    let found: Vec<_> = misses.iter().map(|miss| (miss.expectation.as_str(), miss.seen.as_str())).collect();
    assert_eq!(found, told.map(|seen| ("probe.body", seen)).into_iter().collect::<Vec<_>>());
}

#[test]
fn a_backend_says_nothing_in_the_name_of_its_proxy() {
    let request = ProbeRequest::from(HttpRequest::default());
    let exchange = exchange("id".to_owned(), request, Elapsed(0), Back::Echo("echo-pod"));
    let seen = Seen { status: vec![200], body: Some(String::new()), ..Seen::default() };
    let misses = compare(&Answer::Http(Box::new(seen)), &exchange, Level::Must, "probe", &bindings());
    assert_eq!(misses.iter().map(|miss| miss.seen.as_str()).collect::<Vec<_>>(), ["a backend answered"]);
}
