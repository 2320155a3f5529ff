use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{CertificateRef, GatewayTls, ListenerFilters, ParentRef};

/// `GatewayClass.spec`.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct GatewayClassSpec {
    /// The controller that owns the class.
    pub controller_name: String,
    /// Implementation-specific parameters; this implementation supports none.
    pub parameters_ref: Option<ParametersRef>,
}

/// A reference to parameters, cluster-wide or local.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ParametersRef {
    /// API group, empty for core.
    pub group: String,
    /// Kind of the referent.
    pub kind: String,
    /// Name of the referent.
    pub name: String,
}

/// `Gateway.spec`.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct GatewaySpec {
    /// Name of the class.
    pub gateway_class_name: String,
    /// The listeners, in order.
    pub listeners: Vec<Listener>,
    /// Addresses that were asked for; none means that one is assigned.
    pub addresses: Vec<AddressRequest>,
    /// Infrastructure settings.
    pub infrastructure: Option<Infrastructure>,
    /// Gateway-wide TLS settings.
    pub tls: Option<GatewayTls>,
    /// Which ListenerSets may add listeners.
    pub allowed_listeners: AllowedListeners,
}

/// `Gateway.spec.allowedListeners`.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct AllowedListeners {
    /// Which namespaces ListenerSets may come from; none unless it says so.
    pub namespaces: RouteNamespaces,
}

/// `ListenerSet.spec`.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ListenerSetSpec {
    /// The Gateway that the listeners are for.
    pub parent_ref: ParentRef,
    /// The listeners, in order.
    pub listeners: Vec<Listener>,
}

/// `Gateway.spec.infrastructure`.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Infrastructure {
    /// Implementation-specific parameters; this implementation supports none.
    pub parameters_ref: Option<ParametersRef>,
    /// What everything that is made for the Gateway is to be labelled with.
    pub labels: BTreeMap<String, String>,
    /// What it is to be annotated with.
    pub annotations: BTreeMap<String, String>,
}

/// One entry of `Gateway.spec.addresses`.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct AddressRequest {
    /// `IPAddress`, `Hostname` or a domain-prefixed type.
    pub r#type: String,
    /// The value; absent or empty asks for any address of the type.
    pub value: String,
    /// From where it has to be reached; empty where that is left to the implementation.
    pub routability: String,
}

impl Default for AddressRequest {
    fn default() -> Self {
        Self { r#type: "IPAddress".into(), value: String::new(), routability: String::new() }
    }
}

/// One entry of `Gateway.spec.listeners`.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Listener {
    /// Unique name in the Gateway.
    pub name: String,
    /// Hostname, exact or with a leading `*.`; absent or empty means any.
    pub hostname: Option<String>,
    /// Port number.
    pub port: u16,
    /// `HTTP`, `HTTPS`, `TLS`, `TCP`, `UDP` or a domain-prefixed protocol.
    pub protocol: String,
    /// TLS settings.
    pub tls: Option<ListenerTls>,
    /// Which routes may attach.
    pub allowed_routes: AllowedRoutes,
    /// What happens to requests before they are matched.
    pub filters: ListenerFilters,
}

impl Listener {
    /// The hostname to match by, `None` for any.
    pub fn host(&self) -> Option<&str> {
        self.hostname.as_deref().filter(|host| !host.is_empty())
    }
}

/// `listeners[].tls`.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ListenerTls {
    /// `Terminate` (default) or `Passthrough`.
    pub mode: Option<String>,
    /// References to the certificates to serve.
    pub certificate_refs: Vec<CertificateRef>,
}

/// `listeners[].allowedRoutes`.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct AllowedRoutes {
    /// Which namespaces routes may come from.
    pub namespaces: RouteNamespaces,
    /// Which kinds may attach; empty means what the protocol admits.
    pub kinds: Vec<RouteKind>,
}

/// A route kind, in `allowedRoutes` as in `supportedKinds`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct RouteKind {
    /// API group.
    #[serde(default = "gateway_group")]
    pub group: String,
    /// Kind.
    pub kind: String,
}

fn gateway_group() -> String {
    super::GATEWAY_GROUP.into()
}

