//! What is looked up for a proxy: Services with their endpoints, Secrets, and whether one of another namespace may be used.

use std::net::{IpAddr, SocketAddr};

use gateproof_proxy::config::{Certificate, Sensitive};
use gateproof_runtime::object::{items, namespace, text};
use serde::Deserialize;
use serde_json::Value;

use super::Round;
use crate::api::DelegationSpec;
use crate::kinds::{Kind, Snapshot};

/// A port of a Service that can be forwarded to.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Upstream {
    /// `namespace/name:port`.
    pub(super) id: String,
    /// The ready endpoints.
    pub(super) endpoints: Vec<SocketAddr>,
    /// What the Service says is spoken there: nothing, `h2`, `h2c` or `tls`.
    pub(super) protocol: &'static str,
}

/// Names of the machine itself. What else leads there nobody looks up.
const OWN_NAMES: [&str; 3] = ["localhost", "localhost.localdomain", "local.projectcontour.io"];

/// Finds a port of a Service.
pub(super) fn service(round: &Round<'_>, of: &str, service: &str, port: u16) -> Result<Upstream, String> {
    let snapshot = round.snapshot;
    let id = format!("{of}/{service}:{port}");
    let Some(object) = snapshot.get(Kind::Service, of, service) else {
        return Err(format!("there is no Service {of}/{service}"));
    };
    let Some(found) = items(object, "/spec/ports").find(|known| known["port"] == port) else {
        return Err(format!("the Service {of}/{service} has no port {port}"));
    };
    if !matches!(text(found, "/protocol"), "" | "TCP") {
        return Err(format!("port {port} of the Service {of}/{service} does not carry TCP"));
    }
    let is_name = text(object, "/spec/type") == "ExternalName";
    if is_name && !round.settings.takes_names(of) {
        return Err(format!("the Service {of}/{service} is an external name, and these are switched off"));
    }
    if is_name && OWN_NAMES.contains(&text(object, "/spec/externalName")) {
        return Err(format!("the Service {of}/{service} is a name of the machine itself"));
    }
    let protocol = match found.pointer("/appProtocol").and_then(Value::as_str) {
        Some("kubernetes.io/h2c") => "h2c",
        Some("https") => "tls",
        Some(_) => "",
        None => annotated(object, found),
    };
    Ok(Upstream { id, endpoints: endpoints(snapshot, of, service, text(found, "/name")), protocol })
}

/// What annotations of a Service say is spoken at a port of it, which they have by name or by number.
fn annotated(service: &Value, port: &Value) -> &'static str {
    let number = port["port"].to_string();
    let has = |protocol: &&&str| {
        let annotation = format!("projectcontour.io/upstream-protocol.{protocol}");
        let ports = service["metadata"]["annotations"][annotation.as_str()].as_str().unwrap_or_default();
        ports.split(',').map(str::trim).any(|one| !one.is_empty() && (one == number || one == text(port, "/name")))
    };
    ["h2", "h2c", "tls"].iter().rfind(has).copied().unwrap_or_default()
}

fn endpoints(snapshot: &Snapshot, of: &str, service: &str, port: &str) -> Vec<SocketAddr> {
    let mut found = Vec::new();
    for slice in snapshot.all(Kind::EndpointSlice).filter(|slice| namespace(slice) == of) {
        if slice["metadata"]["labels"]["kubernetes.io/service-name"] != service {
            continue;
        }
        let numbers = items(slice, "/ports").filter(|one| text(one, "/name") == port);
        for number in numbers.filter_map(|one| u16::try_from(one["port"].as_u64()?).ok()) {
            for endpoint in items(slice, "/endpoints").filter(|one| one["conditions"]["ready"] != false) {
                let address = text(endpoint, "/addresses/0").parse::<IpAddr>();
                found.extend(address.map(|address| SocketAddr::new(address, number)));
            }
        }
    }
    found.sort_unstable();
    found.dedup();
    found
}

/// Why something in a Secret cannot be used.
pub(super) enum Unusable {
    /// It is of another namespace, which delegates it to nobody or to others.
    NotDelegated,
    /// It is none.
    Invalid(String),
}

