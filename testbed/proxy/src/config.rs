//! What the proxy is told to do: plain data, complete in itself, with no reference to Kubernetes objects.
//!
//! A controller builds a [`Config`] from a snapshot of resources and hands it over whole; the proxy never asks back.
//! Everything a controller has to decide (which routes attach, in which order, which references resolve) is decided
//! before a value of these types exists; everything a request decides (matching, weights, filters) is decided here.

mod backend_tls;
mod before;
mod clients;
mod layer_4;
mod matches;

use std::collections::BTreeSet;
use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use serde::{Serialize, Serializer};

pub use backend_tls::{Authorities, BackendTls, PeerName};
pub use before::Authorization;
pub use clients::{Admits, ClientValidation, Refuses};
pub use layer_4::{TcpBackend, TcpListener, TcpTarget, UdpListener};
pub use matches::{FieldMatch, PathMatch, RequestMatch, ValueMatch};

/// The whole configuration of the data plane. Two equal values mean the same traffic.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Config {
    /// At most one entry for each address, port and transport; a second one is reported as a problem and ignored.
    pub listeners: Vec<Listener>,
    /// Where packets are dropped: whoever connects there hears nothing, neither yes nor no, whatever is listened for.
    pub silent: BTreeSet<(IpAddr, u16)>,
    /// For how long after it came into force new connections are reset, as by a proxy that starts anew for each change.
    pub hitch: Duration,
}

/// One address and port to listen on. Several Gateway listeners that share them are merged into one of these.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Listener {
    /// A name for logs and failure texts, such as `namespace/gateway:port`. Not interpreted.
    pub id: String,
    /// The address of the Gateway.
    pub address: IpAddr,
    /// The port as the Gateway declares it; the proxy may bind another one (see `ProxyOptions::port_offset`).
    pub port: u16,
    /// What is spoken there.
    pub protocol: Protocol,
}

/// What a listener speaks, with the part of the configuration that belongs to it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub enum Protocol {
    /// HTTP/1.1 and HTTP/2 with prior knowledge, in clear text.
    Http(HttpListener),
    /// HTTP over TLS, terminated here; one entry for each Gateway listener of the port.
    Https(Vec<TlsListener>),
    /// Byte streams within TLS, perhaps beside HTTP: which of the two is decided by server name.
    Tls(TlsPort),
    /// A byte stream.
    Tcp(TcpListener),
    /// Datagrams.
    Udp(UdpListener),
}

/// What carries a protocol. Listeners of different transports have the same port without meeting.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
pub enum Transport {
    /// Streams.
    Tcp,
    /// Datagrams.
    Udp,
}

impl Protocol {
    /// What carries it.
    pub fn transport(&self) -> Transport {
        match self {
            Self::Http(_) | Self::Https(_) | Self::Tls(_) | Self::Tcp(_) => Transport::Tcp,
            Self::Udp(_) => Transport::Udp,
        }
    }
}

/// The Gateway listeners of protocol HTTP on one address and port.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct HttpListener {
    /// A request belongs to the virtual host whose hostname matches its Host most specifically, and to no other.
    pub virtual_hosts: Vec<VirtualHost>,
}

/// One Gateway listener of protocol HTTP or HTTPS: the hostname it claims and the routes attached to it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct VirtualHost {
    /// The name of the Gateway listener, for logs and failure texts.
    pub listener: String,
    /// The hostname of the Gateway listener.
    pub hostname: Hostname,
    /// The rules of all attached routes. The order breaks ties: oldest route first, then by namespace and name, then
    /// the rules of one route in the order of its spec.
    pub routes: Vec<Route>,
    /// Who is asked about each request before it is matched, in order.
    pub before: Vec<Authorization>,
}

/// One Gateway listener of protocol HTTPS.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct TlsListener {
    /// Hostname and routes. The hostname is compared with the server name of the handshake too.
    pub virtual_host: VirtualHost,
    /// The certificates of the listener. The first one whose names cover the server name is presented, else the first.
    /// A listener without a usable certificate does not take part in handshakes.
    pub certificates: Vec<Certificate>,
    /// What clients have to show; `None`: they are asked for nothing. Without a usable authority the listener does not take
    /// part in handshakes.
    pub clients: Option<ClientValidation>,
}

/// The Gateway listeners of protocol TLS on one address and port, and those of protocol HTTPS beside them. A connection belongs to
/// the one whose hostname matches its server name most specifically, and to no other.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct TlsPort {
    /// Those of protocol HTTPS.
    pub https: Vec<TlsListener>,
    /// Those of protocol TLS.
    pub streams: Vec<StreamListener>,
}

