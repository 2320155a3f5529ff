//! How backends are talked to, as the policies for TLS that are in force say.

use gateproof_proxy::config::{Authorities, BackendTls, PeerName};

use super::{
    authorities::Source,
    installed,
    verdict::{Problem, Verdict, resolved_refs},
};
use crate::{
    model::{AuthorityRef, BackendTlsPolicySpec, ServicePort, TargetRef},
    snapshot::{Object, Snapshot},
};

/// How a Service port is talked to, as the policy that is in force for it says; nothing without one. A policy that cannot be
/// carried out keeps all traffic away, for what it was to protect would go out unprotected.
pub(crate) fn of_port(
    snapshot: &Snapshot,
    namespace: &str,
    service: &str,
    port: &ServicePort,
) -> Option<Result<BackendTls, String>> {
    let section = port.name.as_deref().filter(|name| !name.is_empty());
    let named = section.and_then(|section| in_force(snapshot, namespace, service, Some(section)));
    let (object, spec) = named.or_else(|| in_force(snapshot, namespace, service, None))?;
    let judged = judge(snapshot, &object.meta.namespace, spec);
    Some(judged.tls.map_err(|refused| format!("BackendTLSPolicy {}: {}", object.key(), refused.message)))
}

/// Of the policies for exactly this part of a Service the oldest.
pub(super) fn in_force<'a>(
    snapshot: &'a Snapshot,
    namespace: &str,
    service: &str,
    section: Option<&str>,
) -> Option<(&'a Object, &'a BackendTlsPolicySpec)> {
    let is_meant = |target: &TargetRef| is_service(target, service) && section_of(target) == section;
    let here = snapshot.backend_tls_policies().filter(|(object, _)| object.meta.namespace == namespace);
    here.filter(|(_, spec)| spec.target_refs.iter().any(is_meant)).min_by_key(|(object, _)| object.meta.precedence())
}

/// Whether a target is the Service of this name.
pub(super) fn is_service(target: &TargetRef, name: &str) -> bool {
    (target.group.as_str(), target.kind.as_str(), target.name.as_str()) == ("", "Service", name)
}

/// The port that a target names, if it names one.
pub(super) fn section_of(target: &TargetRef) -> Option<&str> {
    target.section_name.as_deref().filter(|section| !section.is_empty())
}

/// What the validation of a policy comes to.
pub(super) struct Judged {
    /// Whether its references can be followed.
    pub(super) resolved: Verdict,
    /// What to do, or `Accepted` if that cannot be done.
    pub(super) tls: Result<BackendTls, Verdict>,
}

/// Judges the validation of a policy.
pub(super) fn judge(snapshot: &Snapshot, namespace: &str, spec: &BackendTlsPolicySpec) -> Judged {
    let validation = &spec.validation;
    let (mut pem, mut problems) = (String::new(), Vec::new());
    for reference in &validation.ca_certificate_refs {
        match authority(snapshot, namespace, reference) {
            Ok(bundle) => pem.push_str(&format!("{bundle}\n")),
            Err(problem) => problems.push(problem),
        }
    }
    let resolved = resolved_refs(&problems);
    let authorities = match validation.well_known_ca_certificates.as_deref().filter(|name| !name.is_empty()) {
        _ if !pem.is_empty() => Ok(Authorities::Pem(pem)),
        _ if !problems.is_empty() => {
            // Releases before v1.4 have no reason of their own for it.
            let reason = if installed::is_since(snapshot, 4) { "NoValidCACertificate" } else { "Invalid" };
            Err(Verdict::no(reason, resolved.message.clone()))
        }
        Some("System") => Ok(Authorities::System),
        Some(other) => {
            Err(Verdict::no("Invalid", format!("wellKnownCACertificates {other} is not known: only System is")))
        }
        None => Err(Verdict::no("Invalid", "It names no authority")),
    };
    let names = validation.subject_alt_names.iter().map(|name| match name.r#type.as_str() {
        "Hostname" => Ok(PeerName::Dns(name.hostname.clone())),
        "URI" => Ok(PeerName::Uri(name.uri.clone())),
        other => Err(Verdict::no("Invalid", format!("subjectAltNames of type {other} are not known"))),
    });
    let names: Result<Vec<_>, Verdict> = names.collect();
    let server_name = validation.hostname.clone();
    let tls =
        authorities.and_then(|authorities| Ok(BackendTls { server_name, authorities, names: names?, client: None }));
    Judged { resolved, tls }
}

/// The bundle of a reference, or why it cannot be had.
fn authority(snapshot: &Snapshot, namespace: &str, reference: &AuthorityRef) -> Result<String, Problem> {
    let AuthorityRef { group, kind, name } = reference;
    let what = format!("caCertificateRef {kind} {name}");
    let source =
        Source::of(snapshot, group, kind).map_err(|why| Problem::new("InvalidKind", format!("{what} {why}")))?;
    source
        .read(snapshot, namespace, name)
        .map_err(|why| Problem::new("InvalidCACertificateRef", format!("{what}{why}")))
}
