//! Byte streams.

use tokio::io::{AsyncRead, AsyncWrite, copy_bidirectional};
use tokio::net::TcpStream;

use crate::compiled::CompiledTcp;
use crate::config::TcpTarget;
use crate::exchange::TcpChoice;
use crate::stream::Stream;

/// Draws what becomes of the next connection.
pub fn draw(service: &CompiledTcp) -> TcpChoice {
    let Some((index, backend)) = service.draw_backend() else {
        return TcpChoice::Refuse { reason: "the listener has no backend with a weight above 0".to_owned() };
    };
    match (&backend.target, service.next_endpoint(index)) {
        (TcpTarget::Refuse { reason }, _) => TcpChoice::Refuse { reason: format!("backend {}: {reason}", backend.id) },
        (TcpTarget::Endpoints(_), Some(endpoint)) => TcpChoice::Forward(endpoint),
        (TcpTarget::Endpoints(_), None) => {
            TcpChoice::Refuse { reason: format!("backend {} has no endpoints", backend.id) }
        }
    }
}

/// Forwards until either side is done in both directions, or resets.
pub async fn carry_out(client: Stream, choice: TcpChoice) {
    match choice {
        TcpChoice::Forward(endpoint) => match TcpStream::connect(endpoint).await {
            Ok(backend) => forward(client, backend).await,
            Err(error) => reset(&client, &format!("connecting to {endpoint} failed: {error}")),
        },
        TcpChoice::Refuse { reason } => reset(&client, &reason),
    }
}

/// Copies both ways until both sides are done.
pub async fn forward(mut client: impl AsyncRead + AsyncWrite + Unpin, mut backend: TcpStream) {
    if let Err(error) = backend.set_nodelay(true) {
        tracing::debug!(%error, "small writes may be late");
    }
    let ended = copy_bidirectional(&mut client, &mut backend).await;
    tracing::debug!(?ended, "stream ended");
}

/// Makes the close that follows a reset.
pub fn reset(client: &Stream, reason: &str) {
    tracing::debug!(reason, "connection refused");
    client.reset_at_close();
}
