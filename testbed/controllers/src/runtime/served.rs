//! As what the API server serves ClusterTrustBundles, which not every cluster has. GEP-5075 has that looked up at the start and from
//! time to time, in what the server says of itself, rather than by requests that would fail.

use std::time::Duration;

use kube::{Client, Error, api::ApiResource, discovery, error::DiscoveryError};
use tokio::sync::mpsc::UnboundedSender;

use super::store::Change;
use crate::snapshot::Kind;

/// From one look to the next.
const PAUSE: Duration = Duration::from_secs(30);
/// The same while the server does not say.
const SHORT_PAUSE: Duration = Duration::from_secs(1);
/// Versions that the typed view can read, best first.
const READABLE: [&str; 2] = ["v1", "v1beta1"];

/// Looks for ever, and tells what is new.
pub(super) async fn look(client: Client, changes: UnboundedSender<Change>) {
    let mut told = None;
    loop {
        let pause = match trust_bundles(&client).await {
            Ok(served) if told.as_ref() == Some(&served) => PAUSE,
            Ok(served) => {
                if changes.send(Change::TrustBundles(served.clone())).is_err() {
                    return;
                }
                told = Some(served);
                PAUSE
            }
            Err(error) => {
                tracing::debug!(%error, "the API server does not say what it serves, and will be asked again");
                SHORT_PAUSE
            }
        };
        tokio::time::sleep(pause).await;
    }
}

async fn trust_bundles(client: &Client) -> kube::Result<Option<ApiResource>> {
    let kind = Kind::ClusterTrustBundle;
    match discovery::group(client, kind.group()).await {
        Ok(group) => Ok(READABLE.into_iter().find_map(|version| {
            let mut resources = group.versioned_resources(version).into_iter().map(|(resource, _)| resource);
            resources.find(|resource| resource.kind == kind.name())
        })),
        Err(Error::Discovery(DiscoveryError::MissingApiGroup(_) | DiscoveryError::EmptyApiGroup(_))) => Ok(None),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use std::convert::Infallible;
    use std::sync::{Arc, Mutex};

    use bytes::Bytes;
    use http_body_util::Full;
    use rstest::rstest;
    use serde_json::{Value, json};
    use tokio::sync::mpsc;

    use super::*;

    /// What the group of certificates has: plural names by version.
    type Served = Vec<(&'static str, &'static [&'static str])>;

    /// A server that says that it serves this; nothing at all if there is none.
    fn server(served: Arc<Mutex<Option<Served>>>) -> Client {
        let service = tower::service_fn(move |request: http::Request<kube::client::Body>| {
            let served = served.lock().unwrap().clone();
            let (status, body) = match served {
                None => (503, json!({"kind": "Status", "status": "Failure", "code": 503, "reason": "", "message": ""})),
                Some(served) => (200, answer(request.uri().path(), &served)),
            };
            let response = http::Response::builder().status(status).body(Full::new(Bytes::from(body.to_string())));
            async move { Ok::<_, Infallible>(response.unwrap()) }
        });
        Client::new(service, "default")
    }

    fn answer(path: &str, served: &Served) -> Value {
        let group = "certificates.k8s.io";
        let version = |name: &str| json!({"groupVersion": format!("{group}/{name}"), "version": name});
        if path == "/apis" {
            let versions: Vec<Value> = served.iter().map(|(name, _)| version(name)).collect();
            let groups = match served.first() {
                Some((preferred, _)) => {
                    json!([{"name": group, "versions": versions, "preferredVersion": version(preferred)}])
                }
                None => json!([]),
            };
            return json!({"kind": "APIGroupList", "apiVersion": "v1", "groups": groups});
        }
        let (name, plurals) = served.iter().find(|(name, _)| path == format!("/apis/{group}/{name}")).unwrap();
        let kind = |plural: &str| {
            if plural.starts_with("cluster") { "ClusterTrustBundle" } else { "CertificateSigningRequest" }
        };
        let resource = |plural: &&str| json!({"name": plural, "singularName": "", "namespaced": false, "kind": kind(plural), "verbs": ["get"]});
        let resources: Vec<Value> = plurals.iter().map(resource).collect();
        json!({"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": format!("{group}/{name}"), "resources": resources})
    }

    const BOTH: &[&str] = &["certificatesigningrequests", "clustertrustbundles"];
    const REQUESTS: &[&str] = &["certificatesigningrequests"];
    const BUNDLES: &[&str] = &["clustertrustbundles"];

    #[rstest]
    #[case::new_cluster(vec![("v1", BOTH), ("v1beta1", BUNDLES)], Some("v1"))]
    #[case::beta_alone(vec![("v1", REQUESTS), ("v1beta1", BUNDLES)], Some("v1beta1"))]
    #[case::alpha_alone(vec![("v1", REQUESTS), ("v1alpha1", BUNDLES)], None)]
    #[case::switched_off(vec![("v1", REQUESTS)], None)]
    #[case::no_group(vec![], None)]
    #[tokio::test]
    async fn the_best_version_that_can_be_read_is_found(#[case] served: Served, #[case] version: Option<&str>) {
        let found = trust_bundles(&server(Arc::new(Mutex::new(Some(served))))).await.unwrap();
        assert_eq!(found.as_ref().map(|resource| &*resource.version), version);
        assert!(found.is_none_or(|resource| resource.plural == "clustertrustbundles"));
    }

    /// A server that says nothing is no server that has none, and what changes is told once.
    #[tokio::test(start_paused = true)]
    async fn what_changes_is_told() {
        let served = Arc::new(Mutex::new(None));
        let (changes, mut changed) = mpsc::unbounded_channel();
        let looking = tokio::spawn(look(server(Arc::clone(&served)), changes));
        // The clock jumps to the next timer, so this takes no time.
        let mut told = async |now: Option<Served>| {
            *served.lock().unwrap() = now;
            let told = tokio::time::timeout(10 * PAUSE, changed.recv()).await.ok()??;
            let Change::TrustBundles(resource) = told else { panic!("something else") };
            Some(resource.map(|resource| resource.version))
        };
        assert_eq!(told(None).await, None);
        assert_eq!(told(Some(vec![("v1", REQUESTS)])).await, Some(None));
        assert_eq!(told(Some(vec![("v1", REQUESTS), ("v1beta1", BUNDLES)])).await, Some(Some("v1beta1".to_owned())));
        assert_eq!(told(None).await, None);
        assert_eq!(told(Some(vec![("v1", BOTH)])).await, Some(Some("v1".to_owned())));
        looking.abort();
    }
}
