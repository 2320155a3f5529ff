//! Services, Endpoints and EndpointSlices: defaults, addresses and checks.

use std::collections::HashSet;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use serde_json::{Map, Value, json};

use super::names::bad_name;
use super::services;
use crate::error::StatusCause;
use crate::meta::{self, set_default};
use crate::resource::NameRule;

/// First and last address of 10.96.0.0/12 that Services get; the first ones are kept for the cluster itself.
const CLUSTER_IPS: (u32, u32) = (0x0A60_0010, 0x0A6F_FFFE);
/// The first address of the range that can be asked for.
const FIRST_CLUSTER_IP: u32 = 0x0A60_0001;
/// What comes before the same numbers in cluster addresses of IPv6: a unique local prefix.
const CLUSTER_IPV6S: u128 = 0xfd00 << 112;
/// The ports of Services of type NodePort and LoadBalancer.
const NODE_PORTS: (u16, u16) = (30_000, 32_767);

/// Where the search for the next free address and port begins.
#[derive(Debug)]
pub struct Allocator {
    address: u32,
    port: u16,
}

impl Default for Allocator {
    fn default() -> Self {
        Self { address: CLUSTER_IPS.0, port: NODE_PORTS.0 }
    }
}

fn members<'a>(value: &'a mut Value, field: &str) -> impl Iterator<Item = &'a mut Map<String, Value>> {
    let list = value.get_mut(field).and_then(Value::as_array_mut);
    list.into_iter().flatten().filter_map(Value::as_object_mut)
}

/// Fills in type, affinity, protocols and target ports.
pub fn default_service(object: &mut Value) {
    let spec = meta::child(object, "spec");
    set_default(spec, "type", "ClusterIP");
    set_default(spec, "sessionAffinity", "None");
    if spec.get("clusterIP").is_some_and(|address| address == "") {
        spec.shift_remove("clusterIP");
    }
    let kind = spec["type"].as_str().unwrap_or("").to_owned();
    if kind != "ExternalName" {
        set_default(spec, "internalTrafficPolicy", "Cluster");
    }
    if ["NodePort", "LoadBalancer"].contains(&kind.as_str()) {
        set_default(spec, "externalTrafficPolicy", "Cluster");
    }
    if kind == "LoadBalancer" {
        set_default(spec, "allocateLoadBalancerNodePorts", true);
    }
    for port in object.get_mut("spec").into_iter().flat_map(|spec| members(spec, "ports")) {
        set_default(port, "protocol", "TCP");
        let number = port.get("port").cloned().unwrap_or(Value::Null);
        set_default(port, "targetPort", number);
        if port.get("name").is_some_and(|name| name == "") {
            port.shift_remove("name");
        }
    }
    if kind == "LoadBalancer" {
        let status = object.get_mut("status").and_then(|status| status.get_mut("loadBalancer"));
        for ingress in status.into_iter().flat_map(|balancer| members(balancer, "ingress")) {
            if ingress.get("ip").and_then(Value::as_str).is_some_and(|ip| !ip.is_empty()) {
                set_default(ingress, "ipMode", "VIP");
            }
        }
    }
    let status = meta::child(object, "status");
    set_default(status, "loadBalancer", json!({}));
}

/// Fills in the protocols.
pub fn default_endpoints(object: &mut Value) {
    let subsets = object.get_mut("subsets").and_then(Value::as_array_mut);
    for port in subsets.into_iter().flatten().flat_map(|subset| members(subset, "ports")) {
        set_default(port, "protocol", "TCP");
    }
}

/// Fills in protocols and port names.
pub fn default_endpoint_slice(object: &mut Value) {
    for port in members(object, "ports") {
        set_default(port, "protocol", "TCP");
        set_default(port, "name", "");
    }
    for endpoint in members(object, "endpoints") {
        set_default(endpoint, "conditions", json!({}));
    }
}

/// Brings a Service into the form in which it is checked: what was allocated before and is not said now stays, and
/// `clusterIP` is the first of `clusterIPs`.
pub fn normalise_service(object: &mut Value, old: Option<&Value>) {
    let external = |service: &Value| service["spec"]["type"] == "ExternalName";
    let (before, now) = (old.map_or(Value::Null, |old| old["spec"].clone()), external(object));
    let keeps = old.is_some_and(|old| !external(old)) && !now;
    let spec = meta::child(object, "spec");
    if spec.get("clusterIPs").is_some_and(|all| all.as_array().is_none_or(Vec::is_empty)) {
        spec.shift_remove("clusterIPs");
    }
    // Families follow from addresses, of which a headless Service has none.
    let of_families = if before["clusterIP"] == "None" { &[][..] } else { &["ipFamilies"] };
    for field in ["clusterIP", "clusterIPs", "ipFamilyPolicy"].iter().chain(of_families) {
        if keeps && let Some(value) = before.get(field) {
            set_default(spec, field, value.clone());
        }
    }
    // Who changes one of the two alone, as clients did before there was the other, means both.
    let same = spec.get("clusterIPs") == before.get("clusterIPs");
    if same && spec.get("clusterIP") != before.get("clusterIP") {
        match spec.get("clusterIP").cloned() {
            Some(address) => spec.insert("clusterIPs".into(), json!([address])),
            None => spec.shift_remove("clusterIPs"),
        };
    }
    if let Some(old) = old {
        keep_node_ports(object, old);
        services::drop_dependents(object, old);
    }
}

