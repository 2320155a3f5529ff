//! Leases: that a run is alive, and that it has something of the cluster to itself.
//!
//! A run renews one Lease in its own namespace, and `gateproof clean` takes no run whose Lease was renewed while it looked. What
//! only one run at a time may change or use is a Lease in [`LOCKS`]. No two clocks are compared: whoever waits for a Lease to be over
//! waits for as long as it lasts, by his own clock, from the last time that he saw it change.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use futures::StreamExt as _;
use futures::stream::FuturesUnordered;
use http::Method;
use serde_json::{Value, json};
use tokio::sync::OwnedMutexGuard;
use tokio_util::sync::CancellationToken;
use tokio_util::task::AbortOnDropHandle;

use super::api::{Api, ApiError, Reply, encode, refusal};
use super::clock::{self, Backoff};
use super::names::{self, FIELD_MANAGER, MANAGED_BY, MANAGED_BY_LABEL, RUN_LABEL, pool_namespace};
use super::write::is_another;

/// The namespace of what runs have to themselves. It is made on need and outlives them; `gateproof clean --all` removes it.
pub const LOCKS: &str = "gateproof-locks";
/// Label of that namespace.
pub const LOCKS_LABEL: &str = "gateproof.dev/locks";
/// Name of the Lease that says that a run is alive.
const ALIVE: &str = "run";
/// How long a Lease lasts: several times what a busy machine or API server may keep a renewal waiting.
const LASTS: Duration = Duration::from_secs(40);
/// How often it is renewed.
const RENEWED: Duration = Duration::from_secs(10);
/// How long a renewal goes without an answer until the next is tried beside it, and how soon after a bad one: several find room before the
/// Lease is over.
const RENEWAL: (Duration, Duration) = (Duration::from_secs(5), Duration::from_secs(1));
/// How many times as long others of the same run are waited for.
const OWN_PATIENCE: u32 = 4;
/// The first pause between two looks at a Lease that somebody else holds, and the longest.
const PAUSES: (Duration, Duration) = (Duration::from_millis(50), Duration::from_secs(1));

/// Takes Leases for one run.
#[derive(Clone)]
pub struct Leases {
    api: Api,
    run_id: Arc<str>,
    patience: Duration,
    stop: CancellationToken,
    turns: Turns,
    lost: Lost,
}

/// A Lease that is renewed until it is given back or this is dropped.
pub struct Held {
    api: Api,
    path: String,
    uid: String,
    renewal: AbortOnDropHandle<()>,
    _turn: Option<OwnedMutexGuard<()>>,
}

/// Locks by name: within a run, too, one execution at a time has each.
type Turns = Arc<Mutex<HashMap<String, Arc<tokio::sync::Mutex<()>>>>>;

/// Whether a Lease of the run has gone to somebody else.
#[derive(Clone, Default)]
struct Lost {
    why: Arc<OnceLock<String>>,
    told: CancellationToken,
}

impl Lost {
    fn tell(&self, path: &str) {
        let name = path.rsplit('/').next().unwrap_or_default();
        // The first one is as good as any.
        let _ = self.why.set(format!(
            "the Lease {name} of this run is gone: somebody removed it, or `gateproof clean` took the run for one that is over; \
             what others do now may show in what it sees"
        ));
        self.told.cancel();
    }
}

/// Why a Lease cannot be had.
#[derive(Debug, thiserror::Error)]
pub enum LeaseError {
    /// Somebody else has it and goes on renewing it.
    #[error("run {holder} holds {name} for longer than {patience:?}")]
    Busy {
        /// Which.
        name: String,
        /// Who, by the identity that it gives.
        holder: String,
        /// How long it was waited for.
        patience: Duration,
    },
    /// The run was broken off meanwhile.
    #[error("interrupted while it waited for {0}")]
    Stopped(String),
    /// Another Lease of the run has gone to somebody else.
    #[error("{0}")]
    Lost(String),
    /// The API server does not give it.
    #[error("cannot take the Lease {name}: {error}")]
    Refused {
        /// Which.
        name: String,
        /// Why.
        error: ApiError,
    },
}

/// A Lease as it was last seen to change.
struct Sight {
    version: String,
    since: tokio::time::Instant,
}

impl Leases {
    /// For a run. It waits for what others hold for `patience` at most, but always long enough to outlive a holder that is gone.
    /// With `stop`, nothing is waited for any longer.
    pub fn new(api: Api, run_id: &str, patience: Duration, stop: CancellationToken) -> Leases {
        let (turns, lost) = Default::default();
        Leases { api, run_id: Arc::from(run_id), patience: patience.max(LASTS * 2), stop, turns, lost }
    }

    /// Why nothing can be said of the target any more, if somebody else has a Lease of the run.
    pub fn lost(&self) -> Option<&str> {
        self.lost.why.get().map(String::as_str)
    }

