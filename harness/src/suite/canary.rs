//! What keeps a run from making something real.

use std::path::Path;

use serde_json::Value;

use super::{Suite, SuiteError};
use crate::dialects::{Guarded, guarding};
use crate::scenario::scope::is_of_scenario;
use crate::scenario::{Apply, Level, Requests, Scenario, Step, Verb};

/// Whatever a folder calls itself, what its objects make is as real as what those of a built-in dialect do that has a canary: where
/// it has a group of the same domain, its own canary, at `path`, must see a request for a first object reach a service of the run.
///
/// # Errors
/// It has none, or one that passes without such a request.
pub(super) fn hold(suite: &Suite, path: &Path) -> Result<(), SuiteError> {
    let first = suite.dialect.groups().iter().find_map(|group| Some((group, guarding(group)?)));
    let Some((group, guarded)) = first else { return Ok(()) };
    let wrong = |lack: Option<(Option<usize>, String)>| {
        let (line, lack) = lack.map_or((None, None), |(line, lack)| (line, Some(lack)));
        let (group, guarded) = (group.clone(), guarded.name.clone());
        Err(SuiteError::Unguarded { path: path.to_owned(), line, group, guarded, lack })
    };
    let Some(canary) = suite.canary.as_deref() else { return wrong(None) };
    match lack(canary, guarded) {
        Some((step, lack)) => wrong(Some((step.map(|step| step.place.line), lack))),
        None => Ok(()),
    }
}

/// Why a canary may pass although an object of a guarded domain makes something real, and the step that is to blame, if one is.
fn lack<'c>(canary: &'c Scenario, guarded: &Guarded) -> Option<(Option<&'c Step>, String)> {
    let asked = canary.steps.iter().filter_map(|step| Some((step, asks_a_service(step)?)));
    let mut lacks = asked.map(|(step, requests)| lack_of(canary, step, requests, guarded)).peekable();
    if lacks.peek().is_none() {
        return Some((None, "this one has no such step behind no choice of ends".to_owned()));
    }
    // One that asks for what is made first is enough, and of several that do not the first is told.
    let lacks: Option<Vec<_>> = lacks.collect();
    lacks.and_then(|lacks| lacks.into_iter().next()).map(|(step, lack)| (Some(step), lack))
}

/// Why a request may be seen although what is applied first makes something real.
fn lack_of<'c>(
    canary: &'c Scenario,
    asked: &'c Step,
    requests: &Requests,
    guarded: &Guarded,
) -> Option<(&'c Step, String)> {
    let applied = canary.steps.iter().filter_map(|step| match &step.verb {
        Verb::Apply(apply) => Some((step, apply)),
        _ => None,
    });
    let of_it = |(step, apply): (&'c Step, &'c Apply)| {
        apply.objects.iter().filter(|object| guarded.covers(group_of(object))).map(move |object| (step, object))
    };
    let mut objects = applied.flat_map(of_it);
    let Some((first, object)) = objects.next().filter(|(step, _)| step.index < asked.index) else {
        return Some((asked, "no object of such a group is applied before this request".to_owned()));
    };
    if let Some((again, _)) = objects.next().filter(|(step, _)| step.index < asked.index) {
        return Some((again, "a second object is applied before the request for the first one is seen".to_owned()));
    }
    let name = object.pointer("/metadata/name").and_then(Value::as_str).unwrap_or_default();
    let segments = requests.path.iter().flat_map(|path| path.split('/')).map(|segment| segment.trim_end_matches('*'));
    let is_named = |segment: &str| segment == name || says(&object["spec"], segment);
    if segments.filter(|segment| !segment.is_empty()).any(is_named) {
        return None;
    }
    let kind = object["kind"].as_str().unwrap_or_default();
    let line = first.place.line;
    let lack = format!(
        "this one asks for a request that is not about {kind}/{name}, which is applied first, in line {line}: a part of its `path` has to \
         be the name of that, or what its spec says with `${{ns}}`, `${{token}}` or the like"
    );
    Some((asked, lack))
}

fn group_of(object: &Value) -> &str {
    object["apiVersion"].as_str().and_then(|version| version.split_once('/')).map_or("", |(group, _)| group)
}

/// Whether a value says a text that no other scenario's does.
fn says(value: &Value, text: &str) -> bool {
    match value {
        Value::String(said) => said == text && is_of_scenario(said),
        Value::Array(items) => items.iter().any(|item| says(item, text)),
        Value::Object(fields) => fields.values().any(|field| says(field, text)),
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}

/// The requests without which a step cannot pass, if it asks for any.
fn asks_a_service(step: &Step) -> Option<&Requests> {
    match &step.verb {
        Verb::Requests(requests) if requests.at_least > 0 && requests.level == Level::Must => {
            (step.within.is_none() && !step.bounds.elsewhere).then_some(&**requests)
        }
        _ => None,
    }
}
