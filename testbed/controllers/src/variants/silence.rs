//! Data planes behind something that drops what nobody is there for.

use std::{collections::BTreeSet, net::IpAddr};

use gateproof_proxy::Config;

use super::{Place, Variant};
use crate::runtime::seams::{ConfigSeam, Seen};

/// Drops what comes to a port of a Gateway that has no data plane there.
#[derive(Default)]
struct Drops {
    /// Every port that a listener ever had, by the addresses of Gateways that are still there.
    known: BTreeSet<(IpAddr, u16)>,
}

impl ConfigSeam for Drops {
    fn edit(&mut self, seen: Seen<'_>, config: &mut Config) {
        let mut held = BTreeSet::new();
        for (gateway, spec) in seen.snapshot.gateways() {
            for address in seen.snapshot.addresses.of(&gateway.meta.uid).map(IpAddr::V4) {
                held.insert(address);
                self.known.extend(spec.listeners.iter().map(|listener| (address, listener.port)));
            }
        }
        self.known.retain(|(address, _)| held.contains(address));
        let served: BTreeSet<_> = config.listeners.iter().map(|listener| (listener.address, listener.port)).collect();
        config.silent = self.known.difference(&served).copied().collect();
    }
}

pub(super) const VARIANTS: &[Variant] = &[Variant {
    name: "drops-what-nobody-serves",
    summary: "Drops packets, instead of refusing connections, at a Gateway's ports that nobody serves: those of invalid listeners, and \
              of listeners that are gone.",
    source: "Nothing in the specification says what a client sees at a port without a listener that is programmed; load balancers \
             and firewalls drop what they know no target for.",
    place: Place::Runtime(|seams| seams.config.push(Box::<Drops>::default())),
}];
