//! Checks of roles and bindings.

use serde_json::Value;

use crate::error::StatusCause;

/// What is wrong with a Role or ClusterRole.
pub fn validate_role(object: &Value) -> Vec<StatusCause> {
    let mut causes = Vec::new();
    for (index, rule) in object["rules"].as_array().into_iter().flatten().enumerate() {
        let lacks = |field: &str| rule[field].as_array().is_none_or(Vec::is_empty);
        let mut require = |field: &str, why| {
            causes.push(StatusCause::required(format!("rules[{index}].{field}"), why));
        };
        if lacks("verbs") {
            require("verbs", "verbs must contain at least one value");
        }
        if !lacks("nonResourceURLs") {
            continue;
        }
        if lacks("apiGroups") {
            require("apiGroups", "resource rules must supply at least one api group");
        }
        if lacks("resources") {
            require("resources", "resource rules must supply at least one resource");
        }
    }
    causes
}

/// What is wrong with a RoleBinding or ClusterRoleBinding.
pub fn validate_binding(object: &Value, old: Option<&Value>) -> Vec<StatusCause> {
    let mut causes = Vec::new();
    if old.is_some_and(|old| old["roleRef"] != object["roleRef"]) {
        causes.push(StatusCause::invalid("roleRef", &object["roleRef"], "cannot change roleRef"));
    }
    causes
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::json;

    use super::*;

    #[rstest]
    #[case(json!({"resources": ["pods"]}), &["rules[0].verbs", "rules[0].apiGroups"])]
    #[case(json!({"verbs": ["get"], "nonResourceURLs": ["/x"]}), &[])]
    #[case(json!({"verbs": ["get"], "apiGroups": [""], "resources": ["pods"]}), &[])]
    #[case(json!({"verbs": ["get"], "apiGroups": [""]}), &["rules[0].resources"])]
    fn rules(#[case] rule: Value, #[case] expected: &[&str]) {
        let fields: Vec<String> =
            validate_role(&json!({"rules": [rule]})).into_iter().map(|cause| cause.field).collect();
        assert_eq!(fields, expected);
    }

    #[test]
    fn a_binding_keeps_its_role() {
        let binding = |name: &str| json!({"roleRef": {"kind": "Role", "name": name}});
        assert_eq!(validate_binding(&binding("a"), Some(&binding("a"))), []);
        assert_eq!(validate_binding(&binding("b"), Some(&binding("a")))[0].field, "roleRef");
    }
}
