//! Answers from a target are not to be trusted: whatever comes, an attempt ends in its time, takes bounded memory, and says
//! what it saw. Time stands still but where everybody waits, so that deadlines are exact.
#![allow(clippy::unwrap_used)]

mod bad_server;

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use bad_server::{Act, BadServer, End};
use bytes::Bytes;
use futures::stream;
use gateproof::cluster::clock;
use gateproof::cluster::dial::{Connection, DialError, Dialer, StaticDialer};
use gateproof::log::{Elapsed, Exchange, Hello, HttpRequest, Message, ProbeError, ProbeRequest, TcpEnd};
use gateproof::probe::Prober;
use http_body_util::StreamBody;
use hyper::body::{Frame, Incoming};
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use rstest::rstest;
use rustls::SupportedProtocolVersion;
use rustls_pki_types::PrivatePkcs8KeyDer;
use tokio::io::{AsyncReadExt, AsyncWriteExt, duplex};
use tokio::time::Instant;
use tokio_rustls::TlsAcceptor;

/// What one attempt may take.
const BUDGET: Duration = Duration::from_secs(5);
/// How many bytes a server gets rid of at most: those of the bound of an attempt, and buffers.
const MOST_TAKEN: u64 = 5 * 1024 * 1024;
/// What an exchange may take of the log, in bytes.
const MOST_LOGGED: usize = 1024 * 1024;

/// How a probe speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Http1,
    Http2,
    Grpc,
    WebSocket,
    Tcp,
}

use Kind::{Grpc, Http1, Http2, Tcp, WebSocket};

impl Kind {
    fn request(self, host: &str, port: u16) -> ProbeRequest {
        if self == Tcp {
            return ProbeRequest::tcp(host, port, "");
        }
        let host = host.to_owned();
        let is_grpc = self == Grpc;
        ProbeRequest::from(HttpRequest {
            host,
            port,
            http2: matches!(self, Http2 | Grpc),
            method: if is_grpc { "POST" } else { "GET" }.to_owned(),
            target: "/a.B/C".to_owned(),
            authority: "host.test".to_owned(),
            headers: is_grpc.then(|| ("content-type".to_owned(), "application/grpc".to_owned())).into_iter().collect(),
            messages: (self == WebSocket).then(|| vec![Message::Text, Message::Ping]),
            ..HttpRequest::default()
        })
    }

    /// A right answer: the part of it that is the head of a WebSocket, and all of it.
    fn answer(self) -> (usize, Vec<u8>) {
        match self {
            Http1 => (0, b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello".to_vec()),
            Http2 => (0, [settings(), frame(HEADERS, END_HEADERS, &[STATUS_200]), frame(DATA, END, b"hello")].concat()),
            Grpc => {
                let head = [&[STATUS_200][..], &field("content-type", "application/grpc")].concat();
                let end = frame(HEADERS, END_HEADERS | END, &field("grpc-status", "0"));
                (0, [settings(), frame(HEADERS, END_HEADERS, &head), frame(DATA, 0, b"\0\0\0\0\x01x"), end].concat())
            }
            WebSocket => {
                let head = b"HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\r\n";
                let frames = [&b"\x81\x0ehello, gateway"[..], b"\x8a\x0dare you there"].concat();
                (head.len(), [&head[..], &frames].concat())
            }
            Tcp => (0, b"hello\n".to_vec()),
        }
    }
}

const DATA: u8 = 0;
const HEADERS: u8 = 1;
const SETTINGS: u8 = 4;
const PING: u8 = 6;
const CONTINUATION: u8 = 9;
/// Flags of HTTP/2.
const END: u8 = 1;
const END_HEADERS: u8 = 4;
/// `:status: 200` as the static table of HPACK has it (RFC 7541, appendix A).
const STATUS_200: u8 = 0x88;

/// A frame of HTTP/2 (RFC 9113, section 4.1), on the first stream if its type is one of streams.
fn frame(of: u8, flags: u8, payload: &[u8]) -> Vec<u8> {
    let length = u32::try_from(payload.len()).unwrap().to_be_bytes();
    let stream = u8::from(matches!(of, DATA | HEADERS | CONTINUATION));
    [&length[1..], &[of, flags, 0, 0, 0, stream], payload].concat()
}

fn settings() -> Vec<u8> {
    frame(SETTINGS, 0, b"")
}

/// A field of HPACK that is not indexed (RFC 7541, section 6.2.2).
fn field(name: &str, value: &str) -> Vec<u8> {
    let text = |text: &str| [&[u8::try_from(text.len()).unwrap()][..], text.as_bytes()].concat();
    [&[0][..], &text(name), &text(value)].concat()
}

/// What an exchange shows of the attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Shown {
    Whole,
    WrongReply,
    Closed,
    Hung,
    Alerted,
    Broken,
    Malformed,
    TimedOut,
    Handshake,
}

