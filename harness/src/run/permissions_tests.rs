#![allow(clippy::unwrap_used)]
use std::collections::BTreeSet;

use super::super::fixtures::{apply, facts, scenario};
use super::*;
use crate::scenario::{Delete, ObjectRef, Vocabulary, load, scope};

fn scenarios() -> &'static [Scenario] {
    load::builtin_once()
}

fn permissions(select: impl Fn(&Scenario) -> bool) -> BTreeSet<String> {
    let scenarios = scenarios();
    let chosen = || scenarios.iter().filter(|scenario| select(scenario));
    Permissions::of(chosen(), &kinds_of(chosen()), Ways::default())
        .iter()
        .map(|permission| permission.to_string())
        .collect()
}

#[test]
fn a_run_asks_for_what_its_scenarios_do() {
    let found = permissions(|scenario| scenario.name == "httproute-missing-backend");
    for needed in [
        "create httproutes.gateway.networking.k8s.io",
        "watch httproutes.gateway.networking.k8s.io",
        "create gateways.gateway.networking.k8s.io",
        "create endpointslices.discovery.k8s.io",
        "delete services",
        "delete namespaces",
    ] {
        assert!(found.contains(needed), "{needed} is missing in {found:?}");
    }
    for other in [
        "delete httproutes.gateway.networking.k8s.io",
        "patch httproutes.gateway.networking.k8s.io",
        "create tcproutes.gateway.networking.k8s.io",
        "delete leases.coordination.k8s.io",
        "delete gatewayclasses.gateway.networking.k8s.io",
    ] {
        assert!(!found.contains(other), "{other} is not needed: {found:?}");
    }
}

#[test]
fn what_is_made_for_gateways_is_listed_where_a_scenario_asks_after_it() {
    let found = permissions(|scenario| scenario.name == "gateway-infrastructure");
    for kind in ["services", "serviceaccounts", "pods", "deployments.apps", "daemonsets.apps"] {
        assert!(found.contains(&format!("list {kind}")), "list {kind} is missing in {found:?}");
        assert!(!found.contains(&format!("watch {kind}")), "{kind} need not be watched: {found:?}");
        assert!(!found.contains(&format!("get {kind}")), "{kind} need not be read: {found:?}");
    }
    let without = permissions(|scenario| scenario.name == "gateway-invalid-parameters");
    assert!(!without.contains("list serviceaccounts"), "nobody asks after them: {without:?}");
}

#[test]
fn classes_are_deleted_where_a_scenario_makes_one() {
    let found = permissions(|scenario| scenario.name == "gatewayclass-supported-features");
    assert!(found.contains("delete gatewayclasses.gateway.networking.k8s.io"), "{found:?}");
}

#[test]
fn statuses_and_foreign_objects_are_asked_for_where_they_are_patched() {
    let found = permissions(|scenario| scenario.name == "gatewayclass-unsupported-version");
    assert!(found.contains("patch customresourcedefinitions.apiextensions.k8s.io"), "{found:?}");
    assert!(found.contains("create configmaps"), "{found:?}");
    assert!(found.contains("delete leases.coordination.k8s.io"), "it has the cluster to itself: {found:?}");
    let statuses = permissions(|scenario| scenario.name.starts_with("gateway-"));
    assert!(statuses.contains("patch gateways/status.gateway.networking.k8s.io"), "{statuses:?}");
}

#[test]
fn definitions_are_created_and_deleted_only_where_a_scenario_does_so() {
    let needed = [
        "create customresourcedefinitions.apiextensions.k8s.io",
        "delete customresourcedefinitions.apiextensions.k8s.io",
    ];
    let does = |found: &BTreeSet<String>| needed.map(|one| found.contains(one));
    assert_eq!(does(&permissions(|scenario| scenario.name == "gatewayclass-late-definition")), [true; 2]);
    assert_eq!(does(&permissions(|scenario| scope::definitions(scenario).is_empty())), [false; 2]);
}

/// Whoever may patch any binding may free itself of what confines it.
#[test]
fn bindings_of_policies_are_patched_by_name_alone() {
    let scenarios = scenarios();
    let permissions = Permissions::of(scenarios.iter(), &kinds_of(scenarios.iter()), Ways::default());
    let is_of_bindings = |rule: &&Value| {
        let resources = rule["resources"].as_array().unwrap();
        resources.contains(&json!(POLICY_BINDINGS)) && rule["verbs"].as_array().unwrap().contains(&json!("patch"))
    };
    let rules = permissions.rules();
    let names: Vec<&Value> = rules.iter().filter(is_of_bindings).map(|rule| &rule["resourceNames"]).collect();
    assert_eq!(names, [&json!(["safe-upgrades.gateway.networking.k8s.io"])]);
}

