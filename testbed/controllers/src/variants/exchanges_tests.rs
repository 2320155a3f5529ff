#![allow(clippy::unwrap_used)]

use std::net::Ipv4Addr;
use std::time::Instant;

use gateproof_proxy::{
    Config, ListenerKey, Plain, Proxy, ProxyOptions,
    config::{Backend, Hostname, HttpListener, Listener, Protocol, Route, RouteId, Timeouts, VirtualHost},
};
use http::{HeaderMap, Method, Request, StatusCode};
use http_body::Body as _;
use rstest::rstest;
use tokio::{
    io::AsyncReadExt,
    net::{TcpListener, TcpStream},
};

use super::*;

fn exchange(name: &str) -> Arc<dyn Exchange> {
    super::super::find(name).unwrap().exchange().unwrap()
}

fn connection() -> Arc<Connection> {
    let listener =
        ListenerKey { address: [127, 0, 0, 1].into(), port: 80, transport: gateproof_proxy::config::Transport::Tcp };
    Arc::new(Connection { id: 7, listener, peer: ([127, 0, 0, 9], 4711).into(), opened_at: Instant::now() })
}

fn request() -> RequestHead {
    RequestHead {
        connection: connection(),
        version: Version::HTTP_11,
        scheme: "http",
        server_name: None,
        method: Method::GET,
        authority: "A.test".to_owned(),
        host: "a.test".to_owned(),
        absolute: false,
        path: "/".to_owned(),
        query: None,
        headers: HeaderMap::new(),
    }
}

/// An error that the data plane answers itself.
async fn answered(name: &str) -> Response<Body> {
    let mut error = Response::new(body::full("gone\n"));
    *error.status_mut() = StatusCode::INTERNAL_SERVER_ERROR;
    error.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=utf-8"));
    error.headers_mut().insert(CONTENT_LENGTH, HeaderValue::from_static("5"));
    exchange(name).on_response(&request(), error).await.unwrap()
}

async fn forwarded(name: &str) -> HeaderMap {
    let sent = Request::get("/").header(HOST, "A.test").body(()).unwrap();
    exchange(name).on_forward(&request(), sent.into_parts().0).await.headers
}

#[rstest]
#[case("adds-headers-to-answers", "server", Some("reference"))]
#[case("closes-connections-behind-answers", "connection", Some("close"))]
#[case("answers-errors-with-pages", "content-type", Some("text/html"))]
#[case("chunks-answers", "content-length", None)]
#[tokio::test]
async fn answers_come_otherwise(#[case] name: &str, #[case] header: &str, #[case] value: Option<&str>) {
    let answer = answered(name).await;
    assert_eq!(answer.headers().get(header).map(|value| value.to_str().unwrap()), value);
    assert_eq!(answer.status(), StatusCode::INTERNAL_SERVER_ERROR);
    assert_eq!(answer.body().size_hint().exact().is_none(), name == "chunks-answers");
}

#[rstest]
#[case::in_clear_text(Some(""), StatusCode::PERMANENT_REDIRECT, Some("https://A.test/"))]
#[case::within_tls(Some("a.test"), StatusCode::INTERNAL_SERVER_ERROR, None)]
#[case::at_a_port_of_http(None, StatusCode::INTERNAL_SERVER_ERROR, None)]
#[tokio::test]
async fn clear_text_at_a_port_of_https_is_redirected(
    #[case] server_name: Option<&str>,
    #[case] status: StatusCode,
    #[case] location: Option<&str>,
) {
    let request = RequestHead { server_name: server_name.map(str::to_owned), ..request() };
    let mut error = Response::new(body::empty());
    *error.status_mut() = StatusCode::INTERNAL_SERVER_ERROR;
    let answer = exchange("redirects-clear-text-at-https").on_response(&request, error).await.unwrap();
    assert_eq!(answer.status(), status);
    assert_eq!(answer.headers().get("location").map(|value| value.to_str().unwrap()), location);
}

#[rstest]
#[case("adds-headers-to-requests", "x-forwarded-for", "127.0.0.9")]
#[case("forwards-hosts-in-lower-case", "host", "a.test")]
#[tokio::test]
async fn requests_go_otherwise(#[case] name: &str, #[case] header: &str, #[case] value: &str) {
    assert_eq!(forwarded(name).await.get(header).unwrap(), value);
}

#[tokio::test(start_paused = true)]
async fn a_request_is_held() {
    let before = tokio::time::Instant::now();
    forwarded("takes-its-time").await;
    assert_eq!(before.elapsed(), HELD);
}

#[tokio::test]
async fn lines_of_a_name_become_one() {
    let sent =
        Request::get("/").header("x-a", "one").header("x-a", "two").header("cookie", "a=1").header("cookie", "b=2");
    let exchange = exchange("joins-lines-of-headers");
    let headers = exchange.on_forward(&request(), sent.body(()).unwrap().into_parts().0).await.headers;
    let lines = |name: &str| headers.get_all(name).iter().cloned().collect::<Vec<_>>();
    assert_eq!((lines("x-a"), lines("cookie").len()), (vec![HeaderValue::from_static("one,two")], 2));
}

#[test]
fn a_request_is_sent_in_chunks() {
    let sent = Request::post("/").header(CONTENT_LENGTH, "5").body(body::full("hello")).unwrap();
    let sent = exchange("chunks-requests").on_try(&request(), 0, sent);
    assert!(!sent.headers().contains_key(CONTENT_LENGTH) && sent.body().size_hint().exact().is_none());
}

