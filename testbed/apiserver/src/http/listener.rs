//! The server on a loopback socket: TLS, the token, HTTP/1.1 and HTTP/2.

use std::convert::Infallible;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use http::{Request, Response};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto;
use hyper_util::server::graceful::GracefulShutdown;
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;

use super::answers::refusal;
use super::app::App;
use super::body::Body;

/// How long connections may take to finish what they do once the server closes.
const DRAIN: Duration = Duration::from_secs(1);
/// How long a client may take over its TLS handshake.
const HANDSHAKE: Duration = Duration::from_secs(10);

/// A bound socket, ready to serve.
pub struct Listener {
    socket: TcpListener,
    tls: TlsAcceptor,
    app: Arc<App>,
}

impl Listener {
    /// Binds the address.
    ///
    /// # Errors
    /// What the operating system says.
    pub async fn bind(address: SocketAddr, tls: Arc<rustls::ServerConfig>, app: Arc<App>) -> io::Result<Self> {
        Ok(Self { socket: TcpListener::bind(address).await?, tls: TlsAcceptor::from(tls), app })
    }

    /// The address that was bound.
    ///
    /// # Errors
    /// What the operating system says.
    pub fn address(&self) -> io::Result<SocketAddr> {
        self.socket.local_addr()
    }

    /// Serves until the app closes, then lets connections finish.
    pub async fn run(self) {
        let graceful = GracefulShutdown::new();
        loop {
            let accepted = tokio::select! {
                accepted = self.socket.accept() => accepted,
                () = self.app.closing.cancelled() => break,
            };
            match accepted {
                Ok(_) if self.app.trouble.is_away() => {}
                Ok((stream, _)) => self.serve(stream, &graceful),
                // A connection that broke before it was accepted, or no file descriptors left for now.
                Err(error) => {
                    tracing::warn!(%error, "a connection was not accepted");
                    tokio::task::yield_now().await;
                }
            }
        }
        // Connections that do not end are cut with the tasks that hold them.
        let _ = tokio::time::timeout(DRAIN, graceful.shutdown()).await;
    }

    fn serve(&self, stream: TcpStream, graceful: &GracefulShutdown) {
        let (tls, app, watcher) = (self.tls.clone(), self.app.clone(), graceful.watcher());
        let closing = self.app.closing.clone();
        tokio::spawn(async move {
            if let Err(error) = stream.set_nodelay(true) {
                tracing::debug!(%error, "small packets may wait");
            }
            let stream = tokio::select! {
                stream = tokio::time::timeout(HANDSHAKE, tls.accept(stream)) => stream,
                () = closing.cancelled() => return,
            };
            let stream = match stream {
                Ok(Ok(stream)) => stream,
                Ok(Err(error)) => return tracing::debug!(%error, "a TLS handshake failed"),
                Err(_) => return tracing::debug!("a TLS handshake took too long"),
            };
            let served = app.clone();
            let service = service_fn(move |request| authenticated(served.clone(), request));
            let mut builder = auto::Builder::new(TokioExecutor::new());
            builder.http1().timer(TokioTimer::new());
            builder.http2().timer(TokioTimer::new()).max_concurrent_streams(1000);
            let connection = builder.serve_connection_with_upgrades(TokioIo::new(stream), service).into_owned();
            tokio::select! {
                ended = watcher.watch(connection) => {
                    if let Err(error) = ended {
                        tracing::debug!(%error, "a connection ended");
                    }
                }
                () = app.trouble.goes_away() => {}
            }
        });
    }
}

async fn authenticated(app: Arc<App>, request: Request<Incoming>) -> Result<Response<Body>, Infallible> {
    Ok(match app.identify(request.headers()) {
        Ok(user) => app.respond_to(&user, request).await,
        Err(error) => refusal(&error),
    })
}
