//! `made`: objects that the target makes.

use super::super::model::{MadeObject, ObjectRef};
use super::super::scope::is_cluster_scoped;
use super::build::text;
use super::check::Checker;
use super::names::Names;
use super::tree::Node;

/// Reads them; from then on steps may name them.
pub(super) fn read(spec: &Node, names: &mut Names, checker: &mut Checker<'_>) -> Vec<MadeObject> {
    let list = spec.get("made").map(Node::list).unwrap_or_default();
    list.iter().filter_map(|node| one(node, names, checker)).collect()
}

fn one(node: &Node, names: &mut Names, checker: &mut Checker<'_>) -> Option<MadeObject> {
    let (version, kind, name) = (text(node, "apiVersion")?, text(node, "kind")?, text(node, "name")?);
    if let Some(given) = node.get("name").filter(|_| name.contains("${")) {
        checker.report(given.mark, "the name of what a target makes has no placeholders".to_owned(), None);
    }
    if kind == "Namespace" || is_cluster_scoped(kind, &names.dialect) {
        let message = format!("a {kind} is in no namespace, and what a run did not make there is not its business");
        checker.report(node.mark, message, None);
        return None;
    }
    let alias = text(node, "namespace").filter(|alias| *alias != "ns");
    if let Some(alias) = alias.filter(|alias| names.namespaces.iter().all(|known| known != alias)) {
        let mark = node.get("namespace").map_or(node.mark, |given| given.mark);
        checker.unknown(mark, "namespace", alias, names.namespaces.iter().map(String::as_str));
        return None;
    }
    let namespace = alias.map(str::to_owned);
    let object = ObjectRef { kind: kind.to_owned(), namespace, name: name.to_owned(), pool: false };
    if names.objects.contains(&object) {
        checker.report(node.mark, format!("`{object}` is there twice"), None);
        return None;
    }
    names.objects.push(object.clone());
    names.made.push(object.clone());
    let group = version.split_once('/').map_or("", |(group, _)| group).to_owned();
    Some(MadeObject { group, object })
}

#[cfg(test)]
#[path = "made_tests.rs"]
mod tests;
