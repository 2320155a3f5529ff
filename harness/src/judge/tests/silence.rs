//! What is as good as no answer.

use rstest::rstest;

use super::driver::*;
use crate::judge::answer::compare;
use crate::log::{Elapsed, Exchange, HttpRequest, ProbeRequest, Received, TcpEnd};
use crate::scenario::{Answer, Level};

fn is_no_answer(exchange: &Exchange) -> bool {
    compare(&Answer::NoAnswer, exchange, Level::Must, "probe", &bindings()).is_empty()
}

#[rstest]
#[case::no_route(404, None, true)]
#[case::misdirected(421, Some("a.test"), true)]
#[case::no_request(400, None, true)]
#[case::a_bad_one_within_tls(400, Some("a.test"), false)]
#[case::forbidden(403, None, false)]
#[case::served(200, None, false)]
fn who_knows_nothing_of_a_request_turns_it_away(
    #[case] status: u16,
    #[case] server_name: Option<&str>,
    #[case] expected: bool,
) {
    let request = HttpRequest { tls_server_name: server_name.map(str::to_owned), ..HttpRequest::default() };
    let exchange = exchange("id".to_owned(), request.into(), Elapsed(0), Back::Status(status));
    assert_eq!(is_no_answer(&exchange), expected);
}

#[rstest]
#[case::to_the_same_host(301, "https://host.test/", None, true)]
#[case::in_capitals(308, "HTTPS://host.test:8443/path", None, true)]
#[case::to_clear_text(301, "http://host.test/", None, false)]
#[case::to_nowhere(302, "", None, false)]
#[case::to_a_path(302, "/https://host.test", None, false)]
#[case::who_is_within_tls_already(301, "https://host.test/", Some("host.test"), false)]
#[case::no_redirect(200, "https://host.test/", None, false)]
#[case::unchanged(304, "https://host.test/", None, false)]
fn who_is_sent_to_tls_is_turned_away(
    #[case] status: u16,
    #[case] location: &str,
    #[case] server_name: Option<&str>,
    #[case] expected: bool,
) {
    let request = HttpRequest { tls_server_name: server_name.map(str::to_owned), ..HttpRequest::default() };
    let mut exchange = exchange("id".to_owned(), request.into(), Elapsed(0), Back::Status(status));
    let answer = exchange.http.as_mut().expect("a status is an answer");
    answer.headers.push(("location".to_owned(), location.to_owned()));
    assert_eq!(is_no_answer(&exchange), expected);
}

#[rstest]
#[case::an_alert(Some((7, r"\x15\x03\x03\x00\x02\x02F")), None, true)]
#[case::more_than_one(Some((9, r"\x15\x03\x03\x00\x02\x02Fab")), None, false)]
#[case::something_as_long(Some((7, "goodbye")), None, false)]
#[case::an_alert_that_ends_a_line(None, Some("\u{15}\u{3}\u{3}\0\u{2}\u{2}"), true)]
#[case::a_line(None, Some("hello"), false)]
fn an_alert_is_no_answer(#[case] received: Option<(u64, &str)>, #[case] line: Option<&str>, #[case] expected: bool) {
    let request = ProbeRequest::tcp("host.test", 443, "");
    let mut exchange = exchange("id".to_owned(), request, Elapsed(0), Back::Tcp(TcpEnd::Hung));
    exchange.tcp = line.map(|line| TcpEnd::Answered { line: line.to_owned(), echo: None });
    exchange.received = received.map(|(bytes, start)| Received { bytes, start: start.to_owned(), status: None });
    assert_eq!(is_no_answer(&exchange), expected);
}
