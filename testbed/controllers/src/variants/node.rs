//! Data planes that share a node: each takes a while alone, and longer the more of them come and go at once, as Pods do.
//!
//! A twentieth of what was measured on one node with two cores: 11 s alone, and 34 s where 32 start at once.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use tokio::time::Instant;

use super::{
    Place, Variant,
    late::{Pace, late},
};

/// How long one takes alone.
const ALONE: Duration = Duration::from_millis(550);
/// How many come and go at once without being in each other's way; more share what these have.
const ROOM: usize = 10;
/// How long one that goes is in the way.
const LEAVING: Duration = Duration::from_millis(250);

/// What is at work on the node.
#[derive(Default)]
struct Node {
    /// What each that comes has yet to do, as time that it would take alone, by UID.
    coming: BTreeMap<String, Duration>,
    /// Those that are up.
    up: BTreeSet<String>,
    /// When each that goes is gone.
    going: Vec<Instant>,
    /// Up to when that is reckoned.
    at: Option<Instant>,
}

impl Node {
    /// How many times longer than alone everything takes, as two numbers.
    fn slowness(&self) -> (u32, u32) {
        let room = u32::try_from(ROOM).unwrap_or(1);
        (u32::try_from(self.coming.len() + self.going.len()).unwrap_or(u32::MAX).max(room), room)
    }

    /// When the first that comes is up or the first that goes is gone, if nothing else happens.
    fn next(&self, at: Instant) -> Option<Instant> {
        let (times, of) = self.slowness();
        // Never too early by what a division leaves.
        let up = self.coming.values().min().map(|left| at + *left * times / of + Duration::from_nanos(1));
        up.into_iter().chain(self.going.iter().min().copied()).min()
    }

    /// Lets time pass.
    fn pass(&mut self, now: Instant) {
        let mut at = self.at.unwrap_or(now);
        while at < now {
            let until = self.next(at).map_or(now, |next| next.min(now)).max(at + Duration::from_nanos(1));
            let (times, of) = self.slowness();
            let done = (until - at) * of / times;
            self.coming.values_mut().for_each(|left| *left = left.saturating_sub(done));
            self.up.extend(self.coming.extract_if(.., |_, left| *left < Duration::from_micros(1)).map(|(uid, _)| uid));
            self.going.retain(|gone| *gone > until);
            at = until;
        }
        self.at = Some(now.max(at));
    }
}

impl Pace for Node {
    fn round(&mut self, there: &BTreeSet<&str>, now: Instant) -> (BTreeSet<String>, Option<Instant>) {
        self.pass(now);
        let before = self.coming.len() + self.up.len();
        self.coming.retain(|uid, _| there.contains(uid.as_str()));
        self.up.retain(|uid| there.contains(uid.as_str()));
        let gone = before - self.coming.len() - self.up.len();
        self.going.extend(std::iter::repeat_n(now + LEAVING, gone));
        for uid in there.iter().filter(|uid| !self.up.contains(**uid)) {
            self.coming.entry((*uid).to_owned()).or_insert(ALONE);
        }
        let next = self.next(now).filter(|_| !self.coming.is_empty());
        (self.coming.keys().cloned().collect(), next)
    }
}

pub(super) const VARIANTS: &[Variant] = &[Variant {
    name: "starts-data-planes-on-one-node",
    summary: "Gives a Gateway its data plane half a second after its address, and later the more of them come and go at \
              once, up to 1.8 seconds for 32; until then the Gateway says Programmed=False/NoResources.",
    source: "Gateway.status.conditions, Programmed: a Gateway whose infrastructure is not there yet is not programmed; \
             nothing in the specification says how long that takes.",
    place: Place::Runtime(|seams| late(seams, Box::new(Node::default()), "NoResources", true)),
}];

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use rstest::rstest;

    use super::*;

    fn names(of: std::ops::Range<usize>) -> Vec<String> {
        of.map(|number| format!("{number:03}")).collect()
    }

    /// How long it takes until all of these are up, where so many others have just gone.
    fn takes(coming: usize, gone: usize) -> u128 {
        let (mut node, began) = (Node::default(), Instant::now());
        let (before, there) = (names(500..500 + gone), names(0..coming));
        node.round(&before.iter().map(String::as_str).collect(), began);
        let up = began + Duration::from_secs(600);
        node.round(&before.iter().map(String::as_str).collect(), up);
        let there: BTreeSet<&str> = there.iter().map(String::as_str).collect();
        let mut now = up;
        loop {
            let (waiting, next) = node.round(&there, now);
            if waiting.is_empty() {
                return (now - up).as_millis();
            }
            now = next.unwrap();
        }
    }

    #[rstest]
    #[case::alone(1, 0, 550)]
    #[case::within_its_room(10, 0, 550)]
    #[case::twice_as_many(20, 0, 1100)]
    #[case::as_was_measured(32, 0, 1760)]
    #[case::beside_what_goes(10, 10, 675)]
    fn it_takes_longer_the_more_there_are(#[case] coming: usize, #[case] gone: usize, #[case] millis: u128) {
        assert_eq!(takes(coming, gone), millis);
    }

    #[test]
    fn who_comes_later_holds_up_who_came_first() {
        let (mut node, began) = (Node::default(), Instant::now());
        let first = names(0..10);
        node.round(&first.iter().map(String::as_str).collect(), began);
        let all = names(0..30);
        let all: BTreeSet<&str> = all.iter().map(String::as_str).collect();
        let half = began + ALONE / 2;
        assert_eq!(node.round(&all, half).0.len(), 30);
        assert_eq!(node.round(&all, half + ALONE).0.len(), 30);
        // Half of the work at a third of the pace.
        assert_eq!(node.round(&all, half + ALONE * 3 / 2 + Duration::from_millis(1)).0.len(), 20);
    }
}
