//! Rules about one condition list in one version.

use std::cmp::Ordering;
use std::collections::HashSet;

use serde_json::Value;

use super::data::Contract;
use super::finding::{Finding, held};
use super::list::List;
use super::rule::Rule;
use super::terms::{ConditionTerms, Presence};
use super::{graded, needs};
use crate::dialects::Dialect;
use crate::judge::conditions::{Condition, find, generation};
use crate::scenario::Basis;

/// Longest type that the schema admits.
const LONGEST_TYPE: usize = 316;
/// Longest reason that the schema admits.
const LONGEST_REASON: usize = 1024;

/// Holds the rules of one list in one version that need no history.
pub(super) fn check(list: &List<'_>, object: &Value, contract: &Contract, basis: Basis) -> Vec<Finding> {
    let generation = generation(object);
    let mut found = Vec::new();
    let mut seen_types = HashSet::new();
    for condition in &list.conditions {
        let path = list.path_of(condition.type_);
        let unique = seen_types.insert(condition.type_);
        found.push(held(Rule::UniqueType, path.clone(), unique, || "two conditions of this type".to_owned()));
        schema(list, condition, contract, &mut found);
        if condition.is_placeholder() {
            continue;
        }
        match list.terms(condition.type_, basis) {
            Some(terms) => {
                known(list, condition, terms, basis, &mut found);
                asked(list, condition, terms, object, &mut found);
                if terms.presence != Presence::Retired {
                    found.extend(graded::check(&path, condition, &terms.graded, object));
                }
                generations(list, condition, generation, &mut found);
                found.extend(said_elsewhere(&path, condition, object));
            }
            None if list.is_to_come(condition.type_, basis) => {}
            None => {
                let prefixed = condition.type_.contains('/');
                found.push(held(Rule::TypePrefixed, path, prefixed, || {
                    "a type that the specification does not define, without a domain".to_owned()
                }));
            }
        }
    }
    found.extend(needs::check(list, basis));
    found.extend(accepted(list, contract.dialect(), basis));
    if let Some(entry) = list.entry {
        for count in &list.subject.counts {
            let path = format!("{}.{count}", list.path.trim_end_matches(".conditions"));
            let value = entry.get(count);
            let good = value.and_then(Value::as_i64).is_some_and(|n| n >= 0);
            found.push(held(Rule::CountPresent, path, good, || value.map_or("nothing".to_owned(), Value::to_string)));
        }
    }
    found
}

/// Whether the words of a condition stand in an annotation, too. Of a few letters nobody could tell where they come from.
fn said_elsewhere(path: &str, condition: &Condition<'_>, object: &Value) -> Option<Finding> {
    const FEW: usize = 12;
    let message = Some(condition.message).filter(|message| message.len() > FEW)?;
    let annotations = object.pointer("/metadata/annotations").and_then(Value::as_object);
    let has_it = |(_, text): &(&String, &Value)| text.as_str().is_some_and(|text| text.contains(message));
    let copy = annotations.into_iter().flatten().find(has_it);
    let seen = || format!("the annotation {} says {message:?}, too", copy.map_or("", |(name, _)| name.as_str()));
    Some(held(Rule::SaidInStatusAlone, path.to_owned(), copy.is_none(), seen))
}

/// What the conditions' schema says.
fn schema(list: &List<'_>, condition: &Condition<'_>, contract: &Contract, found: &mut Vec<Finding>) {
    let path = || list.path_of(condition.type_);
    let text = |field: &str| condition.raw.get(field).and_then(Value::as_str);
    let status = text("status");
    let good = matches!(status, Some("True" | "False" | "Unknown"));
    found.push(held(Rule::TriState, path(), good, || format!("status {status:?}")));
    let good = contract.reason_form.is_match(condition.reason) && condition.reason.len() <= LONGEST_REASON;
    found.push(held(Rule::ReasonForm, path(), good, || format!("reason {:?}", condition.reason)));
    if good {
        let good = contract.reason_lint.is_match(condition.reason);
        found.push(held(Rule::ReasonCamelCase, path(), good, || format!("reason {:?}", condition.reason)));
    }
    let good = contract.type_form.is_match(condition.type_) && condition.type_.len() <= LONGEST_TYPE;
    found.push(held(Rule::TypeForm, path(), good, || format!("type {:?}", condition.type_)));
    if let (Some(form), Some(time)) = (&contract.time_form, condition.last_transition_time) {
        let seen = || format!("lastTransitionTime {time:?}");
        found.push(held(Rule::TransitionTimeForm, path(), form.is_match(time), seen));
    }
    if contract.message_required {
        found.push(held(Rule::MessagePresent, path(), text("message").is_some(), || "no message".to_owned()));
    }
}

