//! Services beside the target: what they are told, and what their logs must say.

use std::collections::BTreeMap;
use std::time::Duration;

use gateproof_report::record::{Severity, Stage};
use gateproof_report::words::counted;
use jiff::Timestamp;
use serde_json::Value;

use super::action::{Action, Next};
use super::deadline::{Deadline, Phase};
use super::env::{Env, Lasts, Report, millis, perform, wait};
use super::expect::field::{self, holds, words};
use super::miss::{plain_miss, severity};
use crate::log::{Elapsed, ServiceRequest};
use crate::scenario::expectations::id;
use crate::scenario::{BodyExpectation, Requests, Script};

/// How many requests a finding names.
const NAMED: usize = 6;

/// Where the logs of services stand is asked for before a step begins.
#[derive(Debug, Clone)]
pub(super) struct Marking {
    left: Vec<String>,
}

impl Marking {
    /// None if no log counts from here on.
    pub(super) fn of(env: &Env<'_>) -> Option<Marking> {
        let left = env.scenario.marked_at(env.step.index, env.context.basis);
        let left: Vec<String> = left.into_iter().map(str::to_owned).collect();
        (!left.is_empty()).then_some(Marking { left })
    }

    pub(super) fn next(&self, env: &Env<'_>) -> Next {
        let mark = |service: &String| Action::Mark { step: env.step.index, service: service.clone() };
        Next::Perform(self.left.iter().map(mark).collect())
    }

    /// A service answered. Whether all have.
    pub(super) fn marked(&mut self, service: &str) -> bool {
        self.left.retain(|one| one != service);
        self.left.is_empty()
    }
}

/// A service is told what to do.
#[derive(Debug, Clone)]
pub(super) struct Scripting {
    script: Script,
}

impl Scripting {
    pub(super) fn new(script: Script) -> Scripting {
        Scripting { script }
    }

    pub(super) fn next(&self, env: &Env<'_>) -> Next {
        let Script { service, rules } = self.script.clone();
        let key = key(env);
        perform(Action::Script { step: env.step.index, service, key, rules })
    }

    pub(super) fn scripted(&self, error: Option<&str>, env: &Env<'_>) -> Report {
        match error {
            None => Report::default(),
            Some(error) => Report::inconclusive(unanswered(&self.script.service, error, env)),
        }
    }
}

/// What the scripts of a scenario are known by: its main namespace, which no other has.
fn key(env: &Env<'_>) -> String {
    env.bindings.namespaces.get("ns").unwrap_or(&env.bindings.token).clone()
}

pub(super) fn unanswered(service: &str, error: &str, env: &Env<'_>) -> String {
    format!("steps[{}]: the service `{service}`: {error}", env.step.index)
}

/// Requests are counted.
#[derive(Debug, Clone)]
pub(super) struct Counting {
    expected: Requests,
    deadline: Deadline,
    /// The position from which on the log was not read yet.
    from: u64,
    /// Those that count, in order.
    counted: Vec<ServiceRequest>,
    /// When there were enough of them.
    enough: Option<Elapsed>,
    /// How long there must be no more of them from then on; nothing where more of them are as good.
    window: Option<Lasts>,
    /// Not to be read earlier.
    not_before: Elapsed,
}

impl Counting {
    /// Counts from this position of the service's log on.
    pub(super) fn new(expected: Requests, from: u64, now: Elapsed, env: &Env<'_>) -> Counting {
        let timing = &env.context.timing;
        let window = expected.is_bounded_above().then(|| env.lasts(expected.within));
        let deadline = Deadline::new(now, timing.route, timing.grace);
        Counting { expected, deadline, from, counted: Vec::new(), enough: None, window, not_before: now }
    }

    /// The deadline, for what moves it.
    pub(super) fn deadline(&mut self) -> &mut Deadline {
        &mut self.deadline
    }

    pub(super) fn next(&self, now: Elapsed, env: &Env<'_>) -> Next {
        let not_before = match env.rested {
            // What it waited for has come: the log is read once more, at once.
            Some(rested) if self.rests() => self.not_before.min(rested.max(self.enough_until())),
            _ => self.not_before,
        };
        // Who only watches on is told when that is over, so nothing that is asked may keep it from hearing.
        if self.rests() && now < not_before {
            return wait(not_before);
        }
        perform(Action::ReadRequests {
            step: env.step.index,
            from: self.from,
            expected: self.expected.clone(),
            not_before,
        })
    }

    /// Whether it goes on until everything else of the run has come to its end.
    pub(super) fn rests(&self) -> bool {
        self.enough.is_some() && self.window.is_some_and(|window| window.most.is_some())
    }

