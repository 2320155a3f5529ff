use std::{
    collections::{BTreeMap, BTreeSet},
    net::Ipv4Addr,
};

use super::scope::Scoped;
use crate::{
    model::{AddressRequest, GatewaySpec, Listener},
    settings::Settings,
    snapshot::{Addresses, Assigned},
};

/// The routability that tests ask for, and the only one that can be had.
const SENTINEL: &str = "testing.x-k8s.io/sentinel";

/// Address types that can be asked for.
pub(crate) const SUPPORTED_TYPE: &str = "IPAddress";

/// Gives every Gateway in scope its addresses: the requested ones, else as many out of the network as the settings say, which are its
/// own unless compatible Gateways share theirs.
///
/// A Gateway keeps what it had. Free addresses are given out in turn, so that one just released is not used again at
/// once by somebody else.
pub(crate) fn allocate(gateways: &[Scoped<'_>], previous: &Addresses, settings: &Settings) -> Addresses {
    let mut previous = previous.clone();
    previous.given.retain(|uid, _| gateways.iter().any(|gateway| gateway.uid() == uid));
    let previous = &previous;
    let mut pool = Pool { settings, previous, taken: BTreeSet::new(), shared: Vec::new(), last: previous.last };
    let mut given: Vec<(&Scoped<'_>, Vec<Assigned>)> = Vec::new();
    let held_by_others: Vec<(&str, Ipv4Addr)> = gateways
        .iter()
        .flat_map(|gateway| previous.of(gateway.uid()).map(|address| (gateway.uid(), address)))
        .collect();
    for gateway in gateways {
        let fixed = requests(gateway.spec).into_iter().filter(|request| !request.value.is_empty());
        let assigned = fixed.map(|request| {
            let in_use = |address| held_by_others.iter().any(|(uid, held)| *held == address && *uid != gateway.uid());
            unreachable(&request).unwrap_or_else(|| pool.fixed(&request.value, in_use))
        });
        let assigned = assigned.collect();
        given.push((gateway, assigned));
    }
    for (gateway, assigned) in &mut given {
        if gateway.spec.addresses.is_empty() {
            for _ in 0..settings.addresses {
                let next = if settings.merges { pool.shared(gateway, assigned) } else { pool.any(gateway.uid()) };
                assigned.push(next);
            }
            continue;
        }
        for request in requests(gateway.spec).iter().filter(|request| request.value.is_empty()) {
            assigned.push(unreachable(request).unwrap_or_else(|| pool.any(gateway.uid())));
        }
    }
    let last = pool.last;
    Addresses {
        given: given.into_iter().map(|(gateway, assigned)| (gateway.uid().to_owned(), assigned)).collect(),
        last,
    }
}

/// No request at all is a request for any address. Types that are not supported get nothing.
fn requests(spec: &GatewaySpec) -> Vec<AddressRequest> {
    if spec.addresses.is_empty() {
        return vec![AddressRequest::default()];
    }
    spec.addresses.iter().filter(|request| request.r#type == SUPPORTED_TYPE).cloned().collect()
}

/// The routability that each of the addresses was asked for with that a Gateway was given: first those whose value was asked for.
pub(crate) fn routability(spec: &GatewaySpec, given: &[Assigned]) -> BTreeMap<Ipv4Addr, String> {
    let (fixed, any): (Vec<_>, Vec<_>) = requests(spec).into_iter().partition(|request| !request.value.is_empty());
    let asked = fixed.into_iter().chain(any).zip(given);
    asked.filter_map(|(request, given)| Some((given.address()?, request.routability))).collect()
}

/// Why no address will do, if none does.
fn unreachable(request: &AddressRequest) -> Option<Assigned> {
    let routability = request.routability.as_str();
    let why = || Assigned::Unreachable(format!("routability {routability} cannot be had"));
    (!["", SENTINEL].contains(&routability)).then(why)
}

struct Pool<'a> {
    settings: &'a Settings,
    previous: &'a Addresses,
    taken: BTreeSet<Ipv4Addr>,
    /// The addresses that may be shared, with those who have them so far.
    shared: Vec<(Ipv4Addr, Vec<&'a GatewaySpec>)>,
    last: Option<u8>,
}

impl<'a> Pool<'a> {
    fn fixed(&mut self, value: &str, in_use: impl Fn(Ipv4Addr) -> bool) -> Assigned {
        let address = value.parse().ok().filter(|address| self.settings.may_assign(*address));
        let Some(address) = address else {
            let [a, b, c] = self.settings.network;
            return Assigned::NotUsable(format!("{value} is not in {a}.{b}.{c}.0/24"));
        };
        if in_use(address) || !self.taken.insert(address) {
            return Assigned::NotUsable(format!("{value} belongs to another Gateway"));
        }
        Assigned::Address(address)
    }

    fn any(&mut self, uid: &str) -> Assigned {
        let kept = self.previous.of(uid).find(|address| !self.taken.contains(address));
        let address = kept.or_else(|| {
            let hosts = self.settings.hosts.clone();
            let after = |host: &u8| self.last.is_some_and(|last| *host > last);
            let mut in_turn = hosts.clone().filter(after).chain(hosts.clone().filter(|host| !after(host)));
            let host = in_turn.find(|host| self.is_free(self.settings.address(*host)))?;
            self.last = Some(host);
            Some(self.settings.address(host))
        });
        match address {
            Some(address) => {
                self.taken.insert(address);
                Assigned::Address(address)
            }
            None => Assigned::Exhausted,
        }
    }

    /// The address that it had before, as long as whoever else has it goes with it; else one of older Gateways that it goes with;
    /// else one of its own.
    fn shared(&mut self, gateway: &Scoped<'a>, others: &[Assigned]) -> Assigned {
        let goes = |address: &Ipv4Addr| {
            let there = self.shared.iter().find(|(shared, _)| shared == address);
            let is_open = there.map(|(_, there)| there.iter().all(|other| is_compatible(other, gateway.spec)));
            is_open.unwrap_or(!self.taken.contains(address)) && !others.contains(&Assigned::Address(*address))
        };
        let kept = self.previous.of(gateway.uid()).find(goes);
        let found = kept.or_else(|| self.shared.iter().map(|(address, _)| *address).find(goes));
        let given = found.map_or_else(|| self.any(gateway.uid()), Assigned::Address);
        if let Assigned::Address(address) = given {
            self.taken.insert(address);
            match self.shared.iter_mut().find(|(shared, _)| *shared == address) {
                Some((_, there)) => there.push(gateway.spec),
                None => self.shared.push((address, vec![gateway.spec])),
            }
        }
        given
    }

    fn is_free(&self, address: Ipv4Addr) -> bool {
        !self.taken.contains(&address) && !self.previous.holds(address)
    }
}

/// Whether two Gateways can have one address: on a port that both have they speak the same, and hostnames tell their listeners apart.
fn is_compatible(one: &GatewaySpec, other: &GatewaySpec) -> bool {
    let clash = |a: &Listener, b: &Listener| {
        let host = |of: &Listener| of.host().unwrap_or_default().to_ascii_lowercase();
        let is_told_apart =
            a.protocol == b.protocol && ["HTTP", "HTTPS", "TLS"].contains(&&*a.protocol) && host(a) != host(b);
        a.port == b.port && !is_told_apart
    };
    one.gateway_class_name == other.gateway_class_name
        && !one.listeners.iter().any(|a| other.listeners.iter().any(|b| clash(a, b)))
}
