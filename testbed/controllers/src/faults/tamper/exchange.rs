use std::sync::{Arc, atomic::Ordering};

use async_trait::async_trait;
use bytes::Bytes;
use futures::{StreamExt, stream};
use gateproof_proxy::{
    body::Body,
    compiled::{Compiled, CompiledRoute},
    config::{Certificate, Filter, Protocol, Sensitive},
    exchange::{BackendChoice, Connection, Exchange, MatchOutcome, RequestHead, TcpChoice},
    grpc,
    routing::Routing,
    server::tcp,
};
use http::{
    HeaderMap, HeaderName, HeaderValue, Response, StatusCode,
    header::{CONTENT_LENGTH, HOST},
    request::Parts,
};
use http_body_util::{BodyExt, BodyStream, StreamBody};
use hyper::body::Frame;
use tokio::{io::AsyncReadExt, net::TcpStream};

use super::{Tamper, lock};

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
    /// All messages of a call come twice.
    MessagesTwice,
    /// The backend is spoken to in another version of HTTP than it asks for.
    ForwardedProtocol,
    /// The backend gets this path.
    ForwardedPath(String),
    /// The backend gets this host.
    ForwardedHost(String),
    /// The backend gets this value of a request header, or the header not at all.
    ForwardedHeader(String, Option<String>),
    /// Nothing is mirrored to the Service of this name.
    NoMirror(String),
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
}

impl Tamper {
    fn wrong(&self, request: &RequestHead) -> Vec<WrongAnswer> {
        lock(&self.0.answers).iter().filter(|(host, _)| *host == request.host).map(|(_, wrong)| wrong.clone()).collect()
    }

    fn is_second(&self) -> bool {
        self.0.exchanges.fetch_add(1, Ordering::Relaxed) % 2 == 1
    }
}

/// A certificate that nobody asked for, and the configuration made with it last.
pub(super) struct WrongCertificate {
    certificate: Certificate,
    made: Option<Arc<Compiled>>,
}

impl WrongCertificate {
    pub(super) fn new() -> Result<Self, rcgen::Error> {
        let rcgen::CertifiedKey { cert, signing_key } =
            rcgen::generate_simple_self_signed(["tampered.invalid".to_owned()])?;
        let certificate = Certificate { chain_pem: cert.pem(), key_pem: Sensitive::new(signing_key.serialize_pem()) };
        Ok(Self { certificate, made: None })
    }

    fn instead_of(&mut self, current: &Compiled) -> Arc<Compiled> {
        if let Some(made) = self.made.as_ref().filter(|made| made.generation == current.generation) {
            return Arc::clone(made);
        }
        let mut config = current.config.clone();
        for listener in &mut config.listeners {
            if let Protocol::Https(listeners) = &mut listener.protocol {
                listeners.iter_mut().for_each(|one| one.certificates = vec![self.certificate.clone()]);
            }
        }
        let made = Arc::new(Compiled::new(config, current.generation));
        self.made = Some(Arc::clone(&made));
        made
    }
}

#[async_trait]
impl Exchange for Tamper {
    fn choose_config(&self, _: &Connection, current: &Arc<Compiled>, _: &[Arc<Compiled>]) -> Arc<Compiled> {
        lock(&self.0.certificate).as_mut().map_or_else(|| Arc::clone(current), |wrong| wrong.instead_of(current))
    }

    fn on_route(&self, request: &RequestHead, _: &Routing<'_>, found: MatchOutcome) -> MatchOutcome {
        match found {
            MatchOutcome::Rule { route, predicate } => {
                let route = self.wrong(request).into_iter().fold(route, |route, wrong| match wrong {
                    WrongAnswer::NoMirror(service) => without_mirror(&route, &service),
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
        for wrong in self.wrong(request) {
            match wrong {
                WrongAnswer::ForwardedPath(path) => {
                    if let Ok(uri) = path.parse() {
                        parts.uri = uri;
                    }
                }
                WrongAnswer::ForwardedHost(host) => set(&mut parts.headers, HOST.as_str(), Some(&host)),
                WrongAnswer::ForwardedHeader(name, value) => set(&mut parts.headers, &name, value.as_deref()),
                _ => {}
            }
        }
        parts
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
                    response = response.map(trailers_alone);
                }
                WrongAnswer::Code(code) => response = with_code(response, code),
                WrongAnswer::Trailer(name, value) => {
                    response = response.map(|body| with_trailer(body, name, value));
                }
                WrongAnswer::MessagesTwice => {
                    response = response.map(twice);
                }
                WrongAnswer::ResponseHeader(name, value) => set(response.headers_mut(), &name, value.as_deref()),
                _ => {}
            }
        }
        Some(response)
    }

    fn on_tcp(&self, _: &Connection, drawn: TcpChoice) -> TcpChoice {
        let refuse = || TcpChoice::Refuse { reason: "connections are refused".to_owned() };
        match *lock(&self.0.connections) {
            Some(WrongConnection::Refused) => refuse(),
            Some(WrongConnection::EverySecondRefused) if self.is_second() => refuse(),
            _ => drawn,
        }
    }

    async fn serve_tcp(&self, _: &Connection, mut stream: TcpStream, choice: TcpChoice) {
        let held = *lock(&self.0.connections) == Some(WrongConnection::Held);
        if !held {
            return tcp::carry_out(stream, choice).await;
        }
        let mut dropped = [0; 1024];
        while stream.read(&mut dropped).await.is_ok_and(|read| read > 0) {}
    }
}

fn without_mirror(route: &CompiledRoute, service: &str) -> Arc<CompiledRoute> {
    let mut rule = route.rule.clone();
    let names = |id: &str| id.rsplit_once('/').map_or(id, |(_, name)| name).split(':').next() == Some(service);
    let backends = rule.backends.iter_mut().map(|backend| &mut backend.filters);
    for filters in backends.chain(std::iter::once(&mut rule.filters)) {
        filters.retain(|filter| !matches!(filter, Filter::RequestMirror(mirror) if names(&mirror.id)));
    }
    CompiledRoute::new(&rule).into()
}

/// A body without its data.
fn trailers_alone(body: Body) -> Body {
    let frames = BodyStream::new(body).filter(|frame| {
        let is_data = frame.as_ref().is_ok_and(Frame::is_data);
        async move { !is_data }
    });
    StreamBody::new(frames).boxed_unsync()
}

/// A body whose data come twice, message by message.
fn twice(body: Body) -> Body {
    let frames = BodyStream::new(body).flat_map(|frame| {
        let copy = frame.as_ref().ok().and_then(Frame::data_ref).cloned().map(|data| Ok(Frame::data(data)));
        stream::iter(std::iter::once(frame).chain(copy))
    });
    StreamBody::new(frames).boxed_unsync()
}

fn with_trailer(body: Body, name: String, value: Option<String>) -> Body {
    let change = move |frame: Frame<Bytes>| match frame.into_trailers() {
        Ok(mut trailers) => {
            set(&mut trailers, &name, value.as_deref());
            Frame::trailers(trailers)
        }
        Err(frame) => frame,
    };
    body.map_frame(change).boxed_unsync()
}

/// An answer to a call that ends otherwise, wherever the code stands.
fn with_code(mut response: Response<Body>, code: u32) -> Response<Body> {
    if let Some(own) = response.headers_mut().get_mut(grpc::STATUS) {
        *own = code.into();
    }
    response.map(|body| with_trailer(body, grpc::STATUS.to_string(), Some(code.to_string())))
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
