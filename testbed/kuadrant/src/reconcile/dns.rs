//! DNSPolicies: the records they ask for, and how those are.

use std::net::IpAddr;

use serde_json::{Map, Value, json};

use super::tls::Child;
use super::{Verdict, accepted};
use crate::object::{Kind, Snapshot, condition, is_true, items, name, namespace, text};
use crate::settings::Settings;
use crate::status::Condition;
use crate::topology::target;

/// The records of each accepted policy.
pub(crate) fn records<'a>(snapshot: &'a Snapshot, settings: &Settings) -> Vec<(&'a Value, Vec<Child>)> {
    let all = snapshot.all(Kind::DnsPolicy);
    all.filter(|policy| accepted::accepted(snapshot, settings, Kind::DnsPolicy, policy).is_ok())
        .map(|policy| (policy, of_policy(snapshot, policy)))
        .collect()
}

fn of_policy(snapshot: &Snapshot, policy: &Value) -> Vec<Child> {
    let Ok((_, gateway)) = target(snapshot, policy) else { return Vec::new() };
    let section = policy["spec"]["targetRef"]["sectionName"].as_str();
    let excluded: Vec<&str> = items(policy, "/spec/excludeAddresses").filter_map(Value::as_str).collect();
    let addresses = items(gateway, "/status/addresses").map(|address| text(address, "/value"));
    let addresses: Vec<&str> = addresses.filter(|address| !excluded.iter().any(|one| excludes(one, address))).collect();
    if addresses.is_empty() {
        return Vec::new();
    }
    let wanted = |listener: &&Value| section.is_none_or(|section| listener["name"] == section);
    let one = |listener: &Value| {
        let host = text(listener, "/hostname");
        let attached = items(gateway, "/status/listeners")
            .any(|status| status["name"] == listener["name"] && status["attachedRoutes"].as_i64() > Some(0));
        if host.is_empty() || !attached {
            return None;
        }
        let mut spec = json!({"rootHost": host, "endpoints": [{"dnsName": host, "targets": addresses, "recordType": "A", "recordTTL": 60}]});
        if let Some(health) = policy["spec"].get("healthCheck") {
            spec["healthCheck"] = health.clone();
        }
        if let Some(provider) = policy["spec"]["providerRefs"].get(0) {
            spec["providerRef"] = provider.clone();
        }
        Some((namespace(gateway).to_owned(), format!("{}-{}", name(gateway), text(listener, "/name")), spec))
    };
    items(gateway, "/spec/listeners").filter(wanted).filter_map(one).collect()
}

/// Whether an address, or a network, holds an address.
fn excludes(excluded: &str, address: &str) -> bool {
    let (Some((network, bits)), Ok(address)) = (accepted::parse_cidr(excluded), address.parse::<IpAddr>()) else {
        return excluded == address;
    };
    match (network, address) {
        (IpAddr::V4(network), IpAddr::V4(address)) => {
            (network.to_bits() ^ address.to_bits()).checked_shr(32 - bits).unwrap_or(0) == 0
        }
        (IpAddr::V6(network), IpAddr::V6(address)) => {
            (network.to_bits() ^ address.to_bits()).checked_shr(128 - bits).unwrap_or(0) == 0
        }
        _ => false,
    }
}

fn live<'a>(snapshot: &'a Snapshot, policy: &Value) -> Vec<(Child, Option<&'a Value>)> {
    let found = |child: Child| {
        let record = snapshot.get(Kind::DnsRecord, &child.0, &child.1);
        (child, record)
    };
    of_policy(snapshot, policy).into_iter().map(found).collect()
}

fn is_ready(record: Option<&Value>) -> bool {
    record.is_some_and(|record| is_true(&record["status"], "Ready"))
}

/// Whether records are published: none to publish counts as enforced, some as partially.
pub(crate) fn enforced(snapshot: &Snapshot, _: &Settings, policy: &Value) -> Verdict {
    let records = live(snapshot, policy);
    let waiting: Vec<&str> =
        records.iter().filter(|(_, record)| !is_ready(*record)).map(|(child, _)| &*child.1).collect();
    match (records.len(), waiting.len()) {
        (0, _) => Ok("DNSPolicy is enforced: there are no DNSRecords, since no listener with a hostname has routes and addresses".to_owned()),
        (_, 0) => Ok("DNSPolicy is enforced".to_owned()),
        (all, waiting_for) if waiting_for < all => {
            Ok(format!("DNSPolicy is partially enforced: not ready: {}", waiting.join(", ")))
        }
        _ => Err(("Unknown", format!("DNSPolicy waits for DNSRecords: {}", waiting.join(", ")))),
    }
}

/// What only a policy that is accepted says of records.
pub(crate) const COUNTS: [&str; 2] = ["totalRecords", "recordConditions"];

/// What a policy says of its records beside that: how many there are, and what is not well with them.
pub(crate) fn health(
    snapshot: &Snapshot,
    _: &Settings,
    policy: &Value,
    conditions: &mut Vec<Condition>,
    fields: &mut Map<String, Value>,
) {
    let records = live(snapshot, policy);
    // Neither a count of none nor an empty list is written.
    fields.insert("totalRecords".to_owned(), if records.is_empty() { Value::Null } else { json!(records.len()) });
    let troubles = |(child, record): &(Child, Option<&Value>)| {
        let all = items(&(*record)?["status"], "/conditions");
        let listed: Vec<Value> = all.filter(|one| one["status"] != "True").cloned().collect();
        (!listed.is_empty()).then(|| (text(&child.2, "/rootHost").to_owned(), Value::Array(listed)))
    };
    let listed: Map<String, Value> = records.iter().filter_map(troubles).collect();
    fields.insert("recordConditions".to_owned(), if listed.is_empty() { Value::Null } else { Value::Object(listed) });
    if policy["spec"].get("healthCheck").is_none() {
        return;
    }
    let is_sick = |record: &Option<&Value>| {
        record.is_some_and(|record| condition(&record["status"], "Healthy").is_some_and(|one| one["status"] == "False"))
    };
    let sick: Vec<&str> = records.iter().filter(|(_, record)| is_sick(record)).map(|(child, _)| &*child.1).collect();
    conditions.push(if sick.is_empty() {
        Condition::new("SubResourcesHealthy", true, "SubResourcesHealthy", "all DNSRecords are healthy")
    } else {
        Condition::new(
            "SubResourcesHealthy",
            false,
            "Unknown",
            format!("DNSRecords are not healthy: {}", sick.join(", ")),
        )
    });
}
