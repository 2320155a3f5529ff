#![allow(clippy::unwrap_used)]

use std::{collections::BTreeSet, sync::Arc, time::Duration};

use base64::{Engine, engine::general_purpose::STANDARD};
use gateproof_proxy::Config;
use serde_json::{Value, json};

use super::{catalogue, find};
use crate::{
    faults,
    reconcile::{
        infrastructure::{Made, objects},
        reconcile,
    },
    runtime::{
        Seams,
        seams::{ConfigSeam, ObjectsSeam, Seen, SnapshotSeam, StatusesSeam},
    },
    settings::{CONTROLLER_NAME, Settings},
    snapshot::{Bind, Kind, Snapshot},
    status::{Condition, DesiredStatus, StatusUpdate},
};

#[test]
fn names_are_unique_and_of_no_fault() {
    let names: BTreeSet<&str> = catalogue().map(|variant| variant.name).collect();
    assert_eq!(names.len(), catalogue().count());
    for name in names {
        assert!(name.split('-').all(|part| !part.is_empty() && part.bytes().all(|b| b.is_ascii_lowercase())), "{name}");
        assert!(find(name).is_some_and(|variant| variant.name == name) && faults::find(name).is_none(), "{name}");
    }
    assert!(find("no-such-variant").is_none());
}

#[test]
fn every_variant_has_a_summary_and_a_source() {
    for variant in catalogue() {
        for text in [variant.summary, variant.source] {
            assert!(text.ends_with('.') && text.len() > 20 && !text.contains("  "), "{}: {text}", variant.name);
        }
        variant.enter(&mut Seams::default());
    }
}

fn cluster() -> Snapshot {
    let mut snapshot = Snapshot::default();
    let group = "gateway.networking.k8s.io/v1";
    let class = json!({"apiVersion": group, "kind": "GatewayClass", "metadata": {"name": "c", "uid": "c"},
        "spec": {"controllerName": CONTROLLER_NAME}});
    let listener = json!({"name": "http", "port": 80, "protocol": "HTTP"});
    let gateway = json!({"apiVersion": group, "kind": "Gateway",
        "metadata": {"name": "g", "namespace": "n", "uid": "g", "generation": 1},
        "spec": {"gatewayClassName": "c", "listeners": [listener]}});
    snapshot.put(Kind::GatewayClass, class).unwrap();
    snapshot.put(Kind::Gateway, gateway).unwrap();
    snapshot
}

/// One round as the runtime does it, where the data plane binds whatever it is told.
fn round(seams: &mut Seams, snapshot: &mut Snapshot) -> (Config, Vec<StatusUpdate>) {
    let settings = Settings::default();
    let outcome = reconcile(&seams.snapshot.view(snapshot.clone()), &settings);
    snapshot.addresses = outcome.addresses;
    let mut config = outcome.config;
    seams.config.edit(Seen { snapshot, settings: &settings }, &mut config);
    snapshot.binds =
        config.listeners.iter().map(|one| ((one.address, one.port, one.protocol.transport()), Bind::Bound)).collect();
    let mut statuses = reconcile(&seams.snapshot.view(snapshot.clone()), &settings).statuses;
    seams.statuses.edit(Seen { snapshot, settings: &settings }, &mut statuses);
    (config, statuses)
}

/// What is made for a Gateway that asks for a label.
fn made(seams: &mut Seams) -> Vec<Made> {
    let mut snapshot = cluster();
    snapshot.edit(Kind::Gateway, |gateway| gateway["spec"]["infrastructure"] = json!({"labels": {"a": "b"}}));
    let (_, statuses) = round(&mut Seams::default(), &mut snapshot);
    let mut made = objects(&snapshot, &statuses, &mut BTreeSet::new());
    seams.objects.edit(Seen { snapshot: &snapshot, settings: &Settings::default() }, &mut made);
    made
}

