use std::{
    net::SocketAddr,
    sync::{Arc, atomic::Ordering},
};

use async_trait::async_trait;
use bytes::Bytes;
use futures::{StreamExt, stream};
use gateproof_proxy::{
    body::{self, Body},
    compiled::{Compiled, CompiledRoute},
    config::{BackendTarget, BackendTls, Filter, PeerName},
    exchange::{BackendChoice, Connection, Exchange, MatchOutcome, RequestHead, TcpChoice},
    grpc,
    lengths::ASIDE,
    routing::Routing,
    stream::{Stream, Upgraded},
};
use http::{
    HeaderMap, HeaderName, HeaderValue, Request, Response, StatusCode,
    header::{CONTENT_LENGTH, HOST},
    request::Parts,
};
use http_body_util::{BodyExt, BodyStream, StreamBody};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};

use k8s_openapi::api::discovery::v1::EndpointSlice;
use kube::api::{Api, ListParams};

use super::{
    FrameSort, Tamper, TamperError,
    accounts::{over_tls, shown, told},
    intercept, lock, tunnels,
};

/// The header that carries the id under which backends note a request.
const REQUEST_HEADER: &str = "x-gateproof-request";

/// The label of an EndpointSlice that names its Service.
const SERVICE_NAME: &str = "kubernetes.io/service-name";

/// A message of a call with nothing in it.
const EMPTY_MESSAGE: &[u8] = &[0; 5];

/// A status code that nothing else answers with.
const TEAPOT: u16 = 418;

/// What is wrong with the answers for a host. Names of header fields are in lower case.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WrongAnswer {
    /// This status code, with the body as it was.
    Status(u16),
    /// This code of a call, with the messages as they were.
    Code(u32),
    /// An empty body with the status code as it was, as if the gateway had answered itself.
    NoBody,
    /// Every second answer has a status code that no implementation sends.
    EverySecondFails,
    /// A response header has this value, or is not there.
    ResponseHeader(String, Option<String>),
    /// A response trailer has this value, or is not there.
    Trailer(String, Option<String>),
    /// All messages of a call come twice; where there are none, one comes.
    MessagesTwice,
    /// The backend is spoken to in another version of HTTP than it asks for.
    ForwardedProtocol,
    /// The backend gets this path.
    ForwardedPath(String),
    /// The backend gets this host.
    ForwardedHost(String),
    /// The handshake with the backend asks for this server name. An account of what came in clear text has it too.
    ForwardedServerName(String),
    /// The account of the backend has another certificate in place of the one that it was shown, for this name.
    ToldClient(String),
    /// The backend gets this value of a request header, or the header not at all.
    ForwardedHeader(String, Option<String>),
    /// The backend gets this method.
    ForwardedMethod(String),
    /// The backend, or the mirror, gets this body.
    ForwardedBody(String),
    /// The Services of this name get so many requests more, of the same id, when the answer is there.
    CalledAgain(String, u32),
    /// A frame of this sort that the client sends over a WebSocket says something else at the backend.
    ChangedFrame(FrameSort),
    /// Nothing is mirrored to the Service of this name.
    NoMirror(String),
    /// What mirrors get, or the Service of this name where a filter of a listener asks it, is so, and nothing else.
    Aside(String, Box<WrongAnswer>),
    /// What the first of several tries sends is so, and nothing else.
    FirstTry(Box<WrongAnswer>),
}

/// What is wrong with TCP connections.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WrongConnection {
    /// They are refused.
    Refused,
    /// Every second one is refused.
    EverySecondRefused,
    /// They are taken, and nothing comes back.
    Held,
    /// They are answered, by nobody known.
    Answered,
}

impl Tamper {
    fn wrong(&self, request: &RequestHead) -> Vec<WrongAnswer> {
        lock(&self.0.answers).iter().filter(|(host, _)| *host == request.host).map(|(_, wrong)| wrong.clone()).collect()
    }

