//! What a contract comes to: what it refines, what it says itself, and what its edition has otherwise, one laid over the other.

use std::collections::BTreeSet;
use std::fmt;

use gateproof_suites::contracts::shared;
use serde_json::Value;

use super::document::Document;
use super::error::ContractError;

/// The contract as an edition has it. What it `refines` is the ground; its own `spec` is laid over that as a JSON merge patch (RFC 7386),
/// and what stands under the edition's name in `editions` over both.
/// All editions are read, so that what is wrong with one is told whichever is meant. Beside it a set of conditions that no kind has in any
/// of them, if there is one.
pub(super) fn document(text: &str, wanted: Option<&str>) -> Result<(Document, Option<String>), ContractError> {
    // By itself first: only the text knows its lines.
    let own: Document = serde_yaml::from_str(text).map_err(|error| unread(&error))?;
    let mut whole: Value = serde_yaml::from_str(text).map_err(|error| unread(&error))?;
    if let Some(name) = &own.spec.refines {
        let ground = shared(name).ok_or_else(|| ContractError::UnknownGround(name.clone()))?;
        let mut ground: Value = serde_yaml::from_str(ground).map_err(|error| unread(&error))?;
        if let Some(place) = taken_from_nothing(&whole["spec"], &ground["spec"]) {
            return Err(unread(&format!("there is no `{place}` in `{name}` to be taken away or changed")));
        }
        lay(&whole["spec"], &mut ground["spec"]);
        whole["spec"] = ground["spec"].take();
    }
    let mut used = BTreeSet::new();
    let mut read = |mut whole: Value| -> Result<Document, serde_json::Error> {
        used.extend(compose(&mut whole["spec"]));
        serde_json::from_value(whole)
    };
    let mut found = read(whole.clone()).map_err(|error| unread(&error))?;
    for (edition, otherwise) in &own.spec.editions {
        let inside = |problem: &dyn fmt::Display| unread(&format!("in the edition `{edition}`: {problem}"));
        if let Some(place) = taken_from_nothing(otherwise, &whole["spec"]) {
            return Err(inside(&format!("there is no `{place}` to be taken away or changed")));
        }
        let mut merged = whole.clone();
        lay(otherwise, &mut merged["spec"]);
        let document = read(merged).map_err(|error| inside(&error))?;
        if wanted == Some(edition) {
            found = document;
        }
    }
    let patched = own.spec.editions.values().filter_map(|otherwise| otherwise.get("conditions")?.as_object());
    let named = own.spec.conditions.keys().chain(patched.flat_map(|sets| sets.keys()));
    let unused = named.into_iter().find(|set| !used.contains(*set)).cloned();
    Ok((found, unused))
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
fn taken_from_nothing(patch: &Value, of: &Value) -> Option<String> {
    patch.as_object()?.iter().find_map(|(name, patch)| match of.get(name) {
        None if patch.is_null() => Some(name.clone()),
        None => None,
        Some(there) => taken_from_nothing(patch, there).map(|below| format!("{name}.{below}")),
    })
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
    used
}

/// Between the names of sets that make one.
pub(super) const SEPARATOR: &str = "+";
