//! Reading bundles.

use gateproof_apiserver::crds::{BUNDLE_VERSION, BundleError, Channel, gateway_api, parse_bundle};
use rstest::rstest;

use super::official;

const ROUTES: &str = "\
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: routes.gateway.networking.k8s.io}
spec:
  group: gateway.networking.k8s.io
  names: {kind: Route, plural: routes}
  scope: Namespaced
  versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}]
";

fn routes_with(from: &str, to: &str) -> String {
    assert!(ROUTES.contains(from), "{from}");
    ROUTES.replace(from, to)
}

#[test]
fn what_is_embedded_reads_as_a_bundle() {
    for channel in Channel::ALL {
        let text: Vec<_> = gateway_api(channel).iter().map(ToString::to_string).collect();
        let bundle = parse_bundle(&text.join("\n---\n")).unwrap();
        assert_eq!(bundle.definitions, gateway_api(channel));
        assert_eq!(bundle.version.as_deref(), Some(BUNDLE_VERSION));
        assert_eq!(bundle.channel.as_deref(), Some(channel.as_str()));
        assert_eq!(bundle.notes, Vec::<String>::new());
    }
}

#[test]
fn official_bundles_read_and_so_do_their_policies() {
    for channel in Channel::ALL {
        let Some(text) = official::text(channel) else { continue };
        let bundle = parse_bundle(&text).unwrap();
        assert_eq!(bundle.definitions.len(), gateway_api(channel).len());
        assert_eq!(bundle.notes, Vec::<String>::new());
        let kinds: Vec<_> = bundle.policies.iter().map(|policy| policy["kind"].as_str().unwrap()).collect();
        assert_eq!(kinds, ["ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding"]);
        assert_eq!(bundle.into_objects().len(), gateway_api(channel).len() + 2);
    }
}

#[test]
fn lists_comments_and_empty_documents_are_understood() {
    let listed: String =
        ROUTES.lines().enumerate().map(|(i, line)| format!("{}{line}\n", if i == 0 { "- " } else { "  " })).collect();
    let text = format!("# a comment\n---\n---\napiVersion: v1\nkind: List\nitems:\n{listed}---\n# nothing\n...\n");
    let bundle = parse_bundle(&text).unwrap();
    assert_eq!(bundle.definitions.len(), 1);
    assert_eq!((bundle.version, bundle.channel), (None, None));
}

#[test]
fn different_versions_are_noted() {
    let second = ROUTES
        .replace("routes", "others")
        .replace("{name: others.", "{annotations: {gateway.networking.k8s.io/bundle-version: v9}, name: others.");
    let bundle = parse_bundle(&format!("{ROUTES}---\n{second}")).unwrap();
    assert_eq!(bundle.version, None);
    assert_eq!(bundle.notes, ["the definitions are of different versions: none, v9"]);
}

#[rstest]
#[case::empty("", "no CustomResourceDefinition among 0 document(s)")]
#[case::other_kind(
    &format!("{ROUTES}---\n\napiVersion: v1\nkind: Pod\n"),
    "document 2, line 10: v1 Pod is not a CustomResourceDefinition of apiextensions.k8s.io/v1"
)]
#[case::old_api(
    &routes_with("k8s.io/v1\nkind", "k8s.io/v1beta1\nkind"),
    "document 1, line 1: apiextensions.k8s.io/v1beta1 CustomResourceDefinition is not a CustomResourceDefinition of apiextensions.k8s.io/v1"
)]
#[case::text("just words", "document 1, line 1: not a Kubernetes object: apiVersion and kind are needed")]
#[case::page(
    "<html>\n<body>not found</body>",
    "document 1, line 1: not a Kubernetes object: apiVersion and kind are needed"
)]
#[case::name(
    &routes_with("{name: routes.", "{name: paths."),
    "document 1, line 1: CustomResourceDefinition \"paths.gateway.networking.k8s.io\": its name must be routes.gateway.networking.k8s.io"
)]
#[case::no_group(
    &routes_with("  group: gateway.networking.k8s.io\n", ""),
    "document 1, line 1: CustomResourceDefinition \"routes.gateway.networking.k8s.io\": spec.group is missing"
)]
#[case::scope(
    &routes_with("Namespaced", "Everywhere"),
    "document 1, line 1: CustomResourceDefinition \"routes.gateway.networking.k8s.io\": spec.scope \"Everywhere\" is neither Namespaced nor Cluster"
)]
#[case::no_versions(
    &routes_with("versions: [", "versionen: ["),
    "document 1, line 1: CustomResourceDefinition \"routes.gateway.networking.k8s.io\": spec.versions is missing"
)]
#[case::no_schema(
    &routes_with("openAPIV3Schema", "schema"),
    "document 1, line 1: CustomResourceDefinition \"routes.gateway.networking.k8s.io\": spec.versions[0] has no schema.openAPIV3Schema"
)]
#[case::not_served(
    &routes_with("served: true, ", ""),
    "document 1, line 1: CustomResourceDefinition \"routes.gateway.networking.k8s.io\": spec.versions[0] needs name, served and storage"
)]
#[case::no_storage(
    &routes_with("storage: true", "storage: false"),
    "document 1, line 1: CustomResourceDefinition \"routes.gateway.networking.k8s.io\": exactly one version must be the storage version, not 0"
)]
#[case::not_structural(
    &routes_with("{type: object}", "{type: object, properties: {spec: {type: objekt}}}"),
    "document 1, line 1: CustomResourceDefinition \"routes.gateway.networking.k8s.io\": spec.versions[0].schema.openAPIV3Schema.properties[spec].type: Unsupported value: \"objekt\": supported values: \"array\", \"boolean\", \"integer\", \"number\", \"object\", \"string\""
)]
#[case::twice(
    &format!("{ROUTES}--- # again\n{ROUTES}"),
    "document 2, line 9: CustomResourceDefinition \"routes.gateway.networking.k8s.io\": it is defined twice"
)]
fn refused(#[case] text: &str, #[case] message: &str) {
    assert_eq!(parse_bundle(text).unwrap_err().to_string(), message);
}

#[test]
fn definitions_of_another_group_are_a_bundle_too() {
    let bundle = parse_bundle(&routes_with("gateway.networking.k8s.io", "example.com")).unwrap();
    assert_eq!((bundle.definitions.len(), bundle.has_gateway_api(), bundle.version), (1, false, None));
    assert!(parse_bundle(ROUTES).unwrap().has_gateway_api());
}

#[rstest]
#[case::first("a: [1,\n---\n", 1)]
#[case::second(&format!("{ROUTES}---\nkind: x\n  kind: y\n"), 2)]
#[case::same_key_twice(&format!("{ROUTES}---\nkind: x\nkind: y\n"), 2)]
fn malformed_yaml_names_document_and_line(#[case] text: &str, #[case] at: usize) {
    let error = parse_bundle(text).unwrap_err();
    let BundleError::Yaml { document, line, .. } = &error else { panic!("{error}") };
    assert_eq!(*document, at);
    let range = if at == 1 { 1..=2 } else { 10..=11 };
    assert!(range.contains(line), "{error}");
}
