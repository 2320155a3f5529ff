//! What the cluster does on its own: finalizers, owners, namespaces, definitions.
#![allow(clippy::unwrap_used)]

use gateproof_apiserver::{Options, Server};
use k8s_openapi::api::core::v1::{ConfigMap, Namespace, ServiceAccount};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{DeleteParams, DynamicObject, ListParams, Patch, PatchParams, PostParams, PropagationPolicy};
use kube::runtime::wait::{await_condition, conditions};
use kube::{Api, Client, ResourceExt};
use serde_json::json;

use crate::support::*;

async fn dependent(api: &Api<DynamicObject>, name: &str, owner: &DynamicObject, blocks: bool) {
    let mut widget = widget(name, json!({}));
    let reference = json!([{
        "apiVersion": "example.dev/v1", "kind": "Widget", "name": owner.name_any(), "uid": owner.uid().unwrap(),
        "blockOwnerDeletion": blocks,
    }]);
    widget.metadata.owner_references = serde_json::from_value(reference).unwrap();
    api.create(&PostParams::default(), &widget).await.unwrap();
}

async fn set_finalizers(api: &Api<DynamicObject>, name: &str, finalizers: &[&str]) -> DynamicObject {
    let patch = Patch::Merge(json!({"metadata": {"finalizers": finalizers}}));
    api.patch(name, &PatchParams::default(), &patch).await.unwrap()
}

#[tokio::test]
async fn finalizers_hold_an_object() {
    let server = server().await;
    let api = widget_api(&inside(&server));
    create(&api, "a", "red").await;
    set_finalizers(&api, "a", &["example.dev/hold"]).await;
    let held = api.delete("a", &DeleteParams::default()).await.unwrap().left().unwrap();
    assert!(held.metadata.deletion_timestamp.is_some());
    assert_eq!(held.metadata.generation, Some(2));
    let again = api.delete("a", &DeleteParams::default()).await.unwrap().left().unwrap();
    assert_eq!(again.resource_version(), held.resource_version());
    let more = Patch::Merge(json!({"metadata": {"finalizers": ["example.dev/hold", "example.dev/more"]}}));
    assert_eq!(refused(api.patch("a", &PatchParams::default(), &more).await), (422, "Invalid".into()));
    set_finalizers(&api, "a", &[]).await;
    assert!(api.get_opt("a").await.unwrap().is_none());
}

#[tokio::test]
async fn preconditions_of_deletion() {
    let server = server().await;
    let api = widget_api(&inside(&server));
    let created = create(&api, "a", "red").await;
    let wrong = DeleteParams::default()
        .preconditions(kube::api::Preconditions { uid: Some("other".into()), resource_version: None });
    assert_eq!(refused(api.delete("a", &wrong).await), (409, "Conflict".into()));
    let right = DeleteParams::default()
        .preconditions(kube::api::Preconditions { uid: created.uid(), resource_version: created.resource_version() });
    api.delete("a", &right).await.unwrap();
}

#[tokio::test]
async fn dependents_follow_their_owner() {
    let server = server().await;
    let api = widget_api(&inside(&server));
    let owner = create(&api, "owner", "red").await;
    let other = create(&api, "other", "red").await;
    dependent(&api, "one", &owner, false).await;
    dependent(&api, "two", &owner, false).await;
    let both = json!({"metadata": {"ownerReferences": [
        {"apiVersion": "example.dev/v1", "kind": "Widget", "name": "owner", "uid": owner.uid().unwrap()},
        {"apiVersion": "example.dev/v1", "kind": "Widget", "name": "other", "uid": other.uid().unwrap()},
    ]}});
    api.patch("two", &PatchParams::default(), &Patch::Merge(&both)).await.unwrap();
    api.delete("owner", &DeleteParams::background()).await.unwrap();
    gone(&api, "one").await;
    eventually(async || (api.get("two").await.unwrap().owner_references().len() == 1).then_some(())).await;
    api.delete("other", &DeleteParams::default()).await.unwrap();
    gone(&api, "two").await;
}

