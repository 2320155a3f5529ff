//! What a judge waits for, in words for whoever looks on. Nothing is decided by it.

use super::Judge;
use crate::judge::doing::Doing;
use crate::scenario::{ObjectRef, Probe, Verb};

/// How many objects are named.
const NAMED: usize = 3;

/// What sort of thing is waited for, and at which step; it lasts until that is another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Awaited {
    /// None behind the last step.
    step: Option<usize>,
    sort: Sort,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Sort {
    Writes,
    State,
    Hold,
    Entry,
    Answer,
    Service,
    Requests,
    Made,
}

impl Judge {
    /// What it waits for. Nothing where it waits for no more than the end of everything else.
    pub fn awaits(&self) -> Option<Awaited> {
        let sort = match &self.doing {
            _ if self.rests() => return None,
            Doing::Waiting | Doing::Doubting { .. } | Doing::Done => return None,
            Doing::Writing(_) => Sort::Writes,
            Doing::Settling(_) => Sort::State,
            Doing::Holding(_) => Sort::Hold,
            Doing::Programming(_) => Sort::Entry,
            Doing::Probing(_) | Doing::Sharing(_) => Sort::Answer,
            Doing::Marking(_) | Doing::Scripting(_) => Sort::Service,
            Doing::Counting(_) => Sort::Requests,
            Doing::Listing(_) => Sort::Made,
        };
        Some(Awaited { step: self.step(), sort })
    }

    /// The same in words.
    pub fn awaits_in_words(&self, awaited: Awaited) -> String {
        let step = awaited.step.and_then(|step| self.scenario.steps.get(step));
        let verb = step.map(|step| &step.verb);
        let what = match (awaited.sort, verb, &self.doing) {
            (Sort::Writes, _, Doing::Writing(writing)) => match self.named(writing.objects()) {
                nothing if nothing.is_empty() => "answers to its writes".to_owned(),
                objects => format!("{objects} to go"),
            },
            (Sort::State, _, Doing::Settling(settling)) => {
                format!("{} to be as asked", self.named(settling.objects()))
            }
            (Sort::Hold, _, Doing::Holding(holding)) => format!("{} to stay as asked", self.named(holding.objects())),
            (Sort::Entry, Some(Verb::Probe(probe)), _) => {
                format!("{} to be ready for a probe", self.scenario.label(&probe.target.gateway))
            }
            (Sort::Answer, Some(Verb::Probe(probe)), _) => format!("{} to be answered as asked", request(probe)),
            (Sort::Requests, Some(Verb::Requests(requests)), _) => {
                format!("requests at the service {}", requests.service)
            }
            (Sort::Made, Some(Verb::Made(made)), _) => {
                format!("what is made for {} to be as asked", self.scenario.label(&made.object))
            }
            (Sort::Service, ..) => "a scripted service".to_owned(),
            _ => "the target".to_owned(),
        };
        match awaited.step {
            Some(step) => format!("steps[{step}]: {what}"),
            None => format!("its end: {what}"),
        }
    }

    fn named<'o>(&self, objects: impl Iterator<Item = &'o ObjectRef>) -> String {
        let mut names: Vec<String> = Vec::new();
        for object in objects {
            let name = self.scenario.label(object).to_string();
            if !names.contains(&name) {
                names.push(name);
            }
        }
        let more = names.len().saturating_sub(NAMED);
        names.truncate(NAMED);
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        format!("{}{more}", names.join(", "))
    }
}

/// What is sent, as far as it says which probe it is.
fn request(probe: &Probe) -> String {
    let host = probe.host.as_deref().unwrap_or_default();
    match &probe.method {
        Some(_) if probe.grpc => format!("a call of {host}{}", probe.path),
        Some(method) => format!("{method} {host}{}", probe.path),
        None if probe.datagrams => "datagrams".to_owned(),
        None => format!("a stream{}{host}", if host.is_empty() { "" } else { " to " }),
    }
}