    /// The log was read; `asked` is when that began.
    pub(super) fn read(
        &mut self,
        asked: Elapsed,
        requests: &[ServiceRequest],
        next: u64,
        now: Elapsed,
        env: &Env<'_>,
    ) -> Option<Report> {
        let new = requests.iter().filter(|request| request.seq >= self.from && self.expected.fits(request));
        self.counted.extend(new.cloned());
        self.from = self.from.max(next);
        let gaps = match gaps(&self.counted) {
            Ok(gaps) => gaps,
            Err(why) => return Some(Report::inconclusive(unanswered(&self.expected.service, &why, env))),
        };
        if let Some(wrong) = gaps.into_iter().find(|gap| !self.is_legal(*gap)) {
            let seen = format!("{:.3} s between two of {}", wrong.as_secs_f64(), self.listed());
            return Some(self.failed(id::Requested::Gap, &seen, now, env));
        }
        let wrong = match self.counted.iter().map(|one| self.wrong(one)).collect::<Result<Vec<_>, _>>() {
            Ok(wrong) => wrong,
            Err(why) => return Some(Report::inconclusive(unanswered(&self.expected.service, &why, env))),
        };
        let right = wrong.iter().position(Option::is_none);
        let after = wrong.iter().zip(&self.counted).skip(right.unwrap_or(usize::MAX));
        if let Some((at, request)) = after.filter_map(|(wrong, request)| wrong.zip(Some(request))).next() {
            return Some(self.carried_wrongly(at, request, now, env));
        }
        let count = self.count();
        if self.expected.at_most.is_some_and(|most| count > most) {
            return Some(self.failed(id::Requested::Count, &self.listed(), now, env));
        }
        // Asked for whatever came of it: that is when the budget grows by what the harness was late.
        let phase = self.deadline.phase(now);
        let is_carried = right.is_some() || self.expected.body.is_empty();
        if count >= self.expected.at_least && is_carried {
            let enough = *self.enough.get_or_insert(now);
            if self.window.is_none_or(|window| asked >= window.end(enough, env.rested)) {
                let is_open = phase == Phase::HarnessLate && !self.deadline.met_by(enough);
                return Some(if is_open { harness_late(env) } else { self.passed(enough, now, env) });
            }
        } else {
            match phase {
                // What came in time was in the log when this read began.
                Phase::Over if !self.deadline.met_by(asked) => {
                    let last = wrong.last().copied().flatten().zip(self.counted.last());
                    return Some(match last.filter(|_| count >= self.expected.at_least) {
                        Some((at, request)) => self.carried_wrongly(at, request, now, env),
                        None => self.failed(id::Requested::Count, &self.listed(), now, env),
                    });
                }
                Phase::InTime | Phase::Grace | Phase::Over => {}
                Phase::HarnessLate => return Some(harness_late(env)),
            }
        }
        let pause = now + env.context.timing.backoff_max;
        self.not_before = match (self.enough, self.window) {
            (Some(enough), Some(window)) => {
                let end = window.end(enough, env.rested).max(now);
                // Of what is watched for long, the log is read ever more seldom.
                let seldom = ((now - enough) / 2).min(env.context.timing.hold_max);
                if window.most.is_some() { pause.max(now + seldom).min(end) } else { pause.min(end) }
            }
            _ => pause,
        };
        None
    }

    /// Before when it is not over, whatever happens.
    fn enough_until(&self) -> Elapsed {
        let window = self.window.map_or(Duration::ZERO, |window| window.least);
        self.enough.map_or(self.not_before, |enough| enough + window)
    }

    fn count(&self) -> u64 {
        self.counted.iter().map(|_| 1).sum()
    }

    fn is_legal(&self, gap: Duration) -> bool {
        let bounds = &self.expected.gap;
        bounds.at_least.is_none_or(|least| gap >= least) && bounds.at_most.is_none_or(|most| gap <= most)
    }

    /// The first place at which the body of a request is not as it must be.
    fn wrong(&self, request: &ServiceRequest) -> Result<Option<usize>, String> {
        if self.expected.body.is_empty() {
            return Ok(None);
        }
        let Some(body) = &request.body else {
            return Err(format!("its log has no word about the body of {} {}", request.method, request.path));
        };
        Ok(self.expected.body.iter().position(|one| !holds(&one.shown(), there(body, one), 0)))
    }

    fn carried_wrongly(&self, at: usize, request: &ServiceRequest, now: Elapsed, env: &Env<'_>) -> Report {
        let Some(expected) = self.expected.body.get(at) else { return Report::default() };
        let place = format!("{} in the body of {} {}", expected.pointer, request.method, request.path);
        let seen = field::in_words(request.body.as_ref().and_then(|body| there(body, expected)));
        self.missed(id::Requested::Body(at), words(&expected.shown(), &place, 0), seen, now, env)
    }

