//! What a scenario has, and references to it.

use std::sync::Arc;

use serde_json::{Value, json};

use crate::dialects::Dialect;

use super::super::model::ObjectRef;
use super::super::scope::{DEFINITION, POLICY_BINDING, is_cluster_scoped, is_foreign};
use super::super::template::{self, Part, Slot, WORDS};
use super::check::Checker;
use super::tree::{Kind, Mark, Node};

/// What is to be done about a change that the whole cluster sees.
const ALONE: &str =
    "add `isolation: cluster`; such a scenario runs alone, and on a named cluster only with --allow-cluster-changes";

/// What a scenario has.
#[derive(Debug)]
pub(super) struct Names {
    pub(super) dialect: Arc<Dialect>,
    pub(super) gateways: Vec<String>,
    /// Aliases beside `ns`.
    pub(super) namespaces: Vec<String>,
    pub(super) backends: Vec<String>,
    /// Objects that some step up to here applied, and the Services of backends.
    pub(super) objects: Vec<ObjectRef>,
    /// Those of them that the target makes.
    pub(super) made: Vec<ObjectRef>,
    /// Whether the scenario says that it changes what the whole cluster shares.
    pub(super) changes_cluster: bool,
}

impl Names {
    /// Of a scenario in which nothing is known yet.
    pub(super) fn of(dialect: Arc<Dialect>) -> Names {
        Names {
            dialect,
            gateways: Vec::new(),
            namespaces: Vec::new(),
            backends: Vec::new(),
            objects: Vec::new(),
            made: Vec::new(),
            changes_cluster: false,
        }
    }

    /// Checks every placeholder below a node.
    pub(super) fn check_placeholders(&self, node: &Node, checker: &mut Checker<'_>) {
        match &node.kind {
            Kind::Text(text) => self.check_text(text, node.mark, checker),
            Kind::List(items) => items.iter().for_each(|item| self.check_placeholders(item, checker)),
            Kind::Map(entries) => entries.iter().for_each(|(_, value)| self.check_placeholders(value, checker)),
            Kind::Null | Kind::Bool(_) | Kind::Number(_) => {}
        }
    }

    fn check_text(&self, text: &str, mark: Mark, checker: &mut Checker<'_>) {
        let parts = match template::parts(text) {
            Ok(parts) => parts,
            Err(error) => return checker.report(mark, error.to_string(), None),
        };
        let alone = parts.len() == 1;
        for part in parts {
            let Part::Slot(inside) = part else { continue };
            match template::slot(inside, |alias| self.gateways.iter().any(|g| g == alias)) {
                Ok(Slot::Namespace(alias)) if alias != "ns" && !self.namespaces.contains(&alias) => {
                    self.unknown_namespace(&alias, mark, checker);
                }
                Ok(slot @ (Slot::Gateway(_) | Slot::Tls(_))) if !alone => {
                    let help = Some("it stands for a whole mapping, so it must be the whole scalar".to_owned());
                    checker.report(mark, format!("`{slot}` inside a longer string"), help);
                }
                Ok(slot @ (Slot::Class | Slot::SingleClass | Slot::Address | Slot::Controller))
                    if self.dialect.class().is_none() =>
                {
                    let message =
                        format!("`{slot}` stands for nothing: the dialect `{}` has no class", self.dialect.name());
                    checker.report(
                        mark,
                        message,
                        Some("give a kind `role: class` in dialect.yaml, or leave it out".to_owned()),
                    );
                }
                Ok(_) => {}
                Err(_) => {
                    let known = self.gateways.iter().map(String::as_str).chain(WORDS);
                    let word = inside.split([':', '.']).next().unwrap_or(inside);
                    let help = template_help(inside, word, known.collect());
                    checker.report(mark, format!("unknown placeholder `${{{inside}}}`"), Some(help));
                }
            }
        }
    }

    fn unknown_namespace(&self, alias: &str, mark: Mark, checker: &mut Checker<'_>) {
        checker.unknown(mark, "namespace", alias, self.namespaces.iter().map(String::as_str).chain(["ns"]));
    }

