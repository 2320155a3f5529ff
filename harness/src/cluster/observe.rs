//! The one observer of a run: a watch per resource for all scenarios together. After its first list it never reads an
//! object by GET or LIST again, unless a watch is lost, or the judge asks whether one may be believed.

use std::collections::HashSet;
use std::sync::Arc;

use serde_json::{Value, json};
use tokio::task::JoinSet;
use tokio::time::Instant;

use super::api::{Api, ApiError, encode};
use super::around::AroundWatcher;
use super::clock;
use super::events::EventWatcher;
use super::executions::Executions;
use super::kinds::Kind;
use super::log_writer::LogWriter;
use super::redact::redact;
pub use super::selector::Selector;
use super::view::View;
use super::watching::{Followed, Renewal, follow};
use crate::dialects::Dialect;
use crate::log::{Body, Change, ObjectKey, Scope, Sight};

/// Objects a page of the first list.
const PAGE: u32 = 500;

/// Running watches. Dropping it ends them.
pub struct Observer {
    view: Arc<View>,
    watches: JoinSet<()>,
    looker: Looker,
}

/// Reads what a watch should have shown, and has watches begin anew.
#[derive(Clone)]
pub struct Looker {
    api: Api,
    watched: Arc<[(Kind, Renewal)]>,
}

/// Why observation could not begin.
#[derive(Debug, thiserror::Error)]
#[error("cannot list {resource}: {error}")]
pub struct ObserveError {
    /// Which resource.
    pub resource: String,
    /// Why not.
    pub error: ApiError,
}

/// One watched resource.
struct Watcher {
    api: Api,
    log: Arc<LogWriter>,
    view: Arc<View>,
    executions: Arc<Executions>,
    kind: Kind,
    /// The only one that is looked at, if not all are.
    namespace: Option<String>,
    /// The scenario that it concerns, if that is known without its labels and its namespace.
    scenario: Option<Arc<str>>,
    query: String,
    known: HashSet<ObjectKey>,
    /// Since when it is not open.
    blind: Option<Instant>,
}

impl Observer {
    /// Lists every resource once, then watches. `executions` says whose an object is. With `others` it watches what other people
    /// change of this dialect, too.
    pub async fn start(
        api: &Api,
        log: &Arc<LogWriter>,
        resources: Vec<(Kind, Selector)>,
        executions: Executions,
        others: Option<&Dialect>,
    ) -> Result<Observer, ObserveError> {
        let view = Arc::new(View::default());
        let executions = Arc::new(executions);
        let mut around: Vec<AroundWatcher> = Vec::new();
        if let Some(dialect) = others {
            around.extend(resources.iter().filter_map(|(kind, selector)| match selector {
                Selector::Run(id) if dialect.has_group(&kind.group) => {
                    Some(AroundWatcher::others(kind.clone(), id, &executions, api, log))
                }
                _ => None,
            }));
            around.push(AroundWatcher::definitions(dialect.groups(), api, log));
        }
        let lists = resources.into_iter().map(|(kind, selector)| {
            let mut watcher = Watcher {
                api: api.clone(),
                log: Arc::clone(log),
                view: Arc::clone(&view),
                executions: Arc::clone(&executions),
                kind,
                namespace: selector.namespace().map(str::to_owned),
                scenario: selector.token().and_then(|token| executions.named(token)),
                query: selector.query(),
                known: HashSet::new(),
                blind: None,
            };
            async move {
                let resource = watcher.kind.resource();
                let version = match watcher.list(None).await {
                    // The watch is told the same, and waits until that changes.
                    Err(error) if watcher.is_absent(&error) => String::new(),
                    listed => listed.map_err(|error| ObserveError { resource, error })?,
                };
                Ok((watcher, version))
            }
        });
        let mut watches = JoinSet::new();
        let mut watched = Vec::new();
        for (watcher, version) in futures::future::try_join_all(lists).await? {
            let renewal = Renewal::new();
            watched.push((watcher.kind.clone(), renewal.clone()));
            watches.spawn(follow(watcher, api.clone(), version, renewal));
        }
        // Evidence only: a target that shows no Events can be tested all the same.
        let events = EventWatcher::new(api, log, &view, &executions);
        match events.begin().await {
            Ok(version) => drop(watches.spawn(follow(events, api.clone(), version, Renewal::new()))),
            Err(error) => events.without(&error),
        }
        // Without these less is known of others, which is no reason not to test.
        for mut around in around {
            match around.begin().await {
                Ok(version) => drop(watches.spawn(follow(around, api.clone(), version, Renewal::new()))),
                Err(error) => tracing::debug!(%error, "what is around is not watched"),
            }
        }
        Ok(Observer { view, watches, looker: Looker { api: api.clone(), watched: watched.into() } })
    }

