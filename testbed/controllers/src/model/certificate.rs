use serde::Deserialize;

/// A reference to a certificate.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct CertificateRef {
    /// API group, empty for core.
    pub group: String,
    /// Kind, `Secret` by default.
    pub kind: String,
    /// Name of the referent.
    pub name: String,
    /// Namespace of the referent, that of the listener's own object when absent.
    pub namespace: Option<String>,
}

impl Default for CertificateRef {
    fn default() -> Self {
        Self { group: String::new(), kind: "Secret".into(), name: String::new(), namespace: None }
    }
}