use Shown::{Alerted, Broken, Closed, Handshake, Hung, Malformed, TimedOut, Whole, WrongReply};

fn shown(exchange: &Exchange) -> Shown {
    match (&exchange.error, &exchange.http, &exchange.tcp) {
        (None, Some(_), None) if exchange.replies.iter().any(|reply| reply.wrong.is_some()) => WrongReply,
        (None, Some(_), None) => Whole,
        (None, None, Some(TcpEnd::Answered { .. })) => Whole,
        (None, None, Some(TcpEnd::ClosedBeforeAnyByte)) => Closed,
        (None, None, Some(TcpEnd::Hung)) => Hung,
        (None, None, Some(TcpEnd::Alert(_))) => Alerted,
        (Some(ProbeError::Broken(_)), None, None) => Broken,
        (Some(ProbeError::Malformed(_)), None, None) => Malformed,
        (Some(ProbeError::TimedOut), None, None) => TimedOut,
        (Some(ProbeError::Handshake(_)), None, None) => Handshake,
        _ => panic!("an attempt ends in one way: {exchange:?}"),
    }
}

/// One attempt against the script. Whatever happens, it keeps its time, takes bounded memory and fits the log.
async fn attempt(request: ProbeRequest, acts: Vec<Act>, end: End) -> Exchange {
    let server = BadServer::new(acts, end);
    let began = clock::now();
    let prober = Prober::new(Arc::new(server.clone()), BUDGET);
    let exchange = prober.attempt("id".to_owned(), request, Elapsed(0)).await;
    let took = clock::now() - began;
    // The timer of the runtime counts whole milliseconds.
    assert!(took <= BUDGET + Duration::from_millis(1), "{took:?}");
    let is_late = matches!(shown(&exchange), TimedOut | Hung | WrongReply);
    assert!(is_late || took < BUDGET, "an end within the time is told as one: {took:?} {exchange:?}");
    assert!(server.written() < MOST_TAKEN, "{} bytes", server.written());
    let written = serde_json::to_string(&exchange).unwrap();
    assert!(written.len() < MOST_LOGGED, "{} bytes", written.len());
    exchange
}

fn probe(kind: Kind) -> ProbeRequest {
    kind.request("host.test", 80)
}

/// Every way to cut a right answer short ends the attempt at once, as one that failed, with all that came as evidence.
#[rstest]
#[tokio::test(start_paused = true)]
async fn an_answer_is_cut_at_every_byte(
    #[values(Http1, Http2, Grpc, WebSocket, Tcp)] kind: Kind,
    #[values(End::Close, End::Reset, End::Silence)] end: End,
) {
    let (head, whole) = kind.answer();
    for cut in 0..whole.len() {
        let exchange = attempt(probe(kind), vec![Act::Write(whole[..cut].to_vec())], end).await;
        let expected = match (kind, end) {
            (WebSocket, _) if cut >= head => WrongReply,
            (Tcp, End::Close | End::Reset) if cut == 0 => Closed,
            (Tcp, End::Silence) if cut == 0 => Hung,
            (_, End::Silence) => TimedOut,
            (_, End::Close | End::Reset) => Broken,
        };
        assert_eq!(shown(&exchange), expected, "after {cut} bytes: {exchange:?}");
        let received = exchange.received.map(|received| (received.bytes, received.start));
        let expected = (cut > 0).then(|| (cut as u64, whole[..cut.min(256)].escape_ascii().to_string()));
        assert_eq!(received, expected, "after {cut} bytes");
    }
    let exchange = attempt(probe(kind), vec![Act::Write(whole)], end).await;
    assert_eq!((shown(&exchange), exchange.received), (Whole, None));
}

