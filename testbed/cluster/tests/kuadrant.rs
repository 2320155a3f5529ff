//! The policies on an embedded cluster, beside the Gateway API reference: what they say, and what becomes of requests.
#![allow(clippy::unwrap_used)]

#[allow(dead_code)]
mod support;

use std::net::{IpAddr, SocketAddr};

use gateproof_kuadrant::{Behaviour, Edition};
use gateproof_testbed::kuadrant::KuadrantTestbed;
use gateproof_testbed::{GATEWAY_CLASS, PortMapping, TestbedOptions};
use kube::api::{Api, ApiResource, DynamicObject, GroupVersionKind, PostParams};
use kube::runtime::wait::await_condition;
use serde_json::{Value, json};
use support::backend;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

const GATEWAYS: &str = "gateway.networking.k8s.io/v1";
const POLICIES: &str = "kuadrant.io/v1";

struct World {
    testbed: KuadrantTestbed,
}

impl World {
    fn api(&self, api_version: &str, kind: &str) -> Api<DynamicObject> {
        let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
        let singular = kind.to_lowercase();
        let plural = singular.strip_suffix('y').map_or(format!("{singular}s"), |stem| {
            if kind.ends_with("Policy") { format!("{stem}ies") } else { format!("{singular}s") }
        });
        let resource = ApiResource::from_gvk_with_plural(&GroupVersionKind::gvk(group, version, kind), &plural);
        match kind {
            "Namespace" => Api::all_with(self.testbed.client(), &resource),
            _ => Api::namespaced_with(self.testbed.client(), "demo", &resource),
        }
    }

    async fn create(&self, api_version: &str, kind: &str, name: &str, rest: Value) {
        let mut object = json!({"apiVersion": api_version, "kind": kind, "metadata": {"name": name}});
        for (field, value) in rest.as_object().unwrap() {
            if field == "labels" {
                object["metadata"]["labels"] = value.clone();
            } else {
                object[field] = value.clone();
            }
        }
        let object: DynamicObject = serde_json::from_value(object).unwrap();
        self.api(api_version, kind).create(&PostParams::default(), &object).await.unwrap();
    }

    async fn until(&self, api_version: &str, kind: &str, name: &str, is: impl Fn(&Value) -> bool) -> Value {
        let holds = |object: Option<&DynamicObject>| object.is_some_and(|object| is(&object.data["status"]));
        await_condition(self.api(api_version, kind), name, holds).await.unwrap().unwrap().data["status"].clone()
    }

    async fn until_enforced(&self, kind: &str, status: &str) {
        let says = |all: &Value, r#type: &str, status: &str| {
            all["conditions"]
                .as_array()
                .into_iter()
                .flatten()
                .any(|one| one["type"] == r#type && one["status"] == status)
        };
        let is = |all: &Value| says(all, "Accepted", "True") && says(all, "Enforced", status);
        self.until(POLICIES, kind, "p", is).await;
    }
}

/// The status code of the answer to a request.
async fn send(to: SocketAddr, method: &str, path: &str, headers: &str, body: &str) -> u16 {
    let mut stream = TcpStream::connect(to).await.unwrap();
    let length = body.len();
    let request = format!(
        "{method} {path} HTTP/1.1\r\nHost: a.test\r\nConnection: close\r\nContent-Length: {length}\r\n{headers}\r\n{body}"
    );
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    answer.split(' ').nth(1).unwrap().parse().unwrap()
}

