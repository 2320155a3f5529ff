//! The opposite of one asserted value.
//!
//! Four kinds of values have none that a target could fail at:
//! - `hold.unchanged`: a manifest cannot demand that a status be written again without any change.
//! - `refused`: its opposite is admission, and a refusal where admission is expected makes a scenario inconclusive by
//!   rule, because the API server refuses, not the implementation. Faults of the API surface prove these instead.
//! - `admitted`: its opposite is `refused`, which is another expectation: that it fails says nothing of this one.
//! - one of several legal ends of a write: the target may take another.

use std::time::Duration;

use serde_json::Value;

use super::super::grpc::GrpcCode;
use super::super::model::{
    Answer, Carried, ConditionExpectation, FieldExpectation, FieldTest, Gap, HeaderTest, Hold, Level, Noted, Parents,
    Requests, Seen, Share, SubCondition, Times,
};
use super::id::Requested;
use super::walk::{Aspect, NotedPart, SeenPart, Site};

/// A text that no target writes.
const OTHER: &str = "gateproof-inverted";

/// A status code that no target sends.
const OTHER_STATUS: u16 = 418;

/// Negates the value at a site; false if its opposite cannot be said.
pub(super) fn negate(site: Site<'_>, backends: &[String]) -> bool {
    match site {
        Site::Condition(_, _, _, condition, aspect) => negate_condition(condition, &aspect),
        Site::Parents(_, parents) => {
            *parents = if *parents == Parents::Absent { Parents::Every } else { Parents::Absent };
        }
        Site::Parent(_, parent) => {
            parent.absent = !parent.absent;
            parent.conditions.clear();
        }
        // Not a neighbour: the count passes through those on its way.
        Site::AttachedRoutes(_, _, attached) => *attached = -1 - *attached,
        Site::SupportedKinds(_, _, kinds) => *kinds = vec!["Inverted".to_owned()],
        Site::Field(_, field) => negate_field(field),
        Site::Never(hold, index, kind) => return never_to_always(hold, index, kind.as_deref()),
        Site::Unchanged(_) | Site::Refused(_) | Site::Admitted(_) => return false,
        Site::Answer(probe) if probe.method.is_none() && probe.answer == Answer::NoAnswer => {
            probe.answer = Answer::TcpRefused;
            negate_answer(&mut probe.answer, backends);
        }
        Site::Answer(probe) => negate_answer(&mut probe.answer, backends),
        Site::Seen(probe, part) => {
            if let Answer::TlsBackend { certificate, trusted, alpn, server_name, .. } = &mut probe.answer {
                match part {
                    SeenPart::ServerName => *server_name = server_name.take().map(|name| format!("inverted.{name}")),
                    SeenPart::Alpn => *alpn = vec![OTHER.to_owned()],
                    SeenPart::Trusted => *trusted = Some(OTHER.to_owned()),
                    _ => *certificate = certificate.take().map(|name| format!("inverted.{name}")),
                }
                return true;
            }
            let Answer::Http(seen) = &mut probe.answer else { return false };
            negate_seen(seen, &part, backends);
        }
        Site::Requests(requests, Requested::Count) => negate_count(requests),
        Site::Requests(requests, Requested::Gap) => {
            let bound = requests.gap;
            requests.gap = match bound.at_least {
                Some(least) => Gap { at_least: None, at_most: Some(least.saturating_sub(Duration::from_micros(1))) },
                None => Gap { at_least: bound.at_most.map(|most| most + Duration::from_micros(1)), at_most: None },
            };
        }
        Site::Requests(requests, Requested::Body(at)) => {
            requests.level = Level::Must;
            if let Some(one) = requests.body.get_mut(at) {
                negate_test(&mut one.test);
            }
        }
        Site::Made(made, part) => {
            made.level = Level::Must;
            let test = match part {
                Carried::Label(key) => made.labels.get_mut(&key),
                Carried::Annotation(key) => made.annotations.get_mut(&key),
            };
            test.into_iter().for_each(negate_test);
        }
    }
    true
}

/// Fewer than there must be at least, or else more than there may be.
fn negate_count(requests: &mut Requests) {
    requests.level = Level::Must;
    // Fewer requests might have no gap and no body left to look at.
    requests.gap = Gap::default();
    requests.body.clear();
    (requests.at_least, requests.at_most) = match (requests.at_least, requests.at_most) {
        (0, most) => (most.map_or(0, |most| most + 1), None),
        (least, _) => (0, Some(least - 1)),
    };
}

