//! The server by its socket.
#![allow(clippy::unwrap_used, clippy::expect_used)]

use std::sync::Arc;

use gateproof_arm::{Arm, ArmError, ArmOptions, MOST_BODY};
use rstest::rstest;
use rustls::RootCertStore;
use rustls_pki_types::pem::PemObject;
use rustls_pki_types::{CertificateDer, ServerName};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;

/// Status and body of the answer to one request.
async fn exchange(mut stream: impl AsyncRead + AsyncWrite + Unpin, head: &str, body: &str) -> (u16, String) {
    let request = format!("{head}\r\nHost: arm\r\nConnection: close\r\nContent-Length: {}\r\n\r\n{body}", body.len());
    // A server that refuses a body may close before it has read all of it.
    let _ = stream.write_all(request.as_bytes()).await;
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer).await;
    let answer = String::from_utf8(answer).unwrap();
    let status = answer.split(' ').nth(1).expect("a status line").parse().unwrap();
    (status, answer.split_once("\r\n\r\n").map(|(_, body)| body.to_owned()).unwrap_or_default())
}

async fn plain(arm: &Arm, head: &str, body: &str) -> (u16, String) {
    exchange(TcpStream::connect(arm.addr()).await.unwrap(), head, body).await
}

fn token_request(arm: &Arm) -> String {
    let resource = arm.url().replace(':', "%3A").replace('/', "%2F");
    let header = arm.identity_header();
    format!("GET /token?api-version=2019-08-01&resource={resource} HTTP/1.1\r\nX-IDENTITY-HEADER: {header}")
}

fn group(arm: &Arm, method: &str, token: &str) -> String {
    let variables = arm.environment();
    let subscription = &variables.iter().find(|(name, _)| *name == "AZURE_SUBSCRIPTION_ID").unwrap().1;
    let path = format!("/subscriptions/{subscription}/resourceGroups/g?api-version=2020-06-01");
    format!("{method} {path} HTTP/1.1\r\nAuthorization: Bearer {token}\r\nContent-Type: application/json")
}

