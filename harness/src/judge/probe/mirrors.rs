//! What the backends noted: requests that they were to get, and copies that reach mirrors, which may come some time after the answers.
//!
//! Mirrors are *counted*: once the answers agree and a streak of them was mirrored, a further 98 requests must each reach
//! the mirror exactly once. A mirror that copies nine of ten, each by chance, passes all of up to three countings with a
//! probability below 1 in 10,000; one that copies half of them, practically never.

use std::time::Duration;

use indexmap::IndexMap;

use super::{
    Action, Asking, Elapsed, Env, Exchange, Miss, Next, Phase, Probing, Report, Role, agrees, build, request_id, wait,
};
use crate::judge::copies::patience;
use crate::judge::noted::{self, mirrored};
use crate::judge::statistics::{COUNTINGS, MIRRORED_SHARE, OVERLOOKED, requests_to_notice};
use crate::log::JournalEntry;
use crate::scenario::{Answer, GrpcCode, Noted, Probe};

/// How often a journal is read again at least before the requests count as not mirrored: a mirrored request is under way
/// while the answer to its original is already there.
const JOURNAL_READS: u32 = 5;

/// How often at most, while more copies come: one of them now and then is not to take for ever.
const MOST_READS: u32 = 60;

/// Requests sent at once while mirrors are counted.
const BATCH: usize = 20;

impl Probing {
    /// The next requests that are sent at once.
    pub(super) fn next_batch(&self, now: Elapsed, env: &Env<'_>) -> Next {
        let Ok(request) = build(&self.probe, None, env) else { return wait(self.deadline.wake(now)) };
        Next::Perform(
            (self.attempt..self.attempt + self.owed)
                .map(|attempt| Action::Probe {
                    step: env.step.index,
                    attempt,
                    role: Role::Main,
                    id: request_id(env, Role::Main, attempt),
                    request: request.clone(),
                    not_before: self.not_before,
                })
                .collect(),
        )
    }

    /// An answer came while mirrors are counted.
    pub(super) fn counted(
        &mut self,
        good: bool,
        misses: Vec<Miss>,
        exchange: &Exchange,
        now: Elapsed,
        env: &Env<'_>,
    ) -> Option<Report> {
        let requests = self.counting?;
        if good {
            self.streak.push(exchange.id.clone());
        } else if self.misses.is_empty() {
            self.misses = misses;
        }
        if self.owed > 0 {
            return None;
        }
        if !agrees(&self.misses, self.probe.level) {
            // That says nothing of the mirror.
            self.counting = None;
            return self.disagreed(now, env);
        }
        if self.streak.len() < requests {
            self.owed = batch(requests, self.streak.len());
        } else {
            self.read_journals(now);
        }
        None
    }

    /// From now on the journals are read.
    pub(super) fn read_journals(&mut self, now: Elapsed) {
        self.asking = Asking::Journal { reads: 0, copies: 0, since: now, began: now };
    }

    /// How many entries each request must leave at these backends, but where it was answered: that one has noted it.
    fn due(&self) -> impl Iterator<Item = (&String, usize)> {
        let times = |noted: &Noted| noted.times.map_or(1, |times| times.at_least as usize);
        let noted = expected(&self.probe).filter(|_| self.counting.is_none()).into_iter().flatten();
        let noted = noted.map(move |(backend, noted)| (backend, times(noted)));
        let noted = noted.filter(|(backend, _)| answering(&self.probe) != Some(backend));
        mirrors(&self.probe).iter().map(|mirror| (mirror, 1)).chain(noted)
    }

    /// How many of the entries are there that must be. What is too much is not counted: no waiting mends that.
    fn copies(&self, entries: &[JournalEntry]) -> usize {
        let of_request = |id: &String| {
            let of =
                |backend: &String| entries.iter().filter(|entry| entry.id == *id && entry.backend == *backend).count();
            self.due().map(|(backend, due)| of(backend).min(due)).sum::<usize>()
        };
        self.streak.iter().map(of_request).sum()
    }

    /// Whether more copies may be coming than these, of which there were more the last time at `since`. Those that are counted come for
    /// sure; before, the data path may not copy yet.
    fn are_coming(&self, copies: usize, since: Elapsed, now: Elapsed, env: &Env<'_>) -> bool {
        let timing = &env.context.timing;
        let all = self.streak.len() * self.due().map(|(_, due)| due).sum::<usize>();
        let enough = if self.counting.is_some() { timing.copies } else { patience(self.deadline.start, now, timing) };
        copies < all && now - since < enough
    }

