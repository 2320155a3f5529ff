//! What all ways to an address have in common: how text names one, and why there is no connection.

use std::net::SocketAddr;

/// Why there is no connection.
#[derive(Debug, thiserror::Error)]
pub enum DialError {
    /// There is no way to the address: not the target's fault.
    #[error("{0}")]
    Unreachable(String),
    /// A part of the way that is the harness's own failed, or was not there in time: whatever is at its other end.
    #[error("{0}")]
    Hindered(String),
    /// The network knows no route to it.
    #[error("{to}: {why}")]
    NoRoute {
        /// Where to.
        to: SocketAddr,
        /// In the words of the system.
        why: std::io::Error,
    },
    /// Somebody is there and refuses.
    #[error("{0}")]
    Refused(std::io::Error),
    /// Nobody at the address says anything in time.
    #[error("timed out")]
    TimedOut,
}

/// What comes in time of a part of the way that is ours and not the target's.
///
/// # Errors
/// [`DialError::Hindered`] with what did not.
pub(super) async fn in_time<T>(
    end: tokio::time::Instant,
    what: impl Future<Output = T>,
    why: impl FnOnce() -> String,
) -> Result<T, DialError> {
    tokio::time::timeout_at(end, what).await.map_err(|_| DialError::Hindered(why()))
}

/// Host and port, the host without brackets.
pub(super) fn halves(text: &str) -> Result<(&str, &str), String> {
    let (host, port) = text.rsplit_once(':').ok_or_else(|| format!("`{text}` has no port"))?;
    let host = match host.strip_prefix('[') {
        Some(bracketed) => bracketed.strip_suffix(']').ok_or_else(|| format!("`{host}` lacks its `]`"))?,
        None if host.contains(':') => return Err(format!("the IPv6 address `{host}` needs brackets")),
        None => host,
    };
    match host {
        "" => Err(format!("`{text}` has no host")),
        _ if host.contains(char::is_whitespace) => Err(format!("the host `{host}` has white space in it")),
        _ => Ok((host, port)),
    }
}
