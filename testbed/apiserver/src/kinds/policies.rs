//! Checks and defaults of validating admission policies and their bindings.

use serde_json::{Value, json};

use crate::error::StatusCause;
use crate::meta::{self, set_default};
use crate::schema::cel::{Engine, KubeCel};

/// The API group of admission.
pub const GROUP: &str = "admissionregistration.k8s.io";
/// The collection of policies.
pub const POLICIES: &str = "validatingadmissionpolicies.admissionregistration.k8s.io";
/// The collection of bindings, without which a policy holds of nothing.
pub const BINDINGS: &str = "validatingadmissionpolicybindings.admissionregistration.k8s.io";

/// Whether an object is a policy or a binding of one.
pub fn is_one(object: &Value) -> bool {
    let is_served = meta::api_version(object).strip_prefix(GROUP) == Some("/v1");
    is_served && ["ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding"].contains(&meta::kind(object))
}

/// Fills in what a policy leaves unsaid. A selector that is not there selects everything.
pub fn default(policy: &mut Value) {
    let spec = meta::child(policy, "spec");
    set_default(spec, "failurePolicy", "Fail");
    let Some(Value::Object(constraints)) = spec.get_mut("matchConstraints") else { return };
    set_default(constraints, "matchPolicy", "Equivalent");
    for field in ["resourceRules", "excludeResourceRules"] {
        let rules = constraints.get_mut(field).and_then(Value::as_array_mut);
        rules.into_iter().flatten().filter_map(Value::as_object_mut).for_each(|rule| set_default(rule, "scope", "*"));
    }
}

/// What is wrong with a policy.
pub fn validate(policy: &Value) -> Vec<StatusCause> {
    let spec = &policy["spec"];
    let mut causes = Vec::new();
    let lacks = |list: &Value| list.as_array().is_none_or(Vec::is_empty);
    if spec["matchConstraints"].is_null() {
        causes.push(StatusCause::required("spec.matchConstraints", ""));
    } else if lacks(&spec["matchConstraints"]["resourceRules"]) {
        causes.push(StatusCause::required("spec.matchConstraints.resourceRules", ""));
    }
    if lacks(&spec["validations"]) && lacks(&spec["auditAnnotations"]) {
        let why = "validations or auditAnnotations must contain at least one item";
        causes.push(StatusCause::required("spec.validations", why));
    }
    if !spec["paramKind"].is_null() {
        let why = "this server has no parameters of policies";
        causes.push(StatusCause::invalid("spec.paramKind", &spec["paramKind"], why));
    }
    let failure = &spec["failurePolicy"];
    if !failure.is_null() && ![json!("Fail"), json!("Ignore")].contains(failure) {
        causes.push(StatusCause::not_supported("spec.failurePolicy", failure, &["Fail", "Ignore"]));
    }
    for list in ["matchConditions", "variables", "validations"] {
        for (index, item) in spec[list].as_array().into_iter().flatten().enumerate() {
            let at = |field: &str| format!("spec.{list}[{index}].{field}");
            if item["expression"].as_str().is_none_or(str::is_empty) {
                causes.push(StatusCause::required(at("expression"), ""));
            }
            for field in ["expression", "messageExpression"] {
                let Some(source) = item[field].as_str().filter(|source| !source.is_empty()) else { continue };
                if let Err(error) = KubeCel::compile(source) {
                    let why = format!("compilation failed: {error}");
                    causes.push(StatusCause::invalid(at(field), &item[field], &why));
                }
            }
        }
    }
    causes
}

/// What is wrong with a binding.
pub fn validate_binding(binding: &Value) -> Vec<StatusCause> {
    const ACTIONS: [&str; 3] = ["Audit", "Deny", "Warn"];
    let spec = &binding["spec"];
    let mut causes = Vec::new();
    if spec["policyName"].as_str().is_none_or(str::is_empty) {
        causes.push(StatusCause::required("spec.policyName", ""));
    }
    let actions = spec["validationActions"].as_array().map(Vec::as_slice).unwrap_or_default();
    if actions.is_empty() {
        causes.push(StatusCause::required("spec.validationActions", ""));
    }
    for (index, action) in actions.iter().enumerate() {
        let at = format!("spec.validationActions[{index}]");
        if !action.as_str().is_some_and(|action| ACTIONS.contains(&action)) {
            causes.push(StatusCause::not_supported(at, action, &ACTIONS));
        } else if actions[..index].contains(action) {
            causes.push(StatusCause::duplicate(at, action));
        }
    }
    if ["Deny", "Warn"].iter().all(|both| actions.iter().any(|action| action == both)) {
        let why = "Deny and Warn would say the same twice";
        causes.push(StatusCause::invalid("spec.validationActions", &spec["validationActions"], why));
    }
    causes
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    fn policy() -> Value {
        json!({"spec": {
            "failurePolicy": "Fail",
            "matchConstraints": {"resourceRules": [{"resources": ["pods"]}]},
            "variables": [{"name": "a", "expression": "1"}],
            "validations": [{"expression": "variables.a == 1", "messageExpression": "'one'"}],
        }})
    }

    #[rstest]
    #[case("/spec/matchConstraints", Value::Null, &["spec.matchConstraints"])]
    #[case("/spec/matchConstraints/resourceRules", json!([]), &["spec.matchConstraints.resourceRules"])]
    #[case("/spec/validations", json!([]), &["spec.validations"])]
    #[case("/spec/failurePolicy", json!("Perhaps"), &["spec.failurePolicy"])]
    #[case("/spec/variables/0/expression", json!("1 +"), &["spec.variables[0].expression"])]
    #[case("/spec/validations/0/expression", json!(""), &["spec.validations[0].expression"])]
    #[case("/spec/validations/0/messageExpression", json!("'"), &["spec.validations[0].messageExpression"])]
    fn what_is_wrong_with_a_policy_is_told_by_its_field(
        #[case] at: &str,
        #[case] value: Value,
        #[case] expected: &[&str],
    ) {
        let mut wrong = policy();
        assert_eq!(validate(&wrong), []);
        *wrong.pointer_mut(at).unwrap_or(&mut Value::Null) = value;
        let fields: Vec<String> = validate(&wrong).into_iter().map(|cause| cause.field).collect();
        assert_eq!(fields, expected);
    }

    #[rstest]
    #[case(json!(["Deny"]), &[])]
    #[case(json!(["Audit", "Warn"]), &[])]
    #[case(json!([]), &["spec.validationActions"])]
    #[case(json!(["Refuse"]), &["spec.validationActions[0]"])]
    #[case(json!(["Audit", "Audit"]), &["spec.validationActions[1]"])]
    #[case(json!(["Deny", "Warn"]), &["spec.validationActions"])]
    fn what_a_binding_does_is_one_of_three_things(#[case] actions: Value, #[case] expected: &[&str]) {
        let binding = json!({"spec": {"policyName": "p", "validationActions": actions}});
        let fields: Vec<String> = validate_binding(&binding).into_iter().map(|cause| cause.field).collect();
        assert_eq!(fields, expected);
    }

    #[test]
    fn what_a_policy_leaves_unsaid_is_filled_in() {
        let mut policy = json!({"spec": {"matchConstraints": {"resourceRules": [{"scope": "Cluster"}, {}]}}});
        default(&mut policy);
        let scopes = policy.pointer("/spec/matchConstraints/resourceRules");
        assert_eq!(scopes, Some(&json!([{"scope": "Cluster"}, {"scope": "*"}])));
        assert_eq!(policy.pointer("/spec/failurePolicy"), Some(&json!("Fail")));
    }
}
