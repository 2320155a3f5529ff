#![allow(clippy::unwrap_used)]
use rstest::rstest;

use super::super::fixtures::scenario;
use super::*;
use crate::log::Chain;
use crate::scenario::{CertificateDecl, Vocabulary, load, parse};

const HEAD: &str = "\
apiVersion: gateproof.dev/v1alpha1
kind: Scenario
metadata: {name: a}
spec:
  summary: One.
  features: [Gateway]
  namespaces: {other: {}}
  backends: [echo, {name: calls, protocol: h2c}, {name: far, namespace: other}]
  steps:
";

fn steps(text: &str) -> Scenario {
    let text = format!("{HEAD}{text}");
    parse("a.yaml", &text, &Vocabulary::builtin()).unwrap_or_else(|problems| panic!("{problems:?}")).remove(0)
}

fn patch(target: &str, patch: &str) -> Scenario {
    steps(&format!("    - patch: {{target: {target}, {patch}}}\n"))
}

fn apply(metadata: &str, spec: &str) -> Scenario {
    let service = format!("{{apiVersion: v1, kind: Service, metadata: {metadata}, spec: {spec}}}");
    steps(&format!("    - apply: [{service}]\n"))
}

#[rstest]
#[case::target_port("json: [{op: replace, path: /spec/ports/0/targetPort, value: 9}]", true)]
#[case::target_port_as_before("json: [{op: replace, path: /spec/ports/0/targetPort, value: 8080}]", false)]
#[case::another_port("merge: {spec: {ports: [{port: 8081}]}}", true)]
#[case::another_port_to_the_same("merge: {spec: {ports: [{port: 8081, targetPort: 8080}]}}", false)]
#[case::one_port_more("merge: {spec: {ports: [{port: 8080, name: a}, {port: 9, name: b}]}}", true)]
#[case::protocol("merge: {spec: {ports: [{port: 8080, protocol: UDP}]}}", true)]
#[case::what_it_speaks("merge: {spec: {ports: [{port: 8080, protocol: TCP, appProtocol: kubernetes.io/ws}]}}", false)]
#[case::selector("merge: {spec: {selector: {app: a}}}", true)]
#[case::no_selector("merge: {spec: {selector: null}}", true)]
#[case::external("merge: {spec: {type: ExternalName, externalName: a.example}}", true)]
#[case::labels("json: [{op: add, path: /metadata/annotations, value: {a: b}}]", false)]
#[case::what_is_not_known("json: [{op: remove, path: /spec/healthCheckNodePort}]", true)]
fn a_patch_may_change_where_the_cluster_looks_for_pods(#[case] change: &str, #[case] expected: bool) {
    for (target, name) in [("Service/echo", "echo"), ("Service/calls", "calls"), ("Service/other/far", "far")] {
        let told = only_hosted(&patch(target, change));
        assert_eq!(told, expected.then(|| format!("it changes which endpoints Service/{name} has")), "{change}");
    }
}

#[rstest]
#[case::as_before("{name: echo}", "{ports: [{port: 8080}]}", false)]
#[case::elsewhere("{name: echo}", "{ports: [{port: 8080, targetPort: 1}]}", true)]
#[case::of_others("{name: echo}", "{ports: [{port: 8080}], selector: {app: a}}", true)]
#[case::far("{name: far, namespace: '${ns:other}'}", "{ports: [{port: 1}]}", true)]
#[case::of_that_name_elsewhere("{name: far}", "{ports: [{port: 1}]}", false)]
#[case::no_backend("{name: own}", "{ports: [{port: 1}]}", false)]
fn what_is_applied_may_too(#[case] metadata: &str, #[case] spec: &str, #[case] expected: bool) {
    assert_eq!(only_hosted(&apply(metadata, spec)).is_some(), expected);
}

#[test]
fn a_service_that_goes_takes_its_endpoints_along() {
    assert_eq!(only_hosted(&steps("    - delete: [Service/echo]\n")), None);
}

#[rstest]
#[case::patched("    - patch: {target: EndpointSlice/echo-hosted, merge: {endpoints: []}}\n")]
#[case::deleted("    - delete: [EndpointSlice/echo-hosted]\n")]
#[case::read("    - hold: {for: quiet, unchanged: [EndpointSlice/echo-hosted]}\n")]
fn slices_have_other_names_there(#[case] step: &str) {
    let told = only_hosted(&steps(step));
    assert_eq!(told.as_deref(), Some("it names EndpointSlice/echo-hosted, which only hosted backends have"));
}

