//! Statuses that say the same in another form.

use super::Variant;
use crate::{
    runtime::seams::{Seams, Seen, StatusesSeam},
    status::{Condition, DesiredStatus, StatusUpdate},
};

/// A change of every status, without memory.
struct Say(fn(&mut StatusUpdate));

impl StatusesSeam for Say {
    fn edit(&mut self, _: Seen<'_>, statuses: &mut Vec<StatusUpdate>) {
        statuses.iter_mut().for_each(self.0);
    }
}

fn say(seams: &mut Seams, change: fn(&mut StatusUpdate)) {
    seams.statuses.push(Box::new(Say(change)));
}

/// What is put behind every message. The start of some has a meaning of its own.
const REMARK: &str = " (as far as this controller knows)";

pub(super) const VARIANTS: &[Variant] = &[
    Variant {
        name: "orders-conditions-otherwise",
        summary: "Puts the conditions of every new list in the opposite order.",
        source: "Kubernetes API conventions: conditions are a map by type, so their order says nothing.",
        enter: |seams| say(seams, |update| update.condition_lists().into_iter().for_each(|list| list.reverse())),
    },
    Variant {
        name: "words-messages-otherwise",
        summary: "Adds a remark to the message of every condition.",
        source: "Kubernetes API conventions: messages are for people, and nothing may depend on their words.",
        enter: |seams| {
            say(seams, |update| {
                for condition in update.condition_lists().into_iter().flatten() {
                    condition.message.push_str(REMARK);
                }
            });
        },
    },
    Variant {
        name: "adds-own-conditions",
        summary: "Puts a condition of its own type beside the others in every list.",
        source: "GEP-1364 (GEP1364-19): implementations may have condition types of their own, with a domain.",
        enter: |seams| {
            say(seams, |update| {
                let generation = update.generation;
                for list in update.condition_lists() {
                    let own = Condition::new("reference.gateproof.dev/Synced", true, "Synced", "It is taken up");
                    list.push(Condition { observed_generation: Some(generation), ..own });
                }
            });
        },
    },
    Variant {
        name: "lists-parents-in-reverse",
        summary: "Puts new entries of status.parents in the opposite order of the route's parentRefs.",
        source: "RouteStatus.parents: entries name their parent; nothing is said of their order.",
        enter: |seams| {
            say(seams, |update| {
                if let DesiredStatus::Route { parents } = &mut update.status {
                    parents.reverse();
                }
            });
        },
    },
];
