use std::net::IpAddr;

use gateproof_proxy::config::{Authorization, ClientValidation, Hostname, Transport};

use super::{
    certificates, clients, hostname, installed, listener_filters,
    verdict::{Problem, Verdict, resolved_refs},
};
use crate::{
    model::{self, Certificate, GATEWAY_GROUP, GatewaySpec, RouteKind},
    settings::{Dispensable, Settings},
    snapshot::{Bind, Kind, Object, Snapshot},
    status::Condition,
};

/// A listener with everything that its own spec, its neighbours and its references decide.
pub(crate) struct Listener<'a> {
    /// Which ListenerSet of the Gateway has it; none if the Gateway has it itself.
    pub(crate) set: Option<usize>,
    pub(crate) spec: &'a model::Listener,
    pub(crate) protocol: Option<Protocol>,
    pub(crate) hostname: Hostname,
    /// Kinds that can attach.
    pub(crate) kinds: Vec<RouteKind>,
    /// What the spec and the settings alone say; decides what the data plane is asked to do.
    pub(crate) admitted: Verdict,
    /// The same with what the data plane answered.
    pub(crate) accepted: Verdict,
    pub(super) resolved: Verdict,
    pub(super) conflict: Option<Problem>,
    pub(super) overlap: Option<String>,
    pub(crate) certificates: Vec<Certificate>,
    /// What clients have to show, if anything.
    pub(crate) clients: Option<ClientValidation>,
    /// Who is asked about requests before they are matched, in order.
    pub(crate) before: Vec<Authorization>,
}

/// The protocols that the implementation speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Protocol {
    Http,
    Https,
    Tls,
    Tcp,
    Udp,
}

impl Protocol {
    fn parse(name: &str) -> Option<Self> {
        match name {
            "HTTP" => Some(Self::Http),
            "HTTPS" => Some(Self::Https),
            "TLS" => Some(Self::Tls),
            "TCP" => Some(Self::Tcp),
            "UDP" => Some(Self::Udp),
            _ => None,
        }
    }

    /// Whether listeners of both can share a port: HTTPS and TLS are told apart by server name.
    fn goes_with(self, other: Self) -> bool {
        let by_server_name = |one| matches!(one, Self::Https | Self::Tls);
        self == other || by_server_name(self) && by_server_name(other)
    }

    fn transport(self) -> Transport {
        if self == Self::Udp { Transport::Udp } else { Transport::Tcp }
    }

    /// Whether nothing within its traffic tells listeners apart.
    fn is_layer_4(self) -> bool {
        matches!(self, Self::Tcp | Self::Udp)
    }

    fn route_kinds(self) -> Vec<RouteKind> {
        let kinds: &[&str] = match self {
            Self::Http | Self::Https => &["HTTPRoute", "GRPCRoute"],
            Self::Tls => &["TLSRoute"],
            Self::Tcp => &["TCPRoute"],
            Self::Udp => &["UDPRoute"],
        };
        kinds.iter().map(|kind| RouteKind { group: GATEWAY_GROUP.into(), kind: (*kind).into() }).collect()
    }
}

/// Whether TLS ends at the listener.
fn terminates(listener: &model::Listener, protocol: Option<Protocol>) -> bool {
    match protocol {
        Some(Protocol::Https) => true,
        Some(Protocol::Tls) => listener.tls.as_ref().and_then(|tls| tls.mode.as_deref()) != Some("Passthrough"),
        _ => false,
    }
}

