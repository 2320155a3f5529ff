//! Validating admission policies.
#![allow(clippy::unwrap_used)]

use rstest::rstest;
use serde_json::{Value, json};

use super::support::{raw, server};

const POLICIES: &str = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies";
const BINDINGS: &str = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicybindings";
const MAPS: &str = "/api/v1/namespaces/default/configmaps";

/// A policy about ConfigMaps.
fn policy(more: Value) -> Value {
    let rule = json!({
        "apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE", "UPDATE", "DELETE"], "resources": ["configmaps"],
    });
    let mut policy = json!({
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingAdmissionPolicy",
        "metadata": {"name": "p"},
        "spec": {"matchConstraints": {"resourceRules": [rule]}},
    });
    for (field, value) in more.as_object().unwrap() {
        policy["spec"][field] = value.clone();
    }
    policy
}

fn binding(actions: Value, more: Value) -> Value {
    let mut binding = json!({
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingAdmissionPolicyBinding",
        "metadata": {"name": "b"},
        "spec": {"policyName": "p", "validationActions": actions},
    });
    for (field, value) in more.as_object().unwrap() {
        binding["spec"][field] = value.clone();
    }
    binding
}

/// The code of a creation of a ConfigMap with this data, its message, and what it is warned of.
async fn create(policy: &Value, binding: &Value, data: Value) -> (u16, String, Option<String>) {
    let server = server().await;
    for (path, object) in [(POLICIES, policy), (BINDINGS, binding)] {
        let (code, _, answer) = raw(&server, "POST", path, &[], &object.to_string()).await;
        assert_eq!(code, 201, "{answer}");
    }
    let map = json!({"metadata": {"name": "m", "labels": {"a": "b"}}, "data": data});
    let (code, headers, answer) = raw(&server, "POST", MAPS, &[], &map.to_string()).await;
    let warning = headers.get("warning").map(|warning| warning.to_str().unwrap().to_owned());
    (code, answer["message"].as_str().unwrap_or_default().to_owned(), warning)
}

fn small() -> Value {
    json!([{"expression": "object.data.size() < 2"}])
}

#[rstest]
#[case::satisfied(json!({"validations": small()}), json!({"a": ""}), 201, "")]
#[case::not_satisfied(json!({"validations": small()}), json!({"a": "", "b": ""}), 422, "failed expression: object.data.size() < 2")]
#[case::message(json!({"validations": [{"expression": "false", "message": "no"}]}), json!({}), 422, "no")]
#[case::own_words(
    json!({"validations": [{"expression": "false", "message": "no", "messageExpression": "'not ' + object.metadata.name"}]}),
    json!({}), 422, "not m")]
#[case::reason(json!({"validations": [{"expression": "false", "message": "no", "reason": "Forbidden"}]}), json!({}), 403, "no")]
#[case::variables(
    json!({"variables": [{"name": "n", "expression": "object.data.size()"}, {"name": "m", "expression": "variables.n + 1"}],
        "validations": [{"expression": "variables.m == 2", "message": "other"}]}),
    json!({"a": "", "b": ""}), 422, "other")]
#[case::condition_that_does_not_hold(
    json!({"matchConditions": [{"name": "c", "expression": "request.operation == 'DELETE'"}], "validations": [{"expression": "false"}]}),
    json!({}), 201, "")]
#[case::error(json!({"validations": [{"expression": "object.nothing == 1"}]}), json!({}), 422, "expression 'object.nothing == 1' resulted in error: no such key: nothing")]
#[case::error_that_is_ignored(json!({"failurePolicy": "Ignore", "validations": [{"expression": "object.nothing == 1"}]}), json!({}), 201, "")]
#[case::who_asks(json!({"validations": [{"expression": "request.userInfo.groups.exists(g, g == 'system:masters')"}]}), json!({}), 201, "")]
#[case::where_it_lies(json!({"validations": [{"expression": "namespaceObject.metadata.name == request.namespace && oldObject == null"}]}), json!({}), 201, "")]
#[tokio::test]
async fn a_request_is_held_against_what_is_bound(
    #[case] spec: Value,
    #[case] data: Value,
    #[case] code: u16,
    #[case] message: &str,
) {
    let (seen, said, _) = create(&policy(spec), &binding(json!(["Deny"]), json!({})), data).await;
    let refusal = "configmaps \"m\" is forbidden: ValidatingAdmissionPolicy 'p' with binding 'b' denied request: ";
    let expected = if code == 201 { String::new() } else { format!("{refusal}{message}") };
    assert_eq!((seen, said), (code, expected));
}

