use std::{collections::BTreeSet, net::Ipv4Addr};

use super::gateway::Scoped;
use crate::{
    model::AddressRequest,
    settings::Settings,
    snapshot::{Addresses, Assigned},
};

/// Address types that can be asked for.
pub(crate) const SUPPORTED_TYPE: &str = "IPAddress";

/// Gives every Gateway in scope its addresses: the requested ones, else one of its own out of the network.
///
/// A Gateway keeps what it had. Free addresses are given out in turn, so that one just released is not used again at
/// once by somebody else.
pub(crate) fn allocate(gateways: &[Scoped<'_>], previous: &Addresses, settings: &Settings) -> Addresses {
    let mut previous = previous.clone();
    previous.given.retain(|uid, _| gateways.iter().any(|gateway| gateway.uid() == uid));
    let previous = &previous;
    let mut pool = Pool { settings, previous, taken: BTreeSet::new(), last: previous.last };
    let mut given: Vec<(&Scoped<'_>, Vec<Assigned>)> = Vec::new();
    let held_by_others: Vec<(&str, Ipv4Addr)> = gateways
        .iter()
        .flat_map(|gateway| previous.of(gateway.uid()).map(|address| (gateway.uid(), address)))
        .collect();
    for gateway in gateways {
        let fixed = requests(gateway).into_iter().filter(|request| !request.value.is_empty());
        let assigned = fixed.map(|request| {
            let in_use = |address| held_by_others.iter().any(|(uid, held)| *held == address && *uid != gateway.uid());
            pool.fixed(&request.value, in_use)
        });
        let assigned = assigned.collect();
        given.push((gateway, assigned));
    }
    for (gateway, assigned) in &mut given {
        let wanted = requests(gateway).iter().filter(|request| request.value.is_empty()).count();
        for _ in 0..wanted {
            assigned.push(pool.any(gateway.uid()));
        }
    }
    let last = pool.last;
    Addresses {
        given: given.into_iter().map(|(gateway, assigned)| (gateway.uid().to_owned(), assigned)).collect(),
        last,
    }
}

/// No request at all is a request for any address. Types that are not supported get nothing.
fn requests(gateway: &Scoped<'_>) -> Vec<AddressRequest> {
    if gateway.spec.addresses.is_empty() {
        return vec![AddressRequest::default()];
    }
    gateway.spec.addresses.iter().filter(|request| request.r#type == SUPPORTED_TYPE).cloned().collect()
}

struct Pool<'a> {
    settings: &'a Settings,
    previous: &'a Addresses,
    taken: BTreeSet<Ipv4Addr>,
    last: Option<u8>,
}

impl Pool<'_> {
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

    fn is_free(&self, address: Ipv4Addr) -> bool {
        !self.taken.contains(&address) && !self.previous.holds(address)
    }
}
