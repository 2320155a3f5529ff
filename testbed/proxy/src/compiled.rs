//! A configuration made ready for traffic: regular expressions, precedence, certificates and counters.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Instant;

use crate::clients::Validation;
use crate::config::{
    Authorization, BackendTarget, Config, Filter, Hostname, Listener, Problem, Protocol, RequestMatch, Route,
    StreamListener, TlsListener, Transport, VirtualHost,
};
use crate::draw::{CompiledTcp, Turns};
use crate::matching::MatchPredicate;
use crate::matching::precedence::{Rank, rank};
use crate::pem;
use crate::spread::Spread;
use crate::streams::CompiledStream;
use crate::tls::{HostTerms, TlsTerms};

/// Names a listener: the Gateway's address, the port that it declares, and whether that is one of TCP or of UDP.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ListenerKey {
    /// The Gateway's address.
    pub address: IpAddr,
    /// The declared port.
    pub port: u16,
    /// What carries it.
    pub transport: Transport,
}

impl fmt::Display for ListenerKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        SocketAddr::new(self.address, self.port).fmt(f)?;
        match self.transport {
            Transport::Tcp => Ok(()),
            Transport::Udp => f.write_str("/UDP"),
        }
    }
}

/// A configuration ready for traffic.
#[derive(Debug)]
pub struct Compiled {
    /// Counts the configurations that one proxy was given, from 1; 0 is the empty one it starts with.
    pub generation: u64,
    /// When the proxy took it over.
    pub applied_at: Instant,
    /// What it was made of.
    pub config: Config,
    /// What of it cannot be served.
    pub problems: Vec<Problem>,
    listeners: HashMap<ListenerKey, CompiledListener>,
}

impl Compiled {
    /// Makes a configuration ready. Never fails: what cannot be served is listed in `problems`.
    pub fn new(config: Config, generation: u64) -> Self {
        let mut listeners = HashMap::new();
        let mut problems = Vec::new();
        for listener in &config.listeners {
            let key = ListenerKey {
                address: listener.address,
                port: listener.port,
                transport: listener.protocol.transport(),
            };
            match listeners.entry(key) {
                Entry::Vacant(entry) => {
                    entry.insert(CompiledListener::new(listener, key, &mut problems));
                }
                Entry::Occupied(_) => problems.push(Problem {
                    subject: listener.id.clone(),
                    reason: format!("another listener of the configuration already has {key}"),
                }),
            }
        }
        Self { generation, applied_at: Instant::now(), config, problems, listeners }
    }

    /// The listener of that name.
    pub fn listener(&self, key: ListenerKey) -> Option<&CompiledListener> {
        self.listeners.get(&key)
    }

    /// All listeners, in no particular order.
    pub fn listeners(&self) -> impl Iterator<Item = &CompiledListener> {
        self.listeners.values()
    }
}

/// A listener ready for traffic.
#[derive(Debug)]
pub struct CompiledListener {
    /// Its name for logs.
    pub id: String,
    /// Its address and declared port.
    pub key: ListenerKey,
    /// What it serves.
    pub service: Service,
}

/// What a listener serves.
#[derive(Debug)]
pub enum Service {
    /// HTTP in clear text.
    Http(Vec<CompiledVirtualHost>),
    /// HTTP over TLS.
    Https {
        /// The listeners that have a usable certificate, in the order of `terms`.
        hosts: Vec<CompiledVirtualHost>,
        /// How handshakes are answered.
        terms: TlsTerms,
        /// The listeners of protocol TLS on the same port.
        streams: Vec<CompiledStream>,
    },
    /// Byte streams.
    Tcp(CompiledTcp),
    /// Datagrams.
    Udp(CompiledTcp),
}

impl CompiledListener {
    fn new(listener: &Listener, key: ListenerKey, problems: &mut Vec<Problem>) -> Self {
        let service = match &listener.protocol {
            Protocol::Http(http) => {
                Service::Http(http.virtual_hosts.iter().map(|host| CompiledVirtualHost::new(host, problems)).collect())
            }
            Protocol::Https(listeners) => https(listeners, &[], problems),
            Protocol::Tls(port) => https(&port.https, &port.streams, problems),
            Protocol::Tcp(tcp) => Service::Tcp(CompiledTcp::new(tcp.backends.clone())),
            Protocol::Udp(udp) => Service::Udp(CompiledTcp::new(udp.backends.clone())),
        };
        Self { id: listener.id.clone(), key, service }
    }
}

