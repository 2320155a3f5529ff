//! Changing the configuration while traffic flows, and what is reported of it.
#![allow(clippy::unwrap_used)]

mod common;

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use common::*;
use gateproof_proxy::config::*;
use gateproof_proxy::exchange::{BackendChoice, Connection, MatchOutcome, RequestHead, TcpChoice};
use gateproof_proxy::routing::Routing;
use gateproof_proxy::stream::Stream;
use gateproof_proxy::{BindFailure, Chain, Compiled, Exchange, Plain, Proxy, ProxyOptions};
use http::{Response, StatusCode};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

#[tokio::test]
async fn a_kept_connection_sees_the_new_configuration() {
    let bed = Bed::new(&["one", "two"]).await;
    let address = bed.apply(rules(vec![route("rule", vec![bed.backend(0)])])).await;
    let mut client = Client::connect(address).await;
    assert_eq!(client.get("example.com", "/").await.unwrap().pod(), "one");
    assert_eq!(bed.apply(rules(vec![route("rule", vec![bed.backend(1)])])).await, address);
    assert_eq!(client.get("example.com", "/").await.unwrap().pod(), "two");
}

#[tokio::test]
async fn a_removed_listener_finishes_what_it_began_and_frees_its_port() {
    let bed = Bed::new(&["one"]).await;
    let mut config = rules(vec![route("rule", vec![bed.backend(0)])]);
    config.listeners[0].address = loopback_of_its_own();
    let address = bed.apply(config.clone()).await;
    let mut idle = Client::connect(address).await;
    idle.get("example.com", "/").await.unwrap();
    let mut busy = Client::connect(address).await;
    let delayed = request("example.com", "/?delay=200ms", &[("X-Gateproof-Request", "busy")]);
    let under_way = tokio::spawn(async move { Answer::read(busy.send(delayed).await.unwrap()).await });
    bed.journal.wait_for("busy", 1).await;
    bed.proxy.apply(Config::default()).await;
    assert!(TcpStream::connect(address).await.is_err());
    assert!(idle.get("example.com", "/").await.is_err());
    assert_eq!(under_way.await.unwrap().pod(), "one");
    assert!(std::net::TcpListener::bind(address).is_ok());
}

#[tokio::test]
async fn a_port_can_change_its_protocol() {
    let bed = Bed::new(&["one"]).await;
    let address = bed.apply(rules(vec![route("rule", vec![bed.backend(0)])])).await;
    let mut client = Client::connect(address).await;
    assert_eq!(client.get("example.com", "/").await.unwrap().pod(), "one");
    bed.apply(Config { listeners: vec![listener(Protocol::Tcp(TcpListener::default()))], ..Config::default() }).await;
    assert!(client.get("example.com", "/").await.is_err());
    assert!(TcpStream::connect(address).await.unwrap().read(&mut [0; 1]).await.is_err());
}

#[tokio::test]
async fn a_hitch_resets_new_connections_until_it_is_over() {
    let bed = Bed::new(&["one"]).await;
    let config = rules(vec![route("rule", vec![bed.backend(0)])]);
    let address = bed.apply(config.clone()).await;
    let mut before = Client::connect(address).await;
    assert_eq!(before.get("example.com", "/").await.unwrap().pod(), "one");
    bed.apply(Config { hitch: Duration::from_hours(1), ..config.clone() }).await;
    // That may be seen before or after the connection is handed over.
    let asked = async { TcpStream::connect(address).await?.read(&mut [0; 1]).await };
    assert_eq!(asked.await.unwrap_err().kind(), std::io::ErrorKind::ConnectionReset);
    assert_eq!(before.get("example.com", "/").await.unwrap().pod(), "one", "what is open stays so");
    bed.apply(Config { hitch: Duration::from_nanos(1), ..config }).await;
    assert_eq!(get(address, "example.com", "/").await.pod(), "one");
}

