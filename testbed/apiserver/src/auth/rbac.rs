//! Roles and bindings, as the RBAC authorizer of Kubernetes reads them.

use std::sync::LazyLock;

use serde_json::{Value, json};

use super::{Attributes, User};
use crate::meta;
use crate::store::{Key, Store};

/// An answer, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Decision {
    /// Whether it is allowed.
    pub allowed: bool,
    /// By what; empty for a refusal.
    pub reason: String,
}

/// What a cluster grants everybody who is known, before any role is written: discovery, and questions about oneself.
static COMMON: LazyLock<Value> = LazyLock::new(|| {
    let paths = ["/api", "/apis", "/healthz", "/livez", "/openapi", "/readyz", "/version"];
    let urls: Vec<String> = paths.iter().flat_map(|path| [(*path).to_owned(), format!("{path}/*")]).collect();
    json!([
        {"verbs": ["get"], "nonResourceURLs": urls},
        {
            "verbs": ["create"],
            "apiGroups": ["authorization.k8s.io"],
            "resources": ["selfsubjectaccessreviews", "selfsubjectrulesreviews"],
        },
        {"verbs": ["create"], "apiGroups": ["authentication.k8s.io"], "resources": ["selfsubjectreviews"]},
    ])
});

/// What the ClusterRole `cluster-admin` grants, which every cluster has.
static EVERYTHING: LazyLock<Value> = LazyLock::new(|| {
    json!([
        {"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]},
        {"verbs": ["*"], "nonResourceURLs": ["*"]},
    ])
});

/// Why administrators may.
const ADMINISTRATORS: &str = "the group system:masters may do everything";

fn is_administrator(user: &User) -> bool {
    user.groups.iter().any(|group| group == "system:masters")
}

/// Whether a user may do something.
pub fn authorize(store: &Store, user: &User, asked: &Attributes<'_>) -> Decision {
    // Nearly every request is the administrator's, so it does not pay for rules.
    if is_administrator(user) {
        return Decision { allowed: true, reason: ADMINISTRATORS.to_owned() };
    }
    let found = grants(store, user, asked.namespace).into_iter().find(|(_, rule)| grants_it(rule, asked));
    match found {
        Some((reason, _)) => Decision { allowed: true, reason },
        None => Decision { allowed: false, reason: String::new() },
    }
}

/// The rules that hold for a user in a namespace.
pub fn rules(store: &Store, user: &User, namespace: &str) -> Vec<Value> {
    grants(store, user, namespace).into_iter().map(|(_, rule)| rule).collect()
}

/// Each rule with where it comes from.
fn grants(store: &Store, user: &User, namespace: &str) -> Vec<(String, Value)> {
    let mut all = Vec::new();
    let mut add = |reason: &str, rules: &Value| {
        all.extend(rules.as_array().into_iter().flatten().map(|rule| (reason.to_owned(), rule.clone())));
    };
    if is_administrator(user) {
        add(ADMINISTRATORS, &EVERYTHING);
        return all;
    }
    add("everybody who is known may", &COMMON);
    for kind in ["ClusterRoleBinding", "RoleBinding"] {
        let everywhere = kind == "ClusterRoleBinding";
        let collection = if everywhere { "clusterrolebindings" } else { "rolebindings" };
        for binding in store.all(&format!("{collection}.rbac.authorization.k8s.io")) {
            if !everywhere && (namespace.is_empty() || meta::namespace(&binding) != namespace) {
                continue;
            }
            let subjects = binding["subjects"].as_array().into_iter().flatten();
            if subjects.into_iter().any(|subject| is(user, subject, namespace)) {
                let role = (binding["roleRef"]["kind"].as_str(), binding["roleRef"]["name"].as_str());
                let (Some(role_kind), Some(role)) = role else { continue };
                let name = meta::name(&binding);
                let reason = format!("RBAC: allowed by {kind} \"{name}\" of {role_kind} \"{role}\"");
                add(&reason, &rules_of(store, role_kind, role, namespace));
            }
        }
    }
    all
}

fn rules_of(store: &Store, kind: &str, name: &str, namespace: &str) -> Value {
    let role = match kind {
        "ClusterRole" => store.get("clusterroles.rbac.authorization.k8s.io", &Key::new("", name)),
        _ => store.get("roles.rbac.authorization.k8s.io", &Key::new(namespace, name)),
    };
    match role {
        Some(role) => role["rules"].clone(),
        None if (kind, name) == ("ClusterRole", "cluster-admin") => EVERYTHING.clone(),
        None => Value::Null,
    }
}

/// Whether a binding's subject means the user.
fn is(user: &User, subject: &Value, namespace: &str) -> bool {
    let name = subject["name"].as_str().unwrap_or("");
    match subject["kind"].as_str() {
        Some("User") => user.name == name,
        Some("Group") => user.groups.iter().any(|group| group == name),
        Some("ServiceAccount") => {
            let namespace = subject["namespace"].as_str().unwrap_or(namespace);
            user.name == format!("system:serviceaccount:{namespace}:{name}")
        }
        _ => false,
    }
}

fn grants_it(rule: &Value, asked: &Attributes<'_>) -> bool {
    let has = |field: &str, fits: &dyn Fn(&str) -> bool| {
        rule[field].as_array().into_iter().flatten().filter_map(Value::as_str).any(|one| one == "*" || fits(one))
    };
    if !has("verbs", &|verb| verb == asked.verb) {
        return false;
    }
    if !asked.path.is_empty() {
        return has("nonResourceURLs", &|url| match url.strip_suffix('*') {
            Some(start) => asked.path.starts_with(start),
            None => asked.path == url,
        });
    }
    let whole = match asked.subresource {
        "" => asked.resource.to_owned(),
        below => format!("{}/{below}", asked.resource),
    };
    let of_any = format!("*/{}", asked.subresource);
    let names = rule["resourceNames"].as_array().map(Vec::as_slice).unwrap_or_default();
    has("apiGroups", &|group| group == asked.group)
        && has("resources", &|resource| resource == whole || !asked.subresource.is_empty() && resource == of_any)
        && (names.is_empty() || names.iter().any(|name| name == asked.name))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use std::sync::Arc;

    use rstest::rstest;

    use super::*;
    use crate::store::{NAMESPACES, namespace_object};

    fn store() -> Store {
        let (store, _) = Store::new(16);
        store.insert(&Arc::from(NAMESPACES), namespace_object("n", "u", "2024-01-01T00:00:00Z")).unwrap();
        let add = |collection: &str, namespace: &str, object: Value| {
            let mut object = object;
            object["metadata"]["namespace"] = namespace.into();
            object["metadata"]["uid"] = collection.into();
            if namespace.is_empty() {
                object["metadata"].as_object_mut().unwrap().shift_remove("namespace");
            }
            store.insert(&Arc::from(format!("{collection}.rbac.authorization.k8s.io")), object).unwrap();
        };
        let reference = |kind: &str, name: &str| json!({"kind": kind, "name": name});
        add(
            "roles",
            "n",
            json!({"metadata": {"name": "r"}, "rules": [
                {"verbs": ["get"], "apiGroups": [""], "resources": ["pods"], "resourceNames": ["a"]},
                {"verbs": ["*"], "apiGroups": ["apps"], "resources": ["deployments", "*/scale"]},
                {"verbs": ["get"], "nonResourceURLs": ["/metrics"]},
            ]}),
        );
        add(
            "clusterroles",
            "",
            json!({"metadata": {"name": "c"}, "rules": [
                {"verbs": ["list"], "apiGroups": ["*"], "resources": ["*"]},
                {"verbs": ["get"], "nonResourceURLs": ["/metrics", "/logs/*"]},
            ]}),
        );
        let binding =
            |role: Value, subjects: Value| json!({"metadata": {"name": "b"}, "roleRef": role, "subjects": subjects});
        add(
            "rolebindings",
            "n",
            binding(reference("Role", "r"), json!([reference("User", "jane"), reference("ServiceAccount", "bot")])),
        );
        add("clusterrolebindings", "", binding(reference("ClusterRole", "c"), json!([reference("Group", "ops")])));
        store
    }

    const POD: Attributes<'static> =
        Attributes { verb: "get", group: "", resource: "pods", subresource: "", namespace: "n", name: "a", path: "" };
    const SCALE: Attributes<'static> =
        Attributes { verb: "update", group: "apps", resource: "replicasets", subresource: "scale", ..POD };

    #[rstest]
    #[case("jane", "", POD, true)]
    #[case("jane", "", Attributes { name: "b", ..POD }, false)]
    #[case("jane", "", Attributes { name: "", ..POD }, false)]
    #[case("jane", "", Attributes { verb: "list", ..POD }, false)]
    #[case("jane", "", Attributes { namespace: "m", ..POD }, false)]
    #[case("jane", "", Attributes { namespace: "", ..POD }, false)]
    #[case("jane", "", Attributes { subresource: "log", ..POD }, false)]
    #[case("jane", "", SCALE, true)]
    #[case("jane", "", Attributes { subresource: "", ..SCALE }, false)]
    #[case("jane", "", Attributes { group: "", ..SCALE }, false)]
    #[case("john", "", POD, false)]
    #[case("system:serviceaccount:n:bot", "", POD, true)]
    #[case("system:serviceaccount:m:bot", "", POD, false)]
    #[case("john", "ops", Attributes { verb: "list", namespace: "", ..POD }, true)]
    #[case("john", "ops", Attributes { path: "/metrics", ..POD }, true)]
    #[case("john", "ops", Attributes { path: "/logs/a", ..POD }, true)]
    #[case("john", "ops", Attributes { path: "/metrics/a", ..POD }, false)]
    // A Role grants no path, since those belong to no namespace.
    #[case("jane", "", Attributes { path: "/metrics", namespace: "", ..POD }, false)]
    #[case("jane", "", Attributes { path: "/openapi/v3", namespace: "", ..POD }, true)]
    #[case("john", "system:masters", Attributes { verb: "delete", ..POD }, true)]
    fn by_role_and_binding(
        #[case] name: &str,
        #[case] group: &str,
        #[case] asked: Attributes<'static>,
        #[case] allowed: bool,
    ) {
        let user = User::impersonated(name, vec![group.to_owned()]);
        assert_eq!(authorize(&store(), &user, &asked).allowed, allowed);
    }
}
