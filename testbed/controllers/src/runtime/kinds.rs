use kube::api::ApiResource;
use serde_json::Value;

use crate::{
    model::GATEWAY_GROUP,
    snapshot::{Kind, Snapshot},
};

/// Kinds that are always there.
const BUILT_IN: [Kind; 6] = [
    Kind::CustomResourceDefinition,
    Kind::Namespace,
    Kind::Service,
    Kind::EndpointSlice,
    Kind::Secret,
    Kind::ConfigMap,
];

/// Versions that the typed views can read, best first.
const READABLE: [&str; 4] = ["v1", "v1beta1", "v1alpha3", "v1alpha2"];

/// What can be watched now: the built-in kinds, ClusterTrustBundles if they are served, and of Gateway API what the installed CRDs serve.
pub(super) fn available(snapshot: &Snapshot, trust_bundles: Option<&ApiResource>) -> Vec<(Kind, ApiResource)> {
    let built_in = BUILT_IN.into_iter().map(|kind| {
        let plural = format!("{}s", kind.name().to_lowercase());
        (kind, resource(kind, "v1", plural))
    });
    let custom = snapshot.crds().filter(|(_, crd)| crd.group == GATEWAY_GROUP).filter_map(|(object, crd)| {
        let kind = Kind::ALL.into_iter().find(|kind| kind.group() == GATEWAY_GROUP && kind.name() == crd.names.kind)?;
        let version = served(&object.raw)?;
        Some((kind, resource(kind, version, crd.names.plural.clone())))
    });
    let trust_bundles = trust_bundles.map(|resource| (Kind::ClusterTrustBundle, resource.clone()));
    built_in.chain(trust_bundles).chain(custom).collect()
}

/// How a kind is spoken of to a server that has the built-in release.
pub(crate) fn built_in_release(kind: Kind) -> ApiResource {
    let name = kind.name().to_lowercase();
    let plural = match name.strip_suffix("cy") {
        Some(stem) => format!("{stem}cies"),
        None if name.ends_with('s') => format!("{name}es"),
        None => format!("{name}s"),
    };
    resource(kind, "v1", plural)
}

fn resource(kind: Kind, version: &str, plural: String) -> ApiResource {
    let group = kind.group().to_owned();
    let api_version = if group.is_empty() { version.to_owned() } else { format!("{group}/{version}") };
    ApiResource { group, version: version.to_owned(), api_version, kind: kind.name().to_owned(), plural }
}

/// The best version that an established CRD serves.
fn served(crd: &Value) -> Option<&'static str> {
    let established = crd.pointer("/status/conditions").and_then(Value::as_array).is_some_and(|conditions| {
        conditions.iter().any(|condition| condition["type"] == "Established" && condition["status"] == "True")
    });
    let versions = crd.pointer("/spec/versions").and_then(Value::as_array)?;
    let is_served = |name: &str| versions.iter().any(|version| version["name"] == name && version["served"] == true);
    READABLE.into_iter().find(|name| established && is_served(name))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use rstest::rstest;
    use serde_json::json;

    use super::*;

    #[rstest]
    #[case::best(&[("v1", true), ("v1beta1", true)], "True", Some("v1"))]
    #[case::only_alpha(&[("v1alpha2", true)], "True", Some("v1alpha2"))]
    #[case::not_served(&[("v1", false), ("v1beta1", true)], "True", Some("v1beta1"))]
    #[case::not_established(&[("v1", true)], "False", None)]
    #[case::unknown_version(&[("v2", true)], "True", None)]
    fn the_best_served_version_is_watched(
        #[case] versions: &[(&str, bool)],
        #[case] established: &str,
        #[case] expected: Option<&str>,
    ) {
        let versions: Vec<Value> =
            versions.iter().map(|(name, served)| json!({"name": name, "served": served})).collect();
        let crd = json!({
            "metadata": {"name": "tcproutes.gateway.networking.k8s.io"},
            "spec": {"group": GATEWAY_GROUP, "names": {"kind": "TCPRoute", "plural": "tcproutes"}, "versions": versions},
            "status": {"conditions": [{"type": "Established", "status": established}]},
        });
        let mut snapshot = Snapshot::default();
        snapshot.put(Kind::CustomResourceDefinition, crd).unwrap();
        let found = available(&snapshot, None).into_iter().find(|(kind, _)| *kind == Kind::TcpRoute);
        assert_eq!(found.map(|(_, resource)| resource.version), expected.map(str::to_owned));
    }

    #[rstest]
    #[case(Kind::Gateway, "gateways")]
    #[case(Kind::GatewayClass, "gatewayclasses")]
    #[case(Kind::TlsRoute, "tlsroutes")]
    #[case(Kind::BackendTlsPolicy, "backendtlspolicies")]
    fn plurals_are_those_of_the_definitions(#[case] kind: Kind, #[case] plural: &str) {
        assert_eq!(built_in_release(kind).plural, plural);
    }
}
