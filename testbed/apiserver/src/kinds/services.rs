//! Checks of Services, and what a change of type takes with it.

use std::collections::HashSet;
use std::net::IpAddr;

use serde_json::{Value, json};

use super::names::{bad_name, is_label_value, is_qualified_name};
use crate::error::StatusCause;
use crate::meta;
use crate::resource::NameRule;

fn kind(service: &Value) -> &str {
    service["spec"]["type"].as_str().unwrap_or("")
}

fn list<'v>(value: &'v Value, field: &str) -> &'v [Value] {
    value[field].as_array().map(Vec::as_slice).unwrap_or_default()
}

fn is_headless(service: &Value) -> bool {
    list(&service["spec"], "clusterIPs").first().is_some_and(|address| address == "None")
        || service["spec"]["clusterIP"] == "None"
}

fn uses_node_ports(service: &Value) -> bool {
    match kind(service) {
        "NodePort" => true,
        "LoadBalancer" => service["spec"]["allocateLoadBalancerNodePorts"] != false,
        _ => false,
    }
}

/// Whether traffic from outside may come, which is what `externalTrafficPolicy` is about.
fn is_external(service: &Value) -> bool {
    matches!(kind(service), "NodePort" | "LoadBalancer")
        || (kind(service) == "ClusterIP" && !list(&service["spec"], "externalIPs").is_empty())
}

/// Takes fields along that a change of type leaves without a meaning, unless they were changed too.
pub fn drop_dependents(new: &mut Value, old: &Value) {
    let unchanged = |new: &Value, field: &str| new["spec"][field] == old["spec"][field];
    let mut dropped = Vec::new();
    if kind(old) != "ExternalName" && kind(new) == "ExternalName" {
        if unchanged(new, "clusterIP") && unchanged(new, "clusterIPs") {
            dropped.extend(["clusterIP", "clusterIPs"]);
        }
        dropped.extend(
            ["ipFamilies", "ipFamilyPolicy", "internalTrafficPolicy"].into_iter().filter(|field| unchanged(new, field)),
        );
    }
    if kind(old) == "LoadBalancer" && kind(new) != "LoadBalancer" {
        let own = ["allocateLoadBalancerNodePorts", "loadBalancerClass"];
        dropped.extend(own.into_iter().filter(|field| unchanged(new, field)));
    }
    if is_external(old) && !is_external(new) && unchanged(new, "externalTrafficPolicy") {
        dropped.push("externalTrafficPolicy");
    }
    let ports = |service: &Value| -> Vec<Value> {
        list(&service["spec"], "ports").iter().map(|port| port["nodePort"].clone()).collect()
    };
    let without_ports = uses_node_ports(old) && !uses_node_ports(new) && ports(old) == ports(new);
    let spec = meta::child(new, "spec");
    for field in dropped {
        spec.shift_remove(field);
    }
    if without_ports && let Some(Value::Array(ports)) = spec.get_mut("ports") {
        ports.iter_mut().filter_map(Value::as_object_mut).for_each(|port| drop(port.shift_remove("nodePort")));
    }
    if kind(new) != "LoadBalancer" {
        meta::child(new, "status").insert("loadBalancer".into(), json!({}));
    }
}

/// What a Service says that has no effect, or will have none.
pub fn warnings(service: &Value) -> Vec<String> {
    let spec = &service["spec"];
    let said = |field: &str| spec[field].as_str().is_some_and(|text| !text.is_empty());
    let external = !list(spec, "externalIPs").is_empty();
    let mut warnings = Vec::new();
    let mut warn = |odd: bool, text: &str| warnings.extend(odd.then(|| text.to_owned()));
    let headless = is_headless(service);
    warn(headless && said("loadBalancerIP"), "spec.loadBalancerIP is ignored for headless services");
    warn(headless && external, "spec.externalIPs is ignored for headless services");
    warn(headless && spec["sessionAffinity"] != "None", "spec.sessionAffinity is ignored for headless services");
    let named = kind(service) == "ExternalName";
    warn(external && !headless && !named, "spec.externalIPs is deprecated");
    warn(external && named, "spec.externalIPs is ignored when spec.type is \"ExternalName\"");
    warn(said("externalName") && !named, "spec.externalName is ignored when spec.type is not \"ExternalName\"");
    warn(spec["trafficDistribution"] == "PreferClose", "spec.trafficDistribution \"PreferClose\" is deprecated");
    warnings
}

/// What is wrong with a Service.
pub fn validate(object: &Value, old: Option<&Value>) -> Vec<StatusCause> {
    let spec = &object["spec"];
    let mut causes = Vec::new();
    if list(spec, "ports").is_empty() && !is_headless(object) && kind(object) != "ExternalName" {
        causes.push(StatusCause::required("spec.ports", ""));
    }
    of_type(object, &mut causes);
    ports(object, &mut causes);
    selector(&spec["selector"], &mut causes);
    affinity(spec, &mut causes);
    addresses(object, old, &mut causes);
    policies(object, &mut causes);
    causes
}

