#![allow(clippy::unwrap_used)]
use rstest::rstest;
use serde_json::{Value, json};

use super::*;
use crate::dialects::Dialect;

fn service(name: &str, labels: &Value, spec: &Value, status: &Value) -> Arc<Service> {
    let mut spec = spec.clone();
    if spec.get("ports").is_none() {
        spec["ports"] =
            json!([{"name": "http", "port": 80, "targetPort": 10080}, {"name": "dns", "port": 53, "protocol": "UDP"}]);
    }
    let metadata = json!({"name": name, "namespace": "infra", "labels": labels});
    Arc::new(serde_json::from_value(json!({"metadata": metadata, "spec": spec, "status": status})).unwrap())
}

fn at_balancer(name: &str, ip: &str) -> Arc<Service> {
    service(name, &json!({}), &json!({}), &json!({"loadBalancer": {"ingress": [{"ip": ip}]}}))
}

fn slice(service: &str, endpoints: &Value) -> Arc<EndpointSlice> {
    let metadata = json!({"name": format!("{service}-x"), "namespace": "infra", "labels": {SERVICE_LABEL: service}});
    let ports = json!([{"name": "dns", "port": 5353}, {"name": "http", "port": 10080}]);
    let slice = json!({"metadata": metadata, "addressType": "IPv4", "ports": ports, "endpoints": endpoints});
    Arc::new(serde_json::from_value(slice).unwrap())
}

fn endpoint(pod: &str, conditions: &Value) -> Value {
    json!({"addresses": ["10.1.0.5"], "conditions": conditions, "targetRef": {"kind": "Pod", "name": pod}})
}

fn gateway(address: &str) -> Arc<DynamicObject> {
    let status = json!({"addresses": [{"value": address}]});
    let metadata = json!({"name": "gw", "namespace": "infra"});
    Arc::new(serde_json::from_value(json!({"metadata": metadata, "status": status})).unwrap())
}

const GATEWAY_LABEL: &str = "gateway.networking.k8s.io/gateway-name";

fn world(services: Vec<Arc<Service>>) -> World {
    let slices = services.iter().map(|of| slice(&of.name_any(), &json!([endpoint(&of.name_any(), &json!({}))])));
    World {
        slices: slices.collect(),
        services,
        gateways: vec![gateway("203.0.113.9")],
        entries: Arc::new(Dialect::gateway_api().entries().unwrap().clone()),
    }
}

#[rstest]
#[case::load_balancer("192.0.2.1", Some("one"))]
#[case::host_name("LB.example.com", Some("named"))]
#[case::cluster_ip("2001:db8:0::7", Some("inner"))]
#[case::external_ip("192.0.2.3", Some("outer"))]
#[case::name_within_the_cluster("inner.infra.svc.cluster.local", Some("inner"))]
#[case::label_of_the_gateway("203.0.113.9", Some("labelled"))]
#[case::nobody("192.0.2.99", None)]
#[case::name_of_another("inner.infra.svcs", None)]
fn an_address_leads_to_a_service(#[case] host: &str, #[case] expected: Option<&str>) {
    let nothing = json!({});
    let world = world(vec![
        at_balancer("one", "192.0.2.1"),
        service("named", &nothing, &nothing, &json!({"loadBalancer": {"ingress": [{"hostname": "lb.example.com"}]}})),
        service("inner", &nothing, &json!({"clusterIPs": ["10.0.0.1", "2001:db8::7"]}), &nothing),
        service("outer", &nothing, &json!({"externalIPs": ["192.0.2.3"]}), &nothing),
        service("labelled", &json!({GATEWAY_LABEL: "gw"}), &nothing, &nothing),
    ]);
    let found = world.route(&Behind::Address, host, 80);
    match expected {
        Some(pod) => {
            let found = found.unwrap();
            assert_eq!((found.pod.as_str(), found.port), (pod, 10080));
            assert_eq!(found.address, Some("10.1.0.5:10080".parse().unwrap()));
        }
        None => assert_eq!(found, Err(NoRoute::NoService(host.to_owned()))),
    }
}

#[test]
fn services_at_one_address_are_told_apart_by_port_and_label() {
    let mut other = (*at_balancer("other", "192.0.2.1")).clone();
    let ports = json!([{"port": 81}]);
    other.spec.as_mut().unwrap().ports = serde_json::from_value(ports).unwrap();
    let mut services = vec![at_balancer("one", "192.0.2.1"), Arc::new(other)];
    assert_eq!(world(services.clone()).route(&Behind::Address, "192.0.2.1", 80).unwrap().pod, "one");
    services.push(at_balancer("third", "192.0.2.1"));
    let both = vec!["infra/one".to_owned(), "infra/third".to_owned()];
    assert_eq!(world(services.clone()).route(&Behind::Address, "192.0.2.1", 80), Err(NoRoute::Ambiguous(both)));
    let mut third = (*services[2]).clone();
    third.metadata.labels = Some([(GATEWAY_LABEL.to_owned(), "gw".to_owned())].into());
    services[2] = Arc::new(third);
    assert_eq!(world(services).route(&Behind::Address, "192.0.2.1", 80).unwrap().pod, "third");
}

#[rstest]
#[case::not_there("infra/two", 80, Err("there is no Service infra/two"))]
#[case::no_such_port("infra/one", 8080, Err("Service infra/one has no TCP port 8080"))]
#[case::udp("infra/one", 53, Err("Service infra/one has no TCP port 53"))]
#[case::good("infra/one", 80, Ok("one"))]
fn a_named_service_is_taken_whatever_the_address(
    #[case] named: &str,
    #[case] port: u16,
    #[case] expected: Result<&str, &str>,
) {
    let behind = Behind::Service(named.parse().unwrap());
    let found = world(vec![at_balancer("one", "192.0.2.1")]).route(&behind, "198.51.100.1", port);
    let found = found.map(|backing| backing.pod).map_err(|error| error.to_string());
    assert_eq!(found.as_deref().map_err(String::as_str), expected);
}

#[rstest]
#[case::ready(&json!({"ready": true}), true)]
#[case::unknown_is_ready(&json!({}), true)]
#[case::not_ready(&json!({"ready": false}), false)]
fn only_ready_pods_are_taken(#[case] conditions: &Value, #[case] taken: bool) {
    let mut world = world(vec![at_balancer("one", "192.0.2.1")]);
    let elsewhere = json!({"addresses": ["10.1.0.6"]});
    world.slices = vec![slice("one", &json!([elsewhere, endpoint("p", conditions)]))];
    let found = world.route(&Behind::Address, "192.0.2.1", 80).map(|backing| backing.pod);
    assert_eq!(found, if taken { Ok("p".to_owned()) } else { Err(NoRoute::NoPod("infra/one".to_owned())) });
}

#[rstest]
#[case("infra/one", true)]
#[case("one", false)]
#[case("/one", false)]
#[case("infra/one/more", false)]
#[case("Infra/one", false)]
fn names_of_services(#[case] text: &str, #[case] good: bool) {
    assert_eq!(text.parse::<ServiceName>().map(|name| name.to_string()).is_ok_and(|name| name == text), good);
}
