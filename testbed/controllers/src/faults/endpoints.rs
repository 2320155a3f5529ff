//! Endpoints of Services that one kind of route does not follow.

use gateproof_proxy::config::{Config, Protocol};

use super::{Fault, Seam, tools::Memory};
use crate::{
    runtime::seams::{ConfigSeam, Seen},
    snapshot::Kind,
};

/// Serves a part of the configuration with the endpoints that Services had at first.
struct KeepsFirst {
    memory: Memory,
    /// Puts what is kept of the first configuration into the other one.
    keep: fn(Config, &mut Config),
}

impl ConfigSeam for KeepsFirst {
    fn edit(&mut self, seen: Seen<'_>, config: &mut Config) {
        let before = seen.otherwise(|snapshot| self.memory.keep_first(snapshot, Kind::EndpointSlice)).config;
        (self.keep)(before, config);
    }
}

/// A fault that knows the endpoints of Services as they were first, where it says so.
pub(super) fn keeps_first(keep: fn(Config, &mut Config)) -> Box<dyn ConfigSeam> {
    Box::new(KeepsFirst { memory: Memory::default(), keep })
}

/// Puts parts of lanes into the same lanes.
pub(super) fn keep_lanes(before: Config, config: &mut Config, keep: fn(Protocol, &mut Protocol)) {
    for old in before.listeners {
        let is_same = |id: &str, protocol: &Protocol| id == old.id && protocol.transport() == old.protocol.transport();
        if let Some(lane) = config.listeners.iter_mut().find(|lane| is_same(&lane.id, &lane.protocol)) {
            keep(old.protocol, &mut lane.protocol);
        }
    }
}

pub(super) const FAULTS: &[Fault] = &[
    Fault {
        name: "keeps-first-endpoints-of-udproutes",
        summary: "Goes on sending datagrams for a UDPRoute to the endpoints that its Service had at first.",
        clauses: &["blind:HTTPRouteServiceTypes.1"],
        seam: Seam::Config(|| {
            keeps_first(|before, config| {
                keep_lanes(before, config, |old, now| {
                    if let (Protocol::Udp(old), Protocol::Udp(now)) = (old, now) {
                        *now = old;
                    }
                });
            })
        }),
    },
    Fault {
        name: "keeps-first-endpoints-of-tlsroutes",
        summary: "Goes on sending connections for a TLSRoute to the endpoints that its Service had at first.",
        clauses: &["blind:HTTPRouteServiceTypes.1"],
        seam: Seam::Config(|| {
            keeps_first(|before, config| {
                keep_lanes(before, config, |old, now| {
                    if let (Protocol::Tls(old), Protocol::Tls(now)) = (old, now) {
                        now.streams = old.streams;
                    }
                });
            })
        }),
    },
];
