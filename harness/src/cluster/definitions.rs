//! Definitions that scenarios create. A manifest names one and does not say what it says: that is known of the release that is built in.

use std::time::Duration;

use gateproof_apiserver::crds::{self, BUNDLE_VERSION};
use serde_json::{Value, json};

use super::api::{Api, ApiError, encode};
use super::clock::{self, Backoff};
use super::discover::Facts;
use super::kinds::Kinds;
use super::names::RUN_LABEL;
use super::observe::Looker;
use crate::dialects::Dialect;
use crate::log::{ObjectKey, Timing, Write, WriteOutcome};
use crate::scenario::scope::{DEFINITION, defined};
use crate::scenario::{Channel, Release};

/// What is built in of a channel.
fn of_channel(channel: Channel) -> &'static [Value] {
    crds::gateway_api_ref(match channel {
        Channel::Standard => crds::Channel::Standard,
        Channel::Experimental => crds::Channel::Experimental,
    })
}

fn name(definition: &Value) -> &str {
    definition.pointer("/metadata/name").and_then(Value::as_str).unwrap_or_default()
}

/// The names of all of them, in whatever channel.
pub fn names() -> impl Iterator<Item = &'static str> {
    of_channel(Channel::Experimental).iter().map(name)
}

/// What a definition says in the release and channel of a target, if that is known.
pub fn built_in(wanted: &str, release: Release) -> Option<&'static Value> {
    let is_built_in = BUNDLE_VERSION.parse() == Ok(release.version);
    of_channel(release.channel).iter().find(|definition| is_built_in && name(definition) == wanted)
}

/// Takes the kind of a definition in that is still to be created. One that is served stays as it is.
pub fn expect(kinds: &mut Kinds, definition: &Value) {
    let text = |pointer: &str| definition.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
    let (group, kind, plural) = (text("/spec/group"), text("/spec/names/kind"), text("/spec/names/plural"));
    if kinds.of(group, kind).is_some() {
        return;
    }
    let versions = definition.pointer("/spec/versions").and_then(Value::as_array).into_iter().flatten();
    for version in versions.filter(|version| version["served"] == true) {
        let version = version["name"].as_str().unwrap_or_default();
        kinds.add(group, version, kind, plural, text("/spec/scope") == "Namespaced");
    }
    kinds.postpone(name(definition));
}

/// The object that is written for one of a manifest: where that names a definition, with what the definition says.
pub fn complete(object: &Value, facts: &Facts) -> Value {
    let mut whole = object.clone();
    let known = defined(object).and_then(|name| built_in(name, facts.basis().release?));
    if let Some(known) = known {
        whole["spec"] = known["spec"].clone();
        whole["metadata"]["annotations"] = known["metadata"]["annotations"].clone();
    }
    whole
}

/// Once a definition was created, waits until what it defines is served, and has it watched.
pub async fn begin(write: &Write, kinds: &Kinds, api: &Api, looker: &Looker, timing: &Timing) {
    let admitted = matches!(write.outcome, WriteOutcome::Admitted { .. });
    let kind = kinds.defined_by(&write.key.name).filter(|_| admitted && write.key.kind == DEFINITION);
    let Some(kind) = kind else { return };
    let any = ObjectKey { group: kind.group.clone(), kind: kind.kind.clone(), namespace: None, name: String::new() };
    let served = async {
        let mut pause = Backoff::new(timing.backoff_min, timing.backoff_max);
        let path = format!("{}?limit=1", kind.collection(None));
        while api.get(&path).await.is_err_and(|error| error.is_not_found()) {
            clock::until(clock::now() + pause.step(Duration::ZERO)).await;
        }
        looker.renew(&[any]).await;
    };
    // What is not served by then is told by the write that needs it.
    let _ = tokio::time::timeout(timing.write, served).await;
}

/// An object that would go with a definition and is not of this run, if there is one, as `Kind/namespace/name`.
///
/// # Errors
/// If they cannot be listed.
pub async fn other(api: &Api, definition: &Value, run: &str) -> Result<Option<String>, ApiError> {
    // By what the definition says itself: whatever else the API server serves, or does not just now, says nothing of it.
    let mut kinds = Kinds::new(Dialect::gateway_api());
    expect(&mut kinds, definition);
    let Some(kind) = kinds.iter().next() else { return Ok(None) };
    let selector = encode(&format!("{RUN_LABEL}!={run}"));
    let list = match api.get(&format!("{}?labelSelector={selector}&limit=1", kind.collection(None))).await {
        // It was never established, so there are none.
        Err(error) if error.is_not_found() => return Ok(None),
        list => list?,
    };
    let metadata = list.pointer("/items/0/metadata");
    let key = metadata.map(|metadata| ObjectKey {
        group: kind.group.clone(),
        kind: kind.kind.clone(),
        namespace: metadata["namespace"].as_str().map(str::to_owned),
        name: metadata["name"].as_str().unwrap_or_default().to_owned(),
    });
    Ok(key.map(|key| key.to_string()))
}

