//! What a change of a Gateway does to what it moves, and to what it leaves as it is.

use std::collections::BTreeMap;

use gateproof_proxy::config::{Config, Protocol};

use super::Bug;
use crate::{
    faults::{
        Fault, Seam,
        tools::{Memory, serve_past},
    },
    runtime::seams::{ConfigSeam, Seen},
    snapshot::{Kind, Object, Snapshot},
};

fn ports(gateway: &Object) -> Vec<u64> {
    let listeners = gateway.raw["spec"]["listeners"].as_array().into_iter().flatten();
    let mut ports: Vec<u64> = listeners.filter_map(|listener| listener["port"].as_u64()).collect();
    ports.sort_unstable();
    ports
}

/// Shows listeners on the ports that they had at first, if their Gateway still has just these.
fn keep_swapped_ports(memory: &mut Memory, snapshot: &mut Snapshot) {
    let mut first = snapshot.clone();
    memory.keep_first_of_listeners(&mut first, "port");
    for before in first.all(Kind::Gateway) {
        let now = snapshot.get(Kind::Gateway, &before.meta.namespace, &before.meta.name);
        if now.is_some_and(|now| ports(now) == ports(before)) {
            snapshot.insert(Kind::Gateway, before.clone());
        }
    }
}

/// Forwards no connection of a TCP listener any more that was there before the spec of its Gateway changed.
#[derive(Default)]
struct LosesStreams {
    /// By the name of the listener: which Gateway it was first seen with, and in which generation.
    first: BTreeMap<String, (String, i64)>,
}

impl ConfigSeam for LosesStreams {
    fn edit(&mut self, seen: Seen<'_>, config: &mut Config) {
        for lane in &mut config.listeners {
            let key = lane.id.rsplit_once(':').and_then(|(gateway, _)| gateway.split_once('/'));
            let Some((gateway, _)) = key.and_then(|(namespace, name)| seen.snapshot.gateway(namespace, name)) else {
                continue;
            };
            let Protocol::Tcp(tcp) = &mut lane.protocol else { continue };
            let now = (gateway.meta.uid.clone(), gateway.meta.generation);
            let first = self.first.entry(lane.id.clone()).or_insert_with(|| now.clone());
            if first.0 != now.0 {
                *first = now;
            } else if first.1 != now.1 {
                tcp.backends.clear();
            }
        }
    }
}

pub(super) const BUGS: &[Bug] = &[
    Bug {
        fault: Fault {
            name: "keeps-ports-that-are-swapped",
            summary: "Serves listeners that swap their ports where they were.",
            clauses: &["blind:GatewayModifyListeners.2"],
            seam: Seam::Config(|| serve_past(keep_swapped_ports)),
        },
        reported: &["agentgateway/agentgateway#3017"],
    },
    Bug {
        fault: Fault {
            name: "loses-streams-of-changed-gateways",
            summary: "Forwards no connections of a TCP listener any more once the spec of its Gateway has changed.",
            clauses: &["IMPL-39"],
            seam: Seam::Config(|| Box::<LosesStreams>::default()),
        },
        reported: &["agentgateway/agentgateway#1085"],
    },
];
