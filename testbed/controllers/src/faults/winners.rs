//! Conflicts that end because the winner goes elsewhere, and not because it is deleted.

use std::sync::Arc;

use serde_json::{Value, json};

use super::{
    Fault, Seam,
    tools::{Memory, serve_past},
};
use crate::snapshot::{Kind, Object, Snapshot};

/// What of an object others may want, too.
type Wants = fn(&Object) -> Vec<Value>;

fn listed(object: &Object, place: &str) -> Vec<Value> {
    object.raw.pointer(place).and_then(Value::as_array).cloned().unwrap_or_default()
}

fn parents(route: &Object) -> Vec<Value> {
    listed(route, "/spec/parentRefs")
}

fn targets(policy: &Object) -> Vec<Value> {
    listed(policy, "/spec/targetRefs")
}

fn hostnames(route: &Object) -> Vec<Value> {
    listed(route, "/spec/hostnames")
}

/// Ports and hostnames of a Gateway.
fn listeners(set: &Object) -> Vec<Value> {
    let of = &set.raw["spec"]["parentRef"];
    let all = listed(set, "/spec/listeners").into_iter();
    all.map(|listener| json!([of, listener["port"], listener["hostname"]])).collect()
}

/// Leaves out each object that ever lost all that it wants to an older one of its namespace, as long as that is there, whatever it
/// wants by now.
fn wait_for_the_end(memory: &mut Memory, snapshot: &mut Snapshot, kind: Kind, wants: Wants) {
    let all: Vec<Arc<Object>> = snapshot.all(kind).cloned().collect();
    for one in &all {
        let own = wants(one);
        let has_all = |other: &Object| {
            let theirs = wants(other);
            !own.is_empty() && own.iter().all(|wanted| theirs.contains(wanted))
        };
        let winner = all.iter().find(|other| {
            other.meta.namespace == one.meta.namespace
                && other.meta.precedence() < one.meta.precedence()
                && has_all(other)
        });
        if let Some(winner) = winner {
            memory.objects.insert((kind, one.key()), Arc::clone(winner));
        }
    }
    snapshot.retain(kind, |one| {
        let winner = memory.objects.get(&(kind, one.key()));
        winner.is_none_or(|winner| all.iter().all(|other| other.meta.uid != winner.meta.uid))
    });
}

pub(super) const FAULTS: &[Fault] = &[
    Fault {
        name: "leaves-ports-to-tcproutes-that-moved",
        summary: "Serves nothing of a TCPRoute that lost its listener to an older one, as long as that is there, though it has moved away.",
        clauses: &["blind:TCPRouteMultipleRoutesAttachment.1"],
        seam: Seam::Config(|| {
            serve_past(|memory, snapshot| wait_for_the_end(memory, snapshot, Kind::TcpRoute, parents))
        }),
    },
    Fault {
        name: "leaves-ports-to-udproutes-that-moved",
        summary: "Serves nothing of a UDPRoute that lost its listener to an older one, as long as that is there, though it has moved away.",
        clauses: &["blind:UDPRouteMultipleRoutesAttachment.1"],
        seam: Seam::Config(|| {
            serve_past(|memory, snapshot| wait_for_the_end(memory, snapshot, Kind::UdpRoute, parents))
        }),
    },
    Fault {
        name: "leaves-names-to-tlsroutes-that-changed",
        summary: "Serves nothing of a TLSRoute that lost its server names to an older one, as long as that is there, though it has others.",
        clauses: &["OWN-29"],
        seam: Seam::Config(|| {
            serve_past(|memory, snapshot| wait_for_the_end(memory, snapshot, Kind::TlsRoute, hostnames))
        }),
    },
    Fault {
        name: "leaves-targets-to-policies-that-moved",
        summary: "Takes no notice of a policy that lost its target to an older one, as long as that is there, though it has another target.",
        clauses: &["blind:BackendTLSPolicyConflictResolution.3"],
        seam: Seam::Config(|| {
            serve_past(|memory, snapshot| wait_for_the_end(memory, snapshot, Kind::BackendTlsPolicy, targets))
        }),
    },
    Fault {
        name: "leaves-hosts-to-listener-sets-that-changed",
        summary: "Serves nothing of a ListenerSet that lost to an older one, as long as that is there, though it has another hostname.",
        clauses: &["blind:ListenerSetHostnameConflict.2"],
        seam: Seam::Config(|| {
            serve_past(|memory, snapshot| wait_for_the_end(memory, snapshot, Kind::ListenerSet, listeners))
        }),
    },
];
