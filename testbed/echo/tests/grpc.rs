//! Calls of gRPC as clients see them.
#![allow(clippy::unwrap_used)]

use gateproof_echo::grpc::message::{Account, frame, frames, text_message};
use gateproof_echo::{Echo, EchoOptions, Identity, Journal, Protocol};
use http::{HeaderMap, Request};
use http_body_util::{BodyExt, Full};
use hyper_util::rt::{TokioExecutor, TokioIo};
use rstest::rstest;
use tokio::net::TcpStream;

/// What came of a call.
struct Answer {
    headers: HeaderMap,
    accounts: Vec<Account>,
    length: usize,
    trailers: HeaderMap,
}

async fn call(protocol: Protocol, path: &str, metadata: &[(&str, &str)], journal: &Journal) -> Answer {
    call_with(frame(b"").into(), protocol, path, metadata, journal).await
}

async fn call_with(
    sent: Vec<u8>,
    protocol: Protocol,
    path: &str,
    metadata: &[(&str, &str)],
    journal: &Journal,
) -> Answer {
    let identity = Identity { namespace: "ns".into(), pod: "pod-1".into(), ..Identity::default() };
    let bind = ([127, 0, 0, 1], 0).into();
    let options = EchoOptions { bind, protocol, identity, run_token: None, journal: journal.clone() };
    let echo = Echo::start(options).await.unwrap();
    let stream = TcpStream::connect(echo.addr()).await.unwrap();
    let (mut sender, connection) =
        hyper::client::conn::http2::handshake(TokioExecutor::new(), TokioIo::new(stream)).await.unwrap();
    tokio::spawn(connection);
    let mut request = Request::post(format!("http://host.test{path}")).header("content-type", "application/grpc");
    for (name, value) in metadata {
        request = request.header(*name, *value);
    }
    let response = sender.send_request(request.body(Full::<bytes::Bytes>::from(sent)).unwrap()).await.unwrap();
    let headers = response.headers().clone();
    let body = response.into_body().collect().await.unwrap();
    let trailers = body.trailers().cloned().unwrap_or_default();
    let body = body.to_bytes();
    let accounts = frames(&body).map(|one| Account::decode(one).unwrap()).collect();
    Answer { headers, accounts, length: body.len(), trailers }
}

#[tokio::test]
async fn a_call_of_any_method_is_answered_with_an_account_of_it() {
    let journal = Journal::default();
    let metadata = [("x-one", "1"), ("x-gateproof-request", "id")];
    let answer = call(Protocol::Http, "/some.Service/Method", &metadata, &journal).await;
    let [account] = answer.accounts.as_slice() else { panic!("{:?}", answer.accounts) };
    assert_eq!((account.method.as_str(), account.authority.as_str()), ("/some.Service/Method", "host.test"));
    assert_eq!((account.identity.pod.as_str(), account.identity.namespace.as_str()), ("pod-1", "ns"));
    assert!(account.headers.contains(&("x-one".to_owned(), "1".to_owned())));
    assert_eq!(answer.headers["content-type"], "application/grpc");
    assert_eq!(answer.trailers["grpc-status"], "0");
    assert_eq!(journal.of_request("id").len(), 1);
}

#[tokio::test]
async fn metadata_asks_for_messages_code_and_more_metadata() {
    let metadata = [
        ("x-echo-messages", "3"),
        ("x-echo-set-header", "a:1"),
        ("x-echo-set-trailer", "b:2,c:3"),
        ("x-echo-set-code", "5"),
    ];
    let answer = call(Protocol::H2c, "/a.B/C", &metadata, &Journal::default()).await;
    assert_eq!((answer.accounts.len(), &answer.headers["a"]), (3, &"1".parse().unwrap()));
    let trailers = ["grpc-status", "b", "c"].map(|name| answer.trailers[name].to_str().unwrap().to_owned());
    assert_eq!(trailers, ["5", "2", "3"]);
}

#[tokio::test]
async fn metadata_asks_for_messages_of_a_length() {
    let metadata = [("x-echo-messages", "5"), ("x-echo-bytes", "13107"), ("x-echo-set-trailer", "b:2")];
    let answer = call(Protocol::H2c, "/a.B/C", &metadata, &Journal::default()).await;
    assert_eq!((answer.accounts.len(), answer.length, &answer.trailers["b"]), (5, 65_535, &"2".parse().unwrap()));
}

#[tokio::test]
async fn the_account_has_every_message_that_was_sent() {
    let sent = ["one", "", "three"].map(|text| frame(&text_message(text))).concat();
    let answer = call_with(sent, Protocol::H2c, "/a.B/C", &[("x-echo-messages", "2")], &Journal::default()).await;
    let told: Vec<_> = answer.accounts.iter().map(|account| account.messages.join(",")).collect();
    assert_eq!(told, ["one,,three", "one,,three"]);
}

#[rstest]
#[case("Echo", true)]
#[case("EchoTwo", true)]
#[case("EchoThree", false)]
#[tokio::test]
async fn the_service_of_the_conformance_suite_has_two_methods(#[case] method: &str, #[case] served: bool) {
    let path = format!("/gateway_api_conformance.echo_basic.grpcecho.GrpcEcho/{method}");
    let answer = call(Protocol::Grpc, &path, &[], &Journal::default()).await;
    assert_eq!(answer.accounts.len(), usize::from(served));
    let code = answer.headers.get("grpc-status").or(answer.trailers.get("grpc-status"));
    assert_eq!(code.unwrap(), if served { "0" } else { "12" });
}

#[tokio::test]
async fn a_call_may_end_by_the_head_of_its_answer() {
    let metadata = [
        ("x-echo-trailers-only", "1"),
        ("x-echo-set-code", "9"),
        ("x-echo-set-header", "a:1"),
        ("x-echo-set-trailer", "grpc-message:no%20book,b:2"),
    ];
    let answer = call(Protocol::H2c, "/a.B/C", &metadata, &Journal::default()).await;
    assert_eq!((answer.accounts.len(), answer.length, answer.trailers.len()), (0, 0, 0));
    let told = ["grpc-status", "grpc-message", "a", "b"].map(|name| answer.headers[name].to_str().unwrap());
    assert_eq!(told, ["9", "no%20book", "1", "2"]);
}
