//! What networks lose: datagrams for good, segments of TCP until they are sent again.

use std::sync::Arc;

use gateproof_proxy::exchange::{Connection, Exchange, Passage, Way};

use super::{Place, Variant, protocols::Streams};

/// How many of a hundred datagrams or segments are lost, on each way.
const LOST: u32 = 1;

fn is_lost() -> bool {
    rand::random_range(0..100) < LOST
}

/// Loses some datagrams, whichever it hits.
struct Loses;

impl Exchange for Loses {
    fn on_datagram(&self, _: &Connection, _: Way, _: &[u8]) -> Passage {
        if is_lost() { Passage::Drop } else { Passage::Pass }
    }
}

pub(super) const VARIANTS: &[Variant] = &[
    Variant {
        name: "loses-datagrams",
        summary: "Loses one of a hundred datagrams by chance, and one of a hundred answers.",
        source: "RFC 768: delivery and duplicate protection are not guaranteed.",
        place: Place::Exchange(|| Arc::new(Loses)),
    },
    Variant {
        name: "loses-segments",
        summary: "Loses one of a hundred segments of TCP or TLS by chance, each way, which come when they are sent again.",
        source: "RFC 9293, 3.8: what is lost is sent again, and until then nothing behind it is delivered.",
        place: Place::Exchange(|| Arc::new(Streams(|stream| stream.losing(is_lost)))),
    },
];