#[rstest]
#[case::warns(json!(["Warn"]), json!({}), 201, true)]
#[case::looks_on(json!(["Audit"]), json!({}), 201, false)]
#[case::label(json!(["Deny"]), json!({"matchResources": {"objectSelector": {"matchLabels": {"a": "b"}}}}), 422, false)]
#[case::other_label(json!(["Deny"]), json!({"matchResources": {"objectSelector": {"matchLabels": {"a": "c"}}}}), 201, false)]
#[case::namespace(
    json!(["Deny"]),
    json!({"matchResources": {"namespaceSelector": {"matchExpressions": [{"key": "kubernetes.io/metadata.name", "operator": "In", "values": ["default"]}]}}}),
    422, false)]
#[case::other_namespace(
    json!(["Deny"]),
    json!({"matchResources": {"namespaceSelector": {"matchExpressions": [{"key": "kubernetes.io/metadata.name", "operator": "NotIn", "values": ["default"]}]}}}),
    201, false)]
#[case::other_resource(
    json!(["Deny"]),
    json!({"matchResources": {"resourceRules": [{"apiGroups": [""], "apiVersions": ["v1"], "operations": ["*"], "resources": ["secrets"]}]}}),
    201, false)]
#[case::excluded(
    json!(["Deny"]),
    json!({"matchResources": {"excludeResourceRules": [{"apiGroups": ["*"], "apiVersions": ["*"], "operations": ["*"], "resources": ["*"]}]}}),
    201, false)]
#[tokio::test]
async fn a_binding_says_what_becomes_of_it_and_where(
    #[case] actions: Value,
    #[case] more: Value,
    #[case] code: u16,
    #[case] warned: bool,
) {
    let policy = policy(json!({"validations": [{"expression": "false", "message": "no"}]}));
    let (seen, _, warning) = create(&policy, &binding(actions, more), json!({})).await;
    assert_eq!((seen, warning.is_some_and(|text| text.contains("with binding 'b': no"))), (code, warned));
}

/// What holds of creation holds of changes and deletions, of a dry run too, until the binding goes.
#[tokio::test]
async fn every_verb_is_held_against_it() {
    let server = server().await;
    let map = json!({"metadata": {"name": "m"}, "data": {"a": "b"}});
    assert_eq!(raw(&server, "POST", MAPS, &[], &map.to_string()).await.0, 201);
    let policy = policy(
        json!({"validations": [{"expression": "request.operation != 'DELETE' && object.data == oldObject.data"}]}),
    );
    for (path, object) in [(POLICIES, &policy), (BINDINGS, &binding(json!(["Deny"]), json!({})))] {
        assert_eq!(raw(&server, "POST", path, &[], &object.to_string()).await.0, 201);
    }
    let merge = [("content-type", "application/merge-patch+json")];
    let patch = async |body: Value| raw(&server, "PATCH", &format!("{MAPS}/m"), &merge, &body.to_string()).await.0;
    assert_eq!(patch(json!({"data": {"a": "c"}})).await, 422);
    assert_eq!(patch(json!({"metadata": {"labels": {"x": "y"}}})).await, 200);
    let dry = format!("{MAPS}/m?dryRun=All");
    assert_eq!(raw(&server, "PATCH", &dry, &merge, &json!({"data": {"a": "c"}}).to_string()).await.0, 422);
    assert_eq!(raw(&server, "DELETE", &format!("{MAPS}/m"), &[], "").await.0, 422);
    assert_eq!(raw(&server, "DELETE", &format!("{BINDINGS}/b"), &[], "").await.0, 200);
    assert_eq!(patch(json!({"data": {"a": "c"}})).await, 200);
    assert_eq!(raw(&server, "DELETE", &format!("{MAPS}/m"), &[], "").await.0, 200);
}

#[tokio::test]
async fn what_does_not_compile_is_not_stored() {
    let server = server().await;
    let policy = policy(json!({"validations": [{"expression": "1 +"}]}));
    let (code, _, answer) = raw(&server, "POST", POLICIES, &[], &policy.to_string()).await;
    assert_eq!((code, answer["details"]["causes"][0]["field"].as_str()), (422, Some("spec.validations[0].expression")));
}
