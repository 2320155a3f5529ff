//! Kubernetes Events about the objects of a run, as evidence: one watch for all of them, from the moment it begins.
//!
//! Events carry no labels of the run, so every Event of the cluster passes by here, and those about others are dropped.

use std::collections::HashMap;
use std::sync::Arc;

use serde_json::Value;

use super::api::{Api, ApiError};
use super::executions::Executions;
use super::log_writer::LogWriter;
use super::names;
use super::view::View;
use super::watching::Followed;
use crate::log::{Body, KubernetesEvent, ObjectKey, Scope};

/// Where they are. The core group's version is served by every release.
const PATH: &str = "/api/v1/events";
/// Most bytes of Events that are logged of one scenario, so that a talkative controller does not fill the log.
const MOST: usize = 16 * 1024;
/// Longest message that is logged, in characters.
const LONGEST_MESSAGE: usize = 1024;

/// The watch of Events.
pub(super) struct EventWatcher {
    api: Api,
    log: Arc<LogWriter>,
    view: Arc<View>,
    executions: Arc<Executions>,
    spent: HashMap<Scope, usize>,
}

impl EventWatcher {
    pub(super) fn new(api: &Api, log: &Arc<LogWriter>, view: &Arc<View>, executions: &Arc<Executions>) -> EventWatcher {
        EventWatcher {
            api: api.clone(),
            log: Arc::clone(log),
            view: Arc::clone(view),
            executions: Arc::clone(executions),
            spent: HashMap::new(),
        }
    }

    /// The version to watch from; earlier Events are of others.
    pub(super) async fn begin(&self) -> Result<String, ApiError> {
        let list = self.api.get(&format!("{PATH}?limit=1")).await?;
        Ok(list.pointer("/metadata/resourceVersion").and_then(Value::as_str).unwrap_or_default().to_owned())
    }

    /// Says in the log that Events are missing there, and why.
    pub(super) fn without(&self, why: &impl ToString) {
        self.log.append(Scope::Run, Body::NoKubernetesEvents { reason: why.to_string() });
    }

    fn seen(&mut self, object: &Value) {
        let Some(event) = read(object) else { return };
        let Some(scope) = self.scope(&event.about) else { return };
        let spent = self.spent.entry(scope.clone()).or_default();
        let size = event.message.len() + event.reason.len() + event.about.to_string().len();
        if *spent + size > MOST {
            return;
        }
        *spent += size;
        self.log.append(scope, Body::KubernetesEvent(Box::new(event)));
    }

    /// Whom an object concerns: by its namespace, which is a scenario's own, or as it was observed.
    fn scope(&self, about: &ObjectKey) -> Option<Scope> {
        let token = about.namespace.as_deref().or(Some(&about.name)).and_then(names::token_of);
        if let Some(name) = token.and_then(|token| self.executions.named(token)) {
            return Some(Scope::Scenario(name));
        }
        self.view.get(about).map(|object| self.executions.concerned(&object))
    }
}

impl Followed for EventWatcher {
    fn path(&self) -> String {
        format!("{PATH}?")
    }

    fn changed(&mut self, object: Value) {
        self.seen(&object);
    }

    fn gone(&mut self, _: Value) {}

    fn blind(&mut self, reason: &str, _: bool) {
        tracing::debug!(reason, "watch of Events lost");
    }

    fn sighted(&mut self) {}

    async fn relist(&mut self, reason: &str) -> Result<String, ApiError> {
        let version = self.begin().await?;
        self.without(&reason);
        Ok(version)
    }

    fn is_over(&self, error: &ApiError) -> bool {
        let over = error.is_refusal();
        if over {
            self.without(error);
        }
        over
    }
}

/// What is kept of an Event; `None` if it does not say what it is about.
fn read(object: &Value) -> Option<KubernetesEvent> {
    let text = |pointer: &str| object.pointer(pointer).and_then(Value::as_str).filter(|text| !text.is_empty());
    let about = ObjectKey {
        group: text("/involvedObject/apiVersion")
            .and_then(|version| version.rsplit_once('/'))
            .map_or_else(String::new, |(group, _)| group.to_owned()),
        kind: text("/involvedObject/kind")?.to_owned(),
        namespace: text("/involvedObject/namespace").map(str::to_owned),
        name: text("/involvedObject/name")?.to_owned(),
    };
    Some(KubernetesEvent {
        about,
        class: text("/type").unwrap_or_default().to_owned(),
        reason: text("/reason").unwrap_or_default().to_owned(),
        message: text("/message").unwrap_or_default().chars().take(LONGEST_MESSAGE).collect(),
        from: text("/reportingComponent").or(text("/source/component")).unwrap_or_default().to_owned(),
        count: object.pointer("/series/count").or(object.get("count")).and_then(Value::as_u64).unwrap_or(1),
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use rstest::rstest;
    use serde_json::json;

    use super::*;

    #[test]
    fn what_it_is_about_and_what_it_says_is_kept() {
        let event = read(&json!({
            "kind": "Event",
            "involvedObject": {"apiVersion": "gateway.networking.k8s.io/v1", "kind": "HTTPRoute", "namespace": "n", "name": "r"},
            "type": "Warning", "reason": "BackendNotFound", "message": "x".repeat(2000),
            "source": {"component": "controller"}, "reportingComponent": "", "count": 3,
        }));
        let event = event.unwrap();
        assert_eq!(
            (event.about.group.as_str(), event.about.to_string().as_str()),
            ("gateway.networking.k8s.io", "HTTPRoute/n/r")
        );
        assert_eq!((event.class.as_str(), event.from.as_str(), event.count), ("Warning", "controller", 3));
        assert_eq!(event.message.len(), LONGEST_MESSAGE);
    }

    /// An API server that answers everything alike.
    fn api(code: u16) -> Api {
        let service = tower::service_fn(move |_: http::Request<kube::client::Body>| async move {
            let status =
                json!({"kind": "Status", "code": code, "reason": "Forbidden", "message": "events is forbidden"});
            let body = http_body_util::Full::new(hyper::body::Bytes::from(status.to_string()));
            Ok::<_, std::convert::Infallible>(http::Response::builder().status(code).body(body).unwrap())
        });
        Api::new(kube::Client::new(service, "default"))
    }

    #[tokio::test]
    async fn a_refusal_is_told_once_and_ends_nothing_else() {
        let log = Arc::new(LogWriter::start(None).unwrap());
        let executions = Executions::default();
        let observer =
            super::super::observe::Observer::start(&api(403), &log, Vec::new(), executions, None).await.unwrap();
        observer.stop().await;
        let events = log.events();
        assert_eq!(events.len(), 1);
        match &events[0].body {
            Body::NoKubernetesEvents { reason } => assert!(reason.contains("403 Forbidden"), "{reason}"),
            other => panic!("{other:?}"),
        }
    }

    #[rstest]
    #[case(json!({"kind": "Event"}))]
    #[case(json!({"involvedObject": {"kind": "Pod"}}))]
    #[case(json!({"involvedObject": {"name": "a"}}))]
    fn what_is_about_nothing_is_dropped(#[case] event: Value) {
        assert!(read(&event).is_none());
    }
}
