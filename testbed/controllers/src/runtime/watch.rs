use std::collections::BTreeMap;

use futures::{StreamExt, pin_mut};
use kube::{
    Api, Client,
    api::{ApiResource, DynamicObject},
    runtime::{WatchStreamExt, watcher},
};
use tokio::{sync::mpsc::UnboundedSender, task::JoinHandle};

use super::{
    kinds, served,
    store::{Change, Store, key},
};
use crate::snapshot::Kind;

/// The code of an error that ends a watch because the server has forgotten what came next.
const GONE: u16 = 410;

/// The watches that run: one for each kind that the cluster has.
pub(super) struct Watches {
    client: Client,
    changes: UnboundedSender<Change>,
    running: BTreeMap<Kind, Running>,
    _looking: Task,
    /// As what ClusterTrustBundles are served, once the server has said whether they are.
    trust_bundles: Option<Option<ApiResource>>,
}

struct Running {
    resource: ApiResource,
    _watching: Task,
}

/// Ends when it is dropped.
struct Task(JoinHandle<()>);

impl Drop for Task {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl Watches {
    /// Starts with the kinds that every cluster has.
    pub(super) fn new(client: Client, changes: UnboundedSender<Change>) -> Self {
        let looking = Task(tokio::spawn(served::look(client.clone(), changes.clone())));
        let mut watches = Self { client, changes, running: BTreeMap::new(), _looking: looking, trust_bundles: None };
        watches.follow(&Store::default());
        watches
    }

    /// Starts watching what has appeared and stops what is gone or served in another version now. Returns the kinds
    /// that were stopped, of which nothing is known any more.
    pub(super) fn follow(&mut self, store: &Store) -> Vec<Kind> {
        let wanted: BTreeMap<Kind, ApiResource> =
            kinds::available(store.known(), self.trust_bundles.as_ref().and_then(Option::as_ref)).into_iter().collect();
        let stopped: Vec<Kind> = self
            .running
            .iter()
            .filter(|(kind, running)| wanted.get(kind) != Some(&running.resource))
            .map(|(kind, _)| *kind)
            .collect();
        self.running.retain(|kind, _| !stopped.contains(kind));
        for (kind, resource) in wanted {
            self.running.entry(kind).or_insert_with(|| {
                let api = Api::all_with(self.client.clone(), &resource);
                let watching = Task(tokio::spawn(watch(kind, api, self.changes.clone())));
                Running { resource, _watching: watching }
            });
        }
        stopped
    }

    /// Takes a change in, unless its watch was stopped meanwhile: what went with its definition does not come back.
    pub(super) fn hear(&mut self, change: Change, store: &mut Store) {
        let is_of_server = if let Change::TrustBundles(served) = &change {
            self.trust_bundles = Some(served.clone());
            true
        } else {
            false
        };
        if is_of_server || self.running.contains_key(&change.kind()) {
            store.absorb(change);
        }
    }

    /// Whether everything that is watched was listed and nothing of it was lost since, and whether it is known what there is to be
    /// watched. Without that, absence means nothing, and a kind that is listed again sooner than another would be judged by what the
    /// other was.
    pub(super) fn are_synced(&self, store: &Store) -> bool {
        self.trust_bundles.is_some() && self.running.keys().all(|kind| store.is_synced(*kind))
    }