/// Whether nobody but us ever wrote a definition, and we created it: its group never changes, so who set it created it. What is
/// in its status, or marks it as deleted, is the API server's.
pub fn is_ours_alone(definition: &Value) -> bool {
    let entries = definition.pointer("/metadata/managedFields").and_then(Value::as_array);
    let written = || entries.into_iter().flatten().filter(|entry| entry.get("subresource").is_none());
    let is_ours = |entry: &Value| entry["manager"] == super::names::FIELD_MANAGER;
    written().all(is_ours) && written().any(|entry| entry.pointer("/fieldsV1/f:spec/f:group") == Some(&json!({})))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use rstest::rstest;

    use super::*;
    /// The group of what is asked for here.
    const GROUP: &str = "gateway.networking.k8s.io";

    const TCP: &str = "tcproutes.gateway.networking.k8s.io";
    const MESH: &str = "xmeshes.gateway.networking.x-k8s.io";

    #[rstest]
    #[case::there(TCP, BUNDLE_VERSION, Channel::Standard, true)]
    #[case::in_the_other_channel(MESH, BUNDLE_VERSION, Channel::Standard, false)]
    #[case::in_this_channel(MESH, BUNDLE_VERSION, Channel::Experimental, true)]
    #[case::of_another_release(TCP, "v1.4.1", Channel::Experimental, false)]
    #[case::nowhere("tcproutes.example.com", BUNDLE_VERSION, Channel::Experimental, false)]
    fn definitions_are_known_of_one_release(
        #[case] name: &str,
        #[case] version: &str,
        #[case] channel: Channel,
        #[case] known: bool,
    ) {
        assert_eq!(built_in(name, Release { version: version.parse().unwrap(), channel }).is_some(), known);
    }

    #[test]
    fn what_is_served_is_not_expected_later() {
        let definition =
            built_in(TCP, Release { version: BUNDLE_VERSION.parse().unwrap(), channel: Channel::Standard }).unwrap();
        let mut kinds = Kinds::new(Dialect::gateway_api());
        expect(&mut kinds, definition);
        let later = kinds.of(GROUP, "TCPRoute").unwrap();
        assert!(later.later && later.namespaced && later.versions.contains(&"v1".to_owned()), "{later:?}");
        let mut kinds = Kinds::new(Dialect::gateway_api());
        kinds.add(GROUP, "v1alpha2", "TCPRoute", "tcproutes", true);
        expect(&mut kinds, definition);
        let served = kinds.of(GROUP, "TCPRoute").unwrap();
        assert!(!served.later && served.versions == ["v1alpha2"], "{served:?}");
    }

    fn entry(manager: &str, subresource: Option<&str>, fields: Value) -> Value {
        let mut entry = json!({"manager": manager, "fieldsV1": fields});
        if let Some(subresource) = subresource {
            entry["subresource"] = json!(subresource);
        }
        entry
    }

    #[rstest]
    #[case::created(&["gateproof"], None, true)]
    #[case::of_others(&[], Some("kubectl-create"), false)]
    #[case::patched_by_us(&["gateproof"], Some("kubectl-create"), false)]
    #[case::taken_over(&["gateproof"], Some("kubectl-client-side-apply"), false)]
    fn a_definition_is_ours_if_nobody_else_wrote_it(
        #[case] ours: &[&str],
        #[case] other: Option<&str>,
        #[case] expected: bool,
    ) {
        let spec = json!({"f:spec": {"f:group": {}, "f:names": {}}});
        let status = entry("kube-apiserver", Some("status"), json!({"f:status": {}}));
        let ours = ours.iter().map(|manager| entry(manager, None, spec.clone()));
        let other = other.map(|manager| entry(manager, None, json!({"f:metadata": {}})));
        let entries: Vec<Value> = ours.chain(other).chain([status]).collect();
        assert_eq!(is_ours_alone(&json!({"metadata": {"managedFields": entries}})), expected);
        let patched = entry("gateproof", None, json!({"f:metadata": {"f:labels": {}}}));
        assert!(!is_ours_alone(&json!({"metadata": {"managedFields": [patched]}})));
    }
}
