//! Writes statuses that others write to as well.

use kube::Client;
use kube::api::{DynamicObject, PostParams};
use serde_json::{Value, json};

use crate::object::{Kind, name, namespace};

/// How often a write is tried again because somebody else was faster.
const CONFLICTS: usize = 8;

/// Writes the status that `merge` makes of an object, if it is another one than the object has. An object that is gone, or has
/// another spec by now, is another round's business.
///
/// # Errors
/// The API server refuses it, or cannot be reached.
pub async fn status<K: Kind>(
    client: &Client,
    kind: K,
    object: &Value,
    mut merge: impl FnMut(&Value) -> Value,
) -> kube::Result<()> {
    let api = kind.api(client.clone(), namespace(object));
    let mut live = object.clone();
    live["kind"] = kind.name().into();
    live["apiVersion"] = kind.api_version().into();
    for _ in 0..CONFLICTS {
        let status = merge(&live);
        if live.get("status").unwrap_or(&json!({})) == &status {
            return Ok(());
        }
        let mut wanted = live.clone();
        wanted["status"] = status;
        let wanted: DynamicObject = serde_json::from_value(wanted).map_err(kube::Error::SerdeError)?;
        match api.replace_status(name(object), &PostParams::default(), &wanted).await {
            Ok(_) => return Ok(()),
            Err(kube::Error::Api(status)) if status.is_conflict() => {
                let Some(other) = api.get_opt(name(object)).await? else { return Ok(()) };
                let mut other = serde_json::to_value(other).map_err(kube::Error::SerdeError)?;
                let is_same = |field: &str| other["metadata"][field] == live["metadata"][field];
                if !is_same("generation") || !is_same("uid") {
                    return Ok(());
                }
                other["kind"] = live["kind"].take();
                other["apiVersion"] = live["apiVersion"].take();
                live = other;
            }
            Err(kube::Error::Api(status)) if status.is_not_found() => return Ok(()),
            Err(error) => return Err(error),
        }
    }
    Ok(())
}
