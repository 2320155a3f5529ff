//! Byte streams through the proxy.
#![allow(clippy::unwrap_used)]

mod common;

use std::io::ErrorKind;
use std::net::SocketAddr;

use common::*;
use gateproof_echo::{Journal, Protocol as EchoProtocol};
use gateproof_proxy::config::*;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::TcpStream;

fn tcp(targets: &[(u32, TcpTarget)]) -> Config {
    let backends = targets
        .iter()
        .map(|(weight, target)| TcpBackend { id: "test/tcp".to_owned(), weight: *weight, target: target.clone() })
        .collect();
    Config { listeners: vec![listener(Protocol::Tcp(TcpListener { backends }))], ..Config::default() }
}

/// Sends a line and returns the pod that answers; nothing if the connection was refused, reset or closed instead.
async fn ask(address: SocketAddr) -> Option<String> {
    let mut stream = BufReader::new(TcpStream::connect(address).await.unwrap());
    let mut line = String::new();
    let asked = async {
        stream.write_all(b"id hello\n").await?;
        stream.read_line(&mut line).await
    };
    match asked.await {
        Ok(0) => None,
        Ok(_) => Some(serde_json::from_str::<serde_json::Value>(&line).unwrap()["pod"].as_str().unwrap().to_owned()),
        Err(error) => {
            assert!(matches!(error.kind(), ErrorKind::ConnectionReset | ErrorKind::BrokenPipe), "{error}");
            None
        }
    }
}

#[tokio::test]
async fn forwards_bytes_both_ways_until_both_are_done() {
    let journal = Journal::default();
    let bed = Bed::new(&[]).await;
    let echo = start("one", EchoProtocol::Tcp, &journal).await;
    let address = bed.apply(tcp(&[(1, TcpTarget::Endpoints(vec![echo.addr()]))])).await;
    let mut stream = BufReader::new(TcpStream::connect(address).await.unwrap());
    stream.write_all(b"id hello\n").await.unwrap();
    let mut line = String::new();
    stream.read_line(&mut line).await.unwrap();
    let payload = vec![b'z'; 100_000];
    stream.write_all(&payload).await.unwrap();
    stream.shutdown().await.unwrap();
    let mut echoed = Vec::new();
    stream.read_to_end(&mut echoed).await.unwrap();
    assert_eq!(echoed, payload);
    assert_eq!(journal.of_request("id")[0].path, "id hello");
}

#[tokio::test]
async fn refuses_before_any_byte() {
    let bed = Bed::new(&[]).await;
    let refuse = TcpTarget::Refuse { reason: "no such Service".to_owned() };
    let dead = TcpTarget::Endpoints(vec![([127, 0, 0, 1], 1).into()]);
    for targets in [
        vec![(1, refuse.clone())],
        vec![],
        vec![(0, dead.clone())],
        vec![(1, TcpTarget::Endpoints(vec![]))],
        vec![(1, dead)],
    ] {
        let address = bed.apply(tcp(&targets)).await;
        let mut stream = TcpStream::connect(address).await.unwrap();
        let error = stream.read(&mut [0; 1]).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::ConnectionReset, "{targets:?}");
    }
}

#[tokio::test]
async fn weights_decide_shares() {
    let bed = Bed::new(&[]).await;
    let echo = start("one", EchoProtocol::Tcp, &bed.journal).await;
    let refuse = TcpTarget::Refuse { reason: "not granted".to_owned() };
    let address = bed.apply(tcp(&[(3, TcpTarget::Endpoints(vec![echo.addr()])), (1, refuse)])).await;
    let mut answered = 0;
    for _ in 0..80 {
        answered += usize::from(ask(address).await.is_some());
    }
    assert!((56..=64).contains(&answered), "{answered} of 80");
}

#[tokio::test]
async fn streams_of_a_removed_listener_end() {
    let bed = Bed::new(&[]).await;
    let echo = start("one", EchoProtocol::Tcp, &bed.journal).await;
    let address = bed.apply(tcp(&[(1, TcpTarget::Endpoints(vec![echo.addr()]))])).await;
    let mut stream = BufReader::new(TcpStream::connect(address).await.unwrap());
    stream.write_all(b"id\n").await.unwrap();
    let mut line = String::new();
    stream.read_line(&mut line).await.unwrap();
    bed.proxy.apply(Config::default()).await;
    assert!(matches!(stream.read(&mut [0; 1]).await, Ok(0) | Err(_)));
}