impl Listener<'_> {
    /// Whether TLS ends here rather than at a backend.
    pub(crate) fn terminates(&self) -> bool {
        terminates(self.spec, self.protocol)
    }

    pub(crate) fn name(&self) -> &str {
        &self.spec.name
    }

    /// What carries its protocol, so far as that is known.
    pub(crate) fn transport(&self) -> Transport {
        self.protocol.map_or(Transport::Tcp, Protocol::transport)
    }

    /// Whether nothing is wrong with it.
    pub(crate) fn is_valid(&self) -> bool {
        self.accepted.is_true() && self.resolved.is_true() && self.unservable().is_none()
    }

    /// Whether it is in the data plane's configuration. What the data plane said about its port does not count here, or
    /// a port once refused would never be tried again.
    pub(crate) fn is_served(&self) -> bool {
        self.admitted.is_true() && self.lacks_parts().is_none()
    }

    /// Why it cannot be programmed, whatever the Gateway and the data plane do.
    pub(crate) fn unservable(&self) -> Option<Verdict> {
        if !self.accepted.is_true() {
            return Some(Verdict::no("Invalid", &self.accepted.message));
        }
        self.lacks_parts()
    }

    fn lacks_parts(&self) -> Option<Verdict> {
        if self.terminates() && self.certificates.is_empty() {
            return Some(if self.resolved.is_true() || self.resolved.reason == "InvalidRouteKinds" {
                Verdict::no("InvalidTLSConfig", "No certificate is given")
            } else {
                Verdict::no("Invalid", &self.resolved.message)
            });
        }
        self.kinds.is_empty().then(|| Verdict::no("Invalid", "No kind of route can attach"))
    }

    pub(crate) fn conditions(&self, programmed: &Verdict) -> Vec<Condition> {
        let mut conditions = vec![
            self.accepted.condition("Accepted"),
            programmed.condition("Programmed"),
            self.resolved.condition("ResolvedRefs"),
        ];
        if let Some(conflict) = &self.conflict {
            conditions.push(Condition::new("Conflicted", true, conflict.reason, &conflict.message));
        }
        if let Some(overlap) = &self.overlap {
            conditions.push(Condition::new("OverlappingTLSConfig", true, "OverlappingHostnames", overlap));
        }
        conditions
    }
}

/// Reviews the listeners of one Gateway, which has these addresses.
pub(crate) fn review<'a>(
    gateway: &Object,
    spec: &'a GatewaySpec,
    snapshot: &Snapshot,
    settings: &Settings,
    addresses: &[IpAddr],
) -> Vec<Listener<'a>> {
    // Older releases know no such condition.
    let says_overlap = installed::is_since(snapshot, 3);
    let all: Vec<_> = spec.listeners.iter().collect();
    let one = |listener: &'a model::Listener| {
        let around = Around { of: gateway, kind: "Gateway", gateway: (gateway, spec), snapshot, settings, addresses };
        let overlap = overlap(listener, &spec.listeners).filter(|_| says_overlap);
        Listener { overlap, ..judge(listener, conflict(listener, &all, settings), &around) }
    };
    spec.listeners.iter().map(one).collect()
}

/// What a listener is judged in.
pub(super) struct Around<'a> {
    /// The object that has it, which its references are from, and its kind.
    pub(super) of: &'a Object,
    pub(super) kind: &'static str,
    /// The Gateway that it is for.
    pub(super) gateway: (&'a Object, &'a GatewaySpec),
    pub(super) snapshot: &'a Snapshot,
    pub(super) settings: &'a Settings,
    /// The addresses of that Gateway.
    pub(super) addresses: &'a [IpAddr],
}

/// Judges one listener.
pub(super) fn judge<'a>(listener: &'a model::Listener, conflict: Option<Problem>, around: &Around<'_>) -> Listener<'a> {
    let Around { of, kind, gateway: (parent, gateway), snapshot, settings, addresses } = *around;
    let protocol = Protocol::parse(&listener.protocol);
    let (mut kinds, mut problems) = kinds(listener, protocol, settings);
    if unsupported_mode(listener, protocol, settings) {
        kinds.clear();
    }
    let certificates = if terminates(listener, protocol) {
        certificates(listener, (of, kind), snapshot, &mut problems)
    } else {
        Vec::new()
    };
    let transport = protocol.map_or(Transport::Tcp, Protocol::transport);
    let asked = validation(gateway, listener.port).filter(|_| protocol == Some(Protocol::Https));
    let mut clients = None;
    if let Some(asked) = asked {
        let (usable, broken) = clients::judge(snapshot, parent, asked);
        clients = usable;
        problems.splice(0..0, broken);
    }
    let kind = if kind == "Gateway" { Kind::Gateway } else { Kind::ListenerSet };
    let before = listener_filters::judge(snapshot, settings.authorizes, (of, kind), listener);
    problems.extend(before.problems);
    let lacks_authorities = asked.is_some() && clients.is_none();
    let binds: Vec<&Bind> =
        addresses.iter().filter_map(|address| snapshot.binds.get(&(*address, listener.port, transport))).collect();
    let mut admitted = admitted(listener, protocol, conflict.as_ref(), settings);
    if admitted.is_true() && lacks_authorities {
        admitted = Verdict::no("NoValidCACertificate", "No authority of client certificates can be used");
    }
    if admitted.is_true()
        && let Some(why) = before.unsupported
    {
        admitted = Verdict::no("UnsupportedValue", why);
    }
    Listener {
        set: None,
        spec: listener,
        protocol,
        hostname: Hostname::parse(listener.host().unwrap_or_default()),
        kinds,
        accepted: bound(listener.port, &binds).filter(|_| admitted.is_true()).unwrap_or_else(|| admitted.clone()),
        admitted,
        resolved: resolved_refs(&problems),
        conflict,
        overlap: None,
        certificates,
        clients,
        before: before.asked,
    }
}

