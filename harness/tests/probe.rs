//! Probes against real listeners: echoes, and listeners that misbehave.
#![allow(clippy::unwrap_used)]

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt;
use gateproof::cluster::dial::StaticDialer;
use gateproof::log::{Elapsed, Exchange, HttpRequest, ProbeError, ProbeRequest, TcpEnd};
use gateproof::probe::Prober;
use gateproof_echo::{AT_END, Echo, EchoOptions, Identity, Journal, Protocol};
use hyper_util::rt::{TokioExecutor, TokioIo};
use rstest::rstest;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio::sync::mpsc::UnboundedReceiver;

fn prober(budget: Duration) -> Prober {
    Prober::new(Arc::new(StaticDialer::default()), budget)
}

async fn echo(protocol: Protocol, journal: &Journal) -> Echo {
    let identity = Identity { pod: "echo-1".to_owned(), ..Identity::default() };
    let bind = "127.0.0.1:0".parse().unwrap();
    let options = EchoOptions { bind, protocol, identity, run_token: None, journal: journal.clone() };
    Echo::start(options).await.unwrap()
}

fn http(address: SocketAddr, target: &str) -> ProbeRequest {
    ProbeRequest::from(HttpRequest {
        host: address.ip().to_string(),
        port: address.port(),
        method: "GET".to_owned(),
        target: target.to_owned(),
        authority: "some.host.test".to_owned(),
        headers: vec![("X-One".to_owned(), "1".to_owned()), ("X-Two".to_owned(), "2".to_owned())],
        ..HttpRequest::default()
    })
}

fn tcp(address: SocketAddr) -> ProbeRequest {
    ProbeRequest::tcp(address.ip().to_string(), address.port(), "hello")
}

async fn attempt(request: ProbeRequest) -> Exchange {
    prober(Duration::from_secs(5)).attempt("id-1".to_owned(), request, Elapsed(7)).await
}

/// A listener that hands every connection to `serve`.
async fn listener<F, S>(serve: S) -> SocketAddr
where
    F: Future<Output = ()> + Send,
    S: Fn(tokio::net::TcpStream) -> F + Send + 'static,
{
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            serve(stream).await;
        }
    });
    address
}

#[tokio::test]
async fn the_raw_target_host_and_headers_arrive() {
    let journal = Journal::default();
    let echo = echo(Protocol::Http, &journal).await;
    let exchange = attempt(http(echo.addr(), "/a/../b%2Fc?q=%20")).await;
    let answer = exchange.http.unwrap();
    let seen = answer.echo.unwrap().parse();
    assert_eq!((answer.status, exchange.error), (200, None));
    assert_eq!(seen["path"], "/a/../b%2Fc?q=%20");
    assert_eq!(seen["host"], "some.host.test");
    assert_eq!(seen["headers"]["X-One"][0], "1");
    assert_eq!(exchange.connected_to, Some(echo.addr()));
    let records = journal.of_request("id-1");
    assert_eq!(records.len(), 1);
    assert_eq!(records[0].path, "/a/../b%2Fc?q=%20");
}

/// A peer that answers so, and what it read before.
async fn hears(answer: &'static str) -> (SocketAddr, UnboundedReceiver<String>) {
    let (sender, received) = tokio::sync::mpsc::unbounded_channel();
    let address = listener(move |mut stream| {
        let sender = sender.clone();
        async move {
            let mut head = vec![0; 4096];
            let length = stream.read(&mut head).await.unwrap();
            sender.send(String::from_utf8_lossy(&head[..length]).into_owned()).unwrap();
            stream.write_all(answer.as_bytes()).await.unwrap();
        }
    })
    .await;
    (address, received)
}

