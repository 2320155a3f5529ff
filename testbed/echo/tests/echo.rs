//! Backends as their clients see them, and what the journal says afterwards.
#![allow(clippy::unwrap_used)]

use std::time::{Duration, Instant};

use bytes::Bytes;
use futures::{SinkExt, StreamExt};
use gateproof_echo::{
    Echo, EchoError, EchoOptions, HEADER_TIME, Identity, Journal, MOST_CONNECTIONS, Protocol, filler,
};
use http::{HeaderMap, Request, StatusCode};
use http_body_util::{BodyExt, Full};
use hyper_util::rt::{TokioExecutor, TokioIo};
use rstest::rstest;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::TcpStream;
use tokio_tungstenite::tungstenite::Message;

async fn start(protocol: Protocol, run_token: Option<&str>) -> (Echo, Journal) {
    let journal = Journal::default();
    let identity =
        Identity { namespace: "ns".into(), ingress: "ing".into(), service: "svc".into(), pod: "pod-1".into() };
    let options = EchoOptions {
        bind: ([127, 0, 0, 1], 0).into(),
        protocol,
        identity,
        run_token: run_token.map(str::to_owned),
        journal: journal.clone(),
    };
    (Echo::start(options).await.unwrap(), journal)
}

async fn send(echo: &Echo, request: Request<Full<Bytes>>) -> (StatusCode, HeaderMap, String) {
    let stream = TcpStream::connect(echo.addr()).await.unwrap();
    let (mut sender, connection) = hyper::client::conn::http1::handshake(TokioIo::new(stream)).await.unwrap();
    tokio::spawn(connection);
    let (parts, body) = sender.send_request(request).await.unwrap().into_parts();
    let body = body.collect().await.unwrap().to_bytes();
    (parts.status, parts.headers, String::from_utf8(body.to_vec()).unwrap())
}

fn get(path: &str, fields: &[(&str, &str)]) -> Request<Full<Bytes>> {
    let mut request = Request::get(path).header("Host", "example.com");
    for (name, value) in fields {
        request = request.header(*name, *value);
    }
    request.body(Full::default()).unwrap()
}

#[tokio::test]
async fn answers_with_the_request_and_itself() {
    let (echo, _) = start(Protocol::Http, None).await;
    let (status, headers, body) = send(&echo, get("//a/%20b?c=d", &[("x-list", "1"), ("X-LIST", "2")])).await;
    assert_eq!((status, &headers["content-type"]), (StatusCode::OK, &"application/json".parse().unwrap()));
    let expected = json!({
        "path": "//a/%20b?c=d",
        "host": "example.com",
        "method": "GET",
        "proto": "HTTP/1.1",
        "bodyLength": 0,
        "bodySha256": "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
        "headers": {"X-List": ["1", "2"]},
        "httpPort": echo.addr().port().to_string(),
        "namespace": "ns",
        "ingress": "ing",
        "service": "svc",
        "pod": "pod-1",
    });
    assert_eq!(serde_json::from_str::<Value>(&body).unwrap(), expected);
}

#[tokio::test]
async fn speaks_http2_with_prior_knowledge() {
    let (echo, _) = start(Protocol::Http, None).await;
    let stream = TcpStream::connect(echo.addr()).await.unwrap();
    let (mut sender, connection) =
        hyper::client::conn::http2::handshake(TokioExecutor::new(), TokioIo::new(stream)).await.unwrap();
    tokio::spawn(connection);
    let request = Request::get("http://example.com/x").body(Full::<Bytes>::default()).unwrap();
    let body = sender.send_request(request).await.unwrap().into_body().collect().await.unwrap().to_bytes();
    let json: Value = serde_json::from_slice(&body).unwrap();
    assert_eq!(
        (&json["proto"], &json["host"], &json["path"]),
        (&json!("HTTP/2.0"), &json!("example.com"), &json!("/x"))
    );
}

#[rstest]
#[case("/health", 200, "OK")]
#[case("//health", 200, "OK")]
#[case("/status/418", 418, "")]
#[case("/status/204", 204, "")]
#[case("/status/1000", 400, "the path has no status code")]
#[case("/status/418/x", 400, "the path has no status code")]
#[case("/status/418?x", 400, "the path has no status code")]
#[tokio::test]
async fn special_paths(#[case] path: &str, #[case] status: u16, #[case] expected: &str) {
    let (echo, _) = start(Protocol::Http, None).await;
    let (got, _, body) = send(&echo, get(path, &[])).await;
    assert_eq!((got.as_u16(), body.as_str()), (status, expected));
}

