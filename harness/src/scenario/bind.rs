//! A scenario bound to the names of one execution: placeholders replaced, namespaces set, objects labelled.

mod needs;
mod resolve;
pub mod secret;

use std::sync::Arc;

use indexmap::IndexMap;
use serde_json::{Map, Value, json};

use super::kinds::is_cluster_scoped;
use super::model::{
    Answer, ConditionExpectation, Ending, FieldTest, Hold, MadeObject, ObjectRef, Parents, Probe, Scenario, Settle,
    SubjectExpectation, Verb,
};
use super::template::TemplateError;
use crate::dialects::Dialect;
use crate::log::Bindings;

pub use needs::{Needs, needs};
use resolve::Resolver;

/// The label that marks everything of a run.
pub const RUN_LABEL: &str = "gateproof.dev/run";

/// The label that marks everything of one execution of a scenario.
pub const SCENARIO_LABEL: &str = "gateproof.dev/scenario";

/// Why a scenario cannot be bound.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BindError {
    /// The bindings lack a name that the scenario needs.
    #[error("no {what} `{alias}` is bound")]
    Missing {
        /// Such as `namespace`.
        what: &'static str,
        /// The alias.
        alias: String,
    },
    /// A placeholder cannot be read.
    #[error(transparent)]
    Template(#[from] TemplateError),
    /// A placeholder that stands for a mapping stands inside a string.
    #[error("`{0}` stands for a mapping and cannot be part of a string")]
    Inside(String),
    /// A certificate cannot be made.
    #[error("cannot make a certificate: {0}")]
    Certificate(String),
}

/// Binds a scenario.
///
/// # Errors
/// If a name is not bound, or a certificate cannot be made.
pub fn bind(scenario: &Scenario, bindings: &Bindings) -> Result<Scenario, BindError> {
    let dialect = &scenario.dialect;
    let mut binder = Binder { resolver: Resolver { bindings, dialect }, labels: IndexMap::new() };
    let mut bound = scenario.clone();
    for step in &mut bound.steps {
        match &mut step.verb {
            Verb::Apply(apply) => {
                for object in &mut apply.objects {
                    *object = binder.object(object)?;
                }
            }
            Verb::Patch(patch) => {
                binder.reference(&mut patch.target)?;
                patch.patch = binder.resolver.value(&patch.patch)?;
            }
            Verb::Delete(delete) => delete.objects.iter_mut().try_for_each(|o| binder.reference(o))?,
            Verb::Settle(settle) => binder.settle(settle)?,
            Verb::Hold(hold) => binder.hold(hold)?,
            Verb::Probe(probe) => binder.probe(probe)?,
            Verb::Script(script) => {
                for rule in &mut script.rules {
                    *rule = binder.resolver.value(rule)?;
                }
            }
            Verb::Requests(requests) => {
                for text in [&mut requests.path, &mut requests.caller].into_iter().flatten() {
                    *text = binder.resolver.text(text)?;
                }
                requests.body.iter_mut().try_for_each(|one| binder.values(&mut one.test))?;
            }
            Verb::Made(made) => {
                binder.reference(&mut made.object)?;
                made.tests_mut().try_for_each(|test| binder.values(test))?;
            }
        }
        for ending in &mut step.either {
            if let Ending::Settle(settle, _) = ending {
                binder.settle(settle)?;
            }
        }
    }
    bound.made = binder.made(scenario)?;
    for decl in bound.namespaces.values_mut() {
        for value in decl.labels.values_mut() {
            *value = binder.resolver.text(value)?;
        }
    }
    bound.labels = binder.labels;
    Ok(bound)
}

/// What the target makes, by the names of an execution. They are known before it has its Gateways.
///
/// # Errors
/// If a name is not bound.
pub fn made(scenario: &Scenario, bindings: &Bindings) -> Result<Vec<MadeObject>, BindError> {
    let dialect = &scenario.dialect;
    Binder { resolver: Resolver { bindings, dialect }, labels: IndexMap::new() }.made(scenario)
}

struct Binder<'b> {
    resolver: Resolver<'b>,
    labels: IndexMap<ObjectRef, Arc<str>>,
}