#[tokio::test]
async fn a_silent_port_neither_takes_nor_refuses_and_can_be_served_again() {
    let bed = Bed::new(&["one"]).await;
    let mut config = rules(vec![route("rule", vec![bed.backend(0)])]);
    config.listeners[0].address = loopback_of_its_own();
    let before = bed.apply(config.clone()).await;
    let [silent] = &config.listeners[..] else { panic!("one listener") };
    let silent = [(silent.address, silent.port)].into();
    // It counts as bound, and what was there is gone.
    let address = bed.apply(Config { silent, ..config.clone() }).await;
    assert!(TcpStream::connect(before).await.is_err());
    let connecting = || tokio::time::timeout(Duration::from_millis(200), TcpStream::connect(address));
    for _ in 0..3 {
        assert!(connecting().await.is_err(), "no answer is meant to come");
    }
    let address = bed.apply(config).await;
    assert_eq!(get(address, "example.com", "/").await.pod(), "one");
}

#[tokio::test]
async fn bind_failures_are_data_and_retried() {
    let own = loopback_of_its_own();
    let occupied = std::net::TcpListener::bind((own, 0)).unwrap();
    let taken = occupied.local_addr().unwrap();
    let bed = Bed::new(&["one"]).await;
    let at = |address, port| Listener {
        address,
        port,
        ..listener(Protocol::Http(HttpListener { virtual_hosts: vec![host("", vec![])] }))
    };
    // 192.0.2.0/24 is reserved for documentation: no host has an address of it.
    let foreign = Ipv4Addr::new(192, 0, 2, 1).into();
    let config =
        Config { listeners: vec![at(own, taken.port()), at(foreign, 8080), at(LOOPBACK, 0)], ..Config::default() };
    let outcome = bed.proxy.apply(config.clone()).await;
    let failures: Vec<_> =
        outcome.failures().map(|(listener, failure)| (listener.key.address, failure.clone())).collect();
    assert_eq!(failures, [(own, BindFailure::PortInUse), (foreign, BindFailure::AddressNotAvailable)]);
    assert!(outcome.listeners[0].bound.is_ok(), "one port in use does not keep the others closed");
    drop(occupied);
    let again = bed.proxy.apply(config).await;
    assert_eq!(again.generation, outcome.generation);
    assert_eq!(again.listeners[1].bound, Ok(taken));
    assert_eq!(get(taken, "example.com", "/").await.status, StatusCode::NOT_FOUND);
}

#[tokio::test]
async fn an_offset_moves_the_bound_port_but_not_the_declared_one() {
    let offset = 20_000;
    let free = std::net::TcpListener::bind((loopback_of_its_own(), 0)).unwrap().local_addr().unwrap();
    let proxy = Proxy::new(ProxyOptions { port_offset: Some(offset) });
    let redirect = RequestRedirect { scheme: None, hostname: None, path: None, port: None, status: 302 };
    let mut rule = route("rule", vec![]);
    rule.filters = vec![Filter::RequestRedirect(redirect)];
    let mut config = rules(vec![rule]);
    (config.listeners[0].address, config.listeners[0].port) = (free.ip(), free.port() - offset);
    let mut above = config.listeners[0].clone();
    above.port = 60_000;
    config.listeners.push(above);
    let outcome = proxy.apply(config).await;
    assert_eq!(outcome.listeners[0].bound, Ok(free));
    assert_eq!(outcome.listeners[1].bound, Err(BindFailure::PortOutOfRange));
    let location = get(free, "example.com", "/x").await.header("location");
    assert_eq!(location, [format!("http://example.com:{}/x", free.port() - offset)]);
}

#[tokio::test]
async fn what_cannot_be_served_is_reported() {
    let bed = Bed::new(&["one"]).await;
    let mut rule = route("rule", vec![bed.backend(0)]);
    rule.matches =
        vec![RequestMatch { path: PathMatch::Regex("(".to_owned()), ..RequestMatch::default() }, prefix("/good")];
    let mut config = rules(vec![rule]);
    config.listeners.push(config.listeners[0].clone());
    let outcome = bed.proxy.apply(config).await;
    let subjects: Vec<_> = outcome.problems.iter().map(|problem| problem.subject.as_str()).collect();
    assert_eq!(subjects, ["test/rule rule 0", "test/gateway"]);
    let address = outcome.listeners[0].bound.clone().unwrap();
    assert_eq!(get(address, "example.com", "/good").await.pod(), "one");
    assert_eq!(get(address, "example.com", "/").await.status, StatusCode::NOT_FOUND);
}