#[tokio::test]
async fn sets_the_headers_it_is_asked_for() {
    let (echo, _) = start(Protocol::Http, None).await;
    let asked = "X-One:1, x-two:a:b,x-one:2,no colon,bad name:x";
    let (_, headers, _) = send(&echo, get("/", &[("X-Echo-Set-Header", asked)])).await;
    assert_eq!((&headers["x-one"], &headers["x-two"]), (&"1,2".parse().unwrap(), &"a:b".parse().unwrap()));
    assert_eq!(headers.get_all("x-one").iter().count(), 1);
    let asked = "Location:http://other.test:8080/x";
    let (_, headers, _) = send(&echo, get("/status/302", &[("X-Echo-Set-Header", asked)])).await;
    assert_eq!(&headers["location"], "http://other.test:8080/x");
    let (status, ..) = send(&echo, get("/", &[("X-Echo-Set-Header", "")])).await;
    assert_eq!(status, StatusCode::OK);
}

#[tokio::test]
async fn a_delay_comes_after_the_record() {
    let (echo, journal) = start(Protocol::Http, None).await;
    let begun = Instant::now();
    let (status, ..) = send(&echo, get("/?delay=120ms", &[("X-Gateproof-Request", "slow")])).await;
    assert_eq!(status, StatusCode::OK);
    assert!(begun.elapsed() >= Duration::from_millis(120));
    assert!(journal.of_request("slow")[0].at + Duration::from_millis(100) < Instant::now());
}

