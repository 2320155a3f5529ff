//! Whether a target can be tested at all: asked of a named cluster before any scenario. What fails here says nothing about
//! the target's conformance, so it ends the run as inconclusive, with what was seen and what to do.

use std::fmt;
use std::sync::Arc;

use gateproof_report::words::counted;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use super::crowd::Crowd;
use super::permissions::{Need, Permission};
use crate::cluster::api::ApiError;
use crate::cluster::discover::{Acceptance, Bundle, Class, DiscoverError, Facts};
use crate::cluster::pool::{self, Instance};
use crate::cluster::room::Room;
use crate::dialects::{Dialect, Standing};
use crate::judge::Verdict;
use crate::log::{Body, Event, Exchange, ProbeError};
use crate::scenario::Scenario;

/// Its execution's name in the log; no scenario can have it.
pub const PREFLIGHT: &str = "(preflight)";

/// The same of the canary.
pub const CANARY: &str = "(canary)";

/// What is asked, in this order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum Question {
    /// Does the API server answer our questions?
    ApiServer,
    /// Are the CRDs there, and of which release and channel?
    Definitions,
    /// Is the class there, and accepted by a controller?
    Class,
    /// May we do what the scenarios need?
    Permissions,
    /// For how many Pods is there room? Asked where we may know it, and never answered badly.
    Room,
    /// Does the controller serve somebody else? Told where it does, and never answered badly.
    Neighbours,
    /// Do Gateways get addresses?
    Address,
    /// Can we connect to such an address?
    DataPath,
    /// Does a request reach a backend of ours?
    Backend,
    /// Does what the target asks of others reach the services that stand in for them?
    Canary,
}

const QUESTIONS: [Question; 10] = [
    Question::ApiServer,
    Question::Definitions,
    Question::Class,
    Question::Permissions,
    Question::Room,
    Question::Neighbours,
    Question::Address,
    Question::DataPath,
    Question::Backend,
    Question::Canary,
];

impl Question {
    fn text(self) -> &'static str {
        match self {
            Question::ApiServer => "API server",
            Question::Definitions => "definitions",
            Question::Class => "class",
            Question::Permissions => "permissions",
            Question::Room => "room",
            Question::Neighbours => "neighbours",
            Question::Address => "address",
            Question::DataPath => "data path",
            Question::Backend => "backend",
            Question::Canary => "canary",
        }
    }
}

/// How a question was answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum Answer {
    /// All is well.
    Good,
    /// The target cannot be tested.
    Bad,
    /// Not asked, since it has no meaning after what came before, or for what is tested.
    NotAsked,
}

/// A question and its answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Check {
    /// What was asked.
    pub question: Question,
    /// How it was answered.
    pub answer: Answer,
    /// What was seen; empty if nothing was asked.
    pub seen: String,
    /// What to do about a bad answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
}

/// Every question and its answer.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Preflight {
    /// In order. After a bad answer nothing more is asked.
    pub checks: Vec<Check>,
    /// Permissions that are missing, and without which evidence says less.
    #[serde(skip)]
    pub without: Vec<String>,
    /// Whether it is not even known what the target is, so that nothing can be run without these checks either.
    #[serde(skip)]
    pub unknown: bool,
}

impl Preflight {
    /// Whether the target can be tested.
    pub fn is_good(&self) -> bool {
        self.failure().is_none()
    }

    /// The answer because of which the target cannot be tested.
    pub fn failure(&self) -> Option<&Check> {
        self.checks.iter().find(|check| check.answer == Answer::Bad)
    }

    /// What discovery found.
    pub fn of_facts(facts: &Facts) -> Preflight {
        let mut found = Preflight::default();
        found.good(Question::ApiServer, "it answers".to_owned());
        let title = facts.kinds.dialect().title();
        let served = |bundle: &Bundle| format!("{} in the {} channel", bundle.summary(), bundle.channel());
        found.good(Question::Definitions, facts.bundle.as_ref().map_or_else(|| format!("{title} is served"), served));
        let Some(Class { name: class, controller_name: controller, acceptance, .. }) = &facts.class else {
            return found;
        };
        match acceptance {
            Acceptance::Accepted => found.good(Question::Class, format!("`{class}` is accepted by {controller}")),
            Acceptance::Unasked => found.good(Question::Class, format!("`{class}` is of {controller}")),
            Acceptance::Refused(says) => found.bad(
                Question::Class,
                format!("`{class}` is not accepted by {controller}: {says}"),
                "mend what the controller complains of, or name another class with --gateway-class".to_owned(),
            ),
            Acceptance::Silent => found.bad(
                Question::Class,
                format!("nobody has accepted `{class}`: no controller answers for `{controller}`"),
                "start the controller, or see in its log why it leaves the class alone; spec.controllerName of the class must be \
                 the controller's own"
                    .to_owned(),
            ),
        }
        found
    }

