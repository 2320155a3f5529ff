//! The definitions against the official ones: equal as data, and by verdict where rules, patterns and limits say what is admitted.
//!
//! What needs the official ones looks for them under `$GATEPROOF_DATA`, by default `../shared` beside the workspace, and says so when
//! they are not there.
#![allow(clippy::unwrap_used)]

#[path = "definitions/beside.rs"]
mod beside;
#[path = "definitions/samples.rs"]
mod samples;

use std::io::Write as _;
use std::path::Path;

use gateproof_apiserver::crds::{canonical, digest, parse_bundle};
use gateproof_apiserver::{Options, Server};
use gateproof_contour::definitions;
use kube::Client;
use kube::api::{Api, ApiResource, DynamicObject, GroupVersionKind, PostParams};
use samples::Sample;
use serde_json::{Value, json};

/// Digests of the canonical forms of the official definitions: digest and name on each line.
const COMMITTED: &str = include_str!("../crds/digests.txt");

/// Where the official ones are below the data: by release, and not by commit, for that is how they are published.
const OFFICIAL: &str = "crds/contour/v1.33.8/crds.yaml";

/// Of the official file, what the dialect needs. The others configure Contour itself.
const KINDS: [&str; 3] = ["ExtensionService", "HTTPProxy", "TLSCertificateDelegation"];

/// The official definitions, where they are at hand.
fn official() -> Option<Vec<Value>> {
    let workspace = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."));
    let file = workspace.join(std::env::var_os("GATEPROOF_DATA").unwrap_or_else(|| "../shared".into())).join(OFFICIAL);
    if !file.exists() {
        // Outside of the capture of tests, for CI to count.
        let skipped = format!("skipped: bundles: there is no {}\n", file.display());
        std::io::stderr().write_all(skipped.as_bytes()).unwrap();
        return None;
    }
    let mut definitions = parse_bundle(&std::fs::read_to_string(file).unwrap()).unwrap().definitions;
    definitions.retain(|one| KINDS.iter().any(|kind| one["spec"]["names"]["kind"] == *kind));
    for one in &mut definitions {
        // It has the name of the tool that wrote it alone.
        one["metadata"].as_object_mut().unwrap().remove("annotations");
        // A default, which a server leaves out again.
        assert_eq!(one["spec"].as_object_mut().unwrap().remove("preserveUnknownFields"), Some(json!(false)));
    }
    definitions.sort_by_key(kind_of);
    assert_eq!(definitions.iter().map(kind_of).collect::<Vec<_>>(), KINDS);
    Some(definitions)
}

fn kind_of(definition: &Value) -> String {
    definition["spec"]["names"]["kind"].as_str().unwrap().to_owned()
}

/// Ours, in the order of the official ones.
fn ours() -> Vec<Value> {
    let mut all = definitions();
    all.sort_by_key(kind_of);
    all
}

fn lines(definitions: &[Value]) -> String {
    let line = |one: &Value| format!("{} {}\n", digest(one), one["metadata"]["name"].as_str().unwrap());
    definitions.iter().map(line).collect()
}

#[test]
fn ours_have_the_committed_digests() {
    assert_eq!(lines(&ours()), COMMITTED, "run with the official definitions to see what differs");
}

#[test]
fn the_official_ones_have_the_committed_digests() {
    let Some(official) = official() else { return };
    assert_eq!(lines(&official), COMMITTED);
}

/// Where two values differ.
fn differences(at: &str, ours: &Value, theirs: &Value, found: &mut Vec<String>) {
    match (ours, theirs) {
        (Value::Object(a), Value::Object(b)) => {
            for key in a.keys().chain(b.keys().filter(|key| !a.contains_key(*key))) {
                let (one, other) = (a.get(key).unwrap_or(&Value::Null), b.get(key).unwrap_or(&Value::Null));
                differences(&format!("{at}.{key}"), one, other, found);
            }
        }
        _ if ours == theirs => {}
        _ => found.push(format!("{at}: ours is {ours}, the official one {theirs}")),
    }
}

#[test]
fn ours_equal_the_official_ones() {
    let Some(official) = official() else { return };
    let mut found = Vec::new();
    for (ours, theirs) in ours().iter().zip(&official) {
        differences(&kind_of(ours), &canonical(ours), &canonical(theirs), &mut found);
    }
    assert!(found.is_empty(), "{}", found.join("\n"));
}

