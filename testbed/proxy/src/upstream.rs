//! Talking to backends.

use std::net::SocketAddr;
use std::time::Duration;

use http::header::{CONNECTION, HOST, UPGRADE};
use http::{Request, Response, Uri, Version};
use hyper::body::Incoming;
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::{TokioExecutor, TokioTimer};
use tokio_util::task::TaskTracker;

use crate::body::Body;
use crate::config::BackendTls;
use crate::error::{UpstreamError, causes};
use crate::{h2c, reencrypt};

/// Clients for all backends of a proxy. Connections are kept and used again.
#[derive(Debug, Clone)]
pub struct Upstream {
    http1: Client<HttpConnector, Body>,
    h2c: h2c::Pool,
    tasks: TaskTracker,
}

/// One way to a backend.
#[derive(Debug, Clone, Copy)]
pub struct Way<'a> {
    /// Where it leads.
    pub endpoint: SocketAddr,
    /// Over HTTP/2 rather than HTTP/1.1; in clear text, with prior knowledge.
    pub h2: bool,
    /// How it is encrypted, if it is.
    pub tls: Option<&'a BackendTls>,
}

impl Upstream {
    /// Clients whose background work is counted by `tasks`.
    pub fn new(tasks: TaskTracker) -> Self {
        let mut connector = HttpConnector::new();
        // A body in a write of its own must not wait for the acknowledgement of the head.
        connector.set_nodelay(true);
        let http1 = Client::builder(TokioExecutor::new())
            .pool_timer(TokioTimer::new())
            .pool_idle_timeout(Duration::from_secs(20))
            .http1_preserve_header_case(true)
            .set_host(false)
            .build(connector);
        Self { http1, h2c: h2c::Pool::new(tasks.clone()), tasks }
    }

    /// Keeps nothing any more that would outlast the requests under way.
    pub fn close(&self) {
        self.h2c.close();
    }

    /// Sends a request whose URI is the path and query alone, and waits for the head of the answer.
    ///
    /// # Errors
    /// See [`UpstreamError`].
    pub async fn send(
        &self,
        way: Way<'_>,
        request: Request<Body>,
        limit: Option<Duration>,
    ) -> Result<Response<Incoming>, UpstreamError> {
        let exchange = async {
            match way.tls {
                Some(tls) => self.send_tls(way, tls, request).await,
                None if way.h2 => self.send_h2c(way.endpoint, request).await,
                None => self.send_http1(way.endpoint, request).await,
            }
        };
        match limit {
            None => exchange.await,
            Some(limit) => {
                tokio::time::timeout(limit, exchange).await.unwrap_or_else(|_| Err(UpstreamError::Timeout(limit)))
            }
        }
    }

    async fn send_http1(
        &self,
        endpoint: SocketAddr,
        mut request: Request<Body>,
    ) -> Result<Response<Incoming>, UpstreamError> {
        *request.uri_mut() = absolute("http", request.uri(), &endpoint.to_string())?;
        *request.version_mut() = Version::HTTP_11;
        self.http1.request(request).await.map_err(|error| match error.is_connect() {
            true => UpstreamError::Connect(std::io::Error::other(causes(&error))),
            false => UpstreamError::Exchange(causes(&error)),
        })
    }

    async fn send_h2c(
        &self,
        endpoint: SocketAddr,
        mut request: Request<Body>,
    ) -> Result<Response<Incoming>, UpstreamError> {
        for_http2("http", endpoint, &mut request)?;
        self.h2c.send(endpoint, request).await
    }

    /// Over HTTP/1.1 the request keeps the form that has no host in its target.
    async fn send_tls(
        &self,
        way: Way<'_>,
        tls: &BackendTls,
        mut request: Request<Body>,
    ) -> Result<Response<Incoming>, UpstreamError> {
        if way.h2 {
            for_http2("https", way.endpoint, &mut request)?;
        } else {
            *request.version_mut() = Version::HTTP_11;
        }
        reencrypt::send(way.endpoint, (tls, way.h2), request, &self.tasks).await
    }
}

fn for_http2(scheme: &str, endpoint: SocketAddr, request: &mut Request<Body>) -> Result<(), http::Error> {
    let authority = match request.headers_mut().remove(HOST) {
        Some(host) => String::from_utf8_lossy(host.as_bytes()).into_owned(),
        None => endpoint.to_string(),
    };
    // What an HTTP/1.1 client asks of its connection has no place in HTTP/2.
    for name in [CONNECTION, UPGRADE] {
        request.headers_mut().remove(name);
    }
    *request.uri_mut() = absolute(scheme, request.uri(), &authority)?;
    *request.version_mut() = Version::HTTP_2;
    Ok(())
}

fn absolute(scheme: &str, uri: &Uri, authority: &str) -> Result<Uri, http::Error> {
    let path = uri.path_and_query().map_or("/", |path| path.as_str());
    Uri::builder().scheme(scheme).authority(authority).path_and_query(path).build()
}
