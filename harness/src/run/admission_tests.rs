#![allow(clippy::unwrap_used)]
use kube_cel::{AdmissionRequest, GroupVersionResource, VapEvaluator, VapExpression};
use rstest::rstest;

use super::super::permissions::kinds_of;
use super::*;
use crate::cluster::names::{labels, namespace, pool_namespace};
use crate::scenario::load;

const RUN: &str = "abcdef";
const OWN: &str = "gp-abcdef-0-ns";

/// What runs change with leave.
fn confined() -> Confined {
    let all: Vec<Arc<Scenario>> = load::builtin_once().iter().cloned().map(Arc::new).collect();
    let kinds = kinds_of(all.iter().map(|scenario| &**scenario));
    Confined { patched: patched(&all, &kinds, None), defined: defined(&all), port_forward: false }
}

fn named(name: &str, labels: Value) -> Value {
    json!({"metadata": {"name": name, "labels": labels}})
}

fn of_run() -> Value {
    labels(RUN, None).into()
}

/// A request for a resource such as `leases.coordination.k8s.io`.
struct Asked<'a> {
    operation: &'a str,
    resource: &'a str,
    /// Labels of the namespace that it lies in, by its name.
    namespace: Option<(&'a str, Value)>,
    old: Option<Value>,
    new: Option<Value>,
}

/// What the policy says, with its variables written out. Beside it, whether its language is understood at all.
fn admits(confined: &Confined, asked: &Asked<'_>) -> bool {
    let mut expression = confined.expression();
    for (name, value) in variables().into_iter().rev() {
        expression = expression.replace(&format!("variables.{name}"), &format!("({value})"));
    }
    // The evaluator takes labels for fields, and writes them as it does fields.
    expression = expression.replace("gateproof.dev/", "gateproof__dot__dev__slash__");
    let (resource, group) = asked.resource.split_once('.').unwrap_or((asked.resource, ""));
    let object = asked.new.as_ref().or(asked.old.as_ref());
    let name = object.and_then(|object| object["metadata"]["name"].as_str()).unwrap_or_default().to_owned();
    let namespace = match (&asked.namespace, asked.resource) {
        (Some((name, _)), _) => (*name).to_owned(),
        // A namespace lies in itself, once it is there.
        (None, "namespaces") if asked.operation != "CREATE" => name.clone(),
        _ => String::new(),
    };
    let (group, resource) = (group.to_owned(), resource.to_owned());
    let request = AdmissionRequest {
        operation: asked.operation.to_owned(),
        name,
        namespace,
        resource: GroupVersionResource { group, version: "v1".to_owned(), resource },
        ..AdmissionRequest::default()
    };
    let home = asked.namespace.as_ref().map_or(Value::Null, |(name, labels)| named(name, labels.clone()));
    let mut evaluator = VapEvaluator::builder().request(request).namespace_object(home);
    if let Some(old) = &asked.old {
        evaluator = evaluator.old_object(old.clone());
    }
    if let Some(new) = &asked.new {
        evaluator = evaluator.object(new.clone());
    }
    let expression = VapExpression { expression, message: Some("no".to_owned()), message_expression: None };
    let found = evaluator.build().evaluate(&[expression]).remove(0);
    let refused = found.message.as_deref() == Some("no");
    assert!(found.passed || refused, "{:?} of {} of {:?}", found.message, asked.resource, asked.new);
    found.passed
}

/// Creation, change and deletion of an object, in this order.
fn each(resource: &str, namespace: Option<(&str, Value)>, object: &Value) -> [bool; 3] {
    let confined = confined();
    [("CREATE", false, true), ("UPDATE", true, true), ("DELETE", true, false)].map(|(operation, old, new)| {
        let some = |there: bool| there.then(|| object.clone());
        let asked = Asked { operation, resource, namespace: namespace.clone(), old: some(old), new: some(new) };
        admits(&confined, &asked)
    })
}

const ALL: [bool; 3] = [true; 3];
const NONE: [bool; 3] = [false; 3];

