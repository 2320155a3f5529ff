//! Streams within TLS through the proxy, passed on or terminated by server name.
#![allow(clippy::unwrap_used)]

mod common;

use std::net::SocketAddr;
use std::sync::Arc;

use common::*;
use gateproof_echo::{Journal, Protocol as EchoProtocol};
use gateproof_proxy::config::*;
use rstest::rstest;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::ring;
use rustls::{ClientConfig, DigitallySignedStruct, SignatureScheme};
use rustls_pki_types::{CertificateDer, ServerName, UnixTime};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;

/// Takes any certificate.
#[derive(Debug)]
struct Trusting;

impl ServerCertVerifier for Trusting {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn verify_tls13_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        ring::default_provider().signature_verification_algorithms.supported_schemes()
    }
}

/// The pod that answers to a server name, and whether the certificate is `expected`; nothing if the connection is refused.
async fn ask(address: SocketAddr, name: Option<&str>, expected: &str) -> Option<(String, bool)> {
    let mut config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(Trusting))
        .with_no_client_auth();
    config.enable_sni = name.is_some();
    let to = ServerName::try_from(name.unwrap_or("nobody").to_owned()).unwrap();
    let stream = TcpStream::connect(address).await.unwrap();
    let stream = TlsConnector::from(Arc::new(config)).connect(to, stream).await.ok()?;
    let leaf = stream.get_ref().1.peer_certificates().unwrap()[0].clone();
    let shown = rustls::server::ParsedCertificate::try_from(&leaf).unwrap();
    let is_expected =
        rustls::client::verify_server_name(&shown, &ServerName::try_from(expected.to_owned()).unwrap()).is_ok();
    let mut stream = BufReader::new(stream);
    // Over TLS 1.3 a client hears only then that it is refused.
    stream.write_all(b"id hello\n").await.ok()?;
    let mut line = String::new();
    stream.read_line(&mut line).await.ok()?;
    let pod = serde_json::from_str::<serde_json::Value>(&line).unwrap()["pod"].as_str().unwrap().to_owned();
    Some((pod, is_expected))
}

fn stream(hostname: &str, certificates: Option<Vec<Certificate>>, routes: &[(&str, SocketAddr)]) -> StreamListener {
    let route = |(hostname, to): &(&str, SocketAddr)| StreamRoute {
        name: (*hostname).to_owned(),
        hostnames: vec![Hostname::parse(hostname)],
        backends: vec![TcpBackend { id: "test/tls".to_owned(), weight: 1, target: TcpTarget::Endpoints(vec![*to]) }],
    };
    StreamListener {
        listener: hostname.to_owned(),
        hostname: Hostname::parse(hostname),
        certificates,
        clients: None,
        routes: routes.iter().map(route).collect(),
    }
}

fn tls(streams: Vec<StreamListener>) -> Config {
    let port = TlsPort { https: Vec::new(), streams };
    Config { listeners: vec![listener(Protocol::Tls(port))], ..Config::default() }
}

fn certificate(host: &str) -> Certificate {
    let made = rcgen::generate_simple_self_signed([host.to_owned()]).unwrap();
    Certificate { chain_pem: made.cert.pem(), key_pem: Sensitive::new(made.signing_key.serialize_pem()) }
}

async fn backend(pod: &str, protocol: EchoProtocol, journal: &Journal) -> gateproof_echo::Echo {
    let identity = gateproof_echo::Identity { pod: pod.to_owned(), service: "echo".to_owned(), ..Default::default() };
    let bind = SocketAddr::new(LOOPBACK, 0);
    let options = gateproof_echo::EchoOptions { bind, protocol, identity, run_token: None, journal: journal.clone() };
    gateproof_echo::Echo::start(options).await.unwrap()
}

#[rstest]
#[case::passed_on(Some("one.pass.test"), Some(("exact", "echo")))]
#[case::by_a_wildcard(Some("a.b.pass.test"), Some(("wide", "echo")))]
#[case::whatever_the_case(Some("ONE.Pass.test"), Some(("exact", "echo")))]
#[case::terminated(Some("end.test"), Some(("plain", "end.test")))]
#[case::within_the_listener_alone(Some("other.end.test"), None)]
#[case::nobodys(Some("other.test"), None)]
#[case::none(None, None)]
#[tokio::test]
async fn server_names_choose(#[case] name: Option<&str>, #[case] expected: Option<(&str, &str)>) {
    let bed = Bed::new(&[]).await;
    let wide = backend("wide", EchoProtocol::Tls, &bed.journal).await;
    let exact = backend("exact", EchoProtocol::Tls, &bed.journal).await;
    let plain = backend("plain", EchoProtocol::Tcp, &bed.journal).await;
    let address = bed
        .apply(tls(vec![
            stream("*.pass.test", None, &[("*.pass.test", wide.addr()), ("one.pass.test", exact.addr())]),
            stream("end.test", Some(vec![certificate("end.test")]), &[("end.test", plain.addr())]),
            stream("*.end.test", None, &[("third.end.test", wide.addr())]),
        ]))
        .await;
    let (pod, shown) = expected.map_or((None, "echo"), |(pod, shown)| (Some(pod.to_owned()), shown));
    assert_eq!(ask(address, name, shown).await, pod.map(|pod| (pod, true)));
}

#[rstest]
#[case::valid(Admits::Valid, false)]
#[case::everybody(Admits::Everybody, true)]
#[tokio::test]
async fn clients_show_what_a_listener_asks_for(#[case] admits: Admits, #[case] expected: bool) {
    let bed = Bed::new(&[]).await;
    let plain = backend("plain", EchoProtocol::Tcp, &bed.journal).await;
    let own = certificate("end.test");
    let authorities = own.chain_pem.clone();
    let clients = Some(ClientValidation { authorities, admits, refuses: Refuses::BehindHandshake });
    let asking = StreamListener { clients, ..stream("end.test", Some(vec![own]), &[("end.test", plain.addr())]) };
    let address = bed.apply(tls(vec![asking])).await;
    let answer = ask(address, Some("end.test"), "end.test").await;
    assert_eq!(answer, expected.then(|| ("plain".to_owned(), true)));
}

#[tokio::test]
async fn a_missing_backend_is_a_reset_before_any_byte() {
    let bed = Bed::new(&[]).await;
    let dead = SocketAddr::from(([127, 0, 0, 1], 1));
    let certificates = Some(vec![certificate("end.test")]);
    let address = bed
        .apply(tls(vec![stream("end.test", certificates, &[("end.test", dead)]), stream("", None, &[("", dead)])]))
        .await;
    assert_eq!(ask(address, Some("end.test"), "end.test").await, None);
    assert_eq!(ask(address, Some("other.test"), "echo").await, None);
}

#[rstest]
#[case::no_tls(b"GET / HTTP/1.1\r\n\r\n".to_vec())]
#[case::a_message_without_end([&[22, 3, 1, 64, 0, 1, 0, 255, 255][..], &[0; 70_000]].concat())]
#[tokio::test]
async fn what_is_no_hello_is_not_waited_for(#[case] sent: Vec<u8>) {
    let bed = Bed::new(&[]).await;
    let address = bed.apply(tls(vec![stream("", None, &[])])).await;
    let mut client = TcpStream::connect(address).await.unwrap();
    let asked = async {
        client.write_all(&sent).await?;
        client.read(&mut [0; 1]).await
    };
    assert!(matches!(asked.await, Ok(0) | Err(_)));
}