impl Binder<'_> {
    fn object(&self, object: &Value) -> Result<Value, BindError> {
        let mut bound = self.resolver.value(object)?;
        let kind = bound["kind"].as_str().unwrap_or_default().to_owned();
        let Some(metadata) = bound.get_mut("metadata").and_then(Value::as_object_mut) else { return Ok(bound) };
        if self.is_namespaced(&kind) && !metadata.contains_key("namespace") {
            metadata.insert("namespace".to_owned(), Value::from(self.resolver.namespace("ns")?));
        }
        let labels = metadata.entry("labels").or_insert_with(|| Value::Object(Map::new()));
        labels[RUN_LABEL] = Value::from(self.resolver.bindings.run_id.as_str());
        labels[SCENARIO_LABEL] = Value::from(self.resolver.bindings.token.as_str());
        Ok(bound)
    }

    fn is_namespaced(&self, kind: &str) -> bool {
        let found = self.resolver.bindings.cluster_scoped.iter().any(|scoped| scoped == kind);
        !found && !is_cluster_scoped(kind, self.resolver.dialect)
    }

    fn made(&mut self, scenario: &Scenario) -> Result<Vec<MadeObject>, BindError> {
        let mut made = scenario.made.clone();
        made.iter_mut().try_for_each(|made| self.reference(&mut made.object))?;
        Ok(made)
    }

    /// Resolves a reference, and remembers how the manifest writes it.
    fn reference(&mut self, object: &mut ObjectRef) -> Result<(), BindError> {
        let written: Arc<str> = Arc::from(object.to_string());
        let bindings = self.resolver.bindings;
        if object.pool {
            let gateway = self.resolver.gateway(&object.name)?;
            object.namespace = Some(gateway.namespace.clone());
            object.name = gateway.name.clone();
        } else if object.kind == "Namespace" {
            object.name = self.resolver.namespace(&object.name)?.to_owned();
        } else if !self.is_namespaced(&object.kind) {
            object.name = match bindings.names.get(&object.name) {
                Some(name) => name.clone(),
                None => self.resolver.text(&object.name)?,
            };
        } else {
            object.name = self.resolver.text(&object.name)?;
            let alias = object.namespace.as_deref().unwrap_or("ns");
            object.namespace = Some(self.resolver.namespace(alias)?.to_owned());
        }
        self.labels.entry(object.clone()).or_insert(written);
        Ok(())
    }

    fn settle(&mut self, settle: &mut Settle) -> Result<(), BindError> {
        settle.subjects.iter_mut().try_for_each(|s| self.subject(s))
    }

    fn hold(&mut self, hold: &mut Hold) -> Result<(), BindError> {
        hold.never.iter_mut().chain(&mut hold.always).try_for_each(|s| self.subject(s))?;
        hold.unchanged.iter_mut().try_for_each(|o| self.reference(o))
    }

    fn subject(&mut self, subject: &mut SubjectExpectation) -> Result<(), BindError> {
        self.reference(&mut subject.subject)?;
        self.conditions(&mut subject.conditions)?;
        if let Parents::Selected(parents) = &mut subject.parents {
            for parent in parents {
                parent.parent_ref = self.resolver.value(&parent.parent_ref)?;
                self.conditions(&mut parent.conditions)?;
            }
        }
        for listener in subject.listeners.values_mut() {
            self.conditions(&mut listener.conditions)?;
        }
        for field in &mut subject.fields {
            self.values(&mut field.test)?;
        }
        Ok(())
    }

    fn values(&self, test: &mut FieldTest) -> Result<(), BindError> {
        for value in test.values_mut() {
            *value = self.resolver.value(value)?;
        }
        Ok(())
    }

    fn conditions(&self, conditions: &mut IndexMap<String, ConditionExpectation>) -> Result<(), BindError> {
        conditions.values_mut().flat_map(|c| c.fields.values_mut()).try_for_each(|test| self.values(test))?;
        for message in conditions.values_mut().filter_map(|c| c.message.as_mut()) {
            for text in message.mentions.iter_mut().chain(&mut message.lacks) {
                *text = self.resolver.text(text)?;
            }
        }
        Ok(())
    }

    fn probe(&mut self, probe: &mut Probe) -> Result<(), BindError> {
        self.reference(&mut probe.target.gateway)?;
        if let Some(of) = &mut probe.target.of {
            self.reference(of)?;
        }
        probe.path = self.resolver.text(&probe.path)?;
        probe.body = self.resolver.text(&probe.body)?;
        if let Some(host) = &mut probe.host {
            *host = self.resolver.text(host)?;
        }
        let fields = probe.headers.values_mut().chain(probe.trailers.values_mut());
        for value in fields.flatten().chain(&mut probe.among) {
            *value = self.resolver.text(value)?;
        }
        if let Answer::TlsBackend { certificate, server_name, .. } = &mut probe.answer {
            for name in certificate.iter_mut().chain(server_name) {
                *name = self.resolver.text(name)?;
            }
        }
        if let Answer::Http(seen) = &mut probe.answer {
            for text in seen.texts_mut() {
                *text = self.resolver.text(text)?;
            }
        }
        Ok(())
    }
}

/// A whole parentRef of an entry of the pool.
fn parent_ref(dialect: &Dialect, namespace: &str, name: &str) -> Value {
    let kind = dialect.entry_kind();
    json!({"group": dialect.group_of(kind), "kind": kind, "namespace": namespace, "name": name})
}

#[cfg(test)]
mod tests;
