//! Writes: creation, apply, patch, delete, of objects that the run created and of no others. Each ends in an answer that the log can
//! hold.
//!
//! The first write of an object is a POST, so nothing that is there already is ever adopted; whatever follows carries the uid that
//! the answer named, and the API server refuses it where another object has the name by now. Two things are not the run's own and
//! written all the same, each by a way of its own: what is noted to be restored ([`Whose::Noted`]), and Leases
//! ([`super::lease`]).

mod delete;
mod once;
mod reply;

use std::sync::Arc;
use std::time::Duration;

use gateproof_report::words::counted;
use http::Method;
use serde_json::{Value, json};

use super::api::{Api, Reply, encode};
use super::backends::Backends;
use super::clock::{self, Backoff};
use super::kinds::{Kind, Kinds};
use super::names::{FIELD_MANAGER, RUN_LABEL};
use super::own::{Entry, Ledger, Stands, only, only_tested, replacing};
use super::quiesce::Quiescence;
use super::redact::{redact, redact_secret};
use super::services::ServicesOf;
use crate::log::{ObjectKey, Write, WriteOutcome, WriteVerb};
use crate::scenario::{ApiVersion, BackendDecl};
use once::{Came, came, is_repeatable};
pub(super) use reply::is_another;
use reply::{admitted, is_taken, outcome, was_overtaken};

/// Options of every write: who writes, and that unknown fields are errors.
const OPTIONS: &str = "fieldManager=gateproof&fieldValidation=Strict";

/// Writes to the target.
#[derive(Clone)]
pub struct Writer {
    api: Api,
    kinds: Arc<Kinds>,
    budget: Duration,
    first_pause: Duration,
    longest_pause: Duration,
    gateway_patch: Option<Arc<Value>>,
    backends: ServicesOf,
    own: Ledger,
    quiescence: Quiescence,
}

/// How a patch is meant, as its media type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PatchType {
    /// JSON merge patch.
    Merge,
    /// JSON patch.
    Json,
}

/// Whose an object is that is to be patched.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Whose {
    /// The run's, if it created it; otherwise nobody's, and it is not patched.
    Own,
    /// Somebody else's. What is to be restored of it is noted.
    Noted {
        /// The uid of the object that was noted.
        uid: String,
    },
}

/// One write, ready to be sent.
struct Call<'c> {
    verb: WriteVerb,
    method: Method,
    path: String,
    content_type: &'static str,
    body: Vec<u8>,
    kind: &'c Kind,
    key: &'c ObjectKey,
    /// For a creation, the object; only then may the name be taken.
    creates: Option<&'c Value>,
    /// The patch, if it must not be carried out twice.
    once: Option<&'c Value>,
}

/// What came of a call.
enum End {
    /// It was answered.
    Answered(WriteOutcome),
    /// No usable answer: what was asked may have been done or not.
    Lost(String),
    /// The object of this name is another one than the run's.
    NotOurs(String),
}

/// What an answer stands for.
enum Step {
    Over(End),
    /// It says nothing of the write, which is to be sent again after a pause.
    Again(String, Duration),
    /// The same, and it may have been carried out.
    Perhaps(String, Duration),
}

impl Writer {
    /// A writer that has created nothing yet. It tries again on what says nothing of the write (no answer, 429, 5xx, a conflict with
    /// somebody who was faster) until `timing.write` is used up; the time of an outage does not count. `gateway_patch` is merged
    /// into every Gateway that is applied.
    pub fn new(api: Api, kinds: Arc<Kinds>, timing: &crate::log::Timing, gateway_patch: Option<Value>) -> Writer {
        Writer {
            api,
            kinds,
            budget: timing.write,
            first_pause: timing.backoff_min,
            longest_pause: timing.backoff_max,
            gateway_patch: gateway_patch.map(Arc::new),
            backends: ServicesOf::Anybody,
            own: Ledger::default(),
            quiescence: Quiescence::default(),
        }
    }