fn of_type(object: &Value, causes: &mut Vec<StatusCause>) {
    let spec = &object["spec"];
    match kind(object) {
        "ClusterIP" => {}
        "NodePort" | "LoadBalancer" => {
            if is_headless(object) {
                let why = "may not be set to 'None' for services with node ports";
                causes.push(StatusCause::invalid("spec.clusterIPs[0]", &json!("None"), why));
            }
        }
        "ExternalName" => {
            for field in ["clusterIPs", "ipFamilies", "ipFamilyPolicy"] {
                if !spec[field].is_null() {
                    let why = "may not be set for ExternalName services";
                    causes.push(StatusCause::forbidden(format!("spec.{field}"), why));
                }
            }
            let name = spec["externalName"].as_str().unwrap_or("");
            let name = name.strip_suffix('.').unwrap_or(name);
            if name.is_empty() {
                causes.push(StatusCause::required("spec.externalName", ""));
            } else if let Some(why) = bad_name(NameRule::Subdomain, name) {
                causes.push(StatusCause::invalid("spec.externalName", &name.into(), why));
            }
        }
        _ => {
            let known = ["ClusterIP", "ExternalName", "LoadBalancer", "NodePort"];
            causes.push(StatusCause::not_supported("spec.type", &spec["type"], &known));
        }
    }
    for field in ["allocateLoadBalancerNodePorts", "loadBalancerClass"] {
        if kind(object) != "LoadBalancer" && !spec[field].is_null() {
            let why = "may only be used when `type` is 'LoadBalancer'";
            causes.push(StatusCause::forbidden(format!("spec.{field}"), why));
        }
    }
}

fn ports(object: &Value, causes: &mut Vec<StatusCause>) {
    let ports = list(&object["spec"], "ports");
    let mut names = HashSet::new();
    let (mut numbers, mut node_ports) = (HashSet::new(), HashSet::new());
    for (index, port) in ports.iter().enumerate() {
        let path = format!("spec.ports[{index}]");
        let name = port["name"].as_str().unwrap_or("");
        if name.is_empty() && ports.len() > 1 {
            causes.push(StatusCause::required(format!("{path}.name"), ""));
        } else if !name.is_empty() {
            if let Some(why) = bad_name(NameRule::Label, name) {
                causes.push(StatusCause::invalid(format!("{path}.name"), &port["name"], why));
            }
            if !names.insert(name) {
                causes.push(StatusCause::duplicate(format!("{path}.name"), &port["name"]));
            }
        }
        causes.extend(bad_number(format!("{path}.port"), &port["port"]));
        let protocol = port["protocol"].as_str().unwrap_or("");
        if !["TCP", "UDP", "SCTP"].contains(&protocol) {
            causes.push(StatusCause::not_supported(
                format!("{path}.protocol"),
                &port["protocol"],
                &["SCTP", "TCP", "UDP"],
            ));
        }
        match &port["targetPort"] {
            Value::String(name) => {
                let bad = bad_port_name(name).into_iter();
                causes.extend(
                    bad.map(|why| StatusCause::invalid(format!("{path}.targetPort"), &port["targetPort"], why)),
                );
            }
            number => causes.extend(bad_number(format!("{path}.targetPort"), number)),
        }
        if port["appProtocol"].as_str().is_some_and(|protocol| !is_qualified_name(protocol)) {
            let why = "a protocol is a name of up to 63 characters, perhaps after a DNS subdomain and a slash";
            causes.push(StatusCause::invalid(format!("{path}.appProtocol"), &port["appProtocol"], why));
        }
        if let Some(number) = port["nodePort"].as_u64().filter(|&number| number != 0) {
            if kind(object) == "ClusterIP" {
                let why = "may not be used when `type` is 'ClusterIP'";
                causes.push(StatusCause::forbidden(format!("{path}.nodePort"), why));
            }
            if !node_ports.insert((protocol, number)) {
                causes.push(StatusCause::duplicate(format!("{path}.nodePort"), &port["nodePort"]));
            }
        }
        if !numbers.insert((protocol, port["port"].as_i64())) {
            // Equal ports were given one node port.
            if uses_node_ports(object) && port["nodePort"].as_u64().unwrap_or_default() == 0 {
                causes.push(StatusCause::duplicate(format!("{path}.nodePort"), &json!(0)));
            }
            causes.push(StatusCause::duplicate(path, &json!({"port": port["port"], "protocol": protocol})));
        }
    }
}

fn bad_number(field: String, number: &Value) -> Option<StatusCause> {
    let good = number.as_i64().is_some_and(|number| (1..=65_535).contains(&number));
    (!good).then(|| StatusCause::invalid(field, number, "must be between 1 and 65535, inclusive"))
}