#[tokio::test]
async fn the_journal_has_the_whole_request() {
    let (echo, journal) = start(Protocol::Http, None).await;
    let request = Request::post("/x?y")
        .header("Host", "example.com:80")
        .header("X-Gateproof-Request", "id-1")
        .body(Full::new(Bytes::from_static(b"abc")))
        .unwrap();
    send(&echo, request).await;
    let records = journal.of_request("id-1");
    assert_eq!(records.len(), 1);
    let record = &records[0];
    assert_eq!(
        (record.method.as_str(), record.path.as_str(), record.host.as_str()),
        ("POST", "/x?y", "example.com:80")
    );
    assert_eq!(record.backend.pod, "pod-1");
    assert_eq!(record.body_length, 3);
    assert_eq!(record.body_digest, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    assert!(record.headers.contains(&("x-gateproof-request".to_owned(), "id-1".to_owned())));
}

#[tokio::test]
async fn the_endpoint_of_the_journal_needs_the_token() {
    let (echo, _) = start(Protocol::Http, Some("secret")).await;
    send(&echo, get("/", &[("X-Gateproof-Request", "a")])).await;
    send(&echo, get("/", &[("X-Gateproof-Request", "b")])).await;
    let read = |token: &'static str| get("/journal?id=b", &[("X-Gateproof-Token", token)]);
    let (status, _, body) = send(&echo, read("secret")).await;
    let records: Value = serde_json::from_str(&body).unwrap();
    assert_eq!((status, records.as_array().unwrap().len()), (StatusCode::OK, 1));
    assert_eq!((&records[0]["requestId"], &records[0]["backend"]["pod"]), (&json!("b"), &json!("pod-1")));
    assert_eq!(send(&echo, read("wrong")).await.0, StatusCode::FORBIDDEN);
    let (_, _, body) = send(&echo, get("/journal?id=b", &[])).await;
    assert!(body.contains("\"path\":\"/journal?id=b\""), "traffic under test may use the path: {body}");
    let (open, _) = start(Protocol::Http, None).await;
    let (_, _, body) = send(&open, read("secret")).await;
    assert!(body.contains("\"path\""), "without a token there is no endpoint: {body}");
}

#[tokio::test]
async fn tcp_answers_a_line_and_returns_the_rest() {
    let (echo, journal) = start(Protocol::Tcp, None).await;
    let mut stream = BufReader::new(TcpStream::connect(echo.addr()).await.unwrap());
    stream.write_all(b"id-1 and more\nrest").await.unwrap();
    let mut line = String::new();
    stream.read_line(&mut line).await.unwrap();
    let json: Value = serde_json::from_str(&line).unwrap();
    assert_eq!((&json["pod"], &json["namespace"], &json["requestId"]), (&json!("pod-1"), &json!("ns"), &json!("id-1")));
    stream.shutdown().await.unwrap();
    let mut rest = String::new();
    stream.read_to_string(&mut rest).await.unwrap();
    assert_eq!(rest, "rest");
    let records = journal.of_request("id-1");
    assert_eq!((records.len(), records[0].method.as_str(), records[0].body_length), (1, "TCP", 14));
}

#[tokio::test]
async fn tcp_takes_an_unfinished_line_at_the_end_and_no_line_for_nothing() {
    let (echo, journal) = start(Protocol::Tcp, None).await;
    for (sent, answered) in [("id-2", true), ("", false)] {
        let mut stream = TcpStream::connect(echo.addr()).await.unwrap();
        stream.write_all(sent.as_bytes()).await.unwrap();
        stream.shutdown().await.unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.unwrap();
        assert_eq!(!answer.is_empty(), answered, "{answer}");
    }
    assert_eq!(journal.written(), 1);
}

#[tokio::test]
async fn a_shutdown_finishes_answers_and_frees_the_port() {
    let (echo, journal) = start(Protocol::Http, None).await;
    let addr = echo.addr();
    let stream = TcpStream::connect(addr).await.unwrap();
    let (mut sender, connection) = hyper::client::conn::http1::handshake(TokioIo::new(stream)).await.unwrap();
    tokio::spawn(connection);
    let answer = tokio::spawn(sender.send_request(get("/?delay=100ms", &[("X-Gateproof-Request", "last")])));
    journal.wait_for("last", 1).await;
    echo.shutdown().await;
    assert_eq!(answer.await.unwrap().unwrap().status(), StatusCode::OK);
    assert!(std::net::TcpListener::bind(addr).is_ok());
}

#[tokio::test]
async fn a_taken_port_is_an_error() {
    let (echo, journal) = start(Protocol::Http, None).await;
    let options = EchoOptions {
        bind: echo.addr(),
        protocol: Protocol::Tcp,
        identity: Identity::default(),
        run_token: None,
        journal,
    };
    let error = Echo::start(options).await.unwrap_err();
    assert!(matches!(&error, EchoError::Bind { address, .. } if *address == echo.addr()), "{error}");
}

#[tokio::test]
async fn a_port_for_http2_alone_refuses_http1() {
    let (echo, journal) = start(Protocol::H2c, None).await;
    let (status, _, _) = send(&echo, get("/", &[])).await;
    assert_eq!((status, journal.written()), (StatusCode::BAD_REQUEST, 0));

    let stream = TcpStream::connect(echo.addr()).await.unwrap();
    let handshake = hyper::client::conn::http2::handshake(TokioExecutor::new(), TokioIo::new(stream));
    let (mut sender, connection) = handshake.await.unwrap();
    tokio::spawn(connection);
    let request = Request::get("http://example.com/").body(Full::<Bytes>::default()).unwrap();
    assert_eq!(sender.send_request(request).await.unwrap().status(), StatusCode::OK);
    assert_eq!(journal.written(), 1);
}

#[tokio::test]
async fn a_websocket_returns_messages_and_ends_with_the_backend() {
    let (echo, journal) = start(Protocol::Http, None).await;
    let stream = TcpStream::connect(echo.addr()).await.unwrap();
    let (mut socket, _) = tokio_tungstenite::client_async("ws://example.com/ws", stream).await.unwrap();
    for text in ["one", "two"] {
        socket.send(Message::text(text)).await.unwrap();
        assert_eq!(socket.next().await.unwrap().unwrap(), Message::text(text));
    }
    assert_eq!(journal.records()[0].path, "/ws");
    echo.shutdown().await;
    let last = socket.next().await;
    assert!(last.is_none_or(|message| message.is_err()));
}

/// Who reads the head alone and leaves the rest has lost it: it came in one piece.
#[tokio::test]
async fn a_websocket_opens_with_a_text_in_the_piece_of_its_answer() {
    let (echo, _) = start(Protocol::Http, None).await;
    let mut stream = TcpStream::connect(echo.addr()).await.unwrap();
    let asks = "GET /ws?greets=1 HTTP/1.1\r\nHost: a.test\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\
        Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: YQ==\r\n\r\n";
    stream.write_all(asks.as_bytes()).await.unwrap();
    let mut piece = vec![0; 4096];
    let length = stream.read(&mut piece).await.unwrap();
    let frame = [&[0x81, 7], &b"welcome"[..]].concat();
    assert!(piece.starts_with(b"HTTP/1.1 101 ") && piece[..length].ends_with(&frame), "{piece:?}");
    let stream = TcpStream::connect(echo.addr()).await.unwrap();
    let (mut socket, _) = tokio_tungstenite::client_async("ws://example.com/ws?greets=1", stream).await.unwrap();
    assert_eq!(socket.next().await.unwrap().unwrap(), Message::text("welcome"));
    socket.send(Message::text("one")).await.unwrap();
    assert_eq!(socket.next().await.unwrap().unwrap(), Message::text("one"));
}

#[tokio::test]
async fn an_answer_ends_with_its_connection() {
    let (echo, _) = start(Protocol::Http, None).await;
    let mut stream = TcpStream::connect(echo.addr()).await.unwrap();
    stream.write_all(b"GET /?bytes=100000&close=1 HTTP/1.1\r\nHost: a.test\r\n\r\n").await.unwrap();
    let mut came = String::new();
    stream.read_to_string(&mut came).await.unwrap();
    let (head, body) = came.split_once("\r\n\r\n").unwrap();
    let head = head.to_ascii_lowercase();
    assert!(head.starts_with("http/1.1 200 ok\r\n") && head.contains("\r\nconnection: close"), "{head}");
    assert!(!head.contains("content-length") && !head.contains("transfer-encoding"), "{head}");
    assert_eq!(serde_json::from_str::<Value>(body).unwrap()["filler"], filler(100_000));
}

#[rstest]
#[case::plain(&[])]
#[case::another_protocol(&[("Connection", "Upgrade"), ("Upgrade", "h2c"), ("Sec-WebSocket-Key", "YQ==")])]
#[case::no_key(&[("Connection", "Upgrade"), ("Upgrade", "websocket")])]
#[tokio::test]
async fn what_asks_for_no_websocket_gets_none(#[case] fields: &[(&str, &str)]) {
    let (echo, _) = start(Protocol::Http, None).await;
    assert_eq!(send(&echo, get("/ws", fields)).await.0, StatusCode::BAD_REQUEST);
}

#[tokio::test]
async fn a_dialogue_greets_and_answers_commands() {
    let (echo, journal) = start(Protocol::Dialogue, None).await;
    let mut stream = BufReader::new(TcpStream::connect(echo.addr()).await.unwrap());
    let mut line = async |command: &str| {
        stream.write_all(command.as_bytes()).await.unwrap();
        let mut text = String::new();
        stream.read_line(&mut text).await.unwrap();
        text
    };
    assert_eq!(line("").await, "Gateway API Test TCP Server\n");
    assert_eq!(line("PING\n").await, "PONG\n");
    assert_eq!(line("what\nIS_TLS\n").await, "false\n");
    let about: Value = serde_json::from_str(&line("TEST\r\n").await).unwrap();
    let expected = json!({
        "namespace": "ns",
        "ingress": "ing",
        "service": "svc",
        "pod": "pod-1",
        "tcpport": echo.addr().port().to_string(),
        "isTLS": false,
    });
    assert_eq!((about, journal.written()), (expected, 4));
}

/// The clock runs only while nothing else does, so nobody waits for it.
#[rstest]
#[case::nothing("")]
#[case::a_letter("P")]
#[case::half_a_request("GET / HTTP/1.1\r\nHost: a")]
#[case::after_a_request("GET /health HTTP/1.1\r\nHost: a\r\n\r\nGET / HT")]
#[tokio::test(start_paused = true)]
async fn who_sends_no_headers_is_left(#[case] sent: &str) {
    let (echo, _) = start(Protocol::Http, None).await;
    let began = tokio::time::Instant::now();
    let mut stream = TcpStream::connect(echo.addr()).await.unwrap();
    stream.write_all(sent.as_bytes()).await.unwrap();
    let mut answer = Vec::new();
    // How the other side closes does not matter.
    let _ = tokio::time::timeout(2 * HEADER_TIME, stream.read_to_end(&mut answer)).await.unwrap();
    assert!(began.elapsed() >= HEADER_TIME, "{:?}", began.elapsed());
    assert_eq!(answer.starts_with(b"HTTP/1.1 200"), sent.contains("/health"));
}

#[tokio::test(start_paused = true)]
async fn connections_wait_for_a_place() {
    let (echo, _) = start(Protocol::Dialogue, None).await;
    let connect = || async { BufReader::new(TcpStream::connect(echo.addr()).await.unwrap()) };
    let mut line = String::new();
    let mut served = Vec::new();
    for _ in 0..MOST_CONNECTIONS {
        let mut stream = connect().await;
        stream.read_line(&mut line).await.unwrap();
        served.push(stream);
    }
    let mut next = connect().await;
    line.clear();
    let early = tokio::time::timeout(Duration::from_secs(1), next.read_line(&mut line)).await;
    assert!(early.is_err(), "it was served beside {MOST_CONNECTIONS} others: {line}");
    served.pop();
    next.read_line(&mut line).await.unwrap();
    assert!(!line.is_empty());
}

#[tokio::test]
async fn one_that_greets_speaks_before_it_is_asked_and_returns_the_rest() {
    let (echo, _) = start(Protocol::Greeting, None).await;
    let mut stream = BufReader::new(TcpStream::connect(echo.addr()).await.unwrap());
    let mut line = String::new();
    stream.read_line(&mut line).await.unwrap();
    let json: Value = serde_json::from_str(&line).unwrap();
    assert_eq!((&json["pod"], json.get("requestId")), (&json!("pod-1"), None));
    stream.write_all(b"rest").await.unwrap();
    stream.shutdown().await.unwrap();
    let mut rest = String::new();
    stream.read_to_string(&mut rest).await.unwrap();
    assert_eq!(rest, "rest");
}

/// Its answer is the sign that nobody is let in any more, not even who comes in the same moment.
#[tokio::test]
async fn who_is_asked_to_leave_answers_and_lets_nobody_in() {
    let (echo, _) = start(Protocol::Http, None).await;
    let (status, headers, _) = send(&echo, get("/?leave=1&of=others", &[])).await;
    assert_eq!((status, headers.get("connection")), (StatusCode::OK, None));
    let (status, headers, _) = send(&echo, get("/?leave=1&of=pod", &[])).await;
    assert_eq!((status, headers.get("connection")), (StatusCode::OK, Some(&"close".parse().unwrap())));
    let refused = TcpStream::connect(echo.addr()).await.unwrap_err();
    assert_eq!(refused.kind(), std::io::ErrorKind::ConnectionRefused);
}

#[rstest]
#[case("/?bytes=100000", true)]
#[case("/?bytes=100000&chunked=1", false)]
#[tokio::test]
async fn answers_are_as_long_as_they_are_asked_to_be(#[case] path: &str, #[case] is_told: bool) {
    let (echo, _) = start(Protocol::Http, None).await;
    let (_, headers, body) = send(&echo, get(path, &[])).await;
    let json: Value = serde_json::from_str(&body).unwrap();
    let whole = (json["filler"].as_str().unwrap(), &json["fillerLength"]);
    assert_eq!(whole, (filler(100_000).as_str(), &json!(100_000)));
    let told = headers.get("content-length").map(|length| length.to_str().unwrap().to_owned());
    assert_eq!(told, is_told.then(|| body.len().to_string()));
}

/// What comes over one connection for requests that are answered in chunks: of heads some lines, and from the last chunk on all.
async fn over_one_connection(echo: &Echo, paths: &[&str]) -> String {
    let told = ["HTTP/1.1", "Link", "Trailer"];
    let mut stream = BufReader::new(TcpStream::connect(echo.addr()).await.unwrap());
    let mut came = String::new();
    for path in paths {
        stream.write_all(format!("GET {path} HTTP/1.1\r\nHost: a.test\r\n\r\n").as_bytes()).await.unwrap();
        let (mut is_last, mut line) = (false, String::new());
        while stream.read_line(&mut line).await.unwrap() > 0 {
            is_last |= line == "0\r\n";
            if is_last || told.iter().any(|start| line.starts_with(start)) {
                came.push_str(&line);
            }
            if is_last && line == "\r\n" {
                break;
            }
            line.clear();
        }
    }
    came.replace("\r\n", "\n")
}

#[tokio::test]
async fn trailers_follow_an_answer_in_chunks_and_hints_come_before_one() {
    let (echo, _) = start(Protocol::Http, None).await;
    let long = "/?bytes=100000&chunked=1&trailer=x-late:1&trailer=x-more:2";
    let came = over_one_connection(&echo, &[long, "/?chunked=1&hints=1", long]).await;
    let trailed = "HTTP/1.1 200 OK\nTrailer: x-late, x-more\n0\nx-late: 1\nx-more: 2\n\n";
    let hinted = "HTTP/1.1 103 Early Hints\nLink: </style.css>; rel=preload; as=style\nHTTP/1.1 200 OK\n0\n\n";
    assert_eq!(came, format!("{trailed}{hinted}{trailed}"));
}

/// A line of the head that ends as the last chunk does is none, and without a body nothing stands behind one.
#[tokio::test]
async fn trailers_stand_behind_the_last_chunk_alone() {
    let (echo, _) = start(Protocol::Http, None).await;
    let asks = get("/?chunked=1&trailer=x-late:1", &[("x-echo-set-header", "x-zero:0")]);
    let (_, headers, body) = send(&echo, asks).await;
    assert_eq!((&headers["x-zero"], &headers["trailer"]), (&"0".parse().unwrap(), &"x-late".parse().unwrap()));
    assert_eq!(serde_json::from_str::<Value>(&body).unwrap()["path"], "/?chunked=1&trailer=x-late:1");
    let mut head = get("/?chunked=1&trailer=x-late:1", &[]);
    *head.method_mut() = http::Method::HEAD;
    let (status, headers, body) = send(&echo, head).await;
    assert_eq!((status, headers.get("trailer"), body.as_str()), (StatusCode::OK, None, ""));
}

/// What a backend says of its answer's request, of lengths and body.
async fn told_of(stream: &mut BufReader<TcpStream>) -> Value {
    let (mut line, mut length) = (String::new(), 0);
    while stream.read_line(&mut line).await.unwrap() > 2 {
        if let Some(told) = line.to_ascii_lowercase().strip_prefix("content-length:") {
            length = told.trim().parse().unwrap();
        }
        line.clear();
    }
    let mut body = vec![0; length];
    stream.read_exact(&mut body).await.unwrap();
    let told: Value = serde_json::from_slice(&body).unwrap();
    json!([told["headers"]["Content-Length"], told["headers"]["Transfer-Encoding"], told["bodyLength"]])
}

/// Requests that contradict themselves, with what is to be told of each of its lengths, its chunks and its body.
fn contradictions() -> Vec<(String, Value)> {
    let body = "\ncontent-length: 1\r\ncontent-length: 2\r\n";
    let requests = [
        ("Content-Length: 5\r\nContent-Length: 9\r\n\r\nhello".to_owned(), json!([["5", "9"], null, 5])),
        ("Content-Length:\r\n\r\n".to_owned(), json!([[""], null, 0])),
        (
            "Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n".to_owned(),
            json!([["3"], ["chunked"], 5]),
        ),
        (
            "Transfer-Encoding: chunked\r\nContent-Length: 3\r\n\r\n5\r\nhello\r\n0\r\n\r\n".to_owned(),
            json!([["3"], ["chunked"], 5]),
        ),
        (format!("Content-Length: {}\r\n\r\n{body}", body.len()), json!([[body.len().to_string()], null, body.len()])),
    ];
    requests.map(|(sent, told)| (format!("POST / HTTP/1.1\r\nHost: a.test\r\n{sent}"), told)).into()
}

/// One that contradicts itself is taken all the same, and what it says of its length is told; so is the one behind it. It makes no
/// difference whether they come one after the other, in how many pieces, or all at once.
#[rstest]
#[case::whole(usize::MAX)]
#[case::in_pieces(40)]
#[case::byte_by_byte(1)]
#[tokio::test]
async fn all_is_told_that_a_request_says_of_its_length(#[case] piece: usize) {
    let (echo, _) = start(Protocol::Http, None).await;
    let stream = TcpStream::connect(echo.addr()).await.unwrap();
    stream.set_nodelay(true).unwrap();
    let mut stream = BufReader::new(stream);
    for (sent, told) in contradictions() {
        for piece in sent.as_bytes().chunks(piece) {
            stream.write_all(piece).await.unwrap();
            // So that the backend has read it before the next one is there.
            tokio::task::yield_now().await;
        }
        assert_eq!(told_of(&mut stream).await, told, "{sent}");
    }
}

#[tokio::test]
async fn all_is_told_of_requests_that_come_at_once() {
    let (echo, _) = start(Protocol::Http, None).await;
    let mut stream = BufReader::new(TcpStream::connect(echo.addr()).await.unwrap());
    let sent: String = contradictions().into_iter().map(|(sent, _)| sent).collect();
    stream.write_all(sent.as_bytes()).await.unwrap();
    for (sent, told) in contradictions() {
        assert_eq!(told_of(&mut stream).await, told, "{sent}");
    }
}

/// Who asks for another protocol and does not get it goes on in this one; who gets it is left alone.
#[tokio::test]
async fn lengths_are_told_behind_an_upgrade_that_is_not_granted() {
    let (echo, _) = start(Protocol::Http, None).await;
    let mut stream = BufReader::new(TcpStream::connect(echo.addr()).await.unwrap());
    let asks = "GET / HTTP/1.1\r\nHost: a.test\r\nConnection: upgrade\r\nUpgrade: other\r\n\r\n";
    stream.write_all(asks.as_bytes()).await.unwrap();
    assert_eq!(told_of(&mut stream).await, json!([null, null, 0]));
    for (sent, told) in contradictions() {
        stream.write_all(sent.as_bytes()).await.unwrap();
        assert_eq!(told_of(&mut stream).await, told, "{sent}");
    }
}

/// Whatever comes over a WebSocket is no head, of which an end would be waited for.
#[tokio::test]
async fn frames_of_a_websocket_are_answered_at_once() {
    let (echo, _) = start(Protocol::Http, None).await;
    let mut stream = TcpStream::connect(echo.addr()).await.unwrap();
    let asks = "GET /ws HTTP/1.1\r\nHost: a.test\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\
        Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: YQ==\r\n\r\n";
    stream.write_all(asks.as_bytes()).await.unwrap();
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(stream.read_u8().await.unwrap());
    }
    // Neither of them has an end of a line in it: masked by spaces, small letters are large ones.
    stream.write_all(b"\x81\x85    HELLO").await.unwrap();
    let mut frame = [0; 7];
    tokio::time::timeout(Duration::from_secs(10), stream.read_exact(&mut frame)).await.unwrap().unwrap();
    assert_eq!(&frame, b"\x81\x05hello");
}

