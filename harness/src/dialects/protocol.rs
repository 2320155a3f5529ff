//! What an entry of a run's pool speaks.

/// Protocol of a pool Gateway's listener.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Protocol {
    /// HTTP without hostname.
    Http,
    /// HTTPS, terminated with a certificate for all hostnames of the run.
    Https,
    /// TLS passed through.
    Tls,
    /// TCP.
    Tcp,
}

impl Protocol {
    /// Name of the listener, and of the protocol's ports among the permitted ones.
    pub fn listener(self) -> &'static str {
        match self {
            Protocol::Http => "http",
            Protocol::Https => "https",
            Protocol::Tls => "tls",
            Protocol::Tcp => "tcp",
        }
    }

    /// Whether routes on one listener cannot be told apart by hostname, so that a scenario needs it for itself.
    pub fn is_layer_4(self) -> bool {
        self == Protocol::Tcp
    }
}
