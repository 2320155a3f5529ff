//! `gateproof echo`: the backend, as in a Pod.

use super::output::say;
use super::{Failure, Outcome};
use crate::exit_codes;
use crate::run::interrupt::Signals;

/// Serve the echo backend, described by the environment as in a Pod
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Variables: HTTP_PORT (3000), TCP_ECHO_SERVER (set: TCP instead of HTTP), UDP_ECHO_SERVER (likewise: UDP), POD_NAME, NAMESPACE, SERVICE_NAME, INGRESS_NAME,
GATEPROOF_TOKEN (opens the journal to whoever shows it), JOURNAL_PORT (a port for the journal alone).

Example:
  HTTP_PORT=8080 POD_NAME=here gateproof echo")]
pub(crate) struct Args {}

/// Runs the verb: serves until Ctrl-C or SIGTERM.
pub(crate) async fn run(_: Args) -> Outcome {
    let mut signals = Signals::listen()
        .map_err(|error| Failure::environment(format!("cannot handle signals: {error}"), "nothing was started"))?;
    let listening = |address, protocol| say!("listens on {address} ({protocol:?})");
    gateproof_echo::env::serve_from_env(signals.next(), listening)
        .await
        .map_err(|error| Failure::environment(error, "`gateproof help echo` lists the variables"))?;
    Ok(exit_codes::PASSED)
}
