//! The backend for datagrams as its clients see it.
#![allow(clippy::unwrap_used)]

use gateproof_echo::{Echo, EchoOptions, Identity, Journal, Protocol};
use serde_json::{Value, json};
use tokio::net::UdpSocket;

#[tokio::test]
async fn each_datagram_is_answered_by_a_line_and_its_bytes() {
    let journal = Journal::default();
    let identity = Identity { pod: "pod-1".into(), ..Identity::default() };
    let bind = ([127, 0, 0, 1], 0).into();
    let options = EchoOptions { bind, protocol: Protocol::Udp, identity, run_token: None, journal: journal.clone() };
    let echo = Echo::start(options).await.unwrap();
    let socket = UdpSocket::bind("127.0.0.1:0").await.unwrap();
    socket.connect(echo.addr()).await.unwrap();
    let long = [b"id-1 long\n".as_slice(), &[0xff; 60_000]].concat();
    // One that has no room for an answer, among them, harms none.
    socket.send(&vec![b'x'; 65_507]).await.unwrap();
    for sent in [&b"id-1 1\nmore\0"[..], b"", &long] {
        socket.send(sent).await.unwrap();
        let mut answer = vec![0; 65_535];
        let length = socket.recv(&mut answer).await.unwrap();
        let end = answer.iter().position(|byte| *byte == b'\n').unwrap();
        let line: Value = serde_json::from_slice(&answer[..end]).unwrap();
        assert_eq!(line["pod"], json!("pod-1"));
        assert_eq!(line.get("requestId").is_some(), !sent.is_empty());
        assert_eq!(&answer[end + 1..length], sent);
        if sent.is_empty() {
            assert_eq!(socket.recv(&mut answer).await.unwrap(), 0, "it is answered as it came, too");
        }
    }
    let records = journal.of_request("id-1");
    assert_eq!(records.iter().map(|one| one.path.as_str()).collect::<Vec<_>>(), ["id-1 1", "id-1 long"]);
    assert_eq!(records[0].method, "UDP");
    let address = echo.addr();
    echo.shutdown().await;
    assert!(std::net::UdpSocket::bind(address).is_ok());
}

#[tokio::test]
async fn a_datagram_is_quoted() {
    let identity = Identity { pod: "pod-1".into(), ..Identity::default() };
    let bind = ([127, 0, 0, 1], 0).into();
    let options =
        EchoOptions { bind, protocol: Protocol::Quoting, identity, run_token: None, journal: Journal::default() };
    let echo = Echo::start(options).await.unwrap();
    let socket = UdpSocket::bind("127.0.0.1:0").await.unwrap();
    socket.connect(echo.addr()).await.unwrap();
    socket.send(b"one \"two\"\nthree").await.unwrap();
    let mut answer = vec![0; 65_535];
    let length = socket.recv(&mut answer).await.unwrap();
    let answer: Value = serde_json::from_slice(&answer[..length]).unwrap();
    assert_eq!((&answer["request"], &answer["pod"]), (&json!("one \"two\"\nthree"), &json!("pod-1")));
}
