//! What the components beside the policies are told to do.

use std::collections::BTreeMap;

use serde::Deserialize;

/// The reason that what a stopped component keeps gives for not being ready, unless a script says another.
pub const STOPPED: &str = "Stopped";

/// A component that a script can name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Component {
    /// The service that authorizes requests.
    Authorino,
    /// The service that counts them.
    Limitador,
    /// What makes DNSRecords ready.
    Dns,
    /// What makes issuers and certificates ready.
    Issuer,
}

/// What can be taken away.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Removable {
    /// The Kuadrant object.
    Kuadrant,
}

/// One rule of a script.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(untagged)]
pub enum Rule {
    /// Stops a component.
    Stop(Stop),
    /// Lets a component say that what it keeps is not healthy.
    Unhealthy(Unhealthy),
    /// Takes an object away until the script goes.
    Remove(Remove),
}

impl Rule {
    /// Whether it names a namespace for what is in none.
    pub(crate) fn names_no_place(&self) -> bool {
        let (component, namespace) = match self {
            Rule::Stop(Stop { stop, namespace, .. }) => (*stop, namespace),
            Rule::Unhealthy(Unhealthy { unhealthy, namespace }) => (*unhealthy, namespace),
            Rule::Remove(_) => return false,
        };
        namespace.is_some() && matches!(component, Component::Authorino | Component::Limitador)
    }
}

/// Stops a component, everywhere or in one namespace.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Stop {
    /// The component.
    pub stop: Component,
    /// Where; everywhere if not given. Only for those that keep objects in namespaces.
    #[serde(default)]
    pub namespace: Option<String>,
    /// The reason that its objects give for not being ready.
    #[serde(default)]
    pub reason: Option<String>,
}

/// Makes what a component keeps unhealthy.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Unhealthy {
    /// The component.
    pub unhealthy: Component,
    /// Where; everywhere if not given.
    #[serde(default)]
    pub namespace: Option<String>,
}

/// Takes an object away.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Remove {
    /// What goes.
    pub remove: Removable,
}

/// The scripts in force, by key.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Components(pub BTreeMap<String, Vec<Rule>>);

impl Components {
    fn rules(&self) -> impl Iterator<Item = &Rule> {
        self.0.values().flatten()
    }

    /// Why a component is stopped for a namespace, if it is.
    #[must_use]
    pub fn stopped(&self, component: Component, namespace: &str) -> Option<&str> {
        self.rules().find_map(|rule| match rule {
            Rule::Stop(stop) if stop.stop == component && applies(stop.namespace.as_deref(), namespace) => {
                Some(stop.reason.as_deref().unwrap_or(STOPPED))
            }
            _ => None,
        })
    }

    /// Whether what a component keeps in a namespace is unhealthy.
    #[must_use]
    pub fn unhealthy(&self, component: Component, namespace: &str) -> bool {
        self.rules().any(|rule| match rule {
            Rule::Unhealthy(rule) => rule.unhealthy == component && applies(rule.namespace.as_deref(), namespace),
            _ => false,
        })
    }

    /// Whether the Kuadrant object is taken away.
    #[must_use]
    pub fn without_kuadrant(&self) -> bool {
        self.rules().any(|rule| matches!(rule, Rule::Remove(Remove { remove: Removable::Kuadrant })))
    }
}

fn applies(wanted: Option<&str>, namespace: &str) -> bool {
    wanted.is_none_or(|wanted| wanted == namespace)
}
