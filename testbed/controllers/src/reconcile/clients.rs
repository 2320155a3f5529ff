//! Validation of client certificates.

use gateproof_proxy::config::{Admits, ClientValidation, Refuses};
use serde::Deserialize;

use super::{
    authorities::Source,
    certificates,
    grants::{From, To, permitted},
    verdict::Problem,
};
use crate::{
    model::{Certificate, ClientAuthorityRef, FrontendValidation, GATEWAY_GROUP, GatewaySpec},
    snapshot::{Object, Snapshot},
};

/// What the validation on a port comes to: what the data plane has to do, or nothing if no authority is left, which closes the
/// listener in either mode. Broken references beside good ones are left out.
pub(crate) fn judge(
    snapshot: &Snapshot,
    gateway: &Object,
    spec: &FrontendValidation,
) -> (Option<ClientValidation>, Vec<Problem>) {
    let (mut authorities, mut problems) = (String::new(), Vec::new());
    for reference in &spec.ca_certificate_refs {
        match authority(snapshot, gateway, reference) {
            Ok(bundle) => authorities.push_str(&format!("{bundle}\n")),
            Err(problem) => problems.push(problem),
        }
    }
    if authorities.is_empty() {
        return (None, problems);
    }
    let admits = if spec.falls_back() { Admits::Everybody } else { Admits::Valid };
    (Some(ClientValidation { authorities, admits, refuses: Refuses::InHandshake }), problems)
}

/// What a Gateway shows to backends that ask for a certificate, or why it has nothing to show; nothing where it is to show none.
pub(crate) fn own(snapshot: &Snapshot, gateway: &Object, spec: &GatewaySpec) -> Option<Result<Certificate, Problem>> {
    let reference = spec.tls.as_ref()?.backend.as_ref()?.client_certificate_ref.as_ref()?;
    Some(certificates::resolve(snapshot, (gateway, "Gateway"), reference).map_err(|problem| match problem.reason {
        "InvalidCertificateRef" => Problem { reason: "InvalidClientCertificateRef", ..problem },
        _ => problem,
    }))
}

/// Whether a validation as a Gateway has it names an authority that can be used.
pub(crate) fn has_authority(snapshot: &Snapshot, gateway: &Object, validation: &serde_json::Value) -> bool {
    FrontendValidation::deserialize(validation).is_ok_and(|spec| judge(snapshot, gateway, &spec).0.is_some())
}

/// The bundle of a reference, or why it cannot be had.
fn authority(snapshot: &Snapshot, gateway: &Object, reference: &ClientAuthorityRef) -> Result<String, Problem> {
    let own = &gateway.meta.namespace;
    let namespace = reference.namespace.as_ref().filter(|namespace| !namespace.is_empty()).unwrap_or(own);
    let (group, kind, name) = (&*reference.group, &*reference.kind, &*reference.name);
    let what = format!("caCertificateRef {kind} {namespace}/{name}");
    let source = Source::of(snapshot, group, kind)
        .map_err(|why| Problem::new("InvalidCACertificateKind", format!("{what} {why}")))?;
    let what = if source == Source::TrustBundle { format!("caCertificateRef {kind} {name}") } else { what };
    let from = From { group: GATEWAY_GROUP, kind: "Gateway", namespace: own };
    if source == Source::ConfigMap && !permitted(snapshot, from, To { group, kind, namespace, name }) {
        return Err(Problem::new("RefNotPermitted", format!("{what}: no ReferenceGrant in {namespace} permits it")));
    }
    source
        .read(snapshot, namespace, name)
        .map_err(|why| Problem::new("InvalidCACertificateRef", format!("{what}{why}")))
}
