//! What goes wrong with policies for TLS to backends beside other policies, other controllers and streams.

use std::collections::BTreeSet;

use gateproof_proxy::config::{
    Authorities, BackendTarget, BackendTls, Config, PeerName, Protocol, StreamListener, TcpTarget,
};
use serde_json::{Value, json};

use super::{
    Fault, Seam,
    policies::count_hostname,
    tools::{Memory, backends, has_reason, say, serve, serve_past, set, view},
    writer::merge,
};
use crate::{
    model::BackendTlsPolicySpec,
    runtime::seams::{Seen, StatusesSeam},
    snapshot::{Kind, Object, Snapshot},
    status::{DesiredStatus, StatusUpdate, Truth},
};

/// Lets every policy be as old as the others.
fn forget_ages(snapshot: &mut Snapshot) {
    snapshot.edit(Kind::BackendTlsPolicy, |policy| {
        policy["metadata"]["creationTimestamp"] = json!("1970-01-01T00:00:00Z");
    });
}

/// Whether another policy in the same namespace for the same target comes before this one.
fn loses(policy: &Object, snapshot: &Snapshot) -> bool {
    let targets =
        |of: &Object| of.raw.pointer("/spec/targetRefs").and_then(Value::as_array).cloned().unwrap_or_default();
    let own = targets(policy);
    let mut others = snapshot.all(Kind::BackendTlsPolicy).filter(|other| {
        other.meta.namespace == policy.meta.namespace && other.meta.precedence() < policy.meta.precedence()
    });
    others.any(|other| targets(other).iter().any(|target| own.contains(target)))
}

/// Leaves out each policy that ever lost against another one.
fn forget_losers(memory: &mut Memory, snapshot: &mut Snapshot) {
    let lost: Vec<_> = snapshot.all(Kind::BackendTlsPolicy).filter(|policy| loses(policy, snapshot)).cloned().collect();
    memory.objects.extend(lost.into_iter().map(|policy| ((Kind::BackendTlsPolicy, policy.key()), policy)));
    snapshot.retain(Kind::BackendTlsPolicy, |policy| {
        let known = memory.objects.get(&(Kind::BackendTlsPolicy, policy.key()));
        known.is_none_or(|lost| lost.meta.uid != policy.meta.uid)
    });
}

/// Says of each policy that lost once, by its uid, that it does so for ever.
#[derive(Default)]
struct OnceConflicted(BTreeSet<String>);

impl StatusesSeam for OnceConflicted {
    fn edit(&mut self, seen: Seen<'_>, statuses: &mut Vec<StatusUpdate>) {
        for update in statuses {
            let DesiredStatus::Policy { ancestors } = &mut update.status else { continue };
            let policy = seen.snapshot.get(update.kind, &update.key.namespace, &update.key.name);
            let Some(uid) = policy.map(|policy| policy.meta.uid.clone()) else { continue };
            if ancestors.iter().any(|entry| has_reason(&entry.conditions, "Accepted", "Conflicted")) {
                self.0.insert(uid);
            } else if self.0.contains(&uid) {
                let entries = ancestors.iter_mut();
                entries.for_each(|entry| set(&mut entry.conditions, "Accepted", Truth::False, "Conflicted"));
            }
        }
    }
}

/// Removes the entries of others from a status.
fn drop_foreign(desired: &StatusUpdate, status: &mut Value) {
    if let Some(entries) = status.get_mut("ancestors").and_then(Value::as_array_mut) {
        entries.retain(|entry| entry["controllerName"] == desired.controller_name.as_str());
    }
}

/// Lets each of several entries of others be there twice.
fn double_foreign(desired: &StatusUpdate, status: &mut Value) {
    let Some(entries) = status.get_mut("ancestors").and_then(Value::as_array_mut) else { return };
    let is_foreign = |entry: &Value| entry["controllerName"] != desired.controller_name.as_str();
    let mut once: Vec<Value> = Vec::new();
    for entry in entries.iter().filter(|entry| is_foreign(entry)) {
        if !once.contains(entry) {
            once.push(entry.clone());
        }
    }
    if once.len() > 1 {
        entries.retain(|entry| !is_foreign(entry));
        entries.extend(once.iter().flat_map(|entry| [entry.clone(), entry.clone()]));
    }
}

