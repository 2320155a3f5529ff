//! The one observer of a run: a watch per resource for all scenarios together. After its first list it never reads an
//! object by GET or LIST again, unless a watch is lost.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use futures::TryStreamExt;
use kube::core::WatchEvent;
use serde_json::{Value, json};
use tokio::task::JoinSet;

use super::api::{Api, ApiError, encode, watch_error};
use super::clock::{self, Backoff};
use super::events::EventWatcher;
use super::kinds::Kind;
use super::log_writer::LogWriter;
use super::names::{POOL_LABEL, RUN_LABEL, SCENARIO_LABEL};
use super::redact::redact;
use super::view::View;
use crate::log::{Body, Change, ObjectKey, Scope};

/// How long the server is asked to keep a watch open; it is resumed without loss.
pub(super) const WATCH_SECONDS: u32 = 290;
/// First pause after a failed watch; doubles.
pub(super) const FIRST_PAUSE: Duration = Duration::from_millis(20);
/// Longest pause after a failed watch.
pub(super) const LONGEST_PAUSE: Duration = Duration::from_secs(5);
/// Objects a page of the first list.
const PAGE: u32 = 500;

/// Which objects of a resource are watched.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Selector {
    /// Everything with the run's label, in all namespaces.
    Run(String),
    /// The one object of this name.
    Name(String),
}

impl Selector {
    fn query(&self) -> String {
        match self {
            Selector::Run(id) => format!("labelSelector={}", encode(&format!("{RUN_LABEL}={id}"))),
            Selector::Name(name) => format!("fieldSelector={}", encode(&format!("metadata.name={name}"))),
        }
    }
}

/// Running watches. Dropping it ends them.
pub struct Observer {
    view: Arc<View>,
    watches: JoinSet<()>,
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
    scopes: Arc<HashMap<String, Arc<str>>>,
    kind: Kind,
    query: String,
    known: HashSet<ObjectKey>,
}