    /// A counting failed. It starts over, but not for ever: of many countings a bad mirror passes one.
    fn miscounted(&mut self, now: Elapsed, env: &Env<'_>) -> Option<Report> {
        self.counting = None;
        self.countings += 1;
        if self.countings < COUNTINGS { self.missed(now, env) } else { Some(self.over(now, env)) }
    }

    /// The journals were read.
    pub(in crate::judge) fn journal(
        &mut self,
        entries: &[JournalEntry],
        now: Elapsed,
        env: &Env<'_>,
    ) -> Option<Report> {
        let (reads, known, since, began, is_last) = match self.asking {
            Asking::Journal { reads, copies, since, began } => (reads, copies, since, began, false),
            Asking::Again => (JOURNAL_READS, 0, now, now, true),
            Asking::Main | Asking::Staying | Asking::Contrast(_) => return None,
        };
        let backends = mirrors(&self.probe);
        self.misses = mirrored(backends, &self.streak, entries, self.probe.level, &env.probe());
        if let Some(expected) = expected(&self.probe).filter(|_| self.counting.is_none()) {
            let more = noted::compare(expected, &self.streak, entries, self.probe.level, &env.probe());
            self.misses.extend(more);
        }
        if self.misses.is_empty() {
            if self.counting.is_some() {
                return self.agreed(now, env);
            }
            if expected(&self.probe).is_some() && !is_last {
                self.asking = Asking::Again;
                let pause = env.context.timing.backoff_max.max(noted::went_on(&self.streak, entries));
                self.not_before = now + pause.max(now - began).max(self.may_be_copied(env));
                return None;
            }
            if mirrors(&self.probe).is_empty() {
                return self.agreed(now, env);
            }
            let requests = requests_to_notice(MIRRORED_SHARE, OVERLOOKED, COUNTINGS);
            self.streak.clear();
            self.asking = Asking::Main;
            (self.counting, self.owed) = (Some(requests), batch(requests, 0));
            return None;
        }
        let copies = self.copies(entries);
        let since = if copies > known { now } else { since };
        let may_go_on = reads + 1 < MOST_READS && self.are_coming(copies, since, now, env);
        if reads + 1 < JOURNAL_READS || may_go_on && !is_last {
            self.asking = Asking::Journal { reads: reads + 1, copies, since, began };
            self.back_off(now, env);
            return None;
        }
        self.asking = Asking::Main;
        if self.counting.is_some() {
            return self.miscounted(now, env);
        }
        // What came into force while copies were waited for shows with others.
        let was_long = if is_last { self.may_be_copied(env) > Duration::ZERO } else { reads >= JOURNAL_READS };
        let is_in_time = self.streak_began <= self.deadline.last();
        if was_long && is_in_time && self.deadline.phase(now) == Phase::Over {
            self.streak.clear();
            self.late = Duration::ZERO;
            self.back_off(now, env);
            return None;
        }
        self.missed(now, env)
    }

    /// How long it may take until a copy comes that must not, of what another backend answers.
    fn may_be_copied(&self, env: &Env<'_>) -> Duration {
        let is_forbidden = |noted: &Noted| noted.times.is_some_and(|times| times.at_most == Some(0));
        let is_call = matches!(&self.probe.answer, Answer::Http(seen) if seen.code.contains(&GrpcCode::OK));
        let is_copy = |backend| answering(&self.probe).map_or(is_call, |own| own != backend);
        let mut noted = expected(&self.probe).into_iter().flatten();
        let waits = noted.any(|(backend, noted)| is_forbidden(noted) && is_copy(backend));
        if waits { env.context.timing.copies } else { Duration::ZERO }
    }
}

/// The next batch of so many requests, of which some were counted.
fn batch(requests: usize, counted: usize) -> u32 {
    u32::try_from(BATCH.min(requests.saturating_sub(counted))).unwrap_or_default()
}

/// Whether journals say what a probe expects.
pub(super) fn are_read(probe: &Probe) -> bool {
    !mirrors(probe).is_empty() || expected(probe).is_some()
}

fn expected(probe: &Probe) -> Option<&IndexMap<String, Noted>> {
    match &probe.answer {
        Answer::Http(seen) if !seen.noted.is_empty() => Some(&seen.noted),
        _ => None,
    }
}

/// The backend that answers.
fn answering(probe: &Probe) -> Option<&String> {
    match &probe.answer {
        Answer::Http(seen) => seen.backend.as_ref(),
        _ => None,
    }
}

fn mirrors(probe: &Probe) -> &[String] {
    match &probe.answer {
        Answer::Http(seen) => &seen.mirrored_to,
        _ => &[],
    }
}
