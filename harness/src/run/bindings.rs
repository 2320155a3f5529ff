//! The names that one execution of a scenario is bound to. Pure.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use regex::Regex;

use crate::log::{BackendBinding, Bindings, GatewayBinding};
use crate::scenario::Scenario;
use crate::target::discover::Facts;
use crate::target::names;
use crate::target::pool::Instance;
use crate::target::shape::{Ports, Protocol};

/// What names are made of.
pub struct Names<'a> {
    /// The run.
    pub run_id: &'a str,
    /// Position of the execution in the run.
    pub index: usize,
    /// The target.
    pub facts: &'a Facts,
    /// Ports that the target permits.
    pub ports: &'a Ports,
}

/// Binds a scenario to names of its own. `gateways` are the pool Gateways that it was given, by alias.
pub fn bindings(scenario: &Scenario, names: &Names<'_>, gateways: &[(String, &Instance)]) -> Bindings {
    let token = names::token(names.run_id, names.index);
    let namespace = |alias: &str| (alias.to_owned(), names::namespace(&token, alias));
    let aliases = std::iter::once("ns").chain(scenario.namespaces.keys().map(String::as_str).filter(|a| *a != "ns"));
    let namespaces: indexmap::IndexMap<String, String> = aliases.map(namespace).collect();
    let mut ports = names.ports.aliases();
    for (_, instance) in gateways {
        // A Gateway on a port of its own decides what the alias of its protocol means.
        if instance.shape.protocol == Protocol::Tcp || instance.shape.port.is_some() {
            ports.insert(instance.shape.to_string(), instance.port);
        }
    }
    let backends = scenario.backends.iter().map(|decl| {
        let namespace = namespaces.get(&decl.namespace).cloned().unwrap_or_default();
        let identity = format!("{}-{token}", decl.name);
        (decl.name.clone(), BackendBinding { namespace, service: decl.name.clone(), identity })
    });
    let pool = names::pool_namespace(names.run_id);
    let gateways = gateways.iter().map(|(alias, instance)| {
        let (name, shape) = (instance.name.to_string(), instance.shape.to_string());
        (alias.clone(), GatewayBinding { namespace: pool.clone(), name, shape })
    });
    Bindings {
        scenario: scenario.name.clone(),
        run_id: names.run_id.to_owned(),
        hosts: used("host|tls", scenario, "host").into_iter().map(|a| (a.clone(), names::host(&token, &a))).collect(),
        gateways: gateways.collect(),
        backends: backends.collect(),
        names: used("name", scenario, "").into_iter().map(|a| (a.clone(), format!("gp-{token}-{a}"))).collect(),
        namespaces,
        ports,
        gateway_class: names.facts.gateway_class.clone(),
        controller_name: names.facts.controller_name.clone(),
        token,
    }
}

/// The aliases that a scenario uses behind `${host:…}` or `${name:…}`, wherever they stand; `main` is the one without
/// alias. Placeholders may stand in any string of a manifest, and its debug form holds every one of them.
fn used(words: &str, scenario: &Scenario, main: &str) -> BTreeSet<String> {
    static PLACEHOLDER: LazyLock<Regex> =
        LazyLock::new(|| Regex::new(r"\$\{([a-z]+):([A-Za-z0-9-]+)\}").expect("the pattern is a constant"));
    let text = format!("{scenario:?}");
    let words: Vec<&str> = words.split('|').collect();
    let mut aliases: BTreeSet<String> = PLACEHOLDER
        .captures_iter(&text)
        .filter(|captures| words.contains(&&captures[1]))
        .map(|captures| captures[2].to_owned())
        .collect();
    if !main.is_empty() {
        aliases.insert(main.to_owned());
    }
    aliases
}

#[cfg(test)]
#[path = "bindings_tests.rs"]
mod tests;
