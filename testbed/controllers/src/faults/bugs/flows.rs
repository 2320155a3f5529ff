//! Clients of datagrams that are taken for each other, and datagrams that are taken for none.

use std::{
    collections::{HashMap, HashSet},
    net::SocketAddr,
    sync::{Arc, Mutex, PoisonError},
};

use gateproof_proxy::{
    compiled::ListenerKey,
    exchange::{Connection, Exchange, Passage, Way},
};

use super::Bug;
use crate::faults::{Fault, Seam};

/// Sends what comes back to who was the last to become a client of a listener.
#[derive(Default)]
struct AnswersTheNewest(Mutex<HashMap<ListenerKey, Clients>>);

#[derive(Default)]
struct Clients {
    all: HashSet<SocketAddr>,
    newest: Option<SocketAddr>,
}

impl Exchange for AnswersTheNewest {
    fn on_datagram(&self, flow: &Connection, way: Way, _: &[u8]) -> Passage {
        let mut listeners = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let clients = listeners.entry(flow.listener).or_default();
        match way {
            Way::There => {
                if clients.all.insert(flow.peer) {
                    clients.newest = Some(flow.peer);
                }
                Passage::Pass
            }
            Way::Back => clients.newest.map_or(Passage::Pass, Passage::To),
        }
    }
}

/// Drops datagrams without a byte that go this way.
struct DropsEmpty(Way);

impl Exchange for DropsEmpty {
    fn on_datagram(&self, _: &Connection, way: Way, datagram: &[u8]) -> Passage {
        if datagram.is_empty() && way == self.0 { Passage::Drop } else { Passage::Pass }
    }
}

pub(super) const BUGS: &[Bug] = &[
    Bug {
        fault: Fault {
            name: "shares-one-socket-among-flows",
            summary: "Sends the answers to datagrams to the newest client of their listener.",
            clauses: &["blind:UDPRoute.1"],
            seam: Seam::Exchange(|| Arc::<AnswersTheNewest>::default()),
        },
        reported: &["EmbarkStudios/quilkin#988"],
    },
    Bug {
        fault: Fault {
            name: "drops-empty-datagrams",
            summary: "Sends no datagram without a byte to a backend.",
            clauses: &["OWN-116"],
            seam: Seam::Exchange(|| Arc::new(DropsEmpty(Way::There))),
        },
        reported: &["envoyproxy/envoy#46613", "ponylang/ponyc#5644"],
    },
    Bug {
        fault: Fault {
            name: "drops-empty-answers",
            summary: "Sends no datagram without a byte to a client.",
            clauses: &["OWN-116"],
            seam: Seam::Exchange(|| Arc::new(DropsEmpty(Way::Back))),
        },
        reported: &["envoyproxy/envoy#46613"],
    },
];