/// One Gateway listener of protocol TLS. Connections without a route, or to a listener without a usable certificate
/// or authority, are reset.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct StreamListener {
    /// The name of the Gateway listener, for logs and failure texts.
    pub listener: String,
    /// The hostname of the Gateway listener.
    pub hostname: Hostname,
    /// The certificates with which TLS ends here; not given: it is passed on as it comes.
    pub certificates: Option<Vec<Certificate>>,
    /// What clients have to show where TLS ends here, always within the handshake; `None`: they are asked for nothing.
    pub clients: Option<ClientValidation>,
    /// The attached routes, oldest first. The one with the most specific hostname gets a connection; of equals the first.
    pub routes: Vec<StreamRoute>,
}

/// A TLSRoute at a listener.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct StreamRoute {
    /// Which one it is, the same at every listener.
    pub name: String,
    /// The hostnames of the route that intersect with the listener's, as they are written there. Empty: every one.
    pub hostnames: Vec<Hostname>,
    /// The backends.
    pub backends: Vec<TcpBackend>,
}

/// A certificate with its key.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Certificate {
    /// The chain in PEM, leaf first.
    pub chain_pem: String,
    /// The private key in PEM (PKCS #8, PKCS #1 or SEC 1).
    pub key_pem: Sensitive,
}

/// A text that neither debug output nor a serialized form shows.
#[derive(Clone, PartialEq, Eq)]
pub struct Sensitive(String);

impl Sensitive {
    /// Takes the text in.
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// The text itself.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Sensitive {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Sensitive(..)")
    }
}

impl Serialize for Sensitive {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str("(redacted)")
    }
}

/// The hostname of a listener or route. Texts are in lower case.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize)]
pub enum Hostname {
    /// Every host.
    Any,
    /// Exactly this host.
    Exact(String),
    /// One or more labels in front of this suffix, which is stored without `*.`.
    Wildcard(String),
}

impl Hostname {
    /// Reads the form that Gateway API resources use: empty for any, `*.suffix` for a wildcard, else exact.
    pub fn parse(text: &str) -> Self {
        let text = text.to_ascii_lowercase();
        match text.strip_prefix("*.") {
            Some(suffix) => Self::Wildcard(suffix.to_owned()),
            None if text.is_empty() || text == "*" => Self::Any,
            None => Self::Exact(text),
        }
    }
}

impl fmt::Display for Hostname {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Any => f.write_str("*"),
            Self::Exact(host) => f.write_str(host),
            Self::Wildcard(suffix) => write!(f, "*.{suffix}"),
        }
    }
}

/// Which rule of which route something came from.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
pub struct RouteId {
    /// Namespace of the route.
    pub namespace: String,
    /// Name of the route.
    pub name: String,
    /// Index of the rule in the route's `spec.rules`.
    pub rule: usize,
}

impl fmt::Display for RouteId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{} rule {}", self.namespace, self.name, self.rule)
    }
}

/// One rule of one HTTPRoute (or of a GRPCRoute expressed in terms of HTTP).
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Route {
    /// Where the rule comes from.
    pub id: RouteId,
    /// The hostnames of the route that intersect with the listener's, as they are written there: of two routes the one with
    /// the more specific hostname comes first, however little of it the listener takes. Empty: every host of the listener.
    pub hostnames: Vec<Hostname>,
    /// The matches of the rule, of which one must hold. Empty: every path, as the API's default says.
    pub matches: Vec<RequestMatch>,
    /// The filters of the rule, in order.
    pub filters: Vec<Filter>,
    /// The backends of the rule; unused where a redirect answers.
    pub backends: Vec<Backend>,
    /// The timeouts of the rule.
    pub timeouts: Timeouts,
    /// Whether and how requests are tried again; not given: never.
    pub retry: Option<Retry>,
}

/// A filter of a rule or of a backend.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub enum Filter {
    /// Changes headers of the request before it is forwarded.
    RequestHeaderModifier(HeaderModifier),
    /// Changes headers of the response before the client gets it.
    ResponseHeaderModifier(HeaderModifier),
    /// Answers with a redirect; nothing is forwarded.
    RequestRedirect(RequestRedirect),
    /// Changes host and path before the request is forwarded.
    UrlRewrite(UrlRewrite),
    /// Sends a copy of the request elsewhere and drops the answer.
    RequestMirror(RequestMirror),
    /// Answers preflights, and tells browsers who may read the other answers.
    Cors(Cors),
}

/// Changes to a set of headers. A name counts in any case.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct HeaderModifier {
    /// Replaces all values of the name.
    pub set: Vec<HeaderValue>,
    /// Adds a value to those of the name.
    pub add: Vec<HeaderValue>,
    /// Takes all values of the name away.
    pub remove: Vec<String>,
}

/// A header with a value.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct HeaderValue {
    /// The name.
    pub name: String,
    /// The value.
    pub value: String,
}

/// A redirect; what is not given stays as in the request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RequestRedirect {
    /// `http` or `https`.
    pub scheme: Option<String>,
    /// The host of the `Location`.
    pub hostname: Option<String>,
    /// The path of the `Location`.
    pub path: Option<PathModifier>,
    /// The port of the `Location`. Not given: the well-known port of `scheme` if that is given, else the listener's.
    pub port: Option<u16>,
    /// The status code: 301, 302, 303, 307 or 308; 302 is the API's default.
    pub status: u16,
}