/// The same over a socket, where the kernel may throw away what a reset overtakes: then less has come, but it is no answer
/// either.
#[rstest]
#[tokio::test]
async fn a_real_reset_is_no_answer(#[values(Http1, Http2, Grpc, WebSocket, Tcp)] kind: Kind) {
    let (_, whole) = kind.answer();
    for cut in [0, 1, whole.len() / 2, whole.len() - 1] {
        let address = BadServer::new(vec![Act::Write(whole[..cut].to_vec())], End::Reset).listen().await;
        let prober = Prober::new(Arc::new(StaticDialer::default()), BUDGET);
        let request = kind.request(&address.ip().to_string(), address.port());
        let exchange = prober.attempt("id".to_owned(), request, Elapsed(0)).await;
        let shown = shown(&exchange);
        assert!(matches!(shown, Broken | Closed | WrongReply), "after {cut} bytes: {exchange:?}");
        assert!(shown != Closed || exchange.received.is_none(), "{exchange:?}");
    }
}

fn h1(answer: &[u8]) -> Vec<Act> {
    vec![Act::Write(answer.to_vec())]
}

fn h2(frames: &[Vec<u8>]) -> Vec<Act> {
    vec![Act::Write([settings(), frames.concat()].concat())]
}

fn endless(begin: &[u8], again: &[u8]) -> Vec<Act> {
    vec![Act::Write(begin.to_vec()), Act::Endless(again.to_vec())]
}

const OPEN: &[u8] = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
const UPGRADED: &[u8] = b"HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\r\n";

fn h2_open() -> Vec<u8> {
    [settings(), frame(HEADERS, END_HEADERS, &[STATUS_200])].concat()
}

fn call(messages: &[u8]) -> Vec<Act> {
    let head = [&[STATUS_200][..], &field("content-type", "application/grpc")].concat();
    let end = frame(HEADERS, END_HEADERS | END, &field("grpc-status", "0"));
    h2(&[frame(HEADERS, END_HEADERS, &head), frame(DATA, 0, messages), end])
}

