//! Whether a policy is accepted, and why not.

use std::net::IpAddr;

use serde_json::Value;

use super::Verdict;
use crate::object::{Dependency, Kind, Snapshot, age, full_name, items, namespace, text};
use crate::settings::{Edition, Settings};
use crate::topology::target;

/// What must have been there when the implementation started, for policies of a kind.
const fn dependencies(kind: Kind) -> &'static [Dependency] {
    match kind {
        Kind::AuthPolicy => &[Dependency::GatewayApi, Dependency::Provider, Dependency::Authorino],
        Kind::RateLimitPolicy => &[Dependency::GatewayApi, Dependency::Provider, Dependency::Limitador],
        Kind::TlsPolicy => &[Dependency::GatewayApi, Dependency::Issuer],
        Kind::DnsPolicy => &[Dependency::GatewayApi, Dependency::Dns],
        _ => &[],
    }
}

/// The message of acceptance, or reason and message of the refusal.
pub(crate) fn accepted(snapshot: &Snapshot, settings: &Settings, kind: Kind, policy: &Value) -> Verdict {
    let design = settings.edition == Edition::Design;
    let named = kind.name();
    let missing: Vec<&str> =
        dependencies(kind).iter().filter(|one| snapshot.missing.contains(one)).map(|one| one.name()).collect();
    if !missing.is_empty() {
        let reason = if design { "Invalid" } else { "MissingDependency" };
        let message =
            format!("{named} needs what is not there: [{}]; restart the operator once it is", missing.join(", "));
        return Err((reason, message));
    }
    if let Err(missing) = target(snapshot, policy) {
        return Err(("TargetNotFound", format!("the target of {named}, {missing}, was not found")));
    }
    if design || matches!(kind, Kind::TlsPolicy | Kind::DnsPolicy) {
        let rival = snapshot
            .all(kind)
            .filter(|other| {
                other["spec"]["targetRef"] == policy["spec"]["targetRef"] && namespace(other) == namespace(policy)
            })
            .filter(|other| older(other, policy))
            .min_by(|one, other| age(one).cmp(&age(other)));
        if let Some(rival) = rival {
            return Err(("Conflicted", format!("{named} is in conflict with {}", full_name(rival))));
        }
    }
    if kind == Kind::TlsPolicy {
        issuer(snapshot, policy).map_err(|message| ("Invalid", message))?;
    }
    if kind == Kind::DnsPolicy {
        for excluded in items(policy, "/spec/excludeAddresses").filter_map(Value::as_str) {
            if excluded.contains('/') && parse_cidr(excluded).is_none() {
                let reason = if design { "Invalid" } else { "Unknown" };
                return Err((reason, format!("{named} cannot be used: excludeAddresses: {excluded:?} is no CIDR")));
            }
        }
    }
    Ok(format!("{named} is accepted"))
}

/// Strictly older: times of creation have whole seconds, and of two policies of one second neither yields.
fn older(one: &Value, other: &Value) -> bool {
    age(one).0 < age(other).0
}

/// The issuer that a TLSPolicy names.
pub(crate) fn issuer<'a>(snapshot: &'a Snapshot, policy: &Value) -> Result<&'a Value, String> {
    let reference = &policy["spec"]["issuerRef"];
    let of = text(reference, "/name");
    let (kind, home) = match reference["kind"].as_str() {
        Some("ClusterIssuer") => (Kind::ClusterIssuer, ""),
        _ => (Kind::Issuer, namespace(policy)),
    };
    snapshot.get(kind, home, of).ok_or_else(|| {
        let target = text(policy, "/spec/targetRef/name");
        format!("target {target} is invalid: {} {of} was not found", kind.name())
    })
}

/// A network: its address and the length of its prefix in bits.
pub(crate) fn parse_cidr(text: &str) -> Option<(IpAddr, u32)> {
    let (address, bits) = text.split_once('/')?;
    let (address, bits): (IpAddr, u32) = (address.parse().ok()?, bits.parse().ok()?);
    (bits <= if address.is_ipv4() { 32 } else { 128 }).then_some((address, bits))
}
