//! Removes what a run created: each scenario's objects after its verdict, the pool at the end. Deletions overlap with
//! scenarios that still run, and are awaited before the run ends.

use std::sync::Arc;
use std::time::Duration;

use super::environment::Environment;
use crate::cluster::api::Api;
use crate::cluster::clean::{Holders, Leftover, holders};
use crate::cluster::log_writer::LogWriter;
use crate::cluster::pool::describe;
use crate::cluster::view::View;
use crate::cluster::write::Writer;
use crate::log::{Bindings, Body, Event, ObjectKey, Scope, Write, WriteOutcome, WriteVerb};
use crate::scenario::scope::DEFINITION;

/// Removes objects and waits until the observer saw them go.
#[derive(Clone)]
pub struct Tidy {
    /// The target, for diagnoses.
    pub api: Api,
    /// Deletes.
    pub writer: Writer,
    /// Tells when they are gone.
    pub view: Arc<View>,
    /// How long to wait.
    pub budget: Duration,
    /// Is told what the scenarios that come after see.
    pub log: Arc<LogWriter>,
}

impl Tidy {
    /// The key of a namespace.
    pub fn namespace(name: &str) -> ObjectKey {
        ObjectKey { group: String::new(), kind: "Namespace".to_owned(), namespace: None, name: name.to_owned() }
    }

    /// Deletes objects and waits until they are gone. Returns those that are not, with what holds them.
    pub async fn remove(&self, keys: Vec<ObjectKey>) -> Vec<Leftover> {
        let mut leftovers = Vec::new();
        let deletions = keys.iter().map(|key| self.writer.delete(0, 0, key.clone()));
        let (mut awaited, mut gone) = (Vec::new(), Vec::new());
        for write in futures::future::join_all(deletions).await {
            if write.key.kind == DEFINITION {
                self.log.append(Scope::Run, Body::Made(Box::new(write.clone())));
            }
            match write.outcome {
                WriteOutcome::Admitted { .. } => awaited.push(write.key),
                WriteOutcome::Refused { code: 404, .. } => gone.push(write.key),
                outcome => {
                    leftovers.push(Leftover { object: write.key.to_string(), diagnosis: describe(&outcome) });
                }
            }
        }
        let held = self.await_gone(awaited.clone()).await;
        let (mut held, on_the_way): (Vec<_>, Vec<_>) = held.into_iter().partition(|(_, holders)| holders.is_held);
        if !on_the_way.is_empty() {
            // Nobody holds these, so the target, the node or this machine is late: they get the budget once more.
            held.extend(self.await_gone(on_the_way.into_iter().map(|(key, _)| key).collect()).await);
        }
        awaited.retain(|key| !held.iter().any(|(held, _)| held == key));
        gone.extend(awaited);
        self.writer.forget(&gone);
        leftovers.extend(
            held.into_iter().map(|(key, holders)| Leftover { object: key.to_string(), diagnosis: holders.to_string() }),
        );
        leftovers
    }

    /// Waits until objects are gone, and returns those that are not when the budget is used up, with who holds them. Each is
    /// read before it is blamed: the observer may be late too.
    async fn await_gone(&self, keys: Vec<ObjectKey>) -> Vec<(ObjectKey, Holders)> {
        let gone = self.view.until(|live| keys.iter().all(|key| !live.contains_key(key)));
        tokio::select! {
            in_time = tokio::time::timeout(self.budget, gone) => {
                if in_time.is_ok() {
                    return Vec::new();
                }
            }
            () = self.api.reach().lost() => {}
        }
        let kinds = self.writer.kinds();
        let mut held = Vec::new();
        for key in keys {
            let Some(kind) = kinds.of(&key.group, &key.kind) else { continue };
            match self.api.get(&kind.object(&key)).await {
                Err(error) if error.is_not_found() => {}
                Err(error) => held.push((key, Holders::unread(&error))),
                Ok(object) => {
                    let holders = holders(&self.api, kinds, &object).await;
                    held.push((key, holders));
                }
            }
        }
        held
    }
}

/// Has services forget what an execution told them; gives those that do not.
pub async fn unscript(env: &Environment, bindings: &Bindings) -> Vec<Leftover> {
    let mut left = Vec::new();
    for key in bindings.namespaces.get("ns").into_iter().chain([&bindings.token]) {
        let kept = env.services.release(key).await;
        left.extend(kept.into_iter().map(|(service, diagnosis)| Leftover {
            object: format!("script {key} of the service {service}"),
            diagnosis,
        }));
    }
    left
}

/// Whether what was written may be there: one of which the answer was lost, too. What was never sent has no version.
fn may_be_there(write: &Write) -> bool {
    match write.outcome {
        WriteOutcome::Admitted { .. } => true,
        WriteOutcome::Failed { .. } => !write.api_version.is_empty(),
        WriteOutcome::Refused { .. } => false,
    }
}

/// The cluster-scoped objects that a scenario wrote, from its log: they do not go with its namespaces.
pub fn cluster_scoped<'a>(events: impl Iterator<Item = &'a Event>) -> Vec<ObjectKey> {
    let mut keys = Vec::new();
    for event in events {
        if let Body::Wrote(write) = &event.body
            && write.key.namespace.is_none()
            && write.verb == WriteVerb::Apply
            && may_be_there(write)
            && !keys.contains(&write.key)
        {
            keys.push(write.key.clone());
        }
    }
    keys
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::json;

    use super::*;
    use crate::log::Elapsed;

    fn key(kind: &str, namespace: Option<&str>) -> ObjectKey {
        ObjectKey {
            group: "example.test".to_owned(),
            kind: kind.to_owned(),
            namespace: namespace.map(str::to_owned),
            name: "one".to_owned(),
        }
    }

    fn admitted() -> WriteOutcome {
        WriteOutcome::Admitted { uid: "u".to_owned(), generation: 1, resource_version: "1".to_owned() }
    }

    fn lost() -> WriteOutcome {
        WriteOutcome::Failed { error: "no answer".to_owned() }
    }

    #[rstest]
    #[case::made(None, "v1", admitted(), true)]
    #[case::answer_lost(None, "v1", lost(), true)]
    #[case::never_sent(None, "", lost(), false)]
    #[case::goes_with_its_namespace(Some("ns"), "v1", admitted(), false)]
    fn what_may_be_there_beside_the_namespaces_is_removed(
        #[case] namespace: Option<&str>,
        #[case] version: &str,
        #[case] outcome: WriteOutcome,
        #[case] removed: bool,
    ) {
        let write = Write {
            step: 0,
            ordinal: 0,
            verb: WriteVerb::Apply,
            key: key("GatewayClass", namespace),
            api_version: version.to_owned(),
            sent: Some(Arc::new(json!({}))),
            outcome,
        };
        let body = Body::Wrote(Box::new(write));
        let event = Event { seq: 0, at: Elapsed::default(), scope: Scope::Run, body };
        let expected = if removed { vec![key("GatewayClass", None)] } else { Vec::new() };
        assert_eq!(cluster_scoped([&event, &event].into_iter()), expected);
    }
}
