//! What follows from what is known: the heart of the implementation, without clock, cluster or network.
//!
//! [`decide`] is called whenever something may have changed, when a delay is over, and with each answer of ARM. It never
//! does anything; [`crate::runtime`] carries out what it decides, in the order that [`Decision`] tells.

mod answers;
mod create;
mod delete;

#[cfg(test)]
pub(crate) mod tests;

use std::{collections::BTreeMap, time::Duration};

use jiff::{SignedDuration, Timestamp};
use serde_json::Value;

use crate::{
    arm::{ArmError, How, Method, Outcome, Poll, Purpose, Request},
    classify::{Retry, classify},
    settings::{Edition, Settings},
    status::{Desired, Ready, Severity, Truth},
    world::{Facts, OPERATOR_NAMESPACE, POLLER_ID, POLLER_TOKEN},
};

/// What is remembered of an object from one decision to the next. Nothing of it is lost for good by a restart.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Memory {
    /// The [`Facts::fingerprint`] of the last attempt; nothing before the first and where the next has to come at once.
    pub fingerprint: Option<u64>,
    /// The [`Facts::essence`] of the last attempt.
    pub essence: Option<u64>,
    /// Whether the last attempt failed for good.
    pub is_parked: bool,
    /// How many attempts have failed in a row.
    pub failures: u32,
    /// When the next attempt or poll is due; nothing for when something changes.
    pub due: Option<Timestamp>,
    /// What was said last, to say it again where somebody else wiped it.
    pub said: Desired,
    /// Whether ARM said that the resource is gone.
    pub is_gone: bool,
    /// Decisions so far.
    pub rounds: u64,
}

/// When to decide again.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Again {
    /// When something changes.
    #[default]
    Change,
    /// At once.
    Now,
    /// After so long at the latest.
    After(Duration),
}

/// What is to be written to Secrets and ConfigMaps: by their kind and name, values by key.
pub type Exports = BTreeMap<(&'static str, String), BTreeMap<String, String>>;

/// What is to be done. A finalizer and annotations are written first, then Secrets and ConfigMaps, the status, then the request is
/// sent; a finalizer that goes, goes last.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Decision {
    /// Annotations to set, or to remove where there is no value.
    pub annotations: BTreeMap<&'static str, Option<String>>,
    /// Labels to set.
    pub labels: BTreeMap<&'static str, String>,
    /// Whether the finalizer is to be there; nothing for as it is.
    pub finalizer: Option<bool>,
    /// The status.
    pub status: Desired,
    /// Whether the status goes before the annotations.
    pub status_first: bool,
    /// Secrets and ConfigMaps to write.
    pub exports: Exports,
    /// A warning to record as an Event: reason and message.
    pub event: Option<(&'static str, String)>,
    /// The next request.
    pub request: Option<Request>,
    /// When to decide again; with a request, at its answer.
    pub again: Again,
    /// What to remember.
    pub memory: Memory,
}

/// What a decision is made from.
#[derive(Clone, Copy, Debug)]
pub struct Seen<'a> {
    /// What is known of the object and what it needs.
    pub facts: &'a Facts,
    /// What is remembered.
    pub memory: &'a Memory,
    /// The last request and what came of it, if that is what there is to decide about.
    pub answer: Option<(&'a Request, &'a Outcome)>,
    /// The time.
    pub now: Timestamp,
    /// The settings.
    pub settings: &'a Settings,
}

/// Decides.
pub fn decide(seen: Seen<'_>) -> Decision {
    let mut decision = match seen.facts.annotation(OPERATOR_NAMESPACE) {
        Some(other) if other != seen.settings.operator_namespace => seen.overlap(other),
        owned => match seen.answer {
            Some((request, outcome)) => answers::after(seen, request, outcome),
            None if seen.facts.is_deleting() => delete::delete(seen),
            None => create::create(seen, owned.is_some()),
        },
    };
    decision.memory.rounds = seen.memory.rounds + 1;
    decision
}

