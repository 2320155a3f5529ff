//! Controllers with limits of their own, which say so.

use gateproof_proxy::Config;

use super::{Place, Variant, say::say};
use crate::{
    faults::{
        limits::{NAME, is_beyond, is_large},
        tools,
    },
    runtime::seams::{ConfigSeam, Seen, StatusesSeam},
    snapshot::{Kind, ObjectKey, Snapshot},
    status::{DesiredStatus, StatusUpdate, Truth},
};

struct HasLimits;

impl StatusesSeam for HasLimits {
    fn edit(&mut self, seen: Seen<'_>, statuses: &mut Vec<StatusUpdate>) {
        let refused: Vec<ObjectKey> = statuses
            .iter()
            .filter(|update| is_beyond(seen.snapshot, update))
            .map(|update| update.key.clone())
            .collect();
        // What is refused is not counted.
        tools::copy_counts(without(seen, &refused).statuses, statuses);
        for update in statuses {
            let is_refused = update.kind == Kind::HttpRoute && refused.contains(&update.key);
            let is_long = update.key.name.len() > NAME;
            match &mut update.status {
                DesiredStatus::Route { parents } if is_refused => {
                    for parent in parents {
                        tools::set(&mut parent.conditions, "Accepted", Truth::False, "UnsupportedValue");
                    }
                }
                DesiredStatus::Gateway { conditions, .. } if is_long => {
                    tools::set(conditions, "Accepted", Truth::False, "Invalid");
                    tools::set(conditions, "Programmed", Truth::False, "Invalid");
                }
                _ => {}
            }
        }
    }
}

impl ConfigSeam for HasLimits {
    fn edit(&mut self, seen: Seen<'_>, config: &mut Config) {
        let routes = seen.snapshot.all(Kind::HttpRoute).filter(|route| is_large(&route.raw));
        let refused: Vec<ObjectKey> = routes.map(|route| route.key()).collect();
        if !refused.is_empty() {
            *config = without(seen, &refused).config;
        }
    }
}

/// What would follow without these routes.
fn without(seen: Seen<'_>, routes: &[ObjectKey]) -> crate::reconcile::Outcome {
    seen.otherwise(|snapshot| routes.iter().for_each(|key| drop(snapshot.remove(Kind::HttpRoute, key))))
}

/// Says of Gateways with very long names that they are taken, and why nothing of them will be there.
fn tell_long_names(_: &Snapshot, update: &mut StatusUpdate) {
    if let DesiredStatus::Gateway { conditions, listeners, .. } = &mut update.status
        && update.key.name.len() > NAME
    {
        let lists = listeners.iter_mut().map(|listener| (&mut listener.conditions, "Invalid"));
        for (conditions, reason) in lists.chain([(conditions, "NameTooLong")]) {
            for condition in conditions.iter_mut().filter(|condition| condition.r#type == "Programmed") {
                condition.status = Truth::False;
                condition.reason = reason.to_owned();
                condition.message = format!("no name may have more than {NAME} characters here");
            }
        }
    }
}

pub(super) const VARIANTS: &[Variant] = &[
    Variant {
        name: "has-limits",
        summary: "Refuses routes with very many matches, a very long hostname or a backoff, and Gateways with very long names.",
        source: "RouteReasonUnsupportedValue: a value that is not recognised, or not supported; of a Gateway's name no text says that \
                 there must be room for it.",
        place: Place::Runtime(|seams| {
            seams.statuses.push(Box::new(HasLimits));
            seams.config.push(Box::new(HasLimits));
        }),
    },
    Variant {
        name: "lacks-room-for-long-names",
        summary: "Accepts Gateways with very long names, and says for good, with a reason of its own, that it cannot program them.",
        source: "Gateway conditions, Programmed: controllers may give reasons beyond those listed, though they should prefer these; of a \
                 Gateway's name no text says that there must be room for it.",
        place: Place::Runtime(|seams| say(seams, tell_long_names)),
    },
];
