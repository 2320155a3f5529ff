//! Probes by port-forward through the API server: the only way to the data path here, with no right too many.
#![allow(clippy::unwrap_used)]

mod least;

use std::net::SocketAddr;
use std::sync::Arc;

use futures::StreamExt;
use gateproof::cluster::forward::Behind;
use gateproof::judge::contract::{Contract, GATEWAY_API};
use gateproof::log::Body;
use gateproof::run::permissions::Ways;
use gateproof::run::{RunError, RunOptions, RunOutput, Silent, TargetChoice, preflight, run};
use gateproof::scenario::Scenario;
use gateproof_report::record::Outcome;
use gateproof_testbed::{Testbed, TestbedOptions};
use kube::Client;
use kube::api::{Api, ApiResource, DynamicObject};
use kube::runtime::{WatchStreamExt, watcher};
use least::{apply, kubeconfig, scenarios};
use rstest::rstest;
use serde_json::{Value, json};
use tokio::io::AsyncReadExt;
use tokio::net::{TcpListener, TcpSocket};
use tokio_util::task::AbortOnDropHandle;

/// What goes by way of HTTP, TLS and plain TCP, over fresh connections and kept ones.
const SELECTION: [&str; 6] = [
    "httproute-missing-backend",
    "httproute-mirror",
    "httproute-kept-connection",
    "gateway-https",
    "tcproute-missing-backend",
    "tcproute-simple",
];

/// What a controller puts into the cluster for a Gateway beside its status.
#[derive(Debug, Clone, Copy)]
enum Published {
    /// Service, EndpointSlice and Pod.
    All,
    /// None of them.
    Nothing,
    /// All, but the Pod is not ready.
    Unready,
    /// All, and whoever connects to the Pod comes here.
    At(SocketAddr),
}

/// Plays the part of a controller that deploys its data plane into the cluster: the embedded one has none there.
fn publish(testbed: &Testbed, published: Published) -> AbortOnDropHandle<()> {
    let client = testbed.client();
    // `*:*=*:+N`, where ports are mapped.
    let rule = testbed.dial_rule();
    let offset: u64 = rule.rsplit_once('+').map_or(0, |(_, offset)| offset.parse().unwrap());
    let resource = ApiResource {
        group: "gateway.networking.k8s.io".to_owned(),
        version: "v1".to_owned(),
        api_version: "gateway.networking.k8s.io/v1".to_owned(),
        kind: "Gateway".to_owned(),
        plural: "gateways".to_owned(),
    };
    AbortOnDropHandle::new(tokio::spawn(async move {
        let gateways: Api<DynamicObject> = Api::all_with(client.clone(), &resource);
        let mut seen = std::pin::pin!(watcher(gateways, watcher::Config::default()).touched_objects());
        while let Some(Ok(gateway)) = seen.next().await {
            publish_one(&client, &gateway, published, offset).await;
        }
    }))
}

async fn publish_one(client: &Client, gateway: &DynamicObject, published: Published, offset: u64) {
    let Some(address) = gateway.data.pointer("/status/addresses/0/value").and_then(Value::as_str) else { return };
    if matches!(published, Published::Nothing) {
        return;
    }
    let (gateway_name, namespace) =
        (gateway.metadata.name.clone().unwrap(), gateway.metadata.namespace.clone().unwrap());
    let name = format!("{gateway_name}-data-plane");
    let listeners = gateway.data["spec"]["listeners"].as_array().unwrap();
    let mut ports: Vec<u64> = listeners.iter().filter_map(|listener| listener["port"].as_u64()).collect();
    ports.sort_unstable();
    ports.dedup();
    let (pod_ip, target): (String, Box<dyn Fn(u64) -> u64 + Send>) = match published {
        Published::At(place) => (place.ip().to_string(), Box::new(move |_| place.port().into())),
        _ => (address.to_owned(), Box::new(move |port| port + offset)),
    };
    let metadata = |labels: Value| json!({"name": name, "namespace": namespace, "labels": labels});
    let path = |plural: &str| format!("/api/v1/namespaces/{namespace}/{plural}/{name}");
    let named = |port: u64| format!("p-{port}");
    let service_ports: Vec<Value> = ports
        .iter()
        .map(|port| json!({"name": named(*port), "port": port, "targetPort": target(*port), "protocol": "TCP"}))
        .collect();
    let slice_ports: Vec<Value> =
        ports.iter().map(|port| json!({"name": named(*port), "port": target(*port), "protocol": "TCP"})).collect();
    let labels = json!({"gateway.networking.k8s.io/gateway-name": gateway_name});
    let pod = json!({"apiVersion": "v1", "kind": "Pod", "metadata": metadata(json!({})),
        "spec": {"containers": [{"name": "proxy", "image": "proxy"}]}});
    apply(client, &path("pods"), pod).await;
    let status = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "status": {"podIP": pod_ip}});
    apply(client, &format!("{}/status", path("pods")), status).await;
    let slice = json!({"apiVersion": "discovery.k8s.io/v1", "kind": "EndpointSlice",
        "metadata": metadata(json!({"kubernetes.io/service-name": name})), "addressType": "IPv4", "ports": slice_ports,
        "endpoints": [{"addresses": [pod_ip], "conditions": {"ready": !matches!(published, Published::Unready)},
            "targetRef": {"kind": "Pod", "name": name, "namespace": namespace}}]});
    let slices = format!("/apis/discovery.k8s.io/v1/namespaces/{namespace}/endpointslices/{name}");
    apply(client, &slices, slice).await;
    let service = json!({"apiVersion": "v1", "kind": "Service", "metadata": metadata(labels),
        "spec": {"type": "LoadBalancer", "ports": service_ports}});
    apply(client, &path("services"), service).await;
    let status = json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": name},
        "status": {"loadBalancer": {"ingress": [{"ip": address}]}}});
    apply(client, &format!("{}/status", path("services")), status).await;
}

