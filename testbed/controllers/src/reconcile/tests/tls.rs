use base64::{Engine, engine::general_purpose::STANDARD};
use rstest::rstest;

use super::{World, conditions, lanes, listeners};
use crate::snapshot::Kind;

pub(super) fn secret(namespace: &str, name: &str, crt: &str, key: &str) -> String {
    format!(
        "- {{apiVersion: v1, kind: Secret, type: kubernetes.io/tls, metadata: {{namespace: {namespace}, name: {name}}}, \
         data: {{tls.crt: '{}', tls.key: '{}'}}}}",
        STANDARD.encode(crt),
        STANDARD.encode(key)
    )
}

pub(super) fn pair() -> (String, String) {
    let rcgen::CertifiedKey { cert, signing_key } =
        rcgen::generate_simple_self_signed(vec!["a.test".to_owned()]).unwrap();
    (cert.pem(), signing_key.serialize_pem())
}

fn world(listeners: &str) -> World {
    let ((crt, key), (_, other)) = (pair(), pair());
    let mut world = World::with(&format!(
        "- {{apiVersion: gateway.networking.k8s.io/v1, kind: Gateway, metadata: {{namespace: demo, name: gw, uid: gw, \
         generation: 3}}, spec: {{gatewayClassName: ours, listeners: [{listeners}]}}}}"
    ));
    world.add(&secret("demo", "good", &crt, &key));
    world.add(&secret("demo", "mismatch", &crt, &other));
    world.add(&secret("demo", "garbled", "Hello", "World"));
    world.add(&secret("other", "far", &crt, &key));
    world.add("- {apiVersion: v1, kind: Secret, metadata: {namespace: demo, name: empty}}");
    world
}

#[rstest]
#[case::good("{name: good}", "True/ResolvedRefs")]
#[case::missing("{name: nope}", "False/InvalidCertificateRef")]
#[case::empty("{name: empty}", "False/InvalidCertificateRef")]
#[case::garbled("{name: garbled}", "False/InvalidCertificateRef")]
#[case::mismatch("{name: mismatch}", "False/InvalidCertificateRef")]
#[case::group("{group: x.dev, name: good}", "False/InvalidCertificateRef")]
#[case::kind("{kind: ConfigMap, name: good}", "False/InvalidCertificateRef")]
#[case::one_of_two("{name: good}, {name: nope}", "False/InvalidCertificateRef")]
#[case::not_granted("{namespace: other, name: far}", "False/RefNotPermitted")]
#[case::not_granted_and_missing("{namespace: other, name: nope}", "False/RefNotPermitted")]
fn certificate_refs_decide_whether_a_listener_is_programmed(#[case] references: &str, #[case] expected: &str) {
    let mut world =
        world(&format!("{{name: https, port: 443, protocol: HTTPS, tls: {{certificateRefs: [{references}]}}}}"));
    let outcome = world.settle();
    let (programmed, served) = if expected.starts_with("True") {
        ("True/Programmed", vec!["127.90.0.1:443 tls *"])
    } else {
        ("False/Invalid", vec![])
    };
    let line =
        format!("https 0 [HTTPRoute+GRPCRoute] Accepted=True/Accepted Programmed={programmed} ResolvedRefs={expected}");
    assert_eq!(listeners(&outcome), [line]);
    assert_eq!(lanes(&outcome), served);
    let gateway = if served.is_empty() {
        "Accepted=True/ListenersNotValid Programmed=False/Invalid"
    } else {
        "Accepted=True/Accepted Programmed=True/Programmed"
    };
    assert_eq!(conditions(&outcome, Kind::Gateway, "gw"), [gateway]);
}

#[test]
fn a_grant_opens_a_certificate_of_another_namespace() {
    let mut world =
        world("{name: https, port: 443, protocol: HTTPS, tls: {certificateRefs: [{namespace: other, name: far}]}}");
    world.add(
        "- {apiVersion: gateway.networking.k8s.io/v1beta1, kind: ReferenceGrant, metadata: {namespace: other, name: g}, \
         spec: {from: [{group: gateway.networking.k8s.io, kind: Gateway, namespace: demo}], to: [{group: '', kind: Secret}]}}",
    );
    assert!(listeners(&world.settle())[0].ends_with("Programmed=True/Programmed ResolvedRefs=True/ResolvedRefs"));
}

#[rstest]
#[case::no_tls("", "Accepted=True/Accepted Programmed=False/InvalidTLSConfig ResolvedRefs=True/ResolvedRefs")]
#[case::no_certificate(
    ", tls: {options: {a: b}}",
    "Accepted=True/Accepted Programmed=False/InvalidTLSConfig ResolvedRefs=True/ResolvedRefs"
)]
#[case::passthrough(
    ", tls: {mode: Passthrough, certificateRefs: [{name: good}]}",
    "Accepted=False/UnsupportedValue Programmed=False/Invalid ResolvedRefs=True/ResolvedRefs"
)]
fn a_listener_needs_terms_that_can_be_kept(#[case] tls: &str, #[case] expected: &str) {
    let outcome = world(&format!("{{name: https, port: 443, protocol: HTTPS{tls}}}")).settle();
    assert_eq!(listeners(&outcome), [format!("https 0 [HTTPRoute+GRPCRoute] {expected}")]);
    assert!(outcome.config.listeners.is_empty());
}

#[test]
fn a_route_attaches_to_a_listener_that_lacks_its_certificate() {
    let mut world = world("{name: https, port: 443, protocol: HTTPS, tls: {certificateRefs: [{name: nope}]}}");
    world.http_route("route", "rules: [{backendRefs: [{name: echo, port: 8080}]}]");
    let outcome = world.settle();
    assert!(listeners(&outcome)[0].starts_with("https 1 "));
    assert_eq!(
        conditions(&outcome, Kind::HttpRoute, "route"),
        ["Accepted=True/Accepted ResolvedRefs=True/ResolvedRefs"]
    );
}

#[test]
fn overlapping_hostnames_are_marked_on_every_listener_involved() {
    let tls = "protocol: HTTPS, tls: {certificateRefs: [{name: good}]}";
    let outcome = world(&format!(
        "{{name: a, port: 443, hostname: '*.x.test', {tls}}}, {{name: b, port: 443, hostname: a.x.test, {tls}}}, \
         {{name: c, port: 443, hostname: y.test, {tls}}}, {{name: d, port: 444, hostname: a.x.test, {tls}}}"
    ))
    .settle();
    let marked: Vec<bool> = listeners(&outcome)
        .iter()
        .map(|line| line.contains("OverlappingTLSConfig=True/OverlappingHostnames"))
        .collect();
    assert_eq!(marked, [true, true, false, false]);
}