#[rstest]
#[case::in_a_namespace_of_a_run("services", Some((OWN, of_run())), named("echo", json!({})), ALL)]
#[case::in_the_pool("gateways.gateway.networking.k8s.io", Some((&*pool_namespace(RUN), of_run())), named("http", of_run()), ALL)]
#[case::in_anybodys_namespace("services", Some(("default", json!({}))), named("gp-abcdef-0-a", of_run()), NONE)]
#[case::in_one_that_took_the_label("services", Some(("default", of_run())), named("echo", of_run()), NONE)]
#[case::in_one_that_took_the_name("services", Some((OWN, json!({"a": "b"}))), named("echo", of_run()), NONE)]
#[case::in_one_of_another_name("services", Some(("gp-abcdefg-0-ns", of_run())), named("echo", of_run()), NONE)]
#[case::a_namespace("namespaces", None, named(OWN, of_run()), ALL)]
#[case::a_namespace_of_another_name("namespaces", None, named("precious", of_run()), NONE)]
#[case::a_namespace_without_label("namespaces", None, named(OWN, json!({})), NONE)]
#[case::a_class("gatewayclasses.gateway.networking.k8s.io", None, named("gp-abcdef-0-own", of_run()), ALL)]
#[case::a_class_of_another_name("gatewayclasses.gateway.networking.k8s.io", None, named("precious", of_run()), NONE)]
#[case::the_locks("namespaces", None, named(LOCKS, json!({LOCKS_LABEL: "true"})), [true, false, true])]
#[case::the_locks_of_others("namespaces", None, named(LOCKS, json!({})), NONE)]
#[case::a_lock("leases.coordination.k8s.io", Some((LOCKS, json!({}))), named("cluster", of_run()), ALL)]
#[case::a_lease_of_others("leases.coordination.k8s.io", Some((LOCKS, json!({}))), named("cluster", json!({})), NONE)]
#[case::what_is_no_lock("configmaps", Some((LOCKS, json!({}))), named("cluster", of_run()), NONE)]
#[case::a_lease_elsewhere("leases.coordination.k8s.io", Some(("kube-system", json!({}))), named("a", of_run()), NONE)]
#[case::a_definition("customresourcedefinitions.apiextensions.k8s.io", None, named("a.example", json!({})), NONE)]
#[case::a_definition_that_is_patched(
    "customresourcedefinitions.apiextensions.k8s.io",
    None,
    named("gatewayclasses.gateway.networking.k8s.io", json!({})),
    [false, true, false]
)]
#[case::a_definition_that_is_created(
    "customresourcedefinitions.apiextensions.k8s.io",
    None,
    named("tcproutes.gateway.networking.k8s.io", of_run()),
    [true, false, true]
)]
#[case::a_definition_of_that_name(
    "customresourcedefinitions.apiextensions.k8s.io",
    None,
    named("tcproutes.gateway.networking.k8s.io", json!({})),
    NONE
)]
#[case::a_review("selfsubjectaccessreviews.authorization.k8s.io", None, json!({"spec": {}}), ALL)]
fn what_is_of_a_run_may_be_written(
    #[case] resource: &str,
    #[case] namespace: Option<(&str, Value)>,
    #[case] object: Value,
    #[case] expected: [bool; 3],
) {
    assert_eq!(each(resource, namespace, &object), expected);
}

#[rstest]
#[case::namespace("namespaces", OWN)]
#[case::class("gatewayclasses.gateway.networking.k8s.io", "gp-abcdef-0-own")]
fn nobody_gets_hold_of_an_object_by_labelling_it(#[case] resource: &str, #[case] name: &str) {
    let (old, new) = (named(name, json!({})), named(name, of_run()));
    let asked = Asked { operation: "UPDATE", resource, namespace: None, old: Some(old), new: Some(new) };
    assert!(!admits(&confined(), &asked));
}

#[rstest]
#[case::pods_of_a_run(OWN, of_run(), true)]
#[case::pods_of_others("kube-system", json!({}), false)]
fn only_pods_of_runs_are_reached_by_proxy(#[case] place: &str, #[case] labels: Value, #[case] expected: bool) {
    let namespace = Some((place, labels));
    let new = Some(json!({"kind": "PodProxyOptions", "path": "/journal"}));
    let asked = Asked { operation: "CONNECT", resource: "pods", namespace, old: None, new };
    assert_eq!(admits(&confined(), &asked), expected);
}

#[test]
fn without_leave_nothing_of_others_is_patched() {
    let name = "gatewayclasses.gateway.networking.k8s.io";
    let old = Some(named(name, json!({})));
    let asked = Asked {
        operation: "UPDATE",
        resource: "customresourcedefinitions.apiextensions.k8s.io",
        namespace: None,
        new: old.clone(),
        old,
    };
    assert!(admits(&confined(), &asked));
    assert!(!admits(&Confined::default(), &asked));
}

#[test]
fn names_are_text() {
    let [policy, binding] = Confined::default().objects("a", r"system:serviceaccount:it's\n:a");
    let who = policy.pointer("/spec/matchConditions/0/expression").unwrap();
    assert_eq!(who, r"request.userInfo.username == 'system:serviceaccount:it\'s\\n:a'");
    assert_eq!(binding.pointer("/spec/policyName"), policy.pointer("/metadata/name"));
    assert_eq!(namespace("abcdef-0", "ns"), OWN);
}

#[rstest]
#[case("${class}", None, None)]
#[case("${class}", Some("mine"), Some("mine"))]
#[case("a.example", None, Some("a.example"))]
#[case("${token}-a", Some("mine"), None)]
fn names_may_be_known_later(#[case] written: &str, #[case] class: Option<&str>, #[case] expected: Option<&str>) {
    assert_eq!(name(written, class).as_deref(), expected);
}
