use serde::Deserialize;

use super::CertificateRef;

/// `Gateway.spec.tls`.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct GatewayTls {
    /// What clients have to prove.
    pub frontend: Option<FrontendTls>,
    /// What the Gateway proves to backends.
    pub backend: Option<GatewayBackendTls>,
}

/// `Gateway.spec.tls.backend`.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct GatewayBackendTls {
    /// The certificate that it shows.
    pub client_certificate_ref: Option<CertificateRef>,
}

/// `Gateway.spec.tls.frontend`.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct FrontendTls {
    /// Holds on every HTTPS port that `perPort` does not name.
    pub default: PortTls,
    /// Exceptions by port.
    pub per_port: Vec<PortValidation>,
}

/// What holds on a port.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct PortTls {
    /// What clients have to prove; nothing unless given.
    pub validation: Option<FrontendValidation>,
}

/// Client certificate rules of one port.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct PortValidation {
    /// The listener port.
    pub port: u16,
    /// The rules.
    pub tls: PortTls,
}

/// One set of client certificate rules.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct FrontendValidation {
    /// Bundles of authorities.
    pub ca_certificate_refs: Vec<ClientAuthorityRef>,
    /// `AllowValidOnly` (default) or `AllowInsecureFallback`.
    pub mode: Option<String>,
}

impl FrontendValidation {
    /// Whether clients without a valid certificate get through.
    pub fn falls_back(&self) -> bool {
        self.mode.as_deref() == Some("AllowInsecureFallback")
    }
}

impl FrontendTls {
    /// What holds on a port.
    pub fn of_port(&self, port: u16) -> Option<&FrontendValidation> {
        let own = self.per_port.iter().find(|entry| entry.port == port).map(|entry| &entry.tls);
        own.unwrap_or(&self.default).validation.as_ref()
    }

    /// Whether clients without a valid certificate get through somewhere.
    pub fn falls_back(&self) -> bool {
        let of_ports = self.per_port.iter().map(|entry| &entry.tls);
        of_ports.chain([&self.default]).filter_map(|tls| tls.validation.as_ref()).any(FrontendValidation::falls_back)
    }
}

/// A reference to a bundle of authorities that sign certificates of clients.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ClientAuthorityRef {
    /// API group, empty for core.
    pub group: String,
    /// Kind.
    pub kind: String,
    /// Name.
    pub name: String,
    /// Namespace of the referent, the Gateway's own when absent.
    pub namespace: Option<String>,
}