/// Of HTTP/1.1 alone lengths are set aside under another name, so what has that name over HTTP/2 is a header like any other.
#[rstest]
#[case::http1(false, json!([["3"], null]))]
#[case::http2(true, json!([null, ["3"]]))]
#[tokio::test]
async fn over_http1_alone_lengths_get_their_name_back(#[case] http2: bool, #[case] told: Value) {
    let (echo, _) = start(Protocol::Http, None).await;
    let request = Request::get("http://a.test/").header("host", "a.test").header("content*length", "3");
    let request = request.body(Full::<Bytes>::default()).unwrap();
    let body = if http2 {
        let stream = TcpStream::connect(echo.addr()).await.unwrap();
        let handshake = hyper::client::conn::http2::handshake(TokioExecutor::new(), TokioIo::new(stream));
        let (mut sender, connection) = handshake.await.unwrap();
        tokio::spawn(connection);
        let body = sender.send_request(request).await.unwrap().into_body();
        String::from_utf8(body.collect().await.unwrap().to_bytes().to_vec()).unwrap()
    } else {
        send(&echo, request).await.2
    };
    let echoed: Value = serde_json::from_str(&body).unwrap();
    assert_eq!(json!([echoed["headers"]["Content-Length"], echoed["headers"]["Content*length"]]), told);
}
