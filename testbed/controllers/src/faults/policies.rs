//! What goes wrong with policies for TLS to backends.

use std::collections::BTreeMap;

use gateproof_proxy::config::{Authorities, BackendTarget, BackendTls, Config, PeerName};
use serde_json::{Value, json};

use super::{
    Fault, Seam,
    tools::{Memory, backends, drop_field, each, has_reason, say, serve, serve_from, serve_past, set, view},
};
use crate::{
    runtime::seams::{Seen, StatusesSeam},
    snapshot::{Kind, Object, Snapshot},
    status::{DesiredStatus, ParentStatus, StatusUpdate, Truth},
};

/// Entries of every policy.
pub(super) fn ancestors(statuses: &mut [StatusUpdate]) -> impl Iterator<Item = &mut Vec<ParentStatus>> {
    statuses.iter_mut().filter_map(|update| match &mut update.status {
        DesiredStatus::Policy { ancestors } => Some(ancestors),
        _ => None,
    })
}

/// Keeps every entry that a policy had, as long as there is the Gateway.
#[derive(Default)]
struct KeepsAncestors(BTreeMap<String, Vec<ParentStatus>>);

impl StatusesSeam for KeepsAncestors {
    fn edit(&mut self, seen: Seen<'_>, statuses: &mut Vec<StatusUpdate>) {
        for update in statuses {
            let DesiredStatus::Policy { ancestors } = &mut update.status else { continue };
            let own = &update.key.namespace;
            let policy = seen.snapshot.get(Kind::BackendTlsPolicy, own, &update.key.name);
            let Some(known) = policy.map(|policy| self.0.entry(policy.meta.uid.clone()).or_default()) else { continue };
            let has = |all: &[ParentStatus], one: &ParentStatus| all.iter().any(|of| of.parent_ref == one.parent_ref);
            let is_there = |of: &ParentStatus| {
                let namespace = of.parent_ref.namespace.as_ref().unwrap_or(own);
                seen.snapshot.gateway(namespace, &of.parent_ref.name).is_some()
            };
            let left = known.iter().filter(|one| !has(ancestors, one) && is_there(one)).cloned();
            let left: Vec<ParentStatus> = left.collect();
            let new: Vec<ParentStatus> = ancestors.iter().filter(|one| !has(known, one)).cloned().collect();
            known.extend(new);
            ancestors.extend(left);
        }
    }
}

/// Settings of every encrypted backend.
pub(super) fn encrypted(config: &mut Config) -> impl Iterator<Item = &mut BackendTls> {
    backends(config).filter_map(|backend| match &mut backend.target {
        BackendTarget::Tls { tls, .. } => Some(tls),
        _ => None,
    })
}

/// Takes the hostname for a name more, where there are alternative names.
pub(super) fn count_hostname(tls: &mut BackendTls) {
    if !tls.names.is_empty() {
        tls.names.push(PeerName::Dns(tls.server_name.clone()));
    }
}

/// Leaves of alternative names the hostnames, if there are any.
fn keep_hostnames(tls: &mut BackendTls) {
    let is_host = |name: &PeerName| matches!(name, PeerName::Dns(_));
    if tls.names.iter().any(is_host) {
        tls.names.retain(is_host);
    }
}

/// Takes TLS away from backends that are spoken to in this version of HTTP.
fn undo(config: &mut Config, calls: bool) {
    for backend in backends(config) {
        if let BackendTarget::Tls { endpoints, h2, .. } = &backend.target
            && *h2 == calls
        {
            let endpoints = endpoints.clone();
            backend.target =
                if calls { BackendTarget::H2cEndpoints(endpoints) } else { BackendTarget::Endpoints(endpoints) };
        }
    }
}