    /// Returns once that is so.
    pub async fn are_lost(&self) {
        self.lost.told.cancelled().await;
    }

    /// Says from now on that the run is alive. Its own namespace must be there.
    ///
    /// # Errors
    /// If the API server does not take the Lease.
    pub async fn live(&self) -> Result<Held, LeaseError> {
        let namespace = pool_namespace(&self.run_id);
        let refused = |error| LeaseError::Refused { name: format!("{namespace}/{ALIVE}"), error };
        match self.create(&namespace, ALIVE).await.map_err(refused)? {
            Ok(lease) => Ok(self.hold(&namespace, ALIVE, &lease, None)),
            Err(reply) => match self.mine(&namespace, ALIVE).await {
                // An answer was lost.
                Ok(Some(lease)) => Ok(self.hold(&namespace, ALIVE, &lease, None)),
                _ => Err(refused(refusal(&reply))),
            },
        }
    }

    /// Takes locks in order of name, so that no two runs wait for each other. Names runs whose locks were over and are taken now.
    ///
    /// # Errors
    /// If one cannot be had; those taken before are given back.
    pub async fn take(&self, mut locks: Vec<String>) -> Result<(Vec<Held>, Vec<String>), LeaseError> {
        locks.sort();
        locks.dedup();
        let (mut held, mut gone) = (Vec::new(), Vec::new());
        for name in locks {
            match self.lock(&name, &mut gone).await {
                Ok(lock) => held.push(lock),
                Err(error) => {
                    give_back(held).await;
                    return Err(error);
                }
            }
        }
        Ok((held, gone))
    }

    async fn lock(&self, name: &str, gone: &mut Vec<String>) -> Result<Held, LeaseError> {
        let turn = {
            let mut turns = self.turns.lock().unwrap_or_else(PoisonError::into_inner);
            Arc::clone(turns.entry(name.to_owned()).or_default())
        };
        // Who of this run has it may have to fail slowly first, and to clean up.
        let end = clock::now() + self.patience * OWN_PATIENCE;
        tokio::select! {
            turn = turn.lock_owned() => self.lock_in_turn(name, turn, gone).await,
            () = clock::until(end) => {
                let (name, holder) = (name.to_owned(), self.run_id.to_string());
                Err(LeaseError::Busy { name, holder, patience: self.patience * OWN_PATIENCE })
            }
            () = self.stop.cancelled() => Err(LeaseError::Stopped(name.to_owned())),
            () = self.are_lost() => Err(LeaseError::Lost(self.lost().unwrap_or_default().to_owned())),
        }
    }

    async fn lock_in_turn(
        &self,
        name: &str,
        turn: OwnedMutexGuard<()>,
        gone: &mut Vec<String>,
    ) -> Result<Held, LeaseError> {
        let refused = |error| LeaseError::Refused { name: name.to_owned(), error };
        let end = clock::now() + self.patience;
        let mut pause = Backoff::new(PAUSES.0, PAUSES.1);
        let mut sight: Option<Sight> = None;
        loop {
            if self.stop.is_cancelled() {
                return Err(LeaseError::Stopped(name.to_owned()));
            }
            if let Some(why) = self.lost() {
                return Err(LeaseError::Lost(why.to_owned()));
            }
            let reply = match self.create(LOCKS, name).await.map_err(refused)? {
                Ok(lease) => return Ok(self.hold(LOCKS, name, &lease, Some(turn))),
                Err(reply) => reply,
            };
            let mut holder = "another".to_owned();
            if reply.code == 404 {
                self.make_namespace().await.map_err(refused)?;
                if sight.is_none() && clock::now() + pause.peek() < end {
                    self.pause(&mut pause).await;
                    continue;
                }
            } else if reply.code == 409 {
                match self.api.get(&lease_path(LOCKS, name)).await {
                    // An answer was lost.
                    Ok(lease) if is_held_by(&lease, &self.run_id) => {
                        return Ok(self.hold(LOCKS, name, &lease, Some(turn)));
                    }
                    Ok(lease) => {
                        holder = text(&lease, "/spec/holderIdentity");
                        let version = text(&lease, "/metadata/resourceVersion");
                        let now = clock::now();
                        match &sight {
                            Some(seen) if seen.version == version => {
                                if now >= seen.since + lasts(&lease) {
                                    self.remove(name, &lease).await.map_err(refused)?;
                                    gone.push(holder.clone());
                                    sight = None;
                                    continue;
                                }
                            }
                            _ => sight = Some(Sight { version, since: now }),
                        }
                    }
                    Err(error) if error.is_not_found() => continue,
                    Err(error) => return Err(refused(error)),
                }
            } else if !reply.is_passing() && reply.code != 403 {
                return Err(refused(refusal(&reply)));
            }
            // 403 is what a namespace answers that is going; who may not create Leases at all is told so in the end.
            if clock::now() + pause.peek() >= end {
                let busy = LeaseError::Busy { name: name.to_owned(), holder, patience: self.patience };
                return Err(if reply.code == 409 { busy } else { refused(refusal(&reply)) });
            }
            self.pause(&mut pause).await;
        }
    }