    /// The reference that an applied object is known by; reports names that would not be unique.
    pub(super) fn applied(&self, object: &Node, checker: &mut Checker<'_>) -> Option<ObjectRef> {
        let kind = object.get("kind")?.text()?;
        let metadata = object.get("metadata")?;
        let name = metadata.get("name")?;
        let text = name.text()?;
        let slot = |text: &str| match template::parts(text).ok()?.as_slice() {
            [Part::Slot(inside)] => template::slot(inside, |_| false).ok(),
            _ => None,
        };
        if kind == "Namespace" {
            let help = Some("declare it under `namespaces`".to_owned());
            checker.report(object.mark, "a namespace is not applied".to_owned(), help);
            return None;
        }
        if kind == DEFINITION && object.get("spec").is_none() {
            return self.defined(text, name.mark, checker);
        }
        if is_cluster_scoped(kind, &self.dialect) {
            let Some(Slot::Name(alias)) = slot(text) else {
                let help = Some("name it ${name:alias}".to_owned());
                checker.report(name.mark, format!("the name of a {kind} must be unique to run and scenario"), help);
                return None;
            };
            return Some(ObjectRef { kind: kind.to_owned(), namespace: None, name: alias, pool: false });
        }
        let namespace = match metadata.get("namespace") {
            None => None,
            Some(node) => match node.text().and_then(slot) {
                Some(Slot::Namespace(alias)) => (alias != "ns").then_some(alias),
                _ => {
                    let help = Some("leave it out for the scenario's own, or write ${ns:alias}".to_owned());
                    checker.report(node.mark, "a fixed namespace would be shared with others".to_owned(), help);
                    return None;
                }
            },
        };
        Some(ObjectRef { kind: kind.to_owned(), namespace, name: text.to_owned(), pool: false })
    }

    /// A definition that a step creates: one of the dialect, whose names nobody can choose.
    fn defined(&self, name: &str, mark: Mark, checker: &mut Checker<'_>) -> Option<ObjectRef> {
        let (message, help) = if name.split_once('.').is_none_or(|(_, group)| !self.dialect.has_group(group)) {
            (
                format!("`{name}` is no definition of {}", self.dialect.title()),
                format!("write plural.group, such as {}", self.dialect.some_definition()),
            )
        } else if !self.changes_cluster {
            ("a definition changes what the whole cluster serves".to_owned(), ALONE.to_owned())
        } else {
            return Some(ObjectRef {
                kind: DEFINITION.to_owned(),
                namespace: None,
                name: name.to_owned(),
                pool: false,
            });
        };
        checker.report(mark, message, Some(help));
        None
    }

    /// Reads `Kind/name`, `Kind/alias/name` or `${gw}`, and reports what the scenario does not have.
    pub(super) fn reference(&self, text: &str, mark: Mark, checker: &mut Checker<'_>) -> Option<ObjectRef> {
        if let Some(alias) = text.strip_prefix("${").and_then(|t| t.strip_suffix('}')) {
            return self.pool(alias, mark, checker);
        }
        let segments = text.split('/').collect::<Vec<_>>();
        let (kind, namespace, name) = match segments[..] {
            [kind, name] => (kind, None, name),
            [kind, "ns", name] => (kind, None, name),
            [kind, alias, name] => (kind, Some(alias.to_owned()), name),
            _ => {
                let help = Some("write Kind/name, Kind/namespace-alias/name, or ${gateway-alias}".to_owned());
                checker.report(mark, format!("`{text}` does not name an object"), help);
                return None;
            }
        };
        if let Some(alias) = &namespace
            && !self.namespaces.contains(alias)
        {
            self.unknown_namespace(alias, mark, checker);
            return None;
        }
        let object = ObjectRef { kind: kind.to_owned(), namespace, name: name.to_owned(), pool: false };
        let given = match kind {
            "Namespace" => name == "ns" || self.namespaces.iter().any(|n| n == name),
            _ if self.dialect.is_class(kind) && name == "${class}" => true,
            DEFINITION | POLICY_BINDING => true,
            _ => self.objects.contains(&object),
        };
        if !given {
            let known = self.objects.iter().map(ToString::to_string).collect::<Vec<_>>();
            checker.unknown(mark, "object", text, known.iter().map(String::as_str));
            return None;
        }
        Some(object)
    }

    /// A reference to what a step deletes: nothing that others have or share.
    pub(super) fn deleted(&self, text: &str, mark: Mark, checker: &mut Checker<'_>) -> Option<ObjectRef> {
        let object = self.reference(text, mark, checker)?;
        let problem = if self.made.contains(&object) {
            format!("`{text}` is the target's, and what a run did not create is never deleted")
        } else if object.pool {
            format!("`{text}` is shared with other scenarios, and none of them may delete it")
        } else if self.is_foreign(&object) {
            format!("`{text}` is not the scenario's own, and what a run did not create is never deleted")
        } else {
            return Some(object);
        };
        checker.report(mark, problem, Some("apply an object of your own and delete that".to_owned()));
        None
    }

