//! Over what a probe is answered.

/// Over what an answer comes, and so what can be said of it.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Over {
    Http,
    Grpc,
    Tcp,
    Tls,
    Udp,
}

impl Over {
    /// What it is called.
    pub(super) fn name(self) -> &'static str {
        match self {
            Over::Http => "HTTP",
            Over::Grpc => "gRPC",
            Over::Tcp => "TCP",
            Over::Tls => "TLS",
            Over::Udp => "UDP",
        }
    }
}
