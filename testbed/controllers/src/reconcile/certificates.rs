use super::{
    grants::{From, To, permitted},
    verdict::Problem,
};
use crate::{
    model::{Certificate, CertificateRef, GATEWAY_GROUP},
    snapshot::{Object, Snapshot},
};

/// Follows a certificate reference of a listener. A reference that is not permitted says so and nothing about whether
/// the Secret exists, which is not for the owner of the listener to know.
pub(crate) fn resolve(
    snapshot: &Snapshot,
    (of, kind_of): (&Object, &str),
    reference: &CertificateRef,
) -> Result<Certificate, Problem> {
    let own = &of.meta.namespace;
    let namespace = reference.namespace.as_ref().filter(|namespace| !namespace.is_empty()).unwrap_or(own);
    let (group, kind, name) = (&*reference.group, &*reference.kind, &*reference.name);
    let what = format!("certificateRef {kind} {namespace}/{name}");
    if (group, kind) != ("", "Secret") {
        let group = if group.is_empty() { "core" } else { group };
        return Err(Problem::new("InvalidCertificateRef", format!("{what} of group {group}: only core Secrets work")));
    }
    let from = From { group: GATEWAY_GROUP, kind: kind_of, namespace: own };
    if !permitted(snapshot, from, To { group, kind, namespace, name }) {
        return Err(Problem::new("RefNotPermitted", format!("{what}: no ReferenceGrant in {namespace} permits it")));
    }
    let Some((_, secret)) = snapshot.secret(namespace, name) else {
        return Err(Problem::new("InvalidCertificateRef", format!("{what}: no such Secret")));
    };
    secret.certificate.clone().map_err(|why| Problem::new("InvalidCertificateRef", format!("{what} {why}")))
}
