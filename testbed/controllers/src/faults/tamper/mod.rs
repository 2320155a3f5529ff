//! One wrong value at one place, from one moment on.
//!
//! A named fault misbehaves all the time and wherever its mistake applies. Whoever wants to know that one single check
//! looks at the target needs less: that exactly one value is wrong, and only once the check is about to look. A
//! [`Tamper`] sits in the same seams as the faults and is plain until it is told otherwise, while the implementation runs.

mod accounts;
mod exchange;
mod handshakes;
mod interception;
mod made;
mod spots;
mod surface;
mod tunnels;

#[cfg(test)]
mod tests;

use std::{
    collections::BTreeMap,
    fmt,
    net::SocketAddr,
    sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError},
    time::Duration,
};

use async_trait::async_trait;
use kube::{
    Api, Client,
    api::{ApiResource, DynamicObject, ListParams, PostParams},
};
use serde_json::Value;
use tokio::sync::Notify;

pub use exchange::{WrongAnswer, WrongConnection};
use handshakes::Handshakes;
pub(in crate::faults) use interception::intercept;
pub use spots::Spot;
pub use tunnels::FrameSort;

use crate::{
    runtime::{
        kinds::built_in_release,
        seams::{Plain, Seams, StatusWriterSeam},
    },
    snapshot::{Kind, ObjectKey},
    status::StatusUpdate,
};

/// How often a write is tried again because the implementation was faster.
const CONFLICTS: usize = 16;

/// How long it takes until a status is written once more.
const MOMENT: Duration = Duration::from_millis(120);

/// Makes a status say something else. It gets the object as well; what it makes must depend on these two alone.
pub type StatusEdit = Arc<dyn Fn(&Value, &mut Value) + Send + Sync>;

/// Makes an object say something else, but for its status. What it makes must depend on the object alone.
pub type ObjectEdit = Arc<dyn Fn(&mut Value) + Send + Sync>;

/// The parts of an object that can be made wrong, and that an implementation reads again.
const PARTS: [&str; 4] = ["/status", "/metadata/annotations", "/metadata/finalizers", "/data"];

