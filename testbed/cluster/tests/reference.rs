//! The reference implementation against the API server, over the runtime.
#![allow(clippy::unwrap_used)]

mod support;

use futures::StreamExt;
use gateproof_apiserver::crds::{Channel, gateway_api};
use gateproof_controllers::faults::{Fault, Seam, catalogue};
use gateproof_testbed::{Behaviour, TestbedOptions};
use serde_json::json;
use support::{World, gateway, route, route_to};

const HEALTHY: &[(&str, &str)] = &[("Accepted", "True/Accepted"), ("ResolvedRefs", "True/ResolvedRefs")];
const NO_BACKEND: &[(&str, &str)] = &[("Accepted", "True/Accepted"), ("ResolvedRefs", "False/BackendNotFound")];

#[tokio::test]
async fn a_class_is_accepted_with_its_features() {
    let world = World::start().await;
    let class = world
        .until("GatewayClass", "gateproof", |class| {
            let expected = [("Accepted", "True/Accepted"), ("SupportedVersion", "True/SupportedVersion")];
            support::says(&class["status"], class, &expected)
        })
        .await;
    assert!(class["status"]["supportedFeatures"].as_array().unwrap().contains(&json!({"name": "TCPRoute"})));
    world.testbed.shutdown().await;
}

#[tokio::test]
async fn a_backend_is_followed_as_it_goes_and_comes_back() {
    let world = World::start().await;
    world.create(route_to("route", "echo")).await;
    world.until_route("route", HEALTHY).await;
    assert_eq!(world.get("a.test").await, 200);

    world.delete("Service", "echo").await;
    let route = world.until_route("route", NO_BACKEND).await;
    assert!(route["status"]["parents"][0]["conditions"].to_string().contains("demo/echo:8080"), "{route:#}");
    assert_eq!(world.get("a.test").await, 500);

    let service = json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": "echo", "namespace": "demo"},
        "spec": {"ports": [{"port": 8080}]}});
    world.create(service).await;
    world.until_route("route", HEALTHY).await;
    assert_eq!(world.get("a.test").await, 200);

    world.delete("HTTPRoute", "route").await;
    world.until("Gateway", "gw", |gateway| gateway["status"]["listeners"][0]["attachedRoutes"] == 0).await;
    assert_eq!(world.get("a.test").await, 404);
    world.testbed.shutdown().await;
}

#[tokio::test]
async fn what_others_wrote_survives_and_what_we_wrote_is_restored() {
    let world = World::start().await;
    world.create(route_to("route", "echo")).await;
    world.until_route("route", HEALTHY).await;
    let marker = json!({"type": "example.com/Marker", "status": "True", "reason": "Set", "message": "",
        "lastTransitionTime": "2026-01-01T00:00:00Z"});
    let parent = json!({"group": "gateway.networking.k8s.io", "kind": "Gateway", "name": "theirs"});
    let foreign = json!({"controllerName": "example.com/other", "parentRef": parent, "conditions": [marker]});
    world.patch_status("HTTPRoute", "route", json!({"status": {"parents": [foreign]}})).await;
    let route =
        world.until("HTTPRoute", "route", |route| support::says(&route["status"]["parents"][1], route, HEALTHY)).await;
    assert_eq!(route["status"]["parents"][0], foreign);

    world.patch("HTTPRoute", "route", json!({"spec": {"parentRefs": [{"name": "gone"}]}})).await;
    let left =
        |route: &serde_json::Value| route["status"]["parents"].as_array().is_some_and(|parents| parents.len() == 1);
    let route = world.until("HTTPRoute", "route", left).await;
    assert_eq!(route["status"]["parents"][0], foreign);
    world.testbed.shutdown().await;
}

