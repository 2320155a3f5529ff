//! How many Gateways of scenarios come or go at once. Pure: it is told what comes and goes, and when.
//!
//! Where each Gateway gets machines of its own, those that come together are in each other's way, and those that go are in theirs. So
//! it begins with a few, and lets half as many more come for as long as each is there about as soon as the first ones were, and more
//! come in a time; where each takes twice as long, fewer are let in, and that is known before the last of them is there. Where
//! Gateways are there at once, nobody waits.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::time::Duration;

use super::coming::Moved;
use crate::log::{Elapsed, ObjectKey};

/// How many come at once until something is known of the target.
pub const FIRST: usize = 12;
/// How few come at once, however long they take.
const FEWEST: usize = 4;
/// Gateways are made one after the other, so that more of them only wait for each other, where of the pool, which is made all at once, the
/// last one took more than so many times what the first one did, and more than such a part of its budget.
const ONE_BY_ONE: (u32, u32) = (2, 4);
/// As long as each takes no longer than so many times what it took at best, more may come.
const MORE: f64 = 1.5;
/// If each takes longer than so many times that, so many are let in that it should be within it.
const FEWER: f64 = 2.0;
/// Of what more at once would be worth if each took no longer for it, so much has to come of it.
const WORTH: f64 = 0.5;
/// So many good turns pass until more are let in again where more were of no use.
const CALM: u32 = 3;
/// By what part more are let in.
const STEP: usize = 2;

/// How many times the longest that one took until it was programmed has to pass until one that says nothing new is no longer taken
/// for coming.
const PATIENCE: u32 = 3;

/// A Gateway that comes.
#[derive(Debug, Clone, Copy)]
struct Coming {
    since: Elapsed,
    /// When it last said something new.
    moved: Elapsed,
}

/// The Gateways of one job.
#[derive(Debug, Default)]
struct Own {
    /// Those that it has yet to make.
    expected: usize,
    coming: BTreeMap<ObjectKey, Coming>,
    /// Those that are there, and those that are not taken for coming any more.
    there: BTreeSet<ObjectKey>,
    /// Those that go.
    going: usize,
    /// Whether it waits for nothing but that something wrong changes after all: those that it has yet to make take nobody's place.
    lingers: bool,
}

/// What came of the Gateways that were made since a limit is in force: a turn.
#[derive(Debug, Clone, Copy, Default)]
struct Turn {
    since: Elapsed,
    /// Those that are there, whenever they were made: how many come in a time.
    there: usize,
    /// Those of them that were made in this turn, and how long they took.
    came: usize,
    took: Duration,
    /// Those that have said nothing new for too long.
    given_up: usize,
    /// Whether somebody had to wait.
    full: bool,
}

/// Who is let in.
#[derive(Debug)]
pub struct Intake {
    /// What is there within this time costs nobody anything.
    at_once: Duration,
    /// The longest that it waits for one that says nothing new.
    budget: Duration,
    /// Nothing as long as Gateways cost nothing.
    limit: Option<usize>,
    jobs: HashMap<usize, Own>,
    turn: Turn,
    /// What each took, on average, in the best turn.
    best: Option<f64>,
    /// While more at once were of no use: how many turns may pass until that is asked again.
    enough: Option<u32>,
    /// What the limit was before it was raised, and how many came in a second.
    raised_from: Option<(usize, f64)>,
    slowest: Duration,
    /// Whether they are made one after the other.
    one_by_one: bool,
    /// How many more of them were there at once than took a while.
    lead: i64,
}

impl Own {
    fn busy(&self) -> usize {
        let expected = if self.lingers { 0 } else { self.expected };
        expected + self.coming.len() + self.going
    }
}

impl Intake {
    /// Of a target on which nothing has come yet.
    pub fn new(at_once: Duration, budget: Duration) -> Intake {
        Intake {
            at_once,
            budget,
            limit: Some(FIRST),
            jobs: HashMap::new(),
            turn: Turn::default(),
            best: None,
            enough: None,
            raised_from: None,
            slowest: Duration::ZERO,
            one_by_one: false,
            lead: 0,
        }
    }

