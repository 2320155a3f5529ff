//! How an expectation is named. The judge's findings and the list of a scenario's expectations use the same names.
//!
//! A name is a path through the manifest: `steps[4].settle.HTTPRoute/route.ResolvedRefs.reason`,
//! `steps[1].refused`, `steps[3].hold.never.HTTPRoute/route.Accepted`, `steps[2].probe.status`.

use super::super::model::{Carried, ExpectationId, Requests};

/// The settling of a step: `steps[4].settle`, or `steps[4].either[1].settle` for the second legal end of a write.
pub fn settle(step: usize, ending: Option<usize>) -> ExpectationId {
    match ending {
        None => format!("steps[{step}].settle"),
        Some(ending) => format!("steps[{step}].either[{ending}].settle"),
    }
}

/// The refusal that a write must meet, or may meet as one of its legal ends.
pub fn refused(step: usize) -> ExpectationId {
    format!("steps[{step}].refused")
}

/// The admission that a write must meet.
pub fn admitted(step: usize) -> ExpectationId {
    format!("steps[{step}].admitted")
}

/// The disappearance of an object that a step deletes.
pub fn deleted(step: usize, label: &str) -> ExpectationId {
    format!("steps[{step}].delete.{label}")
}

/// What no version seen during a hold may satisfy.
pub fn never(step: usize) -> ExpectationId {
    format!("steps[{step}].hold.never")
}

/// What every version seen during a hold must satisfy.
pub fn always(step: usize) -> ExpectationId {
    format!("steps[{step}].hold.always")
}

/// An object whose status a hold wants untouched.
pub fn unchanged(step: usize, label: &str) -> ExpectationId {
    format!("steps[{step}].hold.unchanged.{label}")
}

/// The answer to a probe as a whole.
pub fn probe(step: usize) -> ExpectationId {
    format!("steps[{step}].probe")
}

/// What of the requests that a service gets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Requested {
    /// How many there are.
    Count,
    /// The time between them.
    Gap,
    /// What stands at one place of their bodies, by its position.
    Body(usize),
}

/// The requests that a service gets.
pub fn requests(step: usize, requests: &Requests, part: Requested) -> ExpectationId {
    let part = match part {
        Requested::Count => "count".to_owned(),
        Requested::Gap => "gap".to_owned(),
        Requested::Body(at) => format!("body[{}]", requests.body.get(at).map_or("", |one| &one.pointer)),
    };
    format!("steps[{step}].requests.{part}")
}

/// What the objects that a target made carry.
pub fn made(step: usize, part: &Carried) -> ExpectationId {
    match part {
        Carried::Label(key) => format!("steps[{step}].made.labels[{key}]"),
        Carried::Annotation(key) => format!("steps[{step}].made.annotations[{key}]"),
    }
}

/// One object below a settle or hold; `label` is [`Scenario::label`](super::super::Scenario::label).
pub fn subject(base: &str, label: &str) -> ExpectationId {
    format!("{base}.{label}")
}

/// One parent entry of a route, by its position in the manifest's `parents`.
pub fn parent(subject: &str, index: usize) -> ExpectationId {
    format!("{subject}.parents[{index}]")
}

/// One listener of a Gateway, by name.
pub fn listener(subject: &str, name: &str) -> ExpectationId {
    format!("{subject}.listeners[{name}]")
}

/// One field, by its JSON pointer.
pub fn field(subject: &str, pointer: &str) -> ExpectationId {
    format!("{subject}.fields[{pointer}]")
}

/// A further field of a condition, as a part of that.
pub fn condition_field(name: &str) -> String {
    format!("fields.{name}")
}

/// A list of sub-conditions, as a part of the condition that they stand in.
pub fn below(name: &str) -> String {
    format!("below.{name}")
}

/// A part of what is named by `base`: a condition type, or an aspect such as `status`, `reason`, `message`, `absent`,
/// `present`, `parents`, `attachedRoutes`, `supportedKinds`; of a probe `status`, `preferred`, `backend`,
/// `code`, `headers.NAME`, `trailers.NAME`, `messages`, `body`, `seen.path`, `seen.host`, `seen.proto`, `seen.tls`, `seen.headers.NAME`, `certificate`, `trusted`, `alpn`, `mirrored.BACKEND`, `shares`.
pub fn part(base: &str, part: &str) -> ExpectationId {
    format!("{base}.{part}")
}
