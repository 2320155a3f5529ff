use serde::{Deserialize, Serialize};

/// A reference from a route to what it attaches to; written to status exactly as it stands in spec.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ParentRef {
    /// API group, Gateway API's when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub group: Option<String>,
    /// Kind, `Gateway` when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    /// Namespace, the route's own when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub namespace: Option<String>,
    /// Name of the parent.
    pub name: String,
    /// Listener name, all listeners when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub section_name: Option<String>,
    /// Listener port, all ports when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub port: Option<u16>,
}

impl ParentRef {
    /// Whether the parent is a Gateway.
    pub fn is_gateway(&self) -> bool {
        self.group.as_deref().is_none_or(|group| group == super::GATEWAY_GROUP)
            && self.kind.as_deref().is_none_or(|kind| kind == "Gateway")
    }

    /// Whether the parent is a ListenerSet.
    pub fn is_listener_set(&self) -> bool {
        self.group.as_deref().is_none_or(|group| group == super::GATEWAY_GROUP)
            && self.kind.as_deref() == Some("ListenerSet")
    }

    /// Whether both name the same parent, section and port, seen from a route in `namespace`.
    pub fn same(&self, other: &Self, namespace: &str) -> bool {
        let key = |r: &Self| {
            (
                r.group.clone().unwrap_or_else(|| super::GATEWAY_GROUP.into()),
                r.kind.clone().unwrap_or_else(|| "Gateway".into()),
                r.namespace.clone().unwrap_or_else(|| namespace.into()),
                r.name.clone(),
                r.section_name.clone().filter(|section| !section.is_empty()),
                r.port,
            )
        };
        key(self) == key(other)
    }
}

/// A reference to a backend, of any kind of route.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct BackendRef {
    /// API group, empty for core.
    pub group: String,
    /// Kind, `Service` by default.
    pub kind: String,
    /// Namespace, the route's own when absent.
    pub namespace: Option<String>,
    /// Name of the backend.
    pub name: String,
    /// Port of the Service.
    pub port: Option<u16>,
    /// Share of the traffic, 1 when absent.
    pub weight: Option<u32>,
    /// Filters for what goes to this backend (HTTP and gRPC only).
    pub filters: Vec<HttpFilter>,
}

impl Default for BackendRef {
    fn default() -> Self {
        Self {
            group: String::new(),
            kind: "Service".into(),
            namespace: None,
            name: String::new(),
            port: None,
            weight: None,
            filters: Vec::new(),
        }
    }
}

/// `HTTPRoute.spec`.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct HttpRouteSpec {
    /// What the route attaches to.
    pub parent_refs: Vec<ParentRef>,
    /// Hosts that the route takes; none means those of the listener.
    pub hostnames: Vec<String>,
    /// Rules, in order.
    pub rules: Vec<HttpRule>,
}

/// One rule of an HTTPRoute.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct HttpRule {
    /// Optional name; has no effect on routing.
    pub name: Option<String>,
    /// Alternatives; none means every path.
    pub matches: Vec<HttpMatch>,
    /// Filters of the rule.
    pub filters: Vec<HttpFilter>,
    /// Backends by weight.
    pub backend_refs: Vec<BackendRef>,
    /// Timeouts.
    pub timeouts: Option<Timeouts>,
    /// Retries.
    pub retry: Option<Retry>,
    /// Session persistence (experimental channel), unsupported here.
    pub session_persistence: Option<serde_json::Value>,
}

/// One match of a rule: all of its parts have to hold.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct HttpMatch {
    /// Path, prefix `/` when absent.
    pub path: Option<PathMatch>,
    /// Headers; of several entries of one name only the first counts.
    pub headers: Vec<NameMatch>,
    /// Query parameters; of several entries of one name only the first counts.
    pub query_params: Vec<NameMatch>,
    /// Method, any when absent.
    pub method: Option<String>,
}

/// A path match.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct PathMatch {
    /// `Exact`, `PathPrefix` (default) or `RegularExpression`.
    pub r#type: Option<String>,
    /// The value, `/` when absent.
    pub value: Option<String>,
}

/// A header or query parameter match.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct NameMatch {
    /// `Exact` (default) or `RegularExpression`.
    pub r#type: Option<String>,
    /// Header or parameter name.
    pub name: String,
    /// Value or expression.
    pub value: String,
}