/// A server with the definitions, and how each kind of theirs is reached.
async fn serve(crds: Vec<Value>) -> (Server, impl Fn(&str) -> (Api<DynamicObject>, ApiResource)) {
    let known = crds.clone();
    let server = Server::start(Options { crds, ..Options::default() }).await.unwrap();
    let client = Client::new(server.service(), "default");
    let api = move |kind: &str| {
        let spec = &known.iter().find(|one| one["spec"]["names"]["kind"] == kind).unwrap()["spec"];
        let (group, version) = (spec["group"].as_str().unwrap(), spec["versions"][0]["name"].as_str().unwrap());
        let resource = ApiResource::from_gvk_with_plural(
            &GroupVersionKind::gvk(group, version, kind),
            spec["names"]["plural"].as_str().unwrap(),
        );
        (Api::namespaced_with(client.clone(), "default", &resource), resource)
    };
    (server, api)
}

/// Whether a server took what it was given. Any refusal but that of the schema is a mistake of the test.
fn admitted(outcome: kube::Result<DynamicObject>, of: &Value) -> Option<DynamicObject> {
    match outcome {
        Ok(object) => Some(object),
        Err(kube::Error::Api(status)) if status.code == 422 => None,
        Err(error) => panic!("{of}: {error}"),
    }
}

/// The samples of which the definitions say something else than is written there.
async fn surprises(crds: Vec<Value>) -> Vec<String> {
    let (server, api) = serve(crds).await;
    let mut surprises = Vec::new();
    for (index, Sample { kind, part, value, admitted: expected }) in samples::all().into_iter().enumerate() {
        let (api, resource) = api(kind);
        let name = format!("s{index}");
        let (spec, status) = match part {
            "spec" => (value.clone(), None),
            _ => (samples::least(kind), Some(value.clone())),
        };
        let mut object =
            json!({"apiVersion": resource.api_version, "kind": kind, "metadata": {"name": name}, "spec": spec});
        if object["spec"].is_null() {
            object.as_object_mut().unwrap().remove("spec");
        }
        let created = api.create(&PostParams::default(), &serde_json::from_value(object.clone()).unwrap()).await;
        let mut outcome = admitted(created, &value);
        if let Some(status) = status {
            object["metadata"]["resourceVersion"] = json!(outcome.unwrap().metadata.resource_version);
            object["status"] = status;
            let object = serde_json::from_value(object).unwrap();
            outcome = admitted(api.replace_status(&name, &PostParams::default(), &object).await, &value);
        }
        if outcome.is_some() != expected {
            surprises.push(format!("{kind} {part} {value}: admitted is {}", outcome.is_some()));
        }
    }
    server.shutdown().await;
    surprises
}

#[tokio::test]
async fn ours_admit_what_the_official_ones_admit() {
    assert_eq!(surprises(definitions()).await, [""; 0]);
}

#[tokio::test]
async fn the_official_ones_admit_what_is_written_here() {
    let Some(official) = official() else { return };
    assert_eq!(surprises(official).await, [""; 0]);
}

/// What a server fills in. Digests are without descriptions, and so without the one that a status has from the beginning.
async fn what_is_filled_in(crds: Vec<Value>) {
    let (server, api) = serve(crds).await;
    for (kind, spec, filled, status) in beside::filled() {
        let (api, resource) = api(kind);
        let object =
            json!({"apiVersion": resource.api_version, "kind": kind, "metadata": {"name": "one"}, "spec": spec});
        let created = api.create(&PostParams::default(), &serde_json::from_value(object).unwrap()).await.unwrap();
        assert_eq!(created.data.get("spec"), Some(&filled), "{kind}");
        assert_eq!(created.data.get("status"), status.as_ref(), "{kind}");
    }
    server.shutdown().await;
}

#[tokio::test]
async fn ours_fill_in_what_the_official_ones_fill_in() {
    what_is_filled_in(definitions()).await;
}

#[tokio::test]
async fn the_official_ones_fill_in_what_is_written_here() {
    let Some(official) = official() else { return };
    what_is_filled_in(official).await;
}
