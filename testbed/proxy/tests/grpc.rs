//! Calls of gRPC through the proxy.
#![allow(clippy::unwrap_used)]

mod common;

use bytes::Bytes;
use common::*;
use gateproof_echo::grpc::message::{Account, frame, frames};
use gateproof_echo::{Echo, EchoOptions, Identity, Protocol as EchoProtocol};
use gateproof_proxy::config::*;
use http::{HeaderMap, Request, Response};
use http_body_util::{BodyExt, Full};
use hyper_util::rt::{TokioExecutor, TokioIo};
use rstest::rstest;
use tokio::net::TcpStream;

/// What came of a call.
#[derive(Debug)]
struct Ended {
    code: Option<String>,
    accounts: Vec<Account>,
    trailers: HeaderMap,
}

async fn call(address: std::net::SocketAddr, path: &str, metadata: &[(&str, &str)]) -> Ended {
    let stream = TcpStream::connect(address).await.unwrap();
    let (mut sender, connection) =
        hyper::client::conn::http2::handshake(TokioExecutor::new(), TokioIo::new(stream)).await.unwrap();
    tokio::spawn(connection);
    let mut request = Request::post(format!("http://host.test{path}"))
        .header("content-type", "application/grpc")
        .header("te", "trailers");
    for (name, value) in metadata {
        request = request.header(*name, *value);
    }
    let response = sender.send_request(request.body(Full::new(frame(b""))).unwrap()).await.unwrap();
    let headers = response.headers().clone();
    let body = response.into_body().collect().await.unwrap();
    let trailers = body.trailers().cloned().unwrap_or_default();
    let code = trailers.get("grpc-status").or(headers.get("grpc-status"));
    Ended {
        code: code.map(|code| code.to_str().unwrap().to_owned()),
        accounts: frames(&body.to_bytes()).map(|message| Account::decode(message).unwrap()).collect(),
        trailers,
    }
}

/// A rule for the calls of a service.
fn calls(service: &str, target: BackendTarget) -> Route {
    let service = Some(ValueMatch::Exact(service.to_owned()));
    let path = PathMatch::Rpc { service, method: None };
    let backend = Backend { id: "test/backend".to_owned(), weight: 1, target, filters: vec![] };
    Route { matches: vec![RequestMatch { path, ..RequestMatch::default() }], ..route("calls", vec![backend]) }
}

#[tokio::test]
async fn a_call_reaches_its_backend_and_the_answer_is_whole() {
    let bed = Bed::new(&[]).await;
    let echo = start("one", EchoProtocol::H2c, &bed.journal).await;
    let address = bed.apply(rules(vec![calls("a.B", BackendTarget::H2cEndpoints(vec![echo.addr()]))])).await;
    let metadata =
        [("x-echo-messages", "3"), ("x-echo-set-trailer", "late:1"), ("x-echo-set-code", "5"), ("x-bin", "AAE")];
    let ended = call(address, "/a.B/C", &metadata).await;
    assert_eq!((ended.code.as_deref(), ended.accounts.len()), (Some("5"), 3));
    assert_eq!(ended.trailers["late"], "1");
    let account = &ended.accounts[0];
    assert_eq!((account.method.as_str(), account.authority.as_str()), ("/a.B/C", "host.test"));
    for field in [("x-bin", "AAE"), ("te", "trailers")] {
        assert!(account.headers.contains(&(field.0.to_owned(), field.1.to_owned())), "{account:?}");
    }
}

#[rstest]
#[case::no_rule("/x.Y/Z", "12")]
#[case::unavailable("/gone.A/B", "14")]
#[case::other_failure("/odd.A/B", "2")]
#[case::nobody_listens("/deaf.A/B", "14")]
#[tokio::test]
async fn a_call_without_a_backend_ends_with_a_code(#[case] path: &str, #[case] code: &str) {
    let bed = Bed::new(&[]).await;
    let fail = |status| BackendTarget::Fail { status, reason: "because".to_owned() };
    let deaf = BackendTarget::H2cEndpoints(vec!["127.0.0.1:1".parse().unwrap()]);
    let all = vec![calls("gone.A", fail(503)), calls("odd.A", fail(500)), calls("deaf.A", deaf)];
    let ended = call(bed.apply(rules(all)).await, path, &[]).await;
    assert_eq!((ended.code.as_deref(), ended.accounts.len(), ended.trailers.len()), (Some(code), 0, 0));
}