    /// What discovery ended with.
    pub fn of_error(error: &DiscoverError) -> Preflight {
        let permit = "`gateproof rbac` prints the role that is needed";
        let (question, next) = match error {
            DiscoverError::Discovery(_) => (Question::ApiServer, permit),
            DiscoverError::NotServed { title, .. } => {
                (Question::Definitions, &*format!("install the {title} CRDs, such as those of a release"))
            }
            DiscoverError::Crd { .. } => (Question::Definitions, permit),
            DiscoverError::Bundle { .. } => (
                Question::Definitions,
                "install the CRDs of a release, or say which they are with --gateway-api-version and --gateway-api-channel",
            ),
            DiscoverError::ClassMissing { .. } => {
                (Question::Class, "name one that is there with --gateway-class, or create it")
            }
            DiscoverError::ForeignClass { .. } => {
                (Question::Class, "name a class of the same controller with --single-gateway-class")
            }
            DiscoverError::Class { .. } => (Question::Class, permit),
        };
        let mut found = Preflight { unknown: true, ..Preflight::default() };
        for before in QUESTIONS.into_iter().take_while(|before| *before != question) {
            found.good(before, String::new());
        }
        found.bad(question, error.to_string(), next.to_owned());
        found
    }

    /// Which of so many permissions are missing.
    pub fn permissions(&mut self, asked: usize, missing: Result<Vec<Permission>, ApiError>) {
        let missing = match missing {
            Ok(missing) => missing,
            // Whoever cannot be asked may permit it all the same.
            Err(error) => {
                return self.not_asked(Question::Permissions, &format!("the API server reviews none: {error}"));
            }
        };
        let words = |need: Need| -> Vec<String> {
            missing.iter().filter(|permission| permission.need == need).map(ToString::to_string).collect()
        };
        let (needed, helpful) = (words(Need::Run), words(Need::Help));
        if needed.is_empty() {
            let without = if helpful.is_empty() { String::new() } else { format!("; without {}", helpful.join(", ")) };
            self.without = helpful;
            return self.good(Question::Permissions, format!("{} verbs{without}", asked - missing.len()));
        }
        self.bad(
            Question::Permissions,
            format!("the API server does not permit us to {}", needed.join(", ")),
            "grant what is missing; `gateproof rbac` prints the whole role".to_owned(),
        );
    }

    /// For how many Pods there is room, beside how many a run may have there at once with so many jobs.
    pub fn room(&mut self, room: Room, crowd: &Crowd, jobs: usize) {
        let Room { fit, taken, .. } = room;
        let (left, nodes) = (room.left(), counted(room.nodes, "node", "nodes"));
        let mut seen = format!("for {} more on {nodes}: {taken} of {fit} are there", counted(left, "Pod", "Pods"));
        let most = crowd.most(jobs);
        if left < most {
            seen += &format!("; where each Gateway costs a Pod, this run may have {most} at once");
            seen += &match crowd.slots(left, jobs) {
                Some(keeps) => format!(": --jobs {keeps} keeps to that"),
                None => format!(", and {} even with --jobs 1", crowd.most(1)),
            };
        }
        self.good(Question::Room, seen);
    }

    /// Nodes and Pods may be listed, and cannot be: a run needs neither.
    pub fn room_unread(&mut self, error: &ApiError) {
        self.not_asked(Question::Room, &format!("nodes or Pods cannot be read: {error}"));
    }

    /// How many of others the controller serves, beside those of runs.
    pub fn neighbours(&mut self, count: usize, dialect: &Dialect) {
        let served = "served by this controller, too: where a scenario brings it down,";
        let seen = match count {
            0 => return,
            1 => format!("1 {} of somebody else is {served} it goes with it", dialect.entry_in_words()),
            _ => format!("{count} {} of others are {served} they go with it", dialect.entries_in_words()),
        };
        self.good(Question::Neighbours, seen);
    }