#[test]
fn an_endpoint_that_is_not_ready_is_hosted() {
    let mut some = scenario("a");
    some.backends = steps("    - delete: [Service/echo]\n").backends;
    some.backends[0].ready = false;
    assert_eq!(only_hosted(&some), None, "a Service without Pods is anybody's");
    some.backends[1].service = Some("echo".to_owned());
    assert_eq!(only_hosted(&some), None, "a second Pod is anybody's");
    some.backends[1].ready = false;
    assert_eq!(only_hosted(&some).as_deref(), Some("its backend `calls` has an endpoint that is not ready"));
}

#[test]
fn a_backend_that_greets_is_hosted() {
    let mut some = scenario("a");
    some.backends = steps("    - delete: [Service/echo]\n").backends;
    some.backends[0].greets = true;
    assert_eq!(only_hosted(&some).as_deref(), Some("its backend `echo` speaks first"));
}

#[test]
fn a_backend_that_agrees_on_protocols_is_hosted() {
    let mut some = scenario("a");
    some.backends = steps("    - delete: [Service/echo]\n").backends;
    some.backends[0].alpn = vec!["imap".to_owned()];
    assert_eq!(only_hosted(&some).as_deref(), Some("its backend `echo` agrees on protocols of its own"));
}

#[rstest]
#[case::line("send: hello", None)]
#[case::behind_it("bodyBytes: 9", Some("what it sends over a stream comes back from hosted backends alone"))]
fn what_returns_a_stream_is_hosted(#[case] sent: &str, #[case] wanted: Option<&str>) {
    let text = HEAD.replacen("  steps:", "  gateways: {gw: tcp}\n  steps:", 1);
    let text = format!("{text}    - probe: {{tcp: \"${{gw}}\", {sent}, expect: refused}}\n");
    let some = parse("a.yaml", &text, &Vocabulary::builtin()).unwrap().remove(0);
    assert_eq!(only_hosted(&some).as_deref(), wanted);
}

#[test]
fn a_backend_with_a_certificate_is_hosted() {
    let mut some = scenario("a");
    some.backends = steps("    - delete: [Service/echo]\n").backends;
    some.backends[0].tls = Some(CertificateDecl {
        names: vec!["a.test".to_owned()],
        common_name: None,
        authority: "ca".to_owned(),
        expired: false,
        future: false,
        chain: Chain::Direct,
        clients: None,
    });
    assert_eq!(only_hosted(&some).as_deref(), Some("its backend `echo` shows a certificate that is made for the run"));
}

