#![allow(clippy::unwrap_used)]

use serde_json::json;

use super::*;
use crate::log::GatewayBinding;
use crate::scenario::{Vocabulary, parse};

const MANIFEST: &str = r#"
apiVersion: gateproof.dev/v1alpha1
kind: Scenario
metadata: {name: sample}
spec:
  summary: A sentence.
  features: [Gateway, HTTPRoute]
  gateways: {gw: http}
  namespaces: {other: {}}
  backends: [{name: echo, namespace: other}]
  steps:
    - apply:
        - apiVersion: gateway.networking.k8s.io/v1
          kind: HTTPRoute
          metadata: {name: route, labels: {a: b}}
          spec:
            parentRefs: ["${gw}"]
            hostnames: ["${host}", "x.${host:second}"]
            rules: [{backendRefs: [{name: echo, namespace: "${ns:other}", port: "${port:http}"}]}]
        - apiVersion: gateway.networking.k8s.io/v1
          kind: GatewayClass
          metadata: {name: "${name:class}"}
          spec: {controllerName: "${controller}"}
        - apiVersion: v1
          kind: Secret
          metadata: {name: certificate, namespace: "${ns:other}"}
          type: kubernetes.io/tls
          data: "${tls:host}"
    - settle:
        HTTPRoute/route: {Accepted: "True", parents: [{ref: "${gw}", section: http, Accepted: "True"}]}
        "${gw}": {Programmed: "True"}
        GatewayClass/class: {Accepted: {status: "True", message: {mentions: "${token}", lacks: "${host}"}, fields: {by: "${controller}"}}, mirrors: {of: "${host:third}"}}
    - patch: {target: Namespace/other, merge: {metadata: {labels: {c: "${token}"}}}}
    - delete: [Service/other/echo]
    - probe: {get: "http://${host}/${token}", headers: {X: "${host:second}"}, expect: {backend: echo, seen: {host: "${host}"}}}
"#;

fn bindings() -> Bindings {
    let pairs = |list: &[(&str, &str)]| list.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
    let gateway = GatewayBinding { namespace: "pool".into(), name: "gw-http".into(), shape: "http".into() };
    Bindings {
        scenario: "sample".into(),
        run_id: "r1".into(),
        token: "t1".into(),
        namespaces: pairs(&[("ns", "ns-t1"), ("other", "ns-t1-other")]),
        hosts: pairs(&[("host", "t1.example"), ("second", "t1-second.example"), ("third", "t1-third.example")]),
        gateways: [("gw".to_owned(), gateway)].into_iter().collect(),
        names: pairs(&[("class", "class-t1")]),
        ports: [("http".to_owned(), 8080)].into_iter().collect(),
        gateway_class: Some("under-test".into()),
        controller_name: Some("example.com/controller".into()),
        ..Default::default()
    }
}

fn scenario() -> Scenario {
    parse("a.yaml", MANIFEST, &Vocabulary::builtin()).unwrap().remove(0)
}

#[test]
fn objects_get_names_namespaces_and_labels() {
    let bound = bind(&scenario(), &bindings()).unwrap();
    let Verb::Apply(apply) = &bound.steps[0].verb else { panic!("not an apply") };
    let route = &apply.objects[0];
    assert_eq!(route["metadata"]["namespace"], "ns-t1");
    assert_eq!(
        route["metadata"]["labels"],
        json!({"a": "b", "gateproof.dev/run": "r1", "gateproof.dev/scenario": "t1"})
    );
    assert_eq!(
        route["spec"]["parentRefs"][0],
        json!({"group": "gateway.networking.k8s.io", "kind": "Gateway", "namespace": "pool", "name": "gw-http"})
    );
    assert_eq!(route["spec"]["hostnames"], json!(["t1.example", "x.t1-second.example"]));
    let backend = &route["spec"]["rules"][0]["backendRefs"][0];
    assert_eq!(*backend, json!({"name": "echo", "namespace": "ns-t1-other", "port": 8080}));
    let class = &apply.objects[1];
    assert_eq!(class["metadata"]["name"], "class-t1");
    assert!(class["metadata"].get("namespace").is_none());
    assert_eq!(class["spec"]["controllerName"], "example.com/controller");
    let secret = &apply.objects[2];
    assert_eq!(secret["metadata"]["namespace"], "ns-t1-other");
    assert!(secret["data"]["tls.crt"].as_str().unwrap().len() > 100);
    assert!(secret["data"]["tls.key"].as_str().unwrap().len() > 100);
}

