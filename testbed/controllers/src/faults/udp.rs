//! Datagrams that go astray.

use std::{
    collections::HashSet,
    sync::{Mutex, PoisonError},
};

use gateproof_proxy::{
    config::{Listener, Protocol, TcpBackend, TcpTarget},
    exchange::{Connection, Exchange, Passage, Way},
};
use serde_json::Value;

use super::{
    Fault, Seam,
    snapshot::grant_everything,
    tools::{backend_refs, drop_at, drop_field, listeners, say, serve, serve_from, serve_past, view},
};
use crate::{
    model::{GATEWAY_GROUP, RouteKind},
    snapshot::Kind,
};

/// Lets the first answer of each flow through.
#[derive(Default)]
struct AnswersOnce(Mutex<HashSet<u64>>);

impl Exchange for AnswersOnce {
    fn on_datagram(&self, flow: &Connection, way: Way, _: &[u8]) -> Passage {
        let is_first = || self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(flow.id);
        if way == Way::There || is_first() { Passage::Pass } else { Passage::Drop }
    }
}

/// Sends answers from a port of their own.
struct AnswersFromElsewhere;

impl Exchange for AnswersFromElsewhere {
    fn on_datagram(&self, _: &Connection, way: Way, _: &[u8]) -> Passage {
        if way == Way::There { Passage::Pass } else { Passage::FromElsewhere }
    }
}

/// Takes the last byte off what goes to backends.
struct CutsDatagrams;

impl Exchange for CutsDatagrams {
    fn on_datagram(&self, _: &Connection, way: Way, datagram: &[u8]) -> Passage {
        match datagram.split_last() {
            Some((_, rest)) if way == Way::There => Passage::As(rest.to_vec()),
            _ => Passage::Pass,
        }
    }
}