/// By the texts of what is written and not by what becomes of it: none of the words by which a Service finds Pods, and no slice.
#[test]
fn no_scenario_that_runs_with_pods_writes_what_the_cluster_would_undo() {
    const WORDS: [&str; 5] = ["targetPort", "selector", "externalName", "publishNotReadyAddresses", "EndpointSlice"];
    let all = load::builtin_once();
    let (mut harmless, mut others) = (0, Vec::new());
    for scenario in all {
        let mut texts = Vec::new();
        for step in &scenario.steps {
            match &step.verb {
                Verb::Apply(apply) => {
                    let of_endpoints = ["Service", "EndpointSlice"];
                    let is = |object: &&Value| object["kind"].as_str().is_some_and(|kind| of_endpoints.contains(&kind));
                    // One that is an alias from the beginning never has endpoints.
                    let backend = |name: &Value| scenario.backends.iter().any(|decl| *name == decl.name);
                    let is_alias = |object: &&Value| {
                        object["spec"]["type"] == "ExternalName" && !backend(&object["metadata"]["name"])
                    };
                    let objects = apply.objects.iter().filter(is).filter(|object| !is_alias(object));
                    texts.extend(objects.map(ToString::to_string));
                }
                Verb::Patch(patch) if patch.target.kind == "Service" => texts.push(patch.patch.to_string()),
                _ => {}
            }
        }
        texts.extend(references(scenario).iter().filter(|one| one.kind == "EndpointSlice").map(ToString::to_string));
        let touches = texts.iter().any(|text| WORDS.iter().any(|word| text.contains(word)));
        match only_hosted(scenario) {
            Some(_) => others.push(scenario.name.as_str()),
            None => {
                assert!(!touches, "{} runs with deployed backends, and writes {texts:?}", scenario.name);
                harmless += usize::from(!texts.is_empty());
            }
        }
    }
    others.sort_unstable();
    let hosted_only = [
        "backendtlspolicy-alternative-names",
        "backendtlspolicy-alternative-names-of-calls",
        "backendtlspolicy-alternative-names-of-streams",
        "backendtlspolicy-authority-changes",
        "backendtlspolicy-behind-a-rewrite",
        "backendtlspolicy-bundle-of-authorities",
        "backendtlspolicy-calls",
        "backendtlspolicy-chains",
        "backendtlspolicy-conflict",
        "backendtlspolicy-conflict-of-a-section",
        "backendtlspolicy-encrypts",
        "backendtlspolicy-foreign-condition",
        "backendtlspolicy-foreign-entries-in-order",
        "backendtlspolicy-foreign-entry",
        "backendtlspolicy-full-list-of-entries",
        "backendtlspolicy-generation",
        "backendtlspolicy-invalid-authority",
        "backendtlspolicy-invalid-kind",
        "backendtlspolicy-mirror",
        "backendtlspolicy-names-of-certificates",
        "backendtlspolicy-of-a-listenerset",
        "backendtlspolicy-older",
        "backendtlspolicy-one-authority-missing",
        "backendtlspolicy-quiet",
        "backendtlspolicy-section",
        "backendtlspolicy-services-of-a-name",
        "backendtlspolicy-several-alternative-names",
        "backendtlspolicy-several-targets",
        "backendtlspolicy-shares",
        "backendtlspolicy-streams",
        "backendtlspolicy-target-of-another-kind",
        "backendtlspolicy-trust-bundle",
        "backendtlspolicy-trust-bundle-changes",
        "backendtlspolicy-trust-bundle-not-supported",
        "backendtlspolicy-trust-bundle-of-another-group",
        "backendtlspolicy-trust-bundle-of-several",
        "backendtlspolicy-two-gateways",
        "backendtlspolicy-udp-port",
        "backendtlspolicy-unknown-section",
        "backendtlspolicy-unknown-well-known-authorities",
        "backendtlspolicy-websocket",
        "backendtlspolicy-well-known-authorities",
        "backendtlspolicy-winner-moves",
        "gateway-client-certificate-exchanged",
        "gateway-client-certificate-for-backends",
        "gateway-client-certificate-for-calls",
        "gateway-client-certificate-for-mirrors",
        "gateway-client-certificate-for-streams",
        "gateway-client-certificate-invalid",
        "gateway-client-certificate-spoilt",
        "gateway-client-certificates-of-two-gateways",
        "grpcroute-endpoints-change",
        "httproute-endpoint-of-unsaid-readiness",
        "httproute-endpoints-deleted",
        "httproute-endpoints-go-and-come",
        "httproute-external-name-no-more",
        "httproute-mirror-moves",
        "httproute-named-target-port",
        "httproute-port-of-endpoints",
        "httproute-port-of-endpoints-changed",
        "httproute-port-of-two-protocols",
        "httproute-port-renamed",
        "httproute-port-taken-from-a-service",
        "httproute-retry-after-failed-handshakes",
        "httproute-retry-after-refused-connections",
        "httproute-share-without-endpoints",
        "httproute-slice-without-ports",
        "httproute-two-named-target-ports",
        "httproute-two-ports-of-a-service",
        "httproute-two-ports-whose-endpoints-change",
        "httproute-two-services-of-a-name",
        "httproute-unready-endpoint",
        "tcproute-endpoints-change",
        "tcproute-half-closed",
        "tcproute-idle",
        "tcproute-long-stream",
        "tcproute-port-of-two-protocols",
        "tcproute-server-that-speaks-first",
        "tlsroute-endpoints-change",
        "tlsroute-long-hello",
        "tlsroute-long-stream",
        "tlsroute-protocol-of-the-backend",
        "tlsroute-turns",
        "udproute-empty-datagrams",
        "udproute-endpoints-change",
        "udproute-long-datagrams",
        "udproute-port-of-two-protocols",
    ];
    assert_eq!(others, hosted_only);
    assert!(harmless > 5, "{harmless} scenarios write Services and run");
}