/// A role that permits more than is asked for is no least privilege.
#[test]
fn the_rules_permit_what_is_asked_and_nothing_else() {
    let scenarios = scenarios();
    let permissions = Permissions::of(scenarios.iter(), &kinds_of(scenarios.iter()), Ways::default());
    let texts = |value: &Value| -> Vec<String> {
        value.as_array().unwrap().iter().map(|text| text.as_str().unwrap().to_owned()).collect()
    };
    let mut permitted = BTreeSet::new();
    for rule in permissions.rules() {
        for group in texts(&rule["apiGroups"]) {
            for resource in texts(&rule["resources"]) {
                for verb in texts(&rule["verbs"]) {
                    permitted.insert((group.clone(), resource.clone(), verb));
                }
            }
        }
    }
    let asked = permissions.iter().map(|p| (p.group, p.resource, p.verb.to_owned())).collect::<BTreeSet<_>>();
    assert_eq!(permitted, asked);
    assert!(!permitted.iter().any(|(group, resource, verb)| [group, resource, verb].iter().any(|text| *text == "*")));
}

#[test]
fn what_is_needed_stays_needed() {
    let mut permissions = Permissions::default();
    permissions.add("", "configmaps", &["list"], Need::Help);
    permissions.add("", "configmaps", &["list", "get"], Need::Run);
    permissions.add("", "configmaps", &["get"], Need::Help);
    assert!(permissions.iter().all(|permission| permission.need == Need::Run));
    assert_eq!(permissions.iter().count(), 2);
}

/// By the group that `made` names, whichever the dialect would mean, and for nothing but looking.
#[test]
fn what_a_target_makes_is_looked_at() {
    let text = "apiVersion: gateproof.dev/v1alpha1\nkind: Scenario\nmetadata: {name: a}\nspec:\n  summary: A.\n  features: []\n  \
                made: [{apiVersion: apps/v1, kind: Deployment, name: \"proxy-${token}\"}]\n  steps:\n    - settle: \
                {\"Deployment/proxy-${token}\": {fields: [{at: /spec/replicas, equals: 1}]}}\n";
    let scenario = crate::scenario::parse("a.yaml", text, &Vocabulary::builtin()).unwrap().remove(0);
    let all = || std::iter::once(&scenario);
    let found = Permissions::of(all(), &kinds_of(all()), Ways::default());
    let of_it: Vec<String> =
        found.iter().map(|one| one.to_string()).filter(|one| one.contains("deployments")).collect();
    assert_eq!(of_it, ["list deployments.apps", "watch deployments.apps"]);
}

fn object(kind: &str, name: &str) -> ObjectRef {
    ObjectRef { kind: kind.to_owned(), namespace: None, name: name.to_owned(), pool: false }
}

#[test]
fn what_a_scenario_did_not_create_is_watched_by_name() {
    let mut kinds = facts().kinds;
    kinds.add("apiextensions.k8s.io", "v1", "CustomResourceDefinition", "customresourcedefinitions", false);
    kinds.add("gateway.networking.k8s.io", "v1", "GatewayClass", "gatewayclasses", false);
    let class =
        json!({"apiVersion": "gateway.networking.k8s.io/v1", "kind": "GatewayClass", "metadata": {"name": "own"}});
    let mut scenario = scenario("a");
    let mut delete = apply(Vec::new());
    let objects = vec![
        object("CustomResourceDefinition", "gateways.example"),
        object("GatewayClass", "own"),
        object("GatewayClass", "${class}"),
        object("Service", "echo"),
    ];
    delete.verb = Verb::Delete(Delete { objects, awaited: true });
    scenario.steps = vec![apply(vec![class]), delete];
    let found: Vec<(&str, Option<String>)> =
        watched(&scenario, &kinds).into_iter().map(|(kind, name)| (kind.kind.as_str(), name)).collect();
    let expected = [
        ("GatewayClass", None),
        ("CustomResourceDefinition", Some("gateways.example".to_owned())),
        ("GatewayClass", None),
        ("GatewayClass", None),
        ("Service", None),
    ];
    assert_eq!(found, expected);
}