/// One filter of a rule or a backend.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct HttpFilter {
    /// The discriminator.
    pub r#type: String,
    /// With `RequestHeaderModifier`.
    pub request_header_modifier: Option<HeaderModifier>,
    /// With `ResponseHeaderModifier`.
    pub response_header_modifier: Option<HeaderModifier>,
    /// With `RequestMirror`.
    pub request_mirror: Option<RequestMirror>,
    /// With `RequestRedirect`.
    pub request_redirect: Option<Redirect>,
    /// With `URLRewrite`.
    pub url_rewrite: Option<Rewrite>,
    /// With `CORS`.
    pub cors: Option<Cors>,
    /// With `ExtensionRef`.
    pub extension_ref: Option<ExtensionRef>,
}

/// Header changes.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct HeaderModifier {
    /// Replace.
    pub set: Vec<NameValue>,
    /// Append.
    pub add: Vec<NameValue>,
    /// Delete.
    pub remove: Vec<String>,
}

/// A header and its value.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct NameValue {
    /// Header name.
    pub name: String,
    /// Header value.
    pub value: String,
}

/// A mirror filter.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct RequestMirror {
    /// Where the copies go.
    pub backend_ref: BackendRef,
    /// Share in percent; all when neither this nor `fraction` is given.
    pub percent: Option<u32>,
    /// Share as a fraction.
    pub fraction: Option<Fraction>,
}

/// A share of requests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Fraction {
    /// Counter.
    pub numerator: u32,
    /// Base, 100 when absent.
    pub denominator: Option<u32>,
}

/// A redirect filter.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Redirect {
    /// `http` or `https`; the request's when absent.
    pub scheme: Option<String>,
    /// Host; the request's when absent.
    pub hostname: Option<String>,
    /// New path.
    pub path: Option<PathModifier>,
    /// Port; follows scheme and listener when absent.
    pub port: Option<u16>,
    /// Status code, 302 when absent.
    pub status_code: Option<u16>,
}

/// A rewrite filter.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Rewrite {
    /// New Host header.
    pub hostname: Option<String>,
    /// New path.
    pub path: Option<PathModifier>,
}

/// How a redirect or rewrite changes the path.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct PathModifier {
    /// `ReplaceFullPath` or `ReplacePrefixMatch`.
    pub r#type: String,
    /// With `ReplaceFullPath`.
    pub replace_full_path: Option<String>,
    /// With `ReplacePrefixMatch`.
    pub replace_prefix_match: Option<String>,
}

/// A reference to a filter of some other API.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ExtensionRef {
    /// API group.
    pub group: String,
    /// Kind.
    pub kind: String,
    /// Name.
    pub name: String,
}

/// Timeouts of a rule, as Gateway API durations (`1m30s`).
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Timeouts {
    /// For the whole transaction.
    pub request: Option<String>,
    /// For each try.
    pub backend_request: Option<String>,
}

/// How requests of a rule are tried again.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Retry {
    /// Status codes that are tried again.
    pub codes: Vec<u16>,
    /// How often at most, beside the first try: 0 is never.
    pub attempts: Option<u32>,
    /// The pause before each further try, as a Gateway API duration.
    pub backoff: Option<String>,
}

/// A CORS filter.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Cors {
    /// Origins that may read answers.
    pub allow_origins: Vec<String>,
    /// Whether requests may carry credentials.
    pub allow_credentials: bool,
    /// Methods.
    pub allow_methods: Vec<String>,
    /// Names of request headers.
    pub allow_headers: Vec<String>,
    /// Names of response headers.
    pub expose_headers: Vec<String>,
    /// Seconds for which the answer to a preflight may be kept, 5 when absent.
    pub max_age: Option<u32>,
}

/// `TCPRoute.spec`, and `UDPRoute.spec`, which has the same form.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct TcpRouteSpec {
    /// What the route attaches to.
    pub parent_refs: Vec<ParentRef>,
    /// Rules; v1 admits one.
    pub rules: Vec<TcpRule>,
}

/// One rule of a TCPRoute.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct TcpRule {
    /// Backends by weight.
    pub backend_refs: Vec<BackendRef>,
}
