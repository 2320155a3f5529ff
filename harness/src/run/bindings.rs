//! The names that one execution of a scenario is bound to. Pure.

use crate::cluster::discover::Facts;
use crate::cluster::kinds::Kinds;
use crate::cluster::names;
use crate::cluster::pool::Instance;
use crate::cluster::shape::Ports;
use crate::log::{BackendBinding, Bindings, GatewayBinding};
use crate::scenario::Scenario;
use crate::scenario::bind::{Needs, needs, secret};
use crate::scenario::objects::applied;
use crate::scenario::scope::is_cluster_scoped;

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
        if instance.shape.protocol.is_layer_4() || instance.shape.port.is_some() {
            ports.insert(instance.shape.to_string(), instance.port);
        }
    }
    let backends = scenario.backends.iter().map(|decl| {
        let namespace = namespaces.get(&decl.namespace).cloned().unwrap_or_default();
        let identity = format!("{}-{token}", decl.name);
        let service = decl.service.as_ref().unwrap_or(&decl.name).clone();
        (decl.name.clone(), BackendBinding { namespace, service, identity })
    });
    let Needs { mut hosts, names: aliases, authorities, .. } = needs(scenario);
    // One that cannot be made is missed where it is used.
    let authorities = authorities.into_iter().filter_map(|alias| Some((alias, secret::authority().ok()?)));
    hosts.insert("host".to_owned());
    let pool = names::pool_namespace(names.run_id);
    let gateways = gateways.iter().map(|(alias, instance)| {
        let (name, shape) = (instance.name.to_string(), instance.shape.to_string());
        (alias.clone(), GatewayBinding { namespace: pool.clone(), name, shape })
    });
    Bindings {
        scenario: scenario.name.clone(),
        run_id: names.run_id.to_owned(),
        hosts: hosts.into_iter().map(|alias| (alias.clone(), names::host(&token, &alias))).collect(),
        gateways: gateways.collect(),
        backends: backends.collect(),
        cluster_scoped: cluster_scoped(scenario, &names.facts.kinds),
        names: aliases.into_iter().map(|alias| (alias.clone(), names::own(&token, &alias))).collect(),
        authorities: authorities.collect(),
        namespaces,
        ports,
        gateway_class: names.facts.class.as_ref().map(|class| class.name.clone()),
        single_gateway_class: names.facts.single_class().map(str::to_owned),
        usable_address: names.facts.usable_address().map(str::to_owned),
        controller_name: names.facts.class.as_ref().map(|class| class.controller_name.clone()),
        token,
    }
}

/// The kinds that a scenario creates, or the target for it, and that have no namespaces, where only discovery tells.
fn cluster_scoped(scenario: &Scenario, kinds: &Kinds) -> Vec<String> {
    let made = scenario.made.iter().map(|made| (made.group.clone(), made.object.kind.clone()));
    let all = applied(scenario).map(|key| (key.group, key.kind)).chain(made);
    let untold = all.filter(|(_, kind)| !is_cluster_scoped(kind, &scenario.dialect));
    let scoped = untold.filter(|(group, kind)| kinds.of(group, kind).is_some_and(|kind| !kind.namespaced));
    let mut found: Vec<String> = scoped.map(|(_, kind)| kind).collect();
    found.sort();
    found.dedup();
    found
}

#[cfg(test)]
#[path = "bindings_tests.rs"]
mod tests;