    /// Makes Services whose endpoints are ours fit the backends.
    #[must_use]
    pub fn with_backends(self, backends: &Backends) -> Writer {
        Writer { backends: ServicesOf::backends(backends), ..self }
    }

    /// The kinds that it can write.
    pub fn kinds(&self) -> &Kinds {
        &self.kinds
    }

    /// Who of the run may write when: nothing is sent while somebody wants it quiet.
    pub fn quiescence(&self) -> &Quiescence {
        &self.quiescence
    }

    /// Whether the run created an object, as far as it knows.
    pub fn owns(&self, key: &ObjectKey) -> bool {
        self.own.get(key).is_some()
    }

    /// These are gone, and so is what lay in them: it knows of them no more.
    pub fn forget(&self, gone: &[ObjectKey]) {
        self.own.forget(gone);
    }

    /// The slice of a backend's second family, if this is the one of the first: what is changed of one is to be changed of both.
    pub fn second_slice(&self, key: &ObjectKey) -> Option<ObjectKey> {
        let both = self.backends == ServicesOf::Both && key.kind == "EndpointSlice";
        let name = BackendDecl::second_slice(&key.name).filter(|_| both)?;
        Some(ObjectKey { name, ..key.clone() })
    }

    /// Creates an object at the newest served version, or makes one that the run created what this one says. With
    /// `fieldValidation=Strict`.
    pub async fn apply(&self, step: usize, ordinal: usize, object: &Value) -> Write {
        self.apply_at(step, ordinal, object, ApiVersion::Newest).await
    }

    /// The same at a version of the API.
    pub async fn apply_at(&self, step: usize, ordinal: usize, object: &Value, at: ApiVersion) -> Write {
        let mut object = object.clone();
        let Some(key) = ObjectKey::of(&object) else {
            let key = ObjectKey { group: String::new(), kind: String::new(), namespace: None, name: String::new() };
            return failed(step, ordinal, WriteVerb::Apply, key, "the object has no apiVersion, kind or name");
        };
        let Some(kind) = self.kinds.of(&key.group, &key.kind) else {
            return self.not_served(step, ordinal, WriteVerb::Apply, key);
        };
        let own = match at {
            ApiVersion::Newest => None,
            ApiVersion::AsWritten => {
                let version = object["apiVersion"].as_str().unwrap_or_default();
                let Some(own) = kind.at(version.rsplit('/').next().unwrap_or_default()) else {
                    let error = format!("the target does not serve kind {} at {version}", key.kind);
                    return failed(step, ordinal, WriteVerb::Apply, key, &error);
                };
                Some(own)
            }
        };
        let kind = own.as_ref().unwrap_or(kind);
        if kind.group.is_empty() && kind.kind == "Service" {
            self.backends.fit(&mut object, &key.name);
        }
        let dialect = self.kinds.dialect();
        // What Kubernetes itself has may be of an earlier version there than manifests write.
        let is_served = |version: &String| {
            object["apiVersion"].as_str().is_some_and(|of| of.rsplit('/').next() == Some(version.as_str()))
        };
        if kind.group == dialect.group() || !kind.versions.iter().any(is_served) {
            object["apiVersion"] = json!(kind.api_version());
        }
        let is_entry = dialect.is_entry(&kind.kind) && kind.group == dialect.group_of(&kind.kind);
        if let Some(patch) = self.gateway_patch.as_ref().filter(|_| is_entry) {
            json_patch::merge(&mut object, patch);
        }
        let (method, path, content_type, body, creates) = match self.own.get(&key) {
            Some(Entry::Created { uid, sent, .. }) => {
                let body = only(&uid, replacing(&sent, &object)).to_string();
                (Method::PATCH, kind.object(&key), "application/merge-patch+json", body, None)
            }
            _ => {
                let collection = kind.collection(key.namespace.as_deref());
                (Method::POST, collection, "application/json", object.to_string(), Some(&object))
            }
        };
        let path = format!("{path}?{OPTIONS}");
        let (verb, body) = (WriteVerb::Apply, body.into_bytes());
        let end =
            self.attempt(&Call { verb, method, path, content_type, body, kind, key: &key, creates, once: None }).await;
        let sent = Arc::new(object.clone());
        match &end {
            End::Answered(WriteOutcome::Admitted { uid, generation, resource_version }) => {
                let stands = Stands { version: resource_version.clone(), generation: *generation };
                self.own.put(key.clone(), Entry::Created { uid: uid.clone(), sent, stands });
            }
            End::Lost(_) if creates.is_some() => self.own.put(key.clone(), Entry::Perhaps { sent }),
            _ => {}
        }
        redact(&mut object);
        logged(step, ordinal, verb, kind, key, Some(object), end)
    }