async fn options(testbed: &Testbed, scenarios: &[Scenario], ways: Ways) -> RunOptions {
    let target = TargetChoice::Running {
        kubeconfig: kubeconfig(testbed, scenarios, ways).await,
        gateway_class: Some(testbed.gateway_class().to_owned()),
        name: "embedded".to_owned(),
    };
    let contract = Arc::new(Contract::parse(GATEWAY_API).unwrap());
    let request = Some(Arc::new(least::tried()));
    RunOptions { preflight: true, request, port_forward: Some(Behind::Address), ..RunOptions::new(target, contract) }
}

const FORWARDED: Ways = Ways { port_forward: true, deployed: false };

fn attempts(output: &RunOutput) -> usize {
    let fresh =
        |event: &&Arc<gateproof::log::Event>| matches!(&event.body, Body::Probed { exchange, .. } if !exchange.reused);
    output.events.iter().filter(fresh).count()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_connection_goes_through_the_api_server() {
    let testbed = Testbed::start(TestbedOptions::default()).await.unwrap();
    let _controller = publish(&testbed, Published::All);
    let chosen = scenarios(&SELECTION);
    let options = options(&testbed, &chosen, FORWARDED).await;
    let output = run(options, chosen, &mut Silent).await.unwrap();
    for scenario in &output.record.scenarios {
        assert_eq!(scenario.outcome, Outcome::Passed, "{scenario:#?}");
    }
    let forwarded = testbed.requests().into_iter().filter(|count| count.resource == "pods/portforward");
    let forwarded: u64 = forwarded.map(|count| count.count).sum();
    let attempts = attempts(&output);
    assert!(attempts > 100, "{attempts}");
    // One that came before the Service was seen had nowhere to go; nothing went another way.
    assert!(forwarded <= attempts as u64 && forwarded > attempts as u64 * 9 / 10, "{forwarded} of {attempts}");
    let unreached = output.events.iter().filter(|event| {
        matches!(&event.body, Body::Probed { exchange, .. } if exchange.connected_to.is_none() && exchange.error.is_none())
    });
    assert_eq!(unreached.count(), 0);
    testbed.shutdown().await;
}

#[rstest]
#[case::no_service(Published::Nothing, &["✗ data path", "no Service has the address", "--port-forward=NAMESPACE/NAME"])]
#[case::no_ready_pod(Published::Unready, &["✗ data path", "no Pod behind Service", "is ready"])]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_leads_nowhere_is_told(#[case] published: Published, #[case] parts: &[&str]) {
    tell(published, parts).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_pod_that_refuses_is_told() {
    // Bound and never listening: refused, and nobody else's meanwhile.
    let socket = TcpSocket::new_v4().unwrap();
    socket.bind("127.0.0.1:0".parse().unwrap()).unwrap();
    tell(Published::At(socket.local_addr().unwrap()), &["✗ data path", "refused"]).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_pod_that_closes_at_once_is_told() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let place = listener.local_addr().unwrap();
    let _closing = AbortOnDropHandle::new(tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            // What was said is heard first, or it would be a reset.
            let _ = stream.read(&mut [0; 1024]).await;
        }
    }));
    tell(Published::At(place), &["✓ data path", "✗ backend", "a broken connection"]).await;
}

/// Preflight fails with these parts.
async fn tell(published: Published, parts: &[&str]) {
    let testbed = Testbed::start(TestbedOptions::default()).await.unwrap();
    let _controller = publish(&testbed, published);
    let chosen = scenarios(&SELECTION[..1]);
    let mut options = options(&testbed, &chosen, FORWARDED).await;
    options.timeout_scale = 0.6;
    let Err(RunError::Preflight(failed)) = preflight(options, chosen, &mut Silent).await else {
        panic!("the target could be tested")
    };
    let next = failed.preflight.failure().and_then(|check| check.next.clone()).unwrap_or_default();
    let told = format!("{}{next}", failed.preflight);
    for part in parts {
        assert!(told.contains(part), "no `{part}` in {told}");
    }
    testbed.shutdown().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_port_forward_that_is_forbidden_says_nothing_about_the_target() {
    let testbed = Testbed::start(TestbedOptions::default()).await.unwrap();
    let _controller = publish(&testbed, Published::All);
    let chosen = scenarios(&SELECTION[..1]);
    let mut options = options(&testbed, &chosen, Ways::default()).await;
    options.timeout_scale = 0.3;
    options.preflight = false;
    // What is watched for backends serves port-forward too; to forward at all is a permission of its own.
    let output = run(options, chosen, &mut Silent).await.unwrap();
    let scenario = &output.record.scenarios[0];
    assert_eq!(scenario.outcome, Outcome::Inconclusive, "{scenario:#?}");
    let told = format!("{scenario:?}");
    assert!(told.contains("forwards nothing to port"), "{told}");
    testbed.shutdown().await;
}
