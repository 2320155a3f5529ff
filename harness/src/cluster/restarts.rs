//! The controller's Pods, followed by a watch: that one began anew, be it another Pod or a container that was started again.

use std::collections::HashMap;

use serde_json::Value;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::task::JoinSet;

use super::api::{Api, ApiError, encode};
use super::pod_logs::LogSource;
use super::watching::{Followed, Renewal, follow};

/// Follows the Pods of a source until it is dropped.
pub struct Restarts {
    heard: UnboundedReceiver<Result<String, String>>,
    /// Ends with this.
    _watch: JoinSet<()>,
}

impl Restarts {
    /// Follows them from now on. The Pods that are there have not begun anew, whether they are ready or not.
    ///
    /// # Errors
    /// If they cannot be listed.
    pub async fn follow(api: &Api, source: &LogSource) -> Result<Restarts, ApiError> {
        let (tell, heard) = unbounded_channel();
        let mut pods = Pods { api: api.clone(), source: source.clone(), lives: Lives::default(), tell };
        let (version, there) = pods.list().await?;
        pods.lives.are(&there);
        let mut watch = JoinSet::new();
        watch.spawn(follow(pods, api.clone(), version, Renewal::new()));
        Ok(Restarts { heard, _watch: watch })
    }

    /// The names of Pods that began anew and are ready, once there is one.
    ///
    /// # Errors
    /// They cannot be followed any longer, for this reason. That is told once; from then on nothing comes.
    pub async fn next(&mut self) -> Result<Vec<String>, String> {
        let Some(first) = self.heard.recv().await else { return std::future::pending().await };
        let mut names = vec![first?];
        while let Ok(more) = self.heard.try_recv() {
            names.push(more?);
        }
        names.sort();
        names.dedup();
        Ok(names)
    }
}

/// The watch of Pods.
struct Pods {
    api: Api,
    source: LogSource,
    lives: Lives,
    tell: UnboundedSender<Result<String, String>>,
}

impl Pods {
    async fn list(&self) -> Result<(String, Vec<Value>), ApiError> {
        let mut list = self.api.get(&self.path()).await?;
        let version = list.pointer("/metadata/resourceVersion").and_then(Value::as_str).unwrap_or_default().to_owned();
        let items = match list["items"].take() {
            Value::Array(items) => items,
            _ => Vec::new(),
        };
        Ok((version, items))
    }
}

impl Followed for Pods {
    fn path(&self) -> String {
        let LogSource { namespace, selector } = &self.source;
        format!("/api/v1/namespaces/{namespace}/pods?labelSelector={}&", encode(selector))
    }

    fn changed(&mut self, object: Value) {
        if let Some(name) = self.lives.changed(&object) {
            // Whoever does not listen any more ends this, too.
            let _ = self.tell.send(Ok(name));
        }
    }

    fn gone(&mut self, object: Value) {
        self.lives.gone(&object);
    }

    fn blind(&mut self, reason: &str, _: bool) {
        tracing::debug!(reason, "watch of the controller's Pods lost");
    }

    fn sighted(&mut self) {}

    async fn relist(&mut self, _: &str) -> Result<String, ApiError> {
        let (version, there) = self.list().await?;
        self.lives.keep(&there);
        there.into_iter().for_each(|pod| self.changed(pod));
        Ok(version)
    }

    fn is_over(&self, error: &ApiError) -> bool {
        let over = error.is_refusal();
        if over {
            let _ = self.tell.send(Err(error.to_string()));
        }
        over
    }
}

/// Which Pods there are, and how often each was started, by name.
#[derive(Debug, Default)]
struct Lives(HashMap<String, Life>);

#[derive(Debug, Clone, PartialEq, Eq)]
struct Life {
    uid: String,
    /// How often its containers were started again.
    restarts: u64,
}

impl Lives {
    /// These are there, and are nothing new.
    fn are(&mut self, pods: &[Value]) {
        self.0 = pods.iter().filter_map(life).collect();
    }

    /// No others are there any more.
    fn keep(&mut self, pods: &[Value]) {
        self.0.retain(|name, _| pods.iter().any(|pod| text(pod, "/metadata/name") == name));
    }