fn https(listeners: &[TlsListener], streams: &[StreamListener], problems: &mut Vec<Problem>) -> Service {
    let usable: Vec<_> = listeners
        .iter()
        .filter_map(|listener| match terms(listener) {
            Ok(terms) => Some((&listener.virtual_host, terms)),
            Err(reason) => {
                problems.push(Problem { subject: listener.virtual_host.listener.clone(), reason });
                None
            }
        })
        .collect();
    let hosts = usable.iter().map(|(host, _)| CompiledVirtualHost::new(host, problems)).collect();
    let terms = usable.into_iter().map(|(_, terms)| terms).collect();
    let streams = streams.iter().map(|stream| CompiledStream::new(stream, problems)).collect();
    Service::Https { hosts, terms: TlsTerms::new(terms), streams }
}

/// How a listener answers handshakes, or why it cannot.
fn terms(listener: &TlsListener) -> Result<HostTerms, String> {
    let keys = pem::load(&listener.certificates).map_err(|error| error.to_string())?;
    let clients = listener.clients.as_ref().map(Validation::new).transpose()?;
    Ok(HostTerms { hostname: listener.virtual_host.hostname.clone(), keys, clients })
}

/// A virtual host with its candidates in the order of precedence.
#[derive(Debug)]
pub struct CompiledVirtualHost {
    /// The name of the Gateway listener.
    pub listener: String,
    /// The hostname of the Gateway listener.
    pub hostname: Hostname,
    /// Who is asked about each request before it is matched, in order.
    pub before: Vec<Authorization>,
    /// Every combination of a route's hostname and a rule's match; the first one that holds wins.
    pub candidates: Vec<Candidate>,
}

/// A hostname of a route with a match of one of its rules.
#[derive(Debug, Clone)]
pub struct Candidate {
    /// The hostname of the route; any if it has none.
    pub hostname: Hostname,
    /// The match.
    pub predicate: Arc<MatchPredicate>,
    /// The rule.
    pub route: Arc<CompiledRoute>,
    /// Its place among the candidates; smaller is tried first.
    pub rank: Rank,
}

impl CompiledVirtualHost {
    fn new(host: &VirtualHost, problems: &mut Vec<Problem>) -> Self {
        let mut candidates: Vec<Candidate> =
            host.routes.iter().flat_map(|route| Candidate::of(Arc::new(CompiledRoute::new(route)), problems)).collect();
        candidates.sort_by_key(|candidate| candidate.rank);
        Self {
            listener: host.listener.clone(),
            hostname: host.hostname.clone(),
            before: host.before.clone(),
            candidates,
        }
    }
}

impl Candidate {
    fn of(route: Arc<CompiledRoute>, problems: &mut Vec<Problem>) -> Vec<Self> {
        let default_match = [RequestMatch::default()];
        let matches = if route.rule.matches.is_empty() { &default_match[..] } else { &route.rule.matches[..] };
        let hostnames = if route.rule.hostnames.is_empty() { &[Hostname::Any][..] } else { &route.rule.hostnames[..] };
        let mut candidates = Vec::with_capacity(matches.len() * hostnames.len());
        for entry in matches {
            match MatchPredicate::compile(entry) {
                Ok(predicate) => {
                    let predicate = Arc::new(predicate);
                    candidates.extend(hostnames.iter().map(|hostname| Self {
                        hostname: hostname.clone(),
                        predicate: Arc::clone(&predicate),
                        route: Arc::clone(&route),
                        rank: rank(hostname, &predicate),
                    }));
                }
                Err(error) => {
                    problems.push(Problem {
                        subject: route.rule.id.to_string(),
                        reason: format!("a match never holds: {error}"),
                    });
                }
            }
        }
        candidates
    }
}

/// A rule with the counters that spread its requests.
#[derive(Debug)]
pub struct CompiledRoute {
    /// The rule.
    pub rule: Route,
    shares: Spread,
    turns: Vec<Turns>,
}

impl CompiledRoute {
    /// The rule with counters that stand at the beginning.
    pub fn new(rule: &Route) -> Self {
        let turns = rule.backends.iter().map(|_| Turns::new()).collect();
        Self { rule: rule.clone(), shares: Spread::new(), turns }
    }

    /// Draws the backend of one request; nothing if the weights sum up to 0.
    pub fn draw_backend(&self) -> Option<usize> {
        self.shares.choose(self.rule.backends.iter().map(|backend| backend.weight))
    }

    /// The next endpoint of the backend at `index`.
    pub fn next_endpoint<'a>(&self, index: usize, endpoints: &'a [SocketAddr]) -> Option<&'a SocketAddr> {
        self.turns.get(index).and_then(|turns| turns.next(endpoints))
    }

    /// The filters of the rule, then those of the backend at `backend`.
    pub fn filters(&self, backend: Option<usize>) -> impl Iterator<Item = &Filter> {
        let own = backend.and_then(|index| self.rule.backends.get(index)).map(|backend| backend.filters.as_slice());
        self.rule.filters.iter().chain(own.unwrap_or_default())
    }

    /// What the backend at `index` points to.
    pub fn target(&self, index: usize) -> Option<&BackendTarget> {
        self.rule.backends.get(index).map(|backend| &backend.target)
    }
}
