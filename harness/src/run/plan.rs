//! What runs on a target, what does not, and why. Pure.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::cluster::control::Services;
use crate::cluster::discover::{Acceptance, Bundle, Class, Facts, GivenBundle};
use crate::cluster::kinds::Kind;
use crate::log::ObjectKey;
use crate::scenario::bind::needs;
use crate::scenario::objects::{applied, referred};
use crate::scenario::pattern::matches;
use crate::scenario::scope::{DEFINITION, cluster_change, definitions, is_cluster_scoped, is_of_scenario, is_unique};
use crate::scenario::{Channel, MadeObject, Release, Scenario, Version};

use super::definitions::beyond;
use super::endpoints::only_hosted;
use super::options::{FeatureChoice, RunOptions, Skip, Unsaid};
use super::permissions::kinds_of;

/// What is decided for a scenario.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Decision {
    /// It runs.
    Run,
    /// The target does not claim a feature, or the scenario has no meaning there; the reason.
    NotSupported(String),
    /// The user leaves it out; the reason.
    Skipped(String),
}

/// A scenario and what is decided for it.
#[derive(Debug, Clone)]
pub struct Planned {
    /// The scenario, not yet bound.
    pub scenario: Arc<Scenario>,
    /// The decision.
    pub decision: Decision,
}

/// What the user says about which scenarios run.
#[derive(Debug, Clone)]
pub struct Policy {
    /// Which features the target is held to.
    pub features: FeatureChoice,
    /// What the list of these says nothing of.
    pub unsaid: Option<Unsaid>,
    /// Features that it is not held to all the same.
    pub exempt: Vec<String>,
    /// Scenarios left out.
    pub skip: Vec<Skip>,
    /// Whether scenarios may change cluster-scoped objects.
    pub cluster_changes: bool,
    /// Whether endpoints of backends are the run's own to change.
    pub hosted: bool,
    /// The scripted services that can be told what to do.
    pub services: BTreeSet<String>,
}

impl Policy {
    /// The policy of a run.
    pub fn of(options: &RunOptions) -> Policy {
        Policy {
            features: options.features.clone(),
            unsaid: options.unsaid.clone(),
            exempt: options.exempt.clone(),
            skip: options.skip.clone(),
            cluster_changes: options.target.is_embedded() || options.allow_cluster_changes,
            hosted: options.backend_image.is_none(),
            services: options.services.names().map(str::to_owned).collect(),
        }
    }

    /// The same with the services that the target itself names.
    pub fn with_services(mut self, services: &Services) -> Policy {
        self.services.extend(services.names().map(str::to_owned));
        self
    }

    /// The features that the target is held to.
    pub fn features(&self, facts: &Facts) -> BTreeSet<String> {
        let mut held: BTreeSet<String> = match &self.features {
            FeatureChoice::Claimed => facts.features.iter().cloned().collect(),
            FeatureChoice::Only(features) => features.iter().cloned().collect(),
        };
        held.retain(|feature| !self.exempt.contains(feature));
        held
    }
}

/// Decides for every scenario, in order of name.
pub fn plan(scenarios: &[Arc<Scenario>], facts: &Facts, policy: &Policy) -> Vec<Planned> {
    let features = policy.features(facts);
    let mut plan: Vec<Planned> = scenarios
        .iter()
        .map(|scenario| {
            let decision = decide(scenario, facts, policy, &features);
            Planned { scenario: Arc::clone(scenario), decision }
        })
        .collect();
    plan.sort_by(|a, b| a.scenario.name.cmp(&b.scenario.name));
    plan
}