/// Some names have no place for a hyphen.
#[test]
fn a_plain_token_has_letters_and_digits_alone() {
    let manifest = MANIFEST.replace("/${token}", "/${token}-${token:plain}");
    let scenario = parse("a.yaml", &manifest, &Vocabulary::builtin()).unwrap().remove(0);
    let bound = bind(&scenario, &Bindings { token: "abc-12".to_owned(), ..bindings() }).unwrap();
    let Verb::Probe(probe) = &bound.steps[4].verb else { panic!("not a probe") };
    assert!(format!("{probe:?}").contains("/abc-12-abc12"), "{probe:?}");
}

#[test]
fn references_are_resolved_and_keep_their_labels() {
    let bound = bind(&scenario(), &bindings()).unwrap();
    let Verb::Settle(settle) = &bound.steps[1].verb else { panic!("not a settle") };
    let shown = settle.subjects.iter().map(|s| s.subject.clone()).collect::<Vec<_>>();
    assert_eq!(shown[0].namespace.as_deref(), Some("ns-t1"));
    assert_eq!((shown[1].namespace.as_deref(), shown[1].name.as_str()), (Some("pool"), "gw-http"));
    assert_eq!((shown[2].namespace.as_deref(), shown[2].name.as_str()), (None, "class-t1"));
    let labels = shown.iter().map(|s| bound.label(s).to_string()).collect::<Vec<_>>();
    assert_eq!(labels, ["HTTPRoute/route", "${gw}", "GatewayClass/class"]);
    let Parents::Selected(parents) = &settle.subjects[0].parents else { panic!("not selected") };
    assert_eq!(parents[0].parent_ref["name"], "gw-http");
    assert_eq!(parents[0].parent_ref["sectionName"], "http");
    let Verb::Patch(patch) = &bound.steps[2].verb else { panic!("not a patch") };
    assert_eq!(patch.target.name, "ns-t1-other");
    let Verb::Delete(delete) = &bound.steps[3].verb else { panic!("not a delete") };
    assert_eq!(delete.objects[0].to_string(), "Service/ns-t1-other/echo");
    let Verb::Probe(probe) = &bound.steps[4].verb else { panic!("not a probe") };
    assert_eq!((probe.host.as_deref(), probe.path.as_str()), (Some("t1.example"), "/t1"));
    assert_eq!(probe.headers["X"], ["t1-second.example"]);
}

#[test]
fn names_of_expectations_do_not_change_by_binding() {
    let ids = |s: &Scenario| crate::scenario::expectations::enumerate(s).into_iter().map(|e| e.id).collect::<Vec<_>>();
    let unbound = scenario();
    assert_eq!(ids(&unbound), ids(&bind(&unbound, &bindings()).unwrap()));
}

#[test]
fn needed_aliases_are_listed() {
    let needs = needs(&scenario());
    assert_eq!(needs.hosts.iter().map(String::as_str).collect::<Vec<_>>(), ["host", "second", "third"]);
    assert_eq!(needs.names.iter().map(String::as_str).collect::<Vec<_>>(), ["class"]);
    assert_eq!(needs.ports.iter().map(String::as_str).collect::<Vec<_>>(), ["http"]);
}

#[test]
fn a_missing_binding_is_an_error() {
    let mut bindings = bindings();
    bindings.hosts.shift_remove("second");
    let error = bind(&scenario(), &bindings).unwrap_err();
    assert_eq!(error, BindError::Missing { what: "host", alias: "second".to_owned() });
}

#[test]
fn values_of_fields_are_bound() {
    let bound = bind(&scenario(), &bindings()).unwrap();
    let Verb::Settle(settle) = &bound.steps[1].verb else { panic!("not a settle") };
    let class = &settle.subjects[2];
    assert_eq!(class.conditions["Accepted"].fields["by"], FieldTest::Equals(json!("example.com/controller")));
    assert_eq!(class.fields[0].test, FieldTest::Equals(json!("t1-third.example")));
}
