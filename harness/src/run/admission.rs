//! The admission policy that `gateproof rbac --admission-policy` prints: whoever has the role of runs writes nothing but objects of
//! runs, and of others what runs change with leave. Pure.
//!
//! An object that is there already is judged by what it was, so that nobody gets hold of somebody else's by labelling it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde_json::{Value, json};

use crate::cluster::kinds::Kinds;
use crate::cluster::lease::{LOCKS, LOCKS_LABEL};
use crate::cluster::names::{PREFIX, RUN_LABEL};
use crate::scenario::bind::needs;
use crate::scenario::scope::{ADMISSION, definitions, is_foreign};
use crate::scenario::{Scenario, Verb};

const MESSAGE: &str = "only what belongs to a run of Gateproof may be written: what lies in a namespace of a run, and what has no \
                       namespace, but the label of a run and a name of that run";

/// What beside objects of runs may be written, and reached.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Confined {
    /// Objects of others that are patched, and restored.
    pub patched: Patched,
    /// Definitions that are created, and deleted again.
    pub defined: BTreeSet<String>,
    /// Pods are reached by port-forward, whoever has them.
    pub port_forward: bool,
}

/// The definitions that scenarios create.
pub fn defined(scenarios: &[Arc<Scenario>]) -> BTreeSet<String> {
    scenarios.iter().flat_map(|scenario| definitions(scenario)).map(str::to_owned).collect()
}

/// Names by API group, resource and subresource; nothing stands for any name.
pub type Patched = BTreeMap<(String, String, String), Option<BTreeSet<String>>>;

/// The objects of others that scenarios patch. `class` is the class under test, if it is known.
pub fn patched(scenarios: &[Arc<Scenario>], kinds: &Kinds, class: Option<&str>) -> Patched {
    let mut found = Patched::new();
    for scenario in scenarios {
        let own = needs(scenario).names;
        for step in &scenario.steps {
            let Verb::Patch(patch) = &step.verb else { continue };
            let foreign = is_foreign(&patch.target, &scenario.dialect, |name| own.contains(name));
            let Some(kind) = kinds.named(&patch.target.kind).filter(|_| foreign) else { continue };
            let subresource = patch.subresource.clone().unwrap_or_default();
            let names = found.entry((kind.group.clone(), kind.plural.clone(), subresource));
            let known = names.or_insert_with(|| Some(BTreeSet::new()));
            match (name(&patch.target.name, class), known) {
                (Some(name), Some(known)) => {
                    known.insert(name);
                }
                (None, known) => *known = None,
                (Some(_), None) => {}
            }
        }
    }
    found
}

/// The name that a manifest writes, if it is known before there is a cluster.
fn name(written: &str, class: Option<&str>) -> Option<String> {
    match written {
        "${class}" => class.map(str::to_owned),
        name => (!name.contains("${")).then(|| name.to_owned()),
    }
}

impl Confined {
    /// Adds what others may write, and reach. A name that one does not know stands for any of them.
    pub fn join(&mut self, others: Confined) {
        let Confined { patched, defined, port_forward } = others;
        for (what, names) in patched {
            match (self.patched.entry(what).or_insert_with(|| Some(BTreeSet::new())), names) {
                (Some(known), Some(names)) => known.extend(names),
                (known, _) => *known = None,
            }
        }
        self.defined.extend(defined);
        self.port_forward |= port_forward;
    }

    /// The policy for a user and its binding, both of this name.
    pub fn objects(&self, name: &str, username: &str) -> [Value; 2] {
        let version = format!("{ADMISSION}/v1");
        let rule = json!({
            "apiGroups": ["*"],
            "apiVersions": ["*"],
            "resources": ["*/*"],
            "operations": ["CREATE", "UPDATE", "DELETE", "CONNECT"],
        });
        let variables = variables().map(|(name, expression)| json!({"name": name, "expression": expression}));
        let policy = json!({
            "apiVersion": version,
            "kind": "ValidatingAdmissionPolicy",
            "metadata": {"name": name},
            "spec": {
                "failurePolicy": "Fail",
                "matchConstraints": {"resourceRules": [rule]},
                "matchConditions": [{"name": "who", "expression": format!("request.userInfo.username == {}", text(username))}],
                "variables": variables,
                "validations": [{"expression": self.expression(), "message": MESSAGE, "reason": "Forbidden"}],
            },
        });
        let binding = json!({
            "apiVersion": version,
            "kind": "ValidatingAdmissionPolicyBinding",
            "metadata": {"name": name},
            "spec": {"policyName": name, "validationActions": ["Deny"]},
        });
        [policy, binding]
    }

