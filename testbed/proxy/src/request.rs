//! Connections of clients, and what a request that comes over one says of itself.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Instant;

use http::{HeaderMap, Method, Version};

use crate::compiled::ListenerKey;
use crate::matching::Subject;

/// A connection from a client.
#[derive(Debug, Clone)]
pub struct Connection {
    /// Counts the connections of one proxy, from 0.
    pub id: u64,
    /// The listener that took it.
    pub listener: ListenerKey,
    /// The client.
    pub peer: SocketAddr,
    /// When it was taken; compare with [`crate::Compiled::applied_at`].
    pub opened_at: Instant,
}

/// The head of a request, as the client sent it.
#[derive(Debug, Clone)]
pub struct RequestHead {
    /// The connection it came over.
    pub connection: Arc<Connection>,
    /// The protocol version.
    pub version: Version,
    /// `http` or `https`.
    pub scheme: &'static str,
    /// The server name of the TLS handshake, in lower case.
    pub server_name: Option<String>,
    /// The method.
    pub method: Method,
    /// The Host header or `:authority`, as sent.
    pub authority: String,
    /// The host in it: lower case, without port.
    pub host: String,
    /// Whether it stood in the request target, over HTTP/1.1: that is in absolute form then.
    pub absolute: bool,
    /// The raw path.
    pub path: String,
    /// The raw query.
    pub query: Option<String>,
    /// The header fields.
    pub headers: HeaderMap,
}

impl RequestHead {
    /// What matches look at.
    pub fn subject(&self) -> Subject<'_> {
        Subject { method: &self.method, path: &self.path, query: self.query.as_deref(), headers: &self.headers }
    }
}
