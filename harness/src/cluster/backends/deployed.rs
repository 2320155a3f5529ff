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
use crate::log::{BackendBinding, Bindings, Change, JournalEntry};
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

    /// Which of them has lost its Pod, by a version of an EndpointSlice: it was evicted or restarted, or is too busy to say that it is
    /// ready. What the target answers meanwhile says nothing of it, and what that Pod noted may be gone.
    pub fn lost(&self, namespace: Option<&str>, change: Change, slice: &Value) -> Option<&str> {
        lost(&self.backends, namespace, change, slice)
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

fn lost<'b>(backends: &'b [Backend], namespace: Option<&str>, change: Change, slice: &Value) -> Option<&'b str> {
    let of_it = backends.iter().filter(|backend| backend.is_published_by(namespace, slice));
    let lost = of_it.into_iter().find(|backend| match (change, &backend.pod, backend.pod_in(slice)) {
        // One that goes may go with its Service, and one that comes may be one of several.
        (Change::Deleted, ..) | (Change::Added, _, None) | (_, None, _) => false,
        (_, Some(before), now) => now.as_ref() != Some(before),
    });
    lost.map(|backend| backend.name.as_str())
}

impl Backend {
    /// The Pod that is a ready endpoint of the backend's Service.
    fn ready_in(&self, live: &Live) -> Option<Pod> {
        let slices = live.iter().filter(|(key, object)| {
            key.kind == "EndpointSlice" && self.is_published_by(key.namespace.as_deref(), object)
        });
        slices.into_iter().find_map(|(_, slice)| self.pod_in(slice))
    }

    /// Whether a slice is of the backend's Service.
    fn is_published_by(&self, namespace: Option<&str>, slice: &Value) -> bool {
        namespace == Some(&self.bound.namespace)
            && slice.pointer("/metadata/labels/kubernetes.io~1service-name").and_then(Value::as_str)
                == Some(self.bound.service.as_str())
    }

    /// The Pod of the backend that is a ready endpoint in a slice.
    fn pod_in(&self, slice: &Value) -> Option<Pod> {
        let prefix = format!("{}-", self.bound.identity);
        let endpoints = slice.get("endpoints").and_then(Value::as_array).into_iter().flatten();
        let mut ready = endpoints.filter(|endpoint| endpoint.pointer("/conditions/ready") != Some(&json!(false)));
        ready.find_map(|endpoint| {
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
    use crate::log::ObjectKey;

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

    #[rstest]
    #[case::as_it_was("echo-abc-1-77-0", "a", true, Change::Modified, None)]
    #[case::no_longer_ready("echo-abc-1-77-0", "a", false, Change::Modified, Some("echo"))]
    #[case::not_ready_in_another("echo-abc-1-77-0", "a", false, Change::Added, None)]
    #[case::another_pod("echo-abc-1-77-1", "b", true, Change::Modified, Some("echo"))]
    #[case::another_of_its_name("echo-abc-1-77-0", "b", true, Change::Added, Some("echo"))]
    #[case::with_its_service("echo-abc-1-77-0", "a", false, Change::Deleted, None)]
    fn a_backend_whose_pod_is_gone_is_lost(
        #[case] name: &str,
        #[case] uid: &str,
        #[case] ready: bool,
        #[case] change: Change,
        #[case] expected: Option<&str>,
    ) {
        let mut slice = Value::clone(&live(name, ready).into_values().next().unwrap());
        slice["endpoints"][0]["targetRef"]["uid"] = json!(uid);
        let before = [Backend { pod: Some(pod("echo-abc-1-77-0", Some("a"))), ..backend("echo-abc-1") }];
        assert_eq!(lost(&before, Some("ns"), change, &slice), expected);
        assert_eq!(lost(&before, Some("other"), change, &slice), None);
        // One that has yet to come is not lost.
        assert_eq!(lost(&[backend("echo-abc-1")], Some("ns"), change, &slice), None);
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