/// Ports of the same name keep their node ports, unless another port has taken them.
fn keep_node_ports(object: &mut Value, old: &Value) {
    if !with_node_ports(object) || !with_node_ports(old) {
        return;
    }
    let mut used: HashSet<u64> = node_ports(object).into_iter().collect();
    let before = old["spec"]["ports"].as_array().cloned().unwrap_or_default();
    for port in object.get_mut("spec").into_iter().flat_map(|spec| members(spec, "ports")) {
        if port.get("nodePort").and_then(Value::as_u64).is_some_and(|number| number != 0) {
            continue;
        }
        let name = port.get("name").and_then(Value::as_str).unwrap_or("");
        let same = before.iter().find(|other| other["name"].as_str().unwrap_or("") == name);
        if let Some(number) = same.and_then(|other| other["nodePort"].as_u64()).filter(|&number| used.insert(number)) {
            port.insert("nodePort".into(), number.into());
        }
    }
}

fn with_node_ports(service: &Value) -> bool {
    match service["spec"]["type"].as_str() {
        Some("NodePort") => true,
        Some("LoadBalancer") => service["spec"]["allocateLoadBalancerNodePorts"] != false,
        _ => false,
    }
}

/// Gives a valid Service its cluster address and node ports, beside those in use by `others`; `old` is what it was.
///
/// # Errors
/// A cause if an asked address or port is in use, or if none is left.
pub fn allocate(
    allocator: &mut Allocator,
    object: &mut Value,
    old: Option<&Value>,
    others: &[std::sync::Arc<Value>],
) -> Result<(), StatusCause> {
    let uid = meta::uid(object).to_owned();
    let others = || others.iter().filter(|other| meta::uid(other) != uid);
    let used: HashSet<&str> = others()
        .flat_map(|other| other["spec"]["clusterIPs"].as_array().into_iter().flatten())
        .filter_map(Value::as_str)
        .collect();
    let spec = meta::child(object, "spec");
    if spec.get("type").is_some_and(|kind| kind == "ExternalName") {
        return Ok(());
    }
    let families = spec.get("ipFamilies").and_then(Value::as_array).cloned().unwrap_or_default();
    let mut addresses = spec.get("clusterIPs").and_then(Value::as_array).cloned().unwrap_or_default();
    if addresses.first().is_none_or(|first| first != "None") {
        let held = old.and_then(|old| old["spec"]["clusterIPs"].as_array()).map(Vec::as_slice).unwrap_or_default();
        for asked in addresses.iter().filter(|address| !held.contains(address)).filter_map(Value::as_str) {
            let why = if used.contains(asked) {
                "provided IP is already allocated"
            } else if !is_cluster_address(asked) {
                "provided IP is not in the valid range"
            } else {
                continue;
            };
            let why = format!("failed to allocate IP {asked}: {why}");
            return Err(StatusCause::invalid("spec.clusterIPs", &json!(addresses), &why));
        }
        for family in &families[addresses.len().min(families.len())..] {
            addresses.push(allocator.next_address(&used, family == "IPv6")?.into());
        }
    }
    if let Some(first) = addresses.first() {
        spec.insert("clusterIP".into(), first.clone());
    }
    spec.insert("clusterIPs".into(), addresses.into());
    if !with_node_ports(object) {
        return Ok(());
    }
    let mut taken: HashSet<u64> = others().flat_map(|other| node_ports(other)).collect();
    let before = old.map(node_ports).unwrap_or_default();
    let asked: Vec<Value> = object["spec"]["ports"].as_array().cloned().unwrap_or_default();
    for (index, port) in asked.iter().enumerate() {
        let Some(number) = port["nodePort"].as_u64().filter(|number| *number != 0) else { continue };
        let range = u64::from(NODE_PORTS.0)..=u64::from(NODE_PORTS.1);
        let why = if !range.contains(&number) {
            "provided port is not in the valid range"
        } else if taken.contains(&number) && !before.contains(&number) {
            "provided port is already allocated"
        } else {
            continue;
        };
        return Err(StatusCause::invalid(format!("spec.ports[{index}].nodePort"), &port["nodePort"], why));
    }
    taken.extend(node_ports(object));
    for port in object.get_mut("spec").into_iter().flat_map(|spec| members(spec, "ports")) {
        if port.get("nodePort").and_then(Value::as_u64).is_none_or(|number| number == 0) {
            port.insert("nodePort".into(), allocator.next_port(&mut taken)?.into());
        }
    }
    Ok(())
}

