//! Serving HTTP on one connection.

use std::pin::pin;
use std::sync::Arc;

use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto::Builder;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio_util::sync::CancellationToken;

use super::heads::WithHeads;
use crate::answer::Client;

/// Serves HTTP/1.1 or HTTP/2, as the client begins, until it ends. After `closing` what is under way is finished and
/// nothing else is taken.
pub async fn serve<S>(stream: S, client: Client, closing: &CancellationToken)
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let mut builder = Builder::new(TokioExecutor::new());
    builder.http1().timer(TokioTimer::new()).header_read_timeout(None).preserve_header_case(true);
    builder.http2().timer(TokioTimer::new());
    let client = Arc::new(client);
    let service = service_fn(move |request| {
        let client = Arc::clone(&client);
        async move { client.answer(request).await }
    });
    let mut connection = pin!(builder.serve_connection_with_upgrades(TokioIo::new(WithHeads::new(stream)), service));
    let ended = tokio::select! {
        ended = connection.as_mut() => ended,
        () = closing.cancelled() => {
            connection.as_mut().graceful_shutdown();
            connection.await
        }
    };
    if let Err(error) = ended {
        tracing::debug!(%error, "connection ended");
    }
}
