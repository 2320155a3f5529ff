use rstest::rstest;

use super::{
    World, conditions, listeners,
    tls::{pair, secret},
    update,
};
use crate::{settings::Dispensable, snapshot::Kind, status::DesiredStatus};

const BUNDLES: &str = "only core ConfigMaps and ClusterTrustBundles work";

/// A policy and a Gateway that name this authority, in definitions of this release and channel.
fn world(reference: &str, (release, channel): (&str, &str)) -> World {
    let mut world = World::with(&format!(
        "- {{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {{name: \
         httproutes.gateway.networking.k8s.io, annotations: {{gateway.networking.k8s.io/bundle-version: {release}, \
         gateway.networking.k8s.io/channel: {channel}}}}}, spec: {{group: gateway.networking.k8s.io, names: {{kind: HTTPRoute, \
         plural: httproutes}}}}}}\n\
         - {{apiVersion: gateway.networking.k8s.io/v1, kind: BackendTLSPolicy, metadata: {{namespace: demo, name: policy, uid: \
         policy, generation: 1}}, spec: {{targetRefs: [{{group: '', kind: Service, name: echo}}], validation: {{hostname: a.test, \
         caCertificateRefs: [{reference}]}}}}}}\n\
         - apiVersion: gateway.networking.k8s.io/v1\n  kind: Gateway\n  \
         metadata: {{namespace: demo, name: gw, uid: gw, generation: 3}}\n  spec:\n    gatewayClassName: ours\n    \
         tls: {{frontend: {{default: {{validation: {{caCertificateRefs: [{reference}]}}}}}}}}\n    listeners:\n    \
         - {{name: a, port: 443, protocol: HTTPS, tls: {{certificateRefs: [{{name: good}}]}}}}\n    \
         - {{name: http, port: 80, protocol: HTTP}}\n"
    ));
    let (crt, key) = pair();
    world.add(&secret("demo", "good", &crt, &key));
    for (name, text) in [("bundle", crt.as_str()), ("garbage", "no certificate")] {
        let spec = serde_json::json!({ "trustBundle": text });
        world.add(&format!(
            "- {{apiVersion: certificates.k8s.io/v1, kind: ClusterTrustBundle, metadata: {{name: {name}}}, spec: {spec}}}"
        ));
    }
    world.http_route("route", "rules: [{backendRefs: [{name: echo, port: 8080}]}]");
    world
}

fn reference(group: &str, name: &str) -> String {
    format!("{{group: '{group}', kind: ClusterTrustBundle, name: {name}}}")
}

const KUBERNETES: &str = "certificates.k8s.io";
const NEWEST: (&str, &str) = ("v1.7.0", "experimental");

#[rstest]
#[case::read(reference(KUBERNETES, "bundle"), NEWEST, "", "")]
#[case::missing(reference(KUBERNETES, "nope"), NEWEST, "", "Ref")]
#[case::garbage(reference(KUBERNETES, "garbage"), NEWEST, "", "Ref")]
#[case::of_another_group(reference("x.dev", "bundle"), NEWEST, "", "Kind")]
#[case::of_no_group(reference("", "bundle"), NEWEST, "", "Kind")]
#[case::standard(reference(KUBERNETES, "bundle"), ("v1.7.0", "standard"), "", "Kind")]
#[case::older(reference(KUBERNETES, "bundle"), ("v1.6.3", "experimental"), "", "Kind")]
#[case::done_without(reference(KUBERNETES, "bundle"), NEWEST, "feature", "Kind")]
#[case::not_served(reference(KUBERNETES, "bundle"), NEWEST, "kind", "Kind")]
fn trust_bundles_are_authorities_where_the_definitions_speak_of_them(
    #[case] reference: String,
    #[case] installed: (&str, &str),
    #[case] lacks: &str,
    #[case] broken: &str,
) {
    let mut world = world(&reference, installed);
    world.settings.lacks.extend((lacks == "feature").then_some(Dispensable::TrustBundles));
    world.snapshot.lacks_trust_bundles = lacks == "kind";
    let outcome = world.settle();
    let class = &update(&outcome, Kind::GatewayClass, "ours").unwrap().status;
    let DesiredStatus::GatewayClass { supported_features, .. } = class else { panic!("{class:?}") };
    let is_claimed = supported_features.iter().any(|feature| feature == "ClusterTrustBundle");
    assert_eq!(is_claimed, lacks.is_empty() && installed == NEWEST);
    let of_policy = conditions(&outcome, Kind::BackendTlsPolicy, "policy").concat();
    let of_listener = listeners(&outcome)[0].clone();
    let (policy, listener) = match broken {
        "" => ("ResolvedRefs=True/ResolvedRefs", "ResolvedRefs=True/ResolvedRefs"),
        "Ref" => ("ResolvedRefs=False/InvalidCACertificateRef", "ResolvedRefs=False/InvalidCACertificateRef"),
        _ => ("ResolvedRefs=False/InvalidKind", "ResolvedRefs=False/InvalidCACertificateKind"),
    };
    assert!(of_policy.contains(policy), "{of_policy}");
    assert!(of_listener.contains(listener), "{of_listener}");
    let accepted = if broken.is_empty() { "Accepted=True/Accepted" } else { "Accepted=False/NoValidCACertificate" };
    assert!(of_policy.contains(accepted) && of_listener.contains(accepted), "{of_policy} {of_listener}");
}

#[test]
fn messages_say_what_is_read_and_a_bundle_has_no_namespace() {
    let said = |reference: &str, installed| format!("{:?}", world(reference, installed).settle().statuses);
    let unknown = said(&reference("x.dev", "bundle"), NEWEST);
    assert!(unknown.contains(BUNDLES), "{unknown}");
    let unread = said(&reference(KUBERNETES, "bundle"), ("v1.7.0", "standard"));
    assert!(!unread.contains(BUNDLES) && unread.contains("only core ConfigMaps work"), "{unread}");
    let missing = said(&reference(KUBERNETES, "nope"), NEWEST);
    assert!(missing.contains("caCertificateRef ClusterTrustBundle nope: no such ClusterTrustBundle"), "{missing}");
    assert!(!missing.contains("demo/nope"), "{missing}");
}