fn node_ports(service: &Value) -> Vec<u64> {
    let ports = service["spec"]["ports"].as_array();
    ports.into_iter().flatten().filter_map(|port| port["nodePort"].as_u64()).filter(|&number| number != 0).collect()
}

/// Whether a Service may ask for this address.
fn is_cluster_address(text: &str) -> bool {
    let number = match text.parse::<IpAddr>() {
        Ok(IpAddr::V4(address)) => u128::from(u32::from(address)),
        Ok(IpAddr::V6(address)) => u128::from(address).wrapping_sub(CLUSTER_IPV6S),
        Err(_) => return false,
    };
    (u128::from(FIRST_CLUSTER_IP)..=u128::from(CLUSTER_IPS.1)).contains(&number)
}

impl Allocator {
    fn next_address(&mut self, used: &HashSet<&str>, ipv6: bool) -> Result<String, StatusCause> {
        for _ in CLUSTER_IPS.0..=CLUSTER_IPS.1 {
            let text = match ipv6 {
                true => Ipv6Addr::from(CLUSTER_IPV6S | u128::from(self.address)).to_string(),
                false => Ipv4Addr::from(self.address).to_string(),
            };
            self.address = if self.address == CLUSTER_IPS.1 { CLUSTER_IPS.0 } else { self.address + 1 };
            if !used.contains(text.as_str()) {
                return Ok(text);
            }
        }
        Err(StatusCause::new("FieldValueInvalid", "spec.clusterIPs", "the range of addresses is full"))
    }

    fn next_port(&mut self, taken: &mut HashSet<u64>) -> Result<u64, StatusCause> {
        for _ in NODE_PORTS.0..=NODE_PORTS.1 {
            let number = u64::from(self.port);
            self.port = if self.port == NODE_PORTS.1 { NODE_PORTS.0 } else { self.port + 1 };
            if taken.insert(number) {
                return Ok(number);
            }
        }
        Err(StatusCause::new("FieldValueInvalid", "spec.ports", "the range of node ports is full"))
    }
}

/// What is wrong with an EndpointSlice. A real API server refuses loopback addresses; `admit_loopback` does not.
pub fn validate_endpoint_slice(object: &Value, old: Option<&Value>, admit_loopback: bool) -> Vec<StatusCause> {
    let mut causes = Vec::new();
    let kind = object["addressType"].as_str().unwrap_or("");
    match kind {
        "" => causes.push(StatusCause::required("addressType", "")),
        "IPv4" | "IPv6" | "FQDN" => {}
        _ => {
            let known = ["FQDN", "IPv4", "IPv6"];
            causes.push(StatusCause::not_supported("addressType", &object["addressType"], &known));
        }
    }
    if old.is_some_and(|old| old["addressType"] != object["addressType"]) {
        causes.push(StatusCause::invalid("addressType", &object["addressType"], "field is immutable"));
    }
    slice_ports(object, &mut causes);
    // Endpoints that are there are not held against rules that came later.
    let endpoints = &object["endpoints"];
    let changed = old.is_none_or(|old| old["endpoints"] != *endpoints);
    for (index, endpoint) in endpoints.as_array().filter(|_| changed).into_iter().flatten().enumerate() {
        let addresses = endpoint["addresses"].as_array().map(Vec::as_slice).unwrap_or_default();
        if addresses.is_empty() {
            causes.push(StatusCause::required(
                format!("endpoints[{index}].addresses"),
                "must contain at least 1 endpoint",
            ));
        }
        for (at, address) in addresses.iter().enumerate() {
            let path = format!("endpoints[{index}].addresses[{at}]");
            causes.extend(validate_address(&path, address, kind, admit_loopback));
        }
    }
    causes
}

fn slice_ports(object: &Value, causes: &mut Vec<StatusCause>) {
    let mut names = HashSet::new();
    for (index, port) in object["ports"].as_array().into_iter().flatten().enumerate() {
        let (field, name) = (format!("ports[{index}].name"), port["name"].as_str().unwrap_or(""));
        if !name.is_empty()
            && let Some(why) = bad_name(NameRule::Label, name)
        {
            causes.push(StatusCause::invalid(field.clone(), &port["name"], why));
        }
        if !names.insert(name) {
            causes.push(StatusCause::duplicate(field, &json!(name)));
        }
    }
}

