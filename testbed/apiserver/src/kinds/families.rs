//! Which families of addresses a Service has. A cluster has addresses of IPv4, or of IPv4 and IPv6, in this order of preference.

use std::net::IpAddr;

use serde_json::{Map, Value, json};

use crate::error::StatusCause;
use crate::meta::{self, set_default};

const FAMILIES: [&str; 2] = ["IPv4", "IPv6"];
const POLICIES: [&str; 3] = ["PreferDualStack", "RequireDualStack", "SingleStack"];
const POLICY: &str = "spec.ipFamilyPolicy";

/// The family that is not this one.
fn other(family: &str) -> &'static str {
    if family == FAMILIES[0] { FAMILIES[1] } else { FAMILIES[0] }
}

fn family_of(address: &str) -> &'static str {
    if address.contains(':') { FAMILIES[1] } else { FAMILIES[0] }
}

fn list<'v>(spec: &'v Map<String, Value>, field: &str) -> &'v [Value] {
    spec.get(field).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default()
}

fn is_single(spec: &Map<String, Value>) -> bool {
    spec.get("ipFamilyPolicy").is_some_and(|policy| policy == "SingleStack")
}

/// Brings policy, families and the number of addresses into agreement, in a Service that holds what it keeps of `old`;
/// `dual` says whether the cluster has both families.
///
/// # Errors
/// What cannot be brought into agreement. A real API server tells that before anything else of a Service.
pub fn settle(object: &mut Value, old: Option<&Value>, dual: bool) -> Result<(), Vec<StatusCause>> {
    if object["spec"]["type"] == "ExternalName" {
        return Ok(());
    }
    let spec = meta::child(object, "spec");
    let unselective = spec.get("selector").and_then(Value::as_object).is_none_or(Map::is_empty);
    // What has neither selector nor address of its own has the addresses that somebody writes, of either family.
    let free = unselective && spec.get("clusterIP").is_some_and(|address| address == "None");
    set_default(spec, "ipFamilyPolicy", if free { "RequireDualStack" } else { "SingleStack" });
    reject(malformed(spec))?;
    if let Some(old) = old.filter(|old| old["spec"]["type"] != "ExternalName") {
        reject(released(spec, &old["spec"]))?;
    }
    reject(too_many(spec))?;
    let unknown = infer(spec, dual);
    reject(unknown)?;
    if !free {
        reject(unconfigured(spec, dual))?;
    }
    set_default(spec, "ipFamilies", json!([FAMILIES[0]]));
    let single = is_single(spec);
    if let Some(Value::Array(families)) = spec.get_mut("ipFamilies")
        && !single
        && (dual || free)
        && let [first] = families.as_slice()
    {
        let second = other(first.as_str().unwrap_or(""));
        families.push(second.into());
    }
    Ok(())
}

fn reject(causes: Vec<StatusCause>) -> Result<(), Vec<StatusCause>> {
    if causes.is_empty() { Ok(()) } else { Err(causes) }
}

/// Values that are none, or contradict each other.
fn malformed(spec: &Map<String, Value>) -> Vec<StatusCause> {
    let mut causes = Vec::new();
    let (families, addresses) = (list(spec, "ipFamilies"), list(spec, "clusterIPs"));
    let all = json!(addresses);
    match (spec.get("clusterIP"), addresses.first()) {
        (Some(said), Some(first)) if said != first => {
            causes.push(StatusCause::invalid("spec.clusterIPs", &all, "first value must match `clusterIP`"));
        }
        (Some(_), None) => causes.push(StatusCause::required("spec.clusterIPs", "")),
        (None, Some(_)) => {
            let why = "must be empty when `clusterIP` is not specified";
            causes.push(StatusCause::invalid("spec.clusterIPs", &all, why));
        }
        _ => {}
    }
    for (index, family) in families.iter().enumerate() {
        let field = format!("spec.ipFamilies[{index}]");
        if !FAMILIES.iter().any(|known| family == known) {
            causes.push(StatusCause::not_supported(field, family, &FAMILIES));
        } else if families[..index].contains(family) {
            causes.push(StatusCause::duplicate(field, family));
        }
    }
    if spec.get("ipFamilyPolicy").is_some_and(|policy| !POLICIES.iter().any(|known| policy == known)) {
        causes.push(StatusCause::not_supported(POLICY, &spec["ipFamilyPolicy"], &POLICIES));
    }
    let before = causes.len();
    for (index, address) in addresses.iter().enumerate() {
        let text = address.as_str().unwrap_or("");
        if index == 0 && text == "None" {
            if addresses.len() > 1 {
                causes.push(StatusCause::invalid("spec.clusterIPs", &all, "'None' must be the first and only value"));
            }
        } else if text.parse::<IpAddr>().is_err() {
            let field = format!("spec.clusterIPs[{index}]");
            causes.push(StatusCause::invalid(field, address, "must be a valid IP address"));
        }
    }
    if addresses.len() > 2 {
        causes.push(StatusCause::invalid("spec.clusterIPs", &all, "may only hold up to 2 values"));
    }
    if causes.len() > before {
        return causes;
    }
    let family = |address: &Value| family_of(address.as_str().unwrap_or(""));
    if addresses.len() > 1 && addresses.iter().all(|address| family(address) == family(&addresses[0])) {
        let why = "may specify no more than one IP for each IP family";
        causes.push(StatusCause::invalid("spec.clusterIPs", &all, why));
    }
    let given = addresses.iter().zip(families).enumerate().filter(|(_, (address, _))| *address != "None");
    for (index, (address, _)) in given.filter(|(_, (address, said))| *said != family(address)) {
        let why = format!("expected an {} value as indicated by `ipFamilies[{index}]`", other(family(address)));
        causes.push(StatusCause::invalid(format!("spec.clusterIPs[{index}]"), address, &why));
    }
    causes
}

