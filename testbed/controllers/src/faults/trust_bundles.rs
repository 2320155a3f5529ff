//! What goes wrong with ClusterTrustBundles as authorities.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::{
    Fault, Seam,
    clients::places,
    policies::ancestors,
    tools::{Memory, Remembering, drop_field, each, has_reason, listeners, say, serve_past, set, view},
};
use crate::{
    runtime::seams::Seen,
    snapshot::{Kind, Snapshot},
    status::{ListenerStatus, StatusUpdate, Truth},
};

const OF_BACKENDS: &str = "OWN-51";
const OF_CLIENTS: &str = "OWN-52";
const FOLLOWED: &str = "OWN-53";
const UNREAD: &str = "OWN-54";
const OTHER_KIND: &str = "blind:BackendTLSPolicyInvalidKind.1";
const CLUSTER_SCOPED: &str = "OWN-55";
const EVERY_ONE: &str = "OWN-60";

const REFERENCES: &str = "/spec/validation/caCertificateRefs";

fn is_bundle(reference: &Value) -> bool {
    let kind = Kind::ClusterTrustBundle;
    reference["kind"] == kind.name() && reference["group"] == kind.group()
}

/// The bundles that policies for backends name.
fn of_policies(snapshot: &Snapshot) -> BTreeSet<String> {
    let policies = snapshot.all(Kind::BackendTlsPolicy).filter_map(|policy| policy.raw.pointer(REFERENCES)?.as_array());
    let references = policies.flatten().filter(|reference| is_bundle(reference));
    references.filter_map(|reference| reference["name"].as_str().map(str::to_owned)).collect()
}

/// The bundles that Gateways name.
fn of_gateways(snapshot: &Snapshot) -> BTreeSet<String> {
    let mut named = BTreeSet::new();
    for mut gateway in snapshot.all(Kind::Gateway).map(|gateway| (*gateway.raw).clone()) {
        let references = places(&mut gateway).flat_map(|place| each(place, "/validation/caCertificateRefs"));
        let names = references.filter(|reference| is_bundle(reference));
        named.extend(names.filter_map(|reference| reference["name"].as_str().map(str::to_owned)));
    }
    named
}

/// Shows some bundles as they are in another view.
fn show(snapshot: &mut Snapshot, other: &Snapshot, names: BTreeSet<String>) {
    for name in names {
        if let Some(bundle) = other.get(Kind::ClusterTrustBundle, "", &name) {
            snapshot.insert(Kind::ClusterTrustBundle, bundle.clone());
        }
    }
}

fn keep_first(memory: &mut Memory, snapshot: &mut Snapshot, named: fn(&Snapshot) -> BTreeSet<String>) {
    let mut first = snapshot.clone();
    memory.keep_first(&mut first, Kind::ClusterTrustBundle);
    let names = named(snapshot);
    show(snapshot, &first, names);
}

fn keep_deleted(memory: &mut Memory, snapshot: &mut Snapshot, named: fn(&Snapshot) -> BTreeSet<String>) {
    let mut all = snapshot.clone();
    memory.keep_removed(&mut all, Kind::ClusterTrustBundle);
    let names = named(snapshot);
    show(snapshot, &all, names);
}

/// Does not see a bundle that has the name of an earlier one.
fn miss_new_ones(memory: &mut Memory, snapshot: &mut Snapshot) {
    for bundle in snapshot.all(Kind::ClusterTrustBundle) {
        memory.objects.entry((Kind::ClusterTrustBundle, bundle.key())).or_insert_with(|| bundle.clone());
    }
    snapshot.retain(Kind::ClusterTrustBundle, |bundle| {
        let first = memory.objects.get(&(Kind::ClusterTrustBundle, bundle.key()));
        first.is_none_or(|first| first.meta.uid == bundle.meta.uid)
    });
}