    async fn pause(&self, pause: &mut Backoff) {
        tokio::select! {
            () = clock::until(clock::now() + pause.step(Duration::ZERO)) => {}
            () = self.stop.cancelled() => {}
            () = self.are_lost() => {}
        }
    }

    /// Creates a Lease; the inner error is the answer that did not take it.
    async fn create(&self, namespace: &str, name: &str) -> Result<Result<Value, Reply>, ApiError> {
        let now = clock::micro_date();
        let lease = json!({
            "apiVersion": "coordination.k8s.io/v1",
            "kind": "Lease",
            "metadata": {"name": name, "namespace": namespace, "labels": names::labels(&self.run_id, None)},
            "spec": {
                "holderIdentity": &*self.run_id,
                "leaseDurationSeconds": LASTS.as_secs(),
                "acquireTime": now,
                "renewTime": now,
                "leaseTransitions": 0,
            },
        });
        let reply = self.post(&lease_path(namespace, ""), &lease).await?;
        Ok(if reply.code < 300 { Ok(reply.body) } else { Err(reply) })
    }

    async fn make_namespace(&self) -> Result<(), ApiError> {
        let labels = json!({LOCKS_LABEL: "true", MANAGED_BY_LABEL: MANAGED_BY});
        let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": LOCKS, "labels": labels}});
        let reply = self.post("/api/v1/namespaces", &namespace).await?;
        if reply.code < 300 || reply.code == 409 || reply.is_passing() { Ok(()) } else { Err(refusal(&reply)) }
    }

    async fn post(&self, path: &str, object: &Value) -> Result<Reply, ApiError> {
        let path = format!("{path}?fieldManager={FIELD_MANAGER}");
        let body = object.to_string().into_bytes();
        let mut backoff = Backoff::new(PAUSES.0, PAUSES.1);
        let end = clock::now() + LASTS;
        loop {
            match self.api.call(Method::POST, &path, Some("application/json"), body.clone()).await {
                Ok(reply) if is_passing(&reply) && clock::now() + backoff.peek() < end => {
                    clock::until(clock::now() + backoff.step(reply.pause())).await;
                }
                Ok(reply) => return Ok(reply),
                Err(error) => {
                    if self.api.back().await.is_none() || clock::now() >= end {
                        return Err(error);
                    }
                }
            }
        }
    }

    async fn mine(&self, namespace: &str, name: &str) -> Result<Option<Value>, ApiError> {
        let lease = self.api.get(&lease_path(namespace, name)).await?;
        Ok(Some(lease).filter(|lease| is_held_by(lease, &self.run_id)))
    }

    async fn remove(&self, name: &str, lease: &Value) -> Result<(), ApiError> {
        let (uid, version) = (text(lease, "/metadata/uid"), text(lease, "/metadata/resourceVersion"));
        delete(&self.api, &lease_path(LOCKS, name), json!({"uid": uid, "resourceVersion": version})).await
    }

    fn hold(&self, namespace: &str, name: &str, lease: &Value, turn: Option<OwnedMutexGuard<()>>) -> Held {
        let (api, path, uid) = (self.api.clone(), lease_path(namespace, name), text(lease, "/metadata/uid"));
        let renewal = renew(api.clone(), path.clone(), uid.clone(), self.lost.clone());
        Held { api, path, uid, renewal: AbortOnDropHandle::new(tokio::spawn(renewal)), _turn: turn }
    }
}

impl Held {
    /// Gives the Lease back. Whoever took it over meanwhile keeps it.
    pub async fn give_back(self) {
        self.renewal.abort();
        // One that stays is over in a while.
        let _ = delete(&self.api, &self.path, json!({"uid": self.uid})).await;
    }

    /// Says that the run is over and what it left may be taken, and leaves the Lease where it is.
    pub async fn end(self) {
        self.renewal.abort();
        let patch = json!({"metadata": {"uid": self.uid}, "spec": {"holderIdentity": Value::Null}});
        let _ = self.api.call(Method::PATCH, &patched(&self.path), Some(MERGE), patch.to_string().into_bytes()).await;
    }
}

/// Gives all of them back.
pub async fn give_back(held: Vec<Held>) {
    futures::future::join_all(held.into_iter().map(Held::give_back)).await;
}

/// What the Lease of a run says of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sign {
    /// The run.
    pub run_id: String,
    /// Changes whenever it is renewed.
    pub version: String,
    /// How long it lasts from the last change; nothing if the run has said that it is over.
    pub lasts: Option<Duration>,
}