#[tokio::test]
async fn a_target_in_absolute_form_names_the_host() {
    let (address, mut received) = hears("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n").await;
    let ProbeRequest::Http(request) = http(address, "/a?b=c") else { panic!("not HTTP") };
    let request = HttpRequest { absolute: true, ..*request };
    assert_eq!(attempt(ProbeRequest::from(request)).await.http.unwrap().status, 200);
    let sent = received.recv().await.unwrap();
    let expected = "GET http://some.host.test/a?b=c HTTP/1.1\r\nHost: some.host.test\r\n";
    assert!(sent.starts_with(expected), "{sent}");
}

/// Who is told to go on sends its body, and who is answered without that does not. So it is if nothing says how long that is.
#[rstest]
#[case::told("HTTP/1.1 100 Continue\r\n\r\n", false, "hello")]
#[case::not_told("", false, "")]
#[case::told_of_no_length("HTTP/1.1 100 Continue\r\n\r\n", true, "5\r\nhello\r\n0\r\n\r\n")]
#[case::of_no_length("", true, "")]
#[tokio::test]
async fn a_body_waits_until_it_is_asked_for(
    #[case] told: &'static str,
    #[case] is_chunked: bool,
    #[case] expected: &str,
) {
    let (sender, mut received) = tokio::sync::mpsc::unbounded_channel();
    let address = listener(move |mut stream| {
        let sender = sender.clone();
        async move {
            let mut came = vec![0; 4096];
            let length = stream.read(&mut came).await.unwrap();
            let head = String::from_utf8_lossy(&came[..length]).to_lowercase();
            assert!(head.ends_with("\r\n\r\n"));
            assert_eq!(head.contains("\r\ncontent-length:"), !is_chunked, "{head}");
            stream.write_all(told.as_bytes()).await.unwrap();
            let (mut body, pause) = (Vec::new(), Duration::from_millis(300));
            while let Ok(Ok(length @ 1..)) = tokio::time::timeout(pause, stream.read(&mut came)).await {
                body.extend_from_slice(&came[..length]);
            }
            sender.send(body).unwrap();
            stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n").await.unwrap();
        }
    })
    .await;
    let ProbeRequest::Http(request) = http(address, "/") else { panic!("not HTTP") };
    let mut headers = vec![("Expect".to_owned(), "100-continue".to_owned())];
    headers.extend(is_chunked.then(|| ("Transfer-Encoding".to_owned(), "chunked".to_owned())));
    let request = HttpRequest { method: "POST".to_owned(), body: "hello".to_owned(), headers, ..*request };
    let exchange = attempt(ProbeRequest::from(request)).await;
    assert_eq!(received.recv().await.unwrap(), expected.as_bytes());
    assert_eq!(exchange.http.map(|answer| answer.status), Some(200));
}

#[tokio::test]
async fn what_goes_out_is_exact() {
    let (address, mut received) = hears("HTTP/1.1 302 Found\r\nLocation: http://x/\r\nContent-Length: 0\r\n\r\n").await;
    let answer = attempt(http(address, "/")).await.http.unwrap();
    assert_eq!(answer.status, 302);
    assert!(answer.headers.contains(&("location".to_owned(), "http://x/".to_owned())));
    let expected = "GET / HTTP/1.1\r\nHost: some.host.test\r\nX-One: 1\r\nX-Two: 2\r\nX-Gateproof-Request: id-1\r\n";
    let sent = received.recv().await.unwrap();
    assert!(sent.starts_with(expected), "{sent}");
}

/// Whether three attempts in turn found their connection open, the scenario being over after the second.
async fn reused(address: SocketAddr, name: Option<&str>) -> [bool; 3] {
    let prober = prober(Duration::from_secs(5));
    let mut reused = [false; 3];
    for (index, reused) in reused.iter_mut().enumerate() {
        let ProbeRequest::Http(request) = http(address, "/") else { panic!("not HTTP") };
        let request = ProbeRequest::from(HttpRequest { connection: name.map(str::to_owned), ..*request });
        let exchange = prober.attempt(format!("id-{index}"), request, Elapsed(7)).await;
        assert_eq!(exchange.http.map(|answer| answer.status), Some(200), "{:?}", exchange.error);
        assert_eq!(exchange.connected_to, Some(address));
        *reused = exchange.reused;
        if index == 1 {
            prober.release("token");
        }
    }
    reused
}

