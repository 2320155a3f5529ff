//! Which listeners serve a route, and for which of its hosts.

use std::{collections::BTreeSet, net::IpAddr};

use gateproof_proxy::config::Hostname::{Any, Exact, Wildcard};
use gateproof_proxy::config::{
    Config, Hostname, HttpListener, Listener, PathMatch, Protocol, Route, RouteId, VirtualHost,
};

use crate::{
    faults::{
        Fault, Seam,
        tools::{hosts, serve, virtual_hosts},
    },
    runtime::seams::{ConfigSeam, Seen},
    snapshot::Kind,
};

fn is_of_same_route(one: &RouteId, other: &RouteId) -> bool {
    (&one.namespace, &one.name) == (&other.namespace, &other.name)
}

/// The hostnames in the spec of a rule's route.
fn hostnames(seen: Seen<'_>, id: &RouteId) -> Vec<Hostname> {
    let route = |kind| seen.snapshot.get(kind, &id.namespace, &id.name);
    let route = route(Kind::HttpRoute).or_else(|| route(Kind::GrpcRoute));
    let all = route.and_then(|route| route.raw["spec"]["hostnames"].as_array()).into_iter().flatten();
    all.filter_map(|name| name.as_str()).map(Hostname::parse).collect()
}

fn http(lane: &mut Listener) -> Option<&mut HttpListener> {
    match &mut lane.protocol {
        Protocol::Http(http) => Some(http),
        _ => None,
    }
}

/// Serves hosts of routes that their listeners do not have: those for which `also` holds of listener's and route's.
fn widen(seen: Seen<'_>, config: &mut Config, also: fn(&Hostname, &Hostname) -> bool) {
    for http in config.listeners.iter_mut().filter_map(http) {
        let mut more: Vec<VirtualHost> = Vec::new();
        for host in &http.virtual_hosts {
            for rule in &host.routes {
                for hostname in hostnames(seen, &rule.id).into_iter().filter(|of| also(&host.hostname, of)) {
                    let routes = vec![Route { hostnames: vec![hostname.clone()], ..rule.clone() }];
                    more.push(VirtualHost { hostname, routes, ..host.clone() });
                }
            }
        }
        for host in more {
            match http.virtual_hosts.iter_mut().find(|of| of.hostname == host.hostname) {
                Some(known) => known.routes.extend(host.routes),
                None => http.virtual_hosts.push(host),
            }
        }
    }
}

/// Lets routes that share a host answer for each other's hosts.
fn share_hosts(host: &mut VirtualHost) {
    let known = host.routes.clone();
    for rule in &mut host.routes {
        let shares = |of: &&Route| {
            !is_of_same_route(&of.id, &rule.id) && of.hostnames.iter().any(|name| rule.hostnames.contains(name))
        };
        let more: Vec<Hostname> = known.iter().filter(shares).flat_map(|of| of.hostnames.clone()).collect();
        for name in more {
            if !rule.hostnames.contains(&name) {
                rule.hostnames.push(name);
            }
        }
    }
}

fn is_call(rule: &Route) -> bool {
    rule.matches.iter().any(|one| matches!(one.path, PathMatch::Rpc { .. }))
}

/// Leaves HTTPRoutes out of all wildcard listeners of a port but the first.
fn serve_one_wildcard(lane: &mut Listener) {
    let wild = virtual_hosts(lane).into_iter().filter(|host| matches!(host.hostname, Wildcard(_)));
    wild.skip(1).for_each(|host| host.routes.retain(is_call));
}

/// Leaves a route that names a port and no section out of all listeners of the port but the first.
fn serve_one_of_a_port(seen: Seen<'_>, config: &mut Config) {
    let mut by_port: Vec<(&str, &str)> = Vec::new();
    for route in seen.snapshot.all(Kind::HttpRoute) {
        let parents = route.raw["spec"]["parentRefs"].as_array().into_iter().flatten();
        if parents.into_iter().any(|parent| parent["port"].is_u64() && parent["sectionName"].is_null()) {
            by_port.push((&route.meta.namespace, &route.meta.name));
        }
    }
    for lane in &mut config.listeners {
        let mut served: Vec<RouteId> = Vec::new();
        for host in virtual_hosts(lane) {
            host.routes.retain(|rule| {
                !by_port.contains(&(rule.id.namespace.as_str(), rule.id.name.as_str())) || !served.contains(&rule.id)
            });
            served.extend(host.routes.iter().map(|rule| rule.id.clone()));
        }
    }
}

/// Serves at a Gateway what another one has with which it shares a route.
fn mix_gateways(config: &mut Config) {
    let mut known: Vec<(IpAddr, Vec<VirtualHost>)> = Vec::new();
    for lane in &mut config.listeners {
        let address = lane.address;
        let Some(http) = http(lane) else { continue };
        let has = |all: &[VirtualHost], id: &RouteId| all.iter().flat_map(|host| &host.routes).any(|of| of.id == *id);
        let shared = |(of, all): &&(IpAddr, Vec<VirtualHost>)| {
            *of != address && http.virtual_hosts.iter().flat_map(|host| &host.routes).any(|rule| has(all, &rule.id))
        };
        match known.iter().find(shared) {
            Some((_, other)) => http.virtual_hosts.clone_from(other),
            None => known.push((address, http.virtual_hosts.clone())),
        }
    }
}

