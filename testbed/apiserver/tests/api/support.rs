//! What the tests share: a server with a small custom kind, and clients over both ways in.
#![allow(dead_code, missing_docs, clippy::unwrap_used)]

use std::time::Duration;

use gateproof_apiserver::{Options, Server};
use kube::api::{ApiResource, DynamicObject, GroupVersionKind, PostParams};
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Api, Client, Config};
use serde_json::{Value, json};

/// The definition of `widgets.example.dev`, served as v1 and v1beta1.
pub fn widgets() -> Value {
    let version = |name: &str, storage: bool| {
        json!({
            "name": name,
            "served": true,
            "storage": storage,
            "subresources": {"status": {}},
            "selectableFields": [{"jsonPath": ".spec.color"}],
            "additionalPrinterColumns": [
                {"name": "Color", "type": "string", "jsonPath": ".spec.color"},
                {"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp"},
            ],
            "schema": {"openAPIV3Schema": {
                "type": "object",
                "properties": {
                    "spec": {
                        "type": "object",
                        "properties": {
                            "color": {"type": "string", "maxLength": 10},
                            "size": {"type": "integer", "default": 1, "minimum": 0},
                        },
                    },
                    "status": {"type": "object", "x-kubernetes-preserve-unknown-fields": true},
                },
            }},
        })
    };
    json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "widgets.example.dev"},
        "spec": {
            "group": "example.dev",
            "scope": "Namespaced",
            "names": {"plural": "widgets", "kind": "Widget", "shortNames": ["wd"]},
            "versions": [version("v1", true), version("v1beta1", false)],
        },
    })
}

pub async fn server() -> Server {
    Server::start(Options { crds: vec![widgets()], ..Options::default() }).await.unwrap()
}

/// A client without a socket.
pub fn inside(server: &Server) -> Client {
    Client::new(server.service(), "default")
}

/// A client over TLS, from the server's own kubeconfig.
pub async fn outside(server: &Server) -> Client {
    let kubeconfig = Kubeconfig::from_yaml(&server.kubeconfig()).unwrap();
    let config = Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await.unwrap();
    Client::try_from(config).unwrap()
}

pub fn widget_kind(version: &str) -> ApiResource {
    ApiResource::from_gvk(&GroupVersionKind::gvk("example.dev", version, "Widget"))
}

pub fn widget_api(client: &Client) -> Api<DynamicObject> {
    Api::namespaced_with(client.clone(), "default", &widget_kind("v1"))
}

pub fn widget(name: &str, spec: Value) -> DynamicObject {
    DynamicObject::new(name, &widget_kind("v1")).data(json!({"spec": spec}))
}

pub async fn create(api: &Api<DynamicObject>, name: &str, color: &str) -> DynamicObject {
    api.create(&PostParams::default(), &widget(name, json!({"color": color}))).await.unwrap()
}

/// The code and reason of a refusal.
pub fn refused<T: std::fmt::Debug>(answer: Result<T, kube::Error>) -> (u16, String) {
    match answer.unwrap_err() {
        kube::Error::Api(status) => (status.code, status.reason.clone()),
        other => unreachable!("not a refusal: {other}"),
    }
}

/// One raw request without a socket: code, headers and JSON.
pub async fn raw(
    server: &Server,
    method: &str,
    path: &str,
    headers: &[(&str, &str)],
    body: &str,
) -> (u16, http::HeaderMap, Value) {
    use http_body_util::BodyExt;
    use tower::Service;
    let mut request = http::Request::builder().method(method).uri(path);
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    let request = request.body(http_body_util::Full::new(bytes::Bytes::from(body.to_owned()))).unwrap();
    let response = server.service().call(request).await.unwrap();
    let (parts, body) = response.into_parts();
    let text = body.collect().await.unwrap().to_bytes();
    (parts.status.as_u16(), parts.headers, serde_json::from_slice(&text).unwrap_or(Value::Null))
}

/// Asks again until something holds. The limit is for a broken server; a good one is done in milliseconds.
pub async fn eventually<F, T>(mut check: impl FnMut() -> F) -> T
where
    F: Future<Output = Option<T>>,
{
    let limit = tokio::time::Instant::now() + Duration::from_secs(5);
    loop {
        if let Some(found) = check().await {
            return found;
        }
        assert!(tokio::time::Instant::now() < limit, "it never came");
        tokio::task::yield_now().await;
    }
}

pub async fn gone(api: &Api<DynamicObject>, name: &str) {
    eventually(async || api.get_opt(name).await.unwrap().is_none().then_some(())).await;
}
