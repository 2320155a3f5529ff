//! What a contract comes to: what it refines, what it says itself, and what its edition has otherwise, one laid over the other.

use std::collections::BTreeSet;
use std::fmt;

use gateproof_suites::contracts::shared;
use serde_json::Value;

use super::document::{Document, SEPARATOR};
use super::error::{ContractError, path};

/// What a contract comes to.
pub(super) struct Merged {
    pub(super) document: Document,
    /// A set of conditions that no kind has in any edition, if there is one.
    pub(super) unused: Option<String>,
    /// The rules that it names in any edition, even to take one away.
    pub(super) rules: BTreeSet<String>,
}

/// The contract as an edition has it. What it `refines` is the ground; its own `spec` is laid over that as a JSON merge patch (RFC 7386),
/// and what stands under the edition's name in `editions` over both.
/// All editions are read, so that what is wrong with one is told whichever is meant.
pub(super) fn document(text: &str, wanted: Option<&str>) -> Result<Merged, ContractError> {
    // By itself first: only the text knows its lines.
    let own: Document = serde_yaml::from_str(text).map_err(|error| unread(&error))?;
    let mut whole: Value = serde_yaml::from_str(text).map_err(|error| unread(&error))?;
    if let Some(name) = &own.spec.refines {
        let ground = shared(name).ok_or_else(|| ContractError::UnknownGround(name.clone()))?;
        let mut ground: Value = serde_yaml::from_str(ground).map_err(|error| unread(&error))?;
        if let Some(place) = taken_from_nothing(&whole["spec"], &ground["spec"]) {
            let why = format!("there is no `{}` in `{name}` to be taken away or changed", place.join("."));
            return Err(ContractError::Placed { why, at: vec![below(&[], &place)] });
        }
        lay(&whole["spec"], &mut ground["spec"]);
        whole["spec"] = ground["spec"].take();
    }
    let (mut used, mut rules) = (BTreeSet::new(), own.spec.rules.keys().cloned().collect::<BTreeSet<_>>());
    let mut read = |mut whole: Value| -> Result<Document, serde_json::Error> {
        used.extend(compose(&mut whole["spec"]));
        let document: Document = serde_json::from_value(whole)?;
        rules.extend(document.spec.rules.keys().cloned());
        Ok(document)
    };
    let mut found = read(whole.clone()).map_err(|error| unread(&error))?;
    for (edition, otherwise) in &own.spec.editions {
        let inside = |problem: &dyn fmt::Display, place: &[String]| {
            let why = format!("in the edition `{edition}`: {problem}");
            ContractError::Placed { why, at: vec![below(&["editions", edition], place)] }
        };
        if let Some(place) = taken_from_nothing(otherwise, &whole["spec"]) {
            let why = format!("there is no `{}` to be taken away or changed", place.join("."));
            return Err(inside(&why, &place));
        }
        let mut merged = whole.clone();
        lay(otherwise, &mut merged["spec"]);
        let document = read(merged).map_err(|error| inside(&error, &[]))?;
        if wanted == Some(edition) {
            found = document;
        }
    }
    let patched = own.spec.editions.values().filter_map(|otherwise| otherwise.get("conditions")?.as_object());
    let named = own.spec.conditions.keys().chain(patched.flat_map(|sets| sets.keys()));
    let unused = named.into_iter().find(|set| !used.contains(*set)).cloned();
    Ok(Merged { document: found, unused, rules })
}

/// Lays a spec over another. What a set of conditions takes away it may take from sets that it is laid over later, so one that is new
/// stays as it is written: a merge alone would drop that.
fn lay(over: &Value, spec: &mut Value) {
    let sets = over["conditions"].as_object().into_iter().flatten();
    let new: Vec<_> = sets.filter(|(name, _)| spec["conditions"].get(name.as_str()).is_none()).collect();
    json_patch::merge(spec, over);
    for (name, set) in new {
        spec["conditions"][name] = set.clone();
    }
}

fn unread(error: &dyn fmt::Display) -> ContractError {
    ContractError::Parse(error.to_string())
}

/// Where a patch takes away what is not there, or changes something within it: a misspelt name.
fn taken_from_nothing(patch: &Value, of: &Value) -> Option<Vec<String>> {
    patch.as_object()?.iter().find_map(|(name, patch)| match of.get(name) {
        None if patch.is_null() => Some(vec![name.clone()]),
        None => None,
        Some(there) => taken_from_nothing(patch, there).map(|below| [vec![name.clone()], below].concat()),
    })
}

/// The place of a patch in the spec.
fn below(patch: &[&str], place: &[String]) -> Vec<String> {
    path(&patch.iter().copied().chain(place.iter().map(String::as_str)).collect::<Vec<_>>())
}

/// Makes one set of the several that a place has, each laid over those before it. Returns the names that are used.
fn compose(spec: &mut Value) -> Vec<String> {
    let mut used = Vec::new();
    let mut composed = Vec::new();
    let kinds = spec["kinds"].as_array().into_iter().flatten();
    for subject in kinds.flat_map(|kind| kind["subjects"].as_array().into_iter().flatten()) {
        let named = &subject["conditions"];
        used.extend(named.as_str().map(str::to_owned));
        let Some(several) = named.as_array() else { continue };
        let names: Vec<&str> = several.iter().filter_map(Value::as_str).collect();
        used.extend(names.iter().map(|name| (*name).to_owned()));
        // One that is not there is told of by its own name.
        let Some(sets) = names.iter().map(|name| spec["conditions"].get(name)).collect::<Option<Vec<_>>>() else {
            continue;
        };
        let mut whole = Value::Object(serde_json::Map::new());
        sets.into_iter().for_each(|set| json_patch::merge(&mut whole, set));
        composed.push((names.join(SEPARATOR), whole));
    }
    composed.into_iter().for_each(|(name, set)| spec["conditions"][name] = set);
    spec["conditions"].as_object_mut().into_iter().flatten().for_each(|(_, set)| alike(set));
    used
}

/// Has every condition that is like another say what that says, but for what it says itself. What others are like is no condition then.
/// One that is like nothing that there is stays as it is, and is told of when it is read.
fn alike(set: &mut Value) {
    let Some(types) = set.as_object_mut() else { return };
    let patterns: BTreeSet<String> =
        types.values().filter_map(|terms| terms["like"].as_str()).map(str::to_owned).collect();
    for pattern in patterns {
        let Some(whole) = types.get(&pattern).filter(|terms| terms.is_object() && terms["like"].is_null()).cloned()
        else {
            continue;
        };
        for terms in types.values_mut().filter(|terms| terms["like"] == *pattern) {
            let mut own = std::mem::replace(terms, whole.clone());
            own.as_object_mut().into_iter().for_each(|own| drop(own.remove("like")));
            json_patch::merge(terms, &own);
        }
        types.shift_remove(&pattern);
    }
}
