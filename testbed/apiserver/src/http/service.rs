//! The server as a service, without any socket.

use std::fmt;
use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use http::{Request, Response};

use super::app::App;
use super::body::Body;

/// Answers requests within the process: for `kube::Client::new(server.service(), "default")`. It asks for no token.
#[derive(Clone)]
pub struct InProcess(Arc<App>);

impl InProcess {
    /// The service over an app.
    pub fn new(app: Arc<App>) -> Self {
        Self(app)
    }
}

impl fmt::Debug for InProcess {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("InProcess")
    }
}

impl<B> tower::Service<Request<B>> for InProcess
where
    B: http_body::Body<Data = Bytes> + Send + 'static,
    B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    type Response = Response<Body>;
    type Error = io::Error;
    type Future = Pin<Box<dyn Future<Output = io::Result<Response<Body>>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        let app = self.0.clone();
        Box::pin(async move {
            if app.trouble.is_away() {
                return Err(io::ErrorKind::ConnectionRefused.into());
            }
            Ok(app.respond(request).await)
        })
    }
}
