//! TLS towards backends.

use serde::Serialize;

use super::Certificate;

/// How connections to a backend are encrypted, and whom they believe. A backend that shows no certificate as it has to be gets
/// no request; clients get 502.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct BackendTls {
    /// The server name of the handshake.
    pub server_name: String,
    /// Who must have signed the certificate.
    pub authorities: Authorities,
    /// Names of which the certificate must carry one; none: it must carry `server_name`.
    pub names: Vec<PeerName>,
    /// What is shown to backends that ask for a certificate, if anything.
    pub client: Option<Certificate>,
}

/// Who is believed to sign certificates of backends.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub enum Authorities {
    /// These, as a bundle in PEM.
    Pem(String),
    /// These, as a bundle in PEM, for what they signed themselves.
    Signers(String),
    /// These, as a bundle in PEM, also for what will be valid.
    Early(String),
    /// Those that this machine believes.
    System,
    /// Everybody, at any time: certificates count for nothing but their names.
    Any,
}

/// A name that a certificate carries.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub enum PeerName {
    /// A host.
    Dns(String),
    /// A URI, compared to the letter.
    Uri(String),
    /// A host as it stands there, which no wildcard takes.
    Literal(String),
    /// A host, which a wildcard takes however many labels it has before the domain.
    AnyLabels(String),
    /// What the subject is called.
    CommonName(String),
    /// Whatever it carries.
    Any,
}