#[tokio::test]
async fn an_owner_that_never_was_takes_its_dependent_along() {
    let server = server().await;
    let api = widget_api(&inside(&server));
    let mut ghost = create(&api, "ghost", "red").await;
    ghost.metadata.uid = Some("11111111-1111-1111-1111-111111111111".into());
    dependent(&api, "child", &ghost, false).await;
    gone(&api, "child").await;
    assert!(api.get_opt("ghost").await.unwrap().is_some());
}

#[tokio::test]
async fn foreground_deletion_waits_for_dependents() {
    let server = server().await;
    let api = widget_api(&inside(&server));
    let owner = create(&api, "owner", "red").await;
    dependent(&api, "child", &owner, true).await;
    set_finalizers(&api, "child", &["example.dev/hold"]).await;
    let deleted = api.delete("owner", &DeleteParams::foreground()).await.unwrap().left().unwrap();
    assert_eq!(deleted.finalizers(), ["foregroundDeletion"]);
    eventually(async || api.get("child").await.unwrap().metadata.deletion_timestamp).await;
    assert!(api.get_opt("owner").await.unwrap().is_some(), "the child is still there");
    set_finalizers(&api, "child", &[]).await;
    gone(&api, "owner").await;
}

#[tokio::test]
async fn orphans_stay() {
    let server = server().await;
    let api = widget_api(&inside(&server));
    let owner = create(&api, "owner", "red").await;
    dependent(&api, "child", &owner, true).await;
    let orphan = DeleteParams { propagation_policy: Some(PropagationPolicy::Orphan), ..DeleteParams::default() };
    api.delete("owner", &orphan).await.unwrap();
    gone(&api, "owner").await;
    assert!(api.get("child").await.unwrap().owner_references().is_empty());
}

async fn namespace(client: &Client, name: &str) -> Api<Namespace> {
    let namespaces: Api<Namespace> = Api::all(client.clone());
    let object = serde_json::from_value(json!({"metadata": {"name": name}})).unwrap();
    namespaces.create(&PostParams::default(), &object).await.unwrap();
    namespaces
}

#[tokio::test]
async fn a_namespace_goes_with_all_that_is_in_it() {
    let server = server().await;
    let client = inside(&server);
    let namespaces = namespace(&client, "n").await;
    let widgets: Api<DynamicObject> = Api::namespaced_with(client.clone(), "n", &widget_kind("v1"));
    let maps: Api<ConfigMap> = Api::namespaced(client, "n");
    create(&widgets, "a", "red").await;
    set_finalizers(&widgets, "a", &["example.dev/hold"]).await;
    let map: ConfigMap = serde_json::from_value(json!({"metadata": {"name": "m"}})).unwrap();
    maps.create(&PostParams::default(), &map).await.unwrap();
    let going = namespaces.delete("n", &DeleteParams::default()).await.unwrap().left().unwrap();
    assert_eq!(going.status.unwrap().phase.as_deref(), Some("Terminating"));
    let late = maps.create(&PostParams::default(), &map).await.unwrap_err();
    let kube::Error::Api(status) = late else { unreachable!("{late}") };
    assert_eq!((status.code, status.reason.as_str()), (403, "Forbidden"));
    assert_eq!(status.details.unwrap().causes[0].reason, "NamespaceTerminating");
    eventually(async || maps.get_opt("m").await.unwrap().is_none().then_some(())).await;
    assert!(namespaces.get_opt("n").await.unwrap().is_some(), "the widget holds it");
    set_finalizers(&widgets, "a", &[]).await;
    eventually(async || namespaces.get_opt("n").await.unwrap().is_none().then_some(())).await;
}

