//! What may become of datagrams.

use std::sync::Arc;

use gateproof_proxy::exchange::{Connection, Exchange, Passage, Way};

use super::{Place, Variant};

/// How many of a hundred datagrams are lost, on each way.
const LOST: u32 = 1;

/// Loses some datagrams, whichever it hits.
struct Loses;

impl Exchange for Loses {
    fn on_datagram(&self, _: &Connection, _: Way, _: &[u8]) -> Passage {
        if rand::random_range(0..100) < LOST { Passage::Drop } else { Passage::Pass }
    }
}

pub(super) const VARIANTS: &[Variant] = &[Variant {
    name: "loses-datagrams",
    summary: "Loses one of a hundred datagrams by chance, and one of a hundred answers.",
    source: "RFC 768: delivery and duplicate protection are not guaranteed.",
    place: Place::Exchange(|| Arc::new(Loses)),
}];
