//! Plays a scripted target against a judge: time is a number, nothing waits.

use std::collections::BTreeSet;
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use indexmap::IndexMap;
use serde_json::{Value, json};

use crate::judge::contract::{Contract, GATEWAY_API};
use crate::judge::{Action, Checkpoints, Context, Judge, Next, Verdict, WriteTarget};
use crate::log::{
    BackendBinding, Bindings, Body, Carrier, Change, EchoText, Elapsed, Ended, Event, Exchange, GatewayBinding,
    HttpAnswer, JournalEntry, ObjectKey, PeerCertificate, ProbeError, ProbeRequest, Received, Scope, ServiceRequest,
    Sight, TcpEnd, Timing, TimingProfile, Write, WriteOutcome, WriteVerb,
};
use crate::scenario::{
    Answer, ApiVersion, Apply, Basis, Bounds, Channel, ConditionExpectation, Delete, Isolation, ObjectRef, Parents,
    Place, Probe, ProbeTarget, Scenario, Seen, Settle, Step, SubjectExpectation, Verb,
};

pub(super) const CONTROLLER: &str = "example.test/controller";
pub(super) const NS: &str = "ns-1";

/// Reading it takes longer than most tests do.
pub(super) fn contract() -> Arc<Contract> {
    static CONTRACT: LazyLock<Arc<Contract>> = LazyLock::new(|| Arc::new(Contract::parse(GATEWAY_API).unwrap()));
    CONTRACT.clone()
}

pub(super) fn context() -> Context {
    Context {
        timing: Timing::of(TimingProfile::Embedded),
        contract: contract(),
        basis: Basis::release("v1.6.1".parse().unwrap(), Channel::Standard),
        controller_name: CONTROLLER.to_owned(),
        slowest_settle: Duration::ZERO,
        max_probes: 4000,
    }
}

pub(super) fn bindings() -> Bindings {
    let backend = |name: &str| BackendBinding {
        namespace: NS.to_owned(),
        service: name.to_owned(),
        identity: format!("{name}-pod"),
    };
    Bindings {
        scenario: "test".to_owned(),
        run_id: "run".to_owned(),
        token: "tok".to_owned(),
        namespaces: IndexMap::from([("ns".to_owned(), NS.to_owned())]),
        gateways: IndexMap::from([(
            "gw".to_owned(),
            GatewayBinding { namespace: "pool".to_owned(), name: "gw-http".to_owned(), shape: "http".to_owned() },
        )]),
        backends: ["echo", "other"].into_iter().map(|name| (name.to_owned(), backend(name))).collect(),
        gateway_class: Some("class".to_owned()),
        controller_name: Some(CONTROLLER.to_owned()),
        ..Bindings::default()
    }
}

pub(super) fn scenario(verbs: Vec<Verb>) -> Scenario {
    let steps = verbs.into_iter().enumerate().map(|(index, verb)| step(index, verb)).collect();
    Scenario {
        name: "test".to_owned(),
        suite: "gateway-api".to_owned(),
        dialect: crate::dialects::Dialect::gateway_api(),
        file: "test.yaml".to_owned(),
        summary: String::new(),
        features: Vec::new(),
        without: Vec::new(),
        bounds: Bounds::default(),
        isolation: Isolation::Shared,
        namespaces: IndexMap::new(),
        gateways: IndexMap::from([("gw".to_owned(), "http".to_owned())]),
        backends: Vec::new(),
        made: Vec::new(),
        steps,
        digest: String::new(),
        labels: IndexMap::from([
            (object("HTTPRoute", "route"), "HTTPRoute/route".into()),
            (object("Gateway", "own"), "Gateway/own".into()),
            (gateway_ref(), "${gw}".into()),
        ]),
    }
}

pub(super) fn step(index: usize, verb: Verb) -> Step {
    Step {
        index,
        verb,
        either: Vec::new(),
        within: None,
        bounds: Bounds::default(),
        proves: vec![format!("CLAUSE-{index}").into()],
        place: Place { line: 10 + index, column: 1 },
    }
}

pub(super) fn object(kind: &str, name: &str) -> ObjectRef {
    ObjectRef { kind: kind.to_owned(), namespace: Some(NS.to_owned()), name: name.to_owned(), pool: false }
}