    /// Sends a request with the id of another to every endpoint of the Services of a name, and waits until they have noted it. To
    /// those that no rule names, too: a request may have to stay away from them.
    async fn call_again(&self, request: &RequestHead, service: &str) {
        let id = request.headers.get(REQUEST_HEADER).and_then(|id| id.to_str().ok()).unwrap_or_default();
        let sent = format!("GET / HTTP/1.1\r\nhost: again\r\n{REQUEST_HEADER}: {id}\r\nconnection: close\r\n\r\n");
        for endpoint in self.endpoints(service).await.unwrap_or_default() {
            let Ok(mut stream) = TcpStream::connect(endpoint).await else { continue };
            let mut dropped = Vec::new();
            if stream.write_all(sent.as_bytes()).await.is_ok() {
                // Whatever comes back, the backend has noted the request by then.
                let _ = stream.read_to_end(&mut dropped).await;
            }
        }
    }

    /// The endpoints of the Services of a name, one of each slice.
    async fn endpoints(&self, service: &str) -> Result<Vec<SocketAddr>, TamperError> {
        let slices: Api<EndpointSlice> = Api::all(self.place()?.client.clone());
        let of_service = ListParams::default().labels(&format!("{SERVICE_NAME}={service}"));
        let slices = slices.list(&of_service).await.map_err(Box::new)?;
        let first = |slice: EndpointSlice| {
            let address = slice.endpoints?.first()?.addresses.first()?.parse().ok()?;
            let port = slice.ports?.first()?.port?;
            Some(SocketAddr::new(address, u16::try_from(port).ok()?))
        };
        Ok(slices.items.into_iter().filter_map(first).collect())
    }

    fn is_second(&self) -> bool {
        self.0.exchanges.fetch_add(1, Ordering::Relaxed) % 2 == 1
    }
}

#[async_trait]
impl Exchange for Tamper {
    fn choose_config(&self, _: &Connection, current: &Arc<Compiled>, _: &[Arc<Compiled>]) -> Arc<Compiled> {
        lock(&self.0.handshakes).instead_of(current)
    }

    fn keeps_strangers(&self) -> bool {
        lock(&self.0.handshakes).keeps_strangers()
    }

    fn on_route(&self, request: &RequestHead, _: &Routing<'_>, found: MatchOutcome) -> MatchOutcome {
        match found {
            MatchOutcome::Rule { route, predicate } => {
                let route = self.wrong(request).into_iter().fold(route, |route, wrong| match wrong {
                    WrongAnswer::NoMirror(service) => without_mirror(&route, &service),
                    WrongAnswer::Aside(service, wrong) if *wrong == WrongAnswer::ForwardedProtocol => {
                        mirroring_in_another_protocol(&route, &service)
                    }
                    WrongAnswer::ForwardedServerName(name) => asking_for(&route, &name),
                    _ => route,
                });
                MatchOutcome::Rule { route, predicate }
            }
            found => found,
        }
    }

    fn on_backend(&self, request: &RequestHead, _: &CompiledRoute, drawn: BackendChoice) -> BackendChoice {
        let wrong = self.wrong(request);
        if let BackendChoice::Forward { backend, endpoint, h2c } = drawn
            && wrong.contains(&WrongAnswer::ForwardedProtocol)
        {
            return BackendChoice::Forward { backend, endpoint, h2c: !h2c };
        }
        if wrong.contains(&WrongAnswer::EverySecondFails) && self.is_second() {
            return BackendChoice::Fail {
                backend: None,
                status: TEAPOT,
                reason: "every second request fails".to_owned(),
            };
        }
        drawn
    }

    async fn on_forward(&self, request: &RequestHead, mut parts: Parts) -> Parts {
        self.wrong(request).iter().for_each(|wrong| spoil_head(&mut parts, wrong));
        parts
    }

    fn on_try(&self, request: &RequestHead, number: u32, sent: Request<Body>) -> Request<Body> {
        self.wrong(request).into_iter().fold(sent, |sent, wrong| match wrong {
            WrongAnswer::FirstTry(wrong) if number == 0 => spoiled(sent, *wrong),
            WrongAnswer::ForwardedBody(_) => spoiled(sent, wrong),
            _ => sent,
        })
    }

