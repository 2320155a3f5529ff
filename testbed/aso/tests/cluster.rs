//! The implementation on an embedded cluster, with an ARM of a few lines.
#![allow(clippy::unwrap_used, missing_docs)]

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex},
};

use futures::{StreamExt, future::BoxFuture};
use gateproof_apiserver::{Options, Server};
use gateproof_aso::{
    Aso, Behaviour, Settings,
    arm::{ArmClient, Method, Outcome, Request, Response},
    definitions, faults,
    world::{FINALIZER, RESOURCE_ID},
};
use kube::{
    Api, Client,
    api::{ApiResource, DeleteParams, DynamicObject, PostParams},
    runtime::watcher,
};
use serde_json::{Value, json};

/// Resources by path, answers to give first, and what was asked.
#[derive(Default)]
struct FakeArm {
    resources: Mutex<BTreeMap<String, Value>>,
    scripted: Mutex<Vec<(Method, Response)>>,
    asked: Mutex<Vec<(Method, String)>>,
}

impl FakeArm {
    fn script(&self, method: Method, status: u16, code: &str) {
        let body = json!({"error": {"code": code, "message": "so it is"}});
        self.scripted.lock().unwrap().push((method, Response { status, body, ..Response::default() }));
    }

    fn count(&self, method: Method) -> usize {
        self.asked.lock().unwrap().iter().filter(|(one, _)| *one == method).count()
    }

    fn answer(&self, request: &Request) -> Response {
        let path = request.url.split('?').next().unwrap().to_owned();
        self.asked.lock().unwrap().push((request.method, path.clone()));
        let mut scripted = self.scripted.lock().unwrap();
        if let Some(at) = scripted.iter().position(|(method, _)| *method == request.method) {
            return scripted.remove(at).1;
        }
        let mut resources = self.resources.lock().unwrap();
        let (status, body) = match request.method {
            Method::Put => {
                let mut body = request.body.clone().unwrap();
                body["id"] = path.clone().into();
                body["properties"]["provisioningState"] = "Succeeded".into();
                resources.insert(path, body.clone());
                (200, body)
            }
            Method::Delete => (resources.remove(&path).map_or(204, |_| 200), Value::Null),
            Method::Get | Method::Post => resources.get(&path).map_or((404, Value::Null), |body| (200, body.clone())),
        };
        Response { status, body, ..Response::default() }
    }
}

impl ArmClient for FakeArm {
    fn send<'a>(&'a self, request: &'a Request) -> BoxFuture<'a, Outcome> {
        let answer = self.answer(request);
        Box::pin(async move { Ok(answer) })
    }
}

struct Bed {
    server: Server,
    arm: Arc<FakeArm>,
    aso: Aso,
}

fn start_on(server: &Server, arm: &Arc<FakeArm>, behaviour: Behaviour) -> Aso {
    let settings = Settings { time_scale: 0.01, ..Settings::default() };
    Aso::start_with(Client::new(server.service(), "default"), arm.clone(), settings, behaviour)
}

impl Bed {
    async fn start(behaviour: Behaviour) -> Self {
        let server = Server::start(Options { crds: definitions(), ..Options::default() }).await.unwrap();
        let arm = Arc::new(FakeArm::default());
        let aso = start_on(&server, &arm, behaviour);
        Self { server, arm, aso }
    }

    fn api(&self, group: &str, version: &str, kind: &str, plural: &str) -> Api<DynamicObject> {
        let resource = ApiResource {
            group: group.into(),
            version: version.into(),
            api_version: format!("{group}/{version}"),
            kind: kind.into(),
            plural: plural.into(),
        };
        Api::namespaced_with(Client::new(self.server.service(), "default"), "default", &resource)
    }

    fn groups(&self) -> Api<DynamicObject> {
        self.api("resources.azure.com", "v1api20200601", "ResourceGroup", "resourcegroups")
    }

    fn networks(&self) -> Api<DynamicObject> {
        self.api("network.azure.com", "v1api20201101", "VirtualNetwork", "virtualnetworks")
    }

    async fn group(&self) {
        create(&self.groups(), "resources.azure.com/v1api20200601", "ResourceGroup", "g", json!({"location": "x"}))
            .await;
    }

    async fn network(&self) {
        let spec =
            json!({"owner": {"name": "g"}, "location": "x", "addressSpace": {"addressPrefixes": ["10.0.0.0/8"]}});
        create(&self.networks(), "network.azure.com/v1api20201101", "VirtualNetwork", "n", spec).await;
    }
}