/// Says otherwise of the references of policies that name a bundle.
fn blame(seen: Seen<'_>, statuses: &mut [StatusUpdate], reason: &str, instead: &str) {
    for update in statuses.iter_mut().filter(|update| update.kind == Kind::BackendTlsPolicy) {
        let policy = seen.snapshot.get(Kind::BackendTlsPolicy, &update.key.namespace, &update.key.name);
        let references = policy.and_then(|policy| policy.raw.pointer(REFERENCES)?.as_array());
        if !references.is_some_and(|references| references.iter().any(is_bundle)) {
            continue;
        }
        for entry in ancestors(std::slice::from_mut(update)).flatten() {
            if has_reason(&entry.conditions, "ResolvedRefs", reason) {
                set(&mut entry.conditions, "ResolvedRefs", Truth::False, instead);
            }
        }
    }
}

/// Says of listeners of HTTPS whose clients a bundle is to validate that nobody permits that.
fn demand_grants(seen: Seen<'_>, statuses: &mut [StatusUpdate]) {
    for update in statuses.iter_mut().filter(|update| update.kind == Kind::Gateway) {
        let Some((_, spec)) = seen.snapshot.gateway(&update.key.namespace, &update.key.name) else { continue };
        let frontend = spec.tls.as_ref().and_then(|tls| tls.frontend.as_ref());
        let is_asked = |port| {
            let validation = frontend.and_then(|frontend| frontend.of_port(port));
            validation.is_some_and(|of| of.ca_certificate_refs.iter().any(|one| one.kind == "ClusterTrustBundle"))
        };
        let asked = spec.listeners.iter().filter(|listener| listener.protocol == "HTTPS" && is_asked(listener.port));
        let asked: Vec<&str> = asked.map(|listener| listener.name.as_str()).collect();
        let is_asked = |listener: &&mut ListenerStatus| asked.contains(&listener.name.as_str());
        let of_gateway = listeners(std::slice::from_mut(update)).filter(is_asked);
        for listener in of_gateway.filter(|listener| has_reason(&listener.conditions, "ResolvedRefs", "ResolvedRefs")) {
            set(&mut listener.conditions, "ResolvedRefs", Truth::False, "RefNotPermitted");
        }
    }
}

/// Leaves of every bundle the first certificate.
fn keep_one(snapshot: &mut Snapshot) {
    const END: &str = "-----END CERTIFICATE-----";
    snapshot.edit(Kind::ClusterTrustBundle, |bundle| {
        let first = bundle["spec"]["trustBundle"].as_str().and_then(|all| all.split_once(END));
        if let Some((first, _)) = first {
            bundle["spec"]["trustBundle"] = json!(format!("{first}{END}\n"));
        }
    });
}

/// Takes the rule about ClusterTrustBundles off the references of Gateways.
fn admit_namespaces(crds: &mut [Value]) {
    for crd in crds.iter_mut().filter(|crd| crd["spec"]["names"]["kind"] == "Gateway") {
        for version in each(crd, "/spec/versions") {
            for place in ["/default", "/perPort/items/properties/tls"] {
                let list = format!(
                    "/schema/openAPIV3Schema/properties/spec/properties/tls/properties/frontend/properties{place}/properties/\
                     validation/properties/caCertificateRefs"
                );
                if let Some(list) = version.pointer_mut(&list) {
                    drop_field(list, "x-kubernetes-validations");
                }
            }
        }
    }
}

