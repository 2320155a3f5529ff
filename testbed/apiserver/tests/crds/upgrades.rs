//! The policy that keeps definitions from steps back: ours refuses what the official one refuses, and nothing else.

use gateproof_apiserver::crds::{Channel, gateway_api, parse_bundle, safe_upgrades};
use gateproof_apiserver::{Options, Server};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{ApiResource, DynamicObject, Patch, PatchParams};
use kube::{Api, Client};
use rstest::rstest;
use serde_json::{Value, json};

use super::official;

const ROUTES: &str = "httproutes.gateway.networking.k8s.io";
const RELEASES: [&str; 18] = [
    "v0.8.1",
    "v0.0.0-dev",
    "v1.0.0",
    "v1.4.1",
    "v1.4",
    "v1.5.1",
    "v1.6.3",
    "v1.6.0-rc.1",
    "v1.7.0",
    "v1.7.0-rc.1",
    "v1.10.0",
    "v1.16.0",
    "v1.99.0",
    "v1.160.0",
    "v2.0.0",
    "1.7.0",
    "monthly-2026.01",
    "",
];
const CHANNELS: [Option<&str>; 4] = [Some("standard"), Some("experimental"), Some("other"), None];

/// Which of all releases and channels may come next, on a server with these policies where definitions of a channel are.
async fn admitted(policies: Vec<Value>, there: Channel) -> Vec<bool> {
    let crds = gateway_api(there).into_iter().chain(policies).collect();
    let server = Server::start(Options { crds, ..Options::default() }).await.unwrap();
    let definitions = ApiResource::erase::<CustomResourceDefinition>(&());
    let api: Api<DynamicObject> = Api::all_with(Client::new(server.service(), "default"), &definitions);
    let mut admitted = Vec::new();
    for release in RELEASES.map(Some).into_iter().chain([None]) {
        for channel in CHANNELS {
            let annotations = json!({
                "gateway.networking.k8s.io/bundle-version": release,
                "gateway.networking.k8s.io/channel": channel,
            });
            let patch = Patch::Merge(json!({"metadata": {"annotations": annotations}}));
            let answer = api.patch(ROUTES, &PatchParams { dry_run: true, ..PatchParams::default() }, &patch).await;
            admitted.push(match answer {
                Ok(_) => true,
                Err(kube::Error::Api(status)) => {
                    assert_eq!((status.code, &*status.reason), (422, "Invalid"), "{}", status.message);
                    let begin = format!(
                        "customresourcedefinitions.apiextensions.k8s.io \"{ROUTES}\" is forbidden: ValidatingAdmissionPolicy \
                         'safe-upgrades.gateway.networking.k8s.io' with binding 'safe-upgrades.gateway.networking.k8s.io' denied request: "
                    );
                    assert!(status.message.starts_with(&begin), "{}", status.message);
                    false
                }
                Err(error) => panic!("{error}"),
            });
        }
    }
    server.shutdown().await;
    admitted
}

#[rstest]
#[tokio::test]
async fn ours_has_the_verdicts_of_the_official_one(
    #[values(Channel::Standard, Channel::Experimental)] of: Channel,
    #[values(Channel::Standard, Channel::Experimental)] there: Channel,
) {
    let ours = admitted(safe_upgrades(of).into(), there).await;
    assert!(ours.contains(&true) && ours.contains(&false));
    let Some(text) = official::text(of) else { return };
    let official = admitted(parse_bundle(&text).unwrap().policies, there).await;
    let asked = RELEASES.map(Some).into_iter().chain([None]);
    let asked = asked.flat_map(|release| CHANNELS.map(|channel| (release, channel)));
    let other: Vec<_> = asked.zip(ours.iter().zip(&official)).filter(|(_, (ours, theirs))| ours != theirs).collect();
    assert!(other.is_empty(), "{other:?}");
}

/// Where nothing is yet, anything may be that is recent; what is of another group is nobody's business.
#[tokio::test]
async fn a_policy_is_about_its_own_group() {
    let lamps = json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "lamps.example.com"},
        "spec": {
            "group": "example.com", "scope": "Namespaced", "names": {"plural": "lamps", "kind": "Lamp"},
            "versions": [{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": {"type": "object"}}}],
        },
    });
    let server =
        Server::start(Options { crds: safe_upgrades(Channel::Standard).into(), ..Options::default() }).await.unwrap();
    let definitions = ApiResource::erase::<CustomResourceDefinition>(&());
    let api: Api<DynamicObject> = Api::all_with(Client::new(server.service(), "default"), &definitions);
    let create =
        async |object: &Value| api.create(&Default::default(), &serde_json::from_value(object.clone()).unwrap()).await;
    create(&lamps).await.unwrap();
    let mut routes = gateway_api(Channel::Experimental).into_iter().find(|one| official::name(one) == ROUTES).unwrap();
    routes["metadata"]["annotations"]["gateway.networking.k8s.io/bundle-version"] = json!("v1.6.0");
    assert!(create(&routes).await.is_err());
    routes["metadata"]["annotations"]["gateway.networking.k8s.io/bundle-version"] = json!("v1.7.0");
    create(&routes).await.unwrap();
    server.shutdown().await;
}
