//! TLS towards backends.
#![allow(clippy::unwrap_used)]

mod common;

use std::net::SocketAddr;

use common::*;
use gateproof_echo::{Echo, EchoOptions, Identity, Journal, Protocol as EchoProtocol, ServerTls};
use gateproof_proxy::config::*;
use http::Request;
use http_body_util::Full;
use hyper::body::Bytes;
use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair, SanType};
use rstest::rstest;
use serde_json::Value;

/// An authority: its certificate in PEM, and what it signs with.
fn authority() -> (String, Issuer<'static, KeyPair>) {
    let key = KeyPair::generate().unwrap();
    let mut params = CertificateParams::new(vec![]).unwrap();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let pem = params.self_signed(&key).unwrap().pem();
    (pem, Issuer::new(params, key))
}

async fn backend(issuer: &Issuer<'static, KeyPair>, expired: bool) -> Echo {
    let key = KeyPair::generate().unwrap();
    let mut params = CertificateParams::new(vec!["a.test".to_owned(), "*.wild.test".to_owned()]).unwrap();
    params.subject_alt_names.push(SanType::URI("spiffe://a.test/x".try_into().unwrap()));
    params.distinguished_name.push(rcgen::DnType::CommonName, "common.test");
    if expired {
        params.not_after = rcgen::date_time_ymd(2001, 1, 1);
    }
    let chain = params.signed_by(&key, issuer).unwrap().pem();
    let options = EchoOptions {
        bind: SocketAddr::new(LOOPBACK, 0),
        protocol: EchoProtocol::Http,
        identity: Identity { pod: "tls".to_owned(), ..Identity::default() },
        run_token: None,
        journal: Journal::default(),
    };
    Echo::start_tls(options, ServerTls::from_pem(&chain, &key.serialize_pem()).unwrap()).await.unwrap()
}

/// Answer and account of a request that is sent on with these settings, in clear text without any.
async fn asked(to: &Echo, tls: Option<BackendTls>, h2: bool) -> (u16, Value) {
    let bed = Bed::new(&["clear"]).await;
    let endpoints = vec![to.addr()];
    let target = match tls {
        Some(tls) => BackendTarget::Tls { endpoints, h2, tls },
        None => BackendTarget::Endpoints(endpoints),
    };
    let address = bed.apply(rules(vec![route("a", vec![Backend { target, ..bed.backend(0) }])])).await;
    let request = Request::get("/").header("host", "client.test").body(Full::<Bytes>::default()).unwrap();
    let response = send(address, request).await;
    (response.status.as_u16(), serde_json::from_str(&response.body).unwrap_or_default())
}

fn named(name: &str, authority: &str, names: &[PeerName]) -> Option<BackendTls> {
    let authorities = Authorities::Pem(authority.to_owned());
    Some(BackendTls { server_name: name.to_owned(), authorities, names: names.to_vec(), client: None })
}

fn dns(name: &str) -> PeerName {
    PeerName::Dns(name.to_owned())
}

fn uri(name: &str) -> PeerName {
    PeerName::Uri(name.to_owned())
}

#[rstest]
#[case::right("a.test", &[], 200)]
#[case::below_a_wildcard("b.wild.test", &[], 200)]
#[case::two_labels_below_it("c.b.wild.test", &[], 502)]
#[case::another_name("b.test", &[], 502)]
#[case::of_other_names_one_is_enough("b.test", &[dns("c.test"), dns("a.test")], 200)]
#[case::the_server_name_is_none_of_them("a.test", &[dns("c.test")], 502)]
#[case::a_uri("b.test", &[uri("spiffe://a.test/x")], 200)]
#[case::another_uri("a.test", &[uri("spiffe://a.test/y")], 502)]
#[case::a_host_is_no_uri("a.test", &[uri("a.test")], 502)]
#[case::a_wildcard_as_it_stands("b.test", &[dns("*.wild.test")], 200)]
#[case::another_wildcard("a.test", &[dns("*.test")], 502)]
#[case::what_its_subject_is_called("common.test", &[], 502)]
#[case::what_its_subject_is_called_if_that_counts("common.test", &[PeerName::CommonName("Common.test".to_owned())], 200)]
#[case::a_name_that_is_not_its_subject("a.test", &[PeerName::CommonName("a.test".to_owned())], 502)]
#[case::two_labels_if_they_count("c.b.wild.test", &[PeerName::AnyLabels("c.B.wild.test".to_owned())], 200)]
#[case::the_domain_of_a_wildcard("wild.test", &[PeerName::AnyLabels("wild.test".to_owned())], 502)]
#[case::as_it_stands("a.test", &[PeerName::Literal("A.test".to_owned())], 200)]
#[case::no_wildcard_as_it_stands("b.wild.test", &[PeerName::Literal("b.wild.test".to_owned())], 502)]
#[tokio::test]
async fn certificates_carry_the_name_that_is_asked_for(
    #[case] name: &str,
    #[case] names: &[PeerName],
    #[case] expected: u16,
) {
    let (pem, issuer) = authority();
    let backend = backend(&issuer, false).await;
    let (status, account) = asked(&backend, named(name, &pem, names), false).await;
    assert_eq!(status, expected, "{account}");
    if expected == 200 {
        assert_eq!(account["tls"]["serverName"], name);
        assert_eq!((&account["host"], &account["proto"]), (&Value::from("client.test"), &Value::from("HTTP/1.1")));
    }
}

#[tokio::test]
async fn certificates_come_from_the_authority_and_are_in_force() {
    let ((pem, issuer), (other, _)) = (authority(), authority());
    let good = backend(&issuer, false).await;
    assert_eq!(asked(&good, named("a.test", &other, &[]), false).await.0, 502);
    assert_eq!(asked(&good, named("a.test", &format!("{other}{pem}"), &[]), false).await.0, 200);
    assert_eq!(asked(&good, named("a.test", "no PEM", &[]), false).await.0, 502);
    assert_eq!(asked(&backend(&issuer, true).await, named("a.test", &pem, &[]), false).await.0, 502);
    let system = BackendTls { authorities: Authorities::System, ..named("a.test", "", &[]).unwrap() };
    assert_eq!(asked(&good, Some(system), false).await.0, 502);
}

#[tokio::test]
async fn http2_goes_over_tls_too_and_clear_text_stays_clear() {
    let (pem, issuer) = authority();
    let backend = backend(&issuer, false).await;
    let (_, account) = asked(&backend, named("a.test", &pem, &[]), true).await;
    assert_eq!((&account["proto"], &account["tls"]["negotiatedProtocol"]), (&"HTTP/2.0".into(), &"h2".into()));
    let (status, account) = asked(&backend, None, false).await;
    assert_eq!((status, account.get("tls")), (200, None));
}
