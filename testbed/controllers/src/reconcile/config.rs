use std::{collections::BTreeMap, net::IpAddr};

use gateproof_proxy::config::{
    BackendTarget, Certificate, Config, Filter, HttpListener, Listener as Lane, Protocol as Spoken, Route, Sensitive,
    StreamListener, StreamRoute, TcpBackend, TcpListener, TcpTarget, TlsListener, TlsPort, Transport, UdpListener,
    VirtualHost,
};

use super::{
    attach::{Content, Place, RouteState, Routes},
    gateway::Gateway,
    listener::{Listener, Protocol},
    tcproute,
};
use crate::snapshot::Snapshot;

/// Puts the data plane's configuration together: one lane for each address and port of every Gateway that is served.
pub(crate) fn build(snapshot: &Snapshot, gateways: &[Gateway<'_>], routes: &Routes<'_>) -> Config {
    let mut listeners = Vec::new();
    for (index, gateway) in gateways.iter().enumerate() {
        let mut ports: BTreeMap<(u16, Transport), Vec<(usize, &Listener<'_>)>> = BTreeMap::new();
        for (at, listener) in gateway.listeners.iter().enumerate().filter(|(_, listener)| listener.is_served()) {
            ports.entry((listener.spec.port, listener.transport())).or_default().push((at, listener));
        }
        for address in &gateway.addresses {
            for ((port, _), sharing) in &ports {
                listeners.extend(lane(snapshot, (index, gateway), sharing, routes).map(|protocol| Lane {
                    id: format!("{}:{port}", gateway.object.key()),
                    address: IpAddr::V4(*address),
                    port: *port,
                    protocol,
                }));
            }
        }
    }
    Config { listeners: joined(listeners), ..Config::default() }
}

/// Gateways that share an address share its ports too, where hostnames tell their listeners apart.
fn joined(lanes: Vec<Lane>) -> Vec<Lane> {
    let mut known: BTreeMap<(IpAddr, u16, Transport), usize> = BTreeMap::new();
    let mut all: Vec<Lane> = Vec::new();
    for lane in lanes {
        let place = (lane.address, lane.port, lane.protocol.transport());
        let Some(at) = known.get(&place) else {
            known.insert(place, all.len());
            all.push(lane);
            continue;
        };
        let Lane { id, protocol, .. } = &mut all[*at];
        match (protocol, lane.protocol) {
            (Spoken::Http(one), Spoken::Http(other)) => one.virtual_hosts.extend(other.virtual_hosts),
            (Spoken::Https(one), Spoken::Https(other)) => one.extend(other),
            (Spoken::Tls(one), Spoken::Tls(other)) => {
                one.https.extend(other.https);
                one.streams.extend(other.streams);
            }
            // Such Gateways have no address in common.
            _ => continue,
        }
        *id = format!("{id}, {}", lane.id);
    }
    all
}

/// What is spoken on a port. Listeners that share one speak the same protocol, or HTTPS and TLS, or they would be in conflict.
fn lane(
    snapshot: &Snapshot,
    (index, gateway): (usize, &Gateway<'_>),
    sharing: &[(usize, &Listener<'_>)],
    routes: &Routes<'_>,
) -> Option<Spoken> {
    let (first, listener) = sharing.first()?;
    Some(match listener.protocol? {
        Protocol::Http => {
            let hosts = sharing.iter().map(|(at, listener)| virtual_host((index, *at), gateway, listener, routes));
            Spoken::Http(HttpListener { virtual_hosts: hosts.collect() })
        }
        Protocol::Https | Protocol::Tls => {
            let (https, tls): (Vec<_>, Vec<_>) =
                sharing.iter().copied().partition(|(_, listener)| listener.protocol == Some(Protocol::Https));
            let certificates = |listener: &Listener<'_>| listener.certificates.iter().map(certificate).collect();
            let https = https.into_iter().map(|(at, listener)| TlsListener {
                virtual_host: virtual_host((index, at), gateway, listener, routes),
                certificates: certificates(listener),
                clients: listener.clients.clone(),
            });
            let streams = tls.into_iter().map(|(at, listener)| StreamListener {
                listener: listener.name().to_owned(),
                hostname: listener.hostname.clone(),
                certificates: listener.terminates().then(|| certificates(listener)),
                clients: None,
                routes: streams(snapshot, (index, at), (gateway, listener), routes),
            });
            let (https, streams): (Vec<_>, Vec<_>) = (https.collect(), streams.collect());
            if streams.is_empty() { Spoken::Https(https) } else { Spoken::Tls(TlsPort { https, streams }) }
        }
        Protocol::Tcp => {
            debug_assert_eq!(sharing.len(), 1, "TCP listeners of {} share a port", gateway.object.key());
            Spoken::Tcp(TcpListener { backends: tcp_backends(index, *first, routes) })
        }
        Protocol::Udp => {
            debug_assert_eq!(sharing.len(), 1, "UDP listeners of {} share a port", gateway.object.key());
            Spoken::Udp(UdpListener { backends: tcp_backends(index, *first, routes) })
        }
    })
}

fn certificate(from: &crate::model::Certificate) -> Certificate {
    Certificate { chain_pem: from.chain_pem.clone(), key_pem: Sensitive::new(&from.key_pem) }
}

/// Routes come oldest first already; rules of one route stay in the order of its spec.
fn virtual_host(
    (index, at): (usize, usize),
    gateway: &Gateway<'_>,
    listener: &Listener<'_>,
    routes: &Routes<'_>,
) -> VirtualHost {
    let client = gateway.client().map(certificate);
    let mut attached: Vec<Route> = Vec::new();
    for route in &routes.all {
        let Content::Http(judged) = &route.content else { continue };
        let Some(hostnames) = hostnames(route, index, at) else { continue };
        attached.extend(judged.rules.iter().map(|rule| Route { hostnames: hostnames.clone(), ..rule.clone() }));
    }
    if client.is_some() {
        attached.iter_mut().for_each(|route| show(route, client.as_ref()));
    }
    let mut before = listener.before.clone();
    for one in &mut before {
        if let BackendTarget::Tls { tls, .. } = &mut one.target {
            tls.client.clone_from(&client);
        }
    }
    VirtualHost { listener: listener.name().to_owned(), hostname: listener.hostname.clone(), routes: attached, before }
}

/// Has the backends and mirrors of a route be shown a certificate where they are spoken to over TLS.
fn show(route: &mut Route, client: Option<&Certificate>) {
    let mut mirrors = Vec::new();
    let Route { filters, backends, .. } = route;
    for backend in backends {
        mirrors.extend(backend.filters.iter_mut());
        if let BackendTarget::Tls { tls, .. } = &mut backend.target {
            tls.client = client.cloned();
        }
    }
    for filter in mirrors.into_iter().chain(filters) {
        if let Filter::RequestMirror(mirror) = filter
            && let BackendTarget::Tls { tls, .. } = &mut mirror.target
        {
            tls.client = client.cloned();
        }
    }
}

/// The hosts of a route at a listener. Several parentRefs that lead there have the same hosts, so one speaks for all.
fn hostnames(
    route: &RouteState<'_>,
    gateway: usize,
    listener: usize,
) -> Option<Vec<gateproof_proxy::config::Hostname>> {
    let here = |place: &&Place| (place.gateway, place.listener) == (gateway, listener);
    route.places().find(here).map(|place| place.hostnames.clone())
}

/// The routes of a TLS listener, oldest first. What is passed on is encrypted already, by the client; where that ends,
/// policies say what comes after.
fn streams(
    snapshot: &Snapshot,
    (index, at): (usize, usize),
    (gateway, listener): (&Gateway<'_>, &Listener<'_>),
    routes: &Routes<'_>,
) -> Vec<StreamRoute> {
    let client = gateway.client().map(certificate);
    let one = |route: &RouteState<'_>| match &route.content {
        Content::Tcp(judged) => {
            let hostnames = hostnames(route, index, at)?;
            let protected = listener.terminates().then(|| tcproute::protected(snapshot, route.object)).flatten();
            let mut backends = protected.or_else(|| judged.rules.first().cloned()).unwrap_or_default();
            for backend in &mut backends {
                if let TcpTarget::Encrypted { tls, .. } = &mut backend.target {
                    tls.client.clone_from(&client);
                }
            }
            let name = format!("{}/{}", route.object.meta.namespace, route.object.meta.name);
            Some(StreamRoute { name, hostnames, backends })
        }
        Content::Http(_) => None,
    };
    routes.all.iter().filter_map(one).collect()
}

/// Of several routes on one TCP or UDP listener the oldest has it to itself.
fn tcp_backends(gateway: usize, listener: usize, routes: &Routes<'_>) -> Vec<TcpBackend> {
    let backends = |route: &RouteState<'_>| match &route.content {
        Content::Tcp(judged) if hostnames(route, gateway, listener).is_some() => judged.rules.first().cloned(),
        _ => None,
    };
    routes.all.iter().find_map(backends).unwrap_or_default()
}