fn decide(scenario: &Scenario, facts: &Facts, policy: &Policy, features: &BTreeSet<String>) -> Decision {
    // What the target does not support is said first: a skip of it would hide that it would not run anyway.
    let missing: Vec<&str> =
        scenario.features.iter().filter(|feature| !features.contains(*feature)).map(String::as_str).collect();
    if !missing.is_empty() {
        let plural = if missing.len() == 1 { "feature" } else { "features" };
        return Decision::NotSupported(format!("{plural} {} not claimed", missing.join(", ")));
    }
    // What a target claims it has, whether or not it is held to it here.
    let is_claimed = |feature: &&String| features.contains(*feature) || facts.features.contains(*feature);
    if let Some(claimed) = scenario.without.iter().find(is_claimed) {
        return Decision::NotSupported(format!("feature {claimed} claimed, and it is about who does without"));
    }
    if let Some(unsaid) = &policy.unsaid
        && let Some(newer) = scenario.without.iter().find(|feature| unsaid.features.contains(feature))
    {
        let release = unsaid.release;
        return Decision::NotSupported(format!(
            "it is about who does without the feature {newer}, of which a list of features of {release} says nothing"
        ));
    }
    if !scenario.bounds.admits(facts.basis()) {
        return Decision::NotSupported(format!("has no meaning at {}", release(facts)));
    }
    if let Some(reason) = not_lacked(scenario, facts) {
        return Decision::NotSupported(reason);
    }
    if let Some(kind) = unserved(scenario, facts) {
        return Decision::NotSupported(format!("the target does not serve {kind}"));
    }
    if let Some(definitions) = facts.definitions()
        && let Some(lack) = beyond(definitions, &bound(scenario, facts), facts)
    {
        return Decision::NotSupported(format!("{lack}, and the definitions are of {}", definitions.release));
    }
    if facts.single_class().is_none() && needs(scenario).single_class {
        let (class, entry) = (scenario.dialect.class_in_words(), scenario.dialect.entry_in_words());
        let reason = format!("no {class} that takes one {entry} only is known; name one with --single-gateway-class");
        return Decision::NotSupported(reason);
    }
    if facts.usable_address().is_none() && needs(scenario).address {
        let several = scenario.dialect.entries_in_words();
        let reason = format!("no address that {several} may ask for is known; name one with --usable-address");
        return Decision::NotSupported(reason);
    }
    if let Some(service) = scenario.services().into_iter().find(|name| !policy.services.contains(*name)) {
        let reason =
            format!("it needs the service `{service}`, which is not named; name it with --service {service}=URL");
        return Decision::NotSupported(reason);
    }
    if let Some(skip) = policy.skip.iter().find(|skip| matches(&skip.pattern, &scenario.name)) {
        return Decision::Skipped(skip.reason.clone());
    }
    let namespaced = |group: &str, kind: &str| facts.kinds.of(group, kind).is_none_or(|kind| kind.namespaced);
    if !policy.cluster_changes
        && let Some(change) = cluster_change(scenario, namespaced)
    {
        return Decision::Skipped(format!("{change}, which needs --allow-cluster-changes"));
    }
    if !policy.hosted
        && let Some(wanted) = only_hosted(&bound(scenario, facts))
    {
        return Decision::Skipped(format!("{wanted}; with --backends deployed the cluster makes them from Pods"));
    }
    Decision::Run
}

/// The first object that a scenario would create beside what others may have of the same name, in words: of a kind without
/// namespaces, under a name that is not the run's own. Of kinds that it knows the parser has said so already.
pub fn shared_name(scenario: &Scenario, facts: &Facts) -> Option<String> {
    let scoped = |key: &ObjectKey| {
        is_cluster_scoped(&key.kind, &scenario.dialect)
            || facts.kinds.of(&key.group, &key.kind).is_some_and(|kind| !kind.namespaced)
    };
    let told =
        |kind: &str, name: &str| format!("{kind} has no namespace on this target, and `{name}` may be somebody else's");
    // The name of a definition is given; where somebody has it, its creation is refused.
    let mut applied = applied(scenario).filter(|key| key.kind != DEFINITION && !is_unique(&key.name));
    let applied = applied.find(|key| scoped(key)).map(|key| told(&key.kind, &key.name));
    applied.or_else(|| {
        // Of those that are known to have no namespace the parser has seen to it.
        let is_scoped = |made: &&MadeObject| {
            facts.kinds.of(&made.group, &made.object.kind).is_some_and(|kind| !kind.namespaced)
                && !is_cluster_scoped(&made.object.kind, &scenario.dialect)
        };
        let mut made = scenario.made.iter().filter(|made| !is_of_scenario(&made.object.name));
        made.find(is_scoped).map(|made| told(&made.object.kind, &made.object.name))
    })
}