    /// What must hold of a request: one of these.
    fn expression(&self) -> String {
        let of_run = |name: &str, run: &str| format!("{name}.startsWith({} + {run} + '-')", text(PREFIX));
        let mut any = vec![
            // What lies in a namespace of a run.
            format!("variables.home != '' && {}", of_run("request.namespace", "variables.home")),
            // Namespaces of runs, and what else of them lies in no namespace.
            format!(
                "(variables.isNamespace || !has(request.namespace) || request.namespace == '') && variables.run != '' && {}",
                of_run("variables.subject.metadata.name", "variables.run")
            ),
            // Where runs keep what one at a time may have to itself, and that.
            format!(
                "variables.isNamespace && request.operation in ['CREATE', 'DELETE'] && \
                 variables.subject.metadata.name == {} && {}",
                text(LOCKS),
                is_labelled("variables.subject", LOCKS_LABEL)
            ),
            format!(
                "has(request.namespace) && request.namespace == {} && {} && variables.run != ''",
                text(LOCKS),
                is_of("coordination.k8s.io", "leases")
            ),
            // They ask what they may do, and write nothing by that.
            "request.resource.group == 'authorization.k8s.io'".to_owned(),
        ];
        if self.port_forward {
            any.push(format!(
                "request.operation == 'CONNECT' && {} && has(request.subResource) && request.subResource == 'portforward'",
                is_of("", "pods")
            ));
        }
        if !self.defined.is_empty() {
            let names: Vec<String> = self.defined.iter().map(|name| text(name)).collect();
            any.push(format!(
                "request.operation in ['CREATE', 'DELETE'] && {} && variables.run != '' && \
                 variables.subject.metadata.name in [{}]",
                is_of("apiextensions.k8s.io", "customresourcedefinitions"),
                names.join(", ")
            ));
        }
        for ((group, resource, subresource), names) in &self.patched {
            let mut all = vec!["request.operation == 'UPDATE'".to_owned(), is_of(group, resource)];
            all.push(match subresource.as_str() {
                "" => "!has(request.subResource)".to_owned(),
                named => format!("has(request.subResource) && request.subResource == {}", text(named)),
            });
            if let Some(names) = names {
                let names: Vec<String> = names.iter().map(|name| text(name)).collect();
                all.push(format!("request.name in [{}]", names.join(", ")));
            }
            any.push(all.join(" && "));
        }
        let any: Vec<String> = any.into_iter().map(|one| format!("({one})")).collect();
        any.join(" ||\n")
    }
}

/// Each by its name, in an order in which none needs a later one.
fn variables() -> [(&'static str, String); 4] {
    let label = |of: &str| {
        let name = text(RUN_LABEL);
        format!("{of} != null && {} ? {of}.metadata.labels[{name}] : ''", is_labelled(of, RUN_LABEL))
    };
    [
        // What is judged: of a request that connects, nothing.
        ("subject", "request.operation == 'CREATE' ? object : oldObject".to_owned()),
        ("run", label("variables.subject")),
        ("home", label("namespaceObject")),
        ("isNamespace", is_of("", "namespaces")),
    ]
}

fn is_of(group: &str, resource: &str) -> String {
    format!("request.resource.group == {} && request.resource.resource == {}", text(group), text(resource))
}

fn is_labelled(object: &str, label: &str) -> String {
    format!("has({object}.metadata.labels) && {} in {object}.metadata.labels", text(label))
}

/// A string of the policy's language.
fn text(text: &str) -> String {
    format!("'{}'", text.replace('\\', r"\\").replace('\'', r"\'"))
}

#[cfg(test)]
#[path = "admission_tests.rs"]
mod tests;