    /// A patch of an object or of a subresource.
    #[expect(
        clippy::too_many_arguments,
        reason = "a write is named by step, ordinal and object, and the patch by three more"
    )]
    pub async fn patch(
        &self,
        step: usize,
        ordinal: usize,
        key: ObjectKey,
        whose: &Whose,
        patch_type: PatchType,
        subresource: Option<&str>,
        patch: &Value,
    ) -> Write {
        let verb = WriteVerb::Patch;
        let Some(kind) = self.kinds.of(&key.group, &key.kind) else {
            return self.not_served(step, ordinal, verb, key);
        };
        let mut sent = patch.clone();
        if kind.kind == "Secret" {
            redact_secret(&mut sent);
        }
        let end = self.patch_one(kind, &key, whose, patch_type, subresource, patch).await;
        logged(step, ordinal, verb, kind, key, Some(sent), end)
    }

    async fn patch_one(
        &self,
        kind: &Kind,
        key: &ObjectKey,
        whose: &Whose,
        patch_type: PatchType,
        subresource: Option<&str>,
        patch: &Value,
    ) -> End {
        let uid = match whose {
            Whose::Noted { uid } => uid.clone(),
            Whose::Own => match self.uid(kind, key).await {
                Ok(Some(uid)) => uid,
                Ok(None) => return End::Answered(not_created()),
                Err(error) => return End::Lost(error),
            },
        };
        let (content_type, body) = match patch_type {
            PatchType::Merge => ("application/merge-patch+json", only(&uid, patch.clone())),
            PatchType::Json => ("application/json-patch+json", only_tested(&uid, patch)),
        };
        let suffix = subresource.map(|name| format!("/{name}")).unwrap_or_default();
        let path = format!("{}{suffix}?{OPTIONS}", kind.object(key));
        let (verb, method, body) = (WriteVerb::Patch, Method::PATCH, body.to_string().into_bytes());
        let once = (patch_type == PatchType::Json && !is_repeatable(patch)).then_some(patch);
        let end = self.attempt(&Call { verb, method, path, content_type, body, kind, key, creates: None, once }).await;
        if let End::Answered(WriteOutcome::Admitted { generation, resource_version, .. }) = &end {
            self.own.stands(key, Stands { version: resource_version.clone(), generation: *generation });
        }
        end
    }

    /// A patch that is not sent, because what it needs before it did not come about.
    pub fn not_patched(&self, step: usize, ordinal: usize, key: ObjectKey, error: &str) -> Write {
        failed(step, ordinal, WriteVerb::Patch, key, error)
    }

    /// The key of an object that is named by kind alone.
    pub fn key(&self, kind: &str, namespace: Option<&str>, name: &str) -> ObjectKey {
        let served = self.kinds.named(kind);
        ObjectKey {
            group: served.map(|kind| kind.group.clone()).unwrap_or_default(),
            kind: kind.to_owned(),
            namespace: namespace.filter(|_| served.is_none_or(|kind| kind.namespaced)).map(str::to_owned),
            name: name.to_owned(),
        }
    }

    /// The uid of an object that the run created. One of which the answer was lost is looked for.
    async fn uid(&self, kind: &Kind, key: &ObjectKey) -> Result<Option<String>, String> {
        match self.own.get(key) {
            None => Ok(None),
            Some(Entry::Created { uid, .. } | Entry::Deleted { uid }) => Ok(Some(uid)),
            Some(Entry::Perhaps { sent }) => {
                let Some(live) = self.made(kind, key, &sent).await? else { return Ok(None) };
                let WriteOutcome::Admitted { uid, .. } = admitted(&live) else { return Ok(None) };
                let stands = Stands::of(&live);
                self.own.put(key.clone(), Entry::Created { uid: uid.clone(), sent, stands });
                Ok(Some(uid))
            }
        }
    }

    /// The live object of this key, if the run made it by sending `sent`: it has the run's label, which nobody else can know, and
    /// we wrote it.
    async fn made(&self, kind: &Kind, key: &ObjectKey, sent: &Value) -> Result<Option<Value>, String> {
        let run = |object: &Value| object.get("metadata")?.get("labels")?.get(RUN_LABEL).cloned();
        let named = encode(&format!("metadata.name={}", key.name));
        let path = format!("{}?fieldSelector={named}", kind.collection(key.namespace.as_deref()));
        let list = self.api.get(&path).await.map_err(|error| error.to_string())?;
        let live =
            list.pointer("/items/0").filter(|live| run(live).is_some() && run(live) == run(sent) && is_ours(live));
        Ok(live.cloned())
    }

    fn not_served(&self, step: usize, ordinal: usize, verb: WriteVerb, key: ObjectKey) -> Write {
        let error = format!("the target does not serve kind {} of group `{}`", key.kind, key.group);
        failed(step, ordinal, verb, key, &error)
    }

    async fn attempt(&self, call: &Call<'_>) -> End {
        let mut end = clock::now() + self.budget;
        let mut backoff = Backoff::new(self.first_pause, self.longest_pause);
        let mut attempts = 0_u32;
        loop {
            attempts += 1;
            let before = clock::now();
            let writing = self.quiescence.write().await;
            end += clock::now() - before;
            let content_type = (!call.body.is_empty()).then_some(call.content_type);
            let sending = self.api.call(call.method.clone(), &call.path, content_type, call.body.clone());
            // An answer that never comes must leave time to ask again.
            let answer = tokio::time::timeout_at(end.min(clock::now() + self.budget / 2), sending).await;
            drop(writing);
            let (error, asked_pause, is_perhaps_done) = match answer {
                Ok(Ok(reply)) => match self.read(call, &reply, attempts, clock::now() + backoff.peek() < end).await {
                    Step::Over(end) => return end,
                    Step::Again(error, pause) => (error, pause, false),
                    Step::Perhaps(error, pause) => (error, pause, true),
                },
                Ok(Err(error)) => {
                    end += self.api.back().await.unwrap_or_default();
                    (error.to_string(), Duration::ZERO, true)
                }
                Err(_) => {
                    let error = "no answer from the API server within half of the write budget";
                    (error.to_owned(), Duration::ZERO, true)
                }
            };
            if self.api.reach().is_lost() {
                return End::Lost(error);
            }
            if let Some(patch) = call.once.filter(|_| is_perhaps_done) {
                match self.came(call, patch).await {
                    Ok((Came::Nothing, _)) => {}
                    Ok((Came::Done, live)) => return End::Answered(admitted(&live)),
                    Ok((Came::Unknown, _)) => {
                        return End::Lost(format!("{error}; it may have been done, and must not be done twice"));
                    }
                    Err(unread) => return End::Lost(format!("{error}; whether it was done cannot be seen: {unread}")),
                }
            }
            let retry = clock::now() + backoff.step(asked_pause);
            if retry >= end {
                return End::Lost(format!("{error} (after {})", counted(attempts, "attempt", "attempts")));
            }
            clock::until(retry).await;
        }
    }

    /// What came of a patch of which the answer was lost, and the object. Where another one has its name, the patch is told so itself.
    async fn came(&self, call: &Call<'_>, patch: &Value) -> Result<(Came, Value), String> {
        let live = match self.own.get(call.key) {
            Some(Entry::Created { sent, stands, .. }) => {
                let live = self.made(call.kind, call.key, &sent).await?;
                live.map(|live| (came(patch, Some(&stands), &live), live))
            }
            // What is not the run's own it may read.
            _ => {
                let live = self.api.get(&call.kind.object(call.key)).await.map_err(|error| error.to_string())?;
                Some((came(patch, None, &live), live))
            }
        };
        Ok(live.unwrap_or((Came::Nothing, Value::Null)))
    }

    /// What an answer stands for. `more`: whether there is time for another attempt.
    async fn read(&self, call: &Call<'_>, reply: &Reply, attempts: u32, more: bool) -> Step {
        let refusal = || super::api::refusal(reply).to_string();
        if reply.is_passing() {
            let again = if reply.code == 429 { Step::Again } else { Step::Perhaps };
            return again(refusal(), reply.pause());
        }
        // A delete that is repeated after a lost answer finds nothing: that is its success.
        if attempts > 1 && reply.code == 404 && call.verb == WriteVerb::Delete {
            return Step::Over(End::Answered(admitted(&json!({}))));
        }
        match call.creates {
            Some(object) if is_taken(reply) => return self.name_taken(call, object, attempts).await,
            None if is_another(reply) && call.verb == WriteVerb::Delete => {
                return Step::Over(End::Answered(not_created()));
            }
            None if is_another(reply) => {
                let error = "somebody deleted what the run created, and made another object of this name";
                return Step::Over(End::NotOurs(error.to_owned()));
            }
            _ => {}
        }
        if was_overtaken(reply) && more {
            return Step::Again(refusal(), Duration::ZERO);
        }
        Step::Over(End::Answered(outcome(reply)))
    }

    /// Somebody has the name of an object that is to be created: the run itself, if an answer was lost or what it deleted is still
    /// going, or somebody else.
    async fn name_taken(&self, call: &Call<'_>, object: &Value, attempts: u32) -> Step {
        let before = self.own.get(call.key);
        if attempts > 1 || matches!(before, Some(Entry::Perhaps { .. })) {
            match self.made(call.kind, call.key, object).await {
                Ok(Some(live)) => return Step::Over(End::Answered(admitted(&live))),
                Ok(None) => {}
                Err(error) => return Step::Again(error, Duration::ZERO),
            }
        }
        if let Some(Entry::Deleted { .. }) = before {
            return Step::Again("what the run deleted is still there".to_owned(), Duration::ZERO);
        }
        let error = "somebody else has made an object of this name; what is there already is never adopted";
        Step::Over(End::NotOurs(error.to_owned()))
    }
}

