#![allow(clippy::unwrap_used)]
use std::sync::Arc;

use rstest::rstest;
use serde_json::json;

use super::super::fixtures::{apply, facts, scenario};
use super::*;
use crate::scenario::{BackendDecl, BackendProtocol, MadeObject, NamespaceDecl, ObjectRef};

fn bound(scenario: &Scenario, gateways: &[(String, &Instance)]) -> Bindings {
    let (facts, ports) = (facts(), Ports::default());
    bindings(scenario, &Names { run_id: "abcdef", index: 7, facts: &facts, ports: &ports }, gateways)
}

#[test]
fn every_name_is_of_this_run_and_execution() {
    let mut scenario = scenario("a");
    scenario.namespaces.insert("other".to_owned(), NamespaceDecl::default());
    scenario.backends.push(BackendDecl {
        name: "echo".to_owned(),
        namespace: "other".to_owned(),
        port: 8080,
        protocol: BackendProtocol::Http,
        service: None,
        ready: true,
        headless: false,
        greets: false,
        alpn: Vec::new(),
        port_name: None,
        tls: None,
    });
    scenario.steps = vec![apply(vec![json!({"x": "${host:b}", "${name:class}": ["${tls:c}", "x ${host:d-1}"]})])];
    let bound = bound(&scenario, &[]);
    assert_eq!(bound.token, "abcdef-7");
    assert_eq!(bound.namespaces["ns"], "gp-abcdef-7-ns");
    assert_eq!(bound.namespaces["other"], "gp-abcdef-7-other");
    assert_eq!(bound.backends["echo"].namespace, "gp-abcdef-7-other");
    assert_eq!(bound.backends["echo"].identity, "echo-abcdef-7");
    assert_eq!(bound.hosts.keys().collect::<Vec<_>>(), ["b", "c", "d-1", "host"]);
    assert_eq!(bound.hosts["host"], "abcdef-7.gateproof.test");
    assert_eq!(bound.names["class"], "gp-abcdef-7-class");
    assert_eq!(bound.ports["http-2"], 8080);
}

#[test]
fn a_layer_4_gateway_decides_its_port() {
    let instance = Instance {
        name: Arc::from("tcp-own-2"),
        shape: "tcp".parse().unwrap(),
        port: 9002,
        exclusive: true,
        addresses: Vec::new(),
    };
    let bound = bound(&scenario("a"), &[("gw".to_owned(), &instance)]);
    assert_eq!(bound.ports["tcp"], 9002);
    assert_eq!(bound.gateways["gw"].name, "tcp-own-2");
    assert_eq!(bound.gateways["gw"].shape, "tcp");
}

/// What the target makes may have no namespace either, and only discovery tells.
#[rstest]
#[case::namespaced(true, Some("gp-abcdef-7-ns"))]
#[case::of_the_cluster(false, None)]
fn what_a_target_makes_is_where_its_kind_lives(#[case] namespaced: bool, #[case] namespace: Option<&str>) {
    let name = "w-${token}".to_owned();
    let object = ObjectRef { kind: "Widget".to_owned(), namespace: None, name, pool: false };
    let made = vec![MadeObject { group: "example.com".to_owned(), object }];
    let scenario = Scenario { made, ..scenario("a") };
    let (mut facts, ports) = (facts(), Ports::default());
    facts.kinds.add("example.com", "v1", "Widget", "widgets", namespaced);
    let bound = bindings(&scenario, &Names { run_id: "abcdef", index: 7, facts: &facts, ports: &ports }, &[]);
    let made = crate::scenario::bind::made(&scenario, &bound).unwrap().remove(0).object;
    assert_eq!((made.namespace.as_deref(), made.name.as_str()), (namespace, "w-abcdef-7"));
}