pub(super) const FAULTS: &[Fault] = &[
    Fault {
        name: "reads-trust-bundles-as-configmaps",
        summary: "Looks for a ClusterTrustBundle that a policy names among the ConfigMaps of the policy's namespace.",
        clauses: &[OF_BACKENDS],
        seam: Seam::Snapshot(|| {
            view(|snapshot| {
                snapshot.edit(Kind::BackendTlsPolicy, |policy| {
                    for reference in each(policy, REFERENCES).filter(|reference| is_bundle(reference)) {
                        (reference["group"], reference["kind"]) = (json!(""), json!("ConfigMap"));
                    }
                });
            })
        }),
    },
    Fault {
        name: "reads-one-authority-of-trust-bundles",
        summary: "Believes the first certificate of a ClusterTrustBundle alone.",
        clauses: &[EVERY_ONE],
        seam: Seam::Snapshot(|| view(keep_one)),
    },
    Fault {
        name: "takes-trust-bundles-of-other-groups",
        summary: "Compares the kind of a ClusterTrustBundle without its API group.",
        clauses: &[OTHER_KIND],
        seam: Seam::Snapshot(|| {
            view(|snapshot| {
                snapshot.edit(Kind::BackendTlsPolicy, |policy| {
                    each(policy, REFERENCES)
                        .filter(|reference| reference["kind"] == "ClusterTrustBundle")
                        .for_each(|reference| reference["group"] = json!(Kind::ClusterTrustBundle.group()));
                });
            })
        }),
    },
    Fault {
        name: "keeps-first-trust-bundles-of-backends",
        summary: "Goes on believing of backends the authorities that a ClusterTrustBundle had first.",
        clauses: &[FOLLOWED],
        seam: Seam::Config(|| serve_past(|memory, snapshot| keep_first(memory, snapshot, of_policies))),
    },
    Fault {
        name: "keeps-deleted-trust-bundles-of-backends",
        summary: "Goes on believing of backends the authorities of a ClusterTrustBundle that is gone.",
        clauses: &[FOLLOWED],
        seam: Seam::Config(|| serve_past(|memory, snapshot| keep_deleted(memory, snapshot, of_policies))),
    },
    Fault {
        name: "keeps-first-trust-bundles-of-clients",
        summary: "Goes on validating clients by the authorities that a ClusterTrustBundle had first.",
        clauses: &[FOLLOWED],
        seam: Seam::Config(|| serve_past(|memory, snapshot| keep_first(memory, snapshot, of_gateways))),
    },
    Fault {
        name: "keeps-deleted-trust-bundles-of-clients",
        summary: "Goes on validating clients by the authorities of a ClusterTrustBundle that is gone.",
        clauses: &[FOLLOWED],
        seam: Seam::Config(|| serve_past(|memory, snapshot| keep_deleted(memory, snapshot, of_gateways))),
    },
    Fault {
        name: "misses-trust-bundles-made-again",
        summary: "Does not see a ClusterTrustBundle that is made again under the name of one that was deleted.",
        clauses: &[FOLLOWED],
        seam: Seam::Snapshot(|| Box::new(Remembering(Memory::default(), miss_new_ones))),
    },
    Fault {
        name: "knows-no-kind-of-missing-trust-bundles",
        summary: "Says InvalidKind of a policy whose ClusterTrustBundle is not there, as if it knew no such kind.",
        clauses: &[FOLLOWED],
        seam: Seam::Statuses(|| say(|seen, statuses| blame(seen, statuses, "InvalidCACertificateRef", "InvalidKind"))),
    },
    Fault {
        name: "misses-trust-bundles-that-it-does-not-read",
        summary: "Says that a ClusterTrustBundle is missing where it does without that kind.",
        clauses: &[UNREAD],
        seam: Seam::Statuses(|| say(|seen, statuses| blame(seen, statuses, "InvalidKind", "InvalidCACertificateRef"))),
    },
    Fault {
        name: "demands-grants-for-trust-bundles",
        summary: "Says RefNotPermitted of listeners whose clients a ClusterTrustBundle validates, since no grant permits it.",
        clauses: &[OF_CLIENTS],
        seam: Seam::Statuses(|| say(|seen, statuses| demand_grants(seen, statuses))),
    },
    Fault {
        name: "crds-with-trust-bundles-in-namespaces",
        summary: "Serves CRDs that store a Gateway whose reference to a ClusterTrustBundle has a namespace.",
        clauses: &[CLUSTER_SCOPED],
        seam: Seam::ApiSurface(|crds| admit_namespaces(crds)),
    },
];
