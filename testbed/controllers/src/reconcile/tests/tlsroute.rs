use rstest::rstest;

use super::{World, conditions, lanes, listeners};
use crate::snapshot::Kind;

fn world(gateway: &str, routes: &[(&str, u32, &str)]) -> World {
    let mut world = World::with(&format!(
        "- apiVersion: gateway.networking.k8s.io/v1\n  kind: Gateway\n  metadata: {{namespace: demo, name: gw, uid: gw, generation: 3}}\n  \
         spec: {{gatewayClassName: ours, listeners: [{gateway}]}}"
    ));
    for (name, created, spec) in routes {
        world.add(&format!(
            "- {{apiVersion: gateway.networking.k8s.io/v1, kind: TLSRoute, metadata: {{namespace: demo, name: {name}, \
             creationTimestamp: '2026-01-01T00:00:0{created}Z'}}, spec: {{parentRefs: [{{name: gw}}], {spec}}}}}"
        ));
    }
    world
}

const PASS: &str = "{name: pass, port: 443, protocol: TLS, hostname: '*.a.test', tls: {mode: Passthrough}}";
const OK: &str = "Accepted=True/Accepted ResolvedRefs=True/ResolvedRefs";

#[test]
fn routes_are_attached_by_hostname_oldest_first() {
    let to = |host: &str| format!("hostnames: ['{host}'], rules: [{{backendRefs: [{{name: echo, port: 8080}}]}}]");
    let mut world = world(PASS, &[("b", 2, &to("x.a.test")), ("a", 1, &to("*.test"))]);
    let outcome = world.settle();
    assert_eq!(conditions(&outcome, Kind::TlsRoute, "a"), [OK]);
    assert_eq!(lanes(&outcome)[0], "127.90.0.1:443 pass *.a.test [*.test] 1 [x.a.test] 1");
    assert!(listeners(&outcome)[0].starts_with("pass 2 "));
}

#[rstest]
#[case::another("x.b.test")]
#[case::the_parent_domain("a.test")]
#[case::a_mere_suffix("xa.test")]
fn a_route_without_a_common_hostname_is_refused(#[case] host: &str) {
    let spec = format!("hostnames: ['{host}'], rules: [{{backendRefs: [{{name: echo, port: 8080}}]}}]");
    let mut world = world(PASS, &[("a", 1, &spec)]);
    let outcome = world.settle();
    let refused = "Accepted=False/NoMatchingListenerHostname ResolvedRefs=True/ResolvedRefs";
    assert_eq!(conditions(&outcome, Kind::TlsRoute, "a"), [refused]);
    assert!(listeners(&outcome)[0].starts_with("pass 0 "));
}

#[test]
fn a_listener_that_terminates_needs_a_certificate() {
    let listener = "{name: end, port: 443, protocol: TLS, tls: {certificateRefs: [{name: nope}]}}";
    let mut world = world(listener, &[]);
    let outcome = world.settle();
    assert!(listeners(&outcome)[0].contains("ResolvedRefs=False/InvalidCertificateRef"), "{:?}", listeners(&outcome));
}

#[test]
fn https_and_tls_share_a_port_by_hostname() {
    let both = |host: &str| {
        let https = format!(
            "{{name: https, port: 443, protocol: HTTPS, hostname: {host}, tls: {{certificateRefs: [{{name: nope}}]}}}}"
        );
        listeners(&world(&format!("{PASS}, {https}"), &[]).settle()).remove(0)
    };
    assert!(both("b.test").contains("Accepted=True/Accepted"));
    assert!(both("'*.a.test'").contains("HostnameConflict"));
}

#[rstest]
#[case::taken("", true, "end 1 ", "Accepted=True/Accepted")]
#[case::not_taken("", false, "end 0 ", "Accepted=False/NotAllowedByListeners")]
#[case::still_within_tls(", mode: Passthrough", true, "end 0 ", "Accepted=False/NotAllowedByListeners")]
fn streams_out_of_tls_go_to_a_tcproute_where_that_is_taken(
    #[case] mode: &str,
    #[case] is_taken: bool,
    #[case] listener: &str,
    #[case] accepted: &str,
) {
    let end = format!("{{name: end, port: 443, protocol: TLS, tls: {{certificateRefs: [{{name: nope}}]{mode}}}}}");
    let mut world = world(&end, &[]);
    world.add(
        "- {apiVersion: gateway.networking.k8s.io/v1, kind: TCPRoute, metadata: {namespace: demo, name: a}, \
         spec: {parentRefs: [{name: gw}], rules: [{backendRefs: [{name: echo, port: 8080}]}]}}",
    );
    world.settings.takes_streams_out_of_tls = is_taken;
    let outcome = world.settle();
    assert!(listeners(&outcome)[0].starts_with(listener), "{:?}", listeners(&outcome));
    assert!(conditions(&outcome, Kind::TcpRoute, "a")[0].starts_with(accepted));
}
