//! Services whose endpoints are ours, made to fit the backends.

use serde_json::{Value, json};

use super::backends::Backends;
use super::names::selector;

/// Whose the Services without a selector are that are applied.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ServicesOf {
    /// Whoever publishes endpoints.
    Anybody,
    /// Hosted backends at an IPv6 address.
    Ipv6,
    /// Hosted backends at an address of each family.
    Both,
    /// Deployed backends.
    Pods,
}

impl ServicesOf {
    /// Those of a run's backends.
    pub fn backends(backends: &Backends) -> ServicesOf {
        match backends {
            Backends::Hosted(hosting) => match hosting.addresses() {
                [_, _, ..] => ServicesOf::Both,
                [only] if only.is_ipv6() => ServicesOf::Ipv6,
                _ => ServicesOf::Anybody,
            },
            Backends::Deployed(_) => ServicesOf::Pods,
        }
    }

    /// Makes a Service of this name fit: of the families of the addresses of hosted backends, because unless it says so it is of the
    /// cluster's first family, and slices of another one are none of its own; selecting the Pods of deployed ones.
    pub fn fit(self, service: &mut Value, name: &str) {
        match self {
            ServicesOf::Anybody => {}
            ServicesOf::Ipv6 => of_ipv6(service),
            ServicesOf::Both => of_both(service),
            ServicesOf::Pods => of_pods(service, name),
        }
    }
}

/// Asks for IPv6 in a Service without selector that leaves the family open.
fn of_ipv6(service: &mut Value) {
    let Some(spec) = service.get_mut("spec").and_then(Value::as_object_mut) else { return };
    if !["selector", "ipFamilies", "externalName"].iter().any(|field| spec.contains_key(*field)) {
        spec.insert("ipFamilies".to_owned(), json!(["IPv6"]));
        spec.insert("ipFamilyPolicy".to_owned(), json!("SingleStack"));
    }
}

/// Asks for both families in a Service without selector that leaves them open. A cluster of one family gives it that one.
fn of_both(service: &mut Value) {
    let Some(spec) = service.get_mut("spec").and_then(Value::as_object_mut) else { return };
    if !["selector", "ipFamilies", "ipFamilyPolicy", "externalName"].iter().any(|field| spec.contains_key(*field)) {
        spec.insert("ipFamilyPolicy".to_owned(), json!("PreferDualStack"));
    }
}

/// Selects the Pods of the backend of this name in a Service that leaves its endpoints to us.
fn of_pods(service: &mut Value, name: &str) {
    let Some(spec) = service.get_mut("spec").and_then(Value::as_object_mut) else { return };
    if !["selector", "externalName"].iter().any(|field| spec.contains_key(*field)) {
        spec.insert("selector".to_owned(), selector(name).into());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn services_of_ours_are_of_ipv6_unless_they_say_otherwise() {
        let after = |spec: Value| {
            let mut service = json!({"spec": spec});
            of_ipv6(&mut service);
            service["spec"]["ipFamilies"].clone()
        };
        assert_eq!(after(json!({"ports": []})), json!(["IPv6"]));
        assert_eq!(after(json!({"ipFamilies": ["IPv4"]})), json!(["IPv4"]));
        assert_eq!(after(json!({"selector": {"app": "a"}})), Value::Null);
    }

    #[test]
    fn services_of_ours_are_of_both_families_unless_they_say_otherwise() {
        let after = |spec: Value| {
            let mut service = json!({"spec": spec});
            of_both(&mut service);
            service["spec"]["ipFamilyPolicy"].clone()
        };
        assert_eq!(after(json!({"ports": []})), json!("PreferDualStack"));
        assert_eq!(after(json!({"ipFamilies": ["IPv4"]})), Value::Null);
        assert_eq!(after(json!({"ipFamilyPolicy": "SingleStack"})), json!("SingleStack"));
    }

    #[test]
    fn services_of_ours_select_deployed_backends_unless_they_say_otherwise() {
        let after = |spec: Value| {
            let mut service = json!({"spec": spec});
            of_pods(&mut service, "echo");
            service["spec"]["selector"].clone()
        };
        assert_eq!(after(json!({"ports": []})), json!({"gateproof.dev/service": "echo"}));
        assert_eq!(after(json!({"selector": {"app": "a"}})), json!({"app": "a"}));
        assert_eq!(after(json!({"externalName": "a.example"})), Value::Null);
    }
}