#[rstest]
#[case::endless_body(Http1, endless(OPEN, b"4\r\nbody\r\n"), Malformed)]
#[case::endless_body_of_a_length(Http1, endless(b"HTTP/1.1 200 OK\r\nContent-Length: 99999999999\r\n\r\n", &[b'x'; 4096]), Malformed)]
#[case::endless_chunk(Http1, endless(&[OPEN, b"fffffffffff\r\n"].concat(), &[b'x'; 4096]), Malformed)]
#[case::endless_extension_of_a_chunk(Http1, endless(&[OPEN, b"1;"].concat(), b"extension"), Malformed)]
#[case::endless_trailers(Http1, endless(&[OPEN, b"0\r\n"].concat(), b"X-A: b\r\n"), Malformed)]
#[case::endless_headers(Http1, endless(b"HTTP/1.1 200 OK\r\n", b"X-A: b\r\n"), Malformed)]
#[case::endless_header(Http1, endless(b"HTTP/1.1 200 OK\r\nX-A: ", &[b'x'; 4096]), Malformed)]
#[case::endless_status_line(Http1, endless(b"HTTP/1.1 200 ", &[b'x'; 4096]), Malformed)]
#[case::endless_interim_answers(Http1, endless(b"", b"HTTP/1.1 100 Continue\r\n\r\n"), Malformed)]
#[case::endless_empty_lines(Http1, endless(b"", b"\r\n"), Malformed)]
#[case::http_0_9(Http1, h1(b"<html>hello</html>\n"), Malformed)]
#[case::another_protocol(Http1, h1(b"\x15\x03\x03\x00\x02\x02\x46"), Malformed)]
#[case::status_of_no_number(Http1, h1(b"HTTP/1.1 abc OK\r\n\r\n"), Malformed)]
#[case::length_of_no_number(Http1, h1(b"HTTP/1.1 200 OK\r\nContent-Length: five\r\n\r\nhello"), Malformed)]
#[case::two_lengths(Http1, h1(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nhello!"), Malformed)]
#[case::length_too_long(Http1, h1(b"HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nhello"), Broken)]
#[case::length_too_short(Http1, h1(b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nhello"), Malformed)]
#[case::content_of_204(Http1, h1(b"HTTP/1.1 204 No Content\r\n\r\nhello"), Malformed)]
#[case::chunk_of_no_number(Http1, h1(&[OPEN, b"xyz\r\nhello\r\n0\r\n\r\n"].concat()), Malformed)]
#[case::chunk_longer_than_said(Http1, h1(&[OPEN, b"4\r\nhello\r\n0\r\n\r\n"].concat()), Malformed)]
#[case::chunk_shorter_than_said(Http1, h1(&[OPEN, b"6\r\nhello\r\n0\r\n\r\n"].concat()), Malformed)]
#[case::chunk_beyond_all_numbers(Http1, h1(&[OPEN, b"fffffffffffffffff\r\nhello\r\n0\r\n\r\n"].concat()), Malformed)]
#[case::last_chunk_missing(Http1, h1(&[OPEN, b"5\r\nhello\r\n"].concat()), Broken)]
#[case::more_behind_the_last_chunk(Http1, h1(&[OPEN, b"5\r\nhello\r\n0\r\n\r\n5\r\nhello\r\n"].concat()), Malformed)]
#[case::zero_byte_in_a_header(Http1, h1(b"HTTP/1.1 200 OK\r\nX-A: \0\r\n\r\n"), Malformed)]
#[case::space_in_a_name(Http1, h1(b"HTTP/1.1 200 OK\r\nX A: b\r\n\r\n"), Malformed)]
#[case::body_of_no_utf8(Http1, h1(b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\n\xff\xfe\xc0\x80"), Whole)]
#[case::header_of_no_utf8(Http1, h1(b"HTTP/1.1 200 OK\r\nX-A: \xff\xfe\r\nContent-Length: 0\r\n\r\n"), Whole)]
#[case::upgrade_that_nobody_asked_for(Http1, h1(UPGRADED), Whole)]
#[case::body_beyond_the_window(Http2, endless(&h2_open(), &frame(DATA, 0, &[b'x'; 4096])), Broken)]
#[case::endless_empty_frames(Http2, endless(&h2_open(), &frame(DATA, 0, b"")), Broken)]
#[case::endless_pings(Http2, endless(&settings(), &frame(PING, 0, b"whatever")), Malformed)]
#[case::endless_settings(Http2, endless(&settings(), &settings()), Malformed)]
#[case::endless_headers(Http2, endless(&[settings(), frame(HEADERS, 0, &[STATUS_200])].concat(), &frame(CONTINUATION, 0, &field("x-a", "b"))), Broken)]
#[case::endless_unknown_frames(Http2, endless(&settings(), &frame(99, 0, &[b'x'; 4096])), Malformed)]
#[case::frame_beyond_the_limit(Http2, h2(&[frame(HEADERS, END_HEADERS, &[STATUS_200]), frame(DATA, END, &[b'x'; 20_000])]), Broken)]
#[case::no_status(Http2, h2(&[frame(HEADERS, END_HEADERS | END, &field("x-a", "b"))]), Broken)]
#[case::length_too_long(Http2, h2(&[frame(HEADERS, END_HEADERS, &[&[STATUS_200][..], &field("content-length", "6")].concat()), frame(DATA, END, b"hello")]), Broken)]
#[case::length_too_short(Http2, h2(&[frame(HEADERS, END_HEADERS, &[&[STATUS_200][..], &field("content-length", "4")].concat()), frame(DATA, END, b"hello")]), Broken)]
#[case::no_hpack(Http2, h2(&[frame(HEADERS, END_HEADERS | END, b"\xff\xff\xff\xff\xff\xff\xff\xff")]), Broken)]
#[case::data_before_headers(Http2, h2(&[frame(DATA, END, b"hello")]), Broken)]
#[case::http1(Http2, h1(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n"), Broken)]
#[case::another_protocol(Http2, h1(b"\x15\x03\x03\x00\x02\x02\x46 and more"), Broken)]
#[case::body_of_no_utf8(Http2, h2(&[frame(HEADERS, END_HEADERS, &[STATUS_200]), frame(DATA, END, b"\xff\xfe\xc0\x80")]), Whole)]
#[case::message_breaks_off(Grpc, call(b"\0\0\0\0\x01x\0\0\0\0\x09x"), Malformed)]
#[case::prefix_breaks_off(Grpc, call(b"\0\0\0\0\x01x\0\0"), Malformed)]
#[case::message_beyond_all_memory(Grpc, call(b"\0\xff\xff\xff\xffx"), Malformed)]
#[case::message_of_no_utf8(Grpc, call(b"\0\0\0\0\x04\xff\xfe\xc0\x80"), Whole)]
#[case::endless_messages(Grpc, endless(&h2_open(), &frame(DATA, 0, b"\0\0\0\0\x01x")), Broken)]
#[case::no_upgrade(WebSocket, h1(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"), Whole)]
#[case::text_of_no_utf8(WebSocket, h1(&[UPGRADED, b"\x81\x02\xff\xfe"].concat()), WrongReply)]
#[case::masked_frame(WebSocket, h1(&[UPGRADED, b"\x81\x81abcdx"].concat()), WrongReply)]
#[case::reserved_opcode(WebSocket, h1(&[UPGRADED, b"\x83\x01x"].concat()), WrongReply)]
#[case::frame_beyond_all_memory(WebSocket, h1(&[UPGRADED, b"\x82\x7f\x7f\xff\xff\xff\xff\xff\xff\xffx"].concat()), WrongReply)]
#[case::endless_frame(WebSocket, endless(&[UPGRADED, b"\x82\x7f\0\0\0\xff\xff\xff\xff\xff"].concat(), &[b'x'; 4096]), WrongReply)]
#[case::endless_fragments(WebSocket, endless(&[UPGRADED, b"\x01\x01x"].concat(), b"\x00\x04more"), WrongReply)]
#[case::endless_empty_fragments(WebSocket, endless(&[UPGRADED, b"\x01\x01x"].concat(), b"\x00\x00"), WrongReply)]
#[case::endless_pings(WebSocket, endless(UPGRADED, b"\x89\x01x"), WrongReply)]
#[case::endless_line(Tcp, endless(b"", &[b'x'; 4096]), Malformed)]
#[case::line_of_no_utf8(Tcp, h1(b"\xff\xfe\xc0\x80\n"), Whole)]
#[case::empty_line(Tcp, h1(b"\n"), Whole)]
#[tokio::test(start_paused = true)]
async fn what_comes_is_told(#[case] kind: Kind, #[case] acts: Vec<Act>, #[case] expected: Shown) {
    let exchange = attempt(probe(kind), acts, End::Close).await;
    assert_eq!(shown(&exchange), expected, "{exchange:?}");
    assert_eq!(exchange.received.is_some(), expected != Whole, "evidence belongs to failures: {exchange:?}");
}