/// Changes everything that the seam offers, each for one path or on demand.
#[derive(Default)]
struct Odd {
    stale: AtomicBool,
}

#[async_trait::async_trait]
impl Exchange for Odd {
    fn choose_config(&self, _: &Connection, current: &Arc<Compiled>, previous: &[Arc<Compiled>]) -> Arc<Compiled> {
        if self.stale.load(Ordering::SeqCst) { Arc::clone(&previous[0]) } else { Arc::clone(current) }
    }

    fn on_route(&self, request: &RequestHead, _: &Routing<'_>, found: MatchOutcome) -> MatchOutcome {
        if request.path == "/unroutable" { MatchOutcome::NoRule } else { found }
    }

    fn on_backend(
        &self,
        request: &RequestHead,
        _: &gateproof_proxy::compiled::CompiledRoute,
        drawn: BackendChoice,
    ) -> BackendChoice {
        match request.path.as_str() {
            "/teapot" => BackendChoice::Fail { backend: None, status: 418, reason: "odd".to_owned() },
            _ => drawn,
        }
    }

    async fn on_forward(&self, _: &RequestHead, mut parts: http::request::Parts) -> http::request::Parts {
        parts.headers.insert("x-odd", "yes".parse().unwrap());
        parts
    }

    async fn on_response(
        &self,
        request: &RequestHead,
        mut response: Response<gateproof_proxy::body::Body>,
    ) -> Option<Response<gateproof_proxy::body::Body>> {
        response.headers_mut().insert("x-path", request.path.parse().ok()?);
        (request.path != "/dropped").then_some(response)
    }

    fn on_tcp(&self, _: &Connection, _: TcpChoice) -> TcpChoice {
        TcpChoice::Refuse { reason: "odd".to_owned() }
    }

    async fn serve_tcp(&self, _: &Connection, mut stream: Stream, choice: TcpChoice) -> Option<(Stream, TcpChoice)> {
        let _ = stream.write_all(format!("{choice:?}").as_bytes()).await;
        None
    }
}

#[tokio::test]
async fn the_seam_can_change_every_step() {
    let odd = Arc::new(Odd::default());
    // Others beside it that change nothing do not get in its way.
    let chain = Chain(vec![Arc::new(Plain), Arc::clone(&odd) as Arc<dyn Exchange>, Arc::new(Plain)]);
    let bed = Bed::with_exchange(&["one", "two"], Arc::new(chain)).await;
    bed.apply(rules(vec![route("old", vec![bed.backend(0)])])).await;
    let address = bed.apply(rules(vec![route("new", vec![bed.backend(1)])])).await;
    let answer = get(address, "example.com", "/plain").await;
    assert_eq!(answer.header("x-path"), ["/plain"]);
    assert_eq!(answer.json()["headers"]["X-Odd"], serde_json::json!(["yes"]));
    assert_eq!(answer.pod(), "two");
    odd.stale.store(true, Ordering::SeqCst);
    assert_eq!(get(address, "example.com", "/").await.pod(), "one");
    odd.stale.store(false, Ordering::SeqCst);
    assert_eq!(get(address, "example.com", "/unroutable").await.status, StatusCode::NOT_FOUND);
    assert_eq!(get(address, "example.com", "/teapot").await.status, StatusCode::IM_A_TEAPOT);
    assert!(Client::connect(address).await.get("example.com", "/dropped").await.is_err());
    let address: SocketAddr = bed
        .apply(Config { listeners: vec![listener(Protocol::Tcp(TcpListener::default()))], ..Config::default() })
        .await;
    let mut said = String::new();
    TcpStream::connect(address).await.unwrap().read_to_string(&mut said).await.unwrap();
    assert!(said.contains("odd"), "{said}");
}