    /// A reference to what a step patches: if others have it, the scenario must say that it changes the cluster.
    pub(super) fn patched(&self, text: &str, mark: Mark, checker: &mut Checker<'_>) -> Option<ObjectRef> {
        let object = self.reference(text, mark, checker)?;
        if self.made.contains(&object) {
            checker.report(
                mark,
                format!("`{text}` is the target's, and what a run did not create is never changed"),
                None,
            );
            return None;
        }
        if self.is_foreign(&object) && !self.changes_cluster {
            checker.report(mark, format!("`{text}` is not the scenario's own"), Some(ALONE.to_owned()));
            return None;
        }
        Some(object)
    }

    fn is_foreign(&self, object: &ObjectRef) -> bool {
        is_foreign(object, &self.dialect, |_| self.objects.contains(object))
    }

    /// A pool Gateway by alias.
    pub(super) fn pool(&self, alias: &str, mark: Mark, checker: &mut Checker<'_>) -> Option<ObjectRef> {
        if !self.gateways.iter().any(|g| g == alias) {
            let what = format!("{} alias", self.dialect.entry_in_words());
            checker.unknown(mark, &what, alias, self.gateways.iter().map(String::as_str));
            return None;
        }
        Some(self.entry(alias))
    }

    /// An entry of the pool.
    fn entry(&self, alias: &str) -> ObjectRef {
        ObjectRef { kind: self.dialect.entry_kind().to_owned(), namespace: None, name: alias.to_owned(), pool: true }
    }

    /// The Gateway that a probe goes through.
    pub(super) fn via(&self, text: &str, mark: Mark, checker: &mut Checker<'_>) -> Option<ObjectRef> {
        if text.contains('/') || text.starts_with("${") {
            self.reference(text, mark, checker)
        } else {
            self.pool(text, mark, checker)
        }
    }

    /// The only Gateway that there is.
    pub(super) fn only_gateway(&self, mark: Mark, checker: &mut Checker<'_>) -> Option<ObjectRef> {
        let mut all: Vec<ObjectRef> = self.gateways.iter().map(|alias| self.entry(alias)).collect();
        all.extend(self.objects.iter().filter(|object| self.dialect.is_entry(&object.kind)).cloned());
        if let [only] = &all[..] {
            return Some(only.clone());
        }
        let kind = self.dialect.entry_in_words();
        let message = match all.is_empty() {
            true => format!("there is no {kind} to probe"),
            false => format!("there is more than one {kind}"),
        };
        checker.report(mark, message, Some("say which with `via`".to_owned()));
        None
    }

    /// A whole parentRef to an object, with placeholders where its names are not known before binding.
    pub(super) fn parent_ref(&self, object: &ObjectRef) -> Value {
        let kind = &object.kind;
        if object.pool {
            let alias = &object.name;
            return json!({
                "group": self.dialect.group_of(kind), "kind": kind,
                "namespace": format!("${{{alias}.namespace}}"), "name": format!("${{{alias}.name}}"),
            });
        }
        let namespace = object.namespace.as_deref().unwrap_or("ns");
        let group = if kind == "Service" { "" } else { self.dialect.group_of(kind) };
        json!({"group": group, "kind": kind, "namespace": format!("${{ns:{namespace}}}"), "name": object.name})
    }

    /// Whether there is such a backend; reports it if not.
    pub(super) fn backend(&self, name: &str, mark: Mark, checker: &mut Checker<'_>) -> bool {
        let known = self.backends.iter().any(|b| b == name);
        if !known {
            checker.unknown(mark, "backend", name, self.backends.iter().map(String::as_str));
        }
        known
    }
}

fn template_help(inside: &str, word: &str, known: Vec<&str>) -> String {
    match word {
        "port" => format!("`{inside}`: port aliases are http, https, tcp and udp, and http-2 … for further ones"),
        "name" => "write ${name:alias}".to_owned(),
        _ => match super::super::vocabulary::suggest(word, known.iter().copied()) {
            Some(near) if near != word => format!("did you mean `{near}`?"),
            _ => format!("there is {}", known.join(", ")),
        },
    }
}