#[tokio::test]
async fn a_named_connection_stays_open_until_its_scenario_is_over() {
    let echo = echo(Protocol::Http, &Journal::default()).await;
    assert_eq!(reused(echo.addr(), None).await, [false, false, false]);
    assert_eq!(reused(echo.addr(), Some("token/kept")).await, [false, true, false]);
    assert_eq!(reused(echo.addr(), Some("other/kept")).await, [false, true, true]);
}

/// Those of one connection wait for each other: all but the first find it open.
#[tokio::test]
async fn attempts_at_once_share_a_named_connection() {
    let echo = echo(Protocol::Http, &Journal::default()).await;
    let prober = prober(Duration::from_secs(5));
    let attempts = (0..5).map(|index| {
        let ProbeRequest::Http(request) = http(echo.addr(), "/") else { panic!("not HTTP") };
        let request = HttpRequest { connection: Some("token/kept".to_owned()), ..*request };
        prober.attempt(format!("id-{index}"), ProbeRequest::from(request), Elapsed(7))
    });
    let exchanges = futures::future::join_all(attempts).await;
    assert_eq!(exchanges.iter().filter(|exchange| exchange.reused).count(), 4);
}

#[tokio::test]
async fn a_named_connection_that_the_server_closed_is_opened_again() {
    let address = listener(|mut stream| async move {
        let mut head = vec![0; 4096];
        drop(stream.read(&mut head).await);
        stream.write_all(b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 0\r\n\r\n").await.unwrap();
    })
    .await;
    assert_eq!(reused(address, Some("token/kept")).await, [false, false, false]);
}

/// A chunk without content ends the body, behind which they stand; over HTTP/2 they are a frame.
#[rstest]
#[case(false, &["chunked"])]
#[case(true, &[])]
#[tokio::test]
async fn trailers_follow_a_body_without_length(#[case] http2: bool, #[case] coding: &[&str]) {
    let journal = Journal::default();
    let echo = echo(Protocol::Http, &journal).await;
    let ProbeRequest::Http(mut request) = http(echo.addr(), "/") else { panic!("no request over HTTP") };
    (request.http2, request.method, request.body) = (http2, "PUT".to_owned(), "some".to_owned());
    request.headers = vec![("Transfer-Encoding".to_owned(), "chunked".to_owned())];
    request.trailers = vec![("X-Late".to_owned(), "1".to_owned()), ("X-Late".to_owned(), "2".to_owned())];
    let answer = attempt(ProbeRequest::Http(request)).await.http.unwrap();
    let account = answer.echo.unwrap().parse();
    assert_eq!((answer.status, &account["bodyLength"]), (200, &4.into()));
    let said = |name: &str| account["headers"][name].as_array().cloned().unwrap_or_default();
    let coding: Vec<serde_json::Value> = coding.iter().map(|name| (*name).into()).collect();
    assert_eq!((said("Trailer"), said("Transfer-Encoding")), (vec!["x-late".into()], coding));
}

#[tokio::test]
async fn tcp_answers_with_one_line() {
    let journal = Journal::default();
    let echo = echo(Protocol::Tcp, &journal).await;
    let exchange = attempt(tcp(echo.addr())).await;
    let Some(TcpEnd::Answered { echo: Some(seen), .. }) = exchange.tcp else { panic!("{:?}", exchange.tcp) };
    assert_eq!(seen.parse()["pod"], "echo-1");
    assert_eq!(journal.of_request("id-1").len(), 1);
}

#[tokio::test]
async fn a_probe_that_listens_sends_nothing() {
    let journal = Journal::default();
    let listening = |address: SocketAddr| {
        let mut request = ProbeRequest::tcp(address.ip().to_string(), address.port(), "");
        let ProbeRequest::Tcp { listens, .. } = &mut request else { unreachable!() };
        *listens = true;
        request
    };
    let exchange = attempt(listening(echo(Protocol::Greeting, &journal).await.addr())).await;
    let Some(TcpEnd::Answered { echo: Some(seen), .. }) = exchange.tcp else { panic!("{:?}", exchange.tcp) };
    assert_eq!(seen.parse()["pod"], "echo-1");
    let waiting = echo(Protocol::Tcp, &journal).await;
    let patience = prober(Duration::from_millis(200));
    let exchange = patience.attempt("id-1".to_owned(), listening(waiting.addr()), Elapsed(7)).await;
    assert_eq!((exchange.tcp, journal.written()), (Some(TcpEnd::Hung), 0));
}

/// A stream of which the client ends its half, or which is idle for a while.
fn turning(address: SocketAddr, half_close: bool, idle: Option<u64>) -> ProbeRequest {
    let ProbeRequest::Tcp { host, port, listens, tls, .. } = tcp(address) else { unreachable!() };
    ProbeRequest::Tcp { host, port, send: String::new(), behind: "behind".repeat(1000), listens, half_close, idle, tls }
}

#[rstest]
#[case::half_closed(true, None)]
#[case::idle(false, Some(20))]
#[tokio::test]
async fn both_sides_take_turns(#[case] half_close: bool, #[case] idle: Option<u64>) {
    let echo = echo(Protocol::Tcp, &Journal::default()).await;
    let exchange = attempt(turning(echo.addr(), half_close, idle)).await;
    assert!(matches!(exchange.tcp, Some(TcpEnd::Answered { echo: Some(_), .. })), "{exchange:?}");
}

/// Who ends the whole connection with the client's half gives no answer to it, and who ends an idle one breaks it.
#[tokio::test]
async fn whoever_ends_a_stream_early_is_noticed() {
    let ending = listener(|mut stream| async move {
        let mut come = Vec::new();
        let _ = stream.read_to_end(&mut come).await;
        let first = String::from_utf8(come).unwrap().lines().next().unwrap().to_owned();
        assert!(first.ends_with(AT_END), "{first}");
    })
    .await;
    assert_eq!(attempt(turning(ending, true, None)).await.tcp, Some(TcpEnd::ClosedBeforeAnyByte));
    let idle = listener(|mut stream| async move {
        let _ = stream.read(&mut [0; 512]).await;
        let _ = stream.write_all(b"line\n").await;
    })
    .await;
    let exchange = attempt(turning(idle, false, Some(60_000))).await;
    assert!(matches!(exchange.error, Some(ProbeError::Broken(why)) if why.contains("the connection ended")));
}

#[tokio::test]
async fn a_closed_port_refuses() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    drop(listener);
    for request in [http(address, "/"), tcp(address)] {
        let exchange = attempt(request).await;
        assert!(matches!(exchange.error, Some(ProbeError::ConnectRefused(_))), "{exchange:?}");
    }
}

