//! Echo backends with a journal.
//!
//! An [`Echo`] is one backend: it answers with what it was asked and who it is, and writes every request into a
//! [`Journal`], so that copies and retries are counted rather than guessed from answers. Many of them share a process;
//! each costs one listening socket and one task while idle.

mod aside;
mod asked;
mod backend;
mod canonical;
pub mod conduct;
mod delay;
mod dialogue;
mod echo;
pub mod env;
mod filler;
pub mod grpc;
mod http;
mod identity;
pub mod journal;
mod tcp;
mod tls;
mod tls_lines;
mod udp;
mod websocket;

use std::time::Duration;

pub use backend::{EchoError, Protocol};
pub use echo::{Echo, EchoOptions};
pub use filler::filler;
pub use identity::Identity;
pub use journal::{Journal, Record};
pub use tls::{CertificateError, Clients, ServerTls};

/// The header that carries the id under which a request is found in the journal.
pub const REQUEST_HEADER: &str = "x-gateproof-request";

/// The text that a backend sends with the answer that opens a WebSocket, if it is asked to.
pub const GREETING: &str = "welcome";

/// The word behind the id of an exchange, on the first line of a stream, that has the answer wait for the end of the client's half.
pub const AT_END: &str = "at-end";

/// The header that carries the run's token to the journal's endpoint.
pub const TOKEN_HEADER: &str = "x-gateproof-token";

/// The variable that carries the run's token to a backend in a Pod.
pub const TOKEN_VARIABLE: &str = "GATEPROOF_TOKEN";

/// How many connections of one backend are served at once. More wait to be taken, up to the system's limit.
pub const MOST_CONNECTIONS: usize = 256;

/// How long a client may take for the headers of a request, and leave a connection without one: longer than proxies leave
/// theirs, so that it is they who close.
pub const HEADER_TIME: Duration = Duration::from_secs(120);