impl Observer {
    /// Lists every resource once, then watches. `scopes` maps the tokens of scenarios to their names in the log.
    pub async fn start(
        api: &Api,
        log: &Arc<LogWriter>,
        resources: Vec<(Kind, Selector)>,
        scopes: HashMap<String, Arc<str>>,
    ) -> Result<Observer, ObserveError> {
        let view = Arc::new(View::default());
        let scopes = Arc::new(scopes);
        let lists = resources.into_iter().map(|(kind, selector)| {
            let mut watcher = Watcher {
                api: api.clone(),
                log: Arc::clone(log),
                view: Arc::clone(&view),
                scopes: Arc::clone(&scopes),
                kind,
                query: selector.query(),
                known: HashSet::new(),
            };
            async move {
                let resource = watcher.kind.resource();
                let version = watcher.list().await.map_err(|error| ObserveError { resource, error })?;
                Ok((watcher, version))
            }
        });
        let mut watches = JoinSet::new();
        for (watcher, version) in futures::future::try_join_all(lists).await? {
            watches.spawn(watcher.follow(version));
        }
        // Evidence only: a target that shows no Events can be tested all the same.
        let events = EventWatcher::new(api, log, &view, &scopes);
        match events.begin().await {
            Ok(version) => drop(watches.spawn(events.follow(version))),
            Err(error) => events.without(&error),
        }
        Ok(Observer { view, watches })
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

impl Watcher {
    /// Lists everything and logs how it differs from what was known. Returns the version to watch from.
    async fn list(&mut self) -> Result<String, ApiError> {
        let mut missing = std::mem::take(&mut self.known);
        let mut more = String::new();
        loop {
            let path = format!("{}?{}&limit={PAGE}{more}", self.kind.collection(None), self.query);
            let mut list = self.api.get(&path).await?;
            if let Some(Value::Array(items)) = list.get_mut("items").map(Value::take) {
                for item in items {
                    if let Some(key) = self.seen(item) {
                        missing.remove(&key);
                    }
                }
            }
            let metadata = |field: &str| {
                list.pointer("/metadata").and_then(|m| m.get(field)).and_then(Value::as_str).unwrap_or_default()
            };
            if metadata("continue").is_empty() {
                for key in missing {
                    self.gone(&key, None);
                }
                return Ok(metadata("resourceVersion").to_owned());
            }
            more = format!("&continue={}", encode(metadata("continue")));
        }
    }

    async fn follow(mut self, mut version: String) {
        let mut pause = Backoff::new(FIRST_PAUSE, LONGEST_PAUSE);
        loop {
            match self.watch(&mut version).await {
                Ok(()) => pause = Backoff::new(FIRST_PAUSE, LONGEST_PAUSE),
                Err(error) if error.is_expired() => {
                    let resource = self.kind.resource();
                    self.log.append(Scope::Run, Body::Gap { resource, reason: error.to_string() });
                    match self.list().await {
                        Ok(fresh) => version = fresh,
                        Err(error) => self.back_off(&error, &mut pause).await,
                    }
                }
                Err(error) => self.back_off(&error, &mut pause).await,
            }
        }
    }

    async fn back_off(&self, error: &ApiError, backoff: &mut Backoff) {
        tracing::debug!(resource = self.kind.resource(), %error, "watch failed");
        if error.is_absence() {
            self.api.back().await;
        }
        clock::until(clock::now() + backoff.step(Duration::ZERO)).await;
    }

    /// One watch, from `version` until it ends. Moves `version` along.
    async fn watch(&mut self, version: &mut String) -> Result<(), ApiError> {
        let path = format!(
            "{}?watch=true&{}&resourceVersion={version}&allowWatchBookmarks=true&timeoutSeconds={WATCH_SECONDS}",
            self.kind.collection(None),
            self.query
        );
        let mut events = std::pin::pin!(self.api.watch(&path).await?);
        while let Some(event) = events.try_next().await.map_err(|error| watch_error(&error))? {
            match event {
                WatchEvent::Added(object) | WatchEvent::Modified(object) => {
                    advance(version, &object);
                    self.seen(object);
                }
                WatchEvent::Deleted(object) => {
                    advance(version, &object);
                    if let Some(key) = self.key(&object) {
                        self.gone(&key, Some(object));
                    }
                }
                WatchEvent::Bookmark(bookmark) => *version = bookmark.metadata.resource_version,
                WatchEvent::Error(status) => {
                    return Err(ApiError::Refused {
                        code: status.code,
                        reason: status.reason.clone(),
                        message: status.message.clone(),
                    });
                }
            }
        }
        Ok(())
    }

    /// Takes a live version in; logs it if it is news.
    fn seen(&mut self, object: Value) -> Option<ObjectKey> {
        let key = self.key(&object)?;
        self.known.insert(key.clone());
        let before = self.view.get(&key);
        if before.is_some_and(|before| uid(&before) != uid(&object)) {
            self.gone(&key, None);
        }
        let object = self.tidy(object);
        self.view.take(&key, &object, |change| self.append(key.clone(), change, Arc::clone(&object)));
        Some(key)
    }

    /// Notes a deletion; `last` is the final version if the watch gave one.
    fn gone(&mut self, key: &ObjectKey, last: Option<Value>) {
        self.known.remove(key);
        self.view.remove(key, |known| {
            let object = last.map_or(known, |last| self.tidy(last));
            self.append(key.clone(), Change::Deleted, object);
        });
    }

    fn append(&self, key: ObjectKey, change: Change, object: Arc<Value>) {
        let scope = scope_of(&object, &self.scopes);
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

    /// Items of lists carry neither kind nor version.
    fn tidy(&self, mut object: Value) -> Arc<Value> {
        if object.get("kind").is_none() {
            object["kind"] = json!(self.kind.kind);
            object["apiVersion"] = json!(self.kind.api_version());
        }
        redact(&mut object);
        Arc::new(object)
    }
}

/// Whom an object concerns, by its labels.
pub(super) fn scope_of(object: &Value, scopes: &HashMap<String, Arc<str>>) -> Scope {
    let label =
        |name: &str| object.pointer("/metadata/labels").and_then(|labels| labels.get(name)).and_then(Value::as_str);
    if let Some(name) = label(SCENARIO_LABEL).and_then(|token| scopes.get(token)) {
        return Scope::Scenario(Arc::clone(name));
    }
    label(POOL_LABEL).map_or(Scope::Run, |pool| Scope::Pool(Arc::from(pool)))
}

/// Whether the server will not show a resource, however often it is asked.
pub(super) fn refused(error: &ApiError) -> bool {
    matches!(error, ApiError::Refused { code: 401 | 403 | 404 | 405, .. })
}

fn uid(object: &Value) -> Option<&Value> {
    object.pointer("/metadata/uid")
}

pub(super) fn advance(version: &mut String, object: &Value) {
    if let Some(next) = object.pointer("/metadata/resourceVersion").and_then(Value::as_str) {
        next.clone_into(version);
    }
}