#[tokio::test]
async fn calls_share_one_connection_to_their_backend_and_outlast_it() {
    let bed = Bed::new(&[]).await;
    let mut echo = start("one", EchoProtocol::H2c, &bed.journal).await;
    let backend = echo.addr();
    let address = bed.apply(rules(vec![calls("a.B", BackendTarget::H2cEndpoints(vec![backend]))])).await;
    for turn in 1..=3 {
        let all = futures::future::join_all((0..20).map(|_| call(address, "/a.B/C", &[]))).await;
        assert!(all.iter().all(|ended| ended.code.as_deref() == Some("0")), "{all:?}");
        let peers: std::collections::BTreeSet<_> = bed.journal.records().iter().map(|record| record.peer).collect();
        assert_eq!((bed.journal.records().len(), peers.len()), (20 * turn, turn));
        echo.shutdown().await;
        let identity = Identity { pod: "one".to_owned(), ..Identity::default() };
        let options = EchoOptions {
            bind: backend,
            protocol: EchoProtocol::H2c,
            identity,
            run_token: None,
            journal: bed.journal.clone(),
        };
        echo = Echo::start(options).await.unwrap();
    }
}

#[tokio::test]
async fn kept_connections_are_closed_with_the_proxy() {
    let backend = tokio::net::TcpListener::bind((LOOPBACK, 0)).await.unwrap();
    let target = BackendTarget::H2cEndpoints(vec![backend.local_addr().unwrap()]);
    let serving = tokio::spawn(async move {
        let (stream, _) = backend.accept().await.unwrap();
        let service = hyper::service::service_fn(async |_| {
            Ok::<_, std::convert::Infallible>(Response::new(Full::<Bytes>::default()))
        });
        hyper::server::conn::http2::Builder::new(TokioExecutor::new())
            .serve_connection(TokioIo::new(stream), service)
            .await
    });
    let bed = Bed::new(&[]).await;
    let address = bed.apply(rules(vec![calls("a.B", target)])).await;
    assert_eq!(call(address, "/a.B/C", &[]).await.code, None);
    assert!(!serving.is_finished());
    bed.proxy.shutdown().await;
    // The server's side ends once the proxy's does; what is not closed would keep this waiting for ever.
    serving.await.unwrap().unwrap();
}

#[tokio::test]
async fn an_http1_client_reaches_a_backend_for_http2() {
    let bed = Bed::new(&[]).await;
    let echo = start("one", EchoProtocol::H2c, &bed.journal).await;
    let target = BackendTarget::H2cEndpoints(vec![echo.addr()]);
    let backend = Backend { id: "test/backend".to_owned(), weight: 1, target, filters: vec![] };
    let address = bed.apply(rules(vec![route("rule", vec![backend])])).await;
    let mut asked = request("host.test", "/a?b=c", &[("Connection", "upgrade"), ("Upgrade", "h2c")]);
    *asked.body_mut() = Full::new(Bytes::from_static(b"text"));
    let answer = send(address, asked).await.json();
    assert_eq!(
        (&answer["proto"], &answer["path"], &answer["host"]),
        (&"HTTP/2.0".into(), &"/a?b=c".into(), &"host.test".into())
    );
}

#[tokio::test]
async fn requests_that_are_no_calls_pass_rules_for_calls_by() {
    let bed = Bed::new(&["one"]).await;
    let to = BackendTarget::Endpoints(vec![bed.echoes[0].addr()]);
    let address = bed.apply(rules(vec![calls("a.B", to)])).await;
    assert_eq!(get(address, "host.test", "/a.B/C").await.status, 404);
}
