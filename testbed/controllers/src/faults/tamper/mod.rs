//! One wrong value at one place, from one moment on.
//!
//! A named fault misbehaves all the time and wherever its mistake applies. Whoever wants to know that one single check
//! looks at the target needs less: that exactly one value is wrong, and only once the check is about to look. A
//! [`Tamper`] sits in the same seams as the faults and is plain until it is told otherwise, while the implementation runs.

mod exchange;
mod surface;

#[cfg(test)]
mod tests;

use std::{
    fmt,
    net::{IpAddr, SocketAddr},
    sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError},
};

use async_trait::async_trait;
use kube::{
    Api, Client,
    api::{ApiResource, DynamicObject, PostParams},
};
use serde_json::Value;
use tokio::net::TcpListener;

use exchange::WrongCertificate;
pub use exchange::{FrameSort, WrongAnswer, WrongConnection};

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

/// Makes a status say something else. It gets the object as well; what it makes must depend on these two alone.
pub type StatusEdit = Arc<dyn Fn(&Value, &mut Value) + Send + Sync>;

/// Why something could not be made wrong.
#[derive(Debug, thiserror::Error)]
pub enum TamperError {
    /// It is not part of a running target.
    #[error("the target does not run")]
    NotRunning,
    /// The API server.
    #[error("the API server refused: {0}")]
    Api(#[from] Box<kube::Error>),
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

#[derive(Default)]
struct State {
    place: OnceLock<Place>,
    statuses: Mutex<Vec<(Kind, ObjectKey, StatusEdit)>>,
    answers: Mutex<Vec<(String, WrongAnswer)>>,
    connections: Mutex<Option<WrongConnection>>,
    certificate: Mutex<Option<WrongCertificate>>,
    exchanges: std::sync::atomic::AtomicU64,
    listeners: Mutex<Vec<tokio::task::AbortHandle>>,
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
        lock(&self.listeners).iter().for_each(tokio::task::AbortHandle::abort);
    }
}

impl Tamper {
    /// The seams of an implementation that this is the handle on.
    pub fn seams(&self) -> Seams {
        Seams { writer: Arc::new(self.clone()), ..Seams::default() }
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
    pub async fn status(&self, kind: Kind, key: ObjectKey, edit: StatusEdit) -> Result<(), TamperError> {
        lock(&self.0.statuses).push((kind, key.clone(), Arc::clone(&edit)));
        self.rewrite_status(kind, &key, edit).await
    }

    /// Writes the status of an object once, wrongly. The implementation may put it right.
    ///
    /// # Errors
    /// If it cannot be written.
    pub async fn rewrite_status(&self, kind: Kind, key: &ObjectKey, edit: StatusEdit) -> Result<(), TamperError> {
        let api = self.api(kind, key)?;
        for _ in 0..CONFLICTS {
            let mut object = read(&api, kind, key).await?;
            let mut status = object.get("status").cloned().unwrap_or_else(|| Value::Object(serde_json::Map::new()));
            edit(&object, &mut status);
            object["status"] = status;
            let object: DynamicObject =
                serde_json::from_value(object).map_err(|error| unreadable(kind, key, &error))?;
            match api.replace_status(&key.name, &PostParams::default(), &object).await {
                Ok(_) => return Ok(()),
                Err(kube::Error::Api(status)) if status.is_conflict() => {}
                Err(error) => return Err(Box::new(error).into()),
            }
        }
        Err(TamperError::Unreadable { what: format!("{} {key}", kind.name()), why: "it keeps changing".to_owned() })
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
        *lock(&self.0.certificate) = Some(WrongCertificate::new()?);
        Ok(())
    }

    /// Takes connections at the address and port of a Gateway's listener, where nothing should, and never says a word.
    ///
    /// # Errors
    /// If the Gateway has no such place, or something listens there.
    pub async fn occupy(&self, gateway: &ObjectKey, listener: &str) -> Result<(), TamperError> {
        let object = read(&self.api(Kind::Gateway, gateway)?, Kind::Gateway, gateway).await?;
        let lacks =
            |what: &str| TamperError::Unreadable { what: format!("Gateway {gateway}"), why: format!("no {what}") };
        let address = object.pointer("/status/addresses/0/value").and_then(Value::as_str);
        let address: IpAddr = address.and_then(|text| text.parse().ok()).ok_or_else(|| lacks("address"))?;
        let listeners = object.pointer("/spec/listeners").and_then(Value::as_array).into_iter().flatten();
        let port = listeners.filter(|one| one["name"] == listener).find_map(|one| one["port"].as_u64());
        let port = port.and_then(|port| u16::try_from(port).ok()).ok_or_else(|| lacks("such listener"))?;
        let port = port.wrapping_add(self.place()?.port_offset.unwrap_or_default());
        let address = SocketAddr::new(address, port);
        let socket = TcpListener::bind(address).await.map_err(|error| TamperError::Listen { address, error })?;
        let task = tokio::spawn(async move {
            let mut held = Vec::new();
            while let Ok((stream, _)) = socket.accept().await {
                held.push(stream);
            }
        });
        lock(&self.0.listeners).push(task.abort_handle());
        Ok(())
    }

    fn api(&self, kind: Kind, key: &ObjectKey) -> Result<Api<DynamicObject>, TamperError> {
        let resource: ApiResource = built_in_release(kind);
        let client = self.place()?.client.clone();
        Ok(if key.namespace.is_empty() {
            Api::all_with(client, &resource)
        } else {
            Api::namespaced_with(client, &key.namespace, &resource)
        })
    }

    fn edits(&self, kind: Kind, key: &ObjectKey) -> Vec<StatusEdit> {
        let of = |(one, named, edit): &(Kind, ObjectKey, StatusEdit)| {
            (*one == kind && named == key).then(|| Arc::clone(edit))
        };
        lock(&self.0.statuses).iter().filter_map(of).collect()
    }
}

#[async_trait]
impl StatusWriterSeam for Tamper {
    fn within(&self) -> &dyn StatusWriterSeam {
        &Plain
    }

    fn merge(&self, live: &Value, desired: &StatusUpdate, now: &str) -> Value {
        let mut status = self.within().merge(live, desired, now);
        for edit in self.edits(desired.kind, &desired.key) {
            edit(live, &mut status);
            keep_times(live.get("status").unwrap_or(&Value::Null), &mut status);
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

async fn read(api: &Api<DynamicObject>, kind: Kind, key: &ObjectKey) -> Result<Value, TamperError> {
    let object = api.get(&key.name).await.map_err(Box::new)?;
    serde_json::to_value(object).map_err(|error| unreadable(kind, key, &error))
}

fn unreadable(kind: Kind, key: &ObjectKey, error: &dyn fmt::Display) -> TamperError {
    TamperError::Unreadable { what: format!("{} {key}", kind.name()), why: error.to_string() }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