/// A cluster with a Gateway, a route to a backend that answers, and a key; nothing of the policies yet.
async fn world() -> (World, IpAddr) {
    let options = TestbedOptions { ports: PortMapping::Mapped, ..TestbedOptions::default() };
    let testbed = KuadrantTestbed::start(Behaviour::default(), Edition::default(), options).await.unwrap();
    let world = World { testbed };
    world.create("v1", "Namespace", "demo", json!({})).await;
    let listeners = json!([{"name": "http", "port": 80, "protocol": "HTTP"}]);
    world
        .create(GATEWAYS, "Gateway", "gw", json!({"spec": {"gatewayClassName": GATEWAY_CLASS, "listeners": listeners}}))
        .await;
    world.create("v1", "Service", "echo", json!({"spec": {"ports": [{"port": 8080}]}})).await;
    let to = backend().await;
    let slice = json!({"labels": {"kubernetes.io/service-name": "echo"}, "addressType": "IPv4",
        "ports": [{"name": "", "port": to.port()}], "endpoints": [{"addresses": [to.ip().to_string()]}]});
    world.create("discovery.k8s.io/v1", "EndpointSlice", "echo-1", slice).await;
    let rules = json!([{"backendRefs": [{"name": "echo", "port": 8080}]}]);
    world.create(GATEWAYS, "HTTPRoute", "r", json!({"spec": {"parentRefs": [{"name": "gw"}], "rules": rules}})).await;
    let labels = json!({"app": "a", "authorino.kuadrant.io/managed-by": "authorino"});
    // "right" in base 64.
    world.create("v1", "Secret", "key", json!({"labels": labels, "data": {"api_key": "cmlnaHQ="}})).await;
    let attached = |status: &Value| status["listeners"][0]["attachedRoutes"] == 1;
    let gateway = world.until(GATEWAYS, "Gateway", "gw", attached).await;
    let address = gateway["addresses"][0]["value"].as_str().unwrap().parse().unwrap();
    (world, address)
}

#[tokio::test]
async fn policies_are_enforced_and_follow_the_services_they_need() {
    let (world, address) = world().await;
    let at = SocketAddr::new(address, 20_080);
    let (key, wrong) = ("Authorization: APIKEY right\r\n", "Authorization: APIKEY wrong\r\n");
    assert_eq!(send(at, "GET", "/", "", "").await, 200);

    let target = json!({"group": "gateway.networking.k8s.io", "kind": "HTTPRoute", "name": "r"});
    let rules = json!({
        "authentication": {"keys": {
            "apiKey": {"selector": {"matchLabels": {"app": "a"}}},
            "credentials": {"authorizationHeader": {"prefix": "APIKEY"}},
        }},
        "authorization": {"reads": {"patternMatching": {"patterns": [{"predicate": "request.method == 'GET'"}]}}},
    });
    world.create(POLICIES, "AuthPolicy", "p", json!({"spec": {"targetRef": target, "rules": rules}})).await;
    world.until_enforced("AuthPolicy", "True").await;
    assert_eq!(send(at, "GET", "/", "", "").await, 401);
    assert_eq!(send(at, "GET", "/", wrong, "").await, 401);
    assert_eq!(send(at, "POST", "/", key, "").await, 403);
    assert_eq!(send(at, "GET", "/", key, "").await, 200);

    let limits = json!({"once": {"rates": [{"limit": 1, "window": "24h"}]}});
    world.create(POLICIES, "RateLimitPolicy", "p", json!({"spec": {"targetRef": target, "limits": limits}})).await;
    world.until_enforced("RateLimitPolicy", "True").await;
    assert_eq!(send(at, "GET", "/", key, "").await, 200);
    assert_eq!(send(at, "GET", "/", key, "").await, 429);

    let service = world.testbed.services().remove(0);
    let address: SocketAddr = service.url.strip_prefix("http://").unwrap().parse().unwrap();
    let (script, stop) = ("/control/scripts/a", r#"{"rules": [{"stop": "authorino"}]}"#);
    assert_eq!(send(address, "PUT", script, "", stop).await, 401);
    let token = format!("Authorization: Bearer {}\r\n", service.token);
    assert_eq!(send(address, "PUT", script, &token, r#"{"rules": [{"stop": "nobody"}]}"#).await, 400);
    assert_eq!(
        send(address, "PUT", script, &token, r#"{"rules": [{"stop": "limitador", "namespace": "demo"}]}"#).await,
        400
    );
    assert_eq!(send(address, "PUT", script, &token, stop).await, 204);
    world.until_enforced("AuthPolicy", "False").await;
    assert_eq!(send(at, "GET", "/", key, "").await, 403);
    assert_eq!(send(address, "DELETE", script, &token, "").await, 204);
    world.until_enforced("AuthPolicy", "True").await;
    assert_eq!(send(at, "GET", "/", key, "").await, 429);

    world.testbed.shutdown().await;
}
