//! Why a backend gave no answer.

use std::time::Duration;

/// Why a backend gave no answer.
#[derive(Debug, thiserror::Error)]
pub enum UpstreamError {
    /// The request cannot be expressed as one for the backend.
    #[error("the request cannot be addressed to the backend: {0}")]
    Address(#[from] http::Error),
    /// No connection.
    #[error("connecting to the backend failed: {0}")]
    Connect(#[from] std::io::Error),
    /// No connection that could be believed.
    #[error("the handshake with the backend failed: {0}")]
    Tls(String),
    /// No answer over the connection.
    #[error("the exchange with the backend failed: {0}")]
    Exchange(String),
    /// No answer in time.
    #[error("the backend gave no answer within {0:?}")]
    Timeout(Duration),
}

/// An error with all that led to it.
pub fn causes(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut next = error.source();
    while let Some(cause) = next {
        text = format!("{text}: {cause}");
        next = cause.source();
    }
    text
}