/// A rewrite; what is not given stays as in the request.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct UrlRewrite {
    /// The host that the backend gets to see.
    pub hostname: Option<String>,
    /// The path that the backend gets to see.
    pub path: Option<PathModifier>,
}

/// How a path is changed. The query is kept.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub enum PathModifier {
    /// Replaces the whole path.
    ReplaceFullPath(String),
    /// Replaces the matched prefix; only meaningful where every match of the rule is a prefix.
    ReplacePrefixMatch(String),
}

/// A mirror: where copies go and how many.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RequestMirror {
    /// A name for logs, such as `namespace/service:port`.
    pub id: String,
    /// Where copies go; a failing target drops them.
    pub target: BackendTarget,
    /// The share of requests that is copied; not given: all.
    pub fraction: Option<Fraction>,
}

/// A share: `numerator` of `denominator`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Fraction {
    /// The upper part.
    pub numerator: u32,
    /// The lower part, at least 1.
    pub denominator: u32,
}

/// Which cross-origin requests a browser may make, and read the answers of. A lone `*` in a list stands for all.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Cors {
    /// `scheme://host[:port]`, where the host may begin with `*`.
    pub allow_origins: Vec<String>,
    /// Methods, which have case.
    pub allow_methods: Vec<String>,
    /// Names of request headers.
    pub allow_headers: Vec<String>,
    /// Names of response headers.
    pub expose_headers: Vec<String>,
    /// Whether requests may carry credentials.
    pub allow_credentials: bool,
    /// For how many seconds a browser may keep the answer to a preflight.
    pub max_age: u32,
}

/// One weighted backend of a rule. If the weights of a rule sum up to 0, its requests are answered with 500.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Backend {
    /// A name for logs and failure texts, such as `namespace/service:port`.
    pub id: String,
    /// Its share is `weight` of the sum of all weights in the rule; the API's default is 1.
    pub weight: u32,
    /// Where its share goes.
    pub target: BackendTarget,
    /// Filters for its share only; they come after those of the rule.
    pub filters: Vec<Filter>,
}

/// Where the share of a backend goes.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub enum BackendTarget {
    /// To one of these, by turns, over HTTP/1.1. An empty list counts as failing with 503.
    Endpoints(Vec<SocketAddr>),
    /// To one of these, by turns, over HTTP/2 with prior knowledge (appProtocol `kubernetes.io/h2c`).
    H2cEndpoints(Vec<SocketAddr>),
    /// To one of these, by turns, over TLS.
    Tls {
        /// The endpoints. An empty list counts as failing with 503.
        endpoints: Vec<SocketAddr>,
        /// Over HTTP/2 rather than HTTP/1.1.
        h2: bool,
        /// Whom to believe.
        tls: BackendTls,
    },
    /// Nowhere: the proxy answers by itself.
    Fail {
        /// 500 for a reference that does not resolve, 503 for a backend without ready endpoints.
        status: u16,
        /// Why, as a sentence for people.
        reason: String,
    },
    /// Nowhere either: the proxy says what it was told to say.
    Answer {
        /// The status code.
        status: u16,
        /// The whole body.
        body: String,
    },
}

impl BackendTarget {
    /// Where its share goes; none where the proxy answers by itself.
    pub fn endpoints(&self) -> &[SocketAddr] {
        match self {
            Self::Endpoints(all) | Self::H2cEndpoints(all) | Self::Tls { endpoints: all, .. } => all,
            Self::Fail { .. } | Self::Answer { .. } => &[],
        }
    }

    /// How it is encrypted, if it is.
    pub fn tls(&self) -> Option<&BackendTls> {
        match self {
            Self::Tls { tls, .. } => Some(tls),
            _ => None,
        }
    }
}

/// The timeouts of a rule. Where the API says `0s`, give `None`: no limit.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Timeouts {
    /// From the request's arrival until the end of the response, over all attempts.
    pub request: Option<Duration>,
    /// For one exchange with a backend, to the end of its response.
    pub backend_request: Option<Duration>,
}

/// How requests are tried again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Retry {
    /// How often at most, beside the first try.
    pub attempts: u32,
    /// The status codes of the backend that are tried again.
    pub codes: Vec<u16>,
    /// The pause before each further try.
    pub backoff: Duration,
    /// Whether it is a reason that there is no connection.
    pub on_refused_connections: bool,
    /// Whether it is a reason that there is none that could be believed.
    pub on_failed_handshakes: bool,
    /// Whether a connection that breaks off is a reason, though the backend may have got the request.
    pub on_broken_connections: bool,
    /// Whether a backend that takes too long is a reason.
    pub on_timeouts: bool,
}

/// A part of a configuration that cannot be served, with the reason. The rest is served.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// The listener or rule.
    pub subject: String,
    /// Why, as a sentence for people.
    pub reason: String,
}