/// Whether the authorities of a policy, if it names any, are ConfigMaps that have some.
pub(super) fn has_authorities(known: &Snapshot, policy: &Object) -> bool {
    let references = policy.raw.pointer("/spec/validation/caCertificateRefs").and_then(Value::as_array);
    references.into_iter().flatten().all(|reference| {
        let name = reference["name"].as_str().unwrap_or_default();
        let map = known.config_map(&policy.meta.namespace, name);
        reference["kind"] == "ConfigMap"
            && reference["group"] == ""
            && map.is_some_and(|(_, map)| map.authorities.is_ok())
    })
}

/// Leaves only policies whose authorities can be had.
fn forget_broken(snapshot: &mut Snapshot) {
    let known = snapshot.clone();
    snapshot.retain(Kind::BackendTlsPolicy, |policy| has_authorities(&known, policy));
}

/// Whether a policy names a port of UDP.
fn is_for_datagrams(seen: &Seen<'_>, policy: &Object) -> bool {
    let targets = policy.raw.pointer("/spec/targetRefs").and_then(Value::as_array);
    targets.into_iter().flatten().any(|target| {
        let name = target["name"].as_str().unwrap_or_default();
        let section = target["sectionName"].as_str();
        let service = seen.snapshot.service(&policy.meta.namespace, name);
        service.is_some_and(|(_, service)| {
            let mut ports = service.ports.iter();
            ports.any(|port| {
                section.is_some() && port.name.as_deref() == section && port.protocol.as_deref() == Some("UDP")
            })
        })
    })
}

/// Shows the ConfigMaps that policies name as they were first.
fn keep_first_authorities(memory: &mut Memory, snapshot: &mut Snapshot) {
    let mut first = snapshot.clone();
    memory.keep_first(&mut first, Kind::ConfigMap);
    let known = snapshot.clone();
    for (policy, spec) in known.backend_tls_policies() {
        for reference in &spec.validation.ca_certificate_refs {
            if let Some(map) = first.get(Kind::ConfigMap, &policy.meta.namespace, &reference.name) {
                snapshot.insert(Kind::ConfigMap, map.clone());
            }
        }
    }
}

/// Takes policies for ports that their Service does not have for policies for all of its ports.
fn attach_to_all(snapshot: &mut Snapshot) {
    let known = snapshot.clone();
    snapshot.edit(Kind::BackendTlsPolicy, |policy| {
        let namespace = policy["metadata"]["namespace"].as_str().unwrap_or_default().to_owned();
        for target in each(policy, "/spec/targetRefs") {
            let service = known.service(&namespace, target["name"].as_str().unwrap_or_default());
            let section = target["sectionName"].as_str();
            if service.is_some_and(|(_, of)| of.ports.iter().all(|port| port.name.as_deref() != section)) {
                drop_field(target, "sectionName");
            }
        }
    });
}

/// Names the Service that a policy is for as its ancestor, where routes of the kind lead there.
fn name_services(seen: Seen<'_>, statuses: &mut [StatusUpdate], kind: Kind) {
    let list =
        |object: &Value, pointer: &str| object.pointer(pointer).and_then(Value::as_array).cloned().unwrap_or_default();
    let mut served: Vec<(String, Value)> = Vec::new();
    for route in seen.snapshot.all(kind) {
        for reference in list(&route.raw, "/spec/rules").iter().flat_map(|rule| list(rule, "/backendRefs")) {
            let namespace = reference["namespace"].as_str().unwrap_or(&route.meta.namespace);
            served.push((namespace.to_owned(), reference["name"].clone()));
        }
    }
    for update in statuses {
        let (namespace, name) = (update.key.namespace.clone(), update.key.name.clone());
        let DesiredStatus::Policy { ancestors } = &mut update.status else { continue };
        let Some(policy) = seen.snapshot.get(Kind::BackendTlsPolicy, &namespace, &name) else { continue };
        let service = &policy.raw["spec"]["targetRefs"][0]["name"];
        if served.iter().any(|(of, one)| *of == namespace && one == service) {
            for ancestor in ancestors.iter_mut().map(|entry| &mut entry.parent_ref) {
                (ancestor.group, ancestor.kind) = (Some(String::new()), Some("Service".to_owned()));
                (ancestor.namespace, ancestor.section_name) = (Some(namespace.clone()), None);
                ancestor.name = service.as_str().unwrap_or_default().to_owned();
            }
        }
    }
}

