//! The components that the policies wait for, as far as their statuses go: they find everything in order unless they are
//! told otherwise. A status that somebody else wrote stays, so that another can play the component.

use serde_json::{Map, Value};

use super::key;
use crate::components::{Component, Place, STOPPED};
use crate::object::{Kind, Snapshot, condition, namespace, text};
use crate::status::{Change, Condition, StatusUpdate};

/// What begins the messages of these components.
const VOICE: &str = "embedded component: ";

pub(super) fn statuses(snapshot: &Snapshot) -> Vec<StatusUpdate> {
    let mut updates = Vec::new();
    let watched = [
        (Kind::Authorino, Component::Authorino),
        (Kind::Limitador, Component::Limitador),
        (Kind::AuthConfig, Component::Authorino),
        (Kind::DnsRecord, Component::Dns),
        (Kind::Issuer, Component::Issuer),
        (Kind::ClusterIssuer, Component::Issuer),
        (Kind::Certificate, Component::Issuer),
    ];
    for (kind, component) in watched {
        for object in snapshot.all(kind) {
            let is_cluster_service = matches!(component, Component::Authorino | Component::Limitador);
            let host = if kind == Kind::AuthConfig { "/spec/hosts/0" } else { "/spec/rootHost" };
            let place =
                Place { namespace: if is_cluster_service { "" } else { namespace(object) }, host: text(object, host) };
            let is_issuer = matches!(kind, Kind::Issuer | Kind::ClusterIssuer);
            let stopped = snapshot.components.stopped(component, place);
            // A reason is that of the certificates: their issuer has none of its own.
            let stopped = stopped.filter(|reason| !is_issuer || *reason == STOPPED);
            // A service that is down takes back nothing of what it has read; one that does not take a host's says so.
            if kind == Kind::AuthConfig && snapshot.components.stopped(component, Place::default()).is_some() {
                continue;
            }
            // An account elsewhere is nothing that can be had here.
            let hopeless =
                is_issuer && object["spec"].get("selfSigned").is_none() && object["spec"].get("ca").is_none();
            let mut wanted = Vec::new();
            match stopped {
                Some(reason) => wanted.push(Condition::new("Ready", false, reason, format!("{VOICE}stopped"))),
                None if hopeless => {}
                None => wanted.push(Condition::new("Ready", true, "Ready", format!("{VOICE}ready"))),
            }
            if kind == Kind::DnsRecord && object["spec"].get("healthCheck").is_some() {
                let sick = snapshot.components.unhealthy(component, place);
                let (reason, message) = if sick { ("Unhealthy", "not healthy") } else { ("Healthy", "healthy") };
                wanted.push(Condition::new("Healthy", !sick, reason, format!("{VOICE}{message}")));
            }
            wanted.retain(|one| {
                let said = condition(&object["status"], &one.r#type);
                said.is_none_or(|said| text(said, "/message").starts_with(VOICE))
            });
            if !wanted.is_empty() {
                let change = Change::Own {
                    conditions: wanted,
                    owned: Vec::new(),
                    fields: Map::<String, Value>::new(),
                    ancestors: Vec::new(),
                };
                updates.push(StatusUpdate { key: key(kind, object), change });
            }
        }
    }
    updates
}
