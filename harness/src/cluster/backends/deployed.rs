//! Deployed backends: Deployments of an image of ours behind Services that select their Pods. What they note is read through
//! the API server's proxy to Pods.

use std::sync::Arc;
use std::time::Duration;

use gateproof_echo::{TOKEN_HEADER, TOKEN_VARIABLE};
use serde::Deserialize;
use serde_json::{Value, json};

use super::BackendError;
use crate::cluster::api::{Api, ApiError, encode};
use crate::cluster::names;
use crate::cluster::view::{Live, View};
use crate::log::{BackendBinding, Bindings, JournalEntry, ObjectKey};
use crate::scenario::{BackendDecl, BackendProtocol};

/// The port at which a Pod shows its journal, whatever else it speaks.
const JOURNAL_PORT: u16 = 9080;
/// Nobody in particular, and not root: a namespace may enforce the Pod security standard `restricted`.
const USER: u32 = 65532;

/// Deploys backends, and reads what they noted.
#[derive(Clone)]
pub struct Deploying {
    api: Api,
    image: Arc<str>,
    run_token: Arc<str>,
}

/// The deployed backends of one scenario. Its objects go with the scenario's namespaces.
pub struct Deployed {
    /// Services and Deployments.
    pub objects: Vec<Value>,
    deploying: Deploying,
    backends: Vec<Backend>,
}

type Labels = serde_json::Map<String, Value>;

/// A backend that has a Pod.
struct Backend {
    name: String,
    bound: BackendBinding,
    /// Once it is ready.
    pod: Option<Pod>,
}

/// A Pod of a backend.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Pod {
    name: String,
    /// A Pod that comes instead of another may have its name.
    uid: Option<String>,
}

/// What a backend notes of a request, as far as it matters.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Record {
    request_id: Option<String>,
    method: String,
    path: String,
    proto: String,
    host: String,
    headers: Vec<(String, String)>,
    body_digest: String,
    /// Since the journal was made: to be compared within one backend only.
    micros: u64,
}

impl Deploying {
    /// Of this image, whose entry point serves the echo.
    pub fn new(api: Api, image: &str) -> Deploying {
        Deploying { api, image: Arc::from(image), run_token: super::run_token() }
    }

    /// Describes the objects that make the backends of a scenario.
    pub fn describe(&self, decls: &[BackendDecl], bindings: &Bindings) -> Result<Deployed, BackendError> {
        let mut deployed = Deployed { objects: Vec::new(), deploying: self.clone(), backends: Vec::new() };
        for decl in decls {
            let bound = bindings.backends.get(&decl.name).ok_or_else(|| BackendError::Unbound(decl.name.clone()))?;
            let labels = names::labels(&bindings.run_id, Some(&bindings.token));
            let of = decl
                .service
                .as_ref()
                .and_then(|name| decls.iter().find(|other| other.name == *name && other.namespace == decl.namespace));
            if of.is_none() {
                deployed.objects.push(service(decl, (&bound.namespace, &bound.service), &labels));
            }
            // A Service without Pods has no endpoints, which is what a backend that is not ready stands for.
            if decl.ready {
                let port = of.unwrap_or(decl).port;
                deployed.objects.push(self.deployment(decl, port, bound, &labels));
                deployed.backends.push(Backend { name: decl.name.clone(), bound: bound.clone(), pod: None });
            }
        }
        Ok(deployed)
    }

    fn deployment(&self, decl: &BackendDecl, port: u16, bound: &BackendBinding, labels: &Labels) -> Value {
        let own = json!({names::BACKEND_LABEL: bound.identity});
        let mut pod_labels = labels.clone();
        pod_labels.extend(names::selector(&bound.service));
        pod_labels.insert(names::BACKEND_LABEL.to_owned(), json!(bound.identity));
        let tcp = match decl.protocol {
            BackendProtocol::Tcp => "1",
            BackendProtocol::Tls => "tls",
            BackendProtocol::Http | BackendProtocol::H2c | BackendProtocol::Udp => "",
        };
        let udp = if decl.protocol == BackendProtocol::Udp { "1" } else { "" };
        let variable = |name: &str, value: &str| json!({"name": name, "value": value});
        let container = json!({
            "name": "echo",
            "image": &*self.image,
            "env": [
                variable("POD_NAME", &bound.identity),
                variable("NAMESPACE", &bound.namespace),
                variable("SERVICE_NAME", &bound.service),
                variable("HTTP_PORT", &port.to_string()),
                variable("TCP_ECHO_SERVER", tcp),
                variable("UDP_ECHO_SERVER", udp),
                variable("JOURNAL_PORT", &JOURNAL_PORT.to_string()),
                variable(TOKEN_VARIABLE, &self.run_token),
            ],
            "ports": [{"containerPort": port, "protocol": decl.protocol.carrier()}, {"containerPort": JOURNAL_PORT}],
            // Soon ready, and not taken out of service again because the node is busy.
            "readinessProbe": {
                "tcpSocket": {"port": JOURNAL_PORT},
                "periodSeconds": 1,
                "timeoutSeconds": 5,
                "failureThreshold": 12,
            },
            "securityContext": {
                "allowPrivilegeEscalation": false,
                "capabilities": {"drop": ["ALL"]},
                "runAsNonRoot": true,
                "runAsUser": USER,
                "seccompProfile": {"type": "RuntimeDefault"},
            },
        });
        json!({
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "metadata": {"name": bound.identity, "namespace": bound.namespace, "labels": labels},
            "spec": {
                "replicas": 1,
                "selector": {"matchLabels": own},
                "template": {
                    "metadata": {"labels": pod_labels},
                    "spec": {
                        "automountServiceAccountToken": false,
                        "terminationGracePeriodSeconds": 1,
                        "containers": [container],
                    },
                },
            },
        })
    }
}

