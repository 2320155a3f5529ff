//! Traffic comes in at a kind of one's own: made, waited for and asked as `dialect.yaml` says, with no kind of Gateway API in sight.
#![allow(clippy::unwrap_used)]

mod process;

use std::path::{Path, PathBuf};

use futures::StreamExt;
use kube::api::{Api, ApiResource, DynamicObject, GroupVersionKind, Patch, PatchParams};
use kube::runtime::{WatchStreamExt, watcher};
use kube::{Client, ResourceExt};
use process::{Ended, TestbedProcess, run};
use rstest::rstest;
use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

/// What somebody else does to the definition of Doors while a scenario asks one.
async fn change_definition(client: &Client) {
    let kind = ApiResource::from_gvk(&GroupVersionKind::gvk("apiextensions.k8s.io", "v1", "CustomResourceDefinition"));
    let definitions = Api::<DynamicObject>::all_with(client.clone(), &kind);
    let patch = Patch::Merge(json!({"spec": {"names": {"categories": ["entrances"]}}}));
    definitions.patch("doors.example.com", &PatchParams::default(), &patch).await.unwrap();
}

/// Opens every Door, and says where it is if it is to be found.
async fn keep(client: Client, says_where: bool) {
    let doors = ApiResource::from_gvk(&GroupVersionKind::gvk("example.com", "v1", "Door"));
    let all = Api::<DynamicObject>::all_with(client.clone(), &doors);
    let mut changes = std::pin::pin!(watcher(all, watcher::Config::default()).default_backoff());
    while let Some(change) = changes.next().await {
        let Ok(watcher::Event::Apply(door) | watcher::Event::InitApply(door)) = change else { continue };
        if door.data["status"].is_object() {
            continue;
        }
        let condition = json!({
            "type": "Open", "status": "True", "reason": "Unlocked", "message": "",
            "observedGeneration": door.metadata.generation, "lastTransitionTime": "2026-01-01T00:00:00Z",
        });
        let places = if says_where { json!([{"hostname": "localhost"}]) } else { json!([]) };
        let status = Patch::Merge(json!({"status": {"conditions": [condition], "places": places}}));
        let home = Api::<DynamicObject>::namespaced_with(client.clone(), &door.namespace().unwrap(), &doors);
        // It may have gone meanwhile.
        let _ = home.patch_status(&door.name_any(), &PatchParams::default(), &status).await;
    }
}

/// Answers every request in the same way, but for one path, on which the definition of Doors is changed first if there is somebody for
/// that.
async fn answer(listener: TcpListener, knock: &'static str, somebody_else: Option<Client>) {
    while let Ok((mut stream, _)) = listener.accept().await {
        let somebody_else = somebody_else.clone();
        tokio::spawn(async move {
            let mut request = Vec::new();
            while !request.windows(4).any(|end| end == b"\r\n\r\n") {
                if stream.read_buf(&mut request).await.unwrap_or_default() == 0 {
                    return;
                }
            }
            let is_knock = request.starts_with(b"GET /knock ");
            if let Some(client) = somebody_else.filter(|_| is_knock) {
                change_definition(&client).await;
            }
            let status = if is_knock { knock } else { "200 OK" };
            let answer = format!("HTTP/1.1 {status}\r\ncontent-length: 0\r\nconnection: close\r\n\r\n");
            let _ = stream.write_all(answer.as_bytes()).await;
        });
    }
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/doors")
}

/// The group of Doors, as the first and only one of the dialect, or behind another.
const FIRST: (&str, &str) = ("groups: [example.com]", "{kind: Door, ");
const SECOND: (&str, &str) = ("groups: [keys.example.com, example.com]", "{kind: Door, group: example.com, ");

/// A copy of the dialect's folder, with its group so.
fn copy((groups, kind): (&str, &str)) -> tempfile::TempDir {
    let copy = tempfile::tempdir().unwrap();
    std::fs::create_dir(copy.path().join("manifests")).unwrap();
    let rest = ["contract.yaml", "crds.yaml", "preflight.yaml", "requirements.yaml", "manifests/door.yaml"];
    for file in rest {
        std::fs::copy(folder().join(file), copy.path().join(file)).unwrap();
    }
    let dialect = std::fs::read_to_string(folder().join("dialect.yaml")).unwrap();
    std::fs::write(copy.path().join("dialect.yaml"), dialect.replace(FIRST.0, groups).replace(FIRST.1, kind)).unwrap();
    copy
}