/// Takes the second family away where the policy no longer wants it; what is taken away otherwise is a mistake.
fn released(spec: &mut Map<String, Value>, old: &Value) -> Vec<StatusCause> {
    let mut causes = Vec::new();
    for (field, what) in [("clusterIPs", "cluster IP"), ("ipFamilies", "IP family")] {
        let before = old[field].as_array().map(Vec::as_slice).unwrap_or_default();
        let now = list(spec, field);
        if is_single(spec) {
            if now == before
                && let Some(Value::Array(all)) = spec.get_mut(field)
            {
                all.truncate(1);
            }
        } else if !now.is_empty() && now.len() < before.len() {
            let why = format!("must be 'SingleStack' to release the secondary {what}");
            causes.push(StatusCause::invalid(POLICY, &spec["ipFamilyPolicy"], &why));
        }
    }
    causes
}

fn too_many(spec: &Map<String, Value>) -> Vec<StatusCause> {
    let several = [("clusterIPs", "cluster IPs"), ("ipFamilies", "IP families")];
    let several = several.iter().filter(|(field, _)| is_single(spec) && list(spec, field).len() == 2);
    several
        .map(|(_, what)| {
            let why = format!("must be 'RequireDualStack' or 'PreferDualStack' when multiple {what} are specified");
            StatusCause::invalid(POLICY, &spec["ipFamilyPolicy"], &why)
        })
        .collect()
}

/// Takes families that are not said from the addresses.
fn infer(spec: &mut Map<String, Value>, dual: bool) -> Vec<StatusCause> {
    let addresses = list(spec, "clusterIPs").to_vec();
    let mut families = list(spec, "ipFamilies").to_vec();
    let mut causes = Vec::new();
    for (index, address) in addresses.iter().enumerate().skip(families.len()).filter(|(_, address)| *address != "None")
    {
        let family = family_of(address.as_str().unwrap_or(""));
        if family == FAMILIES[0] || dual {
            families.push(family.into());
        } else {
            let why = format!("{family} is not configured on this cluster");
            causes.push(StatusCause::invalid(format!("spec.clusterIPs[{index}]"), &json!(addresses), &why));
        }
    }
    if !families.is_empty() {
        spec.insert("ipFamilies".into(), families.into());
    }
    causes
}

