use super::{
    attach::{Content, Parent, RouteState, Routes},
    verdict::{Verdict, resolved_refs},
};
use crate::{
    settings::Settings,
    status::{DesiredStatus, ParentStatus, StatusUpdate},
};

/// Desired `status.parents` of every route that has a parent in scope, or an entry of ours that has to go.
pub(crate) fn statuses(routes: &Routes<'_>, settings: &Settings) -> Vec<StatusUpdate> {
    let speaks_of = |route: &&RouteState<'_>| {
        let entries = route.object.raw.pointer("/status/parents").and_then(serde_json::Value::as_array);
        let left_over = |entry: &serde_json::Value| entry["controllerName"] == settings.controller_name.as_str();
        !route.parents.is_empty() || entries.is_some_and(|entries| entries.iter().any(left_over))
    };
    routes.all.iter().filter(speaks_of).map(|route| status(route, settings).stamped()).collect()
}

fn status(route: &RouteState<'_>, settings: &Settings) -> StatusUpdate {
    let (resolved, partially_invalid) = match &route.content {
        Content::Http(judged) => (resolved_refs(&judged.problems), judged.partially_invalid()),
        Content::Tcp(judged) => (resolved_refs(&judged.problems), judged.partially_invalid()),
    };
    let parents = route.parents.iter().map(|parent| ParentStatus {
        parent_ref: parent.reference.clone(),
        controller_name: settings.controller_name.clone(),
        conditions: conditions(parent, &resolved, partially_invalid.as_ref()),
    });
    StatusUpdate {
        kind: route.kind,
        key: route.object.key(),
        generation: route.object.meta.generation,
        controller_name: settings.controller_name.clone(),
        status: DesiredStatus::Route { parents: parents.collect() },
    }
}

/// `Accepted` and `ResolvedRefs` stand on every entry, rejected ones too; `PartiallyInvalid` only where it is true.
fn conditions(
    parent: &Parent<'_>,
    resolved: &Verdict,
    partially_invalid: Option<&Verdict>,
) -> Vec<crate::status::Condition> {
    let mut conditions = vec![parent.accepted.condition("Accepted"), resolved.condition("ResolvedRefs")];
    if let Some(partial) = partially_invalid.filter(|_| parent.accepted.is_true()) {
        conditions.push(partial.condition("PartiallyInvalid"));
    }
    conditions
}