/// Puts own entries, for which there is no room, in place of the last ones of others.
fn push_out_foreign(desired: &StatusUpdate, status: &mut Value) {
    let DesiredStatus::Policy { ancestors } = &desired.status else { return };
    let Some(entries) = status.get_mut("ancestors").and_then(Value::as_array_mut) else { return };
    let is_own = |entry: &Value| entry["controllerName"] == desired.controller_name.as_str();
    let Some(own) = entries.iter().find(|entry| is_own(entry)).cloned() else { return };
    for ancestor in ancestors {
        let reference = json!(ancestor.parent_ref);
        let is_there = entries.iter().any(|entry| is_own(entry) && entry["ancestorRef"] == reference);
        let last = entries.iter().rposition(|entry| !is_own(entry)).filter(|_| !is_there);
        if let Some(entry) = last.and_then(|at| entries.get_mut(at)) {
            *entry = own.clone();
            entry["ancestorRef"] = reference;
        }
    }
}

/// Whether a policy is one that is not accepted.
fn is_refused(desired: &StatusUpdate) -> bool {
    let DesiredStatus::Policy { ancestors } = &desired.status else { return false };
    let mut conditions = ancestors.iter().flat_map(|entry| &entry.conditions);
    conditions.any(|condition| condition.r#type == "Accepted" && condition.status == Truth::False)
}

/// The listeners of protocol TLS.
fn streams(config: &mut Config) -> impl Iterator<Item = &mut StreamListener> {
    let ports = config.listeners.iter_mut().filter_map(|lane| match &mut lane.protocol {
        Protocol::Tls(port) => Some(port),
        _ => None,
    });
    ports.flat_map(|port| port.streams.iter_mut())
}

/// Takes TLS away from the backends of a listener. Whether there was any.
fn undo(stream: &mut StreamListener) -> bool {
    let mut any = false;
    for backend in stream.routes.iter_mut().flat_map(|route| &mut route.backends) {
        if let TcpTarget::Encrypted { endpoints, .. } = &backend.target {
            backend.target = TcpTarget::Endpoints(endpoints.clone());
            any = true;
        }
    }
    any
}

/// Settings of every encrypted backend of streams.
fn encrypted(config: &mut Config) -> impl Iterator<Item = &mut BackendTls> {
    let backends = streams(config).flat_map(|stream| &mut stream.routes).flat_map(|route| &mut route.backends);
    backends.filter_map(|backend| match &mut backend.target {
        TcpTarget::Encrypted { tls, .. } => Some(tls),
        _ => None,
    })
}

/// Finds no target where a policy names authorities by a well-known name.
fn misname(seen: Seen<'_>, statuses: &mut Vec<StatusUpdate>) {
    for update in statuses {
        let policy = seen.snapshot.backend_tls_policy(&update.key.namespace, &update.key.name);
        let names = |spec: &BackendTlsPolicySpec| spec.validation.well_known_ca_certificates.is_some();
        if let DesiredStatus::Policy { ancestors } = &mut update.status
            && policy.is_some_and(|(_, spec)| names(spec))
        {
            let entries = ancestors.iter_mut();
            entries.for_each(|entry| set(&mut entry.conditions, "Accepted", Truth::False, "TargetNotFound"));
        }
    }
}

/// Has every policy that names well-known authorities name those of the system.
fn name_the_system(snapshot: &mut Snapshot) {
    snapshot.edit(Kind::BackendTlsPolicy, |policy| {
        if let Some(named) = policy.pointer_mut("/spec/validation/wellKnownCACertificates") {
            *named = json!("System");
        }
    });
}

/// Sends requests on, signed by whomever, that fail for the authorities that their policy names.
fn believe_under_unknown(seen: Seen<'_>, config: &mut Config) {
    let mut known = seen.otherwise(name_the_system).config;
    for (backend, other) in backends(config).zip(backends(&mut known)) {
        let BackendTarget::Tls { tls, .. } = &mut other.target else { continue };
        if tls.authorities == Authorities::System && matches!(backend.target, BackendTarget::Fail { .. }) {
            tls.authorities = Authorities::Any;
            backend.target.clone_from(&other.target);
        }
    }
}

/// Sends requests on in clear text that fail for the authorities that their policy names.
fn undo_under_unknown(seen: Seen<'_>, config: &mut Config) {
    let mut known = seen.otherwise(name_the_system).config;
    for (backend, other) in backends(config).zip(backends(&mut known)) {
        let BackendTarget::Tls { endpoints, tls, .. } = &other.target else { continue };
        if tls.authorities == Authorities::System && matches!(backend.target, BackendTarget::Fail { .. }) {
            backend.target = BackendTarget::Endpoints(endpoints.clone());
        }
    }
}

pub(super) const FAULTS: &[Fault] = &[
    Fault {
        name: "compares-policies-by-name-alone",
        summary: "Takes the first by name of several policies for one target, however old they are.",
        clauses: &["upstream:BackendTLSPolicyConflictResolution", "blind:BackendTLSPolicyConflictResolution.1"],
        seam: Seam::Snapshot(|| view(forget_ages)),
    },
    Fault {
        name: "keeps-policies-conflicted",
        summary: "Goes on saying Conflicted of a policy when the one that it lost against is gone.",
        clauses: &["blind:BackendTLSPolicyConflictResolution.3"],
        seam: Seam::Statuses(|| Box::new(OnceConflicted::default())),
    },
    Fault {
        name: "forgets-policies-that-lost",
        summary: "Takes no notice any more of a policy that lost against another one, though that is gone.",
        clauses: &["blind:BackendTLSPolicyConflictResolution.3"],
        seam: Seam::Config(|| serve_past(forget_losers)),
    },
    Fault {
        name: "drops-foreign-ancestors",
        summary: "Removes the entries of other controllers from status.ancestors.",
        clauses: &["IMPL-20", "IMPL-36", "K8S-11", "upstream:BackendTLSPolicyPreserveForeignStatus"],
        seam: Seam::StatusWriter(|inner| merge(inner, |_, desired, status| drop_foreign(desired, status))),
    },
    Fault {
        name: "drops-foreign-ancestors-of-refused-policies",
        summary: "Removes the entries of other controllers from the status of a policy that it does not accept.",
        clauses: &["IMPL-20", "IMPL-36", "K8S-11", "blind:BackendTLSPolicyPreserveForeignStatus.1"],
        seam: Seam::StatusWriter(|inner| {
            merge(inner, |_, desired, status| {
                if is_refused(desired) {
                    drop_foreign(desired, status);
                }
            })
        }),
    },
    Fault {
        name: "doubles-foreign-ancestors",
        summary: "Writes the entries of other controllers twice into a policy that has several.",
        clauses: &["IMPL-20", "blind:BackendTLSPolicyPreserveForeignStatus.2"],
        seam: Seam::StatusWriter(|inner| merge(inner, |_, desired, status| double_foreign(desired, status))),
    },
    Fault {
        name: "pushes-foreign-ancestors-out",
        summary: "Makes room for its entries of a policy at the cost of those of others.",
        clauses: &["IMPL-20", "blind:BackendTLSPolicyPreserveForeignStatus.3"],
        seam: Seam::StatusWriter(|inner| merge(inner, |_, desired, status| push_out_foreign(desired, status))),
    },
    Fault {
        name: "drops-foreign-conditions-of-policies",
        summary: "Removes conditions that somebody else put into its entries of a policy.",
        clauses: &["GEP1364-19", "K8S-11", "blind:BackendTLSPolicyPreserveForeignStatus.4"],
        seam: Seam::StatusWriter(|inner| {
            merge(inner, |_, desired, status| {
                let entries = status.get_mut("ancestors").and_then(Value::as_array_mut).into_iter().flatten();
                for entry in entries.filter(|entry| entry["controllerName"] == desired.controller_name.as_str()) {
                    if let Some(conditions) = entry.get_mut("conditions").and_then(Value::as_array_mut) {
                        conditions.retain(|one| !one["type"].as_str().unwrap_or_default().contains('/'));
                    }
                }
            })
        }),
    },
    Fault {
        name: "sends-clear-text-behind-tls-listeners",
        summary: "Forwards what it took out of TLS in clear text to backends that have a policy for TLS.",
        clauses: &["upstream:BackendTLSPolicyTLSRouteTerminate"],
        seam: Seam::Config(|| {
            serve(|_, config| {
                for stream in streams(config) {
                    undo(stream);
                }
            })
        }),
    },
    Fault {
        name: "passes-streams-with-policies-on",
        summary: "Leaves TLS to backends that have a policy for it, whatever the mode of the listener.",
        clauses: &["upstream:BackendTLSPolicyTLSRouteTerminate", "blind:BackendTLSPolicyTLSRouteTerminate.2"],
        seam: Seam::Config(|| {
            serve(|_, config| {
                for stream in streams(config) {
                    if undo(stream) {
                        stream.certificates = None;
                    }
                }
            })
        }),
    },
    Fault {
        name: "forwards-streams-to-other-backends",
        summary: "Looks at who signed the certificate of the backend of a stream, and not at whom it is for.",
        clauses: &["blind:BackendTLSPolicyTLSRouteTerminate.1"],
        seam: Seam::Config(|| serve(|_, config| encrypted(config).for_each(|tls| tls.names = vec![PeerName::Any]))),
    },
    Fault {
        name: "ignores-alternative-names-for-streams",
        summary: "Holds the certificate of the backend of a stream to the hostname of the policy where that has alternative names.",
        clauses: &["OWN-136"],
        seam: Seam::Config(|| serve(|_, config| encrypted(config).for_each(|tls| tls.names.clear()))),
    },
    Fault {
        name: "counts-hostnames-among-names-for-streams",
        summary: "Takes the certificate of the backend of a stream for the hostname of its policy, too, where that has alternative names.",
        clauses: &["OWN-136"],
        seam: Seam::Config(|| serve(|_, config| encrypted(config).for_each(count_hostname))),
    },
    Fault {
        name: "forwards-streams-to-strangers",
        summary: "Does not look at who signed the certificate of the backend of a stream.",
        clauses: &["blind:BackendTLSPolicyTLSRouteTerminate.1"],
        seam: Seam::Config(|| serve(|_, config| encrypted(config).for_each(|tls| tls.authorities = Authorities::Any))),
    },
    Fault {
        name: "believes-anybody-under-unknown-authorities",
        summary: "Looks at no signature where a policy names well-known authorities that nobody knows.",
        clauses: &["OWN-76"],
        seam: Seam::Config(|| serve(believe_under_unknown)),
    },
    Fault {
        name: "sends-clear-text-under-unknown-authorities",
        summary: "Takes no notice of a policy that names well-known authorities which nobody knows.",
        clauses: &["OWN-76"],
        seam: Seam::Config(|| serve(undo_under_unknown)),
    },
    Fault {
        name: "takes-any-name-for-the-system",
        summary: "Reads whatever a policy names as well-known authorities as those of the system.",
        clauses: &["GEP1364-39"],
        seam: Seam::Snapshot(|| view(name_the_system)),
    },
    Fault {
        name: "believes-anybody-for-the-system",
        summary: "Looks at no signature where a policy names the authorities of the system.",
        clauses: &["upstream:BackendTLSPolicy"],
        seam: Seam::Config(|| {
            serve(|_, config| {
                for backend in backends(config) {
                    if let BackendTarget::Tls { tls, .. } = &mut backend.target
                        && tls.authorities == Authorities::System
                    {
                        tls.authorities = Authorities::Any;
                    }
                }
            })
        }),
    },
    Fault {
        name: "refuses-well-known-authorities-for-the-wrong-reason",
        summary: "Says TargetNotFound of a policy that names the authorities of the system.",
        clauses: &["GEP1364-43"],
        seam: Seam::Statuses(|| say(misname)),
    },
];