pub(super) fn gateway_ref() -> ObjectRef {
    ObjectRef { kind: "Gateway".to_owned(), namespace: Some("pool".to_owned()), name: "gw-http".to_owned(), pool: true }
}

/// The route that tests apply, with as many parentRefs as sections.
pub(super) fn route(sections: &[&str]) -> Value {
    let parents: Vec<Value> = sections
        .iter()
        .map(|section| json!({"name": "gw-http", "namespace": "pool", "sectionName": section}))
        .collect();
    json!({
        "apiVersion": "gateway.networking.k8s.io/v1", "kind": "HTTPRoute",
        "metadata": {"name": "route", "namespace": NS},
        "spec": {"parentRefs": parents},
    })
}

/// A version of the route: `entries` are section, and conditions as `Type=Status/Reason`.
pub(super) fn route_version(generation: i64, sections: &[&str], entries: &[(&str, &[&str])]) -> Value {
    let mut version = route(sections);
    let parents: Vec<Value> = entries
        .iter()
        .map(|(section, conditions)| {
            json!({
                "parentRef": {"group": "gateway.networking.k8s.io", "kind": "Gateway", "name": "gw-http",
                    "namespace": "pool", "sectionName": section},
                "controllerName": CONTROLLER,
                "conditions": conditions.iter().map(|c| condition(c, generation)).collect::<Vec<_>>(),
            })
        })
        .collect();
    version["metadata"]["uid"] = json!("uid-route");
    version["metadata"]["generation"] = json!(generation);
    version["status"] = json!({"parents": parents});
    version
}

/// `Type=Status/Reason`, with `@N` for an observedGeneration of its own.
pub(super) fn condition(text: &str, generation: i64) -> Value {
    let (text, generation) = match text.split_once('@') {
        Some((text, own)) => (text, own.parse().unwrap()),
        None => (text, generation),
    };
    let (type_, rest) = text.split_once('=').unwrap();
    let (status, reason) = rest.split_once('/').unwrap();
    json!({"type": type_, "status": status, "reason": reason, "message": format!("{reason} it is"),
        "observedGeneration": generation, "lastTransitionTime": "2026-01-01T00:00:00Z"})
}

pub(super) const GOOD: &[&str] = &["Accepted=True/Accepted", "ResolvedRefs=True/ResolvedRefs"];

pub(super) fn pool_gateway() -> Value {
    json!({
        "apiVersion": "gateway.networking.k8s.io/v1", "kind": "Gateway",
        "metadata": {"name": "gw-http", "namespace": "pool", "uid": "uid-gw", "generation": 1},
        "spec": {"listeners": [{"name": "http", "port": 80, "protocol": "HTTP"},
            {"name": "tcp", "port": 9000, "protocol": "TCP"}]},
        "status": {
            "addresses": [{"type": "example.test/odd", "value": "x"}, {"type": "IPAddress", "value": "10.0.0.1"}],
            "conditions": [condition("Accepted=True/Accepted", 1), condition("Programmed=True/Programmed", 1)],
        },
    })
}

pub(super) fn expect(text: &str) -> (String, ConditionExpectation) {
    let (type_, rest) = text.split_once('=').unwrap();
    let (status, reason) = rest.split_once('/').map_or((rest, None), |(s, r)| (s, Some(r)));
    let expectation = ConditionExpectation {
        status: vec![status.to_owned()],
        reason: reason.into_iter().map(str::to_owned).collect(),
        ..ConditionExpectation::default()
    };
    (type_.to_owned(), expectation)
}

pub(super) fn subject(object: ObjectRef, conditions: &[&str]) -> SubjectExpectation {
    SubjectExpectation {
        standing: crate::dialects::Dialect::gateway_api().standing(&object.kind),
        subject: object,
        conditions: conditions.iter().map(|c| expect(c)).collect(),
        parents: Parents::Every,
        listeners: IndexMap::new(),
        fields: Vec::new(),
        place: Place { line: 5, column: 1 },
    }
}

pub(super) fn route_subject(conditions: &[&str]) -> SubjectExpectation {
    subject(object("HTTPRoute", "route"), conditions)
}

pub(super) fn apply(objects: Vec<Value>) -> Verb {
    Verb::Apply(Apply { objects, at: ApiVersion::Newest })
}

pub(super) fn settle(subjects: Vec<SubjectExpectation>) -> Verb {
    Verb::Settle(Settle { subjects, ..Settle::default() })
}