fn admitted(
    listener: &model::Listener,
    protocol: Option<Protocol>,
    conflict: Option<&Problem>,
    settings: &Settings,
) -> Verdict {
    let Some(protocol) = protocol else {
        return Verdict::no("UnsupportedProtocol", format!("protocol {} is not supported", listener.protocol));
    };
    if let Some(conflict) = conflict {
        return Verdict::no(conflict.reason, &conflict.message);
    }
    if settings.ports.as_ref().is_some_and(|ports| !ports.contains(&listener.port)) {
        return Verdict::no("PortUnavailable", format!("port {} is not offered here", listener.port));
    }
    let mode = listener.tls.as_ref().and_then(|tls| tls.mode.as_deref());
    if let Some(mode) = mode.filter(|mode| protocol == Protocol::Https && *mode != "Terminate") {
        return Verdict::no("UnsupportedValue", format!("TLS mode {mode} is not supported for HTTPS"));
    }
    if unsupported_mode(listener, Some(protocol), settings) {
        return Verdict::no("UnsupportedValue", "TLS mode Terminate is not supported for TLS");
    }
    Verdict::yes("Accepted", "The listener is valid")
}

/// Whether TLS ends at a listener of protocol TLS, behind which streams go on.
fn ends_for_streams(listener: &model::Listener, protocol: Option<Protocol>) -> bool {
    protocol == Some(Protocol::Tls) && terminates(listener, protocol)
}

/// Whether a listener of protocol TLS asks for an end of TLS here that the implementation does without.
fn unsupported_mode(listener: &model::Listener, protocol: Option<Protocol>, settings: &Settings) -> bool {
    ends_for_streams(listener, protocol) && settings.lacks.contains(&Dispensable::TlsTermination)
}

/// What a refused port means for the listener.
fn bound(port: u16, binds: &[&Bind]) -> Option<Verdict> {
    binds.iter().find_map(|bind| match bind {
        Bind::Failed(why) => Some(Verdict::no("PortUnavailable", format!("port {port}: {why}"))),
        Bind::Bound => None,
    })
}

/// What clients have to prove on a port.
fn validation(gateway: &GatewaySpec, port: u16) -> Option<&model::FrontendValidation> {
    gateway.tls.as_ref()?.frontend.as_ref()?.of_port(port)
}

/// Two listeners of one object that cannot be told apart conflict, and neither wins.
pub(super) fn conflict(listener: &model::Listener, all: &[&model::Listener], settings: &Settings) -> Option<Problem> {
    let others: Vec<_> = all.iter().copied().filter(|other| other.name != listener.name).collect();
    clash(listener, &others, settings)
}