async fn create(api: &Api<DynamicObject>, version: &str, kind: &str, name: &str, spec: Value) {
    let object = json!({"apiVersion": version, "kind": kind, "metadata": {"name": name}, "spec": spec});
    api.create(&PostParams::default(), &serde_json::from_value(object).unwrap()).await.unwrap();
}

fn reason(object: &DynamicObject) -> String {
    object.data["status"]["conditions"][0]["reason"].as_str().unwrap_or_default().to_owned()
}

/// Waits until an object is as it should be.
async fn until(api: &Api<DynamicObject>, name: &str, is: impl Fn(Option<&DynamicObject>) -> bool) {
    let mut events = watcher::watch_object(api.clone(), name).boxed();
    while let Some(event) = events.next().await {
        if event.is_ok_and(|object| is(object.as_ref())) {
            return;
        }
    }
    panic!("the watch ended");
}

async fn until_reason(api: &Api<DynamicObject>, name: &str, wanted: &str) {
    until(api, name, |object| object.is_some_and(|object| reason(object) == wanted)).await;
}

#[tokio::test]
async fn a_resource_is_put_in_and_says_what_azure_says() {
    let bed = Bed::start(Behaviour::default()).await;
    bed.group().await;
    until_reason(&bed.groups(), "g", "Succeeded").await;
    let group = bed.groups().get("g").await.unwrap();
    let condition = &group.data["status"]["conditions"][0];
    assert_eq!(
        (condition["status"].as_str(), condition.get("severity"), condition.get("message")),
        (Some("True"), None, None)
    );
    assert_eq!(group.data["status"]["properties"]["provisioningState"], "Succeeded");
    assert!(group.metadata.finalizers.unwrap().contains(&FINALIZER.to_owned()));
    assert_eq!(bed.arm.count(Method::Put), 1);
    bed.aso.shutdown().await;
}

#[tokio::test]
async fn a_child_waits_for_its_owner_without_a_claim_and_a_request() {
    let bed = Bed::start(Behaviour::default()).await;
    bed.network().await;
    until_reason(&bed.networks(), "n", "WaitingForOwner").await;
    let waiting = bed.networks().get("n").await.unwrap();
    assert!(waiting.metadata.finalizers.unwrap_or_default().is_empty());
    assert!(!waiting.metadata.annotations.unwrap_or_default().contains_key(RESOURCE_ID));
    assert_eq!(bed.arm.count(Method::Put), 0);
    bed.group().await;
    until_reason(&bed.networks(), "n", "Succeeded").await;
}

#[tokio::test]
async fn what_fails_for_now_heals_by_itself() {
    let bed = Bed::start(Behaviour::default()).await;
    bed.arm.script(Method::Put, 409, "Conflict");
    bed.group().await;
    until_reason(&bed.groups(), "g", "Succeeded").await;
    assert_eq!(bed.arm.count(Method::Put), 2);
}

#[tokio::test]
async fn what_fails_for_good_is_not_sent_again_even_by_another_process() {
    let mut bed = Bed::start(Behaviour::default()).await;
    bed.arm.script(Method::Put, 400, "LocationRequired");
    bed.group().await;
    until_reason(&bed.groups(), "g", "LocationRequired").await;
    bed.aso.shutdown().await;
    bed.aso = start_on(&bed.server, &bed.arm, Behaviour::default());
    // Another object is put in meanwhile, so that there was time for this one.
    create(&bed.groups(), "resources.azure.com/v1api20200601", "ResourceGroup", "h", json!({"location": "x"})).await;
    until_reason(&bed.groups(), "h", "Succeeded").await;
    assert_eq!(reason(&bed.groups().get("g").await.unwrap()), "LocationRequired");
    assert_eq!(bed.arm.count(Method::Put), 2);
}

#[tokio::test]
async fn a_deletion_is_told_and_then_the_object_goes() {
    let bed = Bed::start(Behaviour::default()).await;
    bed.group().await;
    until_reason(&bed.groups(), "g", "Succeeded").await;
    bed.groups().delete("g", &DeleteParams::default()).await.unwrap();
    until(&bed.groups(), "g", |object| object.is_none()).await;
    assert_eq!(bed.arm.count(Method::Delete), 1);
    assert!(bed.arm.resources.lock().unwrap().is_empty());
}

#[tokio::test]
async fn a_fault_shows_in_the_cluster() {
    let fault = faults::find("success-by-another-name").unwrap();
    let bed = Bed::start(Behaviour::default().with_fault(fault)).await;
    bed.group().await;
    until_reason(&bed.groups(), "g", "Applied").await;
}