/// A server of HTTP/2 that keeps to the protocol, but whose answers never end.
struct Endless;

#[async_trait]
impl Dialer for Endless {
    async fn dial(&self, _: &str, _: u16, _: Instant) -> Result<Connection, DialError> {
        let (client, server) = duplex(64 * 1024);
        let service = service_fn(async |request: http::Request<Incoming>| {
            let of = request.headers().get("content-type").cloned();
            let message = Bytes::from([&b"\0\0\0\x04\0"[..], &[b'x'; 1024]].concat());
            let again = stream::repeat_with(move || Ok::<_, Infallible>(Frame::data(message.clone())));
            let mut response = http::Response::new(StreamBody::new(again));
            response.headers_mut().extend(of.map(|of| (http::header::CONTENT_TYPE, of)));
            Ok::<_, Infallible>(response)
        });
        let builder = hyper::server::conn::http2::Builder::new(TokioExecutor::new());
        tokio::spawn(builder.serve_connection(TokioIo::new(server), service));
        Ok(Connection { stream: Box::new(client), peer: None })
    }

    fn advice(&self) -> &'static str {
        "there is none"
    }
}

#[rstest]
#[tokio::test(start_paused = true)]
async fn an_answer_over_http2_that_never_ends_is_given_up(#[values(Http2, Grpc)] kind: Kind) {
    let prober = Prober::new(Arc::new(Endless), BUDGET);
    let exchange = prober.attempt("id".to_owned(), probe(kind), Elapsed(0)).await;
    assert_eq!(shown(&exchange), Malformed, "{exchange:?}");
    let received = exchange.received.unwrap();
    assert!(received.status == Some(200) && received.bytes < MOST_TAKEN, "{received:?}");
}

