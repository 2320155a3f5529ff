//! A proxy, backends behind it and a client in front of it, all in this process.
#![allow(clippy::unwrap_used, dead_code)]

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

use gateproof_echo::{Echo, EchoOptions, Identity, Journal, Protocol as EchoProtocol};
use gateproof_proxy::config::*;
use gateproof_proxy::{ApplyOutcome, Exchange, Plain, Proxy, ProxyOptions};
use http::{Request, Response, StatusCode};
use http_body_util::{BodyExt, Full};
use hyper::body::Bytes;
use hyper_util::rt::{TokioExecutor, TokioIo};
use serde_json::Value;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;

pub const LOOPBACK: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);

/// A loopback address that nobody else binds, for a test that lets go of a port and goes on counting on it: at the one that all use,
/// another could get that meanwhile.
pub fn loopback_of_its_own() -> IpAddr {
    static GIVEN: AtomicU8 = AtomicU8::new(0);
    let [.., high, low] = std::process::id().to_be_bytes();
    IpAddr::from([127, 100 + GIVEN.fetch_add(1, Ordering::Relaxed), high, low])
}

/// A proxy with its backends.
pub struct Bed {
    pub proxy: Proxy,
    pub journal: Journal,
    pub echoes: Vec<Echo>,
}

impl Bed {
    pub async fn new(pods: &[&str]) -> Self {
        Self::with_exchange(pods, Arc::new(Plain)).await
    }

    pub async fn with_exchange(pods: &[&str], exchange: Arc<dyn Exchange>) -> Self {
        let journal = Journal::default();
        let mut echoes = Vec::new();
        for pod in pods {
            echoes.push(start(pod, EchoProtocol::Http, &journal).await);
        }
        Self { proxy: Proxy::with_exchange(ProxyOptions::default(), exchange), journal, echoes }
    }

    /// The backend of the pod at `index`.
    pub fn backend(&self, index: usize) -> Backend {
        Backend {
            id: format!("test/pod-{index}"),
            weight: 1,
            target: BackendTarget::Endpoints(vec![self.echoes[index].addr()]),
            filters: vec![],
        }
    }

    /// Applies a configuration and returns where its first listener is bound.
    pub async fn apply(&self, config: Config) -> SocketAddr {
        first_bound(&self.proxy.apply(config).await)
    }
}

pub async fn start(pod: &str, protocol: EchoProtocol, journal: &Journal) -> Echo {
    let identity = Identity { namespace: "test".to_owned(), pod: pod.to_owned(), ..Identity::default() };
    let bind = SocketAddr::new(LOOPBACK, 0);
    Echo::start(EchoOptions { bind, protocol, identity, run_token: None, journal: journal.clone() }).await.unwrap()
}

pub fn first_bound(outcome: &ApplyOutcome) -> SocketAddr {
    assert_eq!(outcome.problems, []);
    outcome.listeners[0].bound.clone().unwrap()
}

/// A listener on a free port.
pub fn listener(protocol: Protocol) -> Listener {
    Listener { id: "test/gateway".to_owned(), address: LOOPBACK, port: 0, protocol }
}

pub fn host(hostname: &str, routes: Vec<Route>) -> VirtualHost {
    VirtualHost {
        listener: format!("listener-{hostname}"),
        hostname: Hostname::parse(hostname),
        routes,
        before: Vec::new(),
    }
}

pub fn http(virtual_hosts: Vec<VirtualHost>) -> Config {
    Config { listeners: vec![listener(Protocol::Http(HttpListener { virtual_hosts }))], ..Config::default() }
}

/// One listener for every host, with these rules.
pub fn rules(routes: Vec<Route>) -> Config {
    http(vec![host("", routes)])
}

pub fn route(name: &str, backends: Vec<Backend>) -> Route {
    Route {
        id: RouteId { namespace: "test".to_owned(), name: name.to_owned(), rule: 0 },
        hostnames: vec![],
        matches: vec![],
        filters: vec![],
        backends,
        timeouts: Timeouts::default(),
        retry: None,
    }
}

pub fn prefix(path: &str) -> RequestMatch {
    RequestMatch { path: PathMatch::Prefix(path.to_owned()), ..RequestMatch::default() }
}

pub fn header(name: &str, value: &str) -> HeaderValue {
    HeaderValue { name: name.to_owned(), value: value.to_owned() }
}

pub fn failing(status: u16, reason: &str) -> Backend {
    let target = BackendTarget::Fail { status, reason: reason.to_owned() };
    Backend { id: "test/gone".to_owned(), weight: 1, target, filters: vec![] }
}

/// An answer, read to its end.
#[derive(Debug)]
pub struct Answer {
    pub status: StatusCode,
    pub headers: http::HeaderMap,
    pub body: String,
}

impl Answer {
    pub async fn read(response: Response<hyper::body::Incoming>) -> Self {
        let (parts, body) = response.into_parts();
        let body = String::from_utf8(body.collect().await.unwrap().to_bytes().to_vec()).unwrap();
        Self { status: parts.status, headers: parts.headers, body }
    }

    /// The JSON that a backend answered.
    pub fn json(&self) -> Value {
        assert_eq!(self.status, StatusCode::OK, "{}", self.body);
        serde_json::from_str(&self.body).unwrap()
    }

    pub fn pod(&self) -> String {
        self.json()["pod"].as_str().unwrap().to_owned()
    }

    pub fn header(&self, name: &str) -> Vec<String> {
        self.headers.get_all(name).iter().map(|value| value.to_str().unwrap().to_owned()).collect()
    }
}

/// One connection for HTTP/1.1.
pub struct Client(hyper::client::conn::http1::SendRequest<Full<Bytes>>);

impl Client {
    pub async fn connect(address: SocketAddr) -> Self {
        Self::over(TcpStream::connect(address).await.unwrap()).await
    }

    pub async fn over<S: AsyncRead + AsyncWrite + Send + Unpin + 'static>(stream: S) -> Self {
        let (sender, connection) = hyper::client::conn::http1::handshake(TokioIo::new(stream)).await.unwrap();
        tokio::spawn(connection.with_upgrades());
        Self(sender)
    }

    pub async fn send(&mut self, request: Request<Full<Bytes>>) -> hyper::Result<Response<hyper::body::Incoming>> {
        self.0.ready().await?;
        self.0.send_request(request).await
    }

    pub async fn get(&mut self, host: &str, path: &str) -> hyper::Result<Answer> {
        Ok(Answer::read(self.send(request(host, path, &[])).await?).await)
    }
}

/// One connection for HTTP/2 with prior knowledge.
pub async fn h2_get<S>(stream: S, url: &str) -> Answer
where
    S: AsyncRead + AsyncWrite + Send + Unpin + 'static,
{
    let (mut sender, connection) =
        hyper::client::conn::http2::handshake(TokioExecutor::new(), TokioIo::new(stream)).await.unwrap();
    tokio::spawn(connection);
    let request = Request::get(url).body(Full::<Bytes>::default()).unwrap();
    Answer::read(sender.send_request(request).await.unwrap()).await
}

pub fn request(host: &str, path: &str, headers: &[(&str, &str)]) -> Request<Full<Bytes>> {
    let mut request = Request::get(path).header("Host", host);
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    request.body(Full::default()).unwrap()
}

/// Sends one request over a fresh connection.
pub async fn send(address: SocketAddr, request: Request<Full<Bytes>>) -> Answer {
    Answer::read(Client::connect(address).await.send(request).await.unwrap()).await
}

pub async fn get(address: SocketAddr, host: &str, path: &str) -> Answer {
    send(address, request(host, path, &[])).await
}
