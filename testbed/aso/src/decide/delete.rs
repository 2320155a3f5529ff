//! On the way out of Azure.

use super::{Again, Decision, Seen, create};
use crate::{
    arm::{Method, Purpose},
    classify::Retry,
    status::Severity,
    world::{Policy, RESOURCE_ID},
};

/// What to do about an object that is to go.
pub(super) fn delete(seen: Seen<'_>) -> Decision {
    let (facts, memory) = (seen.facts, seen.memory);
    if !facts.has_finalizer() {
        return seen.rest();
    }
    let keeps = matches!(facts.policy(), Policy::Skip | Policy::DetachOnDelete);
    if keeps || memory.is_gone || facts.annotation(RESOURCE_ID).is_none() {
        return Decision { finalizer: Some(false), ..seen.rest() };
    }
    if let Err(missing) = &facts.subscription {
        return seen.blocked(Severity::Warning, "Failed", missing.clone());
    }
    if let Err(decision) = create::check_subscription(seen) {
        return *decision;
    }
    if let Some(poll) = seen.operation().filter(|poll| poll.deletes) {
        let mut decision = if memory.due.is_some_and(|due| due > seen.now) {
            seen.wait()
        } else {
            Decision { request: seen.poll(poll), ..seen.rest() }
        };
        decision.say(deleting(seen));
        return decision;
    }
    // Only what already failed waits; what went on before the deletion does not count.
    let essence = facts.essence();
    let has_tried = memory.essence == Some(essence);
    if has_tried && memory.due.is_some_and(|due| due > seen.now) {
        return seen.wait();
    }
    let mut decision = seen.rest();
    decision.memory.essence = Some(essence);
    decision.memory.is_parked = false;
    if !has_tried {
        decision.memory.failures = 0;
        decision.memory.due = None;
    }
    decision.request = if facts.kind.has_delete {
        seen.request(Method::Delete, Purpose::Delete, None)
    } else {
        seen.request(Method::Get, Purpose::Linger, None)
    };
    decision
}

pub(super) fn deleting(seen: Seen<'_>) -> crate::status::Ready {
    seen.info("Deleting", "the resource is being deleted")
}

/// ARM says that the resource is gone: so it is said once more, and the next decision lets the object go.
pub(super) fn gone(seen: Seen<'_>) -> Decision {
    let mut decision = seen.rest();
    decision.say(deleting(seen));
    decision.memory.is_gone = true;
    decision.forget_operation();
    decision.again = Again::Now;
    decision
}

/// What cannot be deleted is still there.
pub(super) fn lingers(seen: Seen<'_>) -> Decision {
    let message = "Azure has no way to delete a resource of this type; the annotation \
                   serviceoperator.azure.com/reconcile-policy: detach-on-delete lets the object go without it";
    seen.warn(Retry::Slow, "DeletionNotSupported", message)
}
