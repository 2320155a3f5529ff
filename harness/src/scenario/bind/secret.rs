//! Data of TLS Secrets.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use super::BindError;

/// The data of a `kubernetes.io/tls` Secret with a fresh self-signed certificate for these hosts.
pub(super) fn tls(hosts: Vec<String>) -> Result<Value, BindError> {
    let failed = |error: rcgen::Error| BindError::Certificate(error.to_string());
    let made = rcgen::generate_simple_self_signed(hosts).map_err(failed)?;
    Ok(json!({
        "tls.crt": STANDARD.encode(made.cert.pem()),
        "tls.key": STANDARD.encode(made.signing_key.serialize_pem()),
    }))
}
