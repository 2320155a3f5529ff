//! Services, Endpoints and EndpointSlices: defaults, addresses and checks.

use std::collections::HashSet;
use std::net::{IpAddr, Ipv4Addr};

use serde_json::{Map, Value, json};

use super::defaults::set_default;
use crate::error::StatusCause;
use crate::meta;

/// First and last address of 10.96.0.0/12 that Services get; the first ones are kept for the cluster itself.
const CLUSTER_IPS: (u32, u32) = (0x0A60_0010, 0x0A6F_FFFE);
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
}

/// Gives a Service its cluster address and node ports, beside those in use by `others`; `old` keeps what it had.
///
/// # Errors
/// A cause if an asked address is malformed or in use, or if no port is left.
pub fn allocate(
    allocator: &mut Allocator,
    object: &mut Value,
    old: Option<&Value>,
    others: &[std::sync::Arc<Value>],
) -> Result<(), StatusCause> {
    let uid = meta::uid(object).to_owned();
    let others = || others.iter().filter(|other| meta::uid(other) != uid);
    let used: HashSet<&str> = others().filter_map(|o| o["spec"]["clusterIP"].as_str()).collect();
    let spec = meta::child(object, "spec");
    if spec.get("type").is_some_and(|kind| kind == "ExternalName") {
        for field in ["clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy"] {
            spec.shift_remove(field);
        }
        return Ok(());
    }
    let given = |spec: &Map<String, Value>| {
        let single = spec.get("clusterIP").and_then(Value::as_str).filter(|text| !text.is_empty());
        let first = spec.get("clusterIPs").and_then(|list| list.get(0)).and_then(Value::as_str);
        single.or(first).map(str::to_owned)
    };
    let address = match given(spec).or_else(|| old.and_then(|old| given(old.get("spec")?.as_object()?))) {
        Some(none) if none == "None" => none,
        Some(text) => {
            let why = if text.parse::<IpAddr>().is_err() {
                Some("must be an IP address")
            } else {
                used.contains(text.as_str()).then_some("the provided IP is already allocated")
            };
            if let Some(why) = why {
                return Err(StatusCause::invalid("spec.clusterIPs", &json!([text]), why));
            }
            text
        }
        None => allocator.next_address(&used)?,
    };
    let family = if address.contains(':') { "IPv6" } else { "IPv4" };
    spec.insert("clusterIP".into(), address.clone().into());
    spec.insert("clusterIPs".into(), json!([address]));
    set_default(spec, "ipFamilies", json!([family]));
    set_default(spec, "ipFamilyPolicy", "SingleStack");
    let with_ports = match spec["type"].as_str() {
        Some("NodePort") => true,
        Some("LoadBalancer") => spec.get("allocateLoadBalancerNodePorts") != Some(&Value::Bool(false)),
        _ => false,
    };
    if with_ports {
        let mut taken: HashSet<u64> = others().flat_map(|other| node_ports(other)).collect();
        taken.extend(node_ports(object));
        for port in object.get_mut("spec").into_iter().flat_map(|spec| members(spec, "ports")) {
            if port.get("nodePort").and_then(Value::as_u64).is_none_or(|number| number == 0) {
                let same = |other: &&Value| other["port"] == port["port"] && other["protocol"] == port["protocol"];
                let kept = old.and_then(|old| old["spec"]["ports"].as_array()?.iter().find(same)?["nodePort"].as_u64());
                let number = match kept {
                    Some(number) => number,
                    None => allocator.next_port(&mut taken)?,
                };
                port.insert("nodePort".into(), number.into());
            }
        }
    }
    Ok(())
}

fn node_ports(service: &Value) -> Vec<u64> {
    let ports = service["spec"]["ports"].as_array();
    ports.into_iter().flatten().filter_map(|port| port["nodePort"].as_u64()).filter(|&number| number != 0).collect()
}