    fn passed(&self, enough: Elapsed, now: Elapsed, env: &Env<'_>) -> Report {
        let mut report = Report { checked: 1, ..Report::default() };
        let start = self.deadline.start;
        if !self.deadline.met_by(enough) {
            let expected = format!("{} within {:.3} s", self.in_words(), self.deadline.budget.as_secs_f64());
            let seen = format!("it came after {:.3} s", (enough - start).as_secs_f64());
            let name = id::requests(env.step.index, &self.expected, id::Requested::Count);
            let miss = plain_miss(name, expected, seen, severity(self.expected.level));
            report.findings.push(env.finding(&miss, "requests", miss.severity == Severity::Failure, now));
        }
        report.stages.push(Stage {
            step: env.step.index,
            stage: "requests".into(),
            reached_ms: millis(enough - start),
            settled_ms: millis(now - start),
            limit_ms: millis(self.deadline.budget),
            waited_ms: self.window.map_or(0, |window| millis(window.end(enough, env.rested) - enough)),
        });
        report
    }

    fn failed(&self, part: id::Requested, seen: &str, now: Elapsed, env: &Env<'_>) -> Report {
        self.missed(part, self.in_words(), seen.to_owned(), now, env)
    }

    fn missed(&self, part: id::Requested, expected: String, seen: String, now: Elapsed, env: &Env<'_>) -> Report {
        let name = id::requests(env.step.index, &self.expected, part);
        let miss = plain_miss(name, expected, seen, severity(self.expected.level));
        Report { findings: vec![env.finding(&miss, "requests", false, now)], checked: 1, ..Report::default() }
    }

    fn in_words(&self) -> String {
        let Requests { service, method, path, caller, at_least, at_most, gap, .. } = &self.expected;
        let count = match (at_least, at_most) {
            (least, Some(most)) if least == most => format!("exactly {most}"),
            (0, Some(most)) => format!("at most {most}"),
            (least, Some(most)) => format!("{least} to {most}"),
            (least, None) => format!("at least {least}"),
        };
        let what = [method.as_deref(), path.as_deref()].into_iter().flatten().collect::<Vec<_>>().join(" ");
        let what = if what.is_empty() { String::new() } else { format!(" of {what}") };
        let by = caller.as_ref().map_or_else(String::new, |caller| format!(" by {caller}"));
        let seconds = |word: &str, bound: Option<Duration>| {
            bound.map(|bound| format!("{word} {:.3} s apart", bound.as_secs_f64())).into_iter()
        };
        let gap = seconds("at least", gap.at_least).chain(seconds("at most", gap.at_most)).collect::<Vec<_>>();
        let gap = if gap.is_empty() { String::new() } else { format!(", {}", gap.join(" and ")) };
        let requests = if at_most.unwrap_or(*at_least) == 1 { "request" } else { "requests" };
        format!("the service `{service}` gets {count} {requests}{what}{by}{gap}")
    }

    /// The requests that count, with the time since the first.
    fn listed(&self) -> String {
        let first = self.counted.first().and_then(|request| time(request).ok());
        let one = |request: &ServiceRequest| {
            let after = first.zip(time(request).ok()).map_or(0.0, |(first, at)| at.duration_since(first).as_secs_f64());
            format!("{} {} ({}) at +{after:.3} s", request.method, request.path, request.status)
        };
        let shown: Vec<String> = self.counted.iter().take(NAMED).map(one).collect();
        match self.counted.len() {
            0 => "no request".to_owned(),
            count => {
                let more = if count > NAMED { ", …" } else { "" };
                format!("{}: {}{more}", counted(count, "request", "requests"), shown.join("; "))
            }
        }
    }
}

fn harness_late(env: &Env<'_>) -> Report {
    Report::inconclusive(format!("the harness itself was late while it counted requests for steps[{}]", env.step.index))
}

/// What a body has at a place, as far as it is told.
fn there<'a>(body: &'a BTreeMap<String, Value>, at: &BodyExpectation) -> Option<&'a Value> {
    body.get(&at.pointer).filter(|value| !value.is_null())
}

fn time(request: &ServiceRequest) -> Result<Timestamp, String> {
    request.time.parse().map_err(|_| format!("its log says `{}` where a time belongs", request.time))
}

/// The times between requests that follow each other; none where the clock of the service went back.
fn gaps(requests: &[ServiceRequest]) -> Result<Vec<Duration>, String> {
    let times = requests.iter().map(time).collect::<Result<Vec<_>, _>>()?;
    let between = times.windows(2).map(|pair| {
        Duration::try_from(pair[1].duration_since(pair[0])).map_err(|_| "its log is not in order of time".to_owned())
    });
    between.collect()
}
