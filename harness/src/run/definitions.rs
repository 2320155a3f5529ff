//! What a scenario asks of definitions that are of another release than the one it is judged by. Pure.

use serde_json::Value;

use super::releases::{asks, between, release_in_words};
use crate::cluster::discover::Facts;
use crate::cluster::served::Definitions;
use crate::scenario::expectations::{Asserted, asserted, enumerate};
use crate::scenario::scope::defined;
use crate::scenario::{Patch, PatchKind, Scenario, Verb};

/// The first thing that a scenario, with the steps that are done, writes, looks at or asks, and that is the definitions' and not the
/// target's to answer, in words.
pub(super) fn beyond(definitions: &Definitions, scenario: &Scenario, facts: &Facts) -> Option<String> {
    if let Some(step) = scenario.steps.iter().find(|step| asks(step)) {
        return Some(format!("steps[{}] asks whether a write is admitted", step.index));
    }
    let written = scenario.steps.iter().find_map(|step| match &step.verb {
        Verb::Apply(apply) => apply.objects.iter().find_map(|object| {
            if let Some(name) = defined(object) {
                return Some(format!("it creates {name}"));
            }
            let kind = object["kind"].as_str()?;
            let lack = definitions.lack(kind, object).map(|lack| format!("it writes {kind} {lack}"));
            lack.or_else(|| taken_otherwise(definitions, scenario, object, facts))
        }),
        Verb::Patch(patch) => Some(format!("it writes {} {}", patch.target.kind, patched(definitions, patch)?)),
        _ => None,
    });
    written.or_else(|| looked_at(definitions, scenario, facts))
}

/// What an object has that definitions came to take with a release behind these, up to that which is judged by. What newer ones refuse
/// is no matter here: these admit it.
fn taken_otherwise(definitions: &Definitions, scenario: &Scenario, object: &Value, facts: &Facts) -> Option<String> {
    let (installed, judged) = (release_in_words(&definitions.release)?, facts.basis().release?.version);
    let kind = object["kind"].as_str()?;
    let changes = between(&scenario.dialect, (installed.version, installed.channel), judged);
    let mut changes = changes.filter(|change| installed.version < judged && change.kind == kind && !change.newest);
    changes.find_map(|change| {
        let path = change.touched(object, false)?;
        Some(format!("it writes {kind} {path}, which definitions take otherwise from {} on", change.release))
    })
}

fn patched(definitions: &Definitions, patch: &Patch) -> Option<String> {
    let kind = &patch.target.kind;
    match patch.kind {
        PatchKind::Merge => definitions.lack_in_patch(kind, &patch.patch),
        PatchKind::Json => patch.patch.as_array()?.iter().find_map(|operation| {
            definitions.lack_at(kind, operation["path"].as_str()?, operation.get("value").unwrap_or(&Value::Null))
        }),
    }
}

fn looked_at(definitions: &Definitions, scenario: &Scenario, facts: &Facts) -> Option<String> {
    let binding = enumerate(scenario).into_iter().filter(|one| one.binds(facts.basis()));
    let fields = binding.filter_map(|one| match asserted(scenario, &one.id)? {
        Asserted::Field(object, field) => Some((object.kind, field.pointer)),
        _ => None,
    });
    let lack = |(kind, pointer): (String, String)| {
        Some(format!("it looks at {kind} {}", definitions.lack_at(&kind, &pointer, &Value::Null)?))
    };
    fields.into_iter().find_map(lack)
}