    /// For those who doubt what is known.
    pub fn looker(&self) -> &Looker {
        &self.looker
    }

    /// What is known now.
    pub fn view(&self) -> &Arc<View> {
        &self.view
    }

    /// Ends every watch.
    pub async fn stop(mut self) {
        self.watches.shutdown().await;
    }
}

impl Looker {
    /// What is there of an object, by a list: the watches show the same, or are not to be believed.
    pub async fn look(&self, key: &ObjectKey) -> Result<Sight, ApiError> {
        let watched = self.watched.iter().find(|(kind, _)| shows(kind, key));
        let Some((kind, _)) = watched else {
            return Err(ApiError::Transport(format!("nobody watches {}", key.kind)));
        };
        let path = kind.collection(key.namespace.as_deref());
        let name = Selector::Name(key.name.clone());
        let mut list = self.api.get(&format!("{path}?{}", name.query())).await?;
        let found = list.pointer_mut("/items/0").map(Value::take);
        Ok(Sight { key: key.clone(), object: found.map(|object| tidied(kind, object)) })
    }

    /// Has the watches that show these objects begin anew; returns once everything there has been listed and logged.
    pub async fn renew(&self, keys: &[ObjectKey]) {
        let doubted = self.watched.iter().filter(|(kind, _)| keys.iter().any(|key| shows(kind, key)));
        futures::future::join_all(doubted.map(|(_, renewal)| renewal.renew())).await;
    }
}

fn shows(kind: &Kind, key: &ObjectKey) -> bool {
    kind.group == key.group && kind.kind == key.kind
}

impl Watcher {
    /// Lists everything, and once it is complete, logs how it differs from what was known, behind a gap if there is a reason for
    /// one. Returns the version to watch from.
    async fn list(&mut self, lost: Option<&str>) -> Result<String, ApiError> {
        let mut items = Vec::new();
        let mut more = String::new();
        let version = loop {
            let path = format!("{}?{}&limit={PAGE}{more}", self.kind.collection(self.namespace.as_deref()), self.query);
            let mut list = self.api.get(&path).await?;
            if let Some(Value::Array(page)) = list.get_mut("items").map(Value::take) {
                items.extend(page);
            }
            let metadata = |field: &str| {
                list.pointer("/metadata").and_then(|m| m.get(field)).and_then(Value::as_str).unwrap_or_default()
            };
            if metadata("continue").is_empty() {
                break metadata("resourceVersion").to_owned();
            }
            more = format!("&continue={}", encode(metadata("continue")));
        };
        if let Some(reason) = lost {
            let (resource, reason) = (self.kind.resource(), reason.to_owned());
            self.log.append(Scope::Run, Body::Gap { resource, reason });
        }
        let mut missing = std::mem::take(&mut self.known);
        for item in items {
            if let Some(key) = self.seen(item) {
                missing.remove(&key);
            }
        }
        for key in missing {
            self.lost(&key, None);
        }
        Ok(version)
    }

    /// Takes a live version in; logs it if it is news.
    fn seen(&mut self, object: Value) -> Option<ObjectKey> {
        let key = self.key(&object)?;
        self.known.insert(key.clone());
        let before = self.view.get(&key);
        if before.is_some_and(|before| uid(&before) != uid(&object)) {
            self.lost(&key, None);
        }
        let object = tidied(&self.kind, object);
        self.view.take(&key, &object, |change| self.append(key.clone(), change, Arc::clone(&object)));
        Some(key)
    }

    /// Notes a deletion; `last` is the final version if the watch gave one.
    fn lost(&mut self, key: &ObjectKey, last: Option<Value>) {
        self.known.remove(key);
        self.view.remove(key, |known| {
            let object = last.map_or(known, |last| tidied(&self.kind, last));
            self.append(key.clone(), Change::Deleted, object);
        });
    }

    fn append(&self, key: ObjectKey, change: Change, object: Arc<Value>) {
        let scope = match &self.scenario {
            Some(scenario) => Scope::Scenario(Arc::clone(scenario)),
            None => self.executions.concerned(&object),
        };
        self.log.append(scope, Body::Observed { key, change, object });
    }

