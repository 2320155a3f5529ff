//! Which requests are turned away at the door: by where they come from, and by how many came before.

use std::collections::{BTreeMap, HashMap};
use std::net::IpAddr;
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::{Duration, Instant};

/// What is asked of the requests of a route.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Guard {
    /// From where they may come; not given: from anywhere.
    pub addresses: Option<Addresses>,
    /// How many may come; not given: as many as like.
    pub limit: Option<Limit>,
    /// Whether they may ask for a WebSocket.
    pub upgrades: bool,
}

/// From where requests may come.
#[derive(Clone, Debug, PartialEq)]
pub struct Addresses {
    /// Whether they may come from these ranges alone. Else they may come from everywhere else.
    pub allows: bool,
    /// The ranges.
    pub ranges: Vec<Range>,
}

/// A range of addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Range {
    address: IpAddr,
    /// How many bits of it count.
    length: u8,
}

impl Range {
    /// As `ipAllowPolicy` and `ipDenyPolicy` have it: an address, or one with the number of bits that count.
    pub fn parse(text: &str) -> Option<Range> {
        let (address, length) = text.split_once('/').map_or((text, None), |(address, length)| (address, Some(length)));
        let address: IpAddr = address.parse().ok()?;
        let most = if address.is_ipv4() { 32 } else { 128 };
        let length = length.map_or(Some(most), |length| length.parse().ok())?;
        (length <= most).then_some(Range { address, length })
    }

    fn has(self, address: IpAddr) -> bool {
        match (self.address, address.to_canonical()) {
            (IpAddr::V4(own), IpAddr::V4(address)) => {
                let rest = 32 - u32::from(self.length);
                (u64::from(own.to_bits()) >> rest) == (u64::from(address.to_bits()) >> rest)
            }
            (IpAddr::V6(own), IpAddr::V6(address)) => {
                let rest = 128 - u32::from(self.length);
                own.to_bits().checked_shr(rest) == address.to_bits().checked_shr(rest)
            }
            _ => false,
        }
    }
}

/// How many requests may come, as a bucket of tokens that is filled anew each time a window is over.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Limit {
    /// What is counted together: a host, or a route.
    pub of: String,
    /// In a window.
    pub requests: u32,
    /// Beyond these, at once.
    pub burst: u32,
    /// The window.
    pub window: Duration,
    /// What the rest is answered with.
    pub status: u16,
}

/// The door of a data path. Clones are the same one.
#[derive(Clone, Debug, Default)]
pub struct Gate(Arc<Inner>);

#[derive(Debug, Default)]
struct Inner {
    /// By host, in the order of its routes.
    guards: RwLock<BTreeMap<String, Vec<Guard>>>,
    /// How many may still come, and since when.
    buckets: Mutex<HashMap<Limit, (u32, Instant)>>,
}

impl Gate {
    /// Puts guards in force, by host and in the order of its routes.
    pub fn apply(&self, guards: BTreeMap<String, Vec<Guard>>) {
        *self.0.guards.write().unwrap_or_else(PoisonError::into_inner) = guards;
    }

    /// The status that a request is turned away with, if it is.
    pub fn refuses(&self, host: &str, route: usize, (from, upgrades): (IpAddr, bool), now: Instant) -> Option<u16> {
        let guards = self.0.guards.read().unwrap_or_else(PoisonError::into_inner);
        let by_wildcard = || guards.get(&format!("*.{}", host.split_once('.')?.1));
        let guard = guards.get(host).or_else(by_wildcard)?.get(route)?;
        if let Some(Addresses { allows, ranges }) = &guard.addresses
            && ranges.iter().any(|range| range.has(from)) != *allows
        {
            return Some(403);
        }
        if upgrades && !guard.upgrades {
            return Some(403);
        }
        let limit = guard.limit.as_ref()?;
        let mut buckets = self.0.buckets.lock().unwrap_or_else(PoisonError::into_inner);
        let (left, since) = buckets.entry(limit.clone()).or_insert((limit.requests.saturating_add(limit.burst), now));
        if now.duration_since(*since) >= limit.window {
            (*left, *since) =
                (left.saturating_add(limit.requests).min(limit.requests.saturating_add(limit.burst)), now);
        }
        let is_full = *left == 0;
        *left = left.saturating_sub(1);
        is_full.then_some(limit.status)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case("10.0.0.0/8", "10.9.8.7", true)]
    #[case("10.0.0.0/8", "11.0.0.1", false)]
    #[case("10.0.0.1", "10.0.0.1", true)]
    #[case("10.0.0.1", "10.0.0.2", false)]
    #[case("0.0.0.0/0", "203.0.113.9", true)]
    #[case("0.0.0.0/0", "::1", false)]
    #[case("0.0.0.0/0", "::ffff:10.0.0.1", true)]
    #[case("::/0", "2001:db8::1", true)]
    #[case("2001:db8::/32", "2001:db9::1", false)]
    fn a_range_has_addresses(#[case] range: &str, #[case] address: &str, #[case] expected: bool) {
        assert_eq!(Range::parse(range).unwrap().has(address.parse().unwrap()), expected);
    }

    #[rstest]
    #[case("10.0.0.0/33")]
    #[case("10.0.0.0/")]
    #[case("10.0.0.0/-1")]
    #[case("::/129")]
    #[case("a")]
    #[case("")]
    fn what_is_no_range(#[case] text: &str) {
        assert_eq!(Range::parse(text), None);
    }

    fn gate(guard: Guard) -> Gate {
        let gate = Gate::default();
        gate.apply([("*.demo.example".to_owned(), vec![Guard::default(), guard])].into());
        gate
    }

    #[rstest]
    #[case::allowed(true, "10.0.0.1", None)]
    #[case::not_allowed(true, "11.0.0.1", Some(403))]
    #[case::denied(false, "10.0.0.1", Some(403))]
    #[case::not_denied(false, "11.0.0.1", None)]
    fn requests_are_let_in_by_their_address(#[case] allows: bool, #[case] from: &str, #[case] expected: Option<u16>) {
        let addresses = Addresses { allows, ranges: vec![Range::parse("10.0.0.0/8").unwrap()] };
        let gate = gate(Guard { addresses: Some(addresses), ..Guard::default() });
        let refuses = |host, route| gate.refuses(host, route, (from.parse().unwrap(), false), Instant::now());
        assert_eq!(refuses("a.demo.example", 1), expected);
        assert_eq!((refuses("a.demo.example", 0), refuses("demo.example", 1)), (None, None));
    }

    #[rstest]
    #[case(true, None)]
    #[case(false, Some(403))]
    fn websockets_are_for_those_who_may(#[case] upgrades: bool, #[case] expected: Option<u16>) {
        let gate = gate(Guard { upgrades, ..Guard::default() });
        let refuses = |asks| gate.refuses("a.demo.example", 1, (IpAddr::from([10, 0, 0, 1]), asks), Instant::now());
        assert_eq!((refuses(true), refuses(false)), (expected, None));
    }

    #[test]
    fn a_window_has_so_many_requests_and_a_burst_once() {
        let (window, of) = (Duration::from_mins(1), "demo.example".to_owned());
        let gate =
            gate(Guard { limit: Some(Limit { of, requests: 1, burst: 1, window, status: 429 }), ..Guard::default() });
        let start = Instant::now();
        let from = (IpAddr::from([10, 0, 0, 1]), false);
        let refuses = |after| gate.refuses("a.demo.example", 1, from, start + after);
        let seen = [0, 1, 2, 60, 61].map(|seconds| refuses(Duration::from_secs(seconds)));
        assert_eq!(seen, [None, None, Some(429), None, Some(429)]);
    }
}
