use std::collections::BTreeMap;

use base64::Engine;
use rustls::{crypto::ring::default_provider, sign::CertifiedKey};
use rustls_pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject};
use serde::Deserialize;

/// A Namespace; only its labels count, and they are in `metadata`.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
pub struct NamespaceView {}

/// `Service.spec`.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ServiceSpec {
    /// `ClusterIP`, `NodePort`, `LoadBalancer` or `ExternalName`.
    pub r#type: String,
    /// Ports.
    pub ports: Vec<ServicePort>,
    /// Address families, in order of preference; empty where the server did not fill them in.
    pub ip_families: Vec<String>,
}

/// One port of a Service.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ServicePort {
    /// Name; what EndpointSlices refer to.
    pub name: Option<String>,
    /// Port number.
    pub port: u16,
    /// `TCP` (default), `UDP` or `SCTP`.
    pub protocol: Option<String>,
    /// What is spoken on it.
    pub app_protocol: Option<String>,
}

/// An EndpointSlice.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct EndpointSliceView {
    /// `IPv4`, `IPv6` or `FQDN`.
    pub address_type: String,
    /// Endpoints.
    pub endpoints: Vec<SliceEndpoint>,
    /// Ports; null from the API means none.
    #[serde(deserialize_with = "null_is_empty")]
    pub ports: Vec<SlicePort>,
}

fn null_is_empty<'de, D: serde::Deserializer<'de>>(from: D) -> Result<Vec<SlicePort>, D::Error> {
    Ok(Option::deserialize(from)?.unwrap_or_default())
}

/// One endpoint.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct SliceEndpoint {
    /// Addresses; consumers use the first.
    pub addresses: Vec<String>,
    /// Conditions.
    pub conditions: EndpointConditions,
}

impl SliceEndpoint {
    /// Whether the endpoint takes traffic; an absent `ready` is to be read as true.
    pub fn is_ready(&self) -> bool {
        self.conditions.ready.unwrap_or(true)
    }
}

/// Conditions of an endpoint.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct EndpointConditions {
    /// Whether it takes traffic.
    pub ready: Option<bool>,
}

/// One port of an EndpointSlice.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct SlicePort {
    /// Name of the Service port.
    pub name: Option<String>,
    /// Port on the endpoints.
    pub port: Option<u16>,
}

/// A Secret, as far as it can be a certificate.
#[derive(Clone, Debug, PartialEq)]
pub struct SecretView {
    /// The certificate, or why there is none.
    pub certificate: Result<Certificate, String>,
}

/// A certificate chain with the key that belongs to it, in PEM.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Certificate {
    /// The chain, leaf first.
    pub chain_pem: String,
    /// The private key.
    pub key_pem: String,
}

#[derive(Deserialize)]
struct SecretData {
    #[serde(default)]
    data: BTreeMap<String, String>,
}

impl SecretView {
    /// Reads the pair `tls.crt`, `tls.key` out of a Secret and makes sure that a handshake can be made with it.
    pub fn read(secret: &serde_json::Value) -> Result<Self, serde_json::Error> {
        let SecretData { data } = SecretData::deserialize(secret)?;
        Ok(Self { certificate: certificate(&data) })
    }
}

fn certificate(data: &BTreeMap<String, String>) -> Result<Certificate, String> {
    let field = |name: &str| -> Result<String, String> {
        let text = data.get(name).ok_or_else(|| format!("has no {name}"))?;
        let bytes = base64::engine::general_purpose::STANDARD
            .decode(text)
            .map_err(|_| format!("has a {name} not in base64"))?;
        String::from_utf8(bytes).map_err(|_| format!("has a {name} that is not PEM"))
    };
    let (chain_pem, key_pem) = (field("tls.crt")?, field("tls.key")?);
    let chain: Vec<_> = CertificateDer::pem_slice_iter(chain_pem.as_bytes())
        .collect::<Result<_, _>>()
        .map_err(|error| format!("has a malformed tls.crt: {error}"))?;
    if chain.is_empty() {
        return Err("has no certificate in tls.crt".into());
    }
    let key = PrivateKeyDer::from_pem_slice(key_pem.as_bytes())
        .map_err(|error| format!("has a malformed tls.key: {error}"))?;
    // Checks that the certificate parses, that the key is of a usable type and that the two belong together.
    CertifiedKey::from_der(chain, key, &default_provider())
        .map_err(|error| format!("has an unusable pair of tls.crt and tls.key: {error}"))?;
    Ok(Certificate { chain_pem, key_pem })
}

/// A CustomResourceDefinition, as far as it tells which Gateway API is installed.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct CrdView {
    /// API group of the kind.
    pub group: String,
    /// Names of the kind.
    pub names: CrdNames,
}

/// `CustomResourceDefinition.spec.names`.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct CrdNames {
    /// Kind.
    pub kind: String,
    /// Resource.
    pub plural: String,
}
