//! Checks of ClusterTrustBundles. Whether somebody may speak for a signer is not looked at.

use std::collections::HashSet;

use rustls_pki_types::pem::{PemObject, SectionKind};
use serde_json::Value;
use x509_parser::certificate::X509Certificate;
use x509_parser::prelude::FromDer;

use super::names::bad_name;
use crate::error::StatusCause;
use crate::meta;
use crate::resource::NameRule;

/// How long a bundle may be.
const LONGEST: usize = 1024 * 1024;

/// What is wrong with a bundle: its name, which begins with that of its signer if it has one, and its certificates, unless they are
/// those of `old`.
pub fn validate_trust_bundle(object: &Value, old: Option<&Value>) -> Vec<StatusCause> {
    let signer = object["spec"]["signerName"].as_str().unwrap_or_default();
    let wrong_name = name(signer, meta::name(object));
    let mut causes: Vec<StatusCause> = wrong_name
        .map(|why| StatusCause::invalid("metadata.name", &object["metadata"]["name"], &why))
        .into_iter()
        .collect();
    if !signer.is_empty() && !is_signer(signer) {
        let why = "must be of the form <domain>/<path>, where the domain is fully qualified";
        causes.push(StatusCause::invalid("spec.signerName", &signer.into(), why));
    }
    let (bundle, before) = (&object["spec"]["trustBundle"], old.map(|old| &old["spec"]));
    if before.is_none_or(|before| before["trustBundle"] != *bundle) {
        let why = certificates(bundle.as_str().unwrap_or_default());
        causes.extend(why.map(|why| StatusCause::invalid("spec.trustBundle", &"<value omitted>".into(), &why)));
    }
    if before.is_some_and(|before| before["signerName"].as_str().unwrap_or_default() != signer) {
        causes.push(StatusCause::invalid("spec.signerName", &signer.into(), "field is immutable"));
    }
    causes
}

fn name(signer: &str, name: &str) -> Option<String> {
    let rest = if signer.is_empty() {
        if name.contains(':') {
            return Some("ClusterTrustBundle without signer name must not have \":\" in its name".to_owned());
        }
        name
    } else {
        let prefix = format!("{}:", signer.replace('/', ":"));
        match name.strip_prefix(&prefix) {
            Some(rest) => rest,
            None => {
                return Some(format!("ClusterTrustBundle for signerName {signer} must be named with prefix {prefix}"));
            }
        }
    };
    bad_name(NameRule::Subdomain, rest).map(str::to_owned)
}

fn is_signer(name: &str) -> bool {
    let is_good = |part| bad_name(NameRule::Subdomain, part).is_none();
    name.split_once('/').is_some_and(|(domain, path)| domain.contains('.') && is_good(domain) && is_good(path))
}

/// The first thing that is wrong with certificates in PEM.
fn certificates(pem: &str) -> Option<String> {
    if pem.len() > LONGEST {
        return Some(format!("may not be more than {LONGEST} bytes"));
    }
    let mut known = HashSet::new();
    for (index, section) in <(SectionKind, Vec<u8>)>::pem_slice_iter(pem.as_bytes()).enumerate() {
        match section {
            Ok((SectionKind::Certificate, certificate)) => {
                if let Some(why) = certificate_problem(&certificate) {
                    return Some(format!("entry {index} {why}"));
                }
                if !known.insert(certificate) {
                    return Some(format!("duplicate trust anchor (entry {index})"));
                }
            }
            Ok((kind, _)) => return Some(format!("entry {index} has bad block type: {kind:?}")),
            Err(_) => return Some(format!("entry {index} is no block of PEM")),
        }
    }
    known.is_empty().then(|| "at least one trust anchor must be provided".to_owned())
}

fn certificate_problem(der: &[u8]) -> Option<&'static str> {
    let Ok((_, certificate)) = X509Certificate::from_der(der) else { return Some("does not parse as X.509") };
    match certificate.basic_constraints() {
        Ok(Some(constraints)) if constraints.value.ca => None,
        Ok(_) => Some("does not have the CA bit set"),
        Err(_) => Some("has invalid basic constraints"),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use rstest::rstest;
    use serde_json::json;

    use super::*;

    fn authority() -> (String, String) {
        certificate(rcgen::IsCa::Ca(rcgen::BasicConstraints::Unconstrained))
    }

    fn certificate(is_ca: rcgen::IsCa) -> (String, String) {
        let key = rcgen::KeyPair::generate().unwrap();
        let mut params = rcgen::CertificateParams::new(vec!["authority.test".to_owned()]).unwrap();
        params.is_ca = is_ca;
        (params.self_signed(&key).unwrap().pem(), key.serialize_pem())
    }

    fn fields(name: &str, signer: Option<&str>, bundle: &str, old: Option<&Value>) -> Vec<String> {
        let object = json!({"metadata": {"name": name}, "spec": {"signerName": signer, "trustBundle": bundle}});
        validate_trust_bundle(&object, old).into_iter().map(|cause| cause.field).collect()
    }

    #[rstest]
    #[case::plain("a", None, &[])]
    #[case::colon("a:b", None, &["metadata.name"])]
    #[case::capital("A", None, &["metadata.name"])]
    #[case::of_its_signer("x.dev:s:a", Some("x.dev/s"), &[])]
    #[case::of_another_signer("x.dev:t:a", Some("x.dev/s"), &["metadata.name"])]
    #[case::nothing_behind_the_signer("x.dev:s:", Some("x.dev/s"), &["metadata.name"])]
    #[case::no_domain("x:s:a", Some("x/s"), &["spec.signerName"])]
    fn names_begin_with_the_signer(#[case] name: &str, #[case] signer: Option<&str>, #[case] wrong: &[&str]) {
        assert_eq!(fields(name, signer, &authority().0, None), wrong);
    }

    #[test]
    fn a_bundle_holds_certificates_and_none_twice() {
        let ((one, key), (other, _)) = (authority(), authority());
        let garbage = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";
        for (bundle, is_good) in [
            (format!("{one}{other}"), true),
            (format!("# ours\n{one}"), true),
            (String::new(), false),
            ("no certificate".to_owned(), false),
            (garbage.to_owned(), false),
            (format!("{one}{key}"), false),
            (format!("{one}{other}{one}"), false),
            (format!("{one}{}", certificate(rcgen::IsCa::NoCa).0), false),
            (format!("{one}{}", certificate(rcgen::IsCa::ExplicitNoCa).0), false),
        ] {
            let wrong: &[&str] = if is_good { &[] } else { &["spec.trustBundle"] };
            assert_eq!(fields("a", None, &bundle, None), wrong, "{bundle}");
        }
    }

    #[test]
    fn what_stays_as_it_was_is_not_read_and_the_signer_stays() {
        let old = json!({"metadata": {"name": "a"}, "spec": {"trustBundle": "old"}});
        assert_eq!(fields("a", None, "old", Some(&old)), [""; 0]);
        assert_eq!(fields("a", None, "new", Some(&old)), ["spec.trustBundle"]);
        assert_eq!(fields("x.dev:s:a", Some("x.dev/s"), "old", Some(&old)), ["spec.signerName"]);
    }
}