/// `allowedRoutes.namespaces`, and `allowedListeners.namespaces`.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct RouteNamespaces {
    /// `Same` (of routes the default), `All`, `Selector` or `None` (of ListenerSets the default).
    pub from: Option<String>,
    /// Which namespaces, with `Selector`.
    pub selector: Option<LabelSelector>,
}

/// A Kubernetes label selector.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct LabelSelector {
    /// Labels that must be there with this value.
    pub match_labels: BTreeMap<String, String>,
    /// Further requirements.
    pub match_expressions: Vec<SelectorRequirement>,
}

/// One entry of `matchExpressions`.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct SelectorRequirement {
    /// The label.
    pub key: String,
    /// `In`, `NotIn`, `Exists` or `DoesNotExist`.
    pub operator: String,
    /// Values for `In` and `NotIn`.
    pub values: Vec<String>,
}

impl LabelSelector {
    /// Whether the labels satisfy every requirement; an empty selector takes everything, one that cannot be read nothing.
    pub fn matches(&self, labels: &BTreeMap<String, String>) -> bool {
        self.match_labels.iter().all(|(key, value)| labels.get(key) == Some(value))
            && self.match_expressions.iter().all(|requirement| requirement.matches(labels))
    }
}

impl SelectorRequirement {
    fn matches(&self, labels: &BTreeMap<String, String>) -> bool {
        let value = labels.get(&self.key);
        match self.operator.as_str() {
            "In" => value.is_some_and(|value| self.values.contains(value)),
            "NotIn" if !self.values.is_empty() => value.is_none_or(|value| !self.values.contains(value)),
            "Exists" if self.values.is_empty() => value.is_some(),
            "DoesNotExist" if self.values.is_empty() => value.is_none(),
            // An unknown operator, or one with values where there are to be none, or the other way round.
            _ => false,
        }
    }
}

/// `ReferenceGrant.spec`.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct GrantSpec {
    /// Who may refer.
    pub from: Vec<GrantFrom>,
    /// To what.
    pub to: Vec<GrantTo>,
}

/// One entry of `ReferenceGrant.spec.from`.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct GrantFrom {
    /// API group of the referrer.
    pub group: String,
    /// Kind of the referrer.
    pub kind: String,
    /// Namespace of the referrer.
    pub namespace: String,
}

/// One entry of `ReferenceGrant.spec.to`.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct GrantTo {
    /// API group of the referent, empty for core.
    pub group: String,
    /// Kind of the referent.
    pub kind: String,
    /// Name of the referent; absent or empty means all of the kind.
    pub name: Option<String>,
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use rstest::rstest;
    use serde_json::{Value, json};

    use super::LabelSelector;

    #[rstest]
    #[case::nothing_asked(json!({}), true)]
    #[case::not_in_others(json!({"matchExpressions": [{"key": "team", "operator": "NotIn", "values": ["blue"]}]}), true)]
    #[case::there(json!({"matchExpressions": [{"key": "team", "operator": "Exists"}]}), true)]
    #[case::another_not_there(json!({"matchExpressions": [{"key": "other", "operator": "DoesNotExist", "values": []}]}), true)]
    #[case::in_nothing(json!({"matchExpressions": [{"key": "team", "operator": "In", "values": []}]}), false)]
    #[case::not_in_nothing(json!({"matchExpressions": [{"key": "team", "operator": "NotIn", "values": []}]}), false)]
    #[case::not_in_what_is_left_out(json!({"matchExpressions": [{"key": "team", "operator": "NotIn"}]}), false)]
    #[case::there_with_values(json!({"matchExpressions": [{"key": "team", "operator": "Exists", "values": ["red"]}]}), false)]
    #[case::not_there_with_values(json!({"matchExpressions": [{"key": "other", "operator": "DoesNotExist", "values": ["red"]}]}), false)]
    #[case::unknown_operator(json!({"matchExpressions": [{"key": "team", "operator": "Gt", "values": ["1"]}]}), false)]
    fn a_selector_that_cannot_be_read_selects_nothing(#[case] selector: Value, #[case] expected: bool) {
        let selector: LabelSelector = serde_json::from_value(selector).unwrap();
        assert_eq!(selector.matches(&[("team".to_owned(), "red".to_owned())].into()), expected);
    }
}