    /// Whether Gateways of the pool are programmed and have addresses. `live` are the pool's Gateways as they were last seen.
    pub fn addresses(&mut self, instances: &[Instance], live: &[Option<Arc<Value>>], dialect: &Dialect) {
        let programmed = |gateway: &&Option<Arc<Value>>| {
            gateway.as_deref().is_some_and(|gateway| pool::is_programmed(dialect, gateway))
        };
        let ready = live.iter().filter(programmed).count();
        if instances.is_empty() {
            let one = dialect.entry_in_words();
            return self.not_asked(Question::Address, &format!("no scenario needs a {one} of the pool"));
        }
        if ready > 0 {
            let mut addresses: Vec<&str> = instances.iter().flat_map(|i| &i.addresses).map(String::as_str).collect();
            addresses.sort_unstable();
            addresses.dedup();
            let (all, addresses) = (instances.len(), addresses.join(", "));
            let (several, says) = (dialect.entries_in_words(), dialect.ready());
            return self.good(Question::Address, format!("{ready} of {all} {several} say {says}=True, at {addresses}"));
        }
        let first = live.iter().flatten().next().map_or_else(|| "it was not seen".to_owned(), |g| told(g));
        self.bad(
            Question::Address,
            format!(
                "no {} says {}=True and has an address; of {} the target says: {first}",
                dialect.entry_in_words(),
                dialect.ready(),
                instances[0].name
            ),
            "see the controller's log; what is served by a Service of type LoadBalancer needs one in the cluster; --gateway-patch adds \
             what the target needs, --ports names the ports that it permits, --timeout-scale waits longer"
                .to_owned(),
        );
    }

    /// What came of a request through a Gateway of the pool, and what to do if no connection came about, or no backend
    /// was reached.
    pub fn request(
        &mut self,
        verdict: &Verdict,
        events: &[Arc<Event>],
        dialect: &Dialect,
        [connect, backend]: [&str; 2],
    ) {
        let last = events.iter().rev().find_map(|event| match &event.body {
            Body::Probed { exchange, .. } => Some(&**exchange),
            _ => None,
        });
        let place = last.map(way).unwrap_or_default();
        let unreached = last.and_then(|exchange| exchange.error.as_ref()).and_then(unreached);
        if verdict.outcome == gateproof_report::record::Outcome::Passed {
            self.good(Question::DataPath, place);
            return self.good(Question::Backend, "it answers".to_owned());
        }
        // A data path that answers at times can be tested, and that it does not always is for the scenarios to say.
        if let Some(probe) = verdict.probes.last() {
            let agreed = probe.n - probe.converging - probe.staying;
            if agreed > 0 {
                self.good(Question::DataPath, place);
                return self.good(Question::Backend, format!("it answers {agreed} of {} requests", probe.n));
            }
        }
        if let Some(why) = unreached {
            return self.bad(Question::DataPath, format!("no connection to {place}: {why}"), connect.to_owned());
        }
        if let Some(exchange) = last {
            self.good(Question::DataPath, place);
            let told = events.iter().rev().find_map(|event| match &event.body {
                Body::Observed { key, object, .. } if dialect.standing(&key.kind) == Standing::Parents => {
                    Some((key.kind.as_str(), told_of_parents(object)))
                }
                _ => None,
            });
            let (kind, says) = told.unwrap_or_else(|| ("route", "it was not seen".to_owned()));
            return self.bad(
                Question::Backend,
                format!(
                    "a request got {} instead of our backend; of the {kind} the target says: {says}",
                    got(exchange)
                ),
                backend.to_owned(),
            );
        }
        let reason = verdict.reason.clone().or_else(|| verdict.findings.first().map(|f| f.seen.clone()));
        self.bad(
            Question::DataPath,
            format!("no request could be made: {}", reason.unwrap_or_default()),
            "see the controller's log; GATEPROOF_LOG=debug shows more".to_owned(),
        );
    }

    /// Notes that there is no request to be made.
    pub fn no_request(&mut self, dialect: &Dialect) {
        let why = format!("no scenario shares a {} by which it could be asked", dialect.entry_in_words());
        self.not_asked(Question::DataPath, &why);
        self.not_asked(Question::Backend, "");
    }

    /// Whether the canary arrived where it has to.
    pub fn canary(&mut self, canary: &Scenario, verdict: &Verdict) {
        let services = canary.services().join(", ");
        let services = if services.is_empty() { "what it has to reach".to_owned() } else { services };
        if verdict.outcome == gateproof_report::record::Outcome::Passed {
            return self.good(Question::Canary, format!("what the target asks for reaches {services}"));
        }
        let seen = verdict.findings.first().map(|finding| finding.seen.clone());
        let why = verdict.reason.clone().or(seen).unwrap_or_default();
        self.bad(
            Question::Canary,
            format!("what the target asks for does not reach {services}: {why}"),
            format!(
                "let the target speak with {services} and with nothing that is real; until then nothing more is applied to it, whatever the \
                 options"
            ),
        );
    }

