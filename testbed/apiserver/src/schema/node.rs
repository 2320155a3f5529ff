//! The compiled form of a structural schema: one tree that pruning, defaulting, validation and server-side apply share.

mod values;

use indexmap::IndexMap;
use serde_json::Value;

use super::SchemaError;
use super::cel::Rule;
use super::read::{flag, malformed, strings, text};
use values::ValueRules;

/// What a value has to be.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Kind {
    #[default]
    Any,
    Object,
    Array,
    String,
    Integer,
    Number,
    Boolean,
    IntOrString,
}

impl Kind {
    /// The type name of the schema language, as error messages spell it.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Kind::Any => "",
            Kind::Object => "object",
            Kind::Array => "array",
            Kind::String => "string",
            Kind::Integer => "integer",
            Kind::Number => "number",
            Kind::Boolean => "boolean",
            Kind::IntOrString => "integer,string",
        }
    }

    fn parse(name: &str) -> Option<Kind> {
        Some(match name {
            "" => Kind::Any,
            "object" => Kind::Object,
            "array" => Kind::Array,
            "string" => Kind::String,
            "integer" => Kind::Integer,
            "number" => Kind::Number,
            "boolean" => Kind::Boolean,
            _ => return None,
        })
    }
}

/// `additionalProperties`.
#[derive(Debug, Default)]
pub(crate) enum Additional {
    #[default]
    None,
    Any,
    Schema(Box<Node>),
}

/// `x-kubernetes-list-type`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum ListType {
    #[default]
    Atomic,
    Set,
    Map,
}

/// `x-kubernetes-patch-strategy`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct PatchStrategy {
    pub(crate) merge: bool,
    pub(crate) retain_keys: bool,
}

/// One node of the schema tree.
#[derive(Debug, Default)]
pub(crate) struct Node {
    pub(crate) kind: Kind,
    pub(crate) properties: IndexMap<String, Node>,
    pub(crate) additional: Additional,
    pub(crate) items: Option<Box<Node>>,
    pub(crate) nullable: bool,
    pub(crate) preserve_unknown: bool,
    pub(crate) embedded_resource: bool,
    /// The object's own metadata: CEL sees only the name of it.
    pub(crate) object_meta: bool,
    pub(crate) default: Option<Value>,
    pub(crate) list_type: Option<ListType>,
    pub(crate) list_keys: Vec<String>,
    pub(crate) atomic_map: bool,
    pub(crate) patch_strategy: PatchStrategy,
    pub(crate) patch_merge_key: Option<String>,
    pub(crate) values: ValueRules,
    pub(crate) rules: Vec<Rule>,
    /// Whether this node or one below it has CEL rules.
    pub(crate) rules_below: bool,
    /// Whether one of these compares with the old value.
    pub(crate) transitions_below: bool,
}