#[tokio::test]
async fn definitions_come_and_go_while_the_server_runs() {
    let server = server().await;
    let client = inside(&server);
    let definitions: Api<CustomResourceDefinition> = Api::all(client.clone());
    let mut gadgets = widgets();
    gadgets["metadata"]["name"] = "gadgets.example.dev".into();
    gadgets["spec"]["names"] = json!({"plural": "gadgets", "kind": "Gadget"});
    let gadgets: CustomResourceDefinition = serde_json::from_value(gadgets).unwrap();
    definitions.create(&PostParams::default(), &gadgets).await.unwrap();
    let established = conditions::is_crd_established();
    await_condition(definitions.clone(), "gadgets.example.dev", established).await.unwrap();
    let kind = kube::api::ApiResource::from_gvk(&kube::api::GroupVersionKind::gvk("example.dev", "v1", "Gadget"));
    let api: Api<DynamicObject> = Api::namespaced_with(client, "default", &kind);
    let gadget = DynamicObject::new("g", &kind).data(json!({"spec": {}}));
    api.create(&PostParams::default(), &gadget).await.unwrap();
    set_finalizers(&api, "g", &["example.dev/hold"]).await;
    definitions.delete("gadgets.example.dev", &DeleteParams::default()).await.unwrap();
    assert_eq!(refused(api.create(&PostParams::default(), &gadget).await).0, 403, "nothing new while it goes");
    eventually(async || api.get("g").await.unwrap().metadata.deletion_timestamp).await;
    set_finalizers(&api, "g", &[]).await;
    eventually(async || definitions.get_opt("gadgets.example.dev").await.unwrap().is_none().then_some(())).await;
    assert_eq!(refused(api.get("g").await).0, 404, "the path is gone, with no Status to tell of it");
}

#[tokio::test]
async fn definitions_that_do_not_stand_are_refused() {
    let server = server().await;
    let mut wrong = widgets();
    wrong["metadata"]["name"] = "gadgets.example.dev".into();
    let path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
    let (code, _, status) = raw(&server, "POST", path, &[], &wrong.to_string()).await;
    assert_eq!((code, status["details"]["causes"][0]["field"].as_str()), (422, Some("metadata.name")));
}

#[tokio::test]
async fn every_namespace_has_its_companions() {
    let options = Options { namespace_companions: true, ..Options::default() };
    let server = Server::start(options).await.unwrap();
    let client = inside(&server);
    namespace(&client, "new").await;
    for namespace in ["default", "new"] {
        let accounts: Api<ServiceAccount> = Api::namespaced(client.clone(), namespace);
        let maps: Api<ConfigMap> = Api::namespaced(client.clone(), namespace);
        let is_there = |object: Option<&ConfigMap>| object.is_some();
        await_condition(maps.clone(), "kube-root-ca.crt", is_there).await.unwrap();
        let data = maps.get("kube-root-ca.crt").await.unwrap().data.unwrap();
        assert!(data["ca.crt"].starts_with("-----BEGIN CERTIFICATE-----"));
        let before = accounts.get("default").await.unwrap();
        accounts.delete("default", &DeleteParams::default()).await.unwrap();
        let is_another = |object: Option<&ServiceAccount>| object.is_some_and(|object| object.uid() != before.uid());
        await_condition(accounts, "default", is_another).await.unwrap();
    }
}

#[tokio::test]
async fn a_namespace_without_companions_is_empty() {
    let server = server().await;
    let maps: Api<ConfigMap> = Api::namespaced(inside(&server), "default");
    assert!(maps.list(&ListParams::default()).await.unwrap().items.is_empty());
}

#[tokio::test]
async fn a_namespace_that_ends_tells_what_holds_it() {
    let server = server().await;
    let client = inside(&server);
    let namespaces = namespace(&client, "going").await;
    let maps: Api<ConfigMap> = Api::namespaced(client, "going");
    let held = json!({"metadata": {"name": "a", "finalizers": ["example.dev/hold"]}});
    maps.create(&PostParams::default(), &serde_json::from_value(held).unwrap()).await.unwrap();
    namespaces.delete("going", &DeleteParams::default()).await.unwrap();
    let remains = |object: Option<&Namespace>| {
        let conditions = object.and_then(|object| object.status.as_ref()?.conditions.as_ref());
        conditions.is_some_and(|all| {
            all.iter().any(|one| {
                one.type_ == "NamespaceFinalizersRemaining"
                    && one.status == "True"
                    && one.message.as_ref().is_some_and(|message| message.contains("example.dev/hold"))
            })
        })
    };
    await_condition(namespaces.clone(), "going", remains).await.unwrap();
    let free = Patch::Merge(json!({"metadata": {"finalizers": null}}));
    maps.patch("a", &PatchParams::default(), &free).await.unwrap();
    let is_gone = |object: Option<&Namespace>| object.is_none();
    await_condition(namespaces, "going", is_gone).await.unwrap();
}