    fn on_mirror(&self, request: &RequestHead, copy: Request<Body>) -> Option<Request<Body>> {
        Some(self.wrong(request).into_iter().fold(copy, |copy, wrong| match wrong {
            WrongAnswer::Aside(_, wrong) => spoiled(copy, *wrong),
            WrongAnswer::ForwardedBody(_) => spoiled(copy, wrong),
            _ => copy,
        }))
    }

    fn on_question(&self, request: &RequestHead, whom: &str, question: Request<Body>) -> Request<Body> {
        let service = whom.split_once('/').and_then(|(_, rest)| rest.split(':').next());
        self.wrong(request).into_iter().fold(question, |question, wrong| match wrong {
            WrongAnswer::Aside(to, wrong) if service == Some(to.as_str()) => spoiled(question, *wrong),
            _ => question,
        })
    }

    async fn on_response(&self, request: &RequestHead, mut response: Response<Body>) -> Option<Response<Body>> {
        for wrong in self.wrong(request) {
            match wrong {
                WrongAnswer::Status(code) => {
                    if let Ok(code) = StatusCode::from_u16(code) {
                        *response.status_mut() = code;
                    }
                }
                WrongAnswer::NoBody => {
                    response.headers_mut().remove(CONTENT_LENGTH);
                    // How a call ended stands behind its messages.
                    let is_call = grpc::is_grpc(response.headers());
                    response = response.map(|body| if is_call { trailers_alone(body) } else { body::empty() });
                }
                WrongAnswer::ForwardedServerName(name) if !grpc::is_grpc(response.headers()) => {
                    response = told(response, |account| over_tls(account, &name)).await;
                }
                WrongAnswer::ToldClient(name) if !grpc::is_grpc(response.headers()) => {
                    response = told(response, |account| shown(account, &name)).await;
                }
                WrongAnswer::Code(code) => {
                    response = with_end(response, grpc::STATUS.to_string(), Some(code.to_string()));
                }
                WrongAnswer::Trailer(name, value) => response = with_end(response, name, value),
                WrongAnswer::MessagesTwice => {
                    response = response.map(twice);
                }
                WrongAnswer::ResponseHeader(name, value) => set(response.headers_mut(), &name, value.as_deref()),
                WrongAnswer::CalledAgain(service, times) => {
                    for _ in 0..times {
                        self.call_again(request, &service).await;
                    }
                }
                _ => {}
            }
        }
        Some(response)
    }

    async fn serve_tunnel(
        &self,
        request: &RequestHead,
        client: Upgraded,
        backend: Upgraded,
    ) -> Option<(Upgraded, Upgraded)> {
        tunnels::carry(&self.wrong(request), client, backend).await;
        None
    }

    fn on_tcp(&self, _: &Connection, drawn: TcpChoice) -> TcpChoice {
        let refuse = || TcpChoice::Refuse { reason: "connections are refused".to_owned() };
        match *lock(&self.0.connections) {
            Some(WrongConnection::Refused) => refuse(),
            Some(WrongConnection::EverySecondRefused) if self.is_second() => refuse(),
            _ => match (drawn, &*lock(&self.0.stream_name)) {
                (TcpChoice::Encrypt { endpoint, mut tls }, Some(name)) => {
                    ask_for(&mut tls, name);
                    TcpChoice::Encrypt { endpoint, tls }
                }
                (drawn, _) => drawn,
            },
        }
    }

    fn on_udp(&self, _: &Connection, drawn: TcpChoice) -> TcpChoice {
        let refuse = || TcpChoice::Refuse { reason: "datagrams are dropped".to_owned() };
        match *lock(&self.0.connections) {
            Some(WrongConnection::Refused) => refuse(),
            Some(WrongConnection::EverySecondRefused) if self.is_second() => refuse(),
            Some(WrongConnection::Answered) => nobody().map_or(drawn, TcpChoice::Forward),
            _ => drawn,
        }
    }

