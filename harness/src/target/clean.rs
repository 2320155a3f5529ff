//! Removes what runs left behind, and says what holds it if it does not go.

use std::collections::BTreeSet;
use std::time::Duration;

use futures::TryStreamExt;
use http::Method;
use kube::core::WatchEvent;
use serde_json::Value;

use super::api::{Api, ApiError, encode, refusal};
use super::kinds::{GATEWAY_GROUP, Kind, Kinds};
use super::names::RUN_LABEL;
use super::undo::{self, Restored};
use super::write::Writer;

/// What is to be removed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CleanScope {
    /// Everything of one run.
    Run(String),
    /// Everything of every run. Runs under way lose their objects too.
    All,
}

/// Something that did not go.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Leftover {
    /// `Kind/name`.
    pub object: String,
    /// What holds it, as far as it can be told.
    pub diagnosis: String,
}

/// What a clean-up came to.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Cleaned {
    /// Objects of others that are as they were before the run patched them, as `Kind/name`.
    pub restored: Vec<String>,
    /// Objects that are gone, as `Kind/name`.
    pub removed: Vec<String>,
    /// Objects that are not.
    pub leftovers: Vec<Leftover>,
}

/// Restores what runs patched of objects that are not their own; then deletes every labelled cluster-scoped object,
/// namespaces first, and waits until they are gone or the budget is used up. What lies in the namespaces goes with them.
pub async fn clean(api: &Api, writer: &Writer, scope: &CleanScope, budget: Duration) -> Result<Cleaned, ApiError> {
    let kinds = writer.kinds();
    let selector = match scope {
        CleanScope::Run(id) => format!("{RUN_LABEL}={id}"),
        CleanScope::All => RUN_LABEL.to_owned(),
    };
    let Restored { restored, leftovers, needed } = undo::restore_all(api, writer, scope).await?;
    let end = super::clock::now() + budget;
    let mut cleaned = Cleaned { restored, leftovers, ..Cleaned::default() };
    let cluster_scoped: Vec<&Kind> = [kinds.of("", "Namespace"), kinds.of(GATEWAY_GROUP, "GatewayClass")]
        .into_iter()
        .flatten()
        .chain(
            kinds.iter().filter(|kind| !kind.namespaced && kind.group == GATEWAY_GROUP && kind.kind != "GatewayClass"),
        )
        .collect();
    for kind in cluster_scoped {
        let keep: &[String] = if kind.kind == "Namespace" { &needed } else { &[] };
        clean_kind(api, kinds, kind, &selector, keep, end, &mut cleaned).await?;
    }
    Ok(cleaned)
}

async fn clean_kind(
    api: &Api,
    kinds: &Kinds,
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
    let mut waiting: BTreeSet<String> = items.iter().filter_map(name).filter(|name| !keep.contains(name)).collect();
    if waiting.is_empty() {
        return Ok(());
    }
    for name in &waiting {
        let path = format!("{}/{name}?propagationPolicy=Background", kind.collection(None));
        let reply = api.call(Method::DELETE, &path, None, Vec::new()).await?;
        if reply.code >= 300 && reply.code != 404 {
            return Err(refusal(&reply));
        }
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
                    let diagnosis = diagnose(api, kinds, &live).await;
                    cleaned.leftovers.push(Leftover { object, diagnosis });
                }
            },
        }
    }
    Ok(())
}

/// What is said where nobody is known to hold an object.
pub const NOBODY: &str = "it is still there, and nothing says why";

/// What [`holders`] says, for people.
pub async fn diagnose(api: &Api, kinds: &Kinds, object: &Value) -> String {
    let causes = holders(api, kinds, object).await;
    if causes.is_empty() { NOBODY.to_owned() } else { causes.join("; ") }
}

/// What holds an object that is being deleted: its finalizers; for a namespace what its conditions say, and the
/// finalizers of Gateway API objects in it.
pub async fn holders(api: &Api, kinds: &Kinds, object: &Value) -> Vec<String> {
    let mut causes = Vec::new();
    if let Some(finalizers) = finalizers(object) {
        causes.push(format!("finalizers {finalizers}"));
    }
    for condition in object.pointer("/status/conditions").and_then(Value::as_array).into_iter().flatten() {
        let text = |field: &str| condition.get(field).and_then(Value::as_str).unwrap_or_default();
        if text("status") == "True" {
            causes.push(format!("{}: {}", text("type"), text("message")));
        }
    }
    if let (Some("Namespace"), Some(namespace)) = (object.get("kind").and_then(Value::as_str), name(object)) {
        for kind in kinds.iter().filter(|kind| kind.namespaced && kind.group == GATEWAY_GROUP) {
            // What cannot be read adds nothing to the diagnosis.
            let Ok(list) = api.get(&kind.collection(Some(&namespace))).await else { continue };
            for item in list.get("items").and_then(Value::as_array).into_iter().flatten() {
                if let Some(finalizers) = finalizers(item) {
                    let name = name(item).unwrap_or_default();
                    causes.push(format!("{}/{name} has finalizers {finalizers}", kind.kind));
                }
            }
        }
    }
    causes
}

fn name(object: &Value) -> Option<String> {
    Some(object.pointer("/metadata/name")?.as_str()?.to_owned())
}

fn finalizers(object: &Value) -> Option<String> {
    let list = object.pointer("/metadata/finalizers")?.as_array()?;
    let names: Vec<&str> = list.iter().filter_map(Value::as_str).collect();
    (!names.is_empty()).then(|| names.join(", "))
}
