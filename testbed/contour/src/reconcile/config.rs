//! From hosts to the configuration of the proxy.

use std::time::Duration;

use gateproof_proxy::Config;
use gateproof_proxy::config::{
    Backend, BackendTarget, Certificate, ClientValidation, Cors, Filter, Hostname, HttpListener, Listener, Protocol,
    RequestMatch, RequestRedirect, Retry, Route, RouteId, StreamListener, StreamRoute, TcpBackend, Timeouts,
    TlsListener, TlsPort, VirtualHost,
};

use crate::gate::Guard;
use crate::settings::Settings;

/// What is served for one host.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Host {
    /// The host.
    pub fqdn: String,
    /// Its routes, in clear text and over TLS.
    pub routes: Vec<HostRoute>,
    /// What is allowed across origins.
    pub cors: Option<Cors>,
    /// How it is served over TLS, if it is.
    pub secure: Option<Secure>,
}

/// How a host is served over TLS.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Secure {
    /// The certificate with which TLS ends here; not given: streams are passed on as they come.
    pub certificate: Option<Certificate>,
    /// The certificate for handshakes without its name, if it is served over these too.
    pub fallback: Option<Certificate>,
    /// What clients have to show.
    pub clients: Option<ClientValidation>,
    /// Whether a service says who may come in, and nobody may whom it does not let. It is never asked, so that is nobody.
    pub authorizes: bool,
    /// Where streams go, of which nothing but the name is looked at; not given: HTTP is spoken.
    pub streams: Option<Vec<TcpBackend>>,
}

/// A route.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct HostRoute {
    /// The HTTPProxy that it is of.
    pub of: String,
    /// Which requests it is for.
    pub matches: RequestMatch,
    /// What is changed.
    pub filters: Vec<Filter>,
    /// What becomes of them.
    pub answer: Answer,
    /// What an answer of the proxy's own says, where that is given.
    pub says: Option<String>,
    /// How long an answer may take.
    pub timeout: Option<Duration>,
    /// How often a service is asked again that fails.
    pub retry: Option<Retries>,
    /// Whether clear text is sent to TLS.
    pub enforces_tls: bool,
    /// The provider whose token is asked for, over TLS. Its keys are never fetched, so no token will do.
    pub jwt: Option<String>,
    /// Whether everybody may come in whom a service would have to let in elsewhere.
    pub is_open: bool,
    /// Which of them are turned away.
    pub guard: Guard,
}

/// How often a service is asked again.
#[derive(Clone, Debug, PartialEq)]
pub struct Retries {
    /// How often, and after what.
    pub how: Retry,
    /// How long each try may take.
    pub each: Option<Duration>,
}

/// What becomes of requests.
#[derive(Clone, Debug, PartialEq)]
pub enum Answer {
    /// They go to one of these.
    Backends(Vec<Backend>),
    /// They are sent elsewhere.
    Redirect(RequestRedirect),
    /// They are answered.
    Status(u16),
}

impl Default for Answer {
    fn default() -> Self {
        Answer::Status(503)
    }
}

/// There is no listener of a protocol before anything is served by it.
pub(super) fn config(hosts: &[Host], settings: &Settings) -> Config {
    let clear: Vec<VirtualHost> = hosts.iter().map(|host| virtual_host(host, true)).collect();
    let mut port = TlsPort::default();
    for host in hosts {
        match &host.secure {
            None => {}
            Some(Secure { streams: Some(backends), certificate, .. }) => port.streams.push(StreamListener {
                listener: host.fqdn.clone(),
                hostname: Hostname::parse(&host.fqdn),
                certificates: certificate.clone().map(|certificate| vec![certificate]),
                clients: None,
                routes: vec![StreamRoute {
                    name: host.fqdn.clone(),
                    hostnames: Vec::new(),
                    backends: backends.clone(),
                }],
            }),
            // Whoever passes on what nobody takes serves nothing.
            Some(Secure { certificate: None, .. }) => {}
            Some(Secure { certificate: Some(certificate), clients, .. }) => port.https.push(TlsListener {
                virtual_host: virtual_host(host, false),
                certificates: vec![certificate.clone()],
                clients: clients.clone(),
            }),
        }
    }
    port.https.extend(fallback(hosts));
    let mut listeners = Vec::new();
    let mut listen = |port: u16, id: &str, protocol: Protocol| {
        listeners.push(Listener { id: id.to_owned(), address: settings.address, port, protocol });
    };
    if !clear.is_empty() {
        listen(settings.http, "ingress_http", Protocol::Http(HttpListener { virtual_hosts: clear }));
    }
    if port.streams.is_empty() && !port.https.is_empty() {
        listen(settings.https, "ingress_https", Protocol::Https(port.https));
    } else if !port.streams.is_empty() {
        listen(settings.https, "ingress_https", Protocol::Tls(port));
    }
    Config { listeners, ..Config::default() }
}

