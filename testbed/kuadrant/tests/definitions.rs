//! The definitions: that they are served, and what their rules refuse.
#![allow(clippy::unwrap_used)]

use gateproof_apiserver::{Options, Server};
use gateproof_kuadrant::definitions;
use kube::Client;
use kube::api::{Api, ApiResource, DynamicObject, GroupVersionKind, PostParams};
use serde_json::{Value, json};

async fn create(kind: &str, plural: &str, spec: Value) -> Result<(), u16> {
    let server = Server::start(Options { crds: definitions(), ..Options::default() }).await.unwrap();
    let gvk = GroupVersionKind::gvk("kuadrant.io", "v1", kind);
    let api: Api<DynamicObject> = Api::namespaced_with(
        Client::new(server.service(), "default"),
        "default",
        &ApiResource::from_gvk_with_plural(&gvk, plural),
    );
    let object = json!({"apiVersion": "kuadrant.io/v1", "kind": kind, "metadata": {"name": "a"}, "spec": spec});
    let created = api.create(&PostParams::default(), &serde_json::from_value(object).unwrap()).await;
    server.shutdown().await;
    match created {
        Ok(_) => Ok(()),
        Err(kube::Error::Api(status)) => Err(status.code),
        Err(error) => panic!("{error}"),
    }
}

fn target(group: &str, kind: &str) -> Value {
    json!({"group": group, "kind": kind, "name": "t"})
}

#[tokio::test]
async fn rules_of_specs_are_held() {
    let (gw, route) =
        (target("gateway.networking.k8s.io", "Gateway"), target("gateway.networking.k8s.io", "HTTPRoute"));
    let limits = json!({"l": {"rates": [{"limit": 1, "window": "10s"}]}});
    let (auth, rate) = (("AuthPolicy", "authpolicies"), ("RateLimitPolicy", "ratelimitpolicies"));
    let (tls, dns) = (("TLSPolicy", "tlspolicies"), ("DNSPolicy", "dnspolicies"));
    let cases = [
        (auth, json!({"targetRef": gw, "rules": {}}), Ok(())),
        (auth, json!({"targetRef": route, "defaults": {"strategy": "merge", "rules": {}}}), Ok(())),
        (auth, json!({"targetRef": gw}), Err(422)),
        (auth, json!({"targetRef": gw, "rules": {}, "defaults": {"rules": {}}}), Err(422)),
        (auth, json!({"targetRef": gw, "defaults": {"rules": {}}, "overrides": {"rules": {}}}), Err(422)),
        (auth, json!({"targetRef": target("apps", "Gateway"), "rules": {}}), Err(422)),
        (auth, json!({"targetRef": target("gateway.networking.k8s.io", "TCPRoute"), "rules": {}}), Err(422)),
        (rate, json!({"targetRef": route, "limits": limits}), Ok(())),
        (rate, json!({"targetRef": route, "overrides": {"limits": limits}}), Ok(())),
        (rate, json!({"targetRef": route, "limits": {}}), Err(422)),
        (rate, json!({"targetRef": route, "limits": limits, "overrides": {"limits": limits}}), Err(422)),
        (rate, json!({"targetRef": route, "limits": {"l": {"rates": [{"limit": 1, "window": "ten"}]}}}), Err(422)),
        (tls, json!({"targetRef": gw, "issuerRef": {"name": "i"}}), Ok(())),
        (tls, json!({"targetRef": route, "issuerRef": {"name": "i"}}), Err(422)),
        (dns, json!({"targetRef": gw, "providerRefs": [{"name": "p"}]}), Ok(())),
        (dns, json!({"targetRef": gw, "delegate": true, "providerRefs": [{"name": "p"}]}), Err(422)),
        (dns, json!({"targetRef": route}), Err(422)),
    ];
    for ((kind, plural), spec, expected) in cases {
        assert_eq!(create(kind, plural, spec.clone()).await, expected, "{kind} {spec}");
    }
}