    fn key(&self, object: &Value) -> Option<ObjectKey> {
        let metadata = object.get("metadata")?;
        Some(ObjectKey {
            group: self.kind.group.clone(),
            kind: self.kind.kind.clone(),
            namespace: metadata.get("namespace").and_then(Value::as_str).map(str::to_owned),
            name: metadata.get("name")?.as_str()?.to_owned(),
        })
    }
}

impl Followed for Watcher {
    fn path(&self) -> String {
        format!("{}?{}&", self.kind.collection(self.namespace.as_deref()), self.query)
    }

    fn changed(&mut self, object: Value) {
        self.seen(object);
    }

    fn gone(&mut self, object: Value) {
        if let Some(key) = self.key(&object) {
            self.lost(&key, Some(object));
        }
    }

    fn blind(&mut self, reason: &str, doubted: bool) {
        if self.blind.is_some() && !doubted {
            return;
        }
        self.blind.get_or_insert_with(clock::now);
        let (resource, kind, reason) = (self.kind.resource(), self.kind.kind.clone(), reason.to_owned());
        tracing::debug!(resource, reason, "watch lost");
        self.log.append(Scope::Run, Body::Blind { resource, kind, reason, doubted });
    }

    fn sighted(&mut self) {
        if let Some(since) = self.blind.take() {
            let by = u64::try_from((clock::now() - since).as_micros()).unwrap_or(u64::MAX);
            let (resource, kind) = (self.kind.resource(), self.kind.kind.clone());
            self.log.append(Scope::Run, Body::Sighted { resource, kind, by });
        }
    }

    async fn relist(&mut self, reason: &str) -> Result<String, ApiError> {
        self.list(Some(reason)).await
    }

    fn is_over(&self, _: &ApiError) -> bool {
        false
    }

    fn is_absent(&self, error: &ApiError) -> bool {
        self.kind.later && error.is_not_found()
    }

    /// What there was went with its definition.
    fn absent(&mut self) {
        for key in std::mem::take(&mut self.known) {
            self.lost(&key, None);
        }
        self.sighted();
    }
}

/// Items of lists carry neither kind nor version.
fn tidied(kind: &Kind, mut object: Value) -> Arc<Value> {
    if object.get("kind").is_none() {
        object["kind"] = json!(kind.kind);
        object["apiVersion"] = json!(kind.api_version());
    }
    redact(&mut object);
    Arc::new(object)
}

