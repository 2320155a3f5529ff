//! Where a probe goes.

use crate::judge::env::Env;
use crate::log::{Exchange, ProbeError};
use crate::scenario::{Answer, Isolation, Probe};

/// Where a probe goes, for the turn: the same request target at the same listener.
pub(in crate::judge) fn place(probe: &Probe, env: &Env<'_>) -> String {
    format!(
        "{} {} {} {} {} {}",
        env.label(&probe.target.gateway),
        probe.target.of.as_ref().map(|of| env.label(of)).unwrap_or_default(),
        probe.target.listener.as_deref().unwrap_or_default(),
        probe.method.as_deref().unwrap_or(match (probe.datagrams, probe.tls) {
            (true, _) => "udp",
            (false, true) => "tls",
            (false, false) => "tcp",
        }),
        probe.host.as_deref().unwrap_or_default(),
        probe.path
    )
}

/// Whether the connection of a request that is sent alone broke before there was a whole answer, at a Gateway that other scenarios may have
/// configured meanwhile: nobody promises that this goes without a hitch.
pub(super) fn broke_among_others(probe: &Probe, exchange: &Exchange, env: &Env<'_>) -> bool {
    let is_shared = probe.target.gateway.pool && env.scenario.isolation == Isolation::Shared;
    let is_alone = probe.each == 1 && probe.over.is_none() && matches!(probe.answer, Answer::Http(_));
    is_shared && is_alone && matches!(exchange.error, Some(ProbeError::Broken(_)))
}