#[tokio::test]
async fn an_unknown_name_is_unreachable() {
    let mut request = http("127.0.0.1:1".parse().unwrap(), "/");
    if let ProbeRequest::Http(http) = &mut request {
        http.host = "no-such-host.invalid".to_owned();
    }
    let exchange = attempt(request).await;
    assert!(matches!(exchange.error, Some(ProbeError::Unreachable(_))), "{exchange:?}");
}

#[tokio::test]
async fn closing_without_a_byte_is_told_from_hanging() {
    let closing = listener(|stream| async move { drop(stream) }).await;
    assert_eq!(attempt(tcp(closing)).await.tcp, Some(TcpEnd::ClosedBeforeAnyByte));
    let exchange = attempt(http(closing, "/")).await;
    assert!(matches!(exchange.error, Some(ProbeError::Broken(_))), "{exchange:?}");

    let hanging = listener(|stream| async move {
        tokio::spawn(async move {
            let held = stream;
            std::future::pending::<()>().await;
            drop(held);
        });
    })
    .await;
    let prober = prober(Duration::from_millis(100));
    let within =
        |request| tokio::time::timeout(Duration::from_secs(3), prober.attempt("a".to_owned(), request, Elapsed(0)));
    assert_eq!(within(tcp(hanging)).await.unwrap().tcp, Some(TcpEnd::Hung));
    assert_eq!(within(http(hanging, "/")).await.unwrap().error, Some(ProbeError::TimedOut));
}