/// A byte now and then keeps no attempt going beyond its time, wherever in the answer it comes.
#[rstest]
#[case::head(Http1, 0, TimedOut, None)]
#[case::body(Http1, 39, TimedOut, Some(200))]
#[case::settings(Http2, 0, TimedOut, None)]
#[case::body(Http2, 23, TimedOut, Some(200))]
#[case::trailers(Grpc, 74, TimedOut, Some(200))]
#[case::head(WebSocket, 0, TimedOut, None)]
#[case::frame(WebSocket, UPGRADED.len(), WrongReply, Some(101))]
#[case::line(Tcp, 0, TimedOut, None)]
#[tokio::test(start_paused = true)]
async fn a_slow_answer_is_late(
    #[case] kind: Kind,
    #[case] at_once: usize,
    #[case] expected: Shown,
    #[case] status: Option<u16>,
) {
    let (_, whole) = kind.answer();
    let (first, rest) = whole.split_at(at_once);
    let every = Duration::from_secs(2);
    let acts = vec![Act::Write(first.to_vec()), Act::Drip(rest.to_vec(), every)];
    let exchange = attempt(probe(kind), acts, End::Close).await;
    assert_eq!(shown(&exchange), expected, "{exchange:?}");
    let received = exchange.received.unwrap();
    assert_eq!((received.bytes, received.status), (at_once as u64 + 2, status), "two of them fit into the time");
}

/// A request that begins with a handshake: over HTTPS, or for a stream within TLS.
fn over_tls(kind: Kind) -> ProbeRequest {
    let name = Some("host.test".to_owned());
    match probe(kind) {
        ProbeRequest::Http(request) => HttpRequest { tls_server_name: name, ..*request }.into(),
        ProbeRequest::Tcp { host, port, send, behind, listens, half_close, idle, .. } => {
            let tls = Some(Hello { server_name: name, ..Hello::default() });
            ProbeRequest::Tcp { host, port, send, behind, listens, half_close, idle, tls }
        }
        ProbeRequest::Udp { .. } => panic!("datagrams have no handshake here"),
    }
}

/// What comes instead of a handshake is shown as it came.
#[rstest]
#[case::no_tls(h1(b"HTTP/1.1 400 Bad Request\r\n\r\n"), End::Close, Handshake)]
#[case::cut_record(h1(b"\x16\x03\x03\x01\x00\x02"), End::Close, Handshake)]
#[case::oversized_record(h1(&[&b"\x16\x03\x03\xff\xff"[..], &[2; 70_000]].concat()), End::Close, Handshake)]
#[case::reset(h1(b"\x16\x03"), End::Reset, Handshake)]
#[case::endless(endless(b"", b"\x16\x03\x03\x00\x04\x02\xff\xff\xff"), End::Close, Handshake)]
#[case::endless_warnings(endless(b"", b"\x15\x03\x03\x00\x02\x01\x5a"), End::Close, Handshake)]
#[case::slow(vec![Act::Drip(b"\x16\x03\x03\x01\x00".to_vec(), Duration::from_secs(2))], End::Close, TimedOut)]
#[tokio::test(start_paused = true)]
async fn a_handshake_fails_with_evidence(
    #[values(Http1, Http2, Grpc, WebSocket, Tcp)] kind: Kind,
    #[case] acts: Vec<Act>,
    #[case] end: End,
    #[case] expected: Shown,
) {
    let exchange = attempt(over_tls(kind), acts, end).await;
    assert_eq!(shown(&exchange), expected, "{exchange:?}");
    assert!(exchange.received.is_some(), "{exchange:?}");
}

/// An alert is an answer to a stream's handshake, which may be what is asked for, and an error of a request.
#[rstest]
#[case(Http1, Handshake)]
#[case(Tcp, Alerted)]
#[tokio::test(start_paused = true)]
async fn an_alert_is_told_from_silence(#[case] kind: Kind, #[case] expected: Shown) {
    let exchange = attempt(over_tls(kind), h1(b"\x15\x03\x03\x00\x02\x02\x28"), End::Close).await;
    assert_eq!(shown(&exchange), expected, "{exchange:?}");
}

/// A server that breaks the handshake off by an alert once it has sent its part.
struct Alerts;