impl Allocator {
    fn next_address(&mut self, used: &HashSet<&str>) -> Result<String, StatusCause> {
        for _ in CLUSTER_IPS.0..=CLUSTER_IPS.1 {
            let text = Ipv4Addr::from(self.address).to_string();
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

/// What is wrong with a Service.
pub fn validate_service(object: &Value, old: Option<&Value>) -> Vec<StatusCause> {
    let spec = &object["spec"];
    let kind = spec["type"].as_str().unwrap_or("");
    let mut causes = Vec::new();
    if !["ClusterIP", "NodePort", "LoadBalancer", "ExternalName"].contains(&kind) {
        let supported = "supported values: \"ClusterIP\", \"ExternalName\", \"LoadBalancer\", \"NodePort\"";
        let message = format!("Unsupported value: {}: {supported}", spec["type"]);
        causes.push(StatusCause::new("FieldValueNotSupported", "spec.type", message));
    }
    let ports = spec["ports"].as_array().map(Vec::as_slice).unwrap_or_default();
    let headless = spec["clusterIP"] == "None";
    if ports.is_empty() && !headless && kind != "ExternalName" {
        causes.push(StatusCause::required("spec.ports", ""));
    }
    let mut names = HashSet::new();
    for (index, port) in ports.iter().enumerate() {
        let path = format!("spec.ports[{index}]");
        if !port["port"].as_i64().is_some_and(|number| (1..=65_535).contains(&number)) {
            let why = "must be between 1 and 65535, inclusive";
            causes.push(StatusCause::invalid(format!("{path}.port"), &port["port"], why));
        }
        if !["TCP", "UDP", "SCTP"].contains(&port["protocol"].as_str().unwrap_or("")) {
            let supported = "supported values: \"SCTP\", \"TCP\", \"UDP\"";
            let message = format!("Unsupported value: {}: {supported}", port["protocol"]);
            causes.push(StatusCause::new("FieldValueNotSupported", format!("{path}.protocol"), message));
        }
        let name = port["name"].as_str().unwrap_or("");
        if name.is_empty() && ports.len() > 1 {
            causes.push(StatusCause::required(format!("{path}.name"), ""));
        } else if !name.is_empty() && !names.insert(name) {
            let message = format!("Duplicate value: {}", port["name"]);
            causes.push(StatusCause::new("FieldValueDuplicate", format!("{path}.name"), message));
        }
    }
    if let Some(before) = old.and_then(|old| old["spec"]["clusterIP"].as_str()).filter(|ip| !ip.is_empty())
        && kind != "ExternalName"
        && spec["clusterIP"] != before
    {
        causes.push(StatusCause::invalid("spec.clusterIPs[0]", &spec["clusterIPs"], "may not change once set"));
    }
    causes
}

/// What is wrong with an EndpointSlice. A real API server refuses loopback addresses; `admit_loopback` does not.
pub fn validate_endpoint_slice(object: &Value, old: Option<&Value>, admit_loopback: bool) -> Vec<StatusCause> {
    let mut causes = Vec::new();
    let kind = object["addressType"].as_str().unwrap_or("");
    match kind {
        "" => causes.push(StatusCause::required("addressType", "")),
        "IPv4" | "IPv6" | "FQDN" => {}
        _ => {
            let supported = "supported values: \"FQDN\", \"IPv4\", \"IPv6\"";
            let message = format!("Unsupported value: \"{kind}\": {supported}");
            causes.push(StatusCause::new("FieldValueNotSupported", "addressType", message));
        }
    }
    if old.is_some_and(|old| old["addressType"] != object["addressType"]) {
        causes.push(StatusCause::invalid("addressType", &object["addressType"], "field is immutable"));
    }
    for (index, endpoint) in object["endpoints"].as_array().into_iter().flatten().enumerate() {
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
    if kind == "FQDN" {
        return None;
    }
    let refuse = |why| Some(StatusCause::invalid(path, address, why));
    let Some(ip) = address.as_str().and_then(|text| text.parse::<IpAddr>().ok()) else {
        return refuse("must be a valid IP address");
    };
    let link_local = match ip {
        IpAddr::V4(v4) => v4.is_link_local(),
        IpAddr::V6(v6) => v6.is_unicast_link_local(),
    };
    match kind {
        "IPv4" if ip.is_ipv6() => return refuse("must be an IPv4 address"),
        "IPv6" if ip.is_ipv4() => return refuse("must be an IPv6 address"),
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

    fn service(uid: &str, spec: Value) -> Value {
        let mut object = json!({"metadata": {"uid": uid}, "spec": spec});
        default_service(&mut object);
        object
    }

    #[test]
    fn addresses_are_unique_and_stay() {
        let mut allocator = Allocator::default();
        let mut first = service("1", json!({"ports": [{"port": 80}]}));
        allocate(&mut allocator, &mut first, None, &[]).unwrap();
        assert_eq!(first["spec"]["clusterIP"], "10.96.0.16");
        assert_eq!(first["spec"]["ports"][0], json!({"port": 80, "protocol": "TCP", "targetPort": 80}));
        let others = [Arc::new(first.clone())];
        let mut same = service("2", json!({"clusterIP": "10.96.0.16", "ports": [{"port": 80}]}));
        assert!(allocate(&mut allocator, &mut same, None, &others).is_err());
        let mut next = service("2", json!({"type": "NodePort", "ports": [{"port": 80}]}));
        allocate(&mut allocator, &mut next, None, &others).unwrap();
        assert_ne!(next["spec"]["clusterIP"], first["spec"]["clusterIP"]);
        assert_eq!(next["spec"]["ports"][0]["nodePort"], 30_000);
        let mut updated = service("1", json!({"ports": [{"port": 81}]}));
        allocate(&mut allocator, &mut updated, Some(&first), &[]).unwrap();
        assert_eq!(updated["spec"]["clusterIP"], first["spec"]["clusterIP"]);
        let mut headless = service("3", json!({"clusterIP": "None"}));
        allocate(&mut allocator, &mut headless, None, &others).unwrap();
        assert_eq!(headless["spec"]["clusterIPs"], json!(["None"]));
        assert!(validate_service(&headless, None).is_empty());
    }

    #[test]
    fn loopback_endpoints_are_refused_unless_admitted() {
        let slice = json!({"addressType": "IPv4", "endpoints": [{"addresses": ["127.0.0.1", "::1", "10.0.0.1", "x"]}]});
        let fields = |admit| -> Vec<String> {
            validate_endpoint_slice(&slice, None, admit).into_iter().map(|cause| cause.field).collect()
        };
        assert_eq!(
            fields(false),
            ["endpoints[0].addresses[0]", "endpoints[0].addresses[1]", "endpoints[0].addresses[3]"]
        );
        assert_eq!(fields(true), ["endpoints[0].addresses[1]", "endpoints[0].addresses[3]"]);
    }
}
