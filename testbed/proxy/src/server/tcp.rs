//! Byte streams.

use std::io;
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, copy_bidirectional};
use tokio::net::TcpStream;
use tokio_rustls::client::TlsStream;

use crate::draw::TcpChoice;
use crate::reencrypt;
use crate::stream::Stream;

/// How long a backend may take for its part of the handshake.
const LONGEST_HANDSHAKE: Duration = Duration::from_secs(10);

/// Forwards until either side is done in both directions, or resets.
pub async fn carry_out(client: Stream, choice: TcpChoice) {
    match connect(choice).await {
        Ok(Backend::Clear(backend)) => forward(client, backend).await,
        Ok(Backend::Encrypted(backend)) => forward(client, backend).await,
        Err(reason) => reset(&client, &reason),
    }
}

/// A connection to a backend.
pub enum Backend {
    /// In clear text.
    Clear(TcpStream),
    /// Within TLS.
    Encrypted(Box<TlsStream<TcpStream>>),
}

/// Connects to where a choice leads.
///
/// # Errors
/// It leads nowhere, or nobody is there who can be believed.
pub async fn connect(choice: TcpChoice) -> Result<Backend, String> {
    match choice {
        TcpChoice::Forward(endpoint) => {
            let failed = |error: io::Error| format!("connecting to {endpoint} failed: {error}");
            let stream = TcpStream::connect(endpoint).await.map_err(failed)?;
            stream.set_nodelay(true).map_err(failed)?;
            Ok(Backend::Clear(stream))
        }
        TcpChoice::Encrypt { endpoint, tls } => {
            let shaken = tokio::time::timeout(LONGEST_HANDSHAKE, reencrypt::connect(endpoint, &tls, None)).await;
            let shaken = shaken.map_err(|_| format!("the handshake with {endpoint} has no end"))?;
            shaken.map(Box::new).map(Backend::Encrypted).map_err(|error| format!("{endpoint}: {error}"))
        }
        TcpChoice::Refuse { reason } => Err(reason),
    }
}

/// Copies both ways until both sides are done.
pub async fn forward(
    mut client: impl AsyncRead + AsyncWrite + Unpin,
    mut backend: impl AsyncRead + AsyncWrite + Unpin,
) {
    let ended = copy_bidirectional(&mut client, &mut backend).await;
    tracing::debug!(?ended, "stream ended");
}

/// Makes the close that follows a reset.
pub fn reset(client: &Stream, reason: &str) {
    tracing::debug!(reason, "connection refused");
    client.reset_at_close();
}