/// Why a text is no name of a container's port; every reason by itself.
fn bad_port_name(name: &str) -> Vec<&'static str> {
    let allowed = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-';
    let reasons = [
        (name.len() > 15, "must be no more than 15 characters"),
        (name.is_empty() || !name.bytes().all(allowed), "must contain only lower case letters, digits and hyphens"),
        (!name.bytes().any(|b| b.is_ascii_lowercase()), "must contain at least one letter"),
        (name.contains("--"), "must not contain consecutive hyphens"),
        (name.starts_with('-') || name.ends_with('-'), "must not begin or end with a hyphen"),
    ];
    reasons.into_iter().filter(|(bad, _)| *bad).map(|(_, why)| why).collect()
}

fn selector(selector: &Value, causes: &mut Vec<StatusCause>) {
    for (key, value) in selector.as_object().into_iter().flatten() {
        if !is_qualified_name(key) {
            let why = "a label key is a name of up to 63 characters, perhaps after a DNS subdomain and a slash";
            causes.push(StatusCause::invalid("spec.selector", &key.as_str().into(), why));
        }
        if !is_label_value(value.as_str().unwrap_or("")) {
            let why = "a label value has up to 63 letters, digits, '-', '_' and '.'";
            causes.push(StatusCause::invalid("spec.selector", value, why));
        }
    }
}

fn affinity(spec: &Value, causes: &mut Vec<StatusCause>) {
    let config = &spec["sessionAffinityConfig"];
    match spec["sessionAffinity"].as_str().unwrap_or("") {
        "ClientIP" => {
            let seconds = &config["clientIP"]["timeoutSeconds"];
            if !seconds.is_null() && !seconds.as_i64().is_some_and(|seconds| (1..=86_400).contains(&seconds)) {
                let field = "spec.sessionAffinityConfig.clientIP.timeoutSeconds";
                causes.push(StatusCause::invalid(field, seconds, "must be greater than 0 and at most 86400"));
            }
        }
        "None" if config.is_null() => {}
        "None" => {
            let why = "must not be set when session affinity is None";
            causes.push(StatusCause::forbidden("spec.sessionAffinityConfig", why));
        }
        _ => causes.push(StatusCause::not_supported(
            "spec.sessionAffinity",
            &spec["sessionAffinity"],
            &["ClientIP", "None"],
        )),
    }
}

fn addresses(object: &Value, old: Option<&Value>, causes: &mut Vec<StatusCause>) {
    let spec = &object["spec"];
    if let Some(before) = old.filter(|old| kind(object) != "ExternalName" && kind(old) != "ExternalName")
        && !(is_headless(before) && is_headless(object))
    {
        let now = list(spec, "clusterIPs");
        for (index, _) in list(&before["spec"], "clusterIPs")
            .iter()
            .enumerate()
            // The second one may come and go.
            .filter(|(index, address)| now.get(*index) != Some(address) && (*index == 0 || now.len() == 2))
        {
            let field = format!("spec.clusterIPs[{index}]");
            causes.push(StatusCause::invalid(field, &spec["clusterIPs"], "may not change once set"));
        }
    }
    for (index, address) in list(spec, "externalIPs").iter().enumerate() {
        if address.as_str().is_none_or(|text| text.parse::<IpAddr>().is_err()) {
            let field = format!("spec.externalIPs[{index}]");
            causes.push(StatusCause::invalid(field, address, "must be a valid IP address"));
        }
    }
}

