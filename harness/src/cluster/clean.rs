//! Removes what runs left behind, and says what holds it if it does not go. Nothing but what a run made is removed: it has the run's
//! label, a name of that run's, and our mark as the one who wrote it; or it is a definition with the label, which nobody but us wrote, and of
//! whose objects none is somebody else's.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::time::Duration;

use futures::TryStreamExt;
use kube::core::WatchEvent;
use serde_json::Value;

use super::api::{Api, ApiError, encode};
use super::kinds::{Kind, Kinds};
use super::lease::{self, LOCKS_LABEL};
pub use super::leftover::{CleanScope, Leftover};
use super::names::{self, RUN_LABEL};
use super::pool::describe;
use super::undo::{self, Restored};
use super::write::{Writer, is_ours};
use super::{clock, definitions, resources};
use crate::dialects::Dialect;
use crate::log::{ObjectKey, WriteOutcome};
use crate::scenario::scope::DEFINITION;

/// What a clean-up came to.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Cleaned {
    /// Objects of others that are as they were before the run patched them, as `Kind/name`.
    pub restored: Vec<String>,
    /// Objects that are gone, as `Kind/name`.
    pub removed: Vec<String>,
    /// Objects that are not.
    pub leftovers: Vec<Leftover>,
    /// Objects that have the label of a run and were not made by it, as `Kind/name`: they stay.
    pub others: Vec<String>,
}

/// What the runs are of which a cluster holds something.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Runs {
    /// Their Leases are over.
    pub over: BTreeSet<String>,
    /// They renewed their Leases while they were looked at.
    pub alive: BTreeSet<String>,
    /// They have no Lease: of an older release, or ended before they had one.
    pub unknown: BTreeSet<String>,
}

/// Finds out which runs are over. `wait` is told of runs that may be alive, and for how long they are looked at; no clock but ours
/// counts.
///
/// # Errors
/// If Leases or namespaces cannot be listed.
pub async fn runs(api: &Api, wait: impl FnOnce(&BTreeSet<String>, Duration)) -> Result<Runs, ApiError> {
    let mut runs = Runs::default();
    let before = lease::signs(api).await?;
    let maybe: BTreeSet<String> = before.iter().filter(|s| s.lasts.is_some()).map(|s| s.run_id.clone()).collect();
    let mut after: BTreeMap<String, String> = BTreeMap::new();
    if let Some(longest) = before.iter().filter_map(|sign| sign.lasts).max() {
        wait(&maybe, longest);
        clock::until(clock::now() + longest).await;
        after = lease::signs(api).await?.into_iter().map(|sign| (sign.run_id, sign.version)).collect();
    }
    for sign in before {
        let renewed = after.get(&sign.run_id).is_some_and(|version| *version != sign.version);
        let found = if sign.lasts.is_some() && renewed { &mut runs.alive } else { &mut runs.over };
        found.insert(sign.run_id);
    }
    let list = api.get(&format!("/api/v1/namespaces?labelSelector={}", encode(RUN_LABEL))).await?;
    for namespace in list.get("items").and_then(Value::as_array).into_iter().flatten() {
        let Some(run) = run_of(namespace).filter(|_| is_of_a_run(namespace)) else { continue };
        if !runs.over.contains(run) && !runs.alive.contains(run) {
            runs.unknown.insert(run.to_owned());
        }
    }
    Ok(runs)
}

/// Restores what runs patched of objects that are not their own; then deletes every cluster-scoped object that they made, of whatever
/// kind, namespaces first, and waits until they are gone or the budget is used up. What lies in the namespaces goes with them.
///
/// # Errors
/// If namespaces or notes cannot be listed. Other kinds that cannot be listed were not made with these permissions either.
pub async fn clean(api: &Api, writer: &Writer, scope: &CleanScope, budget: Duration) -> Result<Cleaned, ApiError> {
    let Restored { restored, leftovers, needed } = undo::restore_all(api, writer, scope).await?;
    let end = clock::now() + budget;
    let mut cleaned = Cleaned { restored, leftovers, ..Cleaned::default() };
    lease::remove_locks(api, &scope.selector()).await?;
    let kinds = writer.kinds();
    let namespaces = kinds.of("", "Namespace");
    if let Some(kind) = namespaces {
        clean_kind(api, writer, kind, &scope.selector(), &needed, end, &mut cleaned).await?;
        if *scope == CleanScope::All {
            clean_kind(api, writer, kind, LOCKS_LABEL, &[], end, &mut cleaned).await?;
        }
    }
    for kind in kinds.iter().filter(|kind| !kind.namespaced && Some(*kind) != namespaces) {
        match clean_kind(api, writer, kind, &scope.selector(), &[], end, &mut cleaned).await {
            Err(error) if error.is_refusal() => tracing::debug!(resource = kind.resource(), %error, "not listed"),
            done => done?,
        }
    }
    Ok(cleaned)
}