impl Seen<'_> {
    /// Nothing is done, and what is remembered stays.
    fn rest(&self) -> Decision {
        Decision { memory: self.memory.clone(), ..Decision::default() }
    }

    /// Waits until the next attempt is due, and says again what was said, should it have gone.
    fn wait(&self) -> Decision {
        let again = match self.memory.due {
            Some(due) if due > self.now => {
                let left = Duration::try_from(due.duration_since(self.now)).unwrap_or_default();
                Again::After(left)
            }
            Some(_) => Again::Now,
            None => Again::Change,
        };
        Decision { status: self.memory.said.clone(), again, ..self.rest() }
    }

    /// Another installation looks after the object: it is left alone.
    fn overlap(&self, other: &str) -> Decision {
        let mut decision = self.rest();
        if self.memory.rounds == 0 {
            let message = format!("the operator of namespace {other} looks after this object already");
            decision.event = Some(("Overlap", message));
        }
        decision
    }

    fn ready(&self, status: Truth, severity: Option<Severity>, reason: &str, message: impl Into<String>) -> Ready {
        let observed_generation = (self.settings.edition == Edition::Current).then(|| self.facts.generation());
        Ready { status, severity, reason: reason.into(), message: message.into(), observed_generation, starts: false }
    }

    fn info(&self, reason: &str, message: &str) -> Ready {
        self.ready(Truth::False, Some(Severity::Info), reason, message)
    }

    /// Says something and waits until something changes that is watched. The next attempt comes as soon as the way is free.
    fn blocked(&self, severity: Severity, reason: &str, message: impl Into<String>) -> Decision {
        let mut decision = self.rest();
        decision.say(self.ready(Truth::False, Some(severity), reason, message));
        decision.memory.fingerprint = None;
        decision.memory.is_parked = false;
        decision.memory.due = None;
        decision
    }

    /// Says a warning and tries again by and by.
    fn warn(&self, retry: Retry, reason: &str, message: impl Into<String>) -> Decision {
        self.fail(Severity::Warning, retry, reason, message)
    }

    fn fail(&self, severity: Severity, retry: Retry, reason: &str, message: impl Into<String>) -> Decision {
        let mut decision = self.rest();
        decision.say(self.ready(Truth::False, Some(severity), reason, message));
        match retry.delay(self.memory.failures) {
            Some(delay) => {
                decision.memory.failures += 1;
                decision.wait_for(self, self.settings.scaled(delay).max(self.least()));
            }
            None => {
                decision.memory.is_parked = true;
                decision.memory.due = None;
                decision.annotations.insert(crate::world::LATEST_GENERATION, Some(self.attempted().to_string()));
            }
        }
        decision
    }

    /// How long the answer lets nothing more be asked.
    fn least(&self) -> Duration {
        match self.answer {
            Some((_, Ok(response))) => response.least().unwrap_or_default(),
            _ => Duration::ZERO,
        }
    }

    /// The generation of the attempt that an answer belongs to.
    fn attempted(&self) -> i64 {
        match self.answer {
            Some((Request { purpose: Purpose::Poll(poll), .. }, _)) => poll.generation,
            _ => self.facts.generation(),
        }
    }

    /// Says an error of ARM. What is being deleted is always tried again.
    fn refused(&self, error: &ArmError) -> Decision {
        let retry = match classify(error) {
            Retry::Never if self.facts.is_deleting() => Retry::Slow,
            retry => retry,
        };
        let severity = if retry == Retry::Never { Severity::Error } else { Severity::Warning };
        let message = match self.settings.edition {
            Edition::Design => error.message.clone(),
            Edition::Current => {
                let what = if self.facts.is_deleting() { "deleting" } else { "putting" };
                format!("{what} the resource failed with {}: {}", error.code, error.message)
            }
        };
        let mut decision = self.fail(severity, retry, &error.code, message);
        decision.forget_operation();
        decision
    }

    /// A request of the resource itself.
    fn request(&self, method: Method, purpose: Purpose, body: Option<Value>) -> Option<Request> {
        // The id that was taken down holds, whatever has become of the owner since.
        let id = self.facts.annotation(crate::world::RESOURCE_ID).map(str::to_owned).or_else(|| self.facts.id())?;
        let action = if matches!(purpose, Purpose::Keys(_)) { "/listKeys" } else { "" };
        let url = format!("{id}{action}?api-version={}", self.facts.kind.api_version);
        Some(Request { method, url, body, purpose, caller: self.facts.client.clone() })
    }

    /// The operation that runs, as the annotations tell.
    fn operation(&self) -> Option<Poll> {
        serde_json::from_str(self.facts.annotation(POLLER_TOKEN)?).ok()
    }

    /// Takes an operation down, and asks how it goes after a pause.
    fn follow(&self, poll: &Poll, pause: Duration) -> Decision {
        let mut decision = self.rest();
        decision.annotations.insert(POLLER_TOKEN, serde_json::to_string(poll).ok());
        let id = if poll.deletes { "delete" } else { "put" };
        decision.annotations.insert(POLLER_ID, Some(id.to_owned()));
        decision.wait_for(self, pause);
        decision
    }

    /// Asks how an operation goes.
    fn poll(&self, poll: Poll) -> Option<Request> {
        let url = match poll.how {
            How::Body => format!("{}?api-version={}", poll.url, self.facts.kind.api_version),
            How::Async | How::Location => poll.url.clone(),
        };
        let caller = self.facts.client.clone();
        Some(Request { method: Method::Get, url, body: None, purpose: Purpose::Poll(poll), caller })
    }
}

impl Decision {
    fn say(&mut self, ready: Ready) {
        self.status.ready = Some(ready);
        self.memory.said.ready = self.status.ready.clone();
        if self.status.azure.is_some() {
            self.memory.said.azure = self.status.azure.clone();
        }
    }

    fn wait_for(&mut self, seen: &Seen<'_>, delay: Duration) {
        self.again = Again::After(delay);
        self.memory.due = SignedDuration::try_from(delay).ok().and_then(|delay| seen.now.checked_add(delay).ok());
    }

    /// Takes an operation off the annotations.
    fn forget_operation(&mut self) {
        self.annotations.insert(POLLER_TOKEN, None);
        self.annotations.insert(POLLER_ID, None);
    }
}
