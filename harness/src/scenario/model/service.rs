//! What a scenario does with the services beside its target.

use std::time::Duration;

use serde_json::Value;

use super::{Basis, FieldTest, HoldFor, Level, Scenario, Step, Verb};
use crate::log::{ServiceRequest, digest};
use crate::scenario::pattern::matches;

/// What a scripted service is told to do from here on, instead of what this scenario told it before.
#[derive(Debug, Clone, PartialEq)]
pub struct Script {
    /// The service.
    pub service: String,
    /// Rules. The file of the services says what it takes for one.
    pub rules: Vec<Value>,
}

/// Requests that a scripted service must get, or must not.
#[derive(Debug, Clone, PartialEq)]
pub struct Requests {
    /// The service.
    pub service: String,
    /// The method; any unless given.
    pub method: Option<String>,
    /// A glob over the path, in which `*` stands for any characters; any path unless given.
    pub path: Option<String>,
    /// Who asks, as the service knows it; anybody unless given.
    pub caller: Option<String>,
    /// How many at least.
    pub at_least: u64,
    /// How many at most.
    pub at_most: Option<u64>,
    /// How much time lies between two that follow each other, by the clock of the service.
    pub gap: Gap,
    /// What their bodies carry: one of them must, and those after it.
    pub body: Vec<BodyExpectation>,
    /// From where on they are counted.
    pub since: Since,
    /// How long what must not be has to stay out, once there is what must be.
    pub within: HoldFor,
    /// How binding.
    pub level: Level,
}

/// What the body of a request must have at one place.
#[derive(Debug, Clone, PartialEq)]
pub struct BodyExpectation {
    /// A JSON pointer.
    pub pointer: String,
    /// What must stand there.
    pub test: FieldTest,
    /// Whether no more than the digest of it is ever asked for, written down or shown.
    pub is_secret: bool,
}

impl BodyExpectation {
    /// The test of what a log may have of it.
    pub fn shown(&self) -> FieldTest {
        match &self.test {
            FieldTest::Equals(value) if self.is_secret => FieldTest::Equals(digest(value)),
            test => test.clone(),
        }
    }
}

/// Bounds of the time between two requests.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Gap {
    /// At least so much.
    pub at_least: Option<Duration>,
    /// At most so much.
    pub at_most: Option<Duration>,
}

/// From where on requests are counted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Since {
    /// Since the step before began. Expectations of requests that follow each other share that step.
    #[default]
    Step,
    /// Since the scenario began.
    Start,
}

impl Requests {
    /// Whether a request is one of those that are counted, wherever it stands in the log.
    pub fn fits(&self, request: &ServiceRequest) -> bool {
        self.method.as_ref().is_none_or(|method| *method == request.method)
            && self.path.as_ref().is_none_or(|path| matches(path, &request.path))
            && self.caller.as_ref().is_none_or(|caller| *caller == request.caller)
    }

    /// Whether anything of it can turn out wrong only later.
    pub fn is_bounded_above(&self) -> bool {
        self.at_most.is_some() || self.gap != Gap::default() || !self.body.is_empty()
    }
}

impl Scenario {
    /// The services that it needs, in order of their first use.
    pub fn services(&self) -> Vec<&str> {
        let mut found: Vec<&str> = Vec::new();
        for step in &self.steps {
            let service = match &step.verb {
                Verb::Script(script) => &script.service,
                Verb::Requests(requests) => &requests.service,
                _ => continue,
            };
            if !found.contains(&service.as_str()) {
                found.push(service.as_str());
            }
        }
        found
    }

    /// The step at whose begin requests that are expected by the step at `index` begin to count; `is_done` says of the steps
    /// before it whether they were.
    pub fn counts_from(&self, index: usize, since: Since, is_done: impl Fn(&Step) -> bool) -> usize {
        let mut done = self.steps.iter().filter(|step| is_done(step));
        let from = match since {
            Since::Start => done.next(),
            Since::Step => {
                let is_other = |step: &&Step| !matches!(step.verb, Verb::Requests(_));
                done.take_while(|step| step.index < index).filter(is_other).last()
            }
        };
        from.map_or(index, |step| step.index)
    }

    /// The services whose log some later step, or this one, may count from the begin of this step on.
    pub fn marked_at(&self, index: usize, basis: Basis) -> Vec<&str> {
        let mut found: Vec<&str> = Vec::new();
        let Some(here) = self.steps.iter().find(|step| step.index == index) else { return found };
        // To which ends the writes between will come is not known yet.
        let is_sure = |step: &Step| step.bounds.admits(basis) && self.goes_with(step, here);
        for step in self.steps.iter().filter(|step| step.bounds.admits(basis)) {
            let Verb::Requests(requests) = &step.verb else { continue };
            let Requests { service, since, .. } = &**requests;
            if self.counts_from(step.index, *since, is_sure) == index && !found.contains(&service.as_str()) {
                found.push(service);
            }
        }
        found
    }
}
