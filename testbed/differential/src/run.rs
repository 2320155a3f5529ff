//! One sequence on one server.

use std::collections::BTreeMap;
use std::time::Duration;

use futures::StreamExt;
use http::header;
use rand::Rng;
use serde_json::{Map, Value, json};
use tokio::sync::mpsc;

use crate::corpus::{Events, Sequence, Step, Topic, Until};
use crate::normal::{Answers, Normaliser, Recorded};
use crate::path;
use crate::server::{Ask, Raw, Subject, SubjectError};

/// How many sequences run at a time.
const AT_ONCE: usize = 6;
/// How often a request is sent again while something is waited for.
const AGAIN: Duration = Duration::from_millis(25);
/// How long something is waited for.
const PATIENCE: Duration = Duration::from_secs(30);
/// How long an event is waited for.
const EVENT_PATIENCE: Duration = Duration::from_secs(5);
/// The user agent where a step names none; servers take the field manager from it.
const AGENT: &str = "differential/1";

/// Runs topics on a server.
///
/// # Errors
/// [`SubjectError`]: the server cannot be asked.
pub async fn run(subject: &Subject, topics: &[Topic]) -> Result<Recorded, SubjectError> {
    let all = topics.iter().flat_map(|topic| topic.sequences.iter().map(move |sequence| (topic, sequence)));
    let mut running = futures::stream::iter(all)
        .map(|(topic, sequence)| async move { Ok((topic, sequence, run_sequence(subject, sequence).await?)) })
        .buffer_unordered(AT_ONCE);
    let mut recorded = Recorded::new();
    while let Some(done) = running.next().await {
        let (topic, sequence, answers) = done?;
        recorded.entry(topic.name.clone()).or_default().insert(sequence.name.clone(), answers);
    }
    Ok(recorded)
}

/// Runs one sequence on a server.
///
/// # Errors
/// [`SubjectError`]: the server cannot be asked.
pub async fn run_sequence(subject: &Subject, sequence: &Sequence) -> Result<Answers, SubjectError> {
    let mut runner = Runner::new(subject, sequence);
    runner.prepare().await?;
    let mut answers = Vec::new();
    for step in &sequence.steps {
        answers.push(match &step.events {
            Some(events) => runner.events(events).await,
            None => runner.step(step).await?,
        });
    }
    runner.clean_up().await?;
    Ok(runner.normaliser.normalise(answers))
}

struct Runner<'a> {
    subject: &'a Subject,
    names: BTreeMap<String, String>,
    namespaces: Vec<String>,
    watches: BTreeMap<String, mpsc::UnboundedReceiver<Value>>,
    normaliser: Normaliser,
}

impl<'a> Runner<'a> {
    fn new(subject: &'a Subject, sequence: &Sequence) -> Self {
        let text = format!("{:?}", sequence.steps);
        let id = format!("g{:012x}", rand::rng().random::<u64>() & 0xffff_ffff_ffff);
        let mut names = BTreeMap::from([("id".to_owned(), id.clone())]);
        let mut namespaces = Vec::new();
        for name in ["ns", "ns2"] {
            if text.contains(&format!("${{{name}}}")) {
                namespaces.push(format!("{name}-{id}"));
                names.insert(name.to_owned(), format!("{name}-{id}"));
            }
        }
        let normaliser = Normaliser::new(&text, id);
        Self { subject, names, namespaces, watches: BTreeMap::new(), normaliser }
    }

