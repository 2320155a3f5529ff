//! Deployments of echo images against the API server.
#![allow(clippy::unwrap_used)]

use std::time::Duration;

use gateproof_testbed::{Testbed, TestbedOptions};
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::{Namespace, Node, Pod, Service};
use k8s_openapi::api::discovery::v1::EndpointSlice;
use kube::api::{Api, DeleteParams, ListParams, LogParams, Patch, PatchParams, PostParams};
use kube::runtime::wait::await_condition;
use kube::{Client, ResourceExt};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// Nothing in these tests may take longer.
const LIMIT: Duration = Duration::from_secs(10);

struct World {
    testbed: Testbed,
    client: Client,
}

impl World {
    async fn start() -> World {
        let options = TestbedOptions { workloads: true, no_controller: true, ..TestbedOptions::default() };
        let testbed = Testbed::start(options).await.unwrap();
        let client = testbed.client();
        let namespaces: Api<Namespace> = Api::all(client.clone());
        let namespace = typed(json!({"metadata": {"name": "demo"}}));
        namespaces.create(&PostParams::default(), &namespace).await.unwrap();
        World { testbed, client }
    }

    fn api<K>(&self) -> Api<K>
    where
        K: kube::Resource<DynamicType = (), Scope = k8s_openapi::NamespaceResourceScope>,
    {
        Api::namespaced(self.client.clone(), "demo")
    }

    async fn deploy(&self, image: &str, replicas: u32) {
        let deployment = json!({"metadata": {"name": "echo"}, "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": {"app": "echo"}},
            "template": {"metadata": {"labels": {"app": "echo"}}, "spec": {"containers": [{
                "name": "echo", "image": image,
                "env": [{"name": "POD_NAME", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}}],
            }]}},
        }});
        self.api::<Deployment>().create(&PostParams::default(), &typed(deployment)).await.unwrap();
    }

    async fn serve(&self) {
        let ports = json!([{"port": 8080, "targetPort": 3000}]);
        let service = json!({"metadata": {"name": "echo"}, "spec": {"selector": {"app": "echo"}, "ports": ports}});
        self.api::<Service>().create(&PostParams::default(), &typed(service)).await.unwrap();
    }

    /// Waits until so many Pods are reported ready.
    async fn until_ready(&self, wanted: i32) {
        let has = move |deployment: Option<&Deployment>| {
            let status = deployment.and_then(|deployment| deployment.status.as_ref());
            status.is_some_and(|status| status.ready_replicas == Some(wanted) && status.replicas == Some(wanted))
        };
        tokio::time::timeout(LIMIT, await_condition(self.api::<Deployment>(), "echo", has)).await.unwrap().unwrap();
    }

    /// The addresses of the Service, once there are so many.
    async fn until_endpoints(&self, wanted: usize) -> Vec<(String, u16)> {
        let slices = || async { self.api::<EndpointSlice>().list(&ListParams::default()).await.unwrap().items };
        let published = |slices: &[EndpointSlice]| {
            let each = slices.iter().flat_map(|slice| {
                let port = slice.ports.iter().flatten().find_map(|port| u16::try_from(port.port?).ok()).unwrap();
                slice.endpoints.iter().flatten().map(move |endpoint| (endpoint.addresses[0].clone(), port))
            });
            each.collect::<Vec<_>>()
        };
        let found = tokio::time::timeout(LIMIT, async {
            loop {
                let found = published(&slices().await);
                if found.len() == wanted {
                    return found;
                }
                tokio::task::yield_now().await;
            }
        });
        found.await.unwrap()
    }

    async fn pods(&self) -> Vec<Pod> {
        self.api::<Pod>().list(&ListParams::default()).await.unwrap().items
    }
}

fn typed<T: DeserializeOwned>(value: Value) -> T {
    serde_json::from_value(value).unwrap()
}

async fn get(endpoint: &(String, u16), path: &str) -> Value {
    let mut stream = TcpStream::connect((endpoint.0.as_str(), endpoint.1)).await.unwrap();
    let request = format!("GET {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    serde_json::from_str(answer.split_once("\r\n\r\n").unwrap().1).unwrap()
}

#[tokio::test]
async fn a_deployment_runs_scales_and_goes() {
    let world = World::start().await;
    world.serve().await;
    world.deploy("registry.k8s.io/gateway-api/echo-basic:v1.5.1", 2).await;
    world.until_ready(2).await;
    let endpoints = world.until_endpoints(2).await;
    let names: Vec<String> = world.pods().await.iter().map(ResourceExt::name_any).collect();
    for endpoint in &endpoints {
        let pod = get(endpoint, "/here").await["pod"].as_str().unwrap().to_owned();
        assert!(names.contains(&pod), "{pod} is none of {names:?}");
        let log = LogParams { container: Some("echo".into()), since_seconds: Some(60), ..LogParams::default() };
        let log = world.api::<Pod>().logs(&pod, &log).await.unwrap();
        assert!(log.contains("request made to /here to client"), "{log:?}");
    }

    let scale = Patch::Merge(json!({"spec": {"replicas": 1}}));
    world.api::<Deployment>().patch("echo", &PatchParams::default(), &scale).await.unwrap();
    world.until_ready(1).await;
    let left = world.until_endpoints(1).await;
    assert!(endpoints.contains(&left[0]));

    world.api::<Deployment>().delete("echo", &DeleteParams::default()).await.unwrap();
    world.until_endpoints(0).await;
    assert!(TcpStream::connect((left[0].0.as_str(), left[0].1)).await.is_err());
    world.testbed.shutdown().await;
}

#[tokio::test]
async fn a_pod_that_is_deleted_comes_back() {
    let world = World::start().await;
    world.deploy("echo-basic", 1).await;
    world.until_ready(1).await;
    let pod = world.pods().await.remove(0);
    world.api::<Pod>().delete(&pod.name_any(), &DeleteParams::default()).await.unwrap();
    let uid = pod.uid();
    let another = move |now: Option<&Pod>| {
        now.is_some_and(|now| now.uid() != uid && now.status.as_ref().is_some_and(|status| status.pod_ip.is_some()))
    };
    tokio::time::timeout(LIMIT, await_condition(world.api::<Pod>(), &pod.name_any(), another)).await.unwrap().unwrap();
    world.testbed.shutdown().await;
}

#[tokio::test]
async fn other_images_are_left_alone_and_the_log_of_nobody_is_refused() {
    let world = World::start().await;
    let nodes: Api<Node> = Api::all(world.client.clone());
    assert_eq!(nodes.list(&ListParams::default()).await.unwrap().items.len(), 1);
    world.deploy("nginx", 1).await;
    let lone = json!({"metadata": {"name": "lone"}, "spec": {"containers": [{"name": "c", "image": "echo-basic"}]}});
    world.api::<Pod>().create(&PostParams::default(), &typed(lone)).await.unwrap();
    let refused = world.api::<Pod>().logs("lone", &LogParams::default()).await.unwrap_err();
    assert!(refused.to_string().contains("does not have a host assigned"), "{refused}");
    let missing = world.api::<Pod>().logs("missing", &LogParams::default()).await.unwrap_err();
    assert!(matches!(missing, kube::Error::Api(status) if status.code == 404));
    assert_eq!(world.pods().await.len(), 1);
    world.testbed.shutdown().await;
}