/// Every kind without namespaces that a cluster serves, and what else notes speak of.
///
/// # Errors
/// If discovery fails.
pub async fn kinds(api: &Api) -> Result<Kinds, ApiError> {
    resources::every_kind(api, Dialect::gateway_api()).await
}

fn run_of(object: &Value) -> Option<&str> {
    object.pointer("/metadata/labels")?.get(RUN_LABEL)?.as_str()
}

/// Whether a run made an object without namespace: it has a name of the run that its label says, and we wrote it.
fn is_of_a_run(object: &Value) -> bool {
    let named = |run: &str| name(object).is_some_and(|name| names::is_of_run(&name, run));
    run_of(object).is_some_and(named) && is_ours(object)
}

/// Whether a run made a definition. Its name is no run's, so nobody else may have written anything in it.
fn is_definition_of_a_run(definition: &Value) -> bool {
    run_of(definition).is_some() && definitions::is_ours_alone(definition)
}

/// Whether it is what runs share.
fn is_shared(object: &Value) -> bool {
    name(object).as_deref() == Some(lease::LOCKS) && is_ours(object)
}

async fn clean_kind(
    api: &Api,
    writer: &Writer,
    kind: &Kind,
    selector: &str,
    keep: &[String],
    end: tokio::time::Instant,
    cleaned: &mut Cleaned,
) -> Result<(), ApiError> {
    let collection = format!("{}?labelSelector={}", kind.collection(None), encode(selector));
    let list = api.get(&collection).await?;
    let version = list.pointer("/metadata/resourceVersion").and_then(Value::as_str).unwrap_or_default();
    let items = list.get("items").and_then(Value::as_array).cloned().unwrap_or_default();
    let is_ours = if kind.kind == DEFINITION { is_definition_of_a_run } else { is_of_a_run };
    let (own, others): (Vec<_>, Vec<_>) = items.into_iter().partition(|item| is_ours(item) || is_shared(item));
    cleaned.others.extend(others.iter().filter_map(name).map(|name| format!("{}/{name}", kind.kind)));
    let mut waiting: BTreeSet<String> = BTreeSet::new();
    for item in &own {
        let Some(name) = name(item).filter(|name| !keep.contains(name)) else { continue };
        let uid = item.pointer("/metadata/uid").and_then(Value::as_str).unwrap_or_default();
        if kind.kind == DEFINITION
            && let Some(other) = definitions::other(api, item, run_of(item).unwrap_or_default()).await?
        {
            let diagnosis = format!("{other} would go with it, and no run has created that");
            cleaned.leftovers.push(Leftover { object: format!("{}/{name}", kind.kind), diagnosis });
            continue;
        }
        let (group, kind_name) = (kind.group.clone(), kind.kind.clone());
        let key = ObjectKey { group, kind: kind_name, namespace: None, name: name.clone() };
        let version = item.pointer("/metadata/resourceVersion").and_then(Value::as_str);
        let version = version.filter(|_| kind.kind == DEFINITION);
        match writer.delete_found(key, uid, version).await.outcome {
            WriteOutcome::Admitted { .. } | WriteOutcome::Refused { code: 404, .. } => drop(waiting.insert(name)),
            outcome => {
                let (object, diagnosis) = (format!("{}/{name}", kind.kind), describe(&outcome));
                cleaned.leftovers.push(Leftover { object, diagnosis });
            }
        }
    }
    if waiting.is_empty() {
        return Ok(());
    }
    let path = format!("{collection}&watch=true&resourceVersion={version}");
    let all = waiting.clone();
    let gone = async {
        let mut events = std::pin::pin!(api.watch(&path).await?);
        while !waiting.is_empty()
            && let Ok(Some(event)) = events.try_next().await
        {
            if let WatchEvent::Deleted(object) = event
                && let Some(name) = name(&object)
            {
                waiting.remove(&name);
            }
        }
        Ok::<_, ApiError>(())
    };
    // A watch that breaks off leaves names in `waiting`; each is read once more below before it is blamed.
    let _ = tokio::time::timeout_at(end, gone).await;
    for name in all {
        let object = format!("{}/{name}", kind.kind);
        match waiting.contains(&name).then_some(format!("{}/{name}", kind.collection(None))) {
            None => cleaned.removed.push(object),
            Some(path) => match api.get(&path).await {
                Err(error) if error.is_not_found() => cleaned.removed.push(object),
                Err(error) => cleaned.leftovers.push(Leftover { object, diagnosis: error.to_string() }),
                Ok(live) => {
                    let diagnosis = diagnose(api, writer.kinds(), &live).await;
                    cleaned.leftovers.push(Leftover { object, diagnosis });
                }
            },
        }
    }
    Ok(())
}

/// What is said where nobody is known to hold an object.
const NOBODY: &str = "it is still there, and nothing says why";