/// Where handshakes go whose name nobody has: to one certificate, and to all hosts that are served over it.
fn fallback(hosts: &[Host]) -> Option<TlsListener> {
    let mut certificates = Vec::new();
    let mut routes = Vec::new();
    for host in hosts {
        let Some(Secure { fallback: Some(certificate), streams: None, .. }) = &host.secure else { continue };
        certificates.push(certificate.clone());
        let of_host = virtual_host(host, false).routes.into_iter();
        routes.extend(of_host.map(|route| Route { hostnames: vec![Hostname::parse(&host.fqdn)], ..route }));
    }
    // Contour takes that of the first root, and knows no other.
    certificates.truncate(1);
    let listener = "ingress_fallbackcert".to_owned();
    let virtual_host = VirtualHost { listener, hostname: Hostname::Any, routes, before: Vec::new() };
    (!certificates.is_empty()).then_some(TlsListener { virtual_host, certificates, clients: None })
}

fn virtual_host(host: &Host, in_clear_text: bool) -> VirtualHost {
    let route = |(index, route): (usize, &HostRoute)| {
        let to_tls = (in_clear_text && route.enforces_tls).then(|| RequestRedirect {
            scheme: Some("https".to_owned()),
            hostname: None,
            path: None,
            port: None,
            status: 301,
        });
        let authorizes = host.secure.as_ref().is_some_and(|secure| secure.authorizes);
        let answer = match to_tls {
            Some(redirect) => Answer::Redirect(redirect),
            None if !in_clear_text && route.jwt.is_some() => Answer::Status(401),
            None if !in_clear_text && authorizes && !route.is_open => Answer::Status(403),
            None => route.answer.clone(),
        };
        let is_its_own = answer == route.answer;
        let mut filters = route.filters.clone();
        if let Some(cors) = &host.cors {
            filters.insert(0, Filter::Cors(cors.clone()));
        }
        let (namespace, name) = route.of.split_once('/').unwrap_or_default();
        let backends = match answer {
            Answer::Backends(backends) => backends,
            Answer::Redirect(redirect) => {
                filters.retain(|filter| matches!(filter, Filter::ResponseHeaderModifier(_) | Filter::Cors(_)));
                filters.push(Filter::RequestRedirect(redirect));
                Vec::new()
            }
            Answer::Status(status) => {
                // What is turned away is told nothing of that.
                let says = route.says.clone().filter(|_| is_its_own);
                let target = match says {
                    Some(body) => BackendTarget::Answer { status, body },
                    None => BackendTarget::Fail { status, reason: "the proxy itself answers".to_owned() },
                };
                vec![Backend { id: route.of.clone(), weight: 1, target, filters: Vec::new() }]
            }
        };
        Route {
            id: RouteId { namespace: namespace.to_owned(), name: name.to_owned(), rule: index },
            hostnames: Vec::new(),
            matches: vec![route.matches.clone()],
            filters,
            backends,
            timeouts: Timeouts {
                request: route.timeout,
                backend_request: route.retry.as_ref().and_then(|retry| retry.each),
            },
            retry: route.retry.as_ref().map(|retry| retry.how.clone()),
        }
    };
    VirtualHost {
        listener: host.fqdn.clone(),
        hostname: Hostname::parse(&host.fqdn),
        routes: host.routes.iter().enumerate().map(route).collect(),
        before: Vec::new(),
    }
}