pub(super) const FAULTS: &[Fault] = &[
    Fault {
        name: "keeps-ancestors-of-detached-routes",
        summary: "Keeps the entry of a policy for a Gateway that no route of its Service names any more.",
        clauses: &["OWN-93"],
        seam: Seam::Statuses(|| Box::<KeepsAncestors>::default()),
    },
    Fault {
        name: "sends-clear-text-to-encrypted-backends",
        summary: "Sends requests in clear text to backends that have a policy for TLS.",
        clauses: &["upstream:BackendTLSPolicy", "blind:BackendTLSPolicy.1"],
        seam: Seam::Config(|| serve(|_, config| undo(config, false))),
    },
    Fault {
        name: "calls-encrypted-backends-in-clear-text",
        summary: "Sends calls in clear text to backends that have a policy for TLS.",
        clauses: &["upstream:BackendTLSPolicyGRPCRoute", "blind:BackendTLSPolicyGRPCRoute.1"],
        seam: Seam::Config(|| serve(|_, config| undo(config, true))),
    },
    Fault {
        name: "takes-certificates-of-other-backends",
        summary: "Looks at who signed the certificate of a backend, and not at whom it is for.",
        clauses: &["upstream:BackendTLSPolicy", "blind:BackendTLSPolicy.2", "upstream:BackendTLSPolicySANValidation"],
        seam: Seam::Config(|| serve(|_, config| encrypted(config).for_each(|tls| tls.names = vec![PeerName::Any]))),
    },
    Fault {
        name: "takes-certificates-to-come-of-backends",
        summary: "Takes the certificate of a backend that is to be valid later.",
        clauses: &["upstream:BackendTLSPolicy"],
        seam: Seam::Config(|| {
            serve(|_, config| {
                for tls in encrypted(config) {
                    if let Authorities::Pem(pem) = &tls.authorities {
                        tls.authorities = Authorities::Early(pem.clone());
                    }
                }
            })
        }),
    },
    Fault {
        name: "takes-certificates-of-any-authority",
        summary: "Does not look at who signed the certificate of a backend.",
        clauses: &["upstream:BackendTLSPolicy"],
        seam: Seam::Config(|| serve(|_, config| encrypted(config).for_each(|tls| tls.authorities = Authorities::Any))),
    },
    Fault {
        name: "keeps-first-authorities",
        summary: "Goes on believing the authorities that a ConfigMap had first.",
        clauses: &["blind:BackendTLSPolicy.1"],
        seam: Seam::Config(|| serve_past(keep_first_authorities)),
    },
    Fault {
        name: "keeps-deleted-policies-for-backends",
        summary: "Goes on with a policy for TLS to a backend after it was deleted.",
        clauses: &["blind:BackendTLSPolicy.1", "blind:BackendTLSPolicyGRPCRoute.4"],
        seam: Seam::Config(|| serve_past(|memory, snapshot| memory.keep_removed(snapshot, Kind::BackendTlsPolicy))),
    },
    Fault {
        name: "keeps-first-policies-for-backends",
        summary: "Goes on with a policy for TLS to a backend as it was first.",
        clauses: &["blind:BackendTLSPolicyObservedGenerationBump.1"],
        seam: Seam::Config(|| serve_past(|memory, snapshot| memory.keep_first(snapshot, Kind::BackendTlsPolicy))),
    },
    Fault {
        name: "falls-back-to-clear-text",
        summary: "Takes no notice of a policy for TLS to a backend whose authority cannot be had.",
        clauses: &["upstream:BackendTLSPolicyInvalidCACertificateRef", "upstream:BackendTLSPolicyInvalidKind"],
        seam: Seam::Config(|| serve_from(forget_broken)),
    },
    Fault {
        name: "takes-authorities-of-other-groups",
        summary: "Compares the kind of an authority without its API group.",
        clauses: &["blind:BackendTLSPolicyInvalidKind.1"],
        seam: Seam::Snapshot(|| {
            view(|snapshot| {
                snapshot.edit(Kind::BackendTlsPolicy, |policy| {
                    each(policy, "/spec/validation/caCertificateRefs")
                        .filter(|reference| reference["kind"] == "ConfigMap")
                        .for_each(|reference| reference["group"] = json!(""));
                });
            })
        }),
    },
    Fault {
        name: "resolves-broken-authorities",
        summary: "Says that the authorities of a policy resolve when they are missing or malformed.",
        clauses: &[
            "upstream:BackendTLSPolicyInvalidCACertificateRef",
            "blind:BackendTLSPolicyInvalidCACertificateRef.1",
        ],
        seam: Seam::Statuses(|| {
            say(|_, statuses| {
                for entry in ancestors(statuses).flatten() {
                    if has_reason(&entry.conditions, "ResolvedRefs", "InvalidCACertificateRef") {
                        set(&mut entry.conditions, "ResolvedRefs", Truth::True, "ResolvedRefs");
                    }
                }
            })
        }),
    },
    Fault {
        name: "encrypts-all-ports",
        summary: "Takes a policy for one port of a Service for one that is for all of them.",
        clauses: &[
            "upstream:BackendTLSPolicyConflictResolution",
            "blind:BackendTLSPolicyInvalidCACertificateRef.3",
            "blind:BackendTLSPolicyConflictResolution.2",
        ],
        seam: Seam::Config(|| {
            serve_from(|snapshot| {
                snapshot.edit(Kind::BackendTlsPolicy, |policy| {
                    each(policy, "/spec/targetRefs").for_each(|target| drop_field(target, "sectionName"));
                });
            })
        }),
    },
    Fault {
        name: "encrypts-for-ports-that-there-are-not",
        summary: "Takes a policy for a port that its Service does not have for one that is for all of them.",
        clauses: &["OWN-113"],
        seam: Seam::Config(|| serve_from(attach_to_all)),
    },
    Fault {
        name: "accepts-policies-for-ports-that-there-are-not",
        summary: "Accepts a policy for a port that its Service does not have.",
        clauses: &["OWN-110"],
        seam: Seam::Statuses(|| {
            say(|_, statuses| {
                for entry in ancestors(statuses).flatten() {
                    if has_reason(&entry.conditions, "Accepted", "TargetNotFound") {
                        set(&mut entry.conditions, "Accepted", Truth::True, "Accepted");
                    }
                }
            })
        }),
    },
    Fault {
        name: "accepts-policies-for-ports-of-datagrams",
        summary: "Accepts a policy for TLS to a port of UDP.",
        clauses: &["OWN-152"],
        seam: Seam::Statuses(|| {
            say(|seen, statuses| {
                for update in statuses {
                    let (of, name) = (&update.key.namespace, &update.key.name);
                    let policy = seen.snapshot.get(Kind::BackendTlsPolicy, of, name).cloned();
                    let DesiredStatus::Policy { ancestors } = &mut update.status else { continue };
                    for entry in ancestors
                        .iter_mut()
                        .filter(|_| policy.as_deref().is_some_and(|policy| is_for_datagrams(&seen, policy)))
                    {
                        set(&mut entry.conditions, "Accepted", Truth::True, "Accepted");
                    }
                }
            })
        }),
    },
    Fault {
        name: "reports-policies-under-one-gateway",
        summary: "Writes the status of a policy for one of the Gateways alone under which it applies.",
        clauses: &["upstream:BackendTLSPolicy"],
        seam: Seam::Statuses(|| say(|_, statuses| ancestors(statuses).for_each(|entries| entries.truncate(1)))),
    },
    Fault {
        name: "names-services-of-calls-as-ancestors",
        summary: "Names the Service in the status of a policy, instead of the Gateway, where a GRPCRoute leads to it.",
        clauses: &["upstream:BackendTLSPolicyGRPCRoute"],
        seam: Seam::Statuses(|| say(|seen, statuses| name_services(seen, statuses, Kind::GrpcRoute))),
    },
    Fault {
        name: "names-services-of-streams-as-ancestors",
        summary: "Names the Service in the status of a policy, instead of the Gateway, where a TLSRoute leads to it.",
        clauses: &["upstream:BackendTLSPolicyTLSRouteTerminate"],
        seam: Seam::Statuses(|| say(|seen, statuses| name_services(seen, statuses, Kind::TlsRoute))),
    },
    Fault {
        name: "ignores-alternative-names",
        summary: "Holds the certificate of a backend to the hostname of the policy where that has alternative names.",
        clauses: &["blind:BackendTLSPolicySANValidation.1"],
        seam: Seam::Config(|| serve(|_, config| encrypted(config).for_each(|tls| tls.names.clear()))),
    },
    Fault {
        name: "ignores-alternative-names-for-calls",
        summary: "Holds the certificate of the backend of a call to the hostname of the policy where that has alternative names.",
        clauses: &["OWN-136"],
        seam: Seam::Config(|| {
            serve(|_, config| {
                for backend in backends(config) {
                    if let BackendTarget::Tls { tls, h2: true, .. } = &mut backend.target {
                        tls.names.clear();
                    }
                }
            })
        }),
    },
    Fault {
        name: "counts-hostnames-among-names-for-calls",
        summary: "Takes the certificate of the backend of a call for the hostname of its policy, too, where that has alternative names.",
        clauses: &["OWN-136"],
        seam: Seam::Config(|| {
            serve(|_, config| {
                for backend in backends(config) {
                    if let BackendTarget::Tls { tls, h2: true, .. } = &mut backend.target {
                        count_hostname(tls);
                    }
                }
            })
        }),
    },
    Fault {
        name: "reads-one-alternative-name",
        summary: "Looks at the first alternative name of a policy alone.",
        clauses: &["blind:BackendTLSPolicySANValidation.2"],
        seam: Seam::Config(|| serve(|_, config| encrypted(config).for_each(|tls| tls.names.truncate(1)))),
    },
    Fault {
        name: "reads-alternative-hostnames-alone",
        summary: "Looks at the alternative names of a policy that are hostnames alone, where it has some.",
        clauses: &["blind:BackendTLSPolicySANValidation.2"],
        seam: Seam::Config(|| serve(|_, config| encrypted(config).for_each(keep_hostnames))),
    },
    Fault {
        name: "takes-any-certificate-of-two-names",
        summary: "Does not look at whom the certificate of a backend is for where its policy has several alternative names.",
        clauses: &["upstream:BackendTLSPolicySANValidation", "blind:BackendTLSPolicySANValidation.2"],
        seam: Seam::Config(|| {
            serve(|_, config| {
                encrypted(config).filter(|tls| tls.names.len() > 1).for_each(|tls| tls.names = vec![PeerName::Any]);
            })
        }),
    },
    Fault {
        name: "takes-wildcards-for-several-labels",
        summary: "Takes the wildcard in the certificate of a backend for more than one label.",
        clauses: &["OWN-67"],
        seam: Seam::Config(|| {
            serve(|_, config| {
                for tls in encrypted(config).filter(|tls| tls.names.is_empty()) {
                    let name = tls.server_name.clone();
                    tls.names = vec![PeerName::Dns(name.clone()), PeerName::AnyLabels(name)];
                }
            })
        }),
    },
    Fault {
        name: "takes-no-wildcards-of-backends",
        summary: "Compares the hostname of a policy with the names in a certificate letter by letter.",
        clauses: &["OWN-68"],
        seam: Seam::Config(|| {
            serve(|_, config| {
                for tls in encrypted(config).filter(|tls| tls.names.is_empty()) {
                    tls.names = vec![PeerName::Literal(tls.server_name.clone())];
                }
            })
        }),
    },
];
