//! Structural schemas: pruning, defaulting and validation of objects, as a Kubernetes API server does them.
//!
//! A [`CompiledSchema`] is made once for each served version of a kind and shared. It also carries what server-side apply
//! and strategic merge patch need to know about lists and maps, see [`crate::patch`].

pub mod builtin;
mod cause;
pub(crate) mod cel;
mod correlate;
mod defaults;
mod embedded;
mod example;
mod formats;
mod meta;
mod metadata;
pub(crate) mod node;
mod path;
mod prune;
mod read;
mod rules;
pub(crate) mod structural;
#[cfg(test)]
mod tests;
mod unique;
mod validate;

use serde_json::{Value, json};

pub use cause::Cause;
pub(crate) use correlate::key_of;

use node::Node;
use path::Path;

/// Why a schema cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum SchemaError {
    /// The schema is not a well-formed structural schema.
    #[error("schema at {at}: {what}")]
    Malformed {
        /// Where in the schema.
        at: String,
        /// What is wrong there.
        what: String,
    },
    /// A CEL rule of the schema does not compile.
    #[error("rule {rule:?} at {at} does not compile: {what}")]
    Rule {
        /// The path of the rule, as definitions spell it.
        at: String,
        /// The rule's source.
        rule: String,
        /// What the CEL compiler says.
        what: String,
    },
}

/// A structural schema, ready for use: one version of a custom resource, or a built-in kind.
#[derive(Debug)]
pub struct CompiledSchema {
    root: Node,
    /// Group and kind of a built-in, which has defaults beyond the structural ones.
    built_in: Option<(String, String)>,
}

impl CompiledSchema {
    /// Compiles an OpenAPI v3 schema as it stands in a CustomResourceDefinition. CEL rules are compiled when they are first
    /// needed; [`CompiledSchema::check_rules`] does it at once.
    ///
    /// # Errors
    /// [`SchemaError::Malformed`] when the schema is not structural.
    pub fn compile(open_api_v3_schema: &Value) -> Result<CompiledSchema, SchemaError> {
        let mut root = Node::compile(open_api_v3_schema, "openAPIV3Schema")?;
        meta::add_type_and_object_meta(&mut root, true)?;
        Ok(CompiledSchema { root, built_in: None })
    }

    /// Compiles all CEL rules of the schema and returns those that fail.
    pub fn check_rules(&self) -> Vec<SchemaError> {
        let mut errors = Vec::new();
        self.root.visit("", &mut |at, node| {
            for (index, rule) in node.rules.iter().enumerate() {
                if let Err(what) = rule.compiled() {
                    let dot = if at.is_empty() { "" } else { "." };
                    let at = format!("{at}{dot}x-kubernetes-validations[{index}].rule");
                    errors.push(SchemaError::Rule { at, rule: rule.source.clone(), what: what.to_owned() });
                }
            }
        });
        errors
    }

    /// Drops the fields that the schema does not know, and returns their paths (`spec.rules[0].foo`), sorted.
    pub fn prune(&self, object: &mut Value) -> Vec<String> {
        prune::prune(&self.root, object)
    }

    /// Fills in the schema's defaults, and drops nulls of fields that are neither nullable nor defaulted.
    pub fn apply_defaults(&self, object: &mut Value) {
        if let Some((group, kind)) = &self.built_in {
            builtin::adjust(group, kind, object);
        }
        defaults::apply(&self.root, object);
    }

    /// Judges an object, and on update its change from `old`. An empty answer means that the object is valid.
    ///
    /// CEL rules are evaluated only if the object has the right shape; otherwise one cause says that they were not.
    pub fn validate(&self, object: &Value, old: Option<&Value>) -> Vec<Cause> {
        let mut causes = Vec::new();
        validate::check(&self.root, object, old, &Path::ROOT, &mut causes);
        let mut duplicates = Vec::new();
        unique::check(&self.root, object, &Path::ROOT, &mut duplicates);
        // Metadata has no schema but that of the types: a finalizer may stand there twice.
        duplicates.retain(|cause| !cause.field.starts_with("metadata."));
        if !duplicates.is_empty() && old.is_some_and(|old| self.has_duplicates(old)) {
            // An object that already broke the rule may be updated without mending it.
            duplicates.clear();
        }
        causes.append(&mut duplicates);
        if causes.iter().any(Cause::blocks_rules) {
            if self.root.rules_below {
                causes.push(Cause::invalid(path::NO_FIELD.to_owned(), &json!(null), RULES_NOT_CHECKED));
            }
        } else {
            rules::check(&self.root, object, old, &mut causes);
        }
        causes
    }

    /// The first value within metadata that is of another type than its field. Metadata is decoded as such, also that of
    /// embedded resources, before any schema is looked at.
    pub fn malformed_metadata(&self, object: &Value) -> Option<Cause> {
        metadata::malformed_metadata(&self.root, object, &Path::ROOT)
    }

    /// An object that has every declared field: what `kubectl explain` would list, as an instance. It need not be valid.
    pub fn example(&self) -> Value {
        example::example(&self.root)
    }

    /// The names that the schema declares beside the field at a path such as `spec.rules[0].filterz`, which need not be one of
    /// them. Empty where the path leads nowhere.
    pub fn fields_beside(&self, path: &str) -> Vec<&str> {
        let parent = path.rsplit_once('.').map_or("", |(parent, _)| parent);
        let mut node = Some(&self.root);
        for segment in parent.split('.').filter(|segment| !segment.is_empty()) {
            let mut parts = segment.split('[');
            node = node.and_then(|node| node.member(parts.next().unwrap_or_default()));
            node = parts.fold(node, |node, _| node.and_then(|node| node.items.as_deref()));
        }
        node.map(|node| node.properties.keys().map(String::as_str).collect()).unwrap_or_default()
    }

    /// Whether a set or a map list in the object has an item twice.
    pub(crate) fn has_duplicates(&self, object: &Value) -> bool {
        let mut duplicates = Vec::new();
        unique::check(&self.root, object, &Path::ROOT, &mut duplicates);
        !duplicates.is_empty()
    }

    /// Whether an item of a map list in the object has none of its keys, nor a default for one.
    pub(crate) fn lacks_keys(&self, object: &Value) -> bool {
        unique::lacks_keys(&self.root, object)
    }

    /// Whether this is one of the built-in kinds.
    pub(crate) fn is_built_in(&self) -> bool {
        self.built_in.is_some()
    }

    /// The root of the schema tree.
    pub(crate) fn root(&self) -> &Node {
        &self.root
    }
}

const RULES_NOT_CHECKED: &str = "some validation rules were not checked because the object was invalid; correct the existing errors to complete validation";