#[tokio::test]
async fn listeners_follow_the_spec() {
    let world = World::start().await;
    world.create(route_to("route", "echo")).await;
    world.until_route("route", HEALTHY).await;
    let listeners = json!([{"name": "other", "port": 8081, "protocol": "HTTP"}]);
    world.patch("Gateway", "gw", json!({"spec": {"listeners": listeners}})).await;
    let programmed = [("Accepted", "True/Accepted"), ("Programmed", "True/Programmed")];
    let gateway = world.until_gateway("gw", &programmed).await;
    assert_eq!(gateway["status"]["listeners"].as_array().unwrap().len(), 1);
    let address: std::net::IpAddr = gateway["status"]["addresses"][0]["value"].as_str().unwrap().parse().unwrap();
    assert!(tokio::net::TcpStream::connect((address, 28_081)).await.is_ok());
    assert!(tokio::net::TcpStream::connect((address, 20_080)).await.is_err());
    world.testbed.shutdown().await;
}

/// What is made for a Gateway carries what that asks for, and what somebody else has under the same name stays theirs.
#[tokio::test]
async fn objects_of_others_are_not_taken_for_those_of_a_gateway() {
    let world = World::start().await;
    world.until_gateway("gw", &[("Programmed", "True/Programmed")]).await;
    let theirs = json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": "gw-gateproof", "namespace": "demo"},
        "spec": {"ports": [{"name": "theirs", "port": 4321}]}});
    world.create(theirs).await;
    world.patch("Gateway", "gw", json!({"spec": {"infrastructure": {"labels": {"team": "blue"}}}})).await;
    // Services are made before ConfigMaps.
    world.until("ConfigMap", "gw-gateproof", |made| made["metadata"]["labels"]["team"] == "blue").await;
    let theirs = world.until("Service", "gw-gateproof", |_| true).await;
    assert_eq!((&theirs["metadata"]["labels"], &theirs["spec"]["ports"][0]["port"]), (&json!(null), &json!(4321)));
    world.testbed.shutdown().await;
}

#[tokio::test]
async fn a_watch_that_is_too_old_starts_over() {
    let world = World::start().await;
    world.until_gateway("gw", &[("Programmed", "True/Programmed")]).await;
    world.testbed.server().compact();
    world.create(route_to("route", "nothing")).await;
    world.until_route("route", NO_BACKEND).await;
    world.testbed.shutdown().await;
}

#[tokio::test]
async fn a_burst_settles_with_few_writes_and_then_nothing_is_written() {
    let world = World::start().await;
    for number in 0..20 {
        world.create(route_to(&format!("route-{number}"), "echo")).await;
    }
    for number in 0..20 {
        world.until_route(&format!("route-{number}"), HEALTHY).await;
    }
    world.until("Gateway", "gw", |gateway| gateway["status"]["listeners"][0]["attachedRoutes"] == 20).await;
    let writes = world.status_writes();
    assert!(writes <= 20 + 2 + 22, "{writes} writes for 20 routes, a class and a Gateway");
    // A change that touches no status makes the implementation look at everything again.
    world.create(json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "more"}})).await;
    world.create(route("last", json!({"parentRefs": [{"name": "gw", "sectionName": "none"}], "rules": [{}]}))).await;
    world.until("HTTPRoute", "last", |route| !route["status"]["parents"].is_null()).await;
    assert!(world.status_writes() <= writes + 2, "{} writes after {writes}", world.status_writes());
    world.testbed.shutdown().await;
}

#[tokio::test]
async fn an_address_in_use_is_told_and_recovered_from() {
    let world = World::start().await;
    let first = world.until_gateway("gw", &[("Programmed", "True/Programmed")]).await;
    let address = first["status"]["addresses"][0]["value"].as_str().unwrap().to_owned();
    let blocker = tokio::net::TcpListener::bind((address.as_str(), 28_080)).await.unwrap();
    let listeners =
        json!([{"name": "http", "port": 80, "protocol": "HTTP"}, {"name": "alt", "port": 8080, "protocol": "HTTP"}]);
    world.patch("Gateway", "gw", json!({"spec": {"listeners": listeners}})).await;
    let told = |gateway: &serde_json::Value| {
        support::says(&gateway["status"]["listeners"][1], gateway, &[("Accepted", "False/PortUnavailable")])
    };
    world.until("Gateway", "gw", told).await;
    drop(blocker);
    world.create(route_to("route", "echo")).await;
    let bound = [("Accepted", "True/Accepted"), ("Programmed", "True/Programmed")];
    world.until("Gateway", "gw", |gateway| support::says(&gateway["status"]["listeners"][1], gateway, &bound)).await;
    world.testbed.shutdown().await;
}

