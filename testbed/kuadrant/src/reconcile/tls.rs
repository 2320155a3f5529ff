//! TLSPolicies: the certificates they ask for, and whether those are there.

use serde_json::{Value, json};

use super::{Verdict, accepted};
use crate::object::{Kind, Snapshot, condition, is_true, items, namespace, text};
use crate::settings::Settings;
use crate::topology::target;

/// Namespace, name and spec of an object to keep.
pub(crate) type Child = (String, String, Value);

/// The certificates of each accepted policy.
pub(crate) fn certificates<'a>(snapshot: &'a Snapshot, settings: &Settings) -> Vec<(&'a Value, Vec<Child>)> {
    let all = snapshot.all(Kind::TlsPolicy);
    all.filter(|policy| accepted::accepted(snapshot, settings, Kind::TlsPolicy, policy).is_ok())
        .map(|policy| (policy, of_policy(snapshot, policy)))
        .collect()
}

fn of_policy(snapshot: &Snapshot, policy: &Value) -> Vec<Child> {
    let Ok((_, gateway)) = target(snapshot, policy) else { return Vec::new() };
    let section = policy["spec"]["targetRef"]["sectionName"].as_str();
    let mut children: Vec<Child> = Vec::new();
    for listener in items(gateway, "/spec/listeners") {
        if section.is_some_and(|section| listener["name"] != section) || text(listener, "/hostname").is_empty() {
            continue;
        }
        for reference in items(listener, "/tls/certificateRefs") {
            let secret = text(reference, "/name").to_owned();
            let home = reference["namespace"].as_str().unwrap_or(namespace(gateway)).to_owned();
            if children.iter().any(|(_, known, _)| *known == secret) {
                continue;
            }
            let mut spec = json!({"secretName": secret, "dnsNames": [listener["hostname"]], "issuerRef": policy["spec"]["issuerRef"]});
            for field in ["commonName", "duration", "renewBefore", "usages", "privateKey", "revisionHistoryLimit"] {
                if let Some(value) = policy["spec"].get(field) {
                    spec[field] = value.clone();
                }
            }
            children.push((home, secret, spec));
        }
    }
    children
}

/// Whether issuer and certificates are ready.
pub(crate) fn enforced(snapshot: &Snapshot, _: &Settings, policy: &Value) -> Verdict {
    let issuer = accepted::issuer(snapshot, policy).map_err(|message| ("Unknown", message))?;
    if !is_true(&issuer["status"], "Ready") {
        let message = format!("TLSPolicy waits for its issuer {} to become ready", text(issuer, "/metadata/name"));
        return Err(("Unknown", message));
    }
    for (home, name, _) in of_policy(snapshot, policy) {
        let certificate = snapshot.get(Kind::Certificate, &home, &name);
        let status = certificate.map_or(&Value::Null, |certificate| &certificate["status"]);
        if !is_true(status, "Ready") {
            let reason = condition(status, "Ready").map(|ready| text(ready, "/reason")).unwrap_or("Unknown");
            let hint =
                if reason == "IncorrectCertificate" { ": is its Secret shared with another certificate?" } else { "" };
            return Err((
                "Unknown",
                format!("TLSPolicy waits for Certificate {home}/{name} to become ready ({reason}){hint}"),
            ));
        }
    }
    Ok("TLSPolicy is enforced".to_owned())
}
