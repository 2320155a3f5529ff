//! What a target answers to a probe.

use std::sync::{Arc, LazyLock};
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio::runtime::Runtime;

use crate::cluster::dial::StaticDialer;
use crate::log::{Elapsed, Exchange, HttpRequest, ProbeError, ProbeRequest, TcpEnd};
use crate::probe::Prober;

/// Far more than an answer from memory takes: an attempt that needs it waits for something that never comes.
const BUDGET: Duration = Duration::from_secs(20);
/// What an exchange may take of the log, in bytes.
const BOUND: usize = 1024 * 1024;

/// A listener that writes the input and closes: the attempt ends by itself, in one way, and its exchange fits the log. The
/// first byte chooses between HTTP and TCP.
pub fn probe_answer(data: &[u8]) {
    static RUNTIME: LazyLock<Runtime> =
        LazyLock::new(|| tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime starts"));
    let (first, answer) = data.split_first().unwrap_or((&0, &[]));
    let exchange = RUNTIME.block_on(attempt(first % 2 == 1, answer));
    let ends = [exchange.http.is_some(), exchange.tcp.is_some(), exchange.error.is_some()];
    assert_eq!(ends.iter().filter(|end| **end).count(), 1, "{exchange:?}");
    assert!(!matches!(exchange.error, Some(ProbeError::TimedOut | ProbeError::ConnectTimedOut)), "{exchange:?}");
    assert_ne!(exchange.tcp, Some(TcpEnd::Hung));
    if let Some(http) = &exchange.http {
        assert!((100..1000).contains(&http.status) && http.body.len() <= 3 * 4096, "{exchange:?}");
    }
    let written = serde_json::to_string(&exchange).expect("an exchange can be written");
    assert!(written.len() < BOUND, "{} bytes", written.len());
    let read: Exchange = serde_json::from_str(&written).expect("what was written can be read");
    assert_eq!(read, exchange);
}

async fn attempt(tcp: bool, answer: &[u8]) -> Exchange {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port is free");
    let address = listener.local_addr().expect("a listener has an address");
    let (host, port) = (address.ip().to_string(), address.port());
    let request = if tcp {
        ProbeRequest::tcp(host, port, "")
    } else {
        ProbeRequest::from(HttpRequest {
            host,
            port,
            method: "GET".to_owned(),
            target: "/".to_owned(),
            authority: "host.test".to_owned(),
            headers: Vec::new(),
            ..HttpRequest::default()
        })
    };
    let serve = async {
        let (mut stream, _) = listener.accept().await.expect("the probe connects");
        let mut head = [0; 1024];
        let _ = stream.read(&mut head).await;
        // A probe that has seen enough may be gone before everything is written.
        let _ = stream.write_all(answer).await;
        let _ = stream.shutdown().await;
    };
    let prober = Prober::new(Arc::new(StaticDialer::default()), BUDGET);
    let (exchange, ()) = tokio::join!(prober.attempt("id".to_owned(), request, Elapsed(0)), serve);
    exchange
}
