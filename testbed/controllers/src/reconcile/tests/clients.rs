use gateproof_proxy::config::{Admits, Protocol};
use rstest::rstest;

use super::{
    World, conditions, listeners,
    tls::{pair, secret},
};
use crate::{reconcile::Outcome, snapshot::Kind};

const OPEN: &str = "Accepted=True/Accepted Programmed=True/Programmed ResolvedRefs=True/ResolvedRefs";

fn map(namespace: &str, name: &str, data: &str) -> String {
    format!("- {{apiVersion: v1, kind: ConfigMap, metadata: {{namespace: {namespace}, name: {name}}}, data: {data}}}")
}

/// A Gateway with this frontend, and listeners `a` and `b` of protocol HTTPS and `c` of HTTP.
fn world(frontend: &str) -> World {
    let mut world = World::with(&format!(
        "- apiVersion: gateway.networking.k8s.io/v1\n  kind: Gateway\n  \
         metadata: {{namespace: demo, name: gw, uid: gw, generation: 3}}\n  spec:\n    gatewayClassName: ours\n    \
         tls: {{frontend: {frontend}}}\n    listeners:\n    \
         - {{name: a, port: 443, protocol: HTTPS, tls: {{certificateRefs: [{{name: good}}]}}}}\n    \
         - {{name: b, port: 444, protocol: HTTPS, tls: {{certificateRefs: [{{name: good}}]}}}}\n    \
         - {{name: c, port: 80, protocol: HTTP}}\n"
    ));
    let (crt, key) = pair();
    world.add(&secret("demo", "good", &crt, &key));
    let bundle = serde_json::json!({ "ca.crt": crt }).to_string();
    world.add(&map("demo", "authority", &bundle));
    world.add(&map("other", "far", &bundle));
    world.add(&map("demo", "empty", "{}"));
    world
}

fn reference(kind: &str, name: &str) -> String {
    format!("{{group: '', kind: {kind}, name: {name}}}")
}

/// Whom the listeners of protocol HTTPS admit.
fn admitted(outcome: &Outcome) -> Vec<(u16, Option<Admits>)> {
    let mut all: Vec<_> = outcome
        .config
        .listeners
        .iter()
        .filter_map(|lane| match &lane.protocol {
            Protocol::Https(of) => Some((lane.port, of[0].clients.as_ref().map(|clients| clients.admits))),
            _ => None,
        })
        .collect();
    all.sort_by_key(|(port, _)| *port);
    all
}

#[test]
fn validation_holds_by_port_and_the_insecure_mode_shows() {
    let own = reference("ConfigMap", "authority");
    let outcome = world(&format!(
        "{{default: {{validation: {{caCertificateRefs: [{own}]}}}}, perPort: \
         [{{port: 444, tls: {{validation: {{mode: AllowInsecureFallback, caCertificateRefs: [{own}]}}}}}}]}}"
    ))
    .settle();
    assert_eq!(admitted(&outcome), [(443, Some(Admits::Valid)), (444, Some(Admits::Everybody))]);
    let said = conditions(&outcome, Kind::Gateway, "gw");
    assert!(said[0].contains("InsecureFrontendValidationMode=True/ConfigurationChanged"), "{said:?}");
    let outcome = world(&format!(
        "{{default: {{validation: {{caCertificateRefs: [{own}]}}}}, perPort: [{{port: 444, tls: {{}}}}]}}"
    ))
    .settle();
    assert_eq!(admitted(&outcome), [(443, Some(Admits::Valid)), (444, None)]);
    assert!(!conditions(&outcome, Kind::Gateway, "gw")[0].contains("Insecure"));
}

#[rstest]
#[case::missing(reference("ConfigMap", "nope"), "InvalidCACertificateRef")]
#[case::without_its_key(reference("ConfigMap", "empty"), "InvalidCACertificateRef")]
#[case::kind(reference("Secret", "authority"), "InvalidCACertificateKind")]
#[case::not_granted("{group: '', kind: ConfigMap, name: far, namespace: other}".to_owned(), "RefNotPermitted")]
fn a_listener_without_an_authority_is_closed_in_either_mode(#[case] reference: String, #[case] reason: &str) {
    for mode in ["AllowValidOnly", "AllowInsecureFallback"] {
        let mut world =
            world(&format!("{{default: {{validation: {{mode: {mode}, caCertificateRefs: [{reference}]}}}}}}"));
        let outcome = world.settle();
        let lines = listeners(&outcome);
        let closed =
            format!("Accepted=False/NoValidCACertificate Programmed=False/Invalid ResolvedRefs=False/{reason}");
        assert!(lines[0].contains(&closed) && lines[1].contains(&closed), "{lines:?}");
        assert!(lines[2].contains(OPEN), "{lines:?}");
        assert_eq!(admitted(&outcome), []);
    }
}

#[test]
fn a_broken_reference_beside_a_good_one_closes_nothing() {
    let (own, broken) = (reference("ConfigMap", "authority"), reference("ConfigMap", "nope"));
    let outcome = world(&format!("{{default: {{validation: {{caCertificateRefs: [{broken}, {own}]}}}}}}")).settle();
    assert!(listeners(&outcome)[0].contains("Accepted=True/Accepted Programmed=True/Programmed ResolvedRefs=False"));
    assert_eq!(admitted(&outcome)[0], (443, Some(Admits::Valid)));
}