    /// The canary cannot be told from what is real: nobody says where these services are.
    pub fn without_services(&mut self, missing: &[&str]) {
        let options: Vec<String> = missing.iter().map(|name| format!("--service {name}=URL")).collect();
        let missing = missing.join(", ");
        self.bad(
            Question::Canary,
            format!("nothing says where {missing} is, so what is applied might be made for real"),
            format!("name it with {}; nothing was applied", options.join(" ")),
        );
    }

    fn good(&mut self, question: Question, seen: String) {
        self.checks.push(Check { question, answer: Answer::Good, seen, next: None });
    }

    fn bad(&mut self, question: Question, seen: String, next: String) {
        self.checks.push(Check { question, answer: Answer::Bad, seen, next: Some(next) });
    }

    fn not_asked(&mut self, question: Question, why: &str) {
        self.checks.push(Check { question, answer: Answer::NotAsked, seen: why.to_owned(), next: None });
    }
}

/// One screen: a line a question.
impl fmt::Display for Preflight {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for question in QUESTIONS {
            let check = self.checks.iter().find(|check| check.question == question);
            // Most dialects have no canary, most roles let nobody look at nodes, and on a cluster of one's own
            // there is nobody else.
            if matches!(question, Question::Canary | Question::Room | Question::Neighbours) && check.is_none() {
                continue;
            }
            let (mark, seen) = match check {
                Some(Check { answer: Answer::Good, seen, .. }) => ("✓", seen.as_str()),
                Some(Check { answer: Answer::Bad, seen, .. }) => ("✗", seen.as_str()),
                Some(Check { answer: Answer::NotAsked, seen, .. }) => ("·", seen.as_str()),
                None => ("·", "not asked"),
            };
            writeln!(f, "{}", format!("  {mark} {:<12} {seen}", question.text()).trim_end())?;
        }
        Ok(())
    }
}

/// Why a connection did not come about; `None` if one did.
fn unreached(error: &ProbeError) -> Option<String> {
    match error {
        ProbeError::Unreachable(why) | ProbeError::Hindered(why) => Some(why.clone()),
        ProbeError::NoRoute { to, why } => Some(format!("{to}: {why}")),
        ProbeError::ConnectRefused(why) => Some(format!("refused: {why}")),
        ProbeError::ConnectTimedOut => Some("nobody answered in time".to_owned()),
        ProbeError::Handshake(_) | ProbeError::Broken(_) | ProbeError::Malformed(_) | ProbeError::TimedOut => None,
    }
}

fn way(exchange: &Exchange) -> String {
    let asked = match &exchange.request {
        crate::log::ProbeRequest::Http(request) => format!("{}:{}", request.host, request.port),
        crate::log::ProbeRequest::Tcp { host, port, .. } | crate::log::ProbeRequest::Udp { host, port, .. } => {
            format!("{host}:{port}")
        }
    };
    match exchange.connected_to {
        Some(address) if address.to_string() != asked => format!("{asked} by way of {address}"),
        _ => asked,
    }
}

fn got(exchange: &Exchange) -> String {
    match (&exchange.http, &exchange.error) {
        (Some(answer), _) => format!("code {}", answer.status),
        (None, Some(ProbeError::TimedOut)) => "no answer in time".to_owned(),
        (None, Some(ProbeError::Broken(why) | ProbeError::Handshake(why))) => format!("a broken connection ({why})"),
        (None, Some(ProbeError::Malformed(why))) => format!("what is no answer ({why})"),
        (None, _) => "nothing".to_owned(),
    }
}

/// The conditions of an object's status, in words.
fn told(object: &Value) -> String {
    conditions(object.pointer("/status/conditions"))
}

fn told_of_parents(route: &Value) -> String {
    let parents = route.pointer("/status/parents").and_then(Value::as_array);
    let all: Vec<String> = parents.into_iter().flatten().map(|parent| conditions(parent.get("conditions"))).collect();
    if all.is_empty() { "nothing".to_owned() } else { all.join("; ") }
}

fn conditions(list: Option<&Value>) -> String {
    let text =
        |condition: &Value, field: &str| condition.get(field).and_then(Value::as_str).unwrap_or_default().to_owned();
    let all: Vec<String> = list
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .map(|c| {
            format!("{}={}/{} (\"{}\")", text(c, "type"), text(c, "status"), text(c, "reason"), text(c, "message"))
        })
        .collect();
    if all.is_empty() { "nothing".to_owned() } else { all.join(", ") }
}

#[cfg(test)]
#[path = "preflight_tests.rs"]
mod tests;