#[tokio::test]
async fn an_answer_that_stops_half_way_is_broken() {
    let address = listener(|mut stream| async move {
        let mut head = [0; 4096];
        let _ = stream.read(&mut head).await;
        stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf").await.unwrap();
    })
    .await;
    let exchange = attempt(http(address, "/")).await;
    assert!(matches!(exchange.error, Some(ProbeError::Broken(_))), "{exchange:?}");
}

#[tokio::test]
async fn a_server_without_tls_fails_the_handshake() {
    let journal = Journal::default();
    let echo = echo(Protocol::Http, &journal).await;
    let mut request = http(echo.addr(), "/");
    if let ProbeRequest::Http(http) = &mut request {
        http.tls_server_name = Some("some.host.test".to_owned());
    }
    let exchange = attempt(request).await;
    assert!(matches!(exchange.error, Some(ProbeError::Handshake(_))), "{exchange:?}");
}

#[tokio::test]
async fn long_bodies_are_cut_in_the_log() {
    let address = listener(|mut stream| async move {
        let mut head = [0; 4096];
        let _ = stream.read(&mut head).await;
        let body = "x".repeat(10_000);
        let answer = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{body}", body.len());
        stream.write_all(answer.as_bytes()).await.unwrap();
    })
    .await;
    assert_eq!(attempt(http(address, "/")).await.http.unwrap().body.len(), 4096);
}

fn call(address: SocketAddr, metadata: &[(&str, &str)]) -> HttpRequest {
    let ProbeRequest::Http(request) = http(address, "/a.B/C") else { panic!("not HTTP") };
    let own = [("content-type", "application/grpc"), ("te", "trailers")];
    let headers = own.iter().chain(metadata).map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    HttpRequest { http2: true, method: "POST".to_owned(), headers, ..*request }
}

#[tokio::test]
async fn a_call_is_answered_with_messages_and_trailers() {
    let journal = Journal::default();
    let echo = echo(Protocol::H2c, &journal).await;
    let metadata = [("x-echo-messages", "2"), ("x-echo-set-trailer", "late:1"), ("x-echo-set-code", "5")];
    let exchange = attempt(ProbeRequest::from(call(echo.addr(), &metadata))).await;
    let answer = exchange.http.unwrap();
    assert_eq!((answer.status, answer.messages, exchange.error), (200, Some(2), None));
    for (name, value) in [("grpc-status", "5"), ("late", "1")] {
        assert!(answer.trailers.contains(&(name.to_owned(), value.to_owned())), "{:?}", answer.trailers);
    }
    let seen = answer.echo.unwrap().parse();
    assert_eq!((&seen["path"], &seen["host"]), (&"/a.B/C".into(), &"some.host.test".into()));
    assert_eq!(journal.of_request("id-1").len(), 1);
}