fn said(conditions: &[Condition]) -> String {
    let programmed = conditions.iter().find(|condition| condition.r#type == "Programmed").unwrap();
    format!("{}/{}", programmed.status, programmed.reason)
}

/// Served listeners, addresses, and what the Gateway and its listener say.
fn gateway(config: &Config, statuses: &[StatusUpdate]) -> (usize, usize, String, String) {
    let of = |update: &StatusUpdate| match &update.status {
        DesiredStatus::Gateway { conditions, addresses, listeners, .. } => {
            Some((config.listeners.len(), addresses.len(), said(conditions), said(&listeners[0].conditions)))
        }
        _ => None,
    };
    statuses.iter().find_map(of).unwrap()
}

#[rstest::rstest]
#[case("starts-data-planes-late", 1, "False/NoResources")]
#[case("starts-data-planes-on-one-node", 1, "False/NoResources")]
#[case("assigns-addresses-late", 0, "False/AddressNotAssigned")]
#[case("waits-for-machines", 0, "False/Pending")]
#[tokio::test(start_paused = true)]
async fn a_data_plane_comes_after_its_listeners_were_programmed(
    #[case] name: &str,
    #[case] addresses: usize,
    #[case] before: &str,
) {
    let mut seams = Seams::default();
    find(name).unwrap().enter(&mut seams);
    let mut snapshot = cluster();
    let (config, statuses) = round(&mut seams, &mut snapshot);
    let (programmed, before) = ("True/Programmed".to_owned(), before.to_owned());
    assert_eq!(gateway(&config, &statuses), (0, addresses, before, programmed.clone()));
    let again = Arc::clone(&seams.again);
    tokio::time::timeout(Duration::from_secs(60), again.notified()).await.unwrap();
    let (config, statuses) = round(&mut seams, &mut snapshot);
    assert_eq!(gateway(&config, &statuses), (1, 1, programmed.clone(), programmed));
}

/// What may be said otherwise: a route of a kind that no listener of its Gateway carries, one with an entry for a Gateway that is gone and
/// two backends that are broken in different ways, one to a Service without endpoints, and overlapping hostnames.
fn to_be_said_otherwise() -> [(Kind, Value); 3] {
    let group = "gateway.networking.k8s.io/v1";
    let named = |name: &str| json!({"name": name, "namespace": "n", "uid": name, "generation": 1});
    let https = |name: &str, host: &str| json!({"name": name, "port": 443, "protocol": "HTTPS", "hostname": host});
    let accepted = json!([{"type": "Accepted", "status": "True", "reason": "Accepted", "message": "", "observedGeneration": 1,
        "lastTransitionTime": "2026-01-01T00:00:00Z"}]);
    let left = json!([{"parentRef": {"name": "gone"}, "controllerName": CONTROLLER_NAME, "conditions": accepted}]);
    let broken = json!([{"name": "nowhere", "port": 1}, {"kind": "Odd", "name": "odd", "port": 1}, {"name": "idle", "port": 8080}]);
    [
        (
            Kind::TcpRoute,
            json!({"apiVersion": group, "kind": "TCPRoute", "metadata": named("x"),
            "spec": {"parentRefs": [{"name": "g"}], "rules": [{"backendRefs": [{"name": "idle", "port": 8080}]}]}}),
        ),
        (
            Kind::HttpRoute,
            json!({"apiVersion": group, "kind": "HTTPRoute", "metadata": named("l"), "status": {"parents": left},
            "spec": {"parentRefs": [{"name": "g"}], "rules": [{"backendRefs": broken}]}}),
        ),
        (
            Kind::Gateway,
            json!({"apiVersion": group, "kind": "Gateway", "metadata": named("o"),
            "spec": {"gatewayClassName": "c", "listeners": [https("any", "*.test"), https("one", "a.test")]}}),
        ),
    ]
}

/// What may be refused: a second class, a Gateway whose listeners conflict, definitions of an unknown release, a Service without
/// endpoints, and a port that a Service does not have.
fn to_be_refused() -> [(Kind, Value); 6] {
    let group = "gateway.networking.k8s.io/v1";
    let named = |name: &str| json!({"name": name, "namespace": "n", "uid": name, "generation": 1});
    let listeners = json!([
        {"name": "http", "port": 80, "protocol": "HTTP"}, {"name": "tcp", "port": 81, "protocol": "TCP"},
        {"name": "again", "port": 81, "protocol": "HTTP"},
    ]);
    let to = |port: u16| json!([{"backendRefs": [{"name": "idle", "port": port}]}]);
    let crd = json!({"name": "tcproutes.gateway.networking.k8s.io",
        "annotations": {"gateway.networking.k8s.io/bundle-version": "v1.99.0"}});
    [
        (
            Kind::GatewayClass,
            json!({"apiVersion": group, "kind": "GatewayClass", "metadata": {"name": "d", "uid": "d"},
            "spec": {"controllerName": CONTROLLER_NAME}}),
        ),
        (
            Kind::Gateway,
            json!({"apiVersion": group, "kind": "Gateway", "metadata": named("b"),
            "spec": {"gatewayClassName": "c", "listeners": listeners}}),
        ),
        (
            Kind::CustomResourceDefinition,
            json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
            "metadata": crd, "spec": {"group": "gateway.networking.k8s.io", "names": {"kind": "TCPRoute", "plural": "tcproutes"}}}),
        ),
        (
            Kind::Service,
            json!({"apiVersion": "v1", "kind": "Service", "metadata": named("idle"),
            "spec": {"ports": [{"port": 8080}]}}),
        ),
        (
            Kind::TcpRoute,
            json!({"apiVersion": group, "kind": "TCPRoute", "metadata": named("t"),
            "spec": {"parentRefs": [{"name": "b", "sectionName": "tcp"}], "rules": to(8080)}}),
        ),
        (
            Kind::HttpRoute,
            json!({"apiVersion": group, "kind": "HTTPRoute", "metadata": named("u"),
            "spec": {"parentRefs": [{"name": "b", "sectionName": "http"}], "rules": to(9)}}),
        ),
    ]
}

