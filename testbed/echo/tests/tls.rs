//! Backends within TLS as their clients see them.
#![allow(clippy::unwrap_used)]

use std::sync::Arc;

use futures::{SinkExt, StreamExt};
use gateproof_echo::{Clients, Echo, EchoOptions, Identity, Journal, Protocol, ServerTls};
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use rstest::rstest;
use rustls::crypto::ring;
use rustls::{ClientConfig, RootCertStore};
use rustls_pki_types::{PrivateKeyDer, ServerName};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use tokio_tungstenite::tungstenite::Message;

const NAME: &str = "backend.example";

struct Authority(CertifiedIssuer<'static, KeyPair>);

impl Authority {
    fn new() -> Self {
        let mut params = CertificateParams::new([]).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        Self(CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap())
    }

    fn sign(&self) -> (rcgen::Certificate, KeyPair) {
        let key = KeyPair::generate().unwrap();
        let params = CertificateParams::new([NAME.to_owned()]).unwrap();
        (params.signed_by(&key, &self.0).unwrap(), key)
    }
}

async fn start(protocol: Protocol, authority: &Authority) -> Echo {
    let (chain, key) = authority.sign();
    let clients = authority.0.pem();
    let tls = ServerTls::asking(&chain.pem(), &key.serialize_pem(), Clients::OfOrNone(&clients)).unwrap();
    let identity = Identity { pod: "pod-1".into(), ..Identity::default() };
    let bind = ([127, 0, 0, 1], 0).into();
    let options = EchoOptions { bind, protocol, identity, run_token: None, journal: Journal::default() };
    Echo::start_tls(options, tls).await.unwrap()
}

/// A handshake in which a certificate of the second authority is shown, if there is one.
async fn connect(echo: &Echo, trusted: &Authority, shown: Option<&Authority>) -> (TlsStream<TcpStream>, String) {
    let mut roots = RootCertStore::empty();
    roots.add(trusted.0.der().clone()).unwrap();
    let builder = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots);
    let (config, pem) = match shown {
        None => (builder.with_no_client_auth(), String::new()),
        Some(authority) => {
            let (chain, key) = authority.sign();
            let der = PrivateKeyDer::try_from(key.serialize_der()).unwrap();
            (builder.with_client_auth_cert(vec![chain.der().clone()], der).unwrap(), chain.pem())
        }
    };
    let stream = TcpStream::connect(echo.addr()).await.unwrap();
    let name = ServerName::try_from(NAME).unwrap();
    (TlsConnector::from(Arc::new(config)).connect(name, stream).await.unwrap(), pem)
}

async fn say(mut stream: impl AsyncReadExt + AsyncWriteExt + Unpin, text: &str) -> String {
    stream.write_all(text.as_bytes()).await.unwrap();
    stream.flush().await.unwrap();
    let mut answer = Vec::new();
    // A server that refuses a certificate ends the stream.
    _ = stream.read_to_end(&mut answer).await;
    String::from_utf8(answer).unwrap()
}

const REQUEST: &str = "GET /a HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n";

fn body(answer: &str) -> Value {
    serde_json::from_str(answer.split_once("\r\n\r\n").unwrap().1).unwrap()
}

#[rstest]
#[case::with_a_certificate(true)]
#[case::without_one(false)]
#[tokio::test]
async fn http_within_tls_tells_of_the_client(#[case] shows: bool) {
    let authority = Authority::new();
    let echo = start(Protocol::Https, &authority).await;
    let (stream, pem) = connect(&echo, &authority, shows.then_some(&authority)).await;
    let tls = body(&say(stream, REQUEST).await)["tls"].clone();
    assert_eq!(tls["serverName"], NAME);
    assert_eq!(tls.get("peerCertificates"), shows.then(|| json!([pem.replace("\r\n", "\n")])).as_ref());
}

#[tokio::test]
async fn what_was_agreed_holds_for_one_answer() {
    let authority = Authority::new();
    let echo = start(Protocol::Https, &authority).await;
    let (stream, _) = connect(&echo, &authority, None).await;
    let answer = say(stream, "GET /a HTTP/1.1\r\nHost: a\r\n\r\nGET /b HTTP/1.1\r\nHost: a\r\n\r\n").await;
    assert!(answer.contains("\r\nConnection: close\r\n"), "{answer}");
    assert_eq!(answer.matches("HTTP/1.1 200").count(), 1, "{answer}");
}

#[tokio::test]
async fn a_websocket_within_tls_is_no_answer_that_ends_the_connection() {
    let authority = Authority::new();
    let echo = start(Protocol::Https, &authority).await;
    let (stream, _) = connect(&echo, &authority, None).await;
    let (mut socket, response) = tokio_tungstenite::client_async("ws://example.com/ws", stream).await.unwrap();
    let connection: Vec<_> = response.headers().get_all("connection").iter().collect();
    assert_eq!(connection, ["Upgrade"]);
    for text in ["one", "two"] {
        socket.send(Message::text(text)).await.unwrap();
        assert_eq!(socket.next().await.unwrap().unwrap(), Message::text(text));
    }
}

#[tokio::test]
async fn who_shows_the_certificate_of_another_is_refused() {
    let (authority, other) = (Authority::new(), Authority::new());
    let echo = start(Protocol::Https, &authority).await;
    let (stream, _) = connect(&echo, &authority, Some(&other)).await;
    assert_eq!(say(stream, REQUEST).await, "");
}

#[tokio::test]
async fn http_within_tls_alone_refuses_clear_text() {
    let echo = start(Protocol::Https, &Authority::new()).await;
    let answer = say(TcpStream::connect(echo.addr()).await.unwrap(), REQUEST).await;
    assert!(answer.starts_with("HTTP/1.1 400"), "{answer}");
}

#[tokio::test]
async fn a_dialogue_within_tls_says_so() {
    let authority = Authority::new();
    let echo = start(Protocol::Dialogue, &authority).await;
    let (mut stream, _) = connect(&echo, &authority, None).await;
    stream.write_all(b"IS_TLS\nTEST\n").await.unwrap();
    stream.shutdown().await.unwrap();
    let answer = say(stream, "").await;
    let lines: Vec<&str> = answer.lines().collect();
    assert_eq!(lines[..2], ["Gateway API Test TCP Server", "true"]);
    let about: Value = serde_json::from_str(lines[2]).unwrap();
    assert_eq!((&about["isTLS"], &about["tls"]["serverName"]), (&json!(true), &json!(NAME)));
}