/// What may run on a cluster of which nothing is known but what the options say, in order: all that some release and channel of
/// Gateway API lets run there.
pub fn possible(scenarios: &[Arc<Scenario>], options: &RunOptions) -> Vec<Arc<Scenario>> {
    let mut policy = Policy::of(options);
    // What of the cluster a scenario needs does not depend on where its services are.
    policy.services.extend(scenarios.iter().flat_map(|scenario| scenario.dialect.services()).cloned());
    let class = Class {
        name: String::new(),
        single: options.single_gateway_class.clone(),
        address: options.usable_address.clone(),
        controller_name: String::new(),
        acceptance: Acceptance::Silent,
    };
    let mut facts = Facts {
        class: Some(class),
        bundle: None,
        features: scenarios.iter().flat_map(|scenario| scenario.features.iter().cloned()).collect(),
        kinds: kinds_of(scenarios.iter().map(|scenario| &**scenario)),
    };
    let (served, known) = (facts.kinds.clone(), facts.features.clone());
    let mut runs = |scenario: &Scenario| {
        facts.kinds.clone_from(&served);
        definitions(scenario).into_iter().for_each(|name| facts.kinds.postpone(name));
        facts.features = known.iter().filter(|feature| !scenario.without.contains(*feature)).cloned().collect();
        let features = policy.features(&facts);
        releases(scenario, options.bundle).into_iter().any(|(version, channel)| {
            let release = Release { version, channel };
            facts.bundle = Some(Bundle { name: version.to_string(), release, definitions: None });
            decide(scenario, &facts, &policy, &features) == Decision::Run
        })
    };
    scenarios.iter().filter(|scenario| runs(scenario)).map(Arc::clone).collect()
}

/// What is known of release and channel; otherwise some releases between which all bounds of a scenario lie.
fn releases(scenario: &Scenario, known: Option<GivenBundle>) -> Vec<(Version, Channel)> {
    if let Some(GivenBundle { version, channel }) = known {
        let channels = channel.map_or_else(|| vec![Channel::Standard, Channel::Experimental], |channel| vec![channel]);
        return channels.into_iter().map(|channel| (version, channel)).collect();
    }
    let first = Version { major: 0, minor: 0, patch: 0 };
    let bounds = std::iter::once(&scenario.bounds).chain(scenario.steps.iter().map(|step| &step.bounds));
    let edges = bounds.flat_map(|bounds| [bounds.since, bounds.until]).flatten().chain([first]);
    edges.flat_map(|version| [(version, Channel::Standard), (version, Channel::Experimental)]).collect()
}

/// The release that a target is judged by, in words.
fn release(facts: &Facts) -> String {
    let words = |Release { version, channel }: Release| format!("{version} in the {} channel", channel.word());
    facts.basis().release.map(words).unwrap_or_default()
}

/// A scenario with the steps that are done on this target.
fn bound(scenario: &Scenario, facts: &Facts) -> Scenario {
    let mut bound = scenario.clone();
    bound.steps.retain(|step| step.bounds.admits(facts.basis()));
    bound
}

/// Why a scenario that creates definitions cannot do so: the first one that the target has already, or of which nobody knows what it
/// says in that release.
fn not_lacked(scenario: &Scenario, facts: &Facts) -> Option<String> {
    let problem = |name: &str| match facts.kinds.defined_by(name) {
        Some(kind) if kind.later => None,
        Some(kind) => Some(format!(
            "the target serves {} from the start; the embedded one does not with --without-crd {name}",
            kind.kind
        )),
        None => Some(format!("what {name} says at {} is not known", release(facts))),
    };
    definitions(scenario).into_iter().find_map(problem)
}

/// The first kind that a scenario applies or the target makes, or whose definition it looks at or changes, and that the target does not serve, unless the
/// scenario makes it.
fn unserved(scenario: &Scenario, facts: &Facts) -> Option<String> {
    let own = definitions(scenario);
    let is_served =
        |kind: Option<&Kind>| kind.is_some_and(|kind| !kind.later || own.contains(kind.resource().as_str()));
    let scenario = &bound(scenario, facts);
    let made = scenario.made.iter().map(|made| (made.group.clone(), made.object.kind.clone()));
    let mut kinds = applied(scenario).map(|key| (key.group, key.kind)).chain(made);
    let kind = kinds.find(|(group, kind)| !is_served(facts.kinds.of(group, kind)));
    kind.map(|(group, kind)| if group.is_empty() { kind } else { format!("{kind}.{group}") }).or_else(|| {
        let lacked = |name: &&str| !is_served(facts.kinds.defined_by(name));
        referred(scenario).find(lacked).map(str::to_owned)
    })
}

#[cfg(test)]
#[path = "plan_tests.rs"]
mod tests;
