//! Who asks, and what they may do.

mod rbac;
mod tokens;

use serde_json::{Map, Value, json};

pub use rbac::{authorize, rules};
pub use tokens::{Bound, Issuer};

/// What a real cluster calls itself in tokens, and the audience of those that name none.
pub const AUDIENCE: &str = "https://kubernetes.default.svc.cluster.local";

/// Somebody who asks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct User {
    /// The name, such as `system:serviceaccount:NAMESPACE:NAME`.
    pub name: String,
    /// The uid of a ServiceAccount; empty for others.
    pub uid: String,
    /// The groups.
    pub groups: Vec<String>,
    /// What else a token tells, such as its own id.
    pub extra: Map<String, Value>,
}

/// What somebody asks for.
#[derive(Debug, Clone, Copy, Default)]
pub struct Attributes<'a> {
    /// The verb, such as `list`.
    pub verb: &'a str,
    /// The API group, empty for the core group.
    pub group: &'a str,
    /// The resource's plural name.
    pub resource: &'a str,
    /// The subresource, or empty.
    pub subresource: &'a str,
    /// The namespace, empty for all.
    pub namespace: &'a str,
    /// The object's name, empty for all.
    pub name: &'a str,
    /// A path that names no resource; empty where one is asked for.
    pub path: &'a str,
}

impl User {
    /// The owner of the server's own token.
    pub fn administrator() -> Self {
        Self::named("gateproof:admin", &["system:masters"])
    }

    fn named(name: &str, groups: &[&str]) -> Self {
        let groups = groups.iter().chain(&["system:authenticated"]).map(|&group| group.to_owned()).collect();
        Self { name: name.to_owned(), uid: String::new(), groups, extra: Map::new() }
    }

    /// A ServiceAccount.
    pub fn service_account(namespace: &str, name: &str, uid: &str) -> Self {
        let here = format!("system:serviceaccounts:{namespace}");
        let user =
            Self::named(&format!("system:serviceaccount:{namespace}:{name}"), &["system:serviceaccounts", &here]);
        Self { uid: uid.to_owned(), ..user }
    }

    /// Somebody whom an administrator plays: groups follow from the name where none are given.
    pub fn impersonated(name: &str, groups: Vec<String>) -> Self {
        let parts: Vec<&str> = name.split(':').collect();
        match parts.as_slice() {
            ["system", "serviceaccount", namespace, account] if groups.is_empty() => {
                Self::service_account(namespace, account, "")
            }
            _ => Self::named(name, &groups.iter().map(String::as_str).collect::<Vec<_>>()),
        }
    }

    /// `authentication.k8s.io/v1` `UserInfo`.
    pub fn info(&self) -> Value {
        let mut info = json!({"username": self.name, "groups": self.groups});
        if !self.uid.is_empty() {
            info["uid"] = self.uid.clone().into();
        }
        if !self.extra.is_empty() {
            info["extra"] = self.extra.clone().into();
        }
        info
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case("jane", &[], &["system:authenticated"])]
    #[case("jane", &["a"], &["a", "system:authenticated"])]
    #[case(
        "system:serviceaccount:n:a",
        &[],
        &["system:serviceaccounts", "system:serviceaccounts:n", "system:authenticated"]
    )]
    fn groups_of_who_is_played(#[case] name: &str, #[case] given: &[&str], #[case] groups: &[&str]) {
        let user = User::impersonated(name, given.iter().map(|&group| group.to_owned()).collect());
        assert_eq!((user.name.as_str(), user.groups), (name, groups.iter().map(|&g| g.to_owned()).collect()));
    }
}