/// The Service of a backend, which selects its Pods.
pub fn service(decl: &BackendDecl, (namespace, name): (&str, &str), labels: &Labels) -> Value {
    let mut service = json!({
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": name, "namespace": namespace, "labels": labels},
        "spec": {"selector": names::selector(name), "ports": [{"port": decl.port, "protocol": decl.protocol.carrier()}]},
    });
    if decl.protocol == BackendProtocol::H2c {
        service["spec"]["ports"][0]["appProtocol"] = json!("kubernetes.io/h2c");
    }
    if decl.headless {
        service["spec"]["clusterIP"] = json!("None");
    }
    service
}

impl Deployed {
    /// Waits until every backend has an endpoint that is ready.
    pub async fn ready(&mut self, view: &View, budget: Duration) -> Result<(), BackendError> {
        let all = |live: &Live| self.backends.iter().all(|backend| backend.ready_in(live).is_some());
        let ready = tokio::time::timeout(budget, view.until(all)).await.is_ok();
        // One look for all: what is ready now may be gone with the next event.
        view.look(|live| {
            for backend in &mut self.backends {
                backend.pod = backend.ready_in(live);
            }
        });
        match self.backends.iter().find(|backend| backend.pod.is_none()) {
            Some(backend) if !ready => Err(BackendError::NotReady {
                name: backend.name.clone(),
                namespace: backend.bound.namespace.clone(),
                budget,
            }),
            _ => Ok(()),
        }
    }

    /// Which of those that this EndpointSlice is of has lost its Pod by now: it was evicted or restarted, or is too busy to say that it is
    /// ready. What the target answers meanwhile says nothing of it, and what that Pod noted may be gone.
    pub fn lost(&self, key: &ObjectKey, slice: &Value, view: &View) -> Option<&str> {
        let mut lost = None;
        view.look(|live| lost = self.backends.iter().find(|one| one.is_published_by(key, slice) && one.is_lost(live)));
        lost.map(|backend| backend.name.as_str())
    }

    /// What the backends noted of these requests: for each request, the backends in order, and what each noted in order of
    /// arrival.
    pub async fn journal(&self, ids: &[String]) -> Result<Vec<JournalEntry>, ApiError> {
        let journals = self
            .backends
            .iter()
            .map(|backend| async move { Ok::<_, ApiError>((backend.name.as_str(), self.records(backend).await?)) });
        let journals = futures::future::try_join_all(journals).await?;
        let mut entries = Vec::new();
        for id in ids {
            for (name, records) in &journals {
                let of_request = records.iter().filter(|record| record.request_id.as_ref() == Some(id));
                entries.extend(of_request.map(|record| JournalEntry {
                    backend: (*name).to_owned(),
                    id: id.clone(),
                    method: record.method.clone(),
                    path: record.path.clone(),
                    proto: record.proto.clone(),
                    host: record.host.clone(),
                    headers: record.headers.clone(),
                    body_sha256: record.body_digest.clone(),
                    micros: record.micros,
                }));
            }
        }
        Ok(entries)
    }

    async fn records(&self, backend: &Backend) -> Result<Vec<Record>, ApiError> {
        // One that was never ready has noted nothing.
        let Some(Pod { name: pod, .. }) = &backend.pod else { return Ok(Vec::new()) };
        let namespace = &backend.bound.namespace;
        let path = format!("/api/v1/namespaces/{namespace}/pods/http:{}:{JOURNAL_PORT}/proxy/journal", encode(pod));
        let answer = self.deploying.api.through(&path, TOKEN_HEADER, &self.deploying.run_token).await?;
        serde_json::from_value(answer)
            .map_err(|error| {
                let image = &self.deploying.image;
                ApiError::Transport(format!(
                    "the journal of Pod {namespace}/{pod} is none ({error}); is its image, {image}, of this version of gateproof?"
                ))
            })
    }
}

impl Backend {
    /// A Pod that is a ready endpoint of the backend's Service.
    fn ready_in(&self, live: &Live) -> Option<Pod> {
        self.slices(live).find_map(|slice| self.pods(slice).next())
    }

    /// Whether the Pod that was one is none any more. Where its Service has no slice, it is the Service that went.
    fn is_lost(&self, live: &Live) -> bool {
        let Some(before) = &self.pod else { return false };
        let mut slices = self.slices(live).peekable();
        slices.peek().is_some() && !slices.any(|slice| self.pods(slice).any(|pod| pod == *before))
    }

