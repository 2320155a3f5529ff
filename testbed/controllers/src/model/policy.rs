use std::collections::BTreeMap;

use gateproof_proxy::pem::bundle;
use serde::Deserialize;

/// `BackendTLSPolicy.spec`.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct BackendTlsPolicySpec {
    /// What it applies to.
    pub target_refs: Vec<TargetRef>,
    /// Whom connections believe.
    pub validation: Validation,
}

/// What a policy applies to, in its own namespace.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct TargetRef {
    /// API group, empty for core.
    pub group: String,
    /// Kind.
    pub kind: String,
    /// Name.
    pub name: String,
    /// Of a Service the name of one port; all of them when absent.
    pub section_name: Option<String>,
}

/// `spec.validation`.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Validation {
    /// Bundles of authorities.
    pub ca_certificate_refs: Vec<AuthorityRef>,
    /// A set of authorities that is known by name.
    #[serde(rename = "wellKnownCACertificates")]
    pub well_known_ca_certificates: Option<String>,
    /// The server name, and what the certificate must carry if there are no `subject_alt_names`.
    pub hostname: String,
    /// Names of which the certificate must carry one.
    pub subject_alt_names: Vec<AltName>,
}

/// A reference to a bundle of authorities, in the namespace of the policy.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct AuthorityRef {
    /// API group, empty for core.
    pub group: String,
    /// Kind.
    pub kind: String,
    /// Name.
    pub name: String,
}

/// A name that a certificate may carry.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct AltName {
    /// `Hostname` or `URI`.
    pub r#type: String,
    /// The name, if it is a host.
    pub hostname: String,
    /// The name, if it is a URI.
    pub uri: String,
}

/// A ConfigMap, as far as it can be a bundle of authorities.
#[derive(Clone, Debug, PartialEq)]
pub struct ConfigMapView {
    /// The bundle in PEM, or why there is none.
    pub authorities: Result<String, String>,
}

/// A ClusterTrustBundle.
#[derive(Clone, Debug, PartialEq)]
pub struct TrustBundleView {
    /// The bundle in PEM, or why there is none.
    pub authorities: Result<String, String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct TrustBundleSpec {
    #[serde(default)]
    trust_bundle: String,
}

impl TrustBundleView {
    /// Reads the `spec` and makes sure that there are authorities in it.
    pub fn read(spec: &serde_json::Value) -> Result<Self, serde_json::Error> {
        let TrustBundleSpec { trust_bundle } = TrustBundleSpec::deserialize(spec)?;
        let authorities = match bundle(&trust_bundle) {
            Ok(_) => Ok(trust_bundle),
            Err(why) => Err(format!("has a trustBundle that {why}")),
        };
        Ok(Self { authorities })
    }
}

#[derive(Deserialize)]
struct ConfigMapData {
    #[serde(default)]
    data: BTreeMap<String, String>,
}

impl ConfigMapView {
    /// Reads `ca.crt` and makes sure that there are authorities in it.
    pub fn read(map: &serde_json::Value) -> Result<Self, serde_json::Error> {
        let ConfigMapData { mut data } = ConfigMapData::deserialize(map)?;
        let authorities = match data.remove("ca.crt") {
            None => Err("has no ca.crt".to_owned()),
            Some(pem) => match bundle(&pem) {
                Ok(_) => Ok(pem),
                Err(why) => Err(format!("has a ca.crt that {why}")),
            },
        };
        Ok(Self { authorities })
    }
}