#[rstest]
#[case::open(FIRST, "200 OK", true, 0, "1 passed, 0 failed")]
#[case::of_a_second_group(SECOND, "200 OK", true, 0, "1 passed, 0 failed")]
#[case::broken(FIRST, "503 Service Unavailable", true, 1, "clause: DOOR-2")]
#[case::nowhere(FIRST, "200 OK", false, 3, "no Door says Open=True and has an address")]
#[tokio::test(flavor = "multi_thread")]
async fn traffic_comes_in_at_a_door(
    #[case] group: (&str, &str),
    #[case] knock: &'static str,
    #[case] says_where: bool,
    #[case] code: i32,
    #[case] told: &str,
) {
    let ended = ran(group, knock, says_where, false).await;
    assert!(ended.said().contains(told), "{}", ended.said());
    assert_eq!(ended.code, Some(code));
}

/// Whoever changes what a Door may say makes what it says nobody's failure, whichever group of the dialect Doors are of.
#[rstest]
#[tokio::test(flavor = "multi_thread")]
async fn a_definition_that_others_change_fails_nobody(#[values(FIRST, SECOND)] group: (&str, &str)) {
    let ended = ran(group, "503 Service Unavailable", true, true).await;
    let told = "doors.example.com was changed at metadata.generation";
    assert!(ended.said().contains(told), "{}", ended.said());
    assert!(ended.said().contains("0 passed, 0 failed, 1 inconclusive"), "{}", ended.said());
}

/// A run of the scenario of Doors, with somebody who keeps these, and perhaps somebody else who changes their definition meanwhile.
async fn ran(group: (&str, &str), knock: &'static str, says_where: bool, others: bool) -> Ended {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
    let ports = format!("http={}", listener.local_addr().unwrap().port());
    let folder = copy(group);
    let dialect = folder.path().display().to_string();
    let testbed = TestbedProcess::start(&["--no-controller", "--dialect", &dialect]);
    let config = kube::config::Kubeconfig::from_yaml(&testbed.credentials()).unwrap();
    let config = kube::Config::from_custom_kubeconfig(config, &Default::default()).await.unwrap();
    let client = Client::try_from(config).unwrap();
    tokio::spawn(answer(listener, knock, others.then(|| client.clone())));
    let keeping = tokio::spawn(keep(client, says_where));
    let kubeconfig = testbed.kubeconfig.display().to_string();
    let dir = testbed.dir.path().to_owned();
    let words = ["run", "--dialect", &dialect, "--kubeconfig", &kubeconfig, "--ports", &ports];
    let words = words.into_iter().chain(["--timing", "embedded"]).map(str::to_owned).collect::<Vec<_>>();
    let ended = tokio::task::spawn_blocking(move || run(&dir, &words.iter().map(String::as_str).collect::<Vec<_>>()));
    let ended = ended.await.unwrap();
    keeping.abort();
    ended
}

#[rstest]
#[case::field(
    "dialect.yaml",
    "certificate: ",
    "key: ",
    "dialect.yaml:17: the manifest `http` of `entries` has the field `spec.key`, which its definition has not"
)]
#[case::no_probe(
    "preflight.yaml",
    "    - probe: {",
    "    - hold: {for: quiet, always: {\"${door}\": {Open: \"True\"}}} # {",
    "preflight.yaml:8: it is to have one entry"
)]
#[case::two_entries(
    "preflight.yaml",
    "{door: http}",
    "{door: http, other: http}",
    "preflight.yaml:9:14: there is more than one Door"
)]
fn what_is_wrong_is_told(#[case] file: &str, #[case] from: &str, #[case] to: &str, #[case] told: &str) {
    let folder = copy(FIRST);
    let path = folder.path().join(file);
    let text = std::fs::read_to_string(&path).unwrap();
    assert!(text.contains(from));
    std::fs::write(path, text.replacen(from, to, 1)).unwrap();
    let ended = run(folder.path(), &["lint", "--dialect", "."]);
    assert_eq!(ended.code, Some(2), "{}", ended.said());
    assert!(ended.said().contains(told), "{}", ended.said());
}

/// What the page shows of a Door is what is run here.
#[test]
fn the_page_shows_the_door() {
    let page = std::fs::read_to_string(folder().join("../../../docs/dialects.md")).unwrap();
    let shown =
        page.split("```text\n").find(|block| block.contains("kind: Door")).unwrap().split("```").next().unwrap();
    let file = std::fs::read_to_string(folder().join("dialect.yaml")).unwrap();
    assert!(file.contains(shown), "{shown}");
}
