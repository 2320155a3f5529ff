//! The part that attempts of all protocols share: dialling within the budget.

use std::net::SocketAddr;

use tokio::net::TcpStream;
use tokio::time::Instant;

use super::Prober;
use crate::log::ProbeError;
use crate::target::dial::DialError;

/// A connection and who is at its other end, or why there is none.
pub(super) async fn connect(
    prober: &Prober,
    host: &str,
    port: u16,
    end: Instant,
) -> Result<(TcpStream, Option<SocketAddr>), ProbeError> {
    match tokio::time::timeout_at(end, prober.dialer.dial(host, port)).await {
        Ok(Ok(stream)) => {
            let peer = stream.peer_addr().ok();
            Ok((stream, peer))
        }
        Ok(Err(DialError::Unreachable(error))) => Err(ProbeError::Unreachable(error)),
        Ok(Err(DialError::Refused(error))) => Err(ProbeError::ConnectRefused(error.to_string())),
        Err(_) => Err(ProbeError::ConnectTimedOut),
    }
}