/// Two backends of the same weight, with two endpoints each.
fn route() -> CompiledRoute {
    let backend = |port: u16| Backend {
        id: port.to_string(),
        weight: 1,
        target: BackendTarget::Endpoints(vec![([127, 0, 0, 2], port).into(), ([127, 0, 0, 1], port).into()]),
        filters: Vec::new(),
    };
    CompiledRoute::new(&Route {
        id: RouteId { namespace: "test".to_owned(), name: "route".to_owned(), rule: 0 },
        hostnames: Vec::new(),
        matches: Vec::new(),
        filters: Vec::new(),
        backends: vec![backend(1), backend(2)],
        timeouts: Timeouts::default(),
        retry: None,
    })
}

/// The backend and the last part of the endpoint's address of a hundred requests.
fn drawn(name: Option<&str>) -> Vec<(usize, u8)> {
    let route = route();
    let draw = |_| {
        let drawn = BackendChoice::of(&route, route.draw_backend());
        let drawn = name.map_or(drawn.clone(), |name| exchange(name).on_backend(&request(), &route, drawn));
        match drawn {
            BackendChoice::Forward { backend, endpoint: std::net::SocketAddr::V4(at), .. } => {
                (backend, at.ip().octets()[3])
            }
            other => panic!("{other:?}"),
        }
    };
    (0..100).map(draw).collect()
}

#[test]
fn one_endpoint_gets_everything() {
    let of = |name| drawn(name).iter().all(|(_, endpoint)| *endpoint == 1);
    assert_eq!((of(None), of(Some("keeps-to-one-endpoint"))), (false, true));
}

#[test]
fn lots_are_less_even_than_turns() {
    // Four of the same in a row are next to certain among a hundred lots, and never come by turns.
    let rows = |name| drawn(name).windows(4).any(|four| four.iter().all(|one| one.0 == four[0].0));
    assert_eq!((rows(None), rows(Some("spreads-by-lot"))), (false, true));
}

#[tokio::test]
async fn an_alert_ends_a_refused_connection_over_tls_alone() {
    let refuse = || TcpChoice::Refuse { reason: "none".to_owned() };
    for (head, is_alerted) in [(&b"hello"[..], true), (&b""[..], false)] {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let mut client = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
        let (tcp, _) = listener.accept().await.unwrap();
        let stream = Stream::new(head.into(), tcp);
        let left = exchange("ends-refused-tls-with-alerts").serve_tcp(&connection(), stream, refuse()).await;
        assert_eq!(left.is_none(), is_alerted);
        drop(left);
        let mut came = Vec::new();
        client.read_to_end(&mut came).await.unwrap();
        assert_eq!(came, if is_alerted { &UNRECOGNIZED_NAME[..] } else { &[] });
    }
}

#[tokio::test]
async fn a_refused_connection_is_ended_in_order() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let mut client = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
    let (stream, _) = listener.accept().await.unwrap();
    let refused = TcpChoice::Refuse { reason: "none".to_owned() };
    assert!(exchange("ends-refused-connections").serve_tcp(&connection(), stream.into(), refused).await.is_none());
    assert_eq!(client.read(&mut [0; 1]).await.unwrap(), 0);
}

/// What a backend gets and what a client gets, as it stands on the wire.
async fn on_the_wire(exchange: Arc<dyn Exchange>) -> (String, String) {
    let backend = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let to = Backend {
        id: "raw".to_owned(),
        weight: 1,
        target: BackendTarget::Endpoints(vec![backend.local_addr().unwrap()]),
        filters: Vec::new(),
    };
    let rule = Route {
        id: RouteId { namespace: "test".to_owned(), name: "route".to_owned(), rule: 0 },
        hostnames: Vec::new(),
        matches: Vec::new(),
        filters: Vec::new(),
        backends: vec![to],
        timeouts: Timeouts::default(),
        retry: None,
    };
    let host =
        VirtualHost { listener: "http".to_owned(), hostname: Hostname::Any, routes: vec![rule], before: Vec::new() };
    let protocol = Protocol::Http(HttpListener { virtual_hosts: vec![host] });
    let listener = Listener { id: "http".to_owned(), address: Ipv4Addr::LOCALHOST.into(), port: 0, protocol };
    let proxy = Proxy::with_exchange(ProxyOptions::default(), exchange);
    let applied = proxy.apply(Config { listeners: vec![listener], ..Config::default() }).await;
    let address = applied.listeners[0].bound.clone().unwrap();
    let answering = tokio::spawn(async move {
        let (mut stream, _) = backend.accept().await.unwrap();
        let got = head(&mut stream).await;
        stream.write_all(b"HTTP/1.1 200 OK\r\nX-From-Backend: 1\r\nContent-Length: 0\r\n\r\n").await.unwrap();
        got
    });
    let mut client = TcpStream::connect(address).await.unwrap();
    client.write_all(b"GET / HTTP/1.1\r\nHost: a.test\r\nX-From-Client: 1\r\n\r\n").await.unwrap();
    let answer = head(&mut client).await;
    (answering.await.unwrap(), answer)
}

async fn head(stream: &mut TcpStream) -> String {
    let mut text = Vec::new();
    while !text.ends_with(b"\r\n\r\n") {
        text.push(stream.read_u8().await.unwrap());
    }
    String::from_utf8(text).unwrap()
}

#[tokio::test]
async fn names_of_headers_are_written_in_lower_case() {
    let (request, answer) = on_the_wire(Arc::new(Plain)).await;
    assert!(request.contains("X-From-Client: 1") && answer.contains("X-From-Backend: 1"), "{request}{answer}");
    let (request, answer) = on_the_wire(exchange("writes-header-names-in-lower-case")).await;
    assert!(request.contains("x-from-client: 1") && answer.contains("x-from-backend: 1"), "{request}{answer}");
}
