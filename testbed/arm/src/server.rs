//! The server: a socket on loopback, and its life.

use std::convert::Infallible;
use std::io;
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use http::Response;
use http_body_util::{BodyExt, Full, LengthLimitError, Limited};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto::Builder;
use jiff::Timestamp;
use rand::Rng;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio_rustls::TlsAcceptor;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::tls::{self, TlsError};
use crate::{ArmOptions, BodyFault, Core, MOST_BODY, Request};

/// How many connections are served at once. More wait to be taken.
const MOST_CONNECTIONS: usize = 256;

/// How long a client may take for a TLS handshake, for the headers of a request, and for its body.
const PATIENCE: Duration = Duration::from_secs(30);

/// How long [`Arm::shutdown`] lets answers under way end by themselves.
const SHUTDOWN_GRACE: Duration = Duration::from_secs(1);

/// Why a server did not start.
#[derive(Debug, thiserror::Error)]
pub enum ArmError {
    /// The address is not on loopback.
    #[error("{0} is not on loopback, where alone the fake Azure Resource Manager listens: take 127.0.0.1 or ::1")]
    NotLoopback(SocketAddr),
    /// The address cannot be bound.
    #[error("binding {address} for the fake Azure Resource Manager failed: {source}")]
    Bind {
        /// The address.
        address: SocketAddr,
        /// What the operating system says.
        source: io::Error,
    },
    /// There is no certificate.
    #[error(transparent)]
    Tls(#[from] TlsError),
}

/// A running server. Dropping it stops it at once.
pub struct Arm {
    url: String,
    address: SocketAddr,
    options: ArmOptions,
    ca_pem: Option<String>,
    control_token: String,
    identity_header: String,
    closing: CancellationToken,
    abort: CancellationToken,
    tasks: TaskTracker,
}

impl Arm {
    /// Starts a server; when this returns, connections are taken.
    ///
    /// # Errors
    /// [`ArmError`].
    pub async fn start(options: ArmOptions) -> Result<Self, ArmError> {
        if !options.bind.ip().is_loopback() {
            return Err(ArmError::NotLoopback(options.bind));
        }
        let bind = |source| ArmError::Bind { address: options.bind, source };
        let (tls, ca_pem) = match options.tls {
            true => tls::identity().map(|(config, ca_pem)| (Some(TlsAcceptor::from(config)), Some(ca_pem)))?,
            false => (None, None),
        };
        let listener = TcpListener::bind(options.bind).await.map_err(bind)?;
        let address = listener.local_addr().map_err(bind)?;
        let url = format!("{}://{address}", if options.tls { "https" } else { "http" });
        let mut seed = [0; 32];
        rand::rng().fill(&mut seed);
        let core = Core::new(&options, &url, seed);
        let (control_token, identity_header) = (core.control_token().to_owned(), core.identity_header().to_owned());
        let (closing, abort, tasks) = (CancellationToken::new(), CancellationToken::new(), TaskTracker::new());
        let server = Server { core: Mutex::new(core), tls, closing: closing.clone() };
        tasks.spawn(accept(listener, Arc::new(server), abort.clone(), tasks.clone()));
        Ok(Self { url, address, options, ca_pem, control_token, identity_header, closing, abort, tasks })
    }

    /// `http://ADDRESS:PORT`, or `https` with TLS. Tokens are asked for with this as their resource.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Where it listens.
    pub fn addr(&self) -> SocketAddr {
        self.address
    }

    /// The bearer token for `/control/`.
    pub fn control_token(&self) -> &str {
        &self.control_token
    }

    /// What the header `X-IDENTITY-HEADER` must say to get a token.
    pub fn identity_header(&self) -> &str {
        &self.identity_header
    }

    /// The certificate of the authority that signed the server's, in PEM; nothing without TLS.
    pub fn ca_pem(&self) -> Option<&str> {
        self.ca_pem.as_deref()
    }

    /// The variables with which Azure Service Operator uses this server. Left to the caller are `POD_NAMESPACE`, and with
    /// TLS `SSL_CERT_FILE`, which names a file with [`Arm::ca_pem`].
    pub fn environment(&self) -> Vec<(&'static str, String)> {
        vec![
            ("AZURE_TOKEN_CREDENTIALS", "ManagedIdentityCredential".into()),
            ("IDENTITY_ENDPOINT", format!("{}/token", self.url)),
            ("IDENTITY_HEADER", self.identity_header.clone()),
            ("AZURE_RESOURCE_MANAGER_ENDPOINT", self.url.clone()),
            ("AZURE_RESOURCE_MANAGER_AUDIENCE", self.url.clone()),
            ("AZURE_SUBSCRIPTION_ID", self.options.subscription.clone()),
            ("AZURE_TENANT_ID", self.options.tenant.clone()),
            ("AZURE_CLIENT_ID", self.options.client.clone()),
        ]
    }