fn uid(object: &Value) -> Option<&Value> {
    object.pointer("/metadata/uid")
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use std::collections::HashMap;
    use std::convert::Infallible;
    use std::sync::Mutex;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use http::{Request, Response, StatusCode};
    use http_body_util::Full;
    use hyper::body::Bytes;
    use kube::client::Body as KubeBody;

    use super::*;
    use crate::cluster::kinds::Kinds;

    /// An API server that answers requests for ConfigMaps as the script says, which is told the query and how often it was asked so.
    struct Scripted {
        observer: Observer,
        log: Arc<LogWriter>,
        asked: Arc<AtomicUsize>,
    }

    async fn scripted(answer: impl Fn(&str, usize) -> (u16, Value) + Send + Sync + 'static) -> Scripted {
        scripted_of(false, answer).await
    }

    /// The same of ConfigMaps that are perhaps served only later.
    async fn scripted_of(
        later: bool,
        answer: impl Fn(&str, usize) -> (u16, Value) + Send + Sync + 'static,
    ) -> Scripted {
        let asked = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&asked);
        let times: Arc<Mutex<HashMap<String, usize>>> = Arc::default();
        let answer = Arc::new(answer);
        let service = tower::service_fn(move |request: Request<KubeBody>| {
            let query = request.uri().query().unwrap_or_default().to_owned();
            let (code, body) = match request.uri().path() {
                "/api/v1/configmaps" => {
                    counted.fetch_add(1, Ordering::Relaxed);
                    let what = if query.contains("watch=true") { "watch" } else { "list" };
                    let more = if query.contains("continue=") { "more" } else { what };
                    let mut times = times.lock().unwrap();
                    let before = times.entry(more.to_owned()).or_default();
                    *before += 1;
                    answer(more, *before)
                }
                _ => (403, json!({"kind": "Status", "code": 403})),
            };
            let response = Response::builder().status(StatusCode::from_u16(code).unwrap());
            async move { Ok::<_, Infallible>(response.body(Full::new(Bytes::from(body.to_string()))).unwrap()) }
        });
        let api = Api::new(kube::Client::new(service, "default"));
        let mut kinds = Kinds::new(Dialect::gateway_api());
        kinds.add("", "v1", "ConfigMap", "configmaps", true);
        if later {
            kinds.postpone("configmaps");
        }
        let log = Arc::new(LogWriter::start(None).unwrap());
        let resources = kinds.iter().map(|kind| (kind.clone(), Selector::Run("run".to_owned()))).collect();
        let observer = Observer::start(&api, &log, resources, Executions::default(), None).await.unwrap();
        Scripted { observer, log, asked }
    }

    fn page(names: &[&str], more: &str) -> (u16, Value) {
        let items: Vec<Value> = names
            .iter()
            .map(|name| json!({"metadata": {"name": name, "namespace": "n", "uid": name, "resourceVersion": "1"}}))
            .collect();
        (200, json!({"metadata": {"resourceVersion": "9", "continue": more}, "items": items}))
    }

    fn expired() -> (u16, Value) {
        (200, json!({"type": "ERROR", "object": {"kind": "Status", "code": 410, "reason": "Expired", "message": ""}}))
    }

    async fn pass(seconds: u64) {
        clock::until(clock::now() + std::time::Duration::from_secs(seconds)).await;
    }

    #[tokio::test(start_paused = true)]
    async fn a_list_that_breaks_off_forgets_nothing() {
        let scripted = scripted(|what, times| match (what, times) {
            ("watch", _) => expired(),
            ("list", 1) => page(&["a", "b"], ""),
            ("list", _) => page(&["a"], "rest"),
            (_, 1..=3) => (403, json!({"kind": "Status", "code": 403})),
            _ => page(&["b"], ""),
        })
        .await;
        pass(30).await;
        let count = |test: fn(&Body) -> bool| scripted.log.events().iter().filter(|event| test(&event.body)).count();
        assert_eq!(count(|body| matches!(body, Body::Observed { change: Change::Deleted, .. })), 0);
        assert_eq!(count(|body| matches!(body, Body::Observed { .. })), 2);
        assert!(count(|body| matches!(body, Body::Gap { .. })) > 1);
        assert_eq!(scripted.observer.view().keys(|_, _| true).len(), 2);
    }

    #[tokio::test(start_paused = true)]
    async fn a_kind_may_be_served_later_and_no_longer() {
        let served = Arc::new(std::sync::atomic::AtomicBool::new(false));
        let is_served = Arc::clone(&served);
        let scripted = scripted_of(true, move |what, _| match (is_served.load(Ordering::Relaxed), what) {
            (false, _) => (404, json!({"kind": "Status", "code": 404})),
            (true, "watch") => (200, Value::Null),
            (true, _) => page(&["a"], ""),
        })
        .await;
        let count = |test: fn(&Body) -> bool| scripted.log.events().iter().filter(|event| test(&event.body)).count();
        let added = |body: &Body| matches!(body, Body::Observed { change: Change::Added, .. });
        let deleted = |body: &Body| matches!(body, Body::Observed { change: Change::Deleted, .. });
        pass(900).await;
        assert_eq!(scripted.asked.load(Ordering::Relaxed), 2, "nobody asks before it is served");
        assert_eq!(count(|body| matches!(body, Body::Blind { .. } | Body::Observed { .. })), 0);
        served.store(true, Ordering::Relaxed);
        let any =
            ObjectKey { group: String::new(), kind: "ConfigMap".to_owned(), namespace: None, name: String::new() };
        scripted.observer.looker().renew(&[any]).await;
        assert_eq!((count(added), count(deleted)), (1, 0));
        served.store(false, Ordering::Relaxed);
        pass(30).await;
        assert_eq!((count(added), count(deleted)), (1, 1));
        let (blind, sighted) =
            (count(|body| matches!(body, Body::Blind { .. })), count(|body| matches!(body, Body::Sighted { .. })));
        assert_eq!(blind, sighted, "it is known that there is nothing");
    }

    /// A quarter of an hour of it; without pauses it would be a million.
    #[tokio::test(start_paused = true)]
    async fn whatever_a_server_does_is_no_reason_for_a_hail_of_requests() {
        let ends = || (200, Value::Null);
        for (name, answer) in [("expired", expired as fn() -> (u16, Value)), ("ends", ends)] {
            let scripted = scripted(move |what, _| if what == "watch" { answer() } else { page(&["a"], "") }).await;
            pass(900).await;
            let asked = scripted.asked.load(Ordering::Relaxed);
            assert!((90..2 * 900 / 5 + 30).contains(&asked), "{name}: {asked}");
        }
    }
}