    /// How a kind is spoken of to the server.
    pub(super) fn resource(&self, kind: Kind) -> Option<&ApiResource> {
        self.running.get(&kind).map(|running| &running.resource)
    }
}

/// Follows one kind for ever. Broken connections, compacted versions and errors of the server end in a new list, with
/// increasing pauses between attempts that fail.
async fn watch(kind: Kind, api: Api<DynamicObject>, changes: UnboundedSender<Change>) {
    let events = watcher(api, watcher::Config::default()).default_backoff();
    pin_mut!(events);
    let mut listed = Vec::new();
    while let Some(event) = events.next().await {
        let change = match event {
            Ok(watcher::Event::Init) => {
                listed.clear();
                continue;
            }
            Ok(watcher::Event::InitApply(object)) => {
                listed.push(object);
                continue;
            }
            Ok(watcher::Event::InitDone) => Change::All(kind, std::mem::take(&mut listed)),
            Ok(watcher::Event::Apply(object)) => Change::Applied(kind, Box::new(object)),
            Ok(watcher::Event::Delete(object)) => Change::Gone(kind, key(&object)),
            Err(watcher::Error::WatchError(status)) if status.code == GONE => Change::Lost(kind),
            Err(error) => {
                tracing::debug!(kind = kind.name(), %error, "a watch failed and will be tried again");
                continue;
            }
        };
        if changes.send(change).is_err() {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use std::convert::Infallible;
    use std::sync::atomic::{AtomicU32, Ordering};

    use bytes::Bytes;
    use http_body_util::Full;
    use serde_json::json;
    use tokio::sync::mpsc;

    use super::*;

    /// Answers lists with nothing, the first watch with the end of what is kept, and later ones never.
    fn forgetful() -> Client {
        let watches = std::sync::Arc::new(AtomicU32::new(0));
        let service = tower::service_fn(move |request: http::Request<kube::client::Body>| {
            let watches = std::sync::Arc::clone(&watches);
            async move {
                let watched = request.uri().query().is_some_and(|query| query.contains("watch=true"));
                let answer = if !watched {
                    json!({"metadata": {"resourceVersion": "7"}, "items": []})
                } else if watches.fetch_add(1, Ordering::Relaxed) == 0 {
                    json!({"type": "ERROR", "object": {"status": "Failure", "code": 410, "reason": "Expired", "message": "too old"}})
                } else {
                    std::future::pending().await
                };
                Ok::<_, Infallible>(http::Response::new(Full::new(Bytes::from(answer.to_string()))))
            }
        });
        Client::new(service, "default")
    }

    #[tokio::test]
    async fn what_a_stopped_watch_still_says_counts_for_nothing() {
        let mut watches = Watches::new(forgetful(), mpsc::unbounded_channel().0);
        let mut store = Store::default();
        for (kind, spec, known) in [(Kind::Service, json!({"ports": []}), 1), (Kind::TcpRoute, json!({"rules": []}), 0)]
        {
            let object = json!({"metadata": {"name": "a", "namespace": "b"}, "spec": spec});
            let object: DynamicObject = serde_json::from_value(object).unwrap();
            watches.hear(Change::Applied(kind, Box::new(object)), &mut store);
            assert_eq!(store.known().all(kind).count(), known, "{kind:?}");
        }
    }

    #[tokio::test]
    async fn trust_bundles_are_watched_while_they_are_served() {
        let mut watches = Watches::new(forgetful(), mpsc::unbounded_channel().0);
        let mut store = Store::default();
        let list = |kind| Change::All(kind, Vec::new());
        for kind in watches.running.keys().copied().collect::<Vec<_>>() {
            watches.hear(list(kind), &mut store);
        }
        // Before the server has said anything nobody knows what is missing.
        assert!(!watches.are_synced(&store));
        let beta = ApiResource { version: "v1beta1".to_owned(), ..kinds::built_in_release(Kind::ClusterTrustBundle) };
        for served in [None, Some(beta), Some(kinds::built_in_release(Kind::ClusterTrustBundle)), None] {
            watches.hear(Change::TrustBundles(served.clone()), &mut store);
            watches.follow(&store).into_iter().for_each(|kind| store.forget(kind));
            assert_eq!(watches.resource(Kind::ClusterTrustBundle), served.as_ref());
            assert_eq!(store.known().lacks_trust_bundles, served.is_none());
            assert_eq!(watches.are_synced(&store), served.is_none());
            watches.hear(list(Kind::ClusterTrustBundle), &mut store);
            assert!(watches.are_synced(&store));
        }
    }

    #[tokio::test(start_paused = true)]
    async fn what_is_lost_counts_as_unknown_until_the_next_list() {
        let (changes, mut changed) = mpsc::unbounded_channel();
        let api = Api::all_with(forgetful(), &kinds::built_in_release(Kind::Service));
        let _watching = tokio::spawn(watch(Kind::Service, api, changes));
        let mut store = Store::default();
        let mut synced = Vec::new();
        for _ in 0..3 {
            // The clock jumps to the next timer, so this takes no time.
            let change = tokio::time::timeout(std::time::Duration::from_secs(3600), changed.recv()).await;
            store.absorb(change.unwrap().unwrap());
            synced.push(store.is_synced(Kind::Service));
        }
        assert_eq!(synced, [true, false, true]);
    }
}