    /// Frees the port, lets answers under way end for a moment, then ends what is left.
    pub async fn shutdown(self) {
        self.closing.cancel();
        self.tasks.close();
        if tokio::time::timeout(SHUTDOWN_GRACE, self.tasks.wait()).await.is_err() {
            self.abort.cancel();
            self.tasks.wait().await;
        }
    }
}

impl Drop for Arm {
    fn drop(&mut self) {
        self.closing.cancel();
        self.abort.cancel();
    }
}

/// What all connections share.
struct Server {
    core: Mutex<Core>,
    tls: Option<TlsAcceptor>,
    closing: CancellationToken,
}

async fn accept(listener: TcpListener, server: Arc<Server>, abort: CancellationToken, tasks: TaskTracker) {
    let places = Arc::new(Semaphore::new(MOST_CONNECTIONS));
    loop {
        let accepted = tokio::select! {
            () = server.closing.cancelled() => return,
            // Places are never closed.
            Ok(place) = Arc::clone(&places).acquire_owned() => tokio::select! {
                () = server.closing.cancelled() => return,
                accepted = listener.accept() => accepted.map(|(stream, _)| (stream, place)),
            },
        };
        match accepted {
            Ok((stream, place)) => {
                let server = Arc::clone(&server);
                let serving = async move {
                    let _place = place;
                    serve(stream, server).await;
                };
                tasks.spawn(abort.clone().run_until_cancelled_owned(serving));
            }
            Err(error) => {
                tracing::warn!(%error, "no connection could be taken");
                tokio::task::yield_now().await;
            }
        }
    }
}

async fn serve(stream: TcpStream, server: Arc<Server>) {
    let Some(tls) = server.tls.clone() else { return speak(stream, server).await };
    match tokio::time::timeout(PATIENCE, tls.accept(stream)).await {
        Ok(Ok(stream)) => speak(stream, server).await,
        Ok(Err(error)) => tracing::debug!(%error, "a TLS handshake failed"),
        Err(_) => tracing::debug!("a TLS handshake took too long"),
    }
}

async fn speak<S: AsyncRead + AsyncWrite + Unpin + Send + 'static>(stream: S, server: Arc<Server>) {
    let mut builder = Builder::new(TokioExecutor::new());
    builder.http1().timer(TokioTimer::new()).header_read_timeout(PATIENCE);
    builder.http2().timer(TokioTimer::new());
    let closing = server.closing.clone();
    let service = service_fn(move |request| {
        let server = Arc::clone(&server);
        async move { Ok::<_, Infallible>(answer(&server, request).await) }
    });
    let mut connection = pin!(builder.serve_connection(TokioIo::new(stream), service));
    let ended = tokio::select! {
        ended = connection.as_mut() => ended,
        () = closing.cancelled() => {
            connection.as_mut().graceful_shutdown();
            connection.await
        }
    };
    if let Err(error) = ended {
        tracing::debug!(%error, "a connection ended");
    }
}

async fn answer(server: &Server, request: http::Request<Incoming>) -> Response<Full<Bytes>> {
    let (parts, body) = request.into_parts();
    let body = match tokio::time::timeout(PATIENCE, Limited::new(body, MOST_BODY).collect()).await {
        Ok(Ok(body)) => Ok(body.to_bytes()),
        Ok(Err(error)) if error.is::<LengthLimitError>() => Err(BodyFault::TooLarge),
        Ok(Err(_)) | Err(_) => Err(BodyFault::BrokenOff),
    };
    let request = Request {
        method: &parts.method,
        path: parts.uri.path(),
        query: parts.uri.query().unwrap_or_default(),
        headers: &parts.headers,
        body: body.as_deref().map_err(|fault| *fault),
    };
    let answer = {
        let mut core = server.core.lock().unwrap_or_else(PoisonError::into_inner);
        core.handle(Timestamp::now(), &request)
    };
    if !answer.delay.is_zero() {
        // A script asked for it; who shuts down does not wait for it.
        tokio::select! {
            () = tokio::time::sleep(answer.delay) => {}
            () = answer.at_once.cancelled() => {}
            () = server.closing.cancelled() => {}
        }
    }
    let mut response = Response::new(Full::new(answer.body));
    *response.status_mut() = answer.status;
    *response.headers_mut() = answer.headers;
    response
}