/// What the specification says of a type that it defines.
fn known(list: &List<'_>, condition: &Condition<'_>, terms: &ConditionTerms, basis: Basis, found: &mut Vec<Finding>) {
    let path = || list.path_of(condition.type_);
    let seen = || condition.to_string();
    let retired = terms.presence == Presence::Retired;
    found.push(held(Rule::TypeRetired, path(), !retired, || format!("a retired type: {}", seen())));
    if retired {
        return;
    }
    let legal = match terms.presence {
        Presence::OnlyTrue => condition.status == "True",
        Presence::PreferablyTrue => condition.status != "Unknown",
        _ => true,
    };
    if terms.negative {
        found.push(held(Rule::NegativeOnlyWhileTrue, path(), legal, seen));
    }
    let trouble = if terms.negative { condition.status == "True" } else { condition.status == "False" };
    if terms.explains && trouble {
        let good = !condition.message.trim().is_empty();
        found.push(held(Rule::MessageExplains, path(), good, seen));
    }
    let listed = terms.reasons.get(condition.status);
    // Where no reason is listed for what is not known yet, every one is as good.
    let is_open = terms.open.iter().any(|status| status == condition.status)
        || (listed.is_none() && condition.status == "Unknown" && !terms.closed);
    if legal && !terms.reasons.is_empty() && !is_open {
        let rule = if terms.closed { Rule::ReasonClosed } else { Rule::ReasonListed };
        let good =
            listed.is_some_and(|reasons| reasons.iter().any(|r| r.name == condition.reason && r.known_at(basis)));
        found.push(held(rule, path(), good, || {
            let names: Vec<&str> = listed.into_iter().flatten().map(|r| r.name.as_str()).collect();
            let names = if names.is_empty() { "no reason".to_owned() } else { names.join(", ") };
            format!("{}; listed for {} is {names}", seen(), condition.status)
        }));
    }
}

/// Whether the spec asks for what a condition tells of.
fn asked(list: &List<'_>, condition: &Condition<'_>, terms: &ConditionTerms, object: &Value, found: &mut Vec<Finding>) {
    // What is said of an older generation may have been asked for then.
    let is_current = condition.observed_generation == Some(generation(object));
    let Some(value) = terms.asked_by.as_deref().filter(|_| condition.status == "True" && is_current) else { return };
    let good = object.get("spec").is_some_and(|spec| has(spec, value));
    found.push(held(Rule::NegativeOnlyWhileTrue, list.path_of(condition.type_), good, || {
        format!("{condition}, and nothing in the spec says {value}")
    }));
}

fn has(field: &Value, value: &str) -> bool {
    match field {
        Value::String(text) => text == value,
        Value::Array(items) => items.iter().any(|item| has(item, value)),
        Value::Object(fields) => fields.values().any(|field| has(field, value)),
        _ => false,
    }
}

fn generations(list: &List<'_>, condition: &Condition<'_>, generation: i64, found: &mut Vec<Finding>) {
    let path = || list.path_of(condition.type_);
    let observed = condition.observed_generation;
    found.push(held(Rule::ObservedGenerationPresent, path(), observed.is_some(), || condition.to_string()));
    if let Some(observed) = observed {
        let good = observed <= generation && observed >= 0;
        found.push(held(Rule::ObservedGenerationNotAhead, path(), good, || {
            format!("observedGeneration {observed} at generation {generation}")
        }));
    }
}

/// What the condition says that an object is taken on by: what is there with it, and what serves no sooner.
fn accepted(list: &List<'_>, dialect: &Dialect, basis: Basis) -> Vec<Finding> {
    let mut found = Vec::new();
    let Some(type_) = dialect.accepted().filter(|type_| list.terms(type_, basis).is_some()) else { return found };
    let accepted = find(&list.conditions, type_);
    // What is refused need not say more.
    if accepted.is_some_and(|accepted| accepted.status == "True") {
        for with in list.subject.conditions.keys() {
            if list.terms(with, basis).is_some_and(|terms| terms.presence == Presence::WithAccepted) {
                let there = find(&list.conditions, with).is_some();
                found.push(held(Rule::SupportedVersionPresent, list.path_of(with), there, || {
                    format!("{type_} without it")
                }));
            }
        }
    }
    // What serves is accepted, of the same generation. What that says of a later one is no word about this.
    let serves = list.terms(dialect.ready(), basis).and_then(|_| find(&list.conditions, dialect.ready()));
    let Some(programmed) = serves.filter(|serves| serves.status == "True") else { return found };
    let good =
        accepted.is_some_and(|accepted| match accepted.observed_generation.cmp(&programmed.observed_generation) {
            Ordering::Less => false,
            Ordering::Equal => accepted.status == "True",
            Ordering::Greater => true,
        });
    found.push(held(Rule::ProgrammedAfterAccepted, list.path_of(dialect.ready()), good, || match accepted {
        Some(accepted) => format!("{programmed}, but {accepted}"),
        None => format!("{programmed} without {type_}"),
    }));
    found
}