    /// The same, where the Gateways of the pool took so long until the first and the last of them was there.
    #[must_use]
    pub fn behind(self, (first, last): (Duration, Duration)) -> Intake {
        let one_by_one = last > first * ONE_BY_ONE.0 && last * ONE_BY_ONE.1 > self.budget;
        let limit = if one_by_one { Some(FEWEST) } else { self.limit };
        Intake { limit, one_by_one, slowest: last, ..self }
    }

    /// Whether a job that makes so many Gateways may begin.
    pub fn admits(&mut self, gateways: usize) -> bool {
        let busy = self.busy();
        let admits = busy == 0 || self.limit.is_none_or(|limit| busy + gateways <= limit);
        self.turn.full |= !admits;
        admits
    }

    /// A job begins that makes so many.
    pub fn begins(&mut self, job: usize, gateways: usize) {
        if gateways > 0 {
            self.jobs.insert(job, Own { expected: gateways, ..Own::default() });
        }
    }

    /// Something came of a Gateway of a job.
    pub fn moved(&mut self, job: usize, moved: Moved, now: Elapsed) {
        let Some(own) = self.jobs.get_mut(&job) else { return };
        match moved {
            Moved::Made(key) => {
                own.expected = own.expected.saturating_sub(1);
                own.coming.insert(key, Coming { since: now, moved: now });
            }
            Moved::Refused => own.expected = own.expected.saturating_sub(1),
            Moved::Changed(key) => {
                if let Some(coming) = own.coming.get_mut(&key) {
                    coming.moved = now;
                }
            }
            Moved::Programmed(key) => {
                let coming = own.coming.remove(&key);
                if !own.there.insert(key) {
                    return;
                }
                // It was there before it was known to be made.
                let coming = coming.unwrap_or_else(|| {
                    own.expected = own.expected.saturating_sub(1);
                    Coming { since: now, moved: now }
                });
                self.came(coming, now);
            }
            Moved::Gone(key) => {
                own.coming.remove(&key);
                own.there.remove(&key);
            }
        }
        self.cuts_short(now);
    }

    /// A job has its verdict: what it made goes now.
    pub fn ends(&mut self, job: usize) {
        if let Some(own) = self.jobs.get_mut(&job) {
            *own = Own { going: own.there.len() + own.coming.len(), ..Own::default() };
        }
    }

    /// A job only watches on until everybody else is done: nobody is to wait for it.
    pub fn rests(&mut self, job: usize) {
        if let Some(own) = self.jobs.get_mut(&job) {
            own.expected = 0;
            own.there.extend(std::mem::take(&mut own.coming).into_keys());
        }
    }

    /// A job waits for nothing but that something wrong changes after all, or does so no more: until then nobody is to wait for what it
    /// has yet to make.
    pub fn lingers(&mut self, job: usize, lingers: bool) {
        if let Some(own) = self.jobs.get_mut(&job) {
            own.lingers = lingers;
        }
    }

    /// Everything of a job is gone, or stays.
    pub fn over(&mut self, job: usize) {
        self.jobs.remove(&job);
    }

    /// Those that have said nothing new for long give up their place: they are not coming, whatever their scenarios wait for.
    pub fn gives_up(&mut self, now: Elapsed) {
        let patience = self.patience();
        for own in self.jobs.values_mut() {
            let silent = own.coming.extract_if(.., |_, coming| now >= coming.moved + patience);
            let before = own.there.len();
            own.there.extend(silent.map(|(key, _)| key));
            self.turn.given_up += own.there.len() - before;
        }
        // Of the very first ones most wait for each other then, and more would only be more that wait.
        if self.best.is_none() && self.limit.is_some() && self.turn.given_up > self.turn.came.max(FEWEST / 2) {
            self.limits(FEWEST, now);
        }
        self.cuts_short(now);
    }

    /// When the next one may have to give up its place.
    pub fn next(&self) -> Option<Elapsed> {
        let moved = self.jobs.values().flat_map(|own| own.coming.values()).map(|coming| coming.moved).min();
        moved.map(|moved| moved + self.patience())
    }

    /// How many may come or go at once; nothing if any number may.
    pub fn limit(&self) -> Option<usize> {
        self.limit
    }

    fn busy(&self) -> usize {
        self.jobs.values().map(Own::busy).sum()
    }

    fn patience(&self) -> Duration {
        if self.slowest.is_zero() {
            return self.budget / 2;
        }
        (self.slowest * PATIENCE).max(self.at_once * PATIENCE).min(self.budget)
    }