fn negate_condition(condition: &mut ConditionExpectation, aspect: &Aspect) {
    condition.level = Level::Must;
    match aspect {
        Aspect::Absent => condition.absent = false,
        Aspect::Present => condition.absent = true,
        Aspect::Status => {
            let legal = std::mem::take(&mut condition.status);
            condition.status =
                ["True", "False", "Unknown"].map(str::to_owned).into_iter().filter(|s| !legal.contains(s)).collect();
            // The reasons of the old statuses would fail for a cause of their own.
            condition.reason.clear();
            condition.other_than.clear();
            condition.message = None;
            condition.optional = false;
        }
        Aspect::Reason => {
            condition.reason = vec!["GateproofInverted".to_owned()];
            condition.other_than.clear();
            condition.reason_level = None;
            condition.optional = false;
        }
        Aspect::Message => {
            if let Some(message) = &mut condition.message {
                message.mentions = vec![OTHER.to_owned()];
                message.starts.clear();
                message.level = Level::Must;
            }
        }
        Aspect::Field(name) => {
            condition.optional = false;
            condition.fields.get_mut(name).into_iter().for_each(negate_test);
        }
        Aspect::Below(name) => {
            condition.optional = false;
            let other = || "GateproofInverted".to_owned();
            let one_more = SubCondition { type_: other(), reason: other() };
            if let Some(below) = condition.below.get_mut(name) {
                below.entries.push(one_more);
            }
        }
    }
}

fn negate_field(field: &mut FieldExpectation) {
    field.level = Level::Must;
    negate_test(&mut field.test);
}

fn negate_test(test: &mut FieldTest) {
    *test = match test {
        FieldTest::Equals(_) | FieldTest::OneOf(_) | FieldTest::Current | FieldTest::SameAs(_) => {
            FieldTest::Equals(Value::from(OTHER))
        }
        FieldTest::Mentions(_) => FieldTest::Mentions(Value::from(OTHER)),
        FieldTest::Absent => FieldTest::NotEmpty,
        FieldTest::Contains(_) => FieldTest::Contains(Value::from(OTHER)),
        FieldTest::Empty => FieldTest::NotEmpty,
        FieldTest::NotEmpty | FieldTest::SortedBy(_) => FieldTest::Empty,
    };
}

fn never_to_always(hold: &mut Hold, index: usize, kind: Option<&str>) -> bool {
    let Some(subject) = hold.never.get_mut(index) else { return false };
    if let Some(condition) = kind.filter(|_| subject.conditions.len() > 1).and_then(|k| subject.conditions.get_mut(k)) {
        // Together with the others it must never be so: its opposite is, together with them.
        let aspect = if condition.status.is_empty() { Aspect::Reason } else { Aspect::Status };
        negate_condition(condition, &aspect);
        return aspect == Aspect::Status;
    }
    let mut moved = subject.clone();
    match kind {
        Some(kind) => {
            subject.conditions.shift_remove(kind);
            moved.conditions.retain(|k, _| k == kind);
        }
        None => {
            hold.never.remove(index);
        }
    }
    // What is left of `never` must not be an empty subject, which everything satisfies.
    hold.never.retain(|s| {
        !s.conditions.is_empty() || !s.listeners.is_empty() || !s.fields.is_empty() || s.parents != Parents::Every
    });
    hold.always.push(moved);
    true
}

fn negate_answer(answer: &mut Answer, backends: &[String]) {
    *answer = match std::mem::replace(answer, Answer::NoAnswer) {
        Answer::Http(seen) => Answer::Http(seen),
        Answer::TcpBackend(_) | Answer::TlsBackend { .. } => Answer::TcpRefused,
        Answer::TcpRefused => Answer::TcpBackend(backends.first().cloned().unwrap_or_else(|| OTHER.to_owned())),
        Answer::NoAnswer | Answer::NoCertificate | Answer::CutOff => Answer::Http(Box::default()),
        Answer::Shares { parts, margin } => Answer::Shares { parts: shift_shares(parts), margin },
    };
}

/// Weights under which the first part has nine tenths if it had less than half, and one tenth otherwise.
fn shift_shares(mut parts: Vec<(Share, u32)>) -> Vec<(Share, u32)> {
    let total = parts.iter().map(|(_, weight)| *weight).sum::<u32>();
    let first = parts.first().map_or(0, |(_, weight)| *weight);
    let rest = total - first;
    if parts.len() < 2 {
        parts.push((Share::Status(OTHER_STATUS), total.max(1)));
    } else if first * 2 < total {
        parts[0].1 = rest * 9;
    } else if rest == 0 {
        parts[0].1 = 1;
        parts[1].1 = 9;
    } else {
        parts[0].1 = rest;
        for part in &mut parts[1..] {
            part.1 *= 9;
        }
    }
    parts
}

