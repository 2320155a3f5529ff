//! Where Pods listen.

use std::collections::BTreeSet;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};

/// Where Pods listen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// Each on a loopback address of its own, at the ports that its containers declare. These are the first three
    /// octets of the addresses. A real API server refuses loopback addresses in EndpointSlices.
    Loopback([u8; 3]),
    /// All on this address of the host, each at free ports, which only its EndpointSlices tell.
    Shared(IpAddr),
}

/// The addresses that Pods have.
#[derive(Debug)]
pub(crate) struct Addresses {
    place: Place,
    taken: BTreeSet<Ipv4Addr>,
    last: u8,
}

impl Addresses {
    pub(crate) fn new(place: Place) -> Addresses {
        Addresses { place, taken: BTreeSet::new(), last: 0 }
    }

    /// The address of this host for what is not a Pod.
    pub(crate) fn host(&self) -> IpAddr {
        match self.place {
            Place::Loopback(_) => IpAddr::V4(Ipv4Addr::LOCALHOST),
            Place::Shared(address) => address,
        }
    }

    /// An address for another Pod, unless all are taken. They are given out in turn, so that one just released is not
    /// used again at once by somebody else.
    pub(crate) fn take(&mut self) -> Option<IpAddr> {
        let [a, b, c] = match self.place {
            Place::Loopback(network) => network,
            Place::Shared(address) => return Some(address),
        };
        let in_turn = (self.last.saturating_add(1)..=254).chain(1..=self.last);
        let mut hosts = in_turn.map(|host| (host, Ipv4Addr::new(a, b, c, host)));
        let (host, address) = hosts.find(|(_, address)| !self.taken.contains(address))?;
        self.last = host;
        self.taken.insert(address);
        Some(IpAddr::V4(address))
    }

    /// Takes an address back.
    pub(crate) fn release(&mut self, address: IpAddr) {
        if let IpAddr::V4(address) = address {
            self.taken.remove(&address);
        }
    }

    /// What a container binds for a port that it declares.
    pub(crate) fn bind(&self, pod: IpAddr, port: u16) -> SocketAddr {
        match self.place {
            Place::Loopback(_) => SocketAddr::new(pod, port),
            Place::Shared(_) => SocketAddr::new(pod, 0),
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn addresses_are_given_out_in_turn_and_again() {
        let mut addresses = Addresses::new(Place::Loopback([127, 1, 2]));
        let first = addresses.take().unwrap();
        addresses.release(first);
        let rest: Vec<IpAddr> = std::iter::from_fn(|| addresses.take()).collect();
        assert_eq!((rest.len(), rest.last()), (254, Some(&first)));
        assert_eq!(addresses.bind(first, 80), "127.1.2.1:80".parse().unwrap());
    }

    #[test]
    fn a_shared_address_has_free_ports() {
        let shared: IpAddr = "192.0.2.7".parse().unwrap();
        let mut addresses = Addresses::new(Place::Shared(shared));
        assert_eq!((addresses.take(), addresses.take()), (Some(shared), Some(shared)));
        assert_eq!(addresses.bind(shared, 80), "192.0.2.7:0".parse().unwrap());
    }
}