fn policies(object: &Value, causes: &mut Vec<StatusCause>) {
    let spec = &object["spec"];
    let field = "spec.externalTrafficPolicy";
    match (is_external(object), spec["externalTrafficPolicy"].as_str().unwrap_or("")) {
        (false, "") | (true, "Cluster" | "Local") => {}
        (false, _) => {
            let why = "may only be set for externally-accessible services";
            causes.push(StatusCause::invalid(field, &spec["externalTrafficPolicy"], why));
        }
        (true, "") => causes.push(StatusCause::required(field, "")),
        (true, _) => {
            causes.push(StatusCause::not_supported(field, &spec["externalTrafficPolicy"], &["Cluster", "Local"]))
        }
    }
    let field = "spec.internalTrafficPolicy";
    match spec["internalTrafficPolicy"].as_str() {
        Some("Cluster" | "Local") => {}
        Some(_) => {
            causes.push(StatusCause::not_supported(field, &spec["internalTrafficPolicy"], &["Cluster", "Local"]))
        }
        None if matches!(kind(object), "ClusterIP" | "NodePort" | "LoadBalancer") => {
            causes.push(StatusCause::required(field, ""));
        }
        None => {}
    }
    for (index, ingress) in list(&object["status"]["loadBalancer"], "ingress").iter().enumerate() {
        if ingress["ip"].as_str().is_some_and(|ip| !ip.is_empty() && ip.parse::<IpAddr>().is_err()) {
            let field = format!("status.loadBalancer.ingress[{index}].ip");
            causes.push(StatusCause::invalid(field, &ingress["ip"], "must be a valid IP address"));
        }
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    fn service(changes: Value) -> Value {
        let mut spec = json!({
            "type": "ClusterIP", "sessionAffinity": "None", "internalTrafficPolicy": "Cluster",
            "ports": [{"port": 80, "targetPort": 80, "protocol": "TCP"}],
        });
        for (name, value) in changes.as_object().into_iter().flatten() {
            spec[name] = value.clone();
        }
        json!({"spec": spec})
    }

    fn port(changes: Value) -> Value {
        let mut port = json!({"port": 80, "targetPort": 80, "protocol": "TCP"});
        for (name, value) in changes.as_object().into_iter().flatten() {
            port[name] = value.clone();
        }
        json!({"ports": [port]})
    }

    #[rstest]
    #[case(json!({}), &[])]
    #[case(json!({"ports": []}), &["spec.ports"])]
    #[case(json!({"ports": [], "clusterIP": "None"}), &[])]
    #[case(port(json!({"port": 0})), &["spec.ports[0].port"])]
    #[case(port(json!({"targetPort": "bad name!"})), &["spec.ports[0].targetPort"])]
    #[case(port(json!({"targetPort": 70000})), &["spec.ports[0].targetPort"])]
    #[case(port(json!({"targetPort": "http"})), &[])]
    #[case(port(json!({"protocol": "ICMP"})), &["spec.ports[0].protocol"])]
    #[case(port(json!({"appProtocol": "a b"})), &["spec.ports[0].appProtocol"])]
    #[case(port(json!({"nodePort": 30001})), &["spec.ports[0].nodePort"])]
    #[case(port(json!({"name": "A"})), &["spec.ports[0].name"])]
    #[case(json!({"type": "Nonsense"}), &["spec.type"])]
    #[case(json!({"type": "ExternalName"}), &["spec.externalName"])]
    #[case(json!({"type": "ExternalName", "externalName": "x.example."}), &[])]
    #[case(json!({"selector": {"a b": "c"}}), &["spec.selector"])]
    #[case(json!({"sessionAffinity": "Sometimes"}), &["spec.sessionAffinity"])]
    #[case(json!({"externalIPs": ["x"], "externalTrafficPolicy": "Local"}), &["spec.externalIPs[0]"])]
    #[case(json!({"externalTrafficPolicy": "Local"}), &["spec.externalTrafficPolicy"])]
    #[case(json!({"type": "NodePort"}), &["spec.externalTrafficPolicy"])]
    #[case(json!({"internalTrafficPolicy": "x"}), &["spec.internalTrafficPolicy"])]
    #[case(json!({"loadBalancerClass": "a/b"}), &["spec.loadBalancerClass"])]
    fn mistakes_are_told_by_their_field(#[case] changes: Value, #[case] expected: &[&str]) {
        let fields: Vec<String> = validate(&service(changes), None).into_iter().map(|cause| cause.field).collect();
        assert_eq!(fields, expected);
    }

    #[rstest]
    #[case(&["10.96.0.9"], &[])]
    #[case(&["10.96.0.9", "fd00::9"], &[])]
    #[case(&["10.96.0.8", "fd00::9"], &["spec.clusterIPs[0]"])]
    #[case(&["10.96.0.9", "fd00::8"], &["spec.clusterIPs[1]"])]
    fn addresses_stay_but_the_second_may_go(#[case] now: &[&str], #[case] expected: &[&str]) {
        let old = service(json!({"clusterIPs": ["10.96.0.9", "fd00::9"]}));
        let causes = validate(&service(json!({"clusterIPs": now})), Some(&old));
        assert_eq!(causes.into_iter().map(|cause| cause.field).collect::<Vec<_>>(), expected);
    }

    #[test]
    fn a_change_of_type_takes_what_it_leaves_without_meaning() {
        let mut old = service(port(json!({"nodePort": 30001})));
        for (field, value) in [
            ("type", json!("NodePort")),
            ("clusterIP", json!("10.96.0.9")),
            ("externalTrafficPolicy", json!("Cluster")),
        ] {
            old["spec"][field] = value;
        }
        let mut new = old.clone();
        new["spec"]["type"] = "ExternalName".into();
        drop_dependents(&mut new, &old);
        for gone in ["/spec/clusterIP", "/spec/externalTrafficPolicy", "/spec/ports/0/nodePort"] {
            assert_eq!(new.pointer(gone), None, "{gone}");
        }
        let mut same = old.clone();
        drop_dependents(&mut same, &old);
        assert_eq!(same["spec"], old["spec"]);
    }
}