    async fn prepare(&self) -> Result<(), SubjectError> {
        for namespace in &self.namespaces {
            let object = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}});
            self.subject.ask(&ask("POST", "/api/v1/namespaces", &object.to_string())).await?;
        }
        Ok(())
    }

    async fn clean_up(&self) -> Result<(), SubjectError> {
        for namespace in &self.namespaces {
            self.subject.ask(&ask("DELETE", &format!("/api/v1/namespaces/{namespace}"), "")).await?;
        }
        Ok(())
    }

    async fn step(&mut self, step: &Step) -> Result<Value, SubjectError> {
        let ask = self.ask(step);
        if !step.watch.is_empty() {
            return Ok(match self.subject.watch(&ask).await? {
                Ok(events) => {
                    self.watches.insert(step.watch.clone(), events);
                    json!({"code": 200})
                }
                Err(refusal) => answer(&refusal, &step.pick),
            });
        }
        let raw = match &step.until {
            None => self.subject.ask(&ask).await?,
            Some(until) => self.ask_until(&ask, until).await?,
        };
        for (name, at) in &step.save {
            let saved = path::find(&raw.body, at).map(|value| match value {
                Value::String(text) => text.clone(),
                other => other.to_string(),
            });
            self.names.insert(name.clone(), saved.unwrap_or_else(|| format!("nothing-at-{at}")));
        }
        self.normaliser.look_at(&raw.body);
        Ok(answer(&raw, &step.pick))
    }

    async fn ask_until(&self, ask: &Ask, until: &Until) -> Result<Raw, SubjectError> {
        let limit = tokio::time::Instant::now() + PATIENCE;
        let mut beat = tokio::time::interval(AGAIN);
        loop {
            beat.tick().await;
            let raw = self.subject.ask(ask).await?;
            if until.holds(&raw) || tokio::time::Instant::now() > limit {
                return Ok(raw);
            }
        }
    }

    async fn events(&mut self, wanted: &Events) -> Value {
        let Some(watch) = self.watches.get_mut(&wanted.of) else { return json!({"events": "the watch was refused"}) };
        let mut events = Vec::new();
        let mut ended = false;
        while wanted.count.is_none_or(|count| events.len() < count) {
            match tokio::time::timeout(EVENT_PATIENCE, watch.recv()).await {
                Ok(Some(event)) => events.push(event),
                Ok(None) => {
                    ended = true;
                    break;
                }
                Err(_) => break,
            }
        }
        for event in &events {
            self.normaliser.look_at(event);
        }
        let mut answer = json!({"events": events});
        if ended {
            answer["ended"] = true.into();
        }
        answer
    }

    fn ask(&self, step: &Step) -> Ask {
        let request = self.fill(&step.request);
        let (method, uri) = request.split_once(' ').unwrap_or(("GET", &request));
        let media = match step.media.as_str() {
            "" => "application/json",
            "json" => "application/json-patch+json",
            "merge" => "application/merge-patch+json",
            "strategic" => "application/strategic-merge-patch+json",
            "apply" => "application/apply-patch+yaml",
            other => other,
        };
        let accept = match step.accept.as_str() {
            "" => "application/json",
            "table" => "application/json;as=Table;g=meta.k8s.io;v=v1",
            "metadata" => "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1",
            "metadata-list" => "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1",
            other => other,
        };
        let agent = if step.agent.is_empty() { AGENT } else { &step.agent };
        let body = match (&step.body, &step.text) {
            (Some(body), _) => self.fill(&body.to_string()),
            (None, Some(text)) => self.fill(text),
            (None, None) => String::new(),
        };
        let mut ask = ask(method, &escaped(uri), &body);
        ask.headers = vec![(header::ACCEPT, accept.to_owned()), (header::USER_AGENT, agent.to_owned())];
        if step.body.is_some() || step.text.is_some() {
            ask.headers.push((header::CONTENT_TYPE, media.to_owned()));
        }
        ask
    }

    fn fill(&self, text: &str) -> String {
        let mut text = text.to_owned();
        for (name, value) in &self.names {
            text = text.replace(&format!("${{{name}}}"), value);
        }
        text
    }
}

impl Until {
    fn holds(&self, raw: &Raw) -> bool {
        if self.code.is_some_and(|code| code != raw.code) {
            return false;
        }
        let found = (!self.at.is_empty()).then(|| path::find(&raw.body, &self.at));
        match (found, &self.is) {
            (None, _) => true,
            (Some(found), _) if self.absent => found.is_none(),
            (Some(found), None) => found.is_some(),
            (Some(found), Some(value)) => found == Some(value),
        }
    }
}

/// A request of JSON for JSON.
pub fn ask(method: &str, uri: &str, body: &str) -> Ask {
    let headers = vec![
        (header::ACCEPT, "application/json".to_owned()),
        (header::USER_AGENT, AGENT.to_owned()),
        (header::CONTENT_TYPE, "application/json".to_owned()),
    ];
    Ask { method: method.to_owned(), uri: uri.to_owned(), headers, body: body.to_owned() }
}

fn answer(raw: &Raw, pick: &[String]) -> Value {
    let mut answer = Map::from_iter([("code".to_owned(), raw.code.into())]);
    if raw.media != "application/json" {
        answer.insert("type".to_owned(), raw.media.clone().into());
    }
    if raw.warnings > 0 {
        answer.insert("warnings".to_owned(), raw.warnings.into());
    }
    let body = match pick {
        [] => raw.body.clone(),
        paths => {
            let picked = paths.iter().map(|at| (at.clone(), path::find(&raw.body, at).cloned().unwrap_or(Value::Null)));
            Value::Object(picked.collect())
        }
    };
    answer.insert("body".to_owned(), body);
    Value::Object(answer)
}

/// What a URL cannot hold as it is, escaped; escapes stay.
fn escaped(uri: &str) -> String {
    let mut out = String::new();
    for byte in uri.bytes() {
        match byte {
            b'!'..=b'~' if !b"\"<>\\^`{|}".contains(&byte) => out.push(char::from(byte)),
            _ => out.push_str(&format!("%{byte:02X}")),
        }
    }
    out
}

/// The version that a server says it is.
///
/// # Errors
/// [`SubjectError`]: the server cannot be asked.
pub async fn version(subject: &Subject) -> Result<String, SubjectError> {
    let raw = subject.ask(&ask("GET", "/version", "")).await?;
    Ok(raw.body["gitVersion"].as_str().unwrap_or("unknown").to_owned())
}