#[tokio::test]
async fn messages_of_a_call_go_out_one_by_one() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        let (stream, _) = listener.accept().await.unwrap();
        let service = hyper::service::service_fn(async |request: http::Request<hyper::body::Incoming>| {
            let pieces: Vec<_> = http_body_util::BodyStream::new(request.into_body()).collect().await;
            let pieces = pieces.into_iter().map(|piece| piece.unwrap().into_data().unwrap().escape_ascii().to_string());
            let told = pieces.filter(|piece| !piece.is_empty()).collect::<Vec<_>>().join(" ");
            Ok::<_, std::convert::Infallible>(http::Response::new(http_body_util::Full::new(hyper::body::Bytes::from(
                told,
            ))))
        });
        let (builder, io) = (hyper::server::conn::http2::Builder::new(TokioExecutor::new()), TokioIo::new(stream));
        builder.serve_connection(io, service).await.unwrap();
    });
    let sends = ["a", "", "b"].map(str::to_owned).to_vec();
    let answer = attempt(ProbeRequest::from(HttpRequest { sends, ..call(address, &[]) })).await.http.unwrap();
    // Each is the text in a field of its own.
    let frames = r"\x00\x00\x00\x00\x03z\x01a \x00\x00\x00\x00\x02z\x00 \x00\x00\x00\x00\x03z\x01b";
    assert_eq!(answer.body, frames);
}

#[tokio::test]
async fn a_request_is_sent_while_others_of_its_connection_are_under_way() {
    let journal = Journal::default();
    let echo = echo(Protocol::H2c, &journal).await;
    // Whoever waits for the others waits longer than an attempt may take.
    let among = ["/a.B/D?delay=60s", "/a.B/E?delay=60s"].map(str::to_owned).to_vec();
    let request = HttpRequest { among, ..call(echo.addr(), &[("own", "1")]) };
    let exchange = attempt(request.into()).await;
    assert_eq!(exchange.http.unwrap().echo.unwrap().parse()["path"], "/a.B/C");
    let records = journal.records();
    let noted: Vec<_> = records.iter().map(|record| (record.path.as_str(), record.request_id.as_deref())).collect();
    let expected =
        [("/a.B/D?delay=60s", Some("id-1-0")), ("/a.B/E?delay=60s", Some("id-1-1")), ("/a.B/C", Some("id-1"))];
    assert_eq!(noted, expected);
    assert!(records.iter().all(|record| record.peer == records[0].peer && record.method == "POST"));
    let has_own = |index: usize| records[index].headers.iter().any(|(name, _)| name == "own");
    assert_eq!([has_own(0), has_own(1), has_own(2)], [false, false, true]);
}

#[tokio::test]
async fn a_host_header_over_http2_is_the_authority() {
    let journal = Journal::default();
    let echo = echo(Protocol::H2c, &journal).await;
    let request = call(echo.addr(), &[("Host", "other.host.test")]);
    let answer = attempt(request.into()).await.http.unwrap();
    let seen = answer.echo.unwrap().parse();
    assert_eq!(seen["host"], "other.host.test");
    assert_eq!(seen["headers"].get("Host"), None, "{seen}");
}

#[tokio::test]
async fn attempts_over_one_http2_connection_go_side_by_side() {
    let journal = Journal::default();
    let echo = echo(Protocol::H2c, &journal).await;
    let prober = prober(Duration::from_secs(5));
    let request = HttpRequest { connection: Some("token/kept".to_owned()), ..call(echo.addr(), &[]) };
    let attempts = (0..20).map(|index| prober.attempt(format!("id-{index}"), request.clone().into(), Elapsed(7)));
    let exchanges = futures::future::join_all(attempts).await;
    assert!(exchanges.iter().all(|exchange| exchange.error.is_none()), "{exchanges:?}");
    assert_eq!(exchanges.iter().filter(|exchange| !exchange.reused).count(), 1);
    let peers: std::collections::BTreeSet<_> = journal.records().iter().map(|record| record.peer).collect();
    assert_eq!((journal.records().len(), peers.len()), (20, 1));
}

#[tokio::test]
async fn a_server_of_http1_is_no_server_of_http2() {
    let address = listener(|mut stream| async move {
        let mut head = vec![0; 4096];
        let _ = stream.read(&mut head).await;
        let _ = stream.write_all(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n").await;
    })
    .await;
    let exchange = attempt(ProbeRequest::from(call(address, &[]))).await;
    assert!(matches!(exchange.error, Some(ProbeError::Broken(_))), "{exchange:?}");
}
