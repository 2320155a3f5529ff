//! Accounts of backends that say something else than what there was.

use gateproof_proxy::body::{self, Body};
use http::{Response, header::CONTENT_LENGTH};
use http_body_util::{BodyExt, Collected};
use serde_json::{Value, json};

/// An account of what came in clear text, as if that had not been so.
pub(super) fn over_tls(account: &mut Value, name: &str) {
    if account.get("tls").is_none() {
        account["tls"] = json!({"serverName": name});
    }
}

/// An account of a certificate that was shown, as if it had been a fresh one for this name.
pub(super) fn shown(account: &mut Value, name: &str) {
    if let Ok(made) = rcgen::generate_simple_self_signed([name.to_owned()]) {
        account["tls"]["peerCertificates"] = json!([made.cert.pem()]);
    }
}

/// An answer whose account says something else.
pub(super) async fn told(response: Response<Body>, change: impl FnOnce(&mut Value)) -> Response<Body> {
    let (mut parts, body) = response.into_parts();
    let bytes = body.collect().await.map(Collected::to_bytes).unwrap_or_default();
    let Ok(mut account) = serde_json::from_slice::<Value>(&bytes) else {
        return Response::from_parts(parts, body::full(bytes));
    };
    change(&mut account);
    parts.headers.remove(CONTENT_LENGTH);
    Response::from_parts(parts, body::full(account.to_string()))
}