/// The Leases by which runs say that they are alive.
///
/// # Errors
/// If they cannot be listed.
pub async fn signs(api: &Api) -> Result<Vec<Sign>, ApiError> {
    let path = format!("/apis/coordination.k8s.io/v1/leases?labelSelector={}", encode(RUN_LABEL));
    let list = api.get(&path).await?;
    let items = list.get("items").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    Ok(items.iter().filter_map(sign).collect())
}

/// Removes the locks of runs by a label selector.
///
/// # Errors
/// If they cannot be listed or removed.
pub async fn remove_locks(api: &Api, selector: &str) -> Result<(), ApiError> {
    let list = api.get(&format!("{}?labelSelector={}", lease_path(LOCKS, ""), encode(selector))).await?;
    for lease in list.get("items").and_then(Value::as_array).into_iter().flatten() {
        let path = lease_path(LOCKS, &text(lease, "/metadata/name"));
        delete(api, &path, json!({"uid": text(lease, "/metadata/uid")})).await?;
    }
    Ok(())
}

fn sign(lease: &Value) -> Option<Sign> {
    let run_id = lease.pointer("/metadata/labels")?.get(RUN_LABEL)?.as_str()?.to_owned();
    let own = text(lease, "/metadata/name") == ALIVE && text(lease, "/metadata/namespace") == pool_namespace(&run_id);
    let held = !text(lease, "/spec/holderIdentity").is_empty();
    own.then(|| Sign { run_id, version: text(lease, "/metadata/resourceVersion"), lasts: held.then(|| lasts(lease)) })
}

/// Whether a creation is to be sent again. That somebody else was faster says nothing of one; that it is there already does.
fn is_passing(reply: &Reply) -> bool {
    reply.is_passing() || (reply.code == 409 && reply.body.get("reason").and_then(Value::as_str) == Some("Conflict"))
}

const MERGE: &str = "application/merge-patch+json";

/// Whether the API server says that there is no such Lease; somebody before it may say so of the API server.
fn is_gone(reply: &Reply) -> bool {
    reply.code == 404 && reply.body.get("reason").and_then(Value::as_str) == Some("NotFound")
}

async fn renew(api: Api, path: String, uid: String, lost: Lost) {
    let path_of_patch = patched(&path);
    let ask = || {
        let patch = json!({"metadata": {"uid": uid}, "spec": {"renewTime": clock::micro_date()}});
        api.call(Method::PATCH, &path_of_patch, Some(MERGE), patch.to_string().into_bytes())
    };
    loop {
        clock::until(clock::now() + RENEWED).await;
        // What is not answered yet is not taken back: the API server may be slow and no more.
        let mut asked = FuturesUnordered::new();
        loop {
            asked.push(ask());
            match tokio::time::timeout(RENEWAL.0, asked.next()).await {
                Ok(Some(Ok(reply))) if reply.code < 300 => break,
                // What is gone is nobody's to renew.
                Ok(Some(Ok(reply))) if is_gone(&reply) || is_another(&reply) => {
                    lost.tell(&path);
                    return;
                }
                Ok(_) => clock::until(clock::now() + RENEWAL.1).await,
                Err(_) => {}
            }
        }
    }
}

async fn delete(api: &Api, path: &str, preconditions: Value) -> Result<(), ApiError> {
    let options = json!({"apiVersion": "v1", "kind": "DeleteOptions", "preconditions": preconditions});
    let body = options.to_string().into_bytes();
    let reply = api.call(Method::DELETE, path, Some("application/json"), body).await?;
    if reply.code < 300 || matches!(reply.code, 404 | 409) || reply.is_passing() {
        Ok(())
    } else {
        Err(refusal(&reply))
    }
}

fn patched(path: &str) -> String {
    format!("{path}?fieldManager={FIELD_MANAGER}")
}

/// The path of a Lease, or of all in a namespace.
fn lease_path(namespace: &str, name: &str) -> String {
    let collection = format!("/apis/coordination.k8s.io/v1/namespaces/{namespace}/leases");
    if name.is_empty() { collection } else { format!("{collection}/{name}") }
}

fn is_held_by(lease: &Value, run_id: &str) -> bool {
    text(lease, "/spec/holderIdentity") == run_id
}

fn lasts(lease: &Value) -> Duration {
    let seconds = lease.pointer("/spec/leaseDurationSeconds").and_then(Value::as_u64);
    seconds.map_or(LASTS, Duration::from_secs)
}

fn text(object: &Value, pointer: &str) -> String {
    object.pointer(pointer).and_then(Value::as_str).unwrap_or_default().to_owned()
}

#[cfg(test)]
#[path = "lease_tests.rs"]
mod tests;
