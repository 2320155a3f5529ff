//! Clients of datagrams that are taken for each other.

use std::{
    collections::HashMap,
    net::SocketAddr,
    sync::{Arc, Mutex, PoisonError},
};

use gateproof_proxy::{
    compiled::ListenerKey,
    exchange::{Connection, Exchange, Passage, Way},
};

use super::Bug;
use crate::faults::{Fault, Seam};

/// Sends what comes back to who has sent the last datagram to a listener.
#[derive(Default)]
struct AnswersTheLast(Mutex<HashMap<ListenerKey, SocketAddr>>);

impl Exchange for AnswersTheLast {
    fn on_datagram(&self, flow: &Connection, way: Way, _: &[u8]) -> Passage {
        let mut last = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match way {
            Way::There => {
                last.insert(flow.listener, flow.peer);
                Passage::Pass
            }
            Way::Back => last.get(&flow.listener).map_or(Passage::Pass, |client| Passage::To(*client)),
        }
    }
}

pub(super) const BUGS: &[Bug] = &[Bug {
    fault: Fault {
        name: "shares-one-socket-among-flows",
        summary: "Sends the answers to datagrams to the client of the listener that has sent the last one.",
        clauses: &["blind:UDPRoute.1"],
        seam: Seam::Exchange(|| Arc::<AnswersTheLast>::default()),
    },
    reported: &["EmbarkStudios/quilkin#988"],
}];
