//! What an entry of a run's pool speaks.

use serde::Deserialize;

/// Protocol of an entry that a run makes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Protocol {
    /// HTTP without hostname.
    Http,
    /// HTTPS, terminated with a certificate for all hostnames of the run.
    Https,
    /// TLS passed through.
    Tls,
    /// TCP.
    Tcp,
    /// UDP.
    Udp,
}

impl Protocol {
    /// Name of the listener, and of the protocol's ports among the permitted ones.
    pub fn listener(self) -> &'static str {
        match self {
            Protocol::Http => "http",
            Protocol::Https => "https",
            Protocol::Tls => "tls",
            Protocol::Tcp => "tcp",
            Protocol::Udp => "udp",
        }
    }

    /// Protocol and port of a shape such as `http` or `http-8080`; none if it is no shape.
    pub fn of_shape(text: &str) -> Option<(Protocol, Option<u16>)> {
        let (name, port) = text.split_once('-').map_or((text, None), |(name, port)| (name, Some(port)));
        let protocol = match name {
            "http" => Protocol::Http,
            "https" => Protocol::Https,
            "tls" => Protocol::Tls,
            "tcp" => Protocol::Tcp,
            "udp" => Protocol::Udp,
            _ => return None,
        };
        match port {
            None => Some((protocol, None)),
            Some(port) => port.parse().ok().filter(|port| *port > 0).map(|port| (protocol, Some(port))),
        }
    }

    /// Whether routes on one listener cannot be told apart by hostname, so that a scenario needs it for itself.
    pub fn is_layer_4(self) -> bool {
        matches!(self, Protocol::Tcp | Protocol::Udp)
    }
}