    /// The name of a Pod that is as it was not before, if it is ready. One that is on its way out is none.
    fn changed(&mut self, pod: &Value) -> Option<String> {
        let (name, life) = life(pod)?;
        if !is_ready(pod) || pod.pointer("/metadata/deletionTimestamp").is_some() || self.0.get(&name) == Some(&life) {
            return None;
        }
        self.0.insert(name.clone(), life);
        Some(name)
    }

    fn gone(&mut self, pod: &Value) {
        self.0.remove(text(pod, "/metadata/name"));
    }
}

fn life(pod: &Value) -> Option<(String, Life)> {
    let (name, uid) = (text(pod, "/metadata/name"), text(pod, "/metadata/uid"));
    let restarts = containers(pod).iter().filter_map(|one| one.get("restartCount")?.as_u64()).sum();
    (!name.is_empty()).then(|| (name.to_owned(), Life { uid: uid.to_owned(), restarts }))
}

fn is_ready(pod: &Value) -> bool {
    let containers = containers(pod);
    !containers.is_empty() && containers.iter().all(|one| one.get("ready") == Some(&Value::Bool(true)))
}

fn containers(pod: &Value) -> &[Value] {
    pod.pointer("/status/containerStatuses").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default()
}

fn text<'v>(value: &'v Value, pointer: &str) -> &'v str {
    value.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::json;

    use super::*;

    /// A Pod by its name, uid, restarts and whether it is ready: `a one 0 ready`.
    fn pod(words: &str) -> Value {
        let words: Vec<&str> = words.split(' ').collect();
        let (ready, restarts) = (words[3] != "begins", words[2].parse::<u64>().unwrap_or_default());
        let mut pod = json!({
            "metadata": {"name": words[0], "uid": words[1]},
            "status": {"containerStatuses": [
                {"restartCount": 0, "ready": true},
                {"restartCount": restarts, "ready": ready},
            ]},
        });
        if words[3] == "leaves" {
            pod["metadata"]["deletionTimestamp"] = "2026-11-27T00:00:00Z".into();
        }
        pod
    }

    #[rstest]
    #[case::as_it_was(&["a one 0 ready"], &["a one 0 ready"], &[])]
    #[case::ready_late(&["a one 0 begins"], &["a one 0 ready"], &[])]
    #[case::unready_for_a_while(&["a one 0 ready"], &["a one 0 begins", "a one 0 ready"], &[])]
    #[case::container_started_again(&["a one 0 ready"], &["a one 1 begins", "a one 1 ready", "a one 1 ready"], &["a"])]
    #[case::again_and_again(&["a one 0 ready"], &["a one 1 ready", "a one 2 ready"], &["a", "a"])]
    #[case::another_pod(&["a one 0 ready"], &["b two 0 begins", "a one 0 leaves", "b two 0 ready"], &["b"])]
    #[case::another_of_the_name(&["a one 0 ready"], &["a two 0 begins", "a two 0 ready"], &["a"])]
    #[case::one_of_two(&["a one 0 ready", "b two 3 ready"], &["b two 3 ready", "a one 1 ready"], &["a"])]
    #[case::none_before(&[], &["a one 0 begins", "a one 0 ready"], &["a"])]
    #[case::never_ready(&["a one 0 ready"], &["a one 1 begins", "a one 2 begins"], &[])]
    #[case::on_its_way_out(&["a one 0 ready"], &["a one 1 leaves"], &[])]
    fn what_begins_anew_is_told_once_it_is_ready(
        #[case] there: &[&str],
        #[case] seen: &[&str],
        #[case] expected: &[&str],
    ) {
        let mut lives = Lives::default();
        lives.are(&there.iter().map(|words| pod(words)).collect::<Vec<_>>());
        let told: Vec<String> = seen.iter().filter_map(|words| lives.changed(&pod(words))).collect();
        assert_eq!(told, expected);
    }

    #[test]
    fn who_was_gone_meanwhile_is_another_one() {
        let mut lives = Lives::default();
        lives.are(&[pod("a one 0 ready"), pod("b two 0 ready")]);
        lives.keep(&[pod("b two 0 ready")]);
        assert_eq!(lives.changed(&pod("b two 0 ready")), None);
        assert_eq!(lives.changed(&pod("a one 0 ready")), Some("a".to_owned()));
        lives.gone(&pod("b two 0 ready"));
        assert_eq!(lives.changed(&pod("b two 0 ready")), Some("b".to_owned()));
    }
}