/// What is wrong with the addresses of Endpoints.
pub fn validate_endpoints(object: &Value, admit_loopback: bool) -> Vec<StatusCause> {
    let mut causes = Vec::new();
    for (index, subset) in object["subsets"].as_array().into_iter().flatten().enumerate() {
        for list in ["addresses", "notReadyAddresses"] {
            for (at, address) in subset[list].as_array().into_iter().flatten().enumerate() {
                let path = format!("subsets[{index}].{list}[{at}].ip");
                causes.extend(validate_address(&path, &address["ip"], "", admit_loopback));
            }
        }
    }
    causes
}

fn validate_address(path: &str, address: &Value, kind: &str, admit_loopback: bool) -> Option<StatusCause> {
    if !["IPv4", "IPv6", ""].contains(&kind) {
        return None;
    }
    let refuse = |why| Some(StatusCause::invalid(path, address, why));
    let Some(ip) = address.as_str().and_then(|text| text.parse::<IpAddr>().ok()) else {
        return refuse("must be a valid IP address");
    };
    // The API server names the list, not the address in it.
    let list = path.rsplit_once('[').map_or(path, |(list, _)| list);
    let of_other_family = |why| Some(StatusCause::invalid(list, address, why));
    let link_local = match ip {
        IpAddr::V4(v4) => v4.is_link_local(),
        IpAddr::V6(v6) => v6.is_unicast_link_local(),
    };
    match kind {
        "IPv4" if ip.is_ipv6() => return of_other_family("must be an IPv4 address"),
        "IPv6" if ip.is_ipv4() => return of_other_family("must be an IPv6 address"),
        _ => {}
    }
    if ip.is_unspecified() {
        refuse("may not be unspecified")
    } else if ip.is_loopback() && !admit_loopback {
        refuse("may not be in the loopback range (127.0.0.0/8, ::1/128)")
    } else if link_local {
        refuse("may not be in the link-local range (169.254.0.0/16, fe80::/10)")
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use std::sync::Arc;

    use super::*;
    use crate::kinds::families;

    fn service(uid: &str, spec: Value) -> Value {
        let mut object = json!({"metadata": {"uid": uid}, "spec": spec});
        default_service(&mut object);
        object
    }

    #[test]
    fn addresses_are_unique_and_stay() {
        let mut allocator = Allocator::default();
        let mut settled = |object: &mut Value, old: Option<&Value>, others: &[Arc<Value>]| {
            normalise_service(object, old);
            families::settle(object, old, true).unwrap();
            allocate(&mut allocator, object, old, others)
        };
        let mut first = service("1", json!({"ports": [{"port": 80}]}));
        settled(&mut first, None, &[]).unwrap();
        assert_eq!(first["spec"]["clusterIP"], "10.96.0.16");
        assert_eq!(first["spec"]["ports"][0], json!({"port": 80, "protocol": "TCP", "targetPort": 80}));
        let others = [Arc::new(first.clone())];
        let mut same = service("2", json!({"clusterIP": "10.96.0.16", "ports": [{"port": 80}]}));
        assert!(settled(&mut same, None, &others).is_err());
        let mut next = service("2", json!({"type": "NodePort", "ports": [{"port": 80}]}));
        settled(&mut next, None, &others).unwrap();
        assert_ne!(next["spec"]["clusterIP"], first["spec"]["clusterIP"]);
        assert_eq!(next["spec"]["ports"][0]["nodePort"], 30_000);
        let mut updated = service("1", json!({"ports": [{"port": 81}], "ipFamilyPolicy": "PreferDualStack"}));
        settled(&mut updated, Some(&first), &[]).unwrap();
        assert_eq!(updated["spec"]["clusterIPs"][0], first["spec"]["clusterIP"]);
        let second = updated["spec"]["clusterIPs"][1].as_str().unwrap();
        assert!(second.parse::<Ipv6Addr>().is_ok(), "{second}");
        let mut headless = service("3", json!({"clusterIP": "None"}));
        settled(&mut headless, None, &others).unwrap();
        assert_eq!(headless["spec"]["clusterIPs"], json!(["None"]));
        assert_eq!(headless["spec"]["ipFamilies"], json!(["IPv4", "IPv6"]));
        assert!(services::validate(&headless, None).is_empty());
    }

    #[test]
    fn loopback_endpoints_are_refused_unless_admitted() {
        let slice = json!({"addressType": "IPv4", "endpoints": [{"addresses": ["127.0.0.1", "::1", "10.0.0.1", "x"]}]});
        let fields = |admit| -> Vec<String> {
            validate_endpoint_slice(&slice, None, admit).into_iter().map(|cause| cause.field).collect()
        };
        assert_eq!(fields(false), ["endpoints[0].addresses[0]", "endpoints[0].addresses", "endpoints[0].addresses[3]"]);
        assert_eq!(fields(true), ["endpoints[0].addresses", "endpoints[0].addresses[3]"]);
    }
}
