//! The operator of `docs/dialects.md`: a Lamp is lit once the ConfigMap that it names as its socket is there.
//!
//! It knows nothing of who tests it. Everything that it decides stands in [`ready`]; the rest watches and writes.

use futures::{StreamExt, pin_mut};
use kube::api::{Api, ApiResource, DynamicObject, Patch, PatchParams};
use kube::runtime::{WatchStreamExt, watcher};
use kube::{Client, ResourceExt};
use serde_json::{Value, json};

/// How the operator behaves.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Behaviour {
    /// As it should.
    #[default]
    Plain,
    /// A Lamp is lit whether its socket is there or not.
    ForgetsSockets,
}

/// The condition of a Lamp, but for its times.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ready {
    /// `True` or `False`.
    pub status: &'static str,
    /// One word.
    pub reason: &'static str,
    /// What there is to say.
    pub message: String,
}

/// What becomes of a Lamp with this socket, which is there or not.
pub fn ready(socket: &str, is_there: bool, behaviour: Behaviour) -> Ready {
    if is_there || behaviour == Behaviour::ForgetsSockets {
        return Ready { status: "True", reason: "Lit", message: String::new() };
    }
    Ready { status: "False", reason: "SocketNotFound", message: format!("there is no ConfigMap `{socket}`") }
}

/// The program: on the cluster of `$KUBECONFIG`, with these arguments.
///
/// # Errors
/// An argument that is not known, no cluster, or a status that cannot be written.
pub async fn main(mut arguments: impl Iterator<Item = String>) -> Result<(), Box<dyn std::error::Error>> {
    // Whoever has installed one already has installed a provider too, which is all that is needed.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let first = arguments.next();
    let behaviour = match first.as_deref() {
        None => Behaviour::Plain,
        Some("--forgets-sockets") => Behaviour::ForgetsSockets,
        Some(other) => return Err(unknown(other)),
    };
    if let Some(more) = arguments.next() {
        return Err(unknown(&more));
    }
    Ok(run(Client::try_default().await?, behaviour).await?)
}

fn unknown(argument: &str) -> Box<dyn std::error::Error> {
    format!("`{argument}` is not known; there is --forgets-sockets").into()
}

/// Answers for every Lamp of a cluster, for ever.
///
/// # Errors
/// A status cannot be written.
pub async fn run(client: Client, behaviour: Behaviour) -> kube::Result<()> {
    let lamps = Api::<DynamicObject>::all_with(client.clone(), &resource("examples.gateproof.dev", "Lamp", "lamps"));
    let sockets = Api::<DynamicObject>::all_with(client.clone(), &resource("", "ConfigMap", "configmaps"));
    let changes = futures::stream::select(
        watcher(lamps.clone(), watcher::Config::default()).default_backoff().map(|event| event.is_ok()),
        watcher(sockets.clone(), watcher::Config::default()).default_backoff().map(|event| event.is_ok()),
    );
    pin_mut!(changes);
    // A change of either kind may concern any Lamp, and there are few: all are looked at.
    while changes.next().await.is_some() {
        let known = sockets.list(&Default::default()).await?.items;
        for lamp in lamps.list(&Default::default()).await?.items {
            let socket = lamp.data["spec"]["socket"].as_str().unwrap_or_default().to_owned();
            let is_there = known.iter().any(|one| one.name_any() == socket && one.namespace() == lamp.namespace());
            if let Some(status) = status(&lamp, &ready(&socket, is_there, behaviour)) {
                let home = Api::<DynamicObject>::namespaced_with(
                    client.clone(),
                    &lamp.namespace().unwrap_or_default(),
                    &resource("examples.gateproof.dev", "Lamp", "lamps"),
                );
                let patch = Patch::Merge(json!({"status": status}));
                match home.patch_status(&lamp.name_any(), &PatchParams::default(), &patch).await {
                    // It went meanwhile.
                    Err(kube::Error::Api(error)) if error.code == 404 => {}
                    written => drop(written?),
                }
            }
        }
    }
    Ok(())
}

/// The status that has to be written, if it is not there already.
fn status(lamp: &DynamicObject, ready: &Ready) -> Option<Value> {
    let before = &lamp.data["status"]["conditions"][0];
    let mut condition = json!({
        "type": "Ready", "status": ready.status, "reason": ready.reason, "message": ready.message,
        "observedGeneration": lamp.metadata.generation,
        "lastTransitionTime": before["lastTransitionTime"],
    });
    if &condition == before {
        return None;
    }
    if before["status"] != ready.status {
        condition["lastTransitionTime"] = json!(now());
    }
    Some(json!({"conditions": [condition]}))
}

/// The time as conditions have it, by whole seconds.
fn now() -> String {
    jiff::Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}

fn resource(group: &str, kind: &str, plural: &str) -> ApiResource {
    let api_version = if group.is_empty() { "v1".to_owned() } else { format!("{group}/v1") };
    ApiResource {
        group: group.to_owned(),
        version: "v1".to_owned(),
        api_version,
        kind: kind.to_owned(),
        plural: plural.to_owned(),
    }
}
