//! Other statuses, one by one, without memory.

use crate::{
    runtime::seams::{Seams, Seen, StatusesSeam},
    snapshot::Snapshot,
    status::StatusUpdate,
};

struct Say(fn(&Snapshot, &mut StatusUpdate));

impl StatusesSeam for Say {
    fn edit(&mut self, seen: Seen<'_>, statuses: &mut Vec<StatusUpdate>) {
        statuses.iter_mut().for_each(|update| (self.0)(seen.snapshot, update));
    }
}

/// Changes every status, given what is in the cluster.
pub(super) fn say(seams: &mut Seams, change: fn(&Snapshot, &mut StatusUpdate)) {
    seams.statuses.push(Box::new(Say(change)));
}