pub(super) fn delete(objects: Vec<ObjectRef>) -> Verb {
    Verb::Delete(Delete { objects, awaited: true })
}

pub(super) fn asks(probe: Probe) -> Verb {
    Verb::Probe(Box::new(probe))
}

pub(super) fn get(answer: Answer) -> Probe {
    let tcp = matches!(answer, Answer::TcpBackend(_) | Answer::TcpRefused);
    Probe {
        grpc: false,
        http2: false,
        absolute: false,
        host_header: false,
        target: ProbeTarget { gateway: gateway_ref(), listener: None, of: None },
        method: (!tcp).then(|| "GET".to_owned()),
        path: "/".to_owned(),
        listens: false,
        half_close: false,
        idle: None,
        alpn: Vec::new(),
        without: Vec::new(),
        tls_version: None,
        session: None,
        in_two: false,
        two_records: false,
        datagrams: false,
        flows: None,
        empty: false,
        host: (!tcp).then(|| "a.test".to_owned()),
        tls: false,
        headers: IndexMap::new(),
        trailers: IndexMap::new(),
        body: String::new(),
        sends: Vec::new(),
        among: Vec::new(),
        answer,
        over: None,
        client: None,
        messages: None,
        contrast: true,
        unprogrammed: false,
        once: false,
        each: 1,
        level: crate::scenario::Level::Must,
    }
}

pub(super) fn status(codes: &[u16]) -> Answer {
    Answer::Http(Box::new(Seen { status: codes.to_vec(), ..Seen::default() }))
}

pub(super) fn backend(name: &str) -> Answer {
    Answer::Http(Box::new(Seen { status: vec![200], backend: Some(name.to_owned()), ..Seen::default() }))
}

