//! HTTP over TLS: certificates and listeners by server name.
#![allow(clippy::unwrap_used)]

mod common;

use std::net::SocketAddr;
use std::sync::Arc;

use common::*;
use gateproof_proxy::config::*;
use http::StatusCode;
use rustls::crypto::ring;
use rustls::{ClientConfig, RootCertStore};
use rustls_pki_types::ServerName;
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

struct Issued {
    certificate: Certificate,
    roots: RootCertStore,
}

fn issue(names: &[&str]) -> Issued {
    let issued =
        rcgen::generate_simple_self_signed(names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>()).unwrap();
    let mut roots = RootCertStore::empty();
    roots.add(issued.cert.der().clone()).unwrap();
    let key_pem = Sensitive::new(issued.signing_key.serialize_pem());
    Issued { certificate: Certificate { chain_pem: issued.cert.pem(), key_pem }, roots }
}

async fn connect(
    address: SocketAddr,
    name: &str,
    roots: &RootCertStore,
    alpn: &[u8],
) -> std::io::Result<TlsStream<TcpStream>> {
    let mut config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots.clone())
        .with_no_client_auth();
    config.alpn_protocols = vec![alpn.to_vec()];
    let name = ServerName::try_from(name.to_owned()).unwrap();
    TlsConnector::from(Arc::new(config)).connect(name, TcpStream::connect(address).await?).await
}

fn tls(hostname: &str, issued: &Issued, backend: Backend) -> TlsListener {
    TlsListener {
        virtual_host: host(hostname, vec![route(&format!("for-{hostname}"), vec![backend])]),
        certificates: vec![issued.certificate.clone()],
        clients: None,
    }
}

fn https(listeners: Vec<TlsListener>) -> Config {
    Config { listeners: vec![listener(Protocol::Https(listeners))], ..Config::default() }
}

#[tokio::test]
async fn server_name_chooses_certificate_and_listener() {
    let bed = Bed::new(&["one", "two"]).await;
    let (first, second) = (issue(&["a.example.org"]), issue(&["*.wildcard.org"]));
    let address = bed
        .apply(https(vec![
            tls("a.example.org", &first, bed.backend(0)),
            tls("*.wildcard.org", &second, bed.backend(1)),
        ]))
        .await;
    for (name, roots, pod) in [("a.example.org", &first.roots, "one"), ("x.wildcard.org", &second.roots, "two")] {
        let stream = connect(address, name, roots, b"http/1.1").await.unwrap();
        let json = Client::over(stream).await.get(name, "/").await.unwrap().json();
        assert_eq!(json["pod"], pod);
        assert_eq!(json["headers"]["X-Forwarded-Proto"], serde_json::json!(["https"]));
    }
}

#[tokio::test]
async fn an_unknown_server_name_ends_the_handshake() {
    let bed = Bed::new(&["one"]).await;
    let issued = issue(&["a.example.org", "b.example.org"]);
    let address = bed.apply(https(vec![tls("a.example.org", &issued, bed.backend(0))])).await;
    let error = connect(address, "b.example.org", &issued.roots, b"http/1.1").await.unwrap_err();
    assert!(error.to_string().contains("alert"), "{error}");
    // An address as name means a handshake without server name.
    let error = connect(address, "127.0.0.1", &issued.roots, b"http/1.1").await.unwrap_err();
    assert!(error.to_string().contains("alert"), "{error}");
}

#[tokio::test]
async fn a_host_of_another_listener_is_misdirected() {
    let bed = Bed::new(&["one", "two", "three"]).await;
    let issued = issue(&["example.org", "second.org", "unknown.org", "a.wildcard.org", "b.wildcard.org"]);
    let mut any = tls("", &issued, bed.backend(0));
    any.virtual_host.routes[0].hostnames = vec![Hostname::parse("example.org")];
    let address = bed
        .apply(https(vec![
            any,
            tls("second.org", &issued, bed.backend(1)),
            tls("*.wildcard.org", &issued, bed.backend(2)),
        ]))
        .await;
    for (name, authority, expected) in [
        ("example.org", "example.org", 200),
        ("example.org", "second.org", 421),
        ("example.org", "unknown.org", 404),
        ("unknown.org", "example.org", 200),
        ("second.org", "second.org", 200),
        ("second.org", "example.org", 421),
        ("a.wildcard.org", "b.wildcard.org", 200),
        ("a.wildcard.org", "unknown.org", 421),
    ] {
        let stream = connect(address, name, &issued.roots, b"h2").await.unwrap();
        let answer = h2_get(stream, &format!("https://{authority}/")).await;
        assert_eq!(answer.status.as_u16(), expected, "server name {name}, host {authority}");
    }
}

#[tokio::test]
async fn a_certificate_that_covers_the_name_is_preferred() {
    let bed = Bed::new(&["one"]).await;
    let (first, second) = (issue(&["a.example.org"]), issue(&["b.example.org"]));
    let mut both = tls("", &first, bed.backend(0));
    both.certificates.push(second.certificate.clone());
    let address = bed.apply(https(vec![both])).await;
    assert!(connect(address, "b.example.org", &second.roots, b"h2").await.is_ok());
    assert!(connect(address, "a.example.org", &first.roots, b"h2").await.is_ok());
}

#[tokio::test]
async fn an_unusable_certificate_is_reported_and_the_rest_served() {
    let bed = Bed::new(&["one"]).await;
    let (good, other) = (issue(&["a.example.org"]), issue(&["b.example.org"]));
    let mut broken = tls("b.example.org", &other, bed.backend(0));
    broken.certificates[0].key_pem = good.certificate.key_pem.clone();
    let outcome = bed.proxy.apply(https(vec![broken, tls("a.example.org", &good, bed.backend(0))])).await;
    assert_eq!(outcome.problems.len(), 1);
    assert_eq!(outcome.problems[0].subject, "listener-b.example.org");
    let address = outcome.listeners[0].bound.clone().unwrap();
    assert!(connect(address, "b.example.org", &other.roots, b"h2").await.is_err());
    let stream = connect(address, "a.example.org", &good.roots, b"http/1.1").await.unwrap();
    assert_eq!(Client::over(stream).await.get("a.example.org", "/").await.unwrap().status, StatusCode::OK);
}
