//! A testbed with a Service that answers, and the few verbs that the tests need.

use std::{
    net::{Ipv4Addr, SocketAddr},
    time::Duration,
};

use gateproof_testbed::{PortMapping, Testbed, TestbedOptions};
use kube::{
    Api, Client,
    api::{ApiResource, DeleteParams, DynamicObject, GroupVersionKind, Patch, PatchParams, PostParams},
    runtime::wait::await_condition,
};
use serde_json::{Value, json};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
};

/// Nothing in these tests may take longer.
const LIMIT: Duration = Duration::from_secs(10);

pub struct World {
    pub testbed: Testbed,
    pub client: Client,
}

impl World {
    /// A plain testbed with namespace `demo`, Gateway `gw` and Service `echo`.
    pub async fn start() -> Self {
        Self::with(TestbedOptions::default()).await
    }

    pub async fn with(options: TestbedOptions) -> Self {
        let testbed = Testbed::start(TestbedOptions { ports: PortMapping::Mapped, ..options }).await.unwrap();
        let world = Self { client: testbed.client(), testbed };
        world.create(json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "demo"}})).await;
        world
            .create(gateway(json!({"gatewayClassName": "gateproof", "listeners": [{"name": "http", "port": 80, "protocol": "HTTP"}]})))
            .await;
        world.service("echo", backend().await).await;
        world
    }

    pub fn api(&self, kind: &str) -> Api<DynamicObject> {
        let resource = resource(kind);
        match kind {
            "Namespace" | "GatewayClass" => Api::all_with(self.client.clone(), &resource),
            _ => Api::namespaced_with(self.client.clone(), "demo", &resource),
        }
    }

    pub async fn create(&self, object: Value) {
        let kind = object["kind"].as_str().unwrap().to_owned();
        let object: DynamicObject = serde_json::from_value(object).unwrap();
        self.api(&kind).create(&PostParams::default(), &object).await.unwrap();
    }

    pub async fn delete(&self, kind: &str, name: &str) {
        self.api(kind).delete(name, &DeleteParams::default()).await.unwrap();
    }

    pub async fn patch(&self, kind: &str, name: &str, patch: Value) {
        self.api(kind).patch(name, &PatchParams::default(), &Patch::Merge(patch)).await.unwrap();
    }

    pub async fn patch_status(&self, kind: &str, name: &str, patch: Value) {
        self.api(kind).patch_status(name, &PatchParams::default(), &Patch::Merge(patch)).await.unwrap();
    }

    /// A Service of one port 8080 that leads to this address.
    pub async fn service(&self, name: &str, to: SocketAddr) {
        self.create(json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": name, "namespace": "demo"},
            "spec": {"ports": [{"port": 8080}]}}))
            .await;
        self.create(json!({"apiVersion": "discovery.k8s.io/v1", "kind": "EndpointSlice",
            "metadata": {"name": format!("{name}-1"), "namespace": "demo", "labels": {"kubernetes.io/service-name": name}},
            "addressType": "IPv4", "ports": [{"name": "", "port": to.port()}],
            "endpoints": [{"addresses": [to.ip().to_string()]}]}))
            .await;
    }

    /// Waits until an object satisfies the predicate, and returns it.
    pub async fn until(&self, kind: &str, name: &str, is: impl Fn(&Value) -> bool) -> Value {
        let satisfied = |object: Option<&DynamicObject>| object.is_some_and(|object| is(&to_value(object)));
        let waiting = await_condition(self.api(kind), name, satisfied);
        match tokio::time::timeout(LIMIT, waiting).await {
            Ok(object) => to_value(&object.unwrap().unwrap()),
            Err(_) => panic!("{kind} {name} is {:#}", to_value(&self.api(kind).get(name).await.unwrap())),
        }
    }

    /// Waits until the first parent of a route says this.
    pub async fn until_route(&self, name: &str, conditions: &[(&str, &str)]) -> Value {
        self.until("HTTPRoute", name, |route| says(&route["status"]["parents"][0], route, conditions)).await
    }

    /// Waits until a Gateway says this, and returns where its HTTP port is.
    pub async fn until_gateway(&self, name: &str, conditions: &[(&str, &str)]) -> Value {
        self.until("Gateway", name, |gateway| says(&gateway["status"], gateway, conditions)).await
    }

    /// The status code of a request to the Gateway's port 80.
    pub async fn get(&self, host: &str) -> u16 {
        let gateway = self.until_gateway("gw", &[("Programmed", "True/Programmed")]).await;
        let address: Ipv4Addr = gateway["status"]["addresses"][0]["value"].as_str().unwrap().parse().unwrap();
        let mut stream = TcpStream::connect((address, 20_080)).await.unwrap();
        let request = format!("GET / HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n");
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.unwrap();
        answer.split(' ').nth(1).unwrap().parse().unwrap()
    }

    /// How many status writes there were.
    pub fn status_writes(&self) -> u64 {
        self.testbed
            .requests()
            .iter()
            .filter(|count| count.resource.ends_with("/status"))
            .map(|count| count.count)
            .sum()
    }
}

fn resource(kind: &str) -> ApiResource {
    let (group, version) = match kind {
        "Namespace" | "Service" | "ConfigMap" => ("", "v1"),
        "EndpointSlice" => ("discovery.k8s.io", "v1"),
        _ => ("gateway.networking.k8s.io", "v1"),
    };
    let plural = match kind {
        "GatewayClass" => "gatewayclasses".to_owned(),
        kind => format!("{}s", kind.to_lowercase()),
    };
    ApiResource::from_gvk_with_plural(&GroupVersionKind::gvk(group, version, kind), &plural)
}

pub fn gateway(spec: Value) -> Value {
    json!({"apiVersion": "gateway.networking.k8s.io/v1", "kind": "Gateway",
        "metadata": {"name": "gw", "namespace": "demo"}, "spec": spec})
}

pub fn route(name: &str, spec: Value) -> Value {
    json!({"apiVersion": "gateway.networking.k8s.io/v1", "kind": "HTTPRoute",
        "metadata": {"name": name, "namespace": "demo"}, "spec": spec})
}

/// A route to a Service on port 8080.
pub fn route_to(name: &str, service: &str) -> Value {
    route(name, json!({"parentRefs": [{"name": "gw"}], "rules": [{"backendRefs": [{"name": service, "port": 8080}]}]}))
}

/// Whether a list of conditions says this about the current generation.
pub fn says(holder: &Value, object: &Value, expected: &[(&str, &str)]) -> bool {
    expected.iter().all(|(r#type, expected)| {
        holder["conditions"].as_array().into_iter().flatten().any(|condition| {
            let said = format!("{}/{}", condition["status"].as_str().unwrap(), condition["reason"].as_str().unwrap());
            condition["type"] == *r#type
                && said == *expected
                && condition["observedGeneration"] == object["metadata"]["generation"]
        })
    })
}

fn to_value(object: &DynamicObject) -> Value {
    serde_json::to_value(object).unwrap()
}

/// A server that answers 200 to everything.
pub async fn backend() -> SocketAddr {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            tokio::spawn(async move {
                let mut buffer = [0; 4096];
                while stream.read(&mut buffer).await.is_ok_and(|read| read > 0) {
                    let answer = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
                    if stream.write_all(answer).await.is_err() {
                        return;
                    }
                }
            });
        }
    });
    address
}