/// A Gateway that asks clients for certificates.
fn asking_clients() -> [(Kind, Value); 3] {
    let named = |name: &str| json!({"name": name, "namespace": "n", "uid": name, "generation": 1});
    let pair = rcgen::generate_simple_self_signed(vec!["a.test".to_owned()]).unwrap();
    let (crt, key) = (STANDARD.encode(pair.cert.pem()), STANDARD.encode(pair.signing_key.serialize_pem()));
    let listener =
        json!({"name": "https", "port": 444, "protocol": "HTTPS", "tls": {"certificateRefs": [{"name": "own"}]}});
    let authorities = json!([{"group": "", "kind": "ConfigMap", "name": "authority"}]);
    let frontend = json!({"default": {"validation": {"caCertificateRefs": authorities}}});
    let spec = json!({"gatewayClassName": "c", "tls": {"frontend": frontend}, "listeners": [listener]});
    [
        (Kind::Secret, json!({"metadata": named("own"), "data": {"tls.crt": crt, "tls.key": key}})),
        (Kind::ConfigMap, json!({"metadata": named("authority"), "data": {"ca.crt": pair.cert.pem()}})),
        (
            Kind::Gateway,
            json!({"apiVersion": "gateway.networking.k8s.io/v1", "kind": "Gateway", "metadata": named("asking"), "spec": spec}),
        ),
    ]
}

/// Policies whose authorities are those of the system, or are not there, and one for a port of UDP.
fn to_be_protected() -> impl Iterator<Item = (Kind, Value)> {
    let missing = |kind: &str| json!({"hostname": "a.test", "caCertificateRefs": [{"group": "", "kind": kind, "name": "nowhere"}]});
    let system = || json!({"hostname": "a.test", "wellKnownCACertificates": "System"});
    let policies = [
        ("p-map", "TCP", missing("ConfigMap")),
        ("p-secret", "TCP", missing("Secret")),
        ("p-system", "TCP", system()),
        ("p-udp", "UDP", system()),
    ];
    policies.into_iter().flat_map(|(name, protocol, validation)| {
        let meta = json!({"name": name, "namespace": "n", "uid": name, "generation": 1});
        let targets = json!([{"group": "", "kind": "Service", "name": name}]);
        let rules = json!([{"backendRefs": [{"name": name, "port": 8443}]}]);
        [
            (Kind::Service, json!({"metadata": meta, "spec": {"ports": [{"port": 8443, "protocol": protocol}]}})),
            (
                Kind::EndpointSlice,
                json!({"metadata": {"name": name, "namespace": "n", "labels": {"kubernetes.io/service-name": name}},
                        "addressType": "IPv4", "ports": [{"port": 8443}], "endpoints": [{"addresses": ["10.0.0.9"]}]}),
            ),
            (Kind::HttpRoute, json!({"metadata": meta, "spec": {"parentRefs": [{"name": "g"}], "rules": rules}})),
            (
                Kind::BackendTlsPolicy,
                json!({"metadata": meta, "spec": {"targetRefs": targets, "validation": validation}}),
            ),
        ]
    })
}

