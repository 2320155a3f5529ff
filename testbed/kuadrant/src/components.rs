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
    /// That of the service that authorizes.
    Authorino,
    /// That of the service that counts.
    Limitador,
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
    /// What is wrong with the place that it names, if anything is.
    pub(crate) fn misplaced(&self) -> Option<&'static str> {
        let (component, namespace, host, is_stop) = match self {
            Rule::Stop(Stop { stop, namespace, host, .. }) => (*stop, namespace, host, true),
            Rule::Unhealthy(Unhealthy { unhealthy, namespace, host }) => (*unhealthy, namespace, host, false),
            Rule::Remove(_) => return None,
        };
        if namespace.is_some() && matches!(component, Component::Authorino | Component::Limitador) {
            return Some("authorino and limitador are there once for all: leave `namespace` out");
        }
        let has_hosts = component == Component::Dns || (component == Component::Authorino && is_stop);
        (host.is_some() && !has_hosts)
            .then_some("only records of dns, and what authorino is to take, have a host: leave `host` out")
    }
}

/// Where an object is: its namespace, and the host that it is about.
#[derive(Clone, Copy, Debug, Default)]
pub struct Place<'a> {
    /// The namespace; empty for what is there once for all.
    pub namespace: &'a str,
    /// The host, of a record or of what the service that authorizes is to take; else empty.
    pub host: &'a str,
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
    /// Of which host alone: of `dns` its records, of `authorino` what it is to take for that host, while the service itself goes on.
    #[serde(default)]
    pub host: Option<String>,
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
    /// Of which host alone, of `dns`.
    #[serde(default)]
    pub host: Option<String>,
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

    /// Why a component is stopped for a place, if it is.
    #[must_use]
    pub fn stopped(&self, component: Component, place: Place<'_>) -> Option<&str> {
        self.rules().find_map(|rule| match rule {
            Rule::Stop(stop)
                if stop.stop == component && applies(stop.namespace.as_deref(), stop.host.as_deref(), place) =>
            {
                Some(stop.reason.as_deref().unwrap_or(STOPPED))
            }
            _ => None,
        })
    }

    /// Whether what a component keeps at a place is unhealthy.
    #[must_use]
    pub fn unhealthy(&self, component: Component, place: Place<'_>) -> bool {
        self.rules().any(|rule| match rule {
            Rule::Unhealthy(rule) => {
                rule.unhealthy == component && applies(rule.namespace.as_deref(), rule.host.as_deref(), place)
            }
            _ => false,
        })
    }

    /// Whether an object is taken away.
    #[must_use]
    pub fn without(&self, object: Removable) -> bool {
        self.rules().any(|rule| matches!(rule, Rule::Remove(Remove { remove }) if *remove == object))
    }
}

fn applies(namespace: Option<&str>, host: Option<&str>, place: Place<'_>) -> bool {
    namespace.is_none_or(|wanted| wanted == place.namespace) && host.is_none_or(|wanted| wanted == place.host)
}
