//! A Pod that runs.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::time::Instant;

use gateproof_echo::{CertificateError, Echo, EchoError, EchoOptions, Journal};
use jiff::Timestamp;
use k8s_openapi::api::core::v1::Pod;
use serde_json::{Value, json};

use crate::addresses::Addresses;
use crate::image::{self, Certificate};
use crate::volumes::Volumes;

/// How many requests the log of a Pod keeps.
const LOG_LENGTH: usize = 20_000;

/// A Pod that runs: its backends, and what they were asked.
pub(crate) struct Running {
    pub(crate) address: IpAddr,
    /// What was bound for each port that is served.
    pub(crate) bound: BTreeMap<u16, u16>,
    pub(crate) log: Log,
    started: Timestamp,
    /// Why it is not ready, if it is not.
    failure: Option<Failure>,
    echoes: Vec<Echo>,
}

/// Why a container cannot serve.
#[derive(Debug, thiserror::Error)]
enum Failure {
    #[error(transparent)]
    Echo(#[from] EchoError),
    #[error(transparent)]
    Certificate(#[from] CertificateError),
}

impl Running {
    /// Starts what the containers of a Pod serve. One whose port cannot be bound, or whose certificate is none, leaves the Pod
    /// not ready.
    pub(crate) async fn start(pod: &Pod, volumes: &Volumes, address: IpAddr, addresses: &Addresses) -> Running {
        let log = Log { journal: Journal::new(LOG_LENGTH), epoch: (Instant::now(), Timestamp::now()) };
        let (bound, echoes) = (BTreeMap::new(), Vec::new());
        let mut running = Running { address, bound, log, started: Timestamp::now(), failure: None, echoes };
        let (namespace, name) = (text(&pod.metadata.namespace), text(&pod.metadata.name));
        for container in pod.spec.iter().flat_map(|spec| &spec.containers) {
            let role = image::role(container, namespace, name, volumes);
            for served in role.serves {
                let options = EchoOptions {
                    bind: addresses.bind(address, served.port),
                    protocol: served.protocol,
                    identity: role.identity.clone(),
                    run_token: role.run_token.clone(),
                    journal: running.log.journal.clone(),
                };
                let started = match served.certificate.as_ref().map(Certificate::server) {
                    None => Echo::start(options).await.map_err(Failure::from),
                    Some(Ok(tls)) => Echo::start_tls(options, tls).await.map_err(Failure::from),
                    Some(Err(error)) => Err(error.into()),
                };
                match started {
                    Ok(echo) => {
                        running.bound.insert(served.port, echo.addr().port());
                        running.echoes.push(echo);
                    }
                    Err(error) => {
                        tracing::warn!(namespace, pod = name, %error, "a container cannot serve");
                        running.failure = Some(error);
                    }
                }
            }
        }
        running
    }

    pub(crate) fn is_ready(&self) -> bool {
        self.failure.is_none()
    }

    /// Frees the ports, then lets answers under way end.
    pub(crate) async fn stop(self) {
        futures::future::join_all(self.echoes.into_iter().map(Echo::shutdown)).await;
    }

    /// The status of the Pod, as a merge patch.
    pub(crate) fn status(&self, pod: &Pod) -> Value {
        let started = self.started.to_string();
        let ready = if self.is_ready() { "True" } else { "False" };
        let condition =
            |kind: &str, status: &str| json!({"type": kind, "status": status, "lastTransitionTime": started});
        let containers = pod.spec.iter().flat_map(|spec| &spec.containers).map(|container| {
            let state = match &self.failure {
                None => json!({"running": {"startedAt": started}}),
                Some(error) => json!({"waiting": {"reason": "RunContainerError", "message": error.to_string()}}),
            };
            json!({
                "name": container.name,
                "image": container.image,
                "imageID": container.image,
                "containerID": format!("gateproof://{}/{}", text(&pod.metadata.uid), container.name),
                "restartCount": 0,
                "started": self.is_ready(),
                "ready": self.is_ready(),
                "state": state,
            })
        });
        json!({"status": {
            "phase": if self.is_ready() { "Running" } else { "Pending" },
            "startTime": started,
            "hostIP": self.address.to_string(),
            "hostIPs": [{"ip": self.address.to_string()}],
            "podIP": self.address.to_string(),
            "podIPs": [{"ip": self.address.to_string()}],
            "conditions": [
                condition("PodScheduled", "True"),
                condition("Initialized", "True"),
                condition("ContainersReady", ready),
                condition("Ready", ready),
            ],
            "containerStatuses": containers.collect::<Vec<_>>(),
        }})
    }

    /// Whether a Pod's status says already where it runs.
    pub(crate) fn is_told(&self, pod: &Pod) -> bool {
        let status = pod.status.as_ref();
        let told = status.and_then(|status| status.conditions.as_ref()).into_iter().flatten();
        let mut told = told.filter(|condition| condition.type_ == "Ready").map(|condition| condition.status == "True");
        status.and_then(|status| status.pod_ip.as_deref()) == Some(self.address.to_string().as_str())
            && told.next() == Some(self.is_ready())
    }
}

fn text(field: &Option<String>) -> &str {
    field.as_deref().unwrap_or_default()
}

/// What the backends of a Pod were asked, as log lines.
#[derive(Clone)]
pub(crate) struct Log {
    journal: Journal,
    /// One moment on both clocks.
    epoch: (Instant, Timestamp),
}

impl Log {
    /// The lines since a moment, oldest first; all that are kept if there is none.
    pub(crate) fn lines(&self, since: Option<Timestamp>) -> Vec<String> {
        let (instant, timestamp) = self.epoch;
        let records = self.journal.records();
        let recent = records.iter().filter(|record| {
            let after = i64::try_from(record.at.saturating_duration_since(instant).as_micros()).unwrap_or(i64::MAX);
            since.is_none_or(|since| timestamp.as_microsecond().saturating_add(after) >= since.as_microsecond())
        });
        // The words before the path are those that tests look for in the log of upstream's echo.
        recent
            .map(|record| format!("Echoing back request made to {} to client ({})", record.path, record.peer))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    use super::*;
    use crate::addresses::Place;

    fn pod() -> Pod {
        serde_json::from_value(json!({
            "metadata": {"name": "pod-1", "namespace": "ns", "uid": "u"},
            "spec": {"containers": [{"name": "c", "image": "echo-basic"}]},
        }))
        .unwrap()
    }

    async fn start() -> (Running, Addresses) {
        let mut addresses = Addresses::new(Place::Shared(std::net::Ipv4Addr::LOCALHOST.into()));
        let address = addresses.take().unwrap();
        (Running::start(&pod(), &Volumes::default(), address, &addresses).await, addresses)
    }

    fn told(running: &Running) -> Pod {
        let status = serde_json::from_value(running.status(&pod())["status"].clone()).unwrap();
        Pod { status: Some(status), ..pod() }
    }

    #[tokio::test]
    async fn a_pod_serves_and_says_so() {
        let (running, _) = start().await;
        assert_eq!(running.bound.keys().copied().collect::<Vec<_>>(), [3000, 3001]);
        assert!(!running.is_told(&pod()) && running.is_told(&told(&running)));
        running.stop().await;
    }

    #[tokio::test]
    async fn a_port_that_is_taken_leaves_the_pod_not_ready() {
        let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let mut pod = pod();
        let port = taken.local_addr().unwrap().port().to_string();
        pod.spec.as_mut().unwrap().containers[0].env =
            serde_json::from_value(json!([{"name": "HTTP_PORT", "value": port}])).unwrap();
        let addresses = Addresses::new(Place::Loopback([127, 0, 0]));
        let running = Running::start(&pod, &Volumes::default(), std::net::Ipv4Addr::LOCALHOST.into(), &addresses).await;
        let status = &running.status(&pod)["status"];
        assert_eq!((running.is_ready(), &status["phase"]), (false, &json!("Pending")));
        assert!(status["containerStatuses"][0]["state"]["waiting"]["message"].as_str().unwrap().contains(&port));
    }

    #[tokio::test]
    async fn requests_are_logged_from_a_moment_on() {
        let (running, _) = start().await;
        let mut stream = tokio::net::TcpStream::connect((running.address, running.bound[&3000])).await.unwrap();
        stream.write_all(b"GET /a?b HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n").await.unwrap();
        stream.read_to_end(&mut Vec::new()).await.unwrap();
        let lines = running.log.lines(None);
        assert!(lines[0].starts_with("Echoing back request made to /a?b to client (127.0.0.1:"), "{lines:?}");
        assert_eq!(running.log.lines(Some(running.started)).len(), 1);
        let later = running.started + jiff::SignedDuration::from_hours(1);
        assert!(running.log.lines(Some(later)).is_empty());
    }
}
