use gateproof_proxy::config::{BackendTarget, Protocol};
use rstest::rstest;

use super::{World, listeners};

/// What a listener says that has this filter, and where each of its filters leads.
fn judged(filter: &str, authorizes: bool) -> (String, Vec<BackendTarget>) {
    let mut world = World::with(&format!(
        "- apiVersion: gateway.networking.k8s.io/v1\n  kind: Gateway\n  metadata: {{namespace: demo, name: gw, uid: gw, \
         generation: 3}}\n  spec: {{gatewayClassName: ours, listeners: [{{name: http, port: 80, protocol: HTTP, filters: \
         {{requests: [{filter}]}}}}, {{name: plain, port: 81, protocol: HTTP}}]}}\n\
         - {{apiVersion: v1, kind: Service, metadata: {{namespace: other, name: far}}, spec: {{ports: [{{port: 8080}}]}}}}"
    ));
    world.settings.authorizes = authorizes;
    let outcome = world.settle();
    let lanes = outcome.config.listeners.iter().filter(|lane| lane.port == 80);
    let hosts = lanes.flat_map(|lane| match &lane.protocol {
        Protocol::Http(http) => http.virtual_hosts.clone(),
        _ => Vec::new(),
    });
    let targets = hosts.flat_map(|host| host.before).map(|one| one.target).collect();
    assert!(listeners(&outcome)[1].contains("ResolvedRefs=True/ResolvedRefs"));
    (listeners(&outcome)[0].clone(), targets)
}

fn auth(to: &str) -> String {
    format!("{{type: ExternalAuth, externalAuth: {{protocol: HTTP, http: {{}}, backendRef: {{{to}, port: 8080}}}}}}")
}

#[test]
fn a_filter_leads_to_its_service() {
    let (said, targets) = judged(&auth("name: echo"), true);
    assert!(
        said.contains("Accepted=True/Accepted Programmed=True/Programmed ResolvedRefs=True/ResolvedRefs"),
        "{said}"
    );
    assert!(matches!(&targets[..], [BackendTarget::Endpoints(all)] if all.len() == 1), "{targets:?}");
}

#[rstest]
#[case::missing(auth("name: nope"), "InvalidListenerFilterRef")]
#[case::kind(auth("kind: ConfigMap, name: echo"), "InvalidListenerFilterRef")]
#[case::not_granted(auth("name: far, namespace: other"), "RefNotPermitted")]
#[case::extension("{type: ExtensionRef, extensionRef: {group: x.dev, kind: Odd, name: o}}".to_owned(), "InvalidListenerFilterRef")]
fn what_cannot_be_followed_lets_nothing_through(#[case] filter: String, #[case] reason: &str) {
    let (said, targets) = judged(&filter, true);
    assert!(
        said.contains(&format!("Accepted=True/Accepted Programmed=True/Programmed ResolvedRefs=False/{reason}")),
        "{said}"
    );
    assert!(matches!(&targets[..], [BackendTarget::Fail { .. }]), "{targets:?}");
}

#[rstest]
#[case::grpc("{type: ExternalAuth, externalAuth: {protocol: GRPC, grpc: {}, backendRef: {name: echo, port: 8080}}}".to_owned(), true)]
#[case::body(auth("name: echo").replace("http: {}", "http: {}, forwardBody: {maxSize: 1}"), true)]
#[case::done_without(auth("name: echo"), false)]
fn a_listener_with_a_filter_that_is_not_supported_is_not_served(#[case] filter: String, #[case] authorizes: bool) {
    let (said, targets) = judged(&filter, authorizes);
    assert!(said.contains("Accepted=False/UnsupportedValue Programmed=False/Invalid"), "{said}");
    assert!(targets.is_empty(), "{targets:?}");
}