#[async_trait]
impl Dialer for Alerts {
    async fn dial(&self, _: &str, _: u16, _: Instant) -> Result<Connection, DialError> {
        let (client, mut server) = duplex(64 * 1024);
        tokio::spawn(async move {
            let mut hello = vec![0; 4096];
            let length = server.read(&mut hello).await.unwrap();
            // Later versions encrypt whatever comes behind their first message.
            let config = presenting(1, &[&rustls::version::TLS12]);
            let mut tls = rustls::ServerConnection::new(Arc::new(config)).unwrap();
            tls.read_tls(&mut &hello[..length]).unwrap();
            tls.process_new_packets().unwrap();
            let mut part = Vec::new();
            tls.write_tls(&mut part).unwrap();
            assert!(part.len() > 500, "a certificate is part of it");
            server.write_all(&[&part[..], b"\x15\x03\x03\x00\x02\x02\x28"].concat()).await.unwrap();
            let _ = server.shutdown().await;
        });
        Ok(Connection { stream: Box::new(client), peer: None })
    }

    fn advice(&self) -> &'static str {
        "there is none"
    }
}

#[rstest]
#[case(Http1, Handshake)]
#[case(Tcp, Alerted)]
#[tokio::test]
async fn an_alert_amid_a_handshake_is_told_too(#[case] kind: Kind, #[case] expected: Shown) {
    let exchange = Prober::new(Arc::new(Alerts), BUDGET).attempt("id".to_owned(), over_tls(kind), Elapsed(0)).await;
    assert_eq!(shown(&exchange), expected, "{exchange:?}");
}

/// A server that wants a certificate of its client: what comes of it a client of TLS 1.3 hears when its own handshake is through.
struct WantsCertificates;

#[async_trait]
impl Dialer for WantsCertificates {
    async fn dial(&self, _: &str, _: u16, _: Instant) -> Result<Connection, DialError> {
        let (client, server) = duplex(64 * 1024);
        let pair = rcgen::generate_simple_self_signed(["host.test".to_owned()]).unwrap();
        let key = PrivatePkcs8KeyDer::from(pair.signing_key.serialize_der());
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let mut roots = rustls::RootCertStore::empty();
        roots.add(pair.cert.der().clone()).unwrap();
        let clients =
            rustls::server::WebPkiClientVerifier::builder_with_provider(Arc::new(roots), Arc::clone(&provider));
        let config = rustls::ServerConfig::builder_with_provider(provider)
            .with_protocol_versions(&[&rustls::version::TLS13])
            .unwrap()
            .with_client_cert_verifier(clients.build().unwrap())
            .with_single_cert(vec![pair.cert.der().clone()], key.into())
            .unwrap();
        tokio::spawn(async move { TlsAcceptor::from(Arc::new(config)).accept(server).await.err() });
        Ok(Connection { stream: Box::new(client), peer: None })
    }

    fn advice(&self) -> &'static str {
        "there is none"
    }
}

/// Nothing was wrong with the form of what came: the server has said no.
#[rstest]
#[case(Http1, Handshake)]
#[case(WebSocket, Handshake)]
#[case(Tcp, Alerted)]
#[tokio::test]
async fn an_alert_behind_a_handshake_is_told_as_one(#[case] kind: Kind, #[case] expected: Shown) {
    let exchange =
        Prober::new(Arc::new(WantsCertificates), BUDGET).attempt("id".to_owned(), over_tls(kind), Elapsed(0)).await;
    assert_eq!(shown(&exchange), expected, "{exchange:?}");
    let told = format!("{:?} {:?}", exchange.error, exchange.tcp);
    assert!(told.contains("CertificateRequired"), "{told}");
}

/// A server that breaks off by an alert with its answer half said.
struct AlertsAmidAnAnswer;

