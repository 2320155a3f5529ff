//! Policies that name several targets.

use std::collections::BTreeSet;

use serde_json::Value;

use super::Bug;
use crate::{
    faults::{Fault, Seam, tools::serve_from},
    snapshot::{Kind, Snapshot},
};

/// Leaves each policy one target of every name, whatever ports they are.
fn keep_one_of_a_name(snapshot: &mut Snapshot) {
    snapshot.edit(Kind::BackendTlsPolicy, |policy| {
        let Some(targets) = policy.pointer_mut("/spec/targetRefs").and_then(Value::as_array_mut) else { return };
        let mut known = BTreeSet::new();
        targets.retain(|target| known.insert(target["name"].to_string()));
    });
}

pub(super) const BUGS: &[Bug] = &[Bug {
    fault: Fault {
        name: "heeds-one-port-of-a-target",
        summary: "Has a policy in force for the first of the ports that it names of a Service.",
        clauses: &["OWN-151"],
        seam: Seam::Config(|| serve_from(keep_one_of_a_name)),
    },
    reported: &["envoyproxy/gateway#4630"],
}];