/// Whether an object was written by us.
pub fn is_ours(object: &Value) -> bool {
    let managers = object.pointer("/metadata/managedFields").and_then(Value::as_array);
    managers.into_iter().flatten().any(|entry| entry.get("manager").and_then(Value::as_str) == Some(FIELD_MANAGER))
}

/// The answer to what is asked of an object that the run did not create.
fn not_created() -> WriteOutcome {
    WriteOutcome::Refused {
        code: 404,
        reason: "NotFound".to_owned(),
        message: "the run has created no such object, and changes no other".to_owned(),
        causes: Vec::new(),
    }
}

fn logged(
    step: usize,
    ordinal: usize,
    verb: WriteVerb,
    kind: &Kind,
    key: ObjectKey,
    sent: Option<Value>,
    end: End,
) -> Write {
    let outcome = match end {
        End::Answered(outcome) => outcome,
        End::Lost(error) | End::NotOurs(error) => WriteOutcome::Failed { error },
    };
    Write { step, ordinal, verb, key, api_version: kind.api_version(), sent: sent.map(Arc::new), outcome }
}

fn failed(step: usize, ordinal: usize, verb: WriteVerb, key: ObjectKey, error: &str) -> Write {
    let outcome = WriteOutcome::Failed { error: error.to_owned() };
    Write { step, ordinal, verb, key, api_version: String::new(), sent: None, outcome }
}