#[async_trait]
impl Dialer for AlertsAmidAnAnswer {
    async fn dial(&self, _: &str, _: u16, _: Instant) -> Result<Connection, DialError> {
        let (client, server) = duplex(64 * 1024);
        tokio::spawn(async move {
            let acceptor = TlsAcceptor::from(Arc::new(presenting(1, &[&rustls::version::TLS13])));
            let mut stream = acceptor.accept(server).await.unwrap();
            assert!(stream.read(&mut [0; 1024]).await.unwrap() > 0);
            stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf").await.unwrap();
            stream.flush().await.unwrap();
            // What comes at once with an alert is not read any more, so this goes out when nobody has anything left to do.
            clock::until(clock::now() + Duration::from_millis(1)).await;
            let (mut wire, mut tls) = stream.into_inner();
            // What nobody encrypted is what it takes offence at.
            let unread = [b"\x17\x03\x03\x00\x20", &[0; 32][..]].concat();
            tls.read_tls(&mut &unread[..]).unwrap();
            tls.process_new_packets().unwrap_err();
            let mut alert = Vec::new();
            tls.write_tls(&mut alert).unwrap();
            wire.write_all(&alert).await.unwrap();
            let _ = wire.shutdown().await;
        });
        Ok(Connection { stream: Box::new(client), peer: None })
    }

    fn advice(&self) -> &'static str {
        "there is none"
    }
}

/// With an answer begun, the handshake was well: what broke is the answer.
#[tokio::test(start_paused = true)]
async fn an_alert_amid_an_answer_breaks_the_answer() {
    let prober = Prober::new(Arc::new(AlertsAmidAnAnswer), BUDGET);
    let exchange = prober.attempt("id".to_owned(), over_tls(Http1), Elapsed(0)).await;
    assert_eq!(shown(&exchange), Broken, "{exchange:?}");
    assert!(format!("{:?}", exchange.error).contains("alert"), "{exchange:?}");
}

/// A server's part of a handshake, its certificate that many times.
fn presenting(count: usize, versions: &[&'static SupportedProtocolVersion]) -> rustls::ServerConfig {
    let pair = rcgen::generate_simple_self_signed(["host.test".to_owned()]).unwrap();
    let key = PrivatePkcs8KeyDer::from(pair.signing_key.serialize_der());
    let chain = vec![pair.cert.der().clone(); count];
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    rustls::ServerConfig::builder_with_provider(provider)
        .with_protocol_versions(versions)
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(chain, key.into())
        .unwrap()
}

/// A server that does its part of the handshake.
struct Presents(TlsAcceptor);

impl Presents {
    /// Its certificate comes that many times.
    fn behind(count: usize) -> Self {
        Self(TlsAcceptor::from(Arc::new(presenting(count, rustls::DEFAULT_VERSIONS))))
    }
}

#[async_trait]
impl Dialer for Presents {
    async fn dial(&self, _: &str, _: u16, _: Instant) -> Result<Connection, DialError> {
        let (client, server) = duplex(64 * 1024);
        let acceptor = self.0.clone();
        tokio::spawn(async move {
            let Ok(mut stream) = acceptor.accept(server).await else { return };
            let _ = stream.read(&mut [0; 256]).await;
            let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n").await;
            let _ = stream.shutdown().await;
        });
        Ok(Connection { stream: Box::new(client), peer: None })
    }

    fn advice(&self) -> &'static str {
        "there is none"
    }
}

/// Certificates of a megabyte are no reason to hold one, and ones of a few kilobytes are none to refuse them.
#[rstest]
#[case::common(10, Whole)]
#[case::a_megabyte(3000, Handshake)]
#[tokio::test]
async fn certificates_take_no_more_memory_than_they_may(
    #[values(Http1, WebSocket, Tcp)] kind: Kind,
    #[case] count: usize,
    #[case] expected: Shown,
) {
    let prober = Prober::new(Arc::new(Presents::behind(count)), BUDGET);
    let exchange = prober.attempt("id".to_owned(), over_tls(kind), Elapsed(0)).await;
    assert_eq!(shown(&exchange), expected, "{exchange:?}");
    assert!(serde_json::to_string(&exchange).unwrap().len() < 64 * 1024);
}

/// A peer that speaks HTTP within TLS where a line of a backend is expected: what it said is told, and no backend has spoken.
#[tokio::test]
async fn http_within_tls_is_no_line_of_a_backend() {
    let prober = Prober::new(Arc::new(Presents::behind(1)), BUDGET);
    let exchange = prober.attempt("id".to_owned(), over_tls(Tcp), Elapsed(0)).await;
    let Some(TcpEnd::Answered { line, echo: None }) = &exchange.tcp else { panic!("{exchange:?}") };
    assert_eq!(line.trim_end(), "HTTP/1.1 200 OK");
}
