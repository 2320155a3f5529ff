//! Other ways with policies for TLS to backends.

use gateproof_proxy::{
    Config,
    config::{Authorities, Backend, BackendTarget},
};

use super::{Place, Variant, say::say};
use crate::{
    faults::tools,
    model::AuthorityRef,
    runtime::seams::{ConfigSeam, Seen},
    snapshot::{ObjectKey, Snapshot},
    status::{DesiredStatus, StatusUpdate, Truth},
};

/// Answers 502 where a policy cannot be carried out.
struct BadGateway;

impl ConfigSeam for BadGateway {
    fn edit(&mut self, _: Seen<'_>, config: &mut Config) {
        for Backend { target, .. } in tools::backends(config) {
            if let BackendTarget::Fail { status, reason } = target
                && reason.contains("BackendTLSPolicy ")
            {
                *status = 502;
            }
        }
    }
}

/// Keeps requests from backends whose policy names authorities by a well-known name.
struct NoneKnown;

impl ConfigSeam for NoneKnown {
    fn edit(&mut self, _: Seen<'_>, config: &mut Config) {
        for Backend { target, .. } in tools::backends(config) {
            if matches!(target, BackendTarget::Tls { tls, .. } if tls.authorities == Authorities::System) {
                let reason = "wellKnownCACertificates is not supported".to_owned();
                *target = BackendTarget::Fail { status: 500, reason };
            }
        }
    }
}

fn refuse_well_known(snapshot: &Snapshot, update: &mut StatusUpdate) {
    let StatusUpdate { key: ObjectKey { namespace, name }, status: DesiredStatus::Policy { ancestors }, .. } = update
    else {
        return;
    };
    let policy = snapshot.backend_tls_policy(namespace, name);
    if policy.is_none_or(|(_, spec)| spec.validation.well_known_ca_certificates.is_none()) {
        return;
    }
    for entry in ancestors {
        tools::set(&mut entry.conditions, "Accepted", Truth::False, "Invalid");
    }
}

/// A core Secret is an authority, if it is there.
fn miss_secrets(snapshot: &Snapshot, update: &mut StatusUpdate) {
    let StatusUpdate { key: ObjectKey { namespace, name }, status: DesiredStatus::Policy { ancestors }, .. } = update
    else {
        return;
    };
    let is_secret = |of: &AuthorityRef| (of.group.as_str(), of.kind.as_str()) == ("", "Secret");
    let policy = snapshot.backend_tls_policy(namespace, name);
    if policy.is_none_or(|(_, spec)| !spec.validation.ca_certificate_refs.iter().all(is_secret)) {
        return;
    }
    let refused = ancestors.iter_mut().flat_map(|entry| &mut entry.conditions);
    for condition in refused.filter(|one| one.r#type == "ResolvedRefs" && one.reason == "InvalidKind") {
        condition.reason = "InvalidCACertificateRef".to_owned();
    }
}

/// A policy for a port of UDP is refused, and no route leads from a Gateway to that port.
fn omit_datagrams(_: &Snapshot, update: &mut StatusUpdate) {
    if let DesiredStatus::Policy { ancestors } = &mut update.status {
        ancestors.retain(|entry| {
            !entry.conditions.iter().any(|one| one.reason == "Invalid" && one.message.contains(" UDP "))
        });
    }
}

pub(super) const VARIANTS: &[Variant] = &[
    Variant {
        name: "finds-policies-bad-gateways",
        summary: "Answers 502 where a policy for TLS to a backend cannot be carried out.",
        source: "BackendTLSPolicy, caCertificateRefs: a connection must fail with a status of 5xx, whichever.",
        place: Place::Runtime(|seams| seams.config.push(Box::new(BadGateway))),
    },
    Variant {
        name: "knows-no-authorities-by-name",
        summary: "Says Accepted=False/Invalid of policies with wellKnownCACertificates, and keeps requests from their backends.",
        source: "BackendTLSPolicy, wellKnownCACertificates: an implementation that does not support the field says so with this reason.",
        place: Place::Runtime(|seams| {
            seams.config.push(Box::new(NoneKnown));
            say(seams, refuse_well_known);
        }),
    },
    Variant {
        name: "takes-secrets-for-authorities",
        summary: "Looks for authorities in Secrets too, and says InvalidCACertificateRef where one is not there.",
        source: "BackendTLSPolicy, caCertificateRefs: kinds beside ConfigMap are up to the implementation.",
        place: Place::Runtime(|seams| say(seams, miss_secrets)),
    },
    Variant {
        name: "says-nothing-of-policies-for-udp",
        summary: "Has no entry in a BackendTLSPolicy for a port of UDP, which has no effect.",
        source: "PolicyStatus.ancestors: \"An empty list means the Policy is not relevant for any ancestors\", and no route leads to that port.",
        place: Place::Runtime(|seams| say(seams, omit_datagrams)),
    },
];