/// Why a listener cannot be told apart from another one: on one port either the protocols differ, or the hostnames are the same.
/// Protocols that are not supported do not take part, and a port of UDP is none of TCP. Who does without both TLS modes on one port
/// takes them for two protocols; who does without HTTPS beside TLS, or UDP beside TCP, has these conflict.
pub(super) fn clash(listener: &model::Listener, others: &[&model::Listener], settings: &Settings) -> Option<Problem> {
    let protocol = Protocol::parse(&listener.protocol)?;
    let lacks = |what| settings.lacks.contains(&what);
    let neighbours = || {
        others
            .iter()
            .filter(|other| other.port == listener.port)
            .filter_map(|other| Some((other, Protocol::parse(&other.protocol)?)))
            .filter(|(_, spoken)| spoken.transport() == protocol.transport() || lacks(Dispensable::MixedTransports))
    };
    let goes_with = |spoken: Protocol| {
        let is_mixed = [protocol, spoken].contains(&Protocol::Https) && [protocol, spoken].contains(&Protocol::Tls);
        protocol.goes_with(spoken) && !(is_mixed && lacks(Dispensable::MixedHttps))
    };
    if let Some((other, _)) = neighbours().find(|(_, spoken)| !goes_with(*spoken)) {
        let message = format!("listener {} speaks {} on the same port {}", other.name, other.protocol, listener.port);
        return Some(Problem::new("ProtocolConflict", message));
    }
    if protocol == Protocol::Tls && lacks(Dispensable::MixedTls) {
        let ends = |one: &model::Listener| terminates(one, Some(Protocol::Tls));
        let is_other_mode = |other: &model::Listener| ends(other) != ends(listener);
        if let Some((other, _)) = neighbours().find(|(other, spoken)| *spoken == Protocol::Tls && is_other_mode(other))
        {
            let message = format!("listener {} has the other TLS mode on the same port {}", other.name, listener.port);
            return Some(Problem::new("ProtocolConflict", message));
        }
    }
    let same_host = |other: &model::Listener| match (listener.host(), other.host()) {
        (Some(one), Some(two)) => one.eq_ignore_ascii_case(two),
        (one, two) => one == two,
    };
    let (other, _) = neighbours().find(|(other, _)| protocol.is_layer_4() || same_host(other))?;
    let message = format!("listener {} has the same port {} and hostname", other.name, listener.port);
    Some(Problem::new("HostnameConflict", message))
}

/// HTTPS listeners of one port whose hostnames overlap: a client may reuse a connection made for one on the other.
fn overlap(listener: &model::Listener, all: &[model::Listener]) -> Option<String> {
    let is_https = |one: &model::Listener| Protocol::parse(&one.protocol) == Some(Protocol::Https);
    let host = |one: &model::Listener| Hostname::parse(one.host().unwrap_or_default());
    let overlapping: Vec<&str> = all
        .iter()
        .filter(|other| is_https(listener) && is_https(other))
        .filter(|other| other.port == listener.port && other.name != listener.name)
        .filter(|other| hostname::intersect(&host(listener), &host(other)).is_some())
        .map(|other| other.name.as_str())
        .collect();
    (!overlapping.is_empty()).then(|| format!("hostname overlaps with that of listeners {}", overlapping.join(", ")))
}

fn kinds(
    listener: &model::Listener,
    protocol: Option<Protocol>,
    settings: &Settings,
) -> (Vec<RouteKind>, Vec<Problem>) {
    let Some(mut kinds) = protocol.map(Protocol::route_kinds) else { return (Vec::new(), Vec::new()) };
    if settings.takes_streams_out_of_tls && ends_for_streams(listener, protocol) {
        kinds.extend(Protocol::Tcp.route_kinds());
    }
    let asked = &listener.allowed_routes.kinds;
    if asked.is_empty() {
        return (kinds, Vec::new());
    }
    let supported = kinds.clone();
    kinds.retain(|kind| asked.contains(kind));
    let unsupported = asked.iter().filter(|kind| !supported.contains(kind)).map(|RouteKind { group, kind }| {
        let message = format!("allowedRoutes.kinds: {kind} of group {group} cannot attach to {}", listener.protocol);
        Problem::new("InvalidRouteKinds", message)
    });
    (kinds, unsupported.collect())
}

/// The certificates of a listener where TLS ends. One bad reference takes all away: which certificate a client gets must not
/// depend on which of them happens to work.
fn certificates(
    listener: &model::Listener,
    (of, kind): (&Object, &'static str),
    snapshot: &Snapshot,
    problems: &mut Vec<Problem>,
) -> Vec<Certificate> {
    let references = listener.tls.iter().flat_map(|tls| &tls.certificate_refs);
    let (mut good, mut bad) = (Vec::new(), Vec::new());
    for reference in references {
        match certificates::resolve(snapshot, (of, kind), reference) {
            Ok(certificate) => good.push(certificate),
            Err(problem) => bad.push(problem),
        }
    }
    if !bad.is_empty() {
        good.clear();
    }
    // Certificate problems keep the listener from serving at all, so their reason comes first.
    problems.splice(0..0, bad);
    good
}