#[tokio::test]
async fn every_variant_of_the_runtime_does_something() {
    let asking = asking_clients();
    let routed = || {
        let mut snapshot = cluster();
        let parents = json!([{"name": "g"}, {"name": "g", "sectionName": "http"}]);
        let route = json!({"apiVersion": "gateway.networking.k8s.io/v1", "kind": "HTTPRoute",
            "metadata": {"name": "r", "namespace": "n", "uid": "r", "generation": 1},
            "spec": {"parentRefs": parents, "rules": [{"retry": {"codes": [503], "attempts": 1}}]}});
        snapshot.put(Kind::HttpRoute, route).unwrap();
        let beyond = json!({"apiVersion": "gateway.networking.k8s.io/v1", "kind": "HTTPRoute",
            "metadata": {"name": "long", "namespace": "n", "uid": "long", "generation": 1},
            "spec": {"parentRefs": [{"name": "g"}], "hostnames": ["long.".repeat(45) + "test"]}});
        snapshot.put(Kind::HttpRoute, beyond).unwrap();
        let astray = json!({"apiVersion": "gateway.networking.k8s.io/v1", "kind": "TLSRoute",
            "metadata": {"name": "astray", "namespace": "n", "uid": "astray", "generation": 1},
            "spec": {"parentRefs": [{"name": "g", "sectionName": "http"}], "hostnames": ["astray.test"], "rules": [{}]}});
        snapshot.put(Kind::TlsRoute, astray).unwrap();
        let meta = json!({"name": "both", "namespace": "n", "uid": "both", "generation": 1});
        let ports = json!([{"name": "t", "port": 80}, {"name": "u", "port": 80, "protocol": "UDP"}]);
        snapshot.put(Kind::Service, json!({"metadata": meta, "spec": {"ports": ports}})).unwrap();
        let to_both =
            json!({"parentRefs": [{"name": "g"}], "rules": [{"backendRefs": [{"name": "both", "port": 80}]}]});
        snapshot.put(Kind::HttpRoute, json!({"metadata": meta, "spec": to_both})).unwrap();
        let listener = json!({"name": "http", "port": 82, "protocol": "HTTP"});
        let long = json!({"apiVersion": "gateway.networking.k8s.io/v1", "kind": "Gateway",
            "metadata": {"name": "long-".repeat(45) + "name", "namespace": "n", "uid": "long-name", "generation": 1},
            "spec": {"gatewayClassName": "c", "listeners": [listener]}});
        snapshot.put(Kind::Gateway, long).unwrap();
        let listener = |name: &str, host: &str| json!({"name": name, "port": 83, "protocol": "HTTP", "hostname": host});
        let allowing = json!({"apiVersion": "gateway.networking.k8s.io/v1", "kind": "Gateway",
            "metadata": {"name": "allowing", "namespace": "n", "uid": "allowing", "generation": 1},
            "spec": {"gatewayClassName": "c", "allowedListeners": {"namespaces": {"from": "Same"}},
                "listeners": [listener("own", "own.test")]}});
        snapshot.put(Kind::Gateway, allowing).unwrap();
        let waiting = json!({"apiVersion": "gateway.networking.k8s.io/v1", "kind": "ListenerSet",
            "metadata": {"name": "waiting", "namespace": "n", "uid": "waiting", "generation": 1},
            "spec": {"parentRef": {"name": "allowing"}, "listeners": [listener("clear", "clear.test"),
                {"name": "secure", "port": 84, "protocol": "HTTPS", "tls": {"certificateRefs": [{"name": "nowhere"}]}}]}});
        snapshot.put(Kind::ListenerSet, waiting).unwrap();
        for (name, parent) in [("let-in", "allowing"), ("refused", "g")] {
            let set = json!({"apiVersion": "gateway.networking.k8s.io/v1", "kind": "ListenerSet",
                "metadata": {"name": name, "namespace": "n", "uid": name, "generation": 1},
                "spec": {"parentRef": {"name": parent}, "listeners": [listener("good", "good.test"), listener("bad", "own.test")]}});
            snapshot.put(Kind::ListenerSet, set).unwrap();
        }
        for (kind, object) in
            to_be_refused().into_iter().chain(to_be_said_otherwise()).chain(asking.clone()).chain(to_be_protected())
        {
            snapshot.put(kind, object).unwrap();
        }
        snapshot
    };
    // A Gateway leaves between two rounds.
    let rounds = |seams: &mut Seams| {
        let mut snapshot = routed();
        let first = round(seams, &mut snapshot);
        snapshot.edit(Kind::Gateway, |gateway| gateway["spec"]["gatewayClassName"] = json!("nobodys"));
        (first, round(seams, &mut snapshot))
    };
    let plain = rounds(&mut Seams::default());
    let plainly_made = made(&mut Seams::default());
    assert!(!plainly_made.is_empty());
    for variant in catalogue().filter(|variant| variant.exchange().is_none()) {
        let mut seams = Seams::default();
        variant.enter(&mut seams);
        let mut settings = Settings::default();
        variant.settle(&mut settings);
        // Whoever wraps the writer is seen by that, and so is who decides otherwise.
        let writes_otherwise = !std::ptr::addr_eq(seams.writer.within(), &raw const *seams.writer);
        let decides_otherwise = settings != Settings::default();
        let makes_otherwise = made(&mut seams) != plainly_made;
        let is_otherwise = writes_otherwise || decides_otherwise || makes_otherwise || rounds(&mut seams) != plain;
        assert!(is_otherwise, "{}", variant.name);
    }
}