fn token_in(answer: &str) -> String {
    let answer: serde_json::Value = serde_json::from_str(answer).unwrap();
    answer["access_token"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn what_is_put_with_a_token_is_there_and_in_the_log() {
    let arm = Arm::start(ArmOptions::default()).await.unwrap();
    assert_eq!(plain(&arm, &group(&arm, "PUT", "made-up"), r#"{"location":"here"}"#).await.0, 401);
    let (status, answer) = plain(&arm, &token_request(&arm), "").await;
    assert_eq!(status, 200, "{answer}");
    let token = token_in(&answer);
    assert_eq!(plain(&arm, &group(&arm, "PUT", &token), r#"{"location":"here"}"#).await.0, 201);
    let (status, got) = plain(&arm, &group(&arm, "GET", &token), "").await;
    assert_eq!(status, 200);
    assert!(got.contains("Succeeded"), "{got}");

    let log = |token: &str| format!("GET /control/requests?after=0 HTTP/1.1\r\nAuthorization: Bearer {token}");
    assert_eq!(plain(&arm, &log(&token), "").await.0, 401, "a token of ARM is none of the control");
    let (status, page) = plain(&arm, &log(arm.control_token()), "").await;
    assert_eq!(status, 200);
    let page: serde_json::Value = serde_json::from_str(&page).unwrap();
    let seen: Vec<_> = page["requests"].as_array().unwrap().iter().map(|r| (&r["method"], &r["status"])).collect();
    assert_eq!(seen, [(&"PUT".into(), &401.into()), (&"PUT".into(), &201.into()), (&"GET".into(), &200.into())]);
    arm.shutdown().await;
}

#[tokio::test]
async fn a_body_that_is_too_large_is_refused_and_the_server_goes_on() {
    let arm = Arm::start(ArmOptions::default()).await.unwrap();
    let token = token_in(&plain(&arm, &token_request(&arm), "").await.1);
    let large = "x".repeat(MOST_BODY + 1);
    assert_eq!(plain(&arm, &group(&arm, "PUT", &token), &large).await.0, 413);
    assert_eq!(plain(&arm, &group(&arm, "PUT", &token), r#"{"location":"here"}"#).await.0, 201);
}

#[tokio::test]
async fn with_tls_its_own_authority_is_what_clients_trust() {
    let arm = Arm::start(ArmOptions { tls: true, ..ArmOptions::default() }).await.unwrap();
    assert!(arm.url().starts_with("https://"), "{}", arm.url());
    let ca = CertificateDer::from_pem_slice(arm.ca_pem().unwrap().as_bytes()).unwrap();
    let connect = |roots: RootCertStore| {
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = rustls::ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_root_certificates(roots)
            .with_no_client_auth();
        let connector = TlsConnector::from(Arc::new(config));
        let address = arm.addr();
        async move {
            let stream = TcpStream::connect(address).await.unwrap();
            connector.connect(ServerName::from(address.ip()), stream).await
        }
    };
    assert!(connect(RootCertStore::empty()).await.is_err());
    let mut roots = RootCertStore::empty();
    roots.add(ca).unwrap();
    let stream = connect(roots).await.unwrap();
    assert_eq!(exchange(stream, &token_request(&arm), "").await.0, 200);
}

#[tokio::test]
async fn a_script_that_delays_answers_does_not_delay_the_end() {
    let arm = Arm::start(ArmOptions::default()).await.unwrap();
    let token = token_in(&plain(&arm, &token_request(&arm), "").await.1);
    let put = format!("PUT /control/scripts/slow HTTP/1.1\r\nAuthorization: Bearer {}", arm.control_token());
    let slow = r#"{"rules":[{"method":"GET","path":"**","delay":60}]}"#;
    let (status, answer) = plain(&arm, &put, slow).await;
    assert!(status < 300, "{status} {answer}");
    let address = arm.addr();
    let head = group(&arm, "GET", &token);
    let asked = tokio::spawn(async move { exchange(TcpStream::connect(address).await.unwrap(), &head, "").await });
    let log = format!("GET /control/requests?after=0 HTTP/1.1\r\nAuthorization: Bearer {}", arm.control_token());
    while !plain(&arm, &log, "").await.1.contains(r#""GET""#) {
        tokio::task::yield_now().await;
    }
    arm.shutdown().await;
    // The answer is cut short of its delay: it came, or the connection ended.
    let _ = asked.await;
    assert!(TcpStream::connect(address).await.is_err(), "the port is free again");
}

#[rstest]
#[case::replaced("PUT", r#"{"rules":[]}"#)]
#[case::taken_away("DELETE", "")]
#[tokio::test]
async fn what_a_script_keeps_back_goes_out_with_it(#[case] verb: &str, #[case] body: &str) {
    let arm = Arm::start(ArmOptions::default()).await.unwrap();
    let token = token_in(&plain(&arm, &token_request(&arm), "").await.1);
    let control =
        |verb: &str| format!("{verb} /control/scripts/slow HTTP/1.1\r\nAuthorization: Bearer {}", arm.control_token());
    let slow = r#"{"rules":[{"method":"GET","path":"**","delay":600}]}"#;
    assert!(plain(&arm, &control("PUT"), slow).await.0 < 300);
    let (address, head) = (arm.addr(), group(&arm, "GET", &token));
    let asked = tokio::spawn(async move { exchange(TcpStream::connect(address).await.unwrap(), &head, "").await });
    let log = format!("GET /control/requests?after=0 HTTP/1.1\r\nAuthorization: Bearer {}", arm.control_token());
    while !plain(&arm, &log, "").await.1.contains(r#""GET""#) {
        tokio::task::yield_now().await;
    }
    assert!(!asked.is_finished());
    assert!(plain(&arm, &control(verb), body).await.0 < 300);
    assert_eq!(asked.await.unwrap().0, 404);
}

#[rstest]
#[case("0.0.0.0:0")]
#[case("[::]:0")]
#[tokio::test]
async fn elsewhere_than_on_loopback_it_does_not_start(#[case] bind: &str) {
    let options = ArmOptions { bind: bind.parse().unwrap(), ..ArmOptions::default() };
    assert!(matches!(Arm::start(options).await, Err(ArmError::NotLoopback(_))));
}