/// Gives HTTPS listeners the routes of those whose hostnames cover theirs.
fn share_routes_over_tls(lane: &mut Listener) {
    let Protocol::Https(all) = &mut lane.protocol else { return };
    let known: Vec<VirtualHost> = all.iter().map(|of| of.virtual_host.clone()).collect();
    for host in all.iter_mut().map(|of| &mut of.virtual_host) {
        let covers = |of: &&VirtualHost| match (&of.hostname, &host.hostname) {
            (Any, Exact(_) | Wildcard(_)) => true,
            (Wildcard(suffix), Exact(name)) => name.ends_with(suffix),
            _ => false,
        };
        let more: Vec<Route> = known.iter().filter(covers).flat_map(|of| of.routes.clone()).collect();
        host.routes.extend(more);
    }
}

/// Puts hosts back on ports where they were, if they are on another one now.
#[derive(Default)]
struct KeepsPorts(Vec<(IpAddr, u16, VirtualHost)>);

impl ConfigSeam for KeepsPorts {
    fn edit(&mut self, _: Seen<'_>, config: &mut Config) {
        let now: Vec<(IpAddr, u16, VirtualHost)> = config
            .listeners
            .iter_mut()
            .flat_map(|lane| {
                let place = (lane.address, lane.port);
                let all = http(lane).map(|http| http.virtual_hosts.clone()).unwrap_or_default();
                all.into_iter().map(move |host| (place.0, place.1, host))
            })
            .filter(|(.., host)| matches!(host.hostname, Exact(_)))
            .collect();
        for lane in &mut config.listeners {
            let (address, port) = (lane.address, lane.port);
            let Some(http) = http(lane) else { continue };
            for (.., host) in self.0.iter().filter(|(of, at, _)| (*of, *at) == (address, port)) {
                let moved = now.iter().any(|(of, at, other)| {
                    *of == address && *at != port && other.hostname == host.hostname && other.listener == host.listener
                });
                if moved && !http.virtual_hosts.iter().any(|of| of.hostname == host.hostname) {
                    http.virtual_hosts.push(host.clone());
                }
            }
        }
        for place in now {
            self.0.retain(|known| (known.0, known.1, &known.2.hostname) != (place.0, place.1, &place.2.hostname));
            self.0.push(place);
        }
    }
}

pub(in crate::faults) const FAULTS: &[Fault] = &[
    Fault {
        name: "widens-exact-listeners",
        summary: "Serves a route with a wildcard for all of its hosts on a listener that has but one of them.",
        clauses: &["upstream:HTTPRouteHostnameIntersection", "blind:GRPCRouteListenerHostnameMatching.1"],
        seam: Seam::Config(|| {
            serve(|seen, config| {
                let also = |own: &Hostname, other: &Hostname| matches!((own, other), (Exact(name), Wildcard(suffix)) if name.ends_with(suffix));
                widen(seen, config, also);
            })
        }),
    },
    Fault {
        name: "serves-the-bare-domain-of-wildcards",
        summary: "Serves a route for the domain behind a listener's wildcard if it names that too.",
        clauses: &["upstream:HTTPRouteHostnameIntersection"],
        seam: Seam::Config(|| {
            serve(|seen, config| {
                let also = |own: &Hostname, other: &Hostname| matches!((own, other), (Wildcard(suffix), Exact(name)) if name == suffix);
                widen(seen, config, also);
            })
        }),
    },
    Fault {
        name: "shares-hosts-of-routes",
        summary: "Lets two routes that have a host in common answer for all hosts of both.",
        clauses: &["upstream:HTTPRouteMatchingAcrossRoutes"],
        seam: Seam::Config(|| serve(|_, config| hosts(config).for_each(share_hosts))),
    },
    Fault {
        name: "serves-one-wildcard-of-a-port",
        summary: "Serves HTTPRoutes on the first wildcard listener of a port alone.",
        clauses: &["upstream:HTTPRouteListenerHostnameMatching"],
        seam: Seam::Config(|| serve(|_, config| config.listeners.iter_mut().for_each(serve_one_wildcard))),
    },
    Fault {
        name: "serves-one-listener-of-a-port",
        summary: "Serves an HTTPRoute that names a port on the first listener of the port alone.",
        clauses: &["upstream:HTTPRouteListenerPortMatching"],
        seam: Seam::Config(|| serve(serve_one_of_a_port)),
    },
    Fault {
        name: "mixes-gateways-of-a-route",
        summary: "Serves on the second Gateway of a route what the first one has, and nothing else.",
        clauses: &["upstream:HTTPRouteMultipleGateways"],
        seam: Seam::Config(|| serve(|_, config| mix_gateways(config))),
    },
    Fault {
        name: "shares-routes-over-tls",
        summary: "Lets an HTTPS listener serve the routes of those whose hostnames cover its own.",
        clauses: &["blind:GatewayHTTPListenerIsolation.2"],
        seam: Seam::Config(|| serve(|_, config| config.listeners.iter_mut().for_each(share_routes_over_tls))),
    },
    Fault {
        name: "serves-nothing-on-requested-addresses",
        summary: "Gives a Gateway the addresses that it asks for, and serves no route there.",
        clauses: &["blind:GatewayStaticAddresses.1"],
        seam: Seam::Config(|| {
            serve(|seen, config| {
                let asked = seen.snapshot.gateways().flat_map(|(_, gateway)| &gateway.addresses);
                let asked: BTreeSet<IpAddr> = asked.filter_map(|address| address.value.parse().ok()).collect();
                for listener in config.listeners.iter_mut().filter(|one| asked.contains(&one.address)) {
                    if let Protocol::Http(http) = &mut listener.protocol {
                        http.virtual_hosts.clear();
                    }
                }
            })
        }),
    },
    Fault {
        name: "keeps-old-ports-open",
        summary: "Goes on serving a listener on the port that it had, beside the one that it has.",
        clauses: &["blind:GatewayModifyListeners.2"],
        seam: Seam::Config(|| Box::new(KeepsPorts::default())),
    },
];