    fn on_protocols(&self, _: &Connection, _: &[Vec<u8>], spoken: Vec<Vec<u8>>) -> Vec<Vec<u8>> {
        lock(&self.0.protocols).clone().unwrap_or(spoken)
    }

    async fn serve_passed(&self, _: &Connection, stream: Stream, choice: TcpChoice) -> Option<(Stream, TcpChoice)> {
        // Who shakes hands anew asks the backend for nobody.
        let anew = lock(&self.0.stream_name).as_ref().map(|_| Vec::new());
        let wrong = lock(&self.0.protocols).clone().or(anew);
        match wrong {
            Some(protocols) => intercept(stream, choice, protocols).await,
            None => Some((stream, choice)),
        }
    }

    async fn serve_tcp(&self, _: &Connection, mut stream: Stream, choice: TcpChoice) -> Option<(Stream, TcpChoice)> {
        let wrong = *lock(&self.0.connections);
        let mut dropped = [0; 1024];
        match wrong {
            Some(WrongConnection::Held) => while stream.read(&mut dropped).await.is_ok_and(|read| read > 0) {},
            Some(WrongConnection::Answered) => {
                // What was sent is read first: a close with bytes unread is a reset, which may overtake the answer.
                let read = stream.read(&mut dropped).await;
                let answered = stream.write_all(b"tampered\n").await;
                let closed = stream.shutdown().await;
                tracing::debug!(?read, ?answered, ?closed, "a connection was answered");
            }
            _ => return Some((stream, choice)),
        }
        None
    }
}

/// The same rule with other filters, wherever it has some.
fn filtering(route: &CompiledRoute, edit: impl Fn(&mut Vec<Filter>)) -> Arc<CompiledRoute> {
    let mut rule = route.rule.clone();
    let backends = rule.backends.iter_mut().map(|backend| &mut backend.filters);
    backends.chain(std::iter::once(&mut rule.filters)).for_each(edit);
    CompiledRoute::new(&rule).into()
}

fn without_mirror(route: &CompiledRoute, service: &str) -> Arc<CompiledRoute> {
    filtering(route, |filters| {
        filters.retain(|filter| !matches!(filter, Filter::RequestMirror(mirror) if is_of(&mirror.id, service)));
    })
}

fn mirroring_in_another_protocol(route: &CompiledRoute, service: &str) -> Arc<CompiledRoute> {
    filtering(route, |filters| {
        for filter in filters {
            let Filter::RequestMirror(mirror) = filter else { continue };
            if is_of(&mirror.id, service) {
                mirror.target = match mirror.target.clone() {
                    BackendTarget::Endpoints(endpoints) => BackendTarget::H2cEndpoints(endpoints),
                    BackendTarget::H2cEndpoints(endpoints) => BackendTarget::Endpoints(endpoints),
                    other => other,
                };
            }
        }
    })
}

/// A request with what is wrong with it.
fn spoiled(sent: Request<Body>, wrong: WrongAnswer) -> Request<Body> {
    let (mut parts, mut body) = sent.into_parts();
    spoil_head(&mut parts, &wrong);
    if let WrongAnswer::ForwardedBody(text) = wrong {
        parts.headers.remove(CONTENT_LENGTH);
        body = body::full(text);
    }
    Request::from_parts(parts, body)
}

fn spoil_head(parts: &mut Parts, wrong: &WrongAnswer) {
    match wrong {
        WrongAnswer::ForwardedPath(path) => {
            if let Ok(uri) = path.parse() {
                parts.uri = uri;
            }
        }
        WrongAnswer::ForwardedMethod(method) => {
            if let Ok(method) = method.parse() {
                parts.method = method;
            }
        }
        WrongAnswer::ForwardedHost(host) => set(&mut parts.headers, HOST.as_str(), Some(host)),
        // Another length would cut the body, so that more would be wrong.
        WrongAnswer::ForwardedHeader(name, value) if name == CONTENT_LENGTH.as_str() => {
            set(&mut parts.headers, ASIDE.as_str(), value.as_deref());
        }
        WrongAnswer::ForwardedHeader(name, value) => set(&mut parts.headers, name, value.as_deref()),
        _ => {}
    }
}

