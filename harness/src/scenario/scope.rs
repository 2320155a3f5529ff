//! What of a cluster a scenario touches that is not its own.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::bind::{Needs, needs};
pub use super::kinds::{ADMISSION, DEFINITION, POLICY_BINDING, is_cluster_scoped};
use super::model::{Isolation, ObjectRef, Scenario, Verb};
use super::template::{self, Part, Slot};
use crate::dialects::Dialect;

/// Whether a name is unique to run and scenario: `${name:alias}` and nothing else.
pub fn is_unique(name: &str) -> bool {
    match template::parts(name).as_deref() {
        Ok([Part::Slot(inside)]) => matches!(template::slot(inside, |_| false), Ok(Slot::Name(_))),
        _ => false,
    }
}

/// Whether a name has something of the run and scenario in it, so that nobody else's object is called so.
pub fn is_of_scenario(name: &str) -> bool {
    template::parts(name).unwrap_or_default().iter().any(|part| match part {
        Part::Slot(inside) => matches!(
            template::slot(inside, |_| false),
            Ok(Slot::Token | Slot::PlainToken | Slot::Namespace(_) | Slot::Host(_) | Slot::Name(_))
        ),
        Part::Text(_) => false,
    })
}

/// The name of the definition that an object of a manifest stands for: it is one and says nothing but its name, because what it says
/// depends on the release of the target.
pub fn defined(object: &Value) -> Option<&str> {
    let stands = object.get("kind").and_then(Value::as_str) == Some(DEFINITION) && object.get("spec").is_none();
    object.pointer("/metadata/name").and_then(Value::as_str).filter(|_| stands)
}

/// The definitions that a scenario creates: its target must lack them at the start.
pub fn definitions(scenario: &Scenario) -> BTreeSet<&str> {
    let applied = scenario.steps.iter().filter_map(|step| match &step.verb {
        Verb::Apply(apply) => Some(&apply.objects),
        _ => None,
    });
    applied.flatten().filter_map(defined).collect()
}

/// What the target of a scenario must lack.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Lacking {
    /// Definitions, at the start.
    pub definitions: Vec<String>,
    /// Features.
    pub features: Vec<String>,
}

/// What the target of this scenario must lack.
pub fn lacking(scenario: &Scenario) -> Lacking {
    let definitions = definitions(scenario).into_iter().map(str::to_owned).collect();
    let features = scenario.without.iter().cloned().collect::<BTreeSet<_>>().into_iter().collect();
    Lacking { definitions, features }
}

/// Scenarios by what their target must lack. No target is right for two of these groups.
pub fn by_lacking(scenarios: impl IntoIterator<Item = Scenario>) -> BTreeMap<Lacking, Vec<Scenario>> {
    let mut groups: BTreeMap<Lacking, Vec<Scenario>> = BTreeMap::new();
    for scenario in scenarios {
        groups.entry(lacking(&scenario)).or_default().push(scenario);
    }
    groups
}

/// The first thing for which a scenario may run only where cluster-scoped objects may be changed, in words: it follows from what its
/// steps touch, and from what the scenario says of itself. `namespaced` says of a kind, by group and name, whether it has namespaces.
pub fn cluster_change(scenario: &Scenario, namespaced: impl Fn(&str, &str) -> bool) -> Option<String> {
    let Needs { names, .. } = needs(scenario);
    for step in &scenario.steps {
        match &step.verb {
            Verb::Patch(patch) if is_foreign(&patch.target, &scenario.dialect, |name| names.contains(name)) => {
                return Some(format!("it patches {}", patch.target));
            }
            Verb::Apply(apply) => {
                // A class of one's own concerns nobody but its controller, which is the one under test.
                let widely = |key: &crate::log::ObjectKey| {
                    !scenario.dialect.is_class(&key.kind) && !namespaced(&key.group, &key.kind)
                };
                if let Some(key) = apply.objects.iter().filter_map(crate::log::ObjectKey::of).find(widely) {
                    return Some(format!("it creates a {}, which the whole cluster sees", key.kind));
                }
            }
            _ => {}
        }
    }
    (scenario.isolation == Isolation::Cluster).then(|| "it changes cluster-scoped objects".to_owned())
}

/// Whether an object that a step writes is somebody else's: `own` says which name aliases are the scenario's.
pub fn is_foreign(object: &ObjectRef, dialect: &Dialect, own: impl Fn(&str) -> bool) -> bool {
    let is_shared = object.kind != "Namespace" && is_cluster_scoped(&object.kind, dialect);
    !object.pool && is_shared && !own(&object.name)
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case("${name:own}", true)]
    #[case("proxy-${token}", true)]
    #[case("${ns}-x", true)]
    #[case("${class}", false)]
    #[case("proxy", false)]
    #[case("${", false)]
    fn a_name_has_something_of_the_scenario(#[case] name: &str, #[case] has: bool) {
        assert_eq!(is_of_scenario(name), has);
    }

    #[rstest]
    #[case("${name:own}", true)]
    #[case("precious", false)]
    #[case("a-${name:own}", false)]
    #[case("${class}", false)]
    #[case("${", false)]
    fn a_name_of_its_own_is_a_placeholder(#[case] name: &str, #[case] unique: bool) {
        assert_eq!(is_unique(name), unique);
    }
}
