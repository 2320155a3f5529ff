//! Whether an error is the route's: the same request for a hostname that no route claims must be answered otherwise.
//!
//! No answer is not another answer, so it is asked again. Over TLS the hostname is the server name too, since a request for another
//! host than that of its connection may be refused for that alone. Where no listener has a certificate for it, its connection
//! may be refused as well: every second time it goes over one for the server name of the probe. If all that comes of it is that this is
//! the wrong connection for others, the error is the route's where a backend answered for the probe's own hostname in the step before.

use super::env::Env;
use super::request::Other;

/// How often it is asked until nothing can be said.
const TRIES: u32 = 6;

/// The answer to a request for another host than that of its connection.
const MISDIRECTED: u32 = 421;

/// How an exchange ended: its status, or the code of a call.
pub(super) type End = Option<u32>;

/// What a contrast shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Shown {
    /// The answer is the route's.
    Differs,
    /// Everybody gets it.
    Same,
    /// Others are refused under the server name of the probe, and it was asked often enough.
    Misdirected,
    /// Nothing yet.
    Again,
    /// Nothing, and it was asked often enough.
    Nothing,
}

/// A contrast in progress: how often it was asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Contrasting(u32);

impl Contrasting {
    /// The number of the attempt that is next.
    pub(super) fn attempt(self) -> u32 {
        self.0
    }

    /// What to ask for next.
    pub(super) fn other(self, env: &Env<'_>) -> Other {
        Other { host: unclaimed(env), is_server_name: self.is_server_name() }
    }

    fn is_server_name(self) -> bool {
        self.0.is_multiple_of(2)
    }

    /// An answer came; `main` is how the route's ended.
    pub(super) fn answered(&mut self, end: End, main: End, is_tls: bool) -> Shown {
        let is_own_connection = !is_tls || self.is_server_name();
        self.0 += 1;
        match end {
            Some(_) if end == main => Shown::Same,
            // That is said of the connection, not of the route.
            Some(MISDIRECTED) if !is_own_connection && self.0 < TRIES => Shown::Again,
            Some(MISDIRECTED) if !is_own_connection => Shown::Misdirected,
            Some(_) => Shown::Differs,
            None if self.0 < TRIES => Shown::Again,
            None => Shown::Nothing,
        }
    }
}

/// A hostname that no route claims.
pub(super) fn unclaimed(env: &Env<'_>) -> String {
    format!("contrast-{}.invalid", env.bindings.token)
}