    fn slices<'l>(&'l self, live: &'l Live) -> impl Iterator<Item = &'l Value> {
        live.iter().filter(|(key, slice)| self.is_published_by(key, slice)).map(|(_, slice)| &**slice)
    }

    /// Whether an object is a slice of the backend's Service.
    fn is_published_by(&self, key: &ObjectKey, object: &Value) -> bool {
        key.kind == "EndpointSlice"
            && key.namespace.as_ref() == Some(&self.bound.namespace)
            && object.pointer("/metadata/labels/kubernetes.io~1service-name").and_then(Value::as_str)
                == Some(self.bound.service.as_str())
    }

    /// The Pods of the backend that are ready endpoints in a slice.
    fn pods(&self, slice: &Value) -> impl Iterator<Item = Pod> {
        let prefix = format!("{}-", self.bound.identity);
        let endpoints = slice.get("endpoints").and_then(Value::as_array).into_iter().flatten();
        let ready = endpoints.filter(|endpoint| endpoint.pointer("/conditions/ready") != Some(&json!(false)));
        ready.filter_map(move |endpoint| {
            let of = |field| endpoint["targetRef"].get(field).and_then(Value::as_str).map(str::to_owned);
            let name = of("name").filter(|name| name.starts_with(&prefix))?;
            Some(Pod { name, uid: of("uid") })
        })
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use rstest::rstest;

    use super::*;

    fn backend(identity: &str) -> Backend {
        let bound =
            BackendBinding { namespace: "ns".to_owned(), service: "echo".to_owned(), identity: identity.to_owned() };
        Backend { name: "echo".to_owned(), bound, pod: None }
    }

    fn pod(name: &str, uid: Option<&str>) -> Pod {
        Pod { name: name.to_owned(), uid: uid.map(str::to_owned) }
    }

    fn live(pod: &str, ready: bool) -> Live {
        let key = ObjectKey {
            group: "discovery.k8s.io".to_owned(),
            kind: "EndpointSlice".to_owned(),
            namespace: Some("ns".to_owned()),
            name: "echo-x".to_owned(),
        };
        let labels = json!({"kubernetes.io/service-name": "echo"});
        let endpoint = json!({"conditions": {"ready": ready}, "targetRef": {"kind": "Pod", "name": pod}});
        Live::from([(key, Arc::new(json!({"metadata": {"labels": labels}, "endpoints": [endpoint]})))])
    }

    /// A slice of the Service with these Pods: name, uid, and whether it is ready.
    fn slice(name: &str, pods: &[(&str, &str, bool)]) -> (ObjectKey, Arc<Value>) {
        let (mut key, object) = live("", true).into_iter().next().unwrap();
        let endpoint = |(name, uid, ready): &(&str, &str, bool)| json!({"conditions": {"ready": ready}, "targetRef": {"kind": "Pod", "name": name, "uid": uid}});
        let mut object = Value::clone(&object);
        object["endpoints"] = pods.iter().map(endpoint).collect();
        name.clone_into(&mut key.name);
        (key, Arc::new(object))
    }

    const OWN: &str = "echo-abc-1-77-0";

    #[rstest]
    #[case::as_it_was(vec![vec![(OWN, "a", true)]], false)]
    #[case::no_longer_ready(vec![vec![(OWN, "a", false)]], true)]
    #[case::without_endpoints(vec![vec![]], true)]
    #[case::another_pod(vec![vec![("echo-abc-1-77-1", "b", true)]], true)]
    #[case::another_of_its_name(vec![vec![(OWN, "b", true)]], true)]
    #[case::beside_another(vec![vec![("echo-abc-1-77-1", "b", true), (OWN, "a", true)]], false)]
    #[case::in_one_of_several(vec![vec![("other", "c", true)], vec![(OWN, "a", true)], vec![]], false)]
    #[case::with_its_service(vec![], false)]
    fn a_backend_whose_pod_is_gone_is_lost(#[case] slices: Vec<Vec<(&str, &str, bool)>>, #[case] lost: bool) {
        let live: Live = (0..).zip(&slices).map(|(number, pods)| slice(&format!("echo-{number}"), pods)).collect();
        let before = Backend { pod: Some(pod(OWN, Some("a"))), ..backend("echo-abc-1") };
        assert_eq!(before.is_lost(&live), lost);
        // One that has yet to come is not lost.
        assert!(!backend("echo-abc-1").is_lost(&live));
    }

    #[test]
    fn a_backend_is_ready_with_an_endpoint_of_its_own() {
        let echo = backend("echo-abc-1");
        assert_eq!(echo.ready_in(&live("echo-abc-1-77-0", true)), Some(pod("echo-abc-1-77-0", None)));
        assert_eq!(echo.ready_in(&live("echo-abc-1-77-0", false)), None);
        assert_eq!(echo.ready_in(&live("echo-abc-12-77-0", true)), None);
        assert_eq!(echo.ready_in(&live("other-echo-abc-1-77-0", true)), None);
    }
}
