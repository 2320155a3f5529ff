//! Where a probe goes.

use crate::judge::env::Env;
use crate::scenario::Probe;

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