#[tokio::test]
async fn no_gateway_is_programmed_beyond_capacity() {
    let world = World::start().await;
    world.until_gateway("gw", &[("Programmed", "True/Programmed")]).await;
    let single = |name: &str| {
        let mut single = gateway(json!({
            "gatewayClassName": "gateproof-single",
            "listeners": [{"name": "http", "port": 80, "protocol": "HTTP"}],
        }));
        single["metadata"]["name"] = name.into();
        single
    };
    world.create(single("first")).await;
    world.until_gateway("first", &[("Programmed", "True/Programmed")]).await;
    world.create(single("second")).await;
    world.until_gateway("second", &[("Accepted", "True/Accepted"), ("Programmed", "False/NoResources")]).await;
    world.testbed.shutdown().await;
}

#[tokio::test]
async fn crds_may_go_and_come() {
    let world = World::start().await;
    world.create(route_to("route", "echo")).await;
    world.until_route("route", HEALTHY).await;
    let crds: kube::Api<k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition> =
        kube::Api::all(world.client.clone());
    let name = "httproutes.gateway.networking.k8s.io";
    let mut crd = crds.get(name).await.unwrap();
    crds.delete(name, &kube::api::DeleteParams::default()).await.unwrap();
    world.until("Gateway", "gw", |gateway| gateway["status"]["listeners"][0]["attachedRoutes"] == 0).await;
    crd.metadata = k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta {
        name: crd.metadata.name,
        annotations: crd.metadata.annotations,
        ..Default::default()
    };
    crd.status = None;
    crds.create(&kube::api::PostParams::default(), &crd).await.unwrap();
    world.create(route_to("again", "echo")).await;
    world.until_route("again", HEALTHY).await;
    world.testbed.shutdown().await;
}

/// One in how many faults is started.
const ONE_IN: usize = 8;

/// Some of the faults, by `GATEPROOF_SEED`; all of them with `GATEPROOF_FULL=1`, as nightly does.
fn some_faults() -> impl Iterator<Item = &'static Fault> {
    let seed = std::env::var("GATEPROOF_SEED").map_or(1, |text| text.parse().unwrap());
    let (first, step) = if std::env::var_os("GATEPROOF_FULL").is_some() { (0, 1) } else { (seed % ONE_IN, ONE_IN) };
    println!("drawn by GATEPROOF_SEED={seed}");
    catalogue().iter().skip(first).step_by(step)
}

#[tokio::test(flavor = "multi_thread")]
async fn faults_start_and_stop() {
    let one = |fault: &'static Fault| async {
        println!("{}", fault.name);
        let options =
            TestbedOptions { behaviour: Behaviour::of(Some(fault.name)).unwrap(), ..TestbedOptions::default() };
        let world = World::with(options).await;
        world.create(route_to("route", "echo")).await;
        world
            .until("GatewayClass", "gateproof", |class| {
                class["status"]["conditions"][0]["observedGeneration"] == class["metadata"]["generation"]
            })
            .await;
        world.testbed.shutdown().await;
    };
    futures::stream::iter(some_faults()).for_each_concurrent(8, one).await;
}

#[test]
fn faults_of_the_surface_change_the_definitions() {
    // What they are about stands in the experimental channel alone.
    const EXPERIMENTAL: [&str; 3] =
        ["crds-with-trust-bundles-in-namespaces", "crds-with-any-routability", "crds-with-filters-of-streams"];
    for fault in catalogue().iter().filter(|fault| matches!(fault.seam, Seam::ApiSurface(_))) {
        let changes = |channel: &Channel| {
            let mut definitions = gateway_api(*channel);
            fault.reshape(&mut definitions);
            definitions != gateway_api(*channel)
        };
        let changed: Vec<Channel> = [Channel::Standard, Channel::Experimental].into_iter().filter(changes).collect();
        let both = [Channel::Standard, Channel::Experimental];
        let expected = if EXPERIMENTAL.contains(&fault.name) { &both[1..] } else { &both[..] };
        assert_eq!(changed, expected, "{}", fault.name);
    }
}