/// Why something could not be made wrong.
#[derive(Debug, thiserror::Error)]
pub enum TamperError {
    /// It is not part of a running target.
    #[error("the target does not run")]
    NotRunning,
    /// The API server.
    #[error("the API server refused: {0}")]
    Api(#[from] Box<kube::Error>),
    /// A kind that is not served.
    #[error("no kind `{0}` is served")]
    Kind(String),
    /// An object that is not as every object is.
    #[error("cannot read {what}: {why}")]
    Unreadable {
        /// Such as `Gateway a/b`.
        what: String,
        /// What is wrong.
        why: String,
    },
    /// A certificate.
    #[error("no certificate can be made: {0}")]
    Certificate(#[from] rcgen::Error),
    /// An address that something listens on already.
    #[error("cannot listen on {address}: {error}")]
    Listen {
        /// The address.
        address: SocketAddr,
        /// The system's answer.
        error: std::io::Error,
    },
}

/// A handle on what is wrong with a running implementation. Clones share it.
#[derive(Clone, Default)]
pub struct Tamper(Arc<State>);

/// What was made wrong last, by kind, object and part: as it is then, and as it would be.
type Spoiled = BTreeMap<(String, ObjectKey, &'static str), (Value, Value)>;

#[derive(Default)]
struct State {
    place: OnceLock<Place>,
    statuses: Mutex<Vec<(String, ObjectKey, StatusEdit)>>,
    objects: Mutex<Vec<(String, ObjectKey, ObjectEdit)>>,
    spoiled: Mutex<Spoiled>,
    made: Mutex<made::Wrong>,
    again: Arc<Notify>,
    answers: Mutex<Vec<(String, WrongAnswer)>>,
    connections: Mutex<Option<WrongConnection>>,
    handshakes: Mutex<Handshakes>,
    /// What handshakes agree on, where that is wrong; nothing in it: on none.
    protocols: Mutex<Option<Vec<Vec<u8>>>>,
    /// What handshakes with backends of streams ask for, where that is wrong.
    stream_name: Mutex<Option<String>>,
    exchanges: std::sync::atomic::AtomicU64,
    tasks: Mutex<Vec<tokio::task::AbortHandle>>,
}

/// Where the implementation runs.
struct Place {
    client: Client,
    port_offset: Option<u16>,
}

impl fmt::Debug for Tamper {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tamper").field("running", &self.0.place.get().is_some()).finish_non_exhaustive()
    }
}

impl Drop for State {
    fn drop(&mut self) {
        lock(&self.tasks).iter().for_each(tokio::task::AbortHandle::abort);
    }
}

impl Tamper {
    /// The seams of an implementation that this is the handle on.
    pub fn seams(&self) -> Seams {
        let (writer, again) = (Arc::new(self.clone()), Arc::clone(&self.0.again));
        Seams { writer, objects: vec![Box::new(self.clone())], again, ..Seams::default() }
    }

    /// Makes the target known, once it runs: its API server, and what is added to every declared port.
    pub fn attach(&self, client: Client, port_offset: Option<u16>) {
        // The first target stays: a handle belongs to one.
        let _ = self.0.place.set(Place { client, port_offset });
    }

    fn place(&self) -> Result<&Place, TamperError> {
        self.0.place.get().ok_or(TamperError::NotRunning)
    }

    /// Makes the status of an object wrong and keeps it so. Returns once it has been written.
    ///
    /// # Errors
    /// If it cannot be written.
    pub async fn status(&self, kind: &str, key: ObjectKey, edit: StatusEdit) -> Result<(), TamperError> {
        lock(&self.0.statuses).push((kind.to_owned(), key.clone(), edit));
        self.rewrite(kind, &key, true, &|live| self.respoiled(kind, live)).await
    }

    /// Writes the status of an object, wrongly, now and twice more in the next moments: an implementation that is quick may have put
    /// it right before anybody looks.
    ///
    /// # Errors
    /// If it cannot be written now.
    pub async fn rewrite_status(&self, kind: &str, key: &ObjectKey, edit: StatusEdit) -> Result<(), TamperError> {
        let edited = move |live: &Value| {
            let mut status = live.get("status").cloned().unwrap_or_else(|| Value::Object(serde_json::Map::new()));
            edit(live, &mut status);
            let mut wanted = live.clone();
            wanted["status"] = status;
            wanted
        };
        self.rewrite(kind, key, true, &edited).await?;
        let (state, kind, key) = (Arc::downgrade(&self.0), kind.to_owned(), key.clone());
        let again = tokio::spawn(async move {
            for _ in 0..2 {
                tokio::time::sleep(MOMENT).await;
                let Some(state) = state.upgrade() else { return };
                if let Err(error) = Tamper(state).rewrite(&kind, &key, true, &edited).await {
                    tracing::debug!(kind, object = %key, %error, "a status could not be written again");
                }
            }
        });
        lock(&self.0.tasks).push(again.abort_handle());
        Ok(())
    }

    /// Makes an object wrong apart from its status, and keeps it so where the implementation writes it. Returns once it has been
    /// written.
    ///
    /// # Errors
    /// If it cannot be written.
    pub async fn object(&self, kind: &str, key: ObjectKey, edit: ObjectEdit) -> Result<(), TamperError> {
        lock(&self.0.objects).push((kind.to_owned(), key.clone(), edit));
        self.rewrite(kind, &key, false, &|live| self.respoiled(kind, live)).await
    }

    /// Writes what is made of an object, whoever else writes it.
    async fn rewrite(
        &self,
        kind: &str,
        key: &ObjectKey,
        is_status: bool,
        change: &(dyn Fn(&Value) -> Value + Send + Sync),
    ) -> Result<(), TamperError> {
        let api = self.api(kind, key).await?;
        for _ in 0..CONFLICTS {
            let wanted = change(&read(&api, kind, key).await?);
            let object: DynamicObject =
                serde_json::from_value(wanted).map_err(|error| unreadable(kind, key, &error))?;
            let written = if is_status {
                api.replace_status(&key.name, &PostParams::default(), &object).await
            } else {
                api.replace(&key.name, &PostParams::default(), &object).await
            };
            match written {
                Ok(_) => return Ok(()),
                Err(kube::Error::Api(status)) if status.is_conflict() => {}
                Err(error) => return Err(Box::new(error).into()),
            }
        }
        Err(TamperError::Unreadable { what: format!("{kind} {key}"), why: "it keeps changing".to_owned() })
    }

    /// An object with all that is wrong with it.
    fn respoiled(&self, kind: &str, live: &Value) -> Value {
        let mut wanted = self.restore(kind, live).unwrap_or_else(|| live.clone());
        self.spoil(kind, live, &mut wanted);
        wanted
    }

    /// Makes wrong what an implementation is about to write over a live object of a kind.
    pub fn spoil(&self, kind: &str, live: &Value, wanted: &mut Value) {
        let key = key_of(live);
        let (statuses, objects) = (of(&self.0.statuses, kind, &key), of(&self.0.objects, kind, &key));
        if statuses.is_empty() && objects.is_empty() {
            return;
        }
        let plain = wanted.clone();
        objects.iter().for_each(|edit| edit(wanted));
        if !statuses.is_empty() {
            let mut status = plain.get("status").cloned().unwrap_or_else(|| Value::Object(serde_json::Map::new()));
            statuses.iter().for_each(|edit| edit(&plain, &mut status));
            keep_times(live.get("status").unwrap_or(&Value::Null), &mut status);
            wanted["status"] = status;
        }
        self.remember(kind, &key, wanted, &plain);
    }

    /// How an object of a kind would be if nothing had been made wrong; nothing if that is how it is.
    pub fn restore(&self, kind: &str, object: &Value) -> Option<Value> {
        let key = key_of(object);
        let spoiled = lock(&self.0.spoiled);
        let mut plain = None;
        for part in PARTS {
            if let Some((wrong, right)) = spoiled.get(&(kind.to_owned(), key.clone(), part))
                && object.pointer(part).unwrap_or(&Value::Null) == wrong
            {
                put(plain.get_or_insert_with(|| object.clone()), part, right.clone());
            }
        }
        plain
    }

    /// Takes down what is wrong with an object, and what would be right.
    fn remember(&self, kind: &str, key: &ObjectKey, wrong: &Value, right: &Value) {
        let mut spoiled = lock(&self.0.spoiled);
        for part in PARTS {
            let of = |object: &Value| object.pointer(part).cloned().unwrap_or_default();
            let place = (kind.to_owned(), key.clone(), part);
            if of(wrong) == of(right) {
                spoiled.remove(&place);
            } else {
                spoiled.insert(place, (of(wrong), of(right)));
            }
        }
    }

    /// Makes the answers for a host wrong: lower case, without port.
    pub fn answers(&self, host: &str, wrong: WrongAnswer) {
        lock(&self.0.answers).push((host.to_owned(), wrong));
    }

    /// Makes what becomes of TCP connections wrong.
    pub fn connections(&self, wrong: WrongConnection) {
        *lock(&self.0.connections) = Some(wrong);
    }

    /// Makes every handshake present a certificate that nobody asked for.
    ///
    /// # Errors
    /// If no certificate can be made.
    pub fn certificate(&self) -> Result<(), TamperError> {
        Ok(lock(&self.0.handshakes).present_another()?)
    }

    /// Presents certificates with the same names that nobody signed.
    pub fn forge_certificates(&self) {
        lock(&self.0.handshakes).forge();
    }

    /// Makes every handshake agree on this protocol if the client offers it and fail otherwise, or agree on none. Who passes TLS on
    /// ends it for that, under a copy of the backend's certificate.
    pub fn protocol(&self, protocol: Option<&str>) {
        *lock(&self.0.protocols) = Some(protocol.map(|name| name.as_bytes().to_vec()).into_iter().collect());
    }

    /// Makes streams to backends within TLS ask for this server name, and take the certificates that were right before. Who passes TLS
    /// on ends it for that, and asks for nobody.
    pub fn stream_name(&self, name: &str) {
        *lock(&self.0.stream_name) = Some(name.to_owned());
    }

    /// Lets TLS end for a name wherever it ends for others, though nothing is served there.
    ///
    /// # Errors
    /// If no certificate can be made.
    pub fn welcome(&self, name: &str) -> Result<(), TamperError> {
        Ok(lock(&self.0.handshakes).welcome(name)?)
    }

    /// Makes every listener ask its clients for no certificate.
    pub fn admit_clients(&self) {
        lock(&self.0.handshakes).admit_clients();
    }

    /// Keeps connections open that speak otherwise than their port, or ask for a name that nobody has there.
    pub fn keep_strangers(&self) {
        lock(&self.0.handshakes).keep_strangers();
    }

    async fn api(&self, kind: &str, key: &ObjectKey) -> Result<Api<DynamicObject>, TamperError> {
        let resource = match Kind::ALL.into_iter().find(|one| one.name() == kind) {
            Some(kind) => built_in_release(kind),
            None => self.defined(kind).await?,
        };
        self.api_of(&resource, key)
    }

    fn api_of(&self, resource: &ApiResource, key: &ObjectKey) -> Result<Api<DynamicObject>, TamperError> {
        let client = self.place()?.client.clone();
        Ok(if key.namespace.is_empty() {
            Api::all_with(client, resource)
        } else {
            Api::namespaced_with(client, &key.namespace, resource)
        })
    }

    /// How a kind of another dialect is spoken of, as its definition says.
    async fn defined(&self, kind: &str) -> Result<ApiResource, TamperError> {
        let crds = self.api_of(&built_in_release(Kind::CustomResourceDefinition), &ObjectKey::new("", ""))?;
        let crds = crds.list(&ListParams::default()).await.map_err(Box::new)?;
        let resource = |crd: DynamicObject| {
            let spec = &crd.data["spec"];
            let names = &spec["names"];
            let versions = spec["versions"].as_array()?;
            let version = versions.iter().find(|one| one["served"] == true)?["name"].as_str()?.to_owned();
            let group = spec["group"].as_str()?.to_owned();
            let plural = names["plural"].as_str()?.to_owned();
            let api_version = format!("{group}/{version}");
            (names["kind"] == kind).then(|| ApiResource { group, version, api_version, kind: kind.to_owned(), plural })
        };
        crds.into_iter().find_map(resource).ok_or_else(|| TamperError::Kind(kind.to_owned()))
    }
}

/// What is to be made wrong with an object.
fn of<E: Clone>(edits: &Mutex<Vec<(String, ObjectKey, E)>>, kind: &str, key: &ObjectKey) -> Vec<E> {
    let of = |(one, named, edit): &(String, ObjectKey, E)| (one == kind && named == key).then(|| edit.clone());
    lock(edits).iter().filter_map(of).collect()
}

fn key_of(object: &Value) -> ObjectKey {
    let text = |field: &str| object["metadata"][field].as_str().unwrap_or_default();
    ObjectKey::new(text("namespace"), text("name"))
}

/// Puts a part of an object in its place; null takes it away.
fn put(object: &mut Value, part: &str, value: Value) {
    let (above, name) = part.rsplit_once('/').unwrap_or_default();
    match object.pointer_mut(above).and_then(Value::as_object_mut) {
        Some(fields) if value.is_null() => drop(fields.shift_remove(name)),
        Some(fields) => drop(fields.insert(name.to_owned(), value)),
        None => {}
    }
}

#[async_trait]
impl StatusWriterSeam for Tamper {
    fn within(&self) -> &dyn StatusWriterSeam {
        &Plain
    }

    fn merge(&self, live: &Value, desired: &StatusUpdate, now: &str) -> Value {
        let plain = self.within().merge(live, desired, now);
        let kind = desired.kind.name();
        let edits = of(&self.0.statuses, kind, &desired.key);
        let mut status = plain.clone();
        for edit in &edits {
            edit(live, &mut status);
            keep_times(live.get("status").unwrap_or(&Value::Null), &mut status);
        }
        if !edits.is_empty() && status != plain {
            let place = (kind.to_owned(), desired.key.clone(), PARTS[0]);
            lock(&self.0.spoiled).insert(place, (status.clone(), plain));
        }
        status
    }
}

/// Gives conditions that say what they said before the time that they had: merging took them for changed, since it
/// compares with what was to be said.
fn keep_times(before: &Value, after: &mut Value) {
    match after {
        Value::Object(fields) => {
            for (name, value) in fields {
                if let Some(before) = before.get(name) {
                    keep_times(before, value);
                }
            }
        }
        Value::Array(items) => {
            for item in items {
                let Some(before) = before.as_array().and_then(|all| all.iter().find(|one| is_same(one, item))) else {
                    continue;
                };
                if item.get("lastTransitionTime").is_some() && before["status"] == item["status"] {
                    item["lastTransitionTime"] = before["lastTransitionTime"].clone();
                } else {
                    keep_times(before, item);
                }
            }
        }
        _ => {}
    }
}

/// Whether two items are versions of one: a condition by its type, a listener by its name, an entry by its parent.
fn is_same(one: &Value, other: &Value) -> bool {
    ["type", "name", "parentRef", "controllerName"].iter().all(|key| one.get(key) == other.get(key))
}

async fn read(api: &Api<DynamicObject>, kind: &str, key: &ObjectKey) -> Result<Value, TamperError> {
    let object = api.get(&key.name).await.map_err(Box::new)?;
    serde_json::to_value(object).map_err(|error| unreadable(kind, key, &error))
}

fn unreadable(kind: &str, key: &ObjectKey, error: &dyn fmt::Display) -> TamperError {
    TamperError::Unreadable { what: format!("{kind} {key}"), why: error.to_string() }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
