//! What handshakes are held against.

use rstest::rstest;
use serde_json::{Value, json};

use super::driver::*;
use crate::judge::answer::compare;
use crate::log::{
    Chain, ClientCertificate, EchoText, Elapsed, HttpAnswer, HttpRequest, PeerCertificate, ProbeError, ProbeRequest,
    TcpEnd,
};
use crate::scenario::{Answer, Level, Probe, Seen};

fn first_finding(probe: Probe, back: Back) -> Option<(String, String, String)> {
    let verdict = Play::new(scenario(vec![asks(probe)])).probes(move |_, _, _| back.clone()).run();
    verdict.findings.first().map(|f| (f.expectation.clone(), f.expected.clone(), f.seen.clone()))
}

/// What is expected to be agreed on, what is, and what then is told.
#[rstest]
#[case::the_one(&["h2"], Some("h2"), None)]
#[case::one_of_two(&["h2", "none"], Some("none"), None)]
#[case::another(&["h2"], Some("http/1.1"), Some(("the handshake agrees on h2", "it agreed on http/1.1")))]
#[case::none(&["h2", "a"], Some("none"), Some(("the handshake agrees on h2 or a", "it agreed on no protocol")))]
#[case::not_none(&["none"], Some("h2"), Some(("the handshake agrees on no protocol", "it agreed on h2")))]
#[case::no_handshake(&["h2"], None, None)]
#[case::nothing_asked(&[], Some("h2"), None)]
fn what_is_agreed_on_is_among_what_may_be(
    #[case] legal: &[&str],
    #[case] agreed: Option<&'static str>,
    #[case] told: Option<(&str, &str)>,
) {
    let alpn: Vec<String> = legal.iter().map(ToString::to_string).collect();
    let own = |text: (&str, &str, &str)| (text.0.to_owned(), text.1.to_owned(), text.2.to_owned());
    let told = told.map(|(expected, seen)| own(("steps[0].probe.alpn", expected, seen)));
    let back = |of: fn(&'static str) -> Back| agreed.map_or(Back::Echo("echo-pod"), of);
    let seen = Seen { backend: Some("echo".to_owned()), alpn: alpn.clone(), ..Seen::default() };
    let request = Probe { contrast: false, ..get(Answer::Http(Box::new(seen))) };
    assert_eq!(first_finding(request, back(|agreed| Back::Agreed(agreed, "echo-pod"))), told);
    let backend = Some("echo".to_owned());
    let answer = Answer::TlsBackend { backend, certificate: None, trusted: None, alpn, server_name: None };
    let stream = Probe { method: None, host: None, contrast: false, ..get(answer) };
    assert_eq!(first_finding(stream, back(|agreed| Back::AgreedLine(agreed, "echo-pod"))), told);
}

/// What a backend of streams tells of the handshake with it, and what then is told.
#[rstest]
#[case::as_asked(json!({"pod": "echo-pod", "tls": {"serverName": "a.test"}}), None)]
#[case::another(json!({"pod": "echo-pod", "tls": {"serverName": "b.test"}}), Some("it saw \"b.test\""))]
#[case::none(json!({"pod": "echo-pod", "tls": {"serverName": ""}}), Some("it saw \"\""))]
#[case::clear_text(json!({"pod": "echo-pod"}), Some("it saw clear text"))]
fn the_server_name_that_a_backend_of_streams_saw_is_the_one(#[case] echo: Value, #[case] told: Option<&str>) {
    let answer = Answer::TlsBackend {
        backend: Some("echo".to_owned()),
        certificate: None,
        trusted: None,
        alpn: Vec::new(),
        server_name: Some("a.test".to_owned()),
    };
    let stream = Probe { method: None, host: None, contrast: false, ..get(answer) };
    let back = Back::Tcp(TcpEnd::Answered { line: String::new(), echo: EchoText::of(&echo) });
    let found = first_finding(stream, back).map(|(expectation, _, seen)| (expectation, seen));
    assert_eq!(found, told.map(|seen| ("steps[0].probe.seen.tls".to_owned(), seen.to_owned())));
}

/// Who has no backend to name asks whose handshake it is, and no more.
#[rstest]
#[case::its_own(Some("a.test"), None)]
#[case::another(Some("b.test"), Some("one for b.test"))]
#[case::no_handshake(None, Some("one without any name, or none"))]
fn a_handshake_alone_is_looked_at(#[case] presented: Option<&str>, #[case] told: Option<&str>) {
    let certificate = Some("a.test".to_owned());
    let answer = Answer::TlsBackend { backend: None, certificate, trusted: None, alpn: Vec::new(), server_name: None };
    let request = ProbeRequest::from(HttpRequest::default());
    let mut exchange = exchange("id".to_owned(), request, Elapsed(0), Back::Tcp(TcpEnd::ClosedBeforeAnyByte));
    exchange.certificate =
        presented.map(|name| PeerCertificate { names: vec![name.to_owned()], sha256: String::new(), distrusted: None });
    let misses = compare(&answer, &exchange, Level::Must, "probe", &bindings());
    let found: Vec<_> = misses.iter().map(|miss| (miss.expectation.as_str(), miss.seen.as_str())).collect();
    assert_eq!(found, told.map(|seen| ("probe.certificate", seen)).into_iter().collect::<Vec<_>>());
}

/// The certificate that a backend was shown, what is asked of it, and what then is told.
#[rstest]
#[case::the_one(Some("a.test"), "a.test", None)]
#[case::another(Some("b.test"), "a.test", Some("it was shown one for b.test"))]
#[case::none(None, "a.test", Some("it was shown none"))]
#[case::none_as_asked(None, "none", None)]
#[case::not_none(Some("b.test"), "none", Some("it was shown one for b.test"))]
fn what_a_backend_was_shown_is_the_one(#[case] shown: Option<&str>, #[case] wanted: &str, #[case] told: Option<&str>) {
    let pem = |name: &str| rcgen::generate_simple_self_signed([name.to_owned()]).unwrap().cert.pem();
    let shown = shown.map(|name| json!([pem(name)]));
    let echo = json!({"pod": "echo-pod", "tls": {"serverName": "", "peerCertificates": shown}});
    let http = HttpAnswer { status: 200, echo: EchoText::of(&echo), ..HttpAnswer::default() };
    let request = ProbeRequest::from(HttpRequest::default());
    let mut exchange = exchange("id".to_owned(), request, Elapsed(0), Back::Status(200));
    exchange.http = Some(http);
    let backend = Some("echo".to_owned());
    let seen = Seen { status: vec![200], backend, client_name: Some(wanted.to_owned()), ..Seen::default() };
    let misses = compare(&Answer::Http(Box::new(seen)), &exchange, Level::Must, "probe", &bindings());
    let found: Vec<_> = misses.iter().map(|miss| (miss.expectation.as_str(), miss.seen.as_str())).collect();
    assert_eq!(found, told.map(|seen| ("probe.seen.client", seen)).into_iter().collect::<Vec<_>>());
}

/// What is presented, what is asked of it, and what then is told.
#[rstest]
#[case::trusted(Back::Presented("a.test", "echo-pod"), Some("a.test"), None)]
#[case::distrusted(Back::Distrusted("a.test", "echo-pod"), Some("a.test"), Some(("trusted", "it does not: UnknownIssuer")))]
#[case::no_name_asked(Back::Distrusted("a.test", "echo-pod"), None, Some(("trusted", "it does not: UnknownIssuer")))]
#[case::another_name(Back::Distrusted("b.test", "echo-pod"), Some("a.test"), Some(("certificate", "one for b.test")))]
#[case::none(Back::Echo("echo-pod"), None, Some(("trusted", "none is presented")))]
fn what_is_presented_is_trusted(
    #[case] back: Back,
    #[case] certificate: Option<&str>,
    #[case] told: Option<(&str, &str)>,
) {
    let seen = Seen {
        backend: Some("echo".to_owned()),
        certificate: certificate.map(str::to_owned),
        trusted: Some("ca".to_owned()),
        ..Seen::default()
    };
    let request = Probe { contrast: false, ..get(Answer::Http(Box::new(seen))) };
    let found = first_finding(request, back).map(|(expectation, _, seen)| (expectation, seen));
    assert_eq!(found, told.map(|(part, seen)| (format!("steps[0].probe.{part}"), seen.to_owned())));
}

/// What is presented before the connection ends without an answer, and whether nothing was to be presented for `a.test`.
#[rstest]
#[case::nothing(None, true)]
#[case::another(Some("other.test"), true)]
#[case::its_own(Some("a.test"), false)]
fn no_certificate_is_presented_for_the_name(#[case] presented: Option<&str>, #[case] agrees: bool) {
    let request = HttpRequest { tls_server_name: Some("a.test".to_owned()), ..HttpRequest::default() };
    let mut exchange = exchange("id".to_owned(), ProbeRequest::from(request), Elapsed(0), Back::Echo("echo-pod"));
    let misses = |answer, exchange: &_| compare(&answer, exchange, Level::Must, "probe", &bindings());
    assert!(!misses(Answer::NoCertificate, &exchange).is_empty());
    exchange.http = None;
    exchange.error = Some(ProbeError::Broken("closed".to_owned()));
    let certificate =
        |name: &str| PeerCertificate { names: vec![name.to_owned()], sha256: String::new(), distrusted: None };
    exchange.certificate = presented.map(certificate);
    assert!(misses(Answer::NoAnswer, &exchange).is_empty());
    assert_eq!(misses(Answer::NoCertificate, &exchange).is_empty(), agrees);
}

/// Whether a client that has a certificate had to be asked for it, and what is told of an answer without that.
#[rstest]
#[case::has_to_be(true, Some("it is answered, and was not asked for a certificate"))]
#[case::need_not_be(false, None)]
fn a_client_is_asked_for_its_certificate(#[case] asked: bool, #[case] told: Option<&str>) {
    let authority = "ca".to_owned();
    let client = ClientCertificate { authority, expired: false, future: false, asked, chain: Chain::Direct };
    let request = HttpRequest { client: Some(client), ..HttpRequest::default() };
    let back = Back::Unasked("echo-pod");
    let exchange = exchange("id".to_owned(), ProbeRequest::from(request), Elapsed(0), back);
    let seen = Seen { status: vec![200], ..Seen::default() };
    let misses = compare(&Answer::Http(Box::new(seen)), &exchange, Level::Must, "probe", &bindings());
    assert_eq!(misses.first().map(|miss| miss.seen.as_str()), told);
}

/// A log may be older than the question, or have asked by another authority.
#[rstest]
#[case::by_it(Some("ca"), None)]
#[case::by_nobody(None, Some(true))]
#[case::by_another(Some("other"), Some(true))]
fn whom_no_client_looked_at_is_not_judged(#[case] trusts: Option<&str>, #[case] is_blind: Option<bool>) {
    let seen = Seen { backend: Some("echo".to_owned()), trusted: Some("ca".to_owned()), ..Seen::default() };
    let request = HttpRequest { trusts: trusts.map(str::to_owned), ..HttpRequest::default() };
    let back = Back::Presented("a.test", "echo-pod");
    let exchange = exchange("id".to_owned(), ProbeRequest::from(request), Elapsed(0), back);
    let misses = compare(&Answer::Http(Box::new(seen)), &exchange, Level::Must, "probe", &bindings());
    let trusted = misses.iter().find(|miss| miss.expectation == "probe.trusted");
    assert_eq!(trusted.map(|miss| miss.blind), is_blind, "{misses:?}");
}
