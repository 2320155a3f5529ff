//! How a server starts.

use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use crate::LogTamper;

/// How a server starts.
#[derive(Debug, Clone)]
pub struct ArmOptions {
    /// The address of the listener, on loopback; port 0 takes a free one.
    pub bind: SocketAddr,
    /// Speak TLS, with a certificate by an authority made at start. Azure Service Operator takes no other.
    pub tls: bool,
    /// The one subscription that there is.
    pub subscription: String,
    /// The tenant, which the environment of clients names.
    pub tenant: String,
    /// The client id of whoever asks for a token without naming one.
    pub client: String,
    /// How long a token is good.
    pub token_life: Duration,
    /// How many requests the log keeps, at least one.
    pub log_capacity: usize,
    /// The handle on what the log tells otherwise.
    pub log_tamper: LogTamper,
}

impl Default for ArmOptions {
    fn default() -> Self {
        Self {
            bind: SocketAddr::from((Ipv4Addr::LOCALHOST, 0)),
            tls: false,
            subscription: "00000000-0000-4000-8000-000000000001".into(),
            tenant: "00000000-0000-4000-8000-000000000002".into(),
            client: "00000000-0000-4000-8000-000000000003".into(),
            token_life: Duration::from_secs(24 * 60 * 60),
            log_capacity: 10_000,
            log_tamper: LogTamper::default(),
        }
    }
}