/// What [`holders`] says, for people.
pub async fn diagnose(api: &Api, kinds: &Kinds, object: &Value) -> String {
    holders(api, kinds, object).await.to_string()
}

/// What an object that is being deleted waits for.
#[derive(Debug, Default)]
pub struct Holders {
    causes: Vec<String>,
    /// Whether it waits for somebody who may never come. Otherwise it is on its way, as a namespace whose Pods are.
    pub is_held: bool,
}

impl Holders {
    /// It cannot be read what it waits for.
    pub fn unread(error: &ApiError) -> Holders {
        Holders { causes: vec![error.to_string()], is_held: true }
    }

    fn held(&mut self, cause: String) {
        self.causes.push(cause);
        self.is_held = true;
    }
}

impl fmt::Display for Holders {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.causes.is_empty() { f.write_str(NOBODY) } else { f.write_str(&self.causes.join("; ")) }
    }
}

/// Whether a condition of a namespace says no more than that something in it is still going. What holds that has conditions of its own.
fn goes_on(kind: &str, message: &str) -> bool {
    let remains = kind == "NamespaceDeletionContentFailure" && message.contains("items still remain");
    remains || kind == "NamespaceContentRemaining"
}

/// What holds an object that is being deleted: its finalizers; for a namespace what its conditions say, and the
/// finalizers of Gateway API objects in it.
pub async fn holders(api: &Api, kinds: &Kinds, object: &Value) -> Holders {
    let mut holders = said_by(object);
    if let (Some("Namespace"), Some(namespace)) = (object.get("kind").and_then(Value::as_str), name(object)) {
        for kind in kinds.own().filter(|kind| kind.namespaced) {
            // What cannot be read adds nothing to the diagnosis.
            let Ok(list) = api.get(&kind.collection(Some(&namespace))).await else { continue };
            for item in list.get("items").and_then(Value::as_array).into_iter().flatten() {
                if let Some(finalizers) = finalizers(item) {
                    let name = name(item).unwrap_or_default();
                    holders.held(format!("{}/{name} has finalizers {finalizers}", kind.kind));
                }
            }
        }
    }
    holders
}

/// What an object itself says of that.
fn said_by(object: &Value) -> Holders {
    let mut holders = Holders::default();
    if let Some(finalizers) = finalizers(object) {
        holders.held(format!("finalizers {finalizers}"));
    }
    for condition in object.pointer("/status/conditions").and_then(Value::as_array).into_iter().flatten() {
        let text = |field: &str| condition.get(field).and_then(Value::as_str).unwrap_or_default();
        if text("status") == "True" {
            holders.causes.push(format!("{}: {}", text("type"), text("message")));
            holders.is_held |= !goes_on(text("type"), text("message"));
        }
    }
    holders
}

fn name(object: &Value) -> Option<String> {
    Some(object.pointer("/metadata/name")?.as_str()?.to_owned())
}

fn finalizers(object: &Value) -> Option<String> {
    let list = object.pointer("/metadata/finalizers")?.as_array()?;
    let names: Vec<&str> = list.iter().filter_map(Value::as_str).collect();
    (!names.is_empty()).then(|| names.join(", "))
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::json;

    use super::*;

    const GOES_ON: &str = "NamespaceDeletionContentFailure: 1 remaining: unexpected items still remain in namespace: a for gvr: /v1, Resource=pods";
    const REFUSED: &str = "NamespaceDeletionContentFailure: admission webhook denied the request";
    const FINALIZERS: &str = "NamespaceFinalizersRemaining: a.test/b in 1 resource instances";

    #[rstest]
    #[case::nothing(json!({}), NOBODY, false)]
    #[case::pods_that_go(json!({"status": {"conditions": [
        {"type": "NamespaceDeletionContentFailure", "status": "True",
            "message": "1 remaining: unexpected items still remain in namespace: a for gvr: /v1, Resource=pods"},
        {"type": "NamespaceFinalizersRemaining", "status": "False", "message": "none"},
    ]}}), GOES_ON, false)]
    #[case::what_may_not_go(json!({"status": {"conditions": [
        {"type": "NamespaceDeletionContentFailure", "status": "True", "message": "admission webhook denied the request"},
    ]}}), REFUSED, true)]
    #[case::what_somebody_holds(json!({"status": {"conditions": [
        {"type": "NamespaceFinalizersRemaining", "status": "True", "message": "a.test/b in 1 resource instances"},
    ]}}), FINALIZERS, true)]
    #[case::a_finalizer(json!({"metadata": {"finalizers": ["a.test/b"]}}), "finalizers a.test/b", true)]
    fn what_is_on_its_way_is_held_by_nobody(#[case] object: Value, #[case] said: &str, #[case] is_held: bool) {
        let holders = said_by(&object);
        assert_eq!((holders.to_string().as_str(), holders.is_held), (said, is_held));
    }
}
