//! `made`: objects that the target makes.

use super::super::model::{MadeObject, ObjectRef};
use super::super::scope::{is_cluster_scoped, is_of_scenario};
use super::super::template::{self, Part, Slot};
use super::check::Checker;
use super::names::Names;
use super::read::text;
use super::tree::Node;

/// Reads them; from then on steps may name them.
pub(super) fn read(spec: &Node, names: &mut Names, checker: &mut Checker<'_>) -> Vec<MadeObject> {
    let list = spec.get("made").map(Node::list).unwrap_or_default();
    list.iter().filter_map(|node| one(node, names, checker)).collect()
}

fn one(node: &Node, names: &mut Names, checker: &mut Checker<'_>) -> Option<MadeObject> {
    let (version, kind, name) = (text(node, "apiVersion")?, text(node, "kind")?, node.get("name")?);
    let written = name.text()?;
    checker.of_dialect(node);
    names.check_placeholders(name, checker);
    if let Some(late) = late(written, &names.gateways) {
        let message =
            format!("`${{{late}}}` in the name of what a target makes is not known before the scenario begins");
        let help = "such a name may have ${token}, ${ns}, ${host}, ${name:alias} and ${class}".to_owned();
        checker.report(name.mark, message, Some(help));
        return None;
    }
    if kind == "Namespace" {
        let message =
            "steps know Namespaces by the aliases of `namespaces`, and cannot ask after one that a target makes";
        checker.report(node.mark, message.to_owned(), None);
        return None;
    }
    let alias = text(node, "namespace").filter(|alias| *alias != "ns");
    let object = if is_cluster_scoped(kind, &names.dialect) {
        if let Some(given) = node.get("namespace") {
            checker.report(given.mark, format!("a {kind} is in no namespace"), Some("leave it out".to_owned()));
            return None;
        }
        if !is_of_scenario(written) {
            let message = format!("a {kind} is in no namespace, and `{written}` may be somebody else's");
            let help = "a name that is unique to run and scenario has ${token}, ${ns}, ${host} or ${name:alias} in it";
            checker.report(name.mark, message, Some(help.to_owned()));
            return None;
        }
        // As steps name what they apply.
        let known = match &*template::parts(written).ok()? {
            [Part::Slot(inside)] => match template::slot(inside, |_| false) {
                Ok(Slot::Name(alias)) => alias,
                _ => written.to_owned(),
            },
            _ => written.to_owned(),
        };
        ObjectRef { kind: kind.to_owned(), namespace: None, name: known, pool: false }
    } else {
        if let Some(alias) = alias.filter(|alias| names.namespaces.iter().all(|known| known != alias)) {
            let mark = node.get("namespace").map_or(node.mark, |given| given.mark);
            checker.unknown(mark, "namespace", alias, names.namespaces.iter().map(String::as_str));
            return None;
        }
        let namespace = alias.map(str::to_owned);
        ObjectRef { kind: kind.to_owned(), namespace, name: written.to_owned(), pool: false }
    };
    if names.objects.contains(&object) {
        checker.report(node.mark, format!("`{object}` is there twice"), None);
        return None;
    }
    names.objects.push(object.clone());
    names.made.push(object.clone());
    let group = version.split_once('/').map_or("", |(group, _)| group).to_owned();
    Some(MadeObject { group, object })
}

/// The first placeholder that stands for what only a scenario that begins is given, or for no name. What a target makes is watched
/// from the beginning of the run.
fn late<'n>(name: &'n str, gateways: &[String]) -> Option<&'n str> {
    let parts = template::parts(name).unwrap_or_default();
    parts.into_iter().find_map(|part| {
        let Part::Slot(inside) = part else { return None };
        let is_early = match template::slot(inside, |alias| gateways.iter().any(|known| known == alias)) {
            Ok(Slot::Token | Slot::PlainToken | Slot::Namespace(_) | Slot::Host(_) | Slot::Name(_)) => true,
            Ok(Slot::Class | Slot::SingleClass | Slot::Address | Slot::Controller) => true,
            Ok(_) => false,
            // That has been said already.
            Err(_) => true,
        };
        (!is_early).then_some(inside)
    })
}

#[cfg(test)]
#[path = "made_tests.rs"]
mod tests;