/// The Secret that a reference (`name` or `namespace/name`) of a namespace means.
fn secret<'s>(snapshot: &'s Snapshot, of: &str, reference: &str) -> Result<&'s Value, Unusable> {
    let (home, secret) = reference.split_once('/').unwrap_or((of, reference));
    // What is not delegated to somebody is nothing to tell of, nor whether it is there.
    if home != of && !is_delegated(snapshot, home, secret, of) {
        return Err(Unusable::NotDelegated);
    }
    let Some(object) = snapshot.get(Kind::Secret, home, secret) else {
        return Err(Unusable::Invalid("there is no such Secret".to_owned()));
    };
    if !["kubernetes.io/tls", "Opaque"].contains(&text(object, "/type")) {
        let why = format!("it is of the type {}, and neither kubernetes.io/tls nor Opaque", text(object, "/type"));
        return Err(Unusable::Invalid(why));
    }
    Ok(object)
}

fn is_delegated(snapshot: &Snapshot, home: &str, secret: &str, to: &str) -> bool {
    let of_home = snapshot.all(Kind::Delegation).filter(|object| namespace(object) == home);
    let specs = of_home.filter_map(|object| DelegationSpec::deserialize(&object["spec"]).ok());
    specs.flat_map(|spec| spec.delegations).any(|delegation| {
        delegation.secret_name == secret
            && delegation.target_namespaces.iter().any(|target| target == "*" || target == to)
    })
}

/// A certificate with its key.
pub(super) fn certificate(snapshot: &Snapshot, of: &str, reference: &str) -> Result<Certificate, Unusable> {
    let secret = secret(snapshot, of, reference)?;
    // Whatever else stands beside certificates, such as their key, spoils them.
    if pem(secret, "tls.crt")?.split("-----BEGIN ").skip(1).any(|block| !block.starts_with("CERTIFICATE-----")) {
        return Err(Unusable::Invalid("its tls.crt holds something else than certificates".to_owned()));
    }
    let certificate =
        Certificate { chain_pem: pem(secret, "tls.crt")?, key_pem: Sensitive::new(pem(secret, "tls.key")?) };
    match gateproof_proxy::pem::load(std::slice::from_ref(&certificate)) {
        Ok(_) => Ok(certificate),
        Err(why) => Err(Unusable::Invalid(why.to_string())),
    }
}

/// The bundle of authorities of a Secret, in PEM.
pub(super) fn authorities(snapshot: &Snapshot, of: &str, reference: &str) -> Result<String, Unusable> {
    let bundle = pem(secret(snapshot, of, reference)?, "ca.crt")?;
    match gateproof_proxy::pem::bundle(&bundle) {
        Ok(_) => Ok(bundle),
        Err(why) => Err(Unusable::Invalid(format!("its ca.crt is no bundle of certificates: {why}"))),
    }
}

/// The list of revoked certificates of a Secret, in PEM.
pub(super) fn revocations(snapshot: &Snapshot, of: &str, reference: &str) -> Result<String, Unusable> {
    let list = pem(secret(snapshot, of, reference)?, "crl.pem")?;
    match list.contains("-----BEGIN X509 CRL-----") {
        true => Ok(list),
        false => Err(Unusable::Invalid("its crl.pem has no list of revoked certificates".to_owned())),
    }
}

/// Keys for tokens, as a JSON object with a list of `keys`.
pub(super) fn keys(snapshot: &Snapshot, of: &str, name: &str, key: &str) -> Result<(), String> {
    let object = snapshot.get(Kind::Secret, of, name).ok_or("there is no such Secret")?;
    if text(object, "/type") != "Opaque" {
        return Err("it is not of the type Opaque".to_owned());
    }
    let data = decoded(object, key).ok_or("it has no such key")?;
    let document: Value = serde_json::from_str(&data).map_err(|error| error.to_string())?;
    if document["keys"].is_array() { Ok(()) } else { Err("it has no list of keys".to_owned()) }
}

fn pem(secret: &Value, field: &str) -> Result<String, Unusable> {
    let text = decoded(secret, field).unwrap_or_default();
    if text.is_empty() { Err(Unusable::Invalid(format!("it has no {field}"))) } else { Ok(text) }
}

fn decoded(secret: &Value, field: &str) -> Option<String> {
    use base64::Engine;
    let data = secret["data"].get(field)?.as_str()?;
    String::from_utf8(base64::engine::general_purpose::STANDARD.decode(data).ok()?).ok()
}

/// Whether an object is one of the class that the implementation serves.
pub(super) fn is_of_class(object: &Value, class: &str) -> bool {
    let annotation = |name: &str| object["metadata"]["annotations"].get(name).and_then(Value::as_str);
    let named = annotation("projectcontour.io/ingress.class")
        .or_else(|| annotation("kubernetes.io/ingress.class"))
        .or_else(|| object["spec"]["ingressClassName"].as_str());
    named.is_none_or(|named| named.is_empty() || named == class)
}
