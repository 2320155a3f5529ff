//! Where a probe goes.

use crate::judge::env::Env;
use crate::log::{Exchange, ProbeError};
use crate::scenario::{Answer, Isolation, Probe};

/// Where a backend of the scenario has answered before.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::judge) enum Before {
    /// Nowhere that tells of this probe.
    Nowhere,
    /// Through the Gateway.
    Gateway,
    /// At the same hostname of the same listener, in the step before.
    Host,
}

/// Where a probe goes, for the turn: the same request target at the same listener.
pub(in crate::judge) fn place(probe: &Probe, env: &Env<'_>) -> String {
    format!("{} {}", host(probe, env), probe.path)
}

/// The same, whatever its path is.
pub(in crate::judge) fn host(probe: &Probe, env: &Env<'_>) -> String {
    format!(
        "{} {} {} {} {}",
        env.label(&probe.target.gateway),
        probe.target.of.as_ref().map(|of| env.label(of)).unwrap_or_default(),
        probe.target.listener.as_deref().unwrap_or_default(),
        probe.method.as_deref().unwrap_or(match (probe.datagrams, probe.tls) {
            (true, _) => "udp",
            (false, true) => "tls",
            (false, false) => "tcp",
        }),
        probe.host.as_deref().unwrap_or_default(),
    )
}

/// Whether a backend is to answer.
pub(in crate::judge) fn is_backends(probe: &Probe) -> bool {
    match &probe.answer {
        Answer::Http(seen) => seen.backend.is_some(),
        Answer::TcpBackend(_) | Answer::TlsBackend { .. } => true,
        _ => false,
    }
}

/// Whether what is sent once is sent again, which it was so many times: its connection broke before there was a whole answer, at a Gateway
/// that other scenarios may have configured meanwhile. Nobody promises that this goes without a hitch.
pub(super) fn is_sent_again(probe: &Probe, resent: u32, exchange: &Exchange, env: &Env<'_>) -> bool {
    let is_shared = probe.target.gateway.pool && env.scenario.isolation == Isolation::Shared;
    let is_alone = probe.once && probe.each == 1 && probe.over.is_none() && matches!(probe.answer, Answer::Http(_));
    let is_broken = matches!(exchange.error, Some(ProbeError::Broken(_)));
    is_shared && is_alone && is_broken && resent < env.context.timing.resent
}