/// Families that the cluster does not have.
fn unconfigured(spec: &Map<String, Value>, dual: bool) -> Vec<StatusCause> {
    let mut causes = Vec::new();
    if dual {
        return causes;
    }
    if spec.get("ipFamilyPolicy").is_some_and(|policy| policy == "RequireDualStack") {
        let why = "this cluster is not configured for dual-stack services";
        causes.push(StatusCause::invalid(POLICY, &spec["ipFamilyPolicy"], why));
    }
    for (index, family) in list(spec, "ipFamilies").iter().enumerate().filter(|(_, family)| *family != FAMILIES[0]) {
        causes.push(StatusCause::invalid(
            format!("spec.ipFamilies[{index}]"),
            family,
            "not configured on this cluster",
        ));
    }
    causes
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use rstest::rstest;

    use super::*;

    fn service(spec: Value) -> Value {
        let mut object = json!({"spec": {"type": "ClusterIP", "selector": {"app": "a"}}});
        for (field, value) in spec.as_object().unwrap() {
            object["spec"][field] = value.clone();
        }
        object
    }

    #[rstest]
    #[case::neither_said(json!({}), false, "SingleStack", &["IPv4"])]
    #[case::preferred_without(json!({"ipFamilyPolicy": "PreferDualStack"}), false, "PreferDualStack", &["IPv4"])]
    #[case::preferred_with(json!({"ipFamilyPolicy": "PreferDualStack"}), true, "PreferDualStack", &["IPv4", "IPv6"])]
    #[case::order(json!({"ipFamilyPolicy": "RequireDualStack", "ipFamilies": ["IPv6"]}), true, "RequireDualStack", &["IPv6", "IPv4"])]
    #[case::by_address(json!({"clusterIP": "fd00::9", "clusterIPs": ["fd00::9"]}), true, "SingleStack", &["IPv6"])]
    #[case::free(json!({"clusterIP": "None", "clusterIPs": ["None"], "selector": {}}), false, "RequireDualStack", &["IPv4", "IPv6"])]
    #[case::headless(json!({"clusterIP": "None", "clusterIPs": ["None"]}), true, "SingleStack", &["IPv4"])]
    fn what_is_not_said_follows(
        #[case] spec: Value,
        #[case] dual: bool,
        #[case] policy: &str,
        #[case] families: &[&str],
    ) {
        let mut object = service(spec);
        settle(&mut object, None, dual).unwrap();
        assert_eq!(
            (&object["spec"]["ipFamilyPolicy"], &object["spec"]["ipFamilies"]),
            (&json!(policy), &json!(families))
        );
    }

    #[rstest]
    #[case(json!({"ipFamilyPolicy": "RequireDualStack"}), false, "spec.ipFamilyPolicy")]
    #[case(json!({"ipFamilies": ["IPv6"]}), false, "spec.ipFamilies[0]")]
    #[case(json!({"ipFamilies": ["IPv4", "IPv6"]}), true, "spec.ipFamilyPolicy")]
    #[case(json!({"ipFamilies": ["IPv4", "IPv4"]}), true, "spec.ipFamilies[1]")]
    #[case(json!({"ipFamilies": ["IPv5"]}), true, "spec.ipFamilies[0]")]
    #[case(json!({"ipFamilyPolicy": "Both"}), true, "spec.ipFamilyPolicy")]
    #[case(json!({"clusterIP": "10.96.0.9", "clusterIPs": ["10.96.0.9"], "ipFamilies": ["IPv6"]}), true, "spec.clusterIPs[0]")]
    #[case(json!({"clusterIP": "10.96.0.9", "clusterIPs": ["10.96.0.9", "10.96.0.8"]}), true, "spec.clusterIPs")]
    #[case(json!({"clusterIP": "fd00::9", "clusterIPs": ["fd00::9"]}), false, "spec.clusterIPs[0]")]
    #[case(json!({"clusterIP": "nonsense", "clusterIPs": ["nonsense"]}), true, "spec.clusterIPs[0]")]
    #[case(json!({"clusterIP": "None", "clusterIPs": ["None", "10.96.0.9"]}), true, "spec.clusterIPs")]
    #[case(json!({"clusterIP": "10.96.0.9", "clusterIPs": ["10.96.0.8"]}), true, "spec.clusterIPs")]
    fn what_cannot_agree_is_told_by_its_field(#[case] spec: Value, #[case] dual: bool, #[case] field: &str) {
        let causes = settle(&mut service(spec), None, dual).unwrap_err();
        assert_eq!(causes.into_iter().map(|cause| cause.field).collect::<Vec<_>>(), [field]);
    }

    #[test]
    fn a_family_comes_and_goes_by_the_policy_alone() {
        let both = json!({
            "ipFamilyPolicy": "PreferDualStack", "ipFamilies": ["IPv4", "IPv6"],
            "clusterIP": "10.96.0.9", "clusterIPs": ["10.96.0.9", "fd00::9"],
        });
        let old = service(both.clone());
        let mut single = old.clone();
        single["spec"]["ipFamilyPolicy"] = json!("SingleStack");
        settle(&mut single, Some(&old), true).unwrap();
        assert_eq!(single["spec"]["clusterIPs"], json!(["10.96.0.9"]));
        assert_eq!(single["spec"]["ipFamilies"], json!(["IPv4"]));
        let mut again = single.clone();
        again["spec"]["ipFamilyPolicy"] = json!("PreferDualStack");
        settle(&mut again, Some(&single), true).unwrap();
        assert_eq!(again["spec"]["ipFamilies"], json!(["IPv4", "IPv6"]));
        let mut reduced = old.clone();
        reduced["spec"]["ipFamilies"] = json!(["IPv4"]);
        let causes = settle(&mut reduced, Some(&old), true).unwrap_err();
        assert_eq!(
            causes[0].message,
            "Invalid value: \"PreferDualStack\": must be 'SingleStack' to release the secondary IP family"
        );
    }
}