/// The same rule with another server name, and the certificates that were right before.
fn asking_for(route: &CompiledRoute, name: &str) -> Arc<CompiledRoute> {
    let mut rule = route.rule.clone();
    for backend in &mut rule.backends {
        if let BackendTarget::Tls { tls, .. } = &mut backend.target {
            ask_for(tls, name);
        }
    }
    CompiledRoute::new(&rule).into()
}

fn ask_for(tls: &mut BackendTls, name: &str) {
    let right = std::mem::replace(&mut tls.server_name, name.to_owned());
    if tls.names.is_empty() {
        tls.names.push(PeerName::Dns(right));
    }
}

/// A body without its data.
fn trailers_alone(body: Body) -> Body {
    let frames = BodyStream::new(body).filter(|frame| {
        let is_data = frame.as_ref().is_ok_and(hyper::body::Frame::is_data);
        async move { !is_data }
    });
    StreamBody::new(frames).boxed_unsync()
}

/// A body whose data come twice, message by message; where there are none, an empty message comes.
fn twice(body: Body) -> Body {
    let mut has_come = false;
    let frames = BodyStream::new(body).flat_map(move |frame| {
        let copy = frame.as_ref().ok().and_then(hyper::body::Frame::data_ref).cloned();
        let lacking = (!has_come && copy.is_none()).then_some(Bytes::from_static(EMPTY_MESSAGE));
        has_come |= copy.is_some();
        let data = |bytes| Ok(hyper::body::Frame::data(bytes));
        stream::iter(lacking.map(data).into_iter().chain([frame]).chain(copy.map(data)))
    });
    StreamBody::new(frames).boxed_unsync()
}

/// An answer that ends otherwise: a call may end by its head alone.
fn with_end(mut response: Response<Body>, name: String, value: Option<String>) -> Response<Body> {
    if response.headers().contains_key(grpc::STATUS) {
        set(response.headers_mut(), &name, value.as_deref());
    }
    let change = move |frame: hyper::body::Frame<Bytes>| match frame.into_trailers() {
        Ok(mut trailers) => {
            set(&mut trailers, &name, value.as_deref());
            hyper::body::Frame::trailers(trailers)
        }
        Err(frame) => frame,
    };
    response.map(|body| body.map_frame(change).boxed_unsync())
}

/// Whether an id such as `namespace/service:port` is of this Service.
fn is_of(id: &str, service: &str) -> bool {
    id.rsplit_once('/').map_or(id, |(_, name)| name).split(':').next() == Some(service)
}

fn set(headers: &mut HeaderMap, name: &str, value: Option<&str>) {
    let Ok(name) = HeaderName::try_from(name) else { return };
    match value.map(HeaderValue::from_str) {
        Some(Ok(value)) => {
            headers.insert(name, value);
        }
        Some(Err(_)) | None => {
            headers.remove(name);
        }
    }
}

/// Where somebody answers every datagram with its own bytes, and a line that says nothing before them.
fn nobody() -> std::io::Result<SocketAddr> {
    let socket = std::net::UdpSocket::bind("127.0.0.1:0")?;
    socket.set_nonblocking(true)?;
    let socket = tokio::net::UdpSocket::from_std(socket)?;
    let at = socket.local_addr()?;
    tokio::spawn(async move {
        let mut datagram = vec![0; 65_535];
        while let Ok((length, peer)) = socket.recv_from(&mut datagram).await {
            let answer = [b"tampered\n", &datagram[..length]].concat();
            if let Err(error) = socket.send_to(&answer, peer).await {
                tracing::debug!(%error, "a datagram got no answer");
            }
        }
    });
    Ok(at)
}