/// What a scripted target sends back.
#[derive(Debug, Clone)]
pub(super) enum Back {
    Status(u16),
    Moved(&'static str),
    Echo(&'static str),
    Presented(&'static str, &'static str),
    /// The same, of whom the client trusts nobody.
    Distrusted(&'static str, &'static str),
    /// An echo of this Pod to a client that was not asked for its certificate.
    Unasked(&'static str),
    TurnedAway(&'static str),
    /// An answer of this backend behind a handshake that agreed on this protocol.
    Agreed(&'static str, &'static str),
    /// A line likewise.
    AgreedLine(&'static str, &'static str),
    Line(&'static str),
    Tcp(TcpEnd),
    Error(ProbeError),
    /// An error after some bytes, and after the head of an answer if there is a status.
    Cut(ProbeError, Option<u16>),
}

type OnWrite = Box<dyn FnMut(usize, &WriteTarget) -> (WriteOutcome, Vec<(u64, Body)>)>;
type OnProbe = Box<dyn FnMut(Elapsed, &str, &ProbeRequest) -> Back>;
type OnJournal = Box<dyn FnMut(Elapsed, u32, &[String]) -> Vec<JournalEntry>>;

/// A scripted target and the log of what came of it.
pub(super) struct Play {
    judge: Judge,
    pub(super) log: Vec<Event>,
    now: Elapsed,
    later: Vec<(Elapsed, Scope, Body)>,
    pub(super) on_write: OnWrite,
    pub(super) on_probe: OnProbe,
    pub(super) on_journal: OnJournal,
    journals: u32,
    foreign: bool,
    /// Versions that no watch shows, from some time on.
    pub(super) hidden: Vec<(Elapsed, Value)>,
    pub(super) renewals: u32,
    pub(super) quiesced: u32,
    /// Whether the run cannot be kept from writing.
    pub(super) restless: bool,
    /// How long it takes until a probe is answered.
    pub(super) answers_after: Duration,
    /// How late the harness may wake up, with something that comes before it does.
    pub(super) oversleeps: Duration,
    pub(super) unreadable: bool,
    /// From when on it waited for nothing but that a wrong status changes.
    pub(super) lingers: BTreeSet<Elapsed>,
    pub(super) requests: Vec<ProbeRequest>,
    /// What a service beside the target gets, and when, in order.
    pub(super) served: Vec<(Elapsed, ServiceRequest)>,
    /// What a target made, from when on and until when.
    pub(super) made: Vec<(Elapsed, Elapsed, Carrier)>,
    /// From when on the service does not answer.
    pub(super) silent_from: Option<Elapsed>,
    /// Key and rules of each script that it got.
    pub(super) scripts: Vec<(String, Vec<Value>)>,
}

impl Play {
    pub(super) fn new(scenario: Scenario) -> Play {
        Play::under(scenario, context())
    }

    pub(super) fn under(scenario: Scenario, context: Context) -> Play {
        let mut play = Play {
            judge: Judge::new(Arc::new(scenario), context),
            log: Vec::new(),
            now: Elapsed(0),
            later: Vec::new(),
            on_write: Box::new(|_, _| (admitted(1), Vec::new())),
            on_probe: Box::new(|_, _, _| Back::Echo("echo-pod")),
            on_journal: Box::new(|_, _, _| Vec::new()),
            journals: 0,
            foreign: false,
            hidden: Vec::new(),
            renewals: 0,
            quiesced: 0,
            restless: false,
            answers_after: Duration::from_millis(1),
            oversleeps: Duration::ZERO,
            unreadable: false,
            lingers: BTreeSet::new(),
            requests: Vec::new(),
            served: Vec::new(),
            made: Vec::new(),
            silent_from: None,
            scripts: Vec::new(),
        };
        play.push(Scope::Pool("http".into()), seen(Change::Added, &pool_gateway()));
        play
    }

    /// The Gateway of the pool has a listener of this protocol besides.
    pub(super) fn listen(&mut self, protocol: &str) {
        let mut gateway = pool_gateway();
        let listeners = gateway["spec"]["listeners"].as_array_mut().unwrap();
        listeners.push(json!({"name": "more", "port": 443, "protocol": protocol}));
        self.push(Scope::Pool("http".into()), seen(Change::Modified, &gateway));
    }

    /// Something that happens at a time, in milliseconds.
    pub(super) fn at(mut self, millis: u64, body: Body) -> Play {
        self.later.push((Elapsed(millis * 1000), Scope::Scenario("test".into()), body));
        self
    }

    /// Something about the whole run that happens at a time.
    pub(super) fn run_at(self, millis: u64, body: Body) -> Play {
        self.in_scope(millis, Scope::Run, body)
    }

    /// Something that happens at a time, to whomever.
    pub(super) fn in_scope(mut self, millis: u64, scope: Scope, body: Body) -> Play {
        self.later.push((Elapsed(millis * 1000), scope, body));
        self
    }

    pub(super) fn writes(
        mut self,
        on_write: impl FnMut(usize, &WriteTarget) -> (WriteOutcome, Vec<(u64, Body)>) + 'static,
    ) -> Play {
        self.on_write = Box::new(on_write);
        self
    }

    pub(super) fn probes(mut self, on_probe: impl FnMut(Elapsed, &str, &ProbeRequest) -> Back + 'static) -> Play {
        self.on_probe = Box::new(on_probe);
        self
    }

    pub(super) fn push(&mut self, scope: Scope, body: Body) {
        let event = Event { seq: self.log.len() as u64, at: self.now, scope, body };
        self.judge.observe(&event);
        self.log.push(event);
    }

    /// The harness has written something for its own ends.
    pub(super) fn made(&mut self, body: Body) {
        self.push(Scope::Pool("http".into()), body);
    }

    /// The run writes a pool Gateway once the scenario has started, under the very step and ordinal of its first write.
    pub(super) fn pool_write(&mut self) {
        self.foreign = true;
    }

    fn own(&mut self, body: Body) {
        self.push(Scope::Scenario("test".into()), body);
    }

    /// Plays to the end.
    pub(super) fn run(&mut self) -> Verdict {
        self.own(Body::ScenarioStarted(Box::new(bindings())));
        if self.foreign {
            let write = Write {
                step: 0,
                ordinal: 0,
                verb: WriteVerb::Apply,
                key: key_of(&gateway_ref()),
                api_version: "gateway.networking.k8s.io/v1".to_owned(),
                sent: None,
                outcome: WriteOutcome::Failed { error: "pool".to_owned() },
            };
            self.push(Scope::Pool("http".into()), Body::Wrote(Box::new(write)));
        }
        for _ in 0..100_000 {
            match self.judge.next(self.now) {
                Next::Finished => {
                    self.own(Body::ScenarioEnded(Ended::Completed));
                    return self.judge.verdict();
                }
                Next::Perform(actions) => actions.into_iter().for_each(|action| self.perform(action)),
                Next::Wait { until } => self.wait(until),
            }
        }
        panic!("the scenario does not come to an end");
    }

    /// What a read finds: what is hidden from the watch by then, or what it has shown last.
    fn on_look(&self, object: &ObjectRef) -> Sight {
        let key = key_of(object);
        let is_due = |(at, _): &&(Elapsed, Value)| *at <= self.now;
        let mut hidden =
            self.hidden.iter().filter(is_due).filter(|(_, hidden)| ObjectKey::of(hidden) == Some(key.clone()));
        let shown = self.log.iter().rev().find_map(|event| match &event.body {
            Body::Observed { key: of, change, object } if *of == key => Some((*change, Arc::clone(object))),
            _ => None,
        });
        let shown = shown.filter(|(change, _)| *change != Change::Deleted).map(|(_, object)| object);
        let hidden = hidden.next_back().map(|(_, hidden)| Arc::new(hidden.clone()));
        Sight { key, object: hidden.or(shown) }
    }

    fn wait(&mut self, until: Option<Elapsed>) {
        self.lingers.extend(self.judge.lingers());
        self.later.sort_by_key(|(at, ..)| *at);
        let first = self.later.first().map(|(at, ..)| *at);
        match (first, until) {
            (Some(at), until) if until.is_none_or(|until| at <= until + self.oversleeps) => {
                let (at, scope, body) = self.later.remove(0);
                self.now = self.now.max(at);
                self.push(scope, body);
            }
            (_, Some(until)) => {
                self.now = self.now.max(until);
                self.own(Body::Tick);
            }
            (_, None) => panic!("it waits for ever"),
        }
    }

    /// One millisecond passes with each answer, and what is due by then comes first.
    fn advance(&mut self, to: Elapsed) {
        self.later.sort_by_key(|(at, ..)| *at);
        while self.later.first().is_some_and(|(at, ..)| *at <= to) {
            let (at, scope, body) = self.later.remove(0);
            self.now = self.now.max(at);
            self.push(scope, body);
        }
        self.now = self.now.max(to);
    }

    fn perform(&mut self, action: Action) {
        let ms = Duration::from_millis(1);
        match action {
            Action::Write { step, ordinal, verb, target } => {
                self.advance(self.now + ms);
                let (outcome, later) = (self.on_write)(step, &target);
                let (key, sent) = match &target {
                    WriteTarget::Object { object, .. } => {
                        (ObjectKey::of(object).unwrap(), Some(Arc::new(object.clone())))
                    }
                    WriteTarget::Patch { target, patch, .. } => (key_of(target), Some(Arc::new(patch.clone()))),
                    WriteTarget::Delete(target) => (key_of(target), None),
                };
                for (delay, body) in later {
                    self.later.push((self.now + Duration::from_millis(delay), Scope::Scenario("test".into()), body));
                }
                let api_version = "gateway.networking.k8s.io/v1".to_owned();
                self.own(Body::Wrote(Box::new(Write { step, ordinal, verb, key, api_version, sent, outcome })));
            }
            Action::Probe { step, attempt, role, id, request, not_before } => {
                self.lingers.extend(self.judge.lingers());
                let started = self.now.max(not_before);
                self.advance(started);
                let back = (self.on_probe)(started, &id, &request);
                self.requests.push(request.clone());
                self.advance(started + self.answers_after);
                let exchange = Box::new(exchange(id, request, started, back));
                self.own(Body::Probed { step, attempt, role, exchange });
            }
            Action::ReadJournal { step, ids } => {
                self.advance(self.now + ms);
                let entries = (self.on_journal)(self.now, self.journals, &ids);
                self.journals += 1;
                self.own(Body::Journal { step, entries });
            }
            Action::Script { step, service, key, rules } => {
                self.advance(self.now + ms);
                self.scripts.push((key.clone(), rules));
                let error = self.silent_from.filter(|at| self.now >= *at).map(|_| "no connection".to_owned());
                self.own(Body::Scripted { step, service, key, error });
            }
            Action::Mark { step, service } => {
                self.advance(self.now + ms);
                let next = 1 + self.served.iter().filter(|(at, _)| *at <= self.now).map(|_| 1).sum::<u64>();
                let error = self.silent_from.filter(|at| self.now >= *at).map(|_| "no connection".to_owned());
                self.own(Body::Marked { step, service, next, error });
            }
            Action::ReadRequests { step, from, expected, not_before } => {
                let asked = self.now.max(not_before);
                self.advance(asked);
                self.advance(asked + ms);
                let there: Vec<ServiceRequest> =
                    self.served.iter().filter(|(at, _)| *at <= asked).map(|(_, request)| request.clone()).collect();
                let next = there.last().map_or(1, |last| last.seq + 1).max(from);
                let requests = there.into_iter().filter(|one| one.seq >= from && expected.fits(one)).collect();
                let error = self.silent_from.filter(|at| self.now >= *at).map(|_| "no connection".to_owned());
                self.own(Body::Requested { step, service: expected.service, asked, requests, next, error });
            }
            Action::ListMade { step, not_before, .. } => {
                let asked = self.now.max(not_before);
                self.advance(asked);
                self.advance(asked + ms);
                let found = self.made.iter().filter(|(from, until, _)| *from <= asked && asked < *until);
                let found = found.map(|(.., carrier)| carrier.clone()).collect();
                let error = self.silent_from.filter(|at| self.now >= *at).map(|_| "no connection".to_owned());
                self.own(Body::Listed { step, asked, found, error });
            }
            Action::Look { step, objects } => {
                self.advance(self.now + ms);
                let found = objects.iter().map(|object| self.on_look(object)).collect();
                let error = self.unreadable.then(|| "403".to_owned());
                self.own(Body::Looked { step, found, error });
            }
            Action::Quiesce { step } => {
                self.advance(self.now + ms);
                self.quiesced += 1;
                let since = (!self.restless).then_some(self.now);
                self.own(Body::Quiesced { step, since });
            }
            Action::Renew { step, objects } => {
                self.advance(self.now + ms);
                let found: Vec<Sight> = objects.iter().map(|object| self.on_look(object)).collect();
                for Sight { key, object } in found {
                    let (resource, kind) = (key.kind.to_lowercase(), key.kind.clone());
                    let (reason, doubted) = ("doubted".to_owned(), true);
                    self.own(Body::Blind {
                        resource: resource.clone(),
                        kind: kind.clone(),
                        reason: reason.clone(),
                        doubted,
                    });
                    self.own(Body::Gap { resource: resource.clone(), reason });
                    if let Some(object) = object {
                        self.own(Body::Observed { key, change: Change::Modified, object });
                    }
                    self.own(Body::Sighted { resource, kind, by: 1000 });
                }
                self.renewals += 1;
                self.own(Body::Renewed { step, error: None });
            }
        }
    }
}

pub(super) fn key_of(object: &ObjectRef) -> ObjectKey {
    let group =
        if object.kind.ends_with("Route") || object.kind == "Gateway" { "gateway.networking.k8s.io" } else { "" };
    ObjectKey {
        group: group.to_owned(),
        kind: object.kind.clone(),
        namespace: object.namespace.clone(),
        name: object.name.clone(),
    }
}

pub(super) fn exchange(id: String, request: ProbeRequest, started: Elapsed, back: Back) -> Exchange {
    let mut exchange = Exchange {
        id,
        request,
        connected_to: None,
        reused: false,
        certificate: None,
        alpn: None,
        tls_version: None,
        resumed: false,
        unasked: false,
        started,
        http: None,
        replies: Vec::new(),
        tcp: None,
        udp: None,
        error: None,
        received: None,
    };
    let headers = vec![("content-type".to_owned(), "application/json".to_owned())];
    match back {
        Back::Status(status) => {
            exchange.http = Some(HttpAnswer { status, headers, ..HttpAnswer::default() });
        }
        Back::Moved(location) => {
            let headers = vec![("location".to_owned(), location.to_owned())];
            exchange.http = Some(HttpAnswer { status: 302, headers, ..HttpAnswer::default() });
        }
        Back::Echo(pod) => {
            let echo = json!({"pod": pod, "path": "/", "host": "a.test", "headers": {"X-A": ["one"]}});
            exchange.http =
                Some(HttpAnswer { status: 200, headers, echo: EchoText::of(&echo), ..HttpAnswer::default() });
        }
        Back::Presented(name, pod) => {
            exchange.certificate = Some(PeerCertificate {
                names: vec!["x.test".to_owned(), name.to_owned()],
                sha256: String::new(),
                distrusted: None,
            });
            let echo = EchoText::of(&json!({"pod": pod}));
            exchange.http = Some(HttpAnswer { status: 200, headers, echo, ..HttpAnswer::default() });
        }
        Back::Distrusted(name, pod) => {
            let distrusted = Some("UnknownIssuer".to_owned());
            exchange.certificate =
                Some(PeerCertificate { names: vec![name.to_owned()], sha256: String::new(), distrusted });
            let echo = EchoText::of(&json!({"pod": pod, "path": "/", "host": "a.test"}));
            exchange.http = Some(HttpAnswer { status: 200, headers, echo, ..HttpAnswer::default() });
        }
        Back::Unasked(pod) => {
            exchange.unasked = true;
            let echo = EchoText::of(&json!({"pod": pod, "path": "/", "host": "a.test"}));
            exchange.http = Some(HttpAnswer { status: 200, headers, echo, ..HttpAnswer::default() });
        }
        Back::TurnedAway(name) => {
            exchange.certificate =
                Some(PeerCertificate { names: vec![name.to_owned()], sha256: String::new(), distrusted: None });
            exchange.http = Some(HttpAnswer { status: 404, headers, ..HttpAnswer::default() });
        }
        Back::Agreed(protocol, pod) => {
            exchange.alpn = Some(protocol.to_owned());
            let echo = EchoText::of(&json!({"pod": pod, "path": "/", "host": "a.test"}));
            exchange.http = Some(HttpAnswer { status: 200, headers, echo, ..HttpAnswer::default() });
        }
        Back::AgreedLine(protocol, pod) => {
            exchange.alpn = Some(protocol.to_owned());
            exchange.tcp = Some(TcpEnd::Answered { line: String::new(), echo: EchoText::of(&json!({"pod": pod})) });
        }
        Back::Line(pod) => {
            exchange.tcp = Some(TcpEnd::Answered { line: String::new(), echo: EchoText::of(&json!({"pod": pod})) });
        }
        Back::Tcp(end) => exchange.tcp = Some(end),
        Back::Error(error) => exchange.error = Some(error),
        Back::Cut(error, status) => {
            exchange.error = Some(error);
            exchange.received = Some(Received { bytes: 20, start: "so much of it".to_owned(), status });
        }
    }
    let is_connected = !matches!(
        exchange.error,
        Some(
            ProbeError::Unreachable(_)
                | ProbeError::Hindered(_)
                | ProbeError::NoRoute { .. }
                | ProbeError::ConnectRefused(_)
                | ProbeError::ConnectTimedOut
        )
    );
    if is_connected {
        exchange.connected_to = Some("10.0.0.1:80".parse().unwrap());
    }
    exchange
}

pub(super) fn admitted(generation: i64) -> WriteOutcome {
    WriteOutcome::Admitted { uid: "uid-route".to_owned(), generation, resource_version: format!("w{generation}") }
}

pub(super) fn seen(change: Change, object: &Value) -> Body {
    Body::Observed { key: ObjectKey::of(object).unwrap(), change, object: Arc::new(object.clone()) }
}

pub(super) fn modified(object: &Value) -> Body {
    seen(Change::Modified, object)
}

/// Feeds a log to a fresh judge; one that begins where that stood by then which it shares comes to the same.
pub(super) fn replay(scenario: Scenario, context: Context, log: &[Event]) -> Verdict {
    let scenario = Arc::new(scenario);
    let mut judge = Judge::new(Arc::clone(&scenario), context.clone());
    log.iter().for_each(|event| judge.observe(event));
    let verdict = judge.verdict();
    let start = log.iter().position(|event| matches!(event.body, Body::ScenarioStarted(_))).unwrap();
    let mut checkpoints = Checkpoints::new(&context.contract, &context.controller_name);
    log[..start].iter().for_each(|event| checkpoints.observe(event));
    let shared = [Scope::Run, Scope::Pool("http".into())];
    let mut judge = Judge::new(scenario, context).behind(&checkpoints.of(&shared));
    log[start..].iter().for_each(|event| judge.observe(event));
    assert_eq!(judge.verdict(), verdict);
    verdict
}