    /// One is programmed.
    fn came(&mut self, coming: Coming, now: Elapsed) {
        let took = now - coming.since;
        self.slowest = self.slowest.max(took);
        let is_at_once = took <= self.at_once;
        self.lead += if is_at_once { 1 } else { -1 };
        if is_at_once {
            // One of many that take a while says nothing of the others: such as one that is made again, whose machines were still there.
            if self.lead > 0 {
                self.limit = None;
                (self.best, self.enough, self.raised_from) = (None, None, None);
            }
            return;
        }
        let Some(limit) = self.limit else {
            // It takes a while after all: as many as there are may stay.
            return self.limits(self.busy().max(FIRST), now);
        };
        self.turn.there += 1;
        // Who was made before the limit was in force says nothing of it.
        if coming.since < self.turn.since {
            return;
        }
        self.turn.came += 1;
        self.turn.took += took;
        if self.turn.came >= limit {
            self.concludes(limit, now);
        }
    }

    /// As many came as there may be at once.
    fn concludes(&mut self, limit: usize, now: Elapsed) {
        let each = self.turn.took.as_secs_f64() / number(self.turn.came);
        // Fewer than the fewest there cannot be, so what each takes then is what it takes at best, whatever a lucky moment said before.
        let best = self.best.filter(|_| limit > FEWEST).map_or(each, |best| best.min(each));
        self.best = Some(best);
        let in_a_second = number(self.turn.there) / (now - self.turn.since).as_secs_f64();
        let was_worth_nothing = |(before, then): &(usize, f64)| {
            in_a_second < then * (1.0 + WORTH * (number(limit) / number(*before) - 1.0))
        };
        // Up to as many as there are at first, more are no question of use: whatever goes keeps its place for a while, so that nothing
        // is seen of what a few more are worth.
        let raised_from = self.raised_from.take().filter(|_| self.turn.full && limit > FIRST);
        if each >= best * FEWER {
            self.enough = Some(CALM);
            self.limits(part(limit, MORE * best / each), now);
        } else if let Some((before, _)) = raised_from.filter(was_worth_nothing) {
            // They are in each other's way, and no more of them come for it. It may have been a busy moment of others, though.
            self.enough = Some(CALM);
            self.limits(before, now);
        } else if let Some(turns) = self.enough.filter(|turns| *turns > 0 && limit > FEWEST) {
            self.enough = Some(turns - u32::from(each <= best * MORE && self.turn.full));
            self.limits(limit, now);
        } else if each <= best * MORE && self.turn.full && self.has_time_for_more(each) {
            self.enough = None;
            self.raised_from = Some((limit, in_a_second));
            self.limits(limit + limit.div_ceil(STEP), now);
        } else {
            // Where nobody had to wait the limit was none.
            self.limits(limit, now);
        }
    }

    /// Whether half as many more would be there within half of their budget, if each took as much longer for it.
    fn has_time_for_more(&self, each: f64) -> bool {
        !self.one_by_one || each * (1.0 + 1.0 / number(STEP)) <= (self.budget / 2).as_secs_f64()
    }

    /// Where most of those that were made in this turn are late already, the rest of it would say nothing else.
    fn cuts_short(&mut self, now: Elapsed) {
        let (Some(limit), Some(best)) = (self.limit, self.best) else { return };
        let is_late =
            |coming: &&Coming| coming.since >= self.turn.since && (now - coming.since).as_secs_f64() >= best * FEWER;
        let late = self.jobs.values().flat_map(|own| own.coming.values()).filter(is_late).count();
        // Some never come, as they are not to; the others do meanwhile.
        if limit > FEWEST && late * 2 > limit && late > self.turn.came {
            self.enough = Some(CALM);
            let before = self.raised_from.take().map_or_else(|| part(limit, 1.0 / MORE), |(before, _)| before);
            self.limits(before, now);
        }
    }

    fn limits(&mut self, limit: usize, now: Elapsed) {
        self.limit = Some(limit.max(FEWEST));
        self.turn = Turn { since: now, ..Turn::default() };
    }
}

fn number(of: usize) -> f64 {
    of as f64
}

fn part(of: usize, part: f64) -> usize {
    (number(of) * part.clamp(0.0, 1.0)) as usize
}

#[cfg(test)]
#[path = "intake_tests.rs"]
mod tests;