pub(super) const FAULTS: &[Fault] = &[
    Fault {
        name: "answers-one-datagram-of-a-flow",
        summary: "Sends the first answer of a flow of datagrams to the client, and no other.",
        clauses: &["blind:UDPRoute.1"],
        seam: Seam::Exchange(|| std::sync::Arc::new(AnswersOnce::default())),
    },
    Fault {
        name: "answers-datagrams-from-another-port",
        summary: "Sends the answers to datagrams from another port than these were sent to.",
        clauses: &["blind:UDPRoute.1"],
        seam: Seam::Exchange(|| std::sync::Arc::new(AnswersFromElsewhere)),
    },
    Fault {
        name: "cuts-datagrams",
        summary: "Takes the last byte off datagrams on their way to backends.",
        clauses: &["blind:UDPRoute.1", "upstream:UDPRoute"],
        seam: Seam::Exchange(|| std::sync::Arc::new(CutsDatagrams)),
    },
    Fault {
        name: "ignores-udp-weights",
        summary: "Spreads flows of datagrams evenly whatever the weights are.",
        clauses: &["upstream:UDPRouteWeightedRouting"],
        seam: Seam::Config(|| {
            serve(|_, config| {
                for listener in &mut config.listeners {
                    if let Protocol::Udp(udp) = &mut listener.protocol {
                        udp.backends.iter_mut().for_each(|backend| backend.weight = 1);
                    }
                }
            })
        }),
    },
    Fault {
        name: "forwards-without-weight-over-udp",
        summary: "Forwards the datagrams of a UDPRoute whose backends all have weight 0.",
        clauses: &["upstream:UDPRouteWeightedRouting", "blind:HTTPRouteNoBackendRefs.2"],
        seam: Seam::Config(|| {
            serve(|_, config| {
                for listener in &mut config.listeners {
                    if let Protocol::Udp(udp) = &mut listener.protocol
                        && udp.backends.iter().all(|backend| backend.weight == 0)
                    {
                        udp.backends.iter_mut().for_each(|backend| backend.weight = 1);
                    }
                }
            })
        }),
    },
    Fault {
        name: "moves-shares-of-missing-udp-backends",
        summary: "Gives the share of a backend of a UDPRoute that does not resolve to those that do.",
        clauses: &["OWN-73"],
        seam: Seam::Config(|| {
            serve(|_, config| {
                for listener in &mut config.listeners {
                    if let Protocol::Udp(udp) = &mut listener.protocol {
                        let is_there = |backend: &TcpBackend| !matches!(backend.target, TcpTarget::Refuse { .. });
                        if udp.backends.iter().any(is_there) {
                            udp.backends.retain(is_there);
                        }
                    }
                }
            })
        }),
    },
    Fault {
        name: "resolves-backends-of-udproutes-by-name",
        summary: "Takes every backend of a UDPRoute for the Service of its name, whatever its kind.",
        clauses: &["GEP1364-38"],
        seam: Seam::Snapshot(|| {
            view(|snapshot| {
                snapshot.edit(Kind::UdpRoute, |route| {
                    for reference in backend_refs(route) {
                        drop_field(reference, "group");
                        drop_field(reference, "kind");
                    }
                });
            })
        }),
    },
    Fault {
        name: "forwards-udp-across-namespaces",
        summary: "Sends datagrams into other namespaces without a grant, while status says RefNotPermitted.",
        clauses: &["blind:UDPRouteInvalidCrossNamespaceBackendRef.1"],
        seam: Seam::Config(|| {
            serve(|seen, config| {
                let otherwise = seen.otherwise(grant_everything).config.listeners;
                for listener in config.listeners.iter_mut() {
                    let is_same = |one: &&Listener| {
                        (one.address, one.port) == (listener.address, listener.port)
                            && matches!((&one.protocol, &listener.protocol), (Protocol::Udp(_), Protocol::Udp(_)))
                    };
                    if let Some(granted) = otherwise.iter().find(is_same) {
                        *listener = granted.clone();
                    }
                }
            })
        }),
    },
    Fault {
        name: "forwards-udp-of-missing-backends",
        summary: "Sends the datagrams of a backend that does not resolve to another Service of its namespace.",
        clauses: &["blind:UDPRouteInvalidBackendRefNonexistent.1"],
        seam: Seam::Config(|| {
            serve_from(|snapshot| {
                let known: Vec<(String, Value)> = snapshot
                    .all(Kind::Service)
                    .map(|service| (service.meta.namespace.clone(), service.raw["metadata"]["name"].clone()))
                    .collect();
                snapshot.edit(Kind::UdpRoute, |route| {
                    let own = route["metadata"]["namespace"].clone();
                    for reference in backend_refs(route) {
                        let is_there = |name: &Value| known.iter().any(|(of, one)| own == of.as_str() && one == name);
                        let other = known.iter().find(|(of, _)| own == of.as_str());
                        if let Some((_, other)) = other.filter(|_| !is_there(&reference["name"])) {
                            reference["name"] = other.clone();
                        }
                    }
                });
            })
        }),
    },
    Fault {
        name: "newest-udproute-wins",
        summary: "Gives a UDP listener to the route that sorts first by name, however new it is.",
        clauses: &["upstream:UDPRouteMultipleRoutesAttachment", "blind:UDPRouteMultipleRoutesAttachment.1"],
        seam: Seam::Snapshot(|| {
            view(|snapshot| {
                snapshot.edit(Kind::UdpRoute, |route: &mut Value| drop_at(route, "/metadata", "creationTimestamp"));
            })
        }),
    },
    Fault {
        name: "spreads-datagrams-over-udproutes",
        summary: "Spreads the flows of a UDP listener over the backends of all UDPRoutes that name one Gateway.",
        clauses: &["blind:UDPRouteMultipleRoutesAttachment.2"],
        seam: Seam::Config(|| {
            serve_from(|snapshot| {
                let parents =
                    |route: &Value| (route["metadata"]["namespace"].clone(), route["spec"]["parentRefs"].clone());
                let known: Vec<((Value, Value), Vec<Value>)> = snapshot
                    .all(Kind::UdpRoute)
                    .map(|route| {
                        let refs = route.raw["spec"]["rules"][0]["backendRefs"].as_array().cloned();
                        (parents(&route.raw), refs.unwrap_or_default())
                    })
                    .collect();
                snapshot.edit(Kind::UdpRoute, |route| {
                    let own = parents(route);
                    let all = known.iter().filter(|(of, _)| *of == own).flat_map(|(_, refs)| refs.clone());
                    route["spec"]["rules"][0]["backendRefs"] = all.collect();
                });
            })
        }),
    },
    Fault {
        name: "serves-deleted-udproutes",
        summary: "Goes on serving a UDPRoute after it is deleted.",
        clauses: &["blind:Generic.14", "blind:UDPRouteMultipleRoutesAttachment.1"],
        seam: Seam::Config(|| serve_past(|memory, snapshot| memory.keep_removed(snapshot, Kind::UdpRoute))),
    },
    Fault {
        name: "lists-tcproutes-on-udp-listeners",
        summary: "Lists TCPRoute among the kinds that a UDP listener supports.",
        clauses: &["GEP1364-38"],
        seam: Seam::Statuses(|| {
            say(|_, statuses| {
                let is_udp = |kinds: &[RouteKind]| kinds.iter().any(|kind| kind.kind == "UDPRoute");
                for listener in listeners(statuses).filter(|listener| is_udp(&listener.supported_kinds)) {
                    let kind = RouteKind { group: GATEWAY_GROUP.into(), kind: "TCPRoute".into() };
                    listener.supported_kinds.push(kind);
                }
            })
        }),
    },
];