fn another(name: &str, backends: &[String]) -> String {
    backends.iter().find(|b| *b != name).cloned().unwrap_or_else(|| format!("{name}-inverted"))
}

fn opposite(test: &mut HeaderTest) {
    *test = match test {
        HeaderTest::Equals(value) => HeaderTest::Equals(format!("{value}-inverted")),
        HeaderTest::OneOf(_) => HeaderTest::OneOf(vec![OTHER.to_owned()]),
        HeaderTest::Members(_) => HeaderTest::Members(vec![OTHER.to_owned()]),
        HeaderTest::Without(member) => HeaderTest::Members(vec![member.clone()]),
        HeaderTest::Lines(_) => HeaderTest::Lines(vec![OTHER.to_owned()]),
        HeaderTest::Absent => HeaderTest::Present,
        HeaderTest::Present => HeaderTest::Absent,
    };
}

fn negate_seen(seen: &mut Seen, part: &SeenPart, backends: &[String]) {
    match part {
        SeenPart::Status => {
            seen.status = vec![OTHER_STATUS];
            seen.preferred.clear();
        }
        SeenPart::Code => seen.code = vec![GrpcCode::DATA_LOSS],
        SeenPart::Preferred => seen.preferred = vec![OTHER_STATUS],
        SeenPart::Backend => seen.backend = seen.backend.take().map(|b| another(&b, backends)),
        SeenPart::Header(name) => seen.headers.get_mut(name).map_or((), opposite),
        SeenPart::Trailer(name) => seen.trailers.get_mut(name).map_or((), opposite),
        SeenPart::Messages => seen.messages = seen.messages.map(|count| count + 1),
        SeenPart::Body => seen.body = seen.body.take().map(|body| format!("{body}-inverted")),
        SeenPart::Proto => seen.seen_proto = seen.seen_proto.take().map(|proto| format!("{proto}-inverted")),
        SeenPart::SeenMessages => seen.seen_messages.iter_mut().for_each(|texts| texts.push(OTHER.to_owned())),
        SeenPart::Path => seen.seen_path = seen.seen_path.take().map(|p| format!("{p}-inverted")),
        SeenPart::Host => seen.seen_host = seen.seen_host.take().map(|h| format!("inverted.{h}")),
        SeenPart::ServerName => seen.server_name = seen.server_name.take().map(|name| format!("inverted.{name}")),
        SeenPart::ClientName => seen.client_name = seen.client_name.take().map(|name| format!("inverted.{name}")),
        SeenPart::SeenHeader(name) => seen.seen_headers.get_mut(name).map_or((), opposite),
        SeenPart::Certificate => seen.certificate = seen.certificate.take().map(|name| format!("inverted.{name}")),
        SeenPart::Trusted => seen.trusted = Some(OTHER.to_owned()),
        SeenPart::Alpn => seen.alpn = vec![OTHER.to_owned()],
        SeenPart::Mirrored(index) => {
            if let Some(backend) = seen.mirrored_to.get_mut(*index) {
                // Not another of the scenario's: whichever answers has the request in its journal too.
                *backend = format!("{backend}-inverted");
            }
        }
        SeenPart::Reply(index) => {
            if let Some((_, right)) = seen.replies.get_mut(*index) {
                *right = !*right;
            }
        }
        SeenPart::Noted(backend, part) => seen.noted.get_mut(backend).map_or((), |noted| negate_noted(noted, part)),
    }
}

fn negate_noted(noted: &mut Noted, part: &NotedPart) {
    let longer = |text: &mut Option<String>| *text = text.take().map(|text| format!("{text}-inverted"));
    match part {
        // Not a neighbour: a retry more or less is what the others look for.
        NotedPart::Times => {
            noted.times = noted.times.map(|times| {
                let at_least = times.at_most.unwrap_or(times.at_least) + 100;
                Times { at_least, at_most: None }
            });
        }
        NotedPart::Apart => noted.apart = Some(3_600_000),
        NotedPart::Method => longer(&mut noted.method),
        NotedPart::Path => longer(&mut noted.path),
        NotedPart::Proto => longer(&mut noted.proto),
        NotedPart::Body => longer(&mut noted.body),
        NotedPart::Header(name) => noted.headers.get_mut(name).map_or((), opposite),
    }
}
