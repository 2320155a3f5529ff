//! Entries of `status.parents` that stay although the route no longer names their parent, or the parent is nobody's any more.

use serde_json::Value;

use super::{Place, Variant};
use crate::{
    model::ParentRef,
    runtime::seams::{Seen, StatusesSeam},
    status::{Condition, DesiredStatus, ENTRIES, ParentStatus, StatusUpdate, Truth},
};

/// Keeps them as they are.
struct Leaves;

impl StatusesSeam for Leaves {
    fn edit(&mut self, seen: Seen<'_>, statuses: &mut Vec<StatusUpdate>) {
        for update in statuses {
            let StatusUpdate { kind, key, controller_name, status, .. } = update;
            let (DesiredStatus::Route { parents }, Some(route)) =
                (status, seen.snapshot.get(*kind, &key.namespace, &key.name))
            else {
                continue;
            };
            let entries = route.raw.pointer("/status/parents").and_then(Value::as_array).into_iter().flatten();
            let (own, others): (Vec<_>, Vec<_>) =
                entries.partition(|entry| entry["controllerName"] == controller_name.as_str());
            // What is needed comes first.
            let room = ENTRIES.saturating_sub(others.len() + parents.len());
            let left: Vec<ParentStatus> = own
                .into_iter()
                .filter_map(|entry| read(entry, controller_name))
                .filter(|left| !parents.iter().any(|one| one.parent_ref.same(&left.parent_ref, &key.namespace)))
                .take(room)
                .collect();
            parents.extend(left);
        }
    }
}

fn read(entry: &Value, controller: &str) -> Option<ParentStatus> {
    let parent_ref: ParentRef = serde_json::from_value(entry["parentRef"].clone()).ok()?;
    let conditions = entry["conditions"].as_array()?.iter().map(condition).collect::<Option<_>>()?;
    Some(ParentStatus { parent_ref, controller_name: controller.to_owned(), conditions })
}

fn condition(from: &Value) -> Option<Condition> {
    let text = |field: &str| from[field].as_str();
    let status = match text("status")? {
        "True" => Truth::True,
        "False" => Truth::False,
        _ => Truth::Unknown,
    };
    Some(Condition {
        observed_generation: from["observedGeneration"].as_i64(),
        last_transition_time: text("lastTransitionTime").map(str::to_owned),
        ..Condition::new(text("type")?, status, text("reason")?, text("message").unwrap_or_default())
    })
}

pub(super) const VARIANTS: &[Variant] = &[Variant {
    name: "leaves-entries-behind",
    summary: "Leaves its entries of status.parents as they were once the route names another parent, or the parent is gone.",
    source: "Implementer's guide (IMPL-36): the status of routes that fall out of scope should be left alone, which their \
             observedGeneration tells; that entries no longer needed go is a SHOULD of RouteStatus.parents.",
    place: Place::Runtime(|seams| seams.statuses.push(Box::new(Leaves))),
}];