impl Node {
    /// Compiles a schema; `at` is where it stands, for errors.
    pub(crate) fn compile(schema: &Value, at: &str) -> Result<Node, SchemaError> {
        let map = schema.as_object().ok_or_else(|| malformed(at, "a schema must be an object"))?;
        let mut node = Node {
            nullable: flag(map, "nullable"),
            preserve_unknown: flag(map, "x-kubernetes-preserve-unknown-fields"),
            embedded_resource: flag(map, "x-kubernetes-embedded-resource"),
            default: map.get("default").filter(|value| !value.is_null()).cloned(),
            list_keys: strings(map, "x-kubernetes-list-map-keys"),
            patch_merge_key: text(map, "x-kubernetes-patch-merge-key"),
            values: ValueRules::compile(map, at)?,
            ..Node::default()
        };
        node.kind = match text(map, "type") {
            _ if flag(map, "x-kubernetes-int-or-string") => Kind::IntOrString,
            None => Kind::Any,
            Some(name) => Kind::parse(&name).ok_or_else(|| malformed(at, format!("unknown type {name:?}")))?,
        };
        node.list_type = match text(map, "x-kubernetes-list-type").as_deref() {
            None => None,
            Some("atomic") => Some(ListType::Atomic),
            Some("set") => Some(ListType::Set),
            Some("map") if node.list_keys.is_empty() => {
                return Err(malformed(at, "x-kubernetes-list-type map needs x-kubernetes-list-map-keys"));
            }
            Some("map") => Some(ListType::Map),
            Some(other) => return Err(malformed(at, format!("unknown x-kubernetes-list-type {other:?}"))),
        };
        node.atomic_map = match text(map, "x-kubernetes-map-type").as_deref() {
            None | Some("granular") => false,
            Some("atomic") => true,
            Some(other) => return Err(malformed(at, format!("unknown x-kubernetes-map-type {other:?}"))),
        };
        for strategy in text(map, "x-kubernetes-patch-strategy").iter().flat_map(|s| s.split(',')) {
            match strategy.trim() {
                "merge" => node.patch_strategy.merge = true,
                "retainKeys" => node.patch_strategy.retain_keys = true,
                "replace" | "" => {}
                other => return Err(malformed(at, format!("unknown x-kubernetes-patch-strategy {other:?}"))),
            }
        }
        if let Some(properties) = map.get("properties").and_then(Value::as_object) {
            for (name, property) in properties {
                node.properties.insert(name.clone(), Node::compile(property, &format!("{at}.properties[{name}]"))?);
            }
        }
        node.additional = match map.get("additionalProperties") {
            None | Some(Value::Bool(false)) => Additional::None,
            Some(Value::Bool(true)) => Additional::Any,
            Some(schema) => Additional::Schema(Box::new(Node::compile(schema, &format!("{at}.additionalProperties"))?)),
        };
        if let Some(items) = map.get("items") {
            node.items = Some(Box::new(Node::compile(items, &format!("{at}.items"))?));
        }
        if let Some(rules) = map.get("x-kubernetes-validations").and_then(Value::as_array) {
            for (index, rule) in rules.iter().enumerate() {
                node.rules.push(Rule::parse(rule, &format!("{at}.x-kubernetes-validations[{index}]"))?);
            }
        }
        for mut branch in std::mem::take(&mut node.values.all_of) {
            node.absorb_rules(&mut branch);
            node.values.all_of.push(branch);
        }
        node.mark_rules();
        Ok(node)
    }

    /// Takes over the CEL rules of an `allOf` branch: they are evaluated on values typed by the structural part.
    fn absorb_rules(&mut self, branch: &mut Node) {
        self.rules.append(&mut branch.rules);
        for (name, property) in &mut branch.properties {
            if let Some(own) = self.properties.get_mut(name) {
                own.absorb_rules(property);
            }
        }
        if let (Some(own), Some(items)) = (&mut self.items, &mut branch.items) {
            own.absorb_rules(items);
        }
        self.mark_rules();
    }

    /// Recomputes `rules_below` and `transitions_below` from the children.
    pub(crate) fn mark_rules(&mut self) {
        let additional = match &self.additional {
            Additional::Schema(node) => Some(node.as_ref()),
            _ => None,
        };
        let children = || self.properties.values().chain(self.items.as_deref()).chain(additional);
        let rules_below = !self.rules.is_empty() || children().any(|node| node.rules_below);
        let transitions_below =
            self.rules.iter().any(Rule::mentions_old_self) || children().any(|node| node.transitions_below);
        (self.rules_below, self.transitions_below) = (rules_below, transitions_below);
    }

    /// The schema of a member of an object: a declared property, or what `additionalProperties` says.
    pub(crate) fn member(&self, name: &str) -> Option<&Node> {
        self.properties.get(name).or(match &self.additional {
            Additional::Schema(node) => Some(node),
            _ => None,
        })
    }

    /// Visits this node and all below it, with the schema's own paths.
    pub(crate) fn visit<'n>(&'n self, at: &str, visitor: &mut dyn FnMut(&str, &'n Node)) {
        visitor(at, self);
        let below = |step: &str| if at.is_empty() { step.to_owned() } else { format!("{at}.{step}") };
        for (name, node) in &self.properties {
            node.visit(&below(&format!("properties[{name}]")), visitor);
        }
        if let Some(items) = &self.items {
            items.visit(&below("items"), visitor);
        }
        if let Additional::Schema(node) = &self.additional {
            node.visit(&below("additionalProperties"), visitor);
        }
    }
}
