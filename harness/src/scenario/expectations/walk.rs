//! One walk over the asserted values of a scenario; listing and negating both use it, so they cannot disagree.

mod others;

use std::collections::BTreeMap;
use std::sync::Arc;

use indexmap::IndexMap;
use serde_json::Value;

use crate::dialects::Standing;

use super::super::model::{
    Answer, Bounds, Branch, Carried, Clause, ConditionExpectation, Ending, FieldExpectation, HeaderTest, Hold, Level,
    ListenerExpectation, MadeFor, ObjectRef, ParentExpectation, Parents, Probe, Requests, Scenario, Step,
    SubjectExpectation, Verb,
};
use super::id::Requested;
use super::{Expectation, id};

/// The place of one asserted value, and of what.
pub(super) enum Site<'a> {
    /// The refusal of a write of these objects.
    Refused(&'a Verb),
    /// The admission of a write of these objects.
    Admitted(&'a Verb),
    /// One aspect of a condition of this type, of this part of the object.
    Condition(&'a ObjectRef, Holder<'a>, &'a str, &'a mut ConditionExpectation, Aspect),
    /// Which parent entries there are.
    Parents(&'a ObjectRef, &'a mut Parents),
    /// Whether one parent entry is there.
    Parent(&'a ObjectRef, &'a mut ParentExpectation),
    /// The number of attached routes of a listener.
    AttachedRoutes(&'a ObjectRef, &'a str, &'a mut i64),
    /// The set of supported kinds of a listener.
    SupportedKinds(&'a ObjectRef, &'a str, &'a mut Vec<String>),
    /// A field.
    Field(&'a ObjectRef, &'a mut FieldExpectation),
    /// One condition (or everything, if `None`) of the subject at this position of `never`.
    Never(&'a mut Hold, usize, Option<String>),
    /// An object whose status must stay.
    Unchanged(&'a ObjectRef),
    /// The whole answer: who, or nobody.
    Answer(&'a mut Probe),
    /// A part of an HTTP answer.
    Seen(&'a mut Probe, SeenPart),
    /// How many requests a service gets, or how far apart.
    Requests(&'a mut Requests, Requested),
    /// What is carried by objects that a target made.
    Made(&'a mut MadeFor, Carried),
}

/// Whose conditions they are.
#[derive(Clone, Copy)]
pub(super) enum Holder<'a> {
    /// The object's; a route's in every entry of its `status.parents`.
    Own,
    /// Those of a route's entry for this parentRef, by the target or another controller.
    Parent(&'a Value, Option<&'a str>),
    /// Those of a listener.
    Listener(&'a str),
}

/// What of a condition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Aspect {
    /// That it is not there.
    Absent,
    /// That it is there.
    Present,
    /// Its status.
    Status,
    /// Its reason.
    Reason,
    /// Its message.
    Message,
    /// A further field of this name.
    Field(String),
    /// The sub-conditions in the field of this name.
    Below(String),
}

impl Aspect {
    fn name(&self) -> String {
        match self {
            Aspect::Absent => "absent".to_owned(),
            Aspect::Present => "present".to_owned(),
            Aspect::Status => "status".to_owned(),
            Aspect::Reason => "reason".to_owned(),
            Aspect::Message => "message".to_owned(),
            Aspect::Field(name) => id::condition_field(name),
            Aspect::Below(name) => id::below(name),
        }
    }
}

/// What of an HTTP answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SeenPart {
    /// The status code.
    Status,
    /// The code of a call.
    Code,
    /// The status code that a SHOULD prefers.
    Preferred,
    /// Who answered.
    Backend,
    /// A response header.
    Header(String),
    /// A response trailer.
    Trailer(String),
    /// How many messages came.
    Messages,
    /// What the answer says.
    Body,
    /// The path that the backend saw.
    Path,
    /// The host that the backend saw.
    Host,
    /// The protocol that the backend was spoken to in.
    Proto,
    /// The server name that the backend was asked for, or that it was spoken to in clear text.
    ServerName,
    /// The certificate that the backend was shown.
    ClientName,
    /// The messages of a call that the backend saw.
    SeenMessages,
    /// A request header that the backend saw.
    SeenHeader(String),
    /// The certificate that was presented.
    Certificate,
    /// Whether a client trusts it.
    Trusted,
    /// What the handshake agreed on.
    Alpn,
    /// The backend at this position of the list of mirrors.
    Mirrored(usize),
    /// The answer to the message at this position.
    Reply(usize),
    /// What this backend noted of the request.
    Noted(String, NotedPart),
}

/// What of that which a backend noted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NotedPart {
    /// How often.
    Times,
    /// The time between.
    Apart,
    /// The method.
    Method,
    /// The path.
    Path,
    /// The version of HTTP.
    Proto,
    /// The body.
    Body,
    /// A header.
    Header(String),
}

type Visitor<'v> = &'v mut dyn FnMut(Expectation, Site<'_>);

/// What is the same for all expectations of a step or a part of it.
#[derive(Clone)]
struct About {
    clauses: Vec<Clause>,
    level: Level,
    alternative: bool,
    conditional: bool,
    bounds: Vec<Bounds>,
    line: usize,
}

impl About {
    fn expectation(&self, id: String) -> Expectation {
        Expectation {
            id,
            level: self.level,
            clauses: self.clauses.clone(),
            alternative: self.alternative,
            conditional: self.conditional,
            untouched: false,
            bounds: self.bounds.clone(),
            line: self.line,
        }
    }

    fn at(&self, level: Level) -> About {
        About { level: level.min(self.level), ..self.clone() }
    }

    fn within(&self, bounds: Bounds) -> About {
        let mut about = self.clone();
        about.bounds.push(bounds);
        about
    }
}

pub(super) fn visit(scenario: &mut Scenario, visitor: Visitor<'_>) {
    let labels = std::mem::take(&mut scenario.labels);
    let mut doubtful = BTreeMap::new();
    let branches: Vec<Vec<Branch>> = scenario.steps.iter().map(|step| scenario.branches(step)).collect();
    let conditional: Vec<bool> = scenario.steps.iter().map(|step| scenario.is_conditional(step)).collect();
    let label = |subject: &ObjectRef| labels.get(subject).cloned().unwrap_or_else(|| Arc::from(subject.to_string()));
    for ((step, branches), conditional) in scenario.steps.iter_mut().zip(branches).zip(conditional) {
        let about = About {
            clauses: step.proves.clone(),
            level: Level::Must,
            // What comes of a write that may not be done is not told from its not being done.
            alternative: step.either.len() > 1 || (conditional && !step.either.is_empty()),
            conditional,
            bounds: vec![scenario.bounds, step.bounds],
            line: step.place.line,
        };
        endings(step, &about, &label, visitor);
        if !conditional {
            doubt(step, &mut doubtful);
        }
        let about_object = |subject: &ObjectRef| About {
            // Within an end of a write it is known what came of it.
            alternative: doubtful
                .get(&(subject.kind.clone(), subject.name.clone()))
                .is_some_and(|write| branches.iter().all(|branch| branch.step != *write)),
            ..about.clone()
        };
        let index = step.index;
        match &mut step.verb {
            Verb::Settle(settle) => {
                let base = id::settle(index, None);
                for subject in &mut settle.subjects {
                    let name = id::subject(&base, &label(&subject.subject));
                    walk_subject(subject, &name, &about_object(&subject.subject), visitor);
                }
            }
            Verb::Hold(hold) => walk_hold(hold, index, &about_object, &label, visitor),
            Verb::Probe(probe) => walk_probe(probe, &id::probe(index), &about, visitor),
            Verb::Requests(requests) => others::requests(requests, index, &about, visitor),
            Verb::Made(made) => others::made(made, index, &about, visitor),
            Verb::Apply(_) | Verb::Patch(_) | Verb::Delete(_) | Verb::Script(_) => {}
        }
    }
    scenario.labels = labels;
}

/// Keeps account of the objects that may not be there, because a refusal was one of several legal ends of their write:
/// what is said of them is said for the other ends alone.
fn doubt(step: &Step, doubtful: &mut BTreeMap<(String, String), usize>) {
    let Verb::Apply(apply) = &step.verb else { return };
    let text =
        |object: &Value, pointer: &str| object.pointer(pointer).and_then(Value::as_str).unwrap_or_default().to_owned();
    let may_be_refused = step.either.iter().any(|ending| matches!(ending, Ending::Refused(..)));
    for object in &apply.objects {
        let named = (text(object, "/kind"), text(object, "/metadata/name"));
        if may_be_refused {
            doubtful.insert(named, step.index);
        } else {
            doubtful.remove(&named);
        }
    }
}

type Labels<'l> = &'l dyn Fn(&ObjectRef) -> Arc<str>;

fn endings(step: &mut Step, about: &About, label: Labels<'_>, visitor: Visitor<'_>) {
    let Step { either, verb, index, .. } = step;
    for (position, ending) in either.iter_mut().enumerate() {
        match ending {
            Ending::Refused(_, bounds) => {
                visitor(about.within(*bounds).expectation(id::refused(*index)), Site::Refused(verb));
            }
            Ending::Admitted => visitor(about.expectation(id::admitted(*index)), Site::Admitted(verb)),
            Ending::Settle(settle, bounds) => {
                let base = id::settle(*index, Some(position));
                for subject in &mut settle.subjects {
                    let name = id::subject(&base, &label(&subject.subject));
                    walk_subject(subject, &name, &about.within(*bounds), visitor);
                }
            }
        }
    }
}

fn walk_subject(subject: &mut SubjectExpectation, base: &str, about: &About, visitor: Visitor<'_>) {
    let about = About { line: subject.place.line, ..about.clone() };
    let object = &subject.subject;
    if subject.standing == Standing::Parents && !matches!(subject.parents, Parents::Selected(_)) {
        visitor(about.expectation(id::part(base, "parents")), Site::Parents(object, &mut subject.parents));
    }
    let own = Conditions { object, holder: Holder::Own };
    own.walk(&mut subject.conditions, base, &about, visitor);
    if let Parents::Selected(selected) = &mut subject.parents {
        for (index, parent) in selected.iter_mut().enumerate() {
            let name = id::parent(base, index);
            let aspect = if parent.absent { "absent" } else { "present" };
            visitor(about.expectation(id::part(&name, aspect)), Site::Parent(object, parent));
            let holder = Holder::Parent(&parent.parent_ref, parent.controller.as_deref());
            let of_parent = Conditions { object, holder };
            of_parent.walk(&mut parent.conditions, &name, &about, visitor);
        }
    }
    for (name, listener) in &mut subject.listeners {
        let conditions = Conditions { object, holder: Holder::Listener(name) };
        walk_listener(&conditions, name, listener, &id::listener(base, name), &about, visitor);
    }
    for field in &mut subject.fields {
        let name = id::field(base, &field.pointer);
        visitor(about.at(field.level).expectation(name), Site::Field(object, field));
    }
}

fn walk_listener(
    conditions: &Conditions<'_>,
    name: &str,
    listener: &mut ListenerExpectation,
    base: &str,
    about: &About,
    visitor: Visitor<'_>,
) {
    let object = conditions.object;
    conditions.walk(&mut listener.conditions, base, about, visitor);
    if let Some(attached) = &mut listener.attached_routes {
        let id = id::part(base, "attachedRoutes");
        visitor(about.expectation(id), Site::AttachedRoutes(object, name, attached));
    }
    if let Some(kinds) = &mut listener.supported_kinds {
        let id = id::part(base, "supportedKinds");
        visitor(about.expectation(id), Site::SupportedKinds(object, name, kinds));
    }
}

/// Where a list of conditions stands.
struct Conditions<'a> {
    object: &'a ObjectRef,
    holder: Holder<'a>,
}

impl Conditions<'_> {
    fn walk(
        &self,
        conditions: &mut IndexMap<String, ConditionExpectation>,
        base: &str,
        about: &About,
        visitor: Visitor<'_>,
    ) {
        for (kind, condition) in conditions {
            let name = id::part(base, kind);
            let mut about = about.within(condition.bounds);
            about.clauses.extend(condition.proves.iter().cloned());
            let reason_level = condition.reason_level.unwrap_or(condition.level);
            let message_level = condition.message.as_ref().map_or(Level::Should, |m| m.level);
            let mut aspects = Vec::new();
            if condition.absent {
                aspects.push((Aspect::Absent, condition.level));
            } else {
                if !condition.status.is_empty() {
                    aspects.push((Aspect::Status, condition.level));
                }
                if !condition.reason.is_empty() || !condition.other_than.is_empty() {
                    aspects.push((Aspect::Reason, reason_level));
                }
                if aspects.is_empty() && !condition.optional {
                    aspects.push((Aspect::Present, condition.level));
                }
                let fields = condition.fields.keys().cloned().map(Aspect::Field);
                let below = condition.below.keys().cloned().map(Aspect::Below);
                aspects.extend(fields.chain(below).map(|aspect| (aspect, condition.level)));
                if condition.message.is_some() {
                    aspects.push((Aspect::Message, message_level));
                }
            }
            for (aspect, level) in aspects {
                let mut expectation = about.at(level).expectation(id::part(&name, &aspect.name()));
                expectation.untouched = condition.status == ["Unknown"];
                visitor(expectation, Site::Condition(self.object, self.holder, kind, condition, aspect));
            }
        }
    }
}

type Abouts<'a> = &'a dyn Fn(&ObjectRef) -> About;

fn walk_hold(hold: &mut Hold, step: usize, abouts: Abouts<'_>, label: Labels<'_>, visitor: Visitor<'_>) {
    let never = hold
        .never
        .iter()
        .enumerate()
        .flat_map(|(index, subject)| {
            let name = id::subject(&id::never(step), &label(&subject.subject));
            let about = About { line: subject.place.line, ..abouts(&subject.subject) };
            let mut sites = subject
                .conditions
                .iter()
                .map(|(kind, condition)| {
                    let about = about.within(condition.bounds).at(condition.level);
                    (index, about, id::part(&name, kind), Some(kind.clone()))
                })
                .collect::<Vec<_>>();
            if sites.is_empty() {
                sites.push((index, about.at(subject.most_binding(|_| true)), name, None));
            }
            sites
        })
        .collect::<Vec<_>>();
    for (index, about, name, kind) in never {
        // A visitor that negates moves the condition to `always`; positions before and after stay as they are.
        visitor(about.expectation(name), Site::Never(hold, index, kind));
    }
    let base = id::always(step);
    for subject in &mut hold.always {
        let name = id::subject(&base, &label(&subject.subject));
        walk_subject(subject, &name, &abouts(&subject.subject), visitor);
    }
    for object in &hold.unchanged {
        let about = abouts(object).at(hold.unchanged_level);
        visitor(about.expectation(id::unchanged(step, &label(object))), Site::Unchanged(object));
    }
}

fn walk_probe(probe: &mut Probe, base: &str, about: &About, visitor: Visitor<'_>) {
    let about = about.at(probe.level);
    match &probe.answer {
        Answer::Http(_) => walk_seen(probe, base, &about, visitor),
        Answer::Shares { .. } => visitor(about.expectation(id::part(base, "shares")), Site::Answer(probe)),
        Answer::TlsBackend { backend, certificate, trusted, alpn, server_name } => {
            let has_backend = backend.is_some();
            let given = [
                ("certificate", certificate.is_some(), SeenPart::Certificate),
                ("trusted", trusted.is_some(), SeenPart::Trusted),
                ("alpn", !alpn.is_empty(), SeenPart::Alpn),
                ("seen.tls", server_name.is_some(), SeenPart::ServerName),
            ];
            if has_backend {
                visitor(about.expectation(base.to_owned()), Site::Answer(probe));
            }
            for (name, _, part) in given.into_iter().filter(|(_, given, _)| *given) {
                visitor(about.expectation(id::part(base, name)), Site::Seen(probe, part));
            }
        }
        Answer::TcpBackend(_) | Answer::TcpRefused | Answer::NoAnswer | Answer::NoCertificate | Answer::CutOff => {
            visitor(about.expectation(base.to_owned()), Site::Answer(probe));
        }
    }
}

fn walk_seen(probe: &mut Probe, base: &str, about: &About, visitor: Visitor<'_>) {
    let Answer::Http(seen) = &probe.answer else { return };
    let ended = if seen.code.is_empty() { ("status", SeenPart::Status) } else { ("code", SeenPart::Code) };
    let mut parts = vec![(ended.0.to_owned(), ended.1, Level::Must)];
    let told = |(name, given, part): (&str, bool, SeenPart)| given.then(|| (name.to_owned(), part, Level::Must));
    parts.extend((!seen.preferred.is_empty()).then(|| ("preferred".to_owned(), SeenPart::Preferred, Level::Should)));
    parts.extend(told(("backend", seen.backend.is_some(), SeenPart::Backend)));
    let named = |prefix: &str, tests: &IndexMap<String, HeaderTest>, make: fn(String) -> SeenPart| {
        tests.keys().map(|n| (format!("{prefix}.{n}"), make(n.clone()), Level::Must)).collect::<Vec<_>>()
    };
    parts.extend(named("headers", &seen.headers, SeenPart::Header));
    parts.extend(named("trailers", &seen.trailers, SeenPart::Trailer));
    let given = [
        ("messages", seen.messages.is_some(), SeenPart::Messages),
        ("body", seen.body.is_some(), SeenPart::Body),
        ("seen.path", seen.seen_path.is_some(), SeenPart::Path),
        ("seen.host", seen.seen_host.is_some(), SeenPart::Host),
        ("seen.proto", seen.seen_proto.is_some(), SeenPart::Proto),
        ("seen.tls", seen.server_name.is_some(), SeenPart::ServerName),
        ("seen.client", seen.client_name.is_some(), SeenPart::ClientName),
        ("seen.messages", seen.seen_messages.is_some(), SeenPart::SeenMessages),
    ];
    let handshake = [
        ("certificate", seen.certificate.is_some(), SeenPart::Certificate),
        ("trusted", seen.trusted.is_some(), SeenPart::Trusted),
        ("alpn", !seen.alpn.is_empty(), SeenPart::Alpn),
    ];
    parts.extend(given.into_iter().filter_map(told));
    parts.extend(named("seen.headers", &seen.seen_headers, SeenPart::SeenHeader));
    parts.extend(handshake.into_iter().filter_map(told));
    for (index, backend) in seen.mirrored_to.iter().enumerate() {
        parts.push((format!("mirrored.{backend}"), SeenPart::Mirrored(index), Level::Must));
    }
    for (index, (message, _)) in seen.replies.iter().enumerate() {
        parts.push((format!("replies.{}", message.word()), SeenPart::Reply(index), Level::Must));
    }
    parts.extend(seen.noted.iter().flat_map(|(backend, noted)| others::noted(backend, noted)));
    for (name, part, level) in parts {
        visitor(about.at(level).expectation(id::part(base, &name)), Site::Seen(probe, part));
    }
}
