//! The part that attempts of all protocols share: dialling within the budget.

use std::error::Error;
use std::io::ErrorKind;

use tokio::time::Instant;

use super::{Prober, tls};
use crate::cluster::dial::{Connection, DialError, WayLost};
use crate::log::ProbeError;

/// A connection and who is at its other end, or why there is none.
pub(super) async fn connect(prober: &Prober, host: &str, port: u16, end: Instant) -> Result<Connection, ProbeError> {
    prober.dialer.dial(host, port, end).await.map_err(undialled)
}

/// What it means that there is no connection.
pub(super) fn undialled(error: DialError) -> ProbeError {
    match error {
        DialError::Unreachable(why) => ProbeError::Unreachable(why),
        DialError::Hindered(why) => ProbeError::Hindered(why),
        DialError::NoRoute { to, why } => ProbeError::NoRoute { to, why: why.to_string() },
        DialError::Refused(why) => ProbeError::ConnectRefused(why.to_string()),
        DialError::TimedOut => ProbeError::ConnectTimedOut,
    }
}

/// Why there is no answer, and nothing of one, by what hyper noticed.
pub(super) fn unanswered(error: hyper::Error) -> ProbeError {
    // Of TLS 1.3 a client has done its part when the server says what it makes of the certificate that was shown, or was not.
    if of_connection(&error).is_none() && ios(&error).any(|error| tls::alert(error).is_some()) {
        return ProbeError::Handshake(crate::cluster::api::chain(&error));
    }
    broken(error)
}

/// Why an answer has no end, by what hyper noticed.
pub(super) fn broken(error: hyper::Error) -> ProbeError {
    if let Some(error) = of_connection(&error) {
        return error;
    }
    let why = crate::cluster::api::chain(&error);
    let is_alert = ios(&error).any(|error| tls::alert(error).is_some());
    let is_against_the_protocol = error.is_parse() || (is_invalid(&error) && !is_alert);
    if is_against_the_protocol { ProbeError::Malformed(why) } else { ProbeError::Broken(why) }
}

/// Whether it was the form of what came that was wrong: of a chunk, most of all.
fn is_invalid(error: &(dyn Error + 'static)) -> bool {
    ios(error).any(|error| matches!(error.kind(), ErrorKind::InvalidInput | ErrorKind::InvalidData))
}

/// What reading and writing noticed, among the causes of an error.
fn ios<'e>(error: &'e (dyn Error + 'static)) -> impl Iterator<Item = &'e std::io::Error> {
    let causes = std::iter::successors(Some(error), |&error| error.source());
    causes.filter_map(|error| error.downcast_ref())
}

/// What an error within a conversation says of the connection itself, if it says anything: by some ways it turns out only then
/// that nobody listens, or that the way broke.
pub(super) fn of_connection(error: &(dyn Error + 'static)) -> Option<ProbeError> {
    let mut cause = Some(error);
    while let Some(error) = cause {
        if let Some(io) = error.downcast_ref::<std::io::Error>() {
            if let Some(lost) = io.get_ref().and_then(|inner| inner.downcast_ref::<WayLost>()) {
                return Some(ProbeError::Hindered(lost.to_string()));
            }
            if io.kind() == ErrorKind::ConnectionRefused {
                return Some(ProbeError::ConnectRefused(io.to_string()));
            }
        }
        cause = error.source();
    }
    None
}
