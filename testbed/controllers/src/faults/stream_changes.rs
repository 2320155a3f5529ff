//! Streams and datagrams that do not follow when their routes, listeners and certificates change.

use std::collections::BTreeMap;

use gateproof_proxy::config::{Certificate, Config, Listener, Protocol, StreamListener, TcpBackend};
use serde_json::Value;

use super::{
    Fault, Seam,
    tools::{Memory, add_former, drop_field, each, listeners, say, serve_from, serve_past},
    writer::merge,
};
use crate::{
    model::Meta,
    runtime::seams::{ConfigSeam, Seen},
    snapshot::{Kind, Snapshot},
    status::StatusUpdate,
};

/// Shows the backends of routes as they were first.
fn keep_first_backends(memory: &mut Memory, snapshot: &mut Snapshot, kind: Kind) {
    let mut first = snapshot.clone();
    memory.keep_first(&mut first, kind);
    snapshot.edit(kind, |route| {
        let (namespace, name) = (&route["metadata"]["namespace"], &route["metadata"]["name"]);
        let (Some(namespace), Some(name)) = (namespace.as_str(), name.as_str()) else { return };
        if let Some(before) = first.get(kind, namespace, name) {
            route["spec"]["rules"] = before.raw["spec"]["rules"].clone();
        }
    });
}

fn list<'a>(route: &'a mut Value, pointer: &str) -> Vec<&'a mut Vec<Value>> {
    route.pointer_mut(pointer).and_then(Value::as_array_mut).into_iter().collect()
}

/// The Gateway of a lane, with its listeners.
fn gateway_of<'a>(lane: &Listener, seen: &Seen<'a>) -> Option<(&'a Meta, &'a Value)> {
    let (namespace, name) = lane.id.rsplit_once(':')?.0.split_once('/')?;
    let gateway = seen.snapshot.get(Kind::Gateway, namespace, name)?;
    Some((&gateway.meta, &gateway.raw["spec"]["listeners"]))
}

fn backends(lane: &mut Listener) -> Option<&mut Vec<TcpBackend>> {
    match &mut lane.protocol {
        Protocol::Tcp(tcp) => Some(&mut tcp.backends),
        Protocol::Udp(udp) => Some(&mut udp.backends),
        _ => None,
    }
}

/// Whether two lanes want the same port of one address.
fn meet(one: &Listener, other: &Listener) -> bool {
    let place = |lane: &Listener| (lane.address, lane.port, lane.protocol.transport());
    place(one) == place(other)
}

/// Goes on serving lanes that are gone, as long as their Gateway is served and a rule says so.
struct KeepsLanes {
    /// By the uid of their Gateway, and their name.
    known: BTreeMap<(String, String), Listener>,
    is_kept: fn(&Listener) -> bool,
    goes_on: fn(&Listener, &Value, &Config) -> bool,
}

impl ConfigSeam for KeepsLanes {
    fn edit(&mut self, seen: Seen<'_>, config: &mut Config) {
        for lane in config.listeners.iter().filter(|lane| (self.is_kept)(lane)) {
            if let Some((meta, _)) = gateway_of(lane, &seen) {
                self.known.insert((meta.uid.clone(), lane.id.clone()), lane.clone());
            }
        }
        for ((uid, _), lane) in &self.known {
            let Some((meta, wanted)) = gateway_of(lane, &seen) else { continue };
            let is_gone = !config.listeners.iter().any(|one| meet(one, lane));
            if is_gone && meta.uid == *uid && (self.goes_on)(lane, wanted, config) {
                config.listeners.push(lane.clone());
            }
        }
    }
}

fn carries_streams(lane: &Listener) -> bool {
    matches!(lane.protocol, Protocol::Tcp(_) | Protocol::Udp(_))
}

/// Whether the Gateway of a lane is served elsewhere.
fn is_beside_others(lane: &Listener, _: &Value, config: &Config) -> bool {
    let gateway = |of: &Listener| of.id.rsplit_once(':').map(|(gateway, _)| gateway.to_owned());
    config.listeners.iter().any(|other| gateway(other) == gateway(lane))
}

fn ends_tls(lane: &Listener) -> bool {
    matches!(&lane.protocol, Protocol::Tls(port) if port.streams.iter().any(|stream| stream.certificates.is_some()))
}

/// Whether the Gateway still wants a listener of that lane.
fn is_wanted(lane: &Listener, wanted: &Value, _: &Config) -> bool {
    wanted.as_array().into_iter().flatten().any(|listener| listener["port"] == lane.port)
}

/// Gives a port of a changed Gateway that no route has to the route that had it before.
#[derive(Default)]
struct KeepsRoutesOfPorts(BTreeMap<(String, String), (i64, Vec<TcpBackend>)>);

impl ConfigSeam for KeepsRoutesOfPorts {
    fn edit(&mut self, seen: Seen<'_>, config: &mut Config) {
        for lane in &mut config.listeners {
            let Some((meta, _)) = gateway_of(lane, &seen) else { continue };
            // Ports of TCP and of UDP are not the same.
            let key = (meta.uid.clone(), format!("{} {:?}", lane.id, lane.protocol.transport()));
            let Some(backends) = backends(lane) else { continue };
            if !backends.is_empty() {
                self.0.insert(key, (meta.generation, backends.clone()));
            } else if let Some((_, before)) = self.0.get(&key).filter(|(then, _)| *then != meta.generation) {
                backends.clone_from(before);
            }
        }
    }
}

/// Goes on presenting the certificates that a TLS listener had first.
#[derive(Default)]
struct KeepsCertificates(BTreeMap<(String, String), Vec<Certificate>>);

impl ConfigSeam for KeepsCertificates {
    fn edit(&mut self, _: Seen<'_>, config: &mut Config) {
        for lane in &mut config.listeners {
            let Protocol::Tls(port) = &mut lane.protocol else { continue };
            for stream in &mut port.streams {
                let key = (lane.id.clone(), stream.listener.clone());
                if let Some(certificates) = &mut stream.certificates {
                    let first = self.0.entry(key).or_insert_with(|| certificates.clone());
                    certificates.clone_from(first);
                }
            }
        }
    }
}

/// Goes on with the TLS listeners for TLSRoutes that a port had before, or with what it had first alone.
struct KeepsServerNames {
    known: BTreeMap<String, Vec<StreamListener>>,
    misses_late: bool,
}

impl ConfigSeam for KeepsServerNames {
    fn edit(&mut self, _: Seen<'_>, config: &mut Config) {
        for lane in &mut config.listeners {
            let Protocol::Tls(port) = &mut lane.protocol else { continue };
            let is_in = |one: &StreamListener, all: &[StreamListener]| all.iter().any(|of| of.listener == one.listener);
            let known = self.known.entry(lane.id.clone()).or_insert_with(|| port.streams.clone());
            if self.misses_late {
                port.streams.iter_mut().filter(|one| !is_in(one, known)).for_each(|one| one.routes.clear());
            } else {
                let gone: Vec<_> = known.iter().filter(|one| !is_in(one, &port.streams)).cloned().collect();
                port.streams.extend(gone);
                known.clone_from(&port.streams);
            }
        }
    }
}

/// Parts of a lane, by name.
type Parts<T> = fn(&mut Listener) -> Vec<(String, &mut T)>;

/// Goes on with what parts of a lane once were, if a rule says so of that and not of what they are now.
struct KeepsOnce<T> {
    /// By the uid of the Gateway, the lane and the part.
    known: BTreeMap<(String, String, String), T>,
    parts: Parts<T>,
    is_kept: fn(&T) -> bool,
}

impl<T: Clone + Send> ConfigSeam for KeepsOnce<T> {
    fn edit(&mut self, seen: Seen<'_>, config: &mut Config) {
        for lane in &mut config.listeners {
            let Some((meta, _)) = gateway_of(lane, &seen) else { continue };
            let (uid, id) = (meta.uid.clone(), lane.id.clone());
            for (name, part) in (self.parts)(lane) {
                let key = (uid.clone(), id.clone(), name);
                if (self.is_kept)(part) {
                    self.known.insert(key, part.clone());
                } else if let Some(before) = self.known.get(&key) {
                    part.clone_from(before);
                }
            }
        }
    }
}

fn keep_once<T: Clone + Send + 'static>(parts: Parts<T>, is_kept: fn(&T) -> bool) -> Box<dyn ConfigSeam> {
    Box::new(KeepsOnce { known: BTreeMap::new(), parts, is_kept })
}

/// The certificates with which the TLS listeners of a lane end TLS, if they do.
fn modes(lane: &mut Listener) -> Vec<(String, &mut Option<Vec<Certificate>>)> {
    let Protocol::Tls(port) = &mut lane.protocol else { return Vec::new() };
    port.streams.iter_mut().map(|stream| (stream.listener.clone(), &mut stream.certificates)).collect()
}

/// What is spoken at a lane over TCP, whether within TLS or not, if it is not HTTP.
fn carried(lane: &mut Listener) -> Vec<(String, &mut Protocol)> {
    let is_carried = matches!(&lane.protocol, Protocol::Tcp(_))
        || matches!(&lane.protocol, Protocol::Tls(port) if port.https.is_empty());
    is_carried.then_some((String::new(), &mut lane.protocol)).into_iter().collect()
}

/// Attaches routes that name a port and no section wherever they can be.
fn drop_ports(snapshot: &mut Snapshot) {
    for kind in [Kind::TcpRoute, Kind::UdpRoute] {
        snapshot.edit(kind, |route| {
            let of_ports = each(route, "/spec/parentRefs").filter(|of| of["sectionName"].is_null());
            of_ports.for_each(|of| drop_field(of, "port"));
        });
    }
}

/// Removes what other controllers say of routes of a kind.
fn drop_foreign(kind: Kind, desired: &StatusUpdate, status: &mut Value) {
    if let (true, Some(entries)) = (desired.kind == kind, status.get_mut("parents").and_then(Value::as_array_mut)) {
        entries.retain(|entry| entry["controllerName"] == desired.controller_name.as_str());
    }
}

pub(super) const FAULTS: &[Fault] = &[
    Fault {
        name: "keeps-backends-of-udproutes",
        summary: "Goes on sending datagrams to the backends that a UDPRoute had first.",
        clauses: &["blind:HTTPRouteObservedGenerationBump.1"],
        seam: Seam::Config(|| serve_past(|memory, snapshot| keep_first_backends(memory, snapshot, Kind::UdpRoute))),
    },
    Fault {
        name: "keeps-backends-of-tlsroutes",
        summary: "Goes on sending connections to the backends that a TLSRoute had first.",
        clauses: &["blind:HTTPRouteObservedGenerationBump.1"],
        seam: Seam::Config(|| serve_past(|memory, snapshot| keep_first_backends(memory, snapshot, Kind::TlsRoute))),
    },
    Fault {
        name: "serves-names-that-tlsroutes-had",
        summary: "Serves a TLSRoute for the hostnames that it had before, too.",
        clauses: &["blind:HTTPRouteObservedGenerationBump.1"],
        seam: Seam::Config(|| {
            serve_past(|memory, snapshot| {
                add_former(
                    memory,
                    snapshot,
                    Kind::TlsRoute,
                    |route| list(route, "/spec/hostnames"),
                    |one, other| one == other,
                );
            })
        }),
    },
    Fault {
        name: "serves-streams-where-they-were",
        summary: "Serves a TCPRoute, TLSRoute or UDPRoute at the parents that it named before, too.",
        clauses: &["blind:HTTPRouteObservedGenerationBump.1", "GEP1364-14"],
        seam: Seam::Config(|| {
            serve_past(|memory, snapshot| {
                for kind in [Kind::TcpRoute, Kind::TlsRoute, Kind::UdpRoute] {
                    add_former(
                        memory,
                        snapshot,
                        kind,
                        |route| list(route, "/spec/parentRefs"),
                        |one, other| one == other,
                    );
                }
            })
        }),
    },
    Fault {
        name: "keeps-ports-of-removed-stream-listeners",
        summary: "Goes on serving the port of a TCP or UDP listener that is removed from its Gateway.",
        clauses: &["blind:GatewayModifyListeners.1"],
        seam: Seam::Config(|| {
            Box::new(KeepsLanes { known: BTreeMap::new(), is_kept: carries_streams, goes_on: is_beside_others })
        }),
    },
    Fault {
        name: "keeps-server-names-of-removed-listeners",
        summary: "Goes on serving a TLS listener that is removed from a port where another one stays.",
        clauses: &["blind:GatewayModifyListeners.1"],
        seam: Seam::Config(|| Box::new(KeepsServerNames { known: BTreeMap::new(), misses_late: false })),
    },
    Fault {
        name: "serves-no-tls-listeners-that-come-later",
        summary: "Passes nothing on at a TLS listener that is added to a port where there is one already.",
        clauses: &["IMPL-38", "blind:GatewayModifyListeners.1"],
        seam: Seam::Config(|| Box::new(KeepsServerNames { known: BTreeMap::new(), misses_late: true })),
    },
    Fault {
        name: "keeps-routes-of-ports",
        summary: "Gives a port of TCP or UDP whose listener has no route to the route of the listener that had it before.",
        clauses: &["blind:GatewayModifyListeners.2", "GEP1364-14"],
        seam: Seam::Config(|| Box::<KeepsRoutesOfPorts>::default()),
    },
    Fault {
        name: "ignores-ports-of-stream-parents",
        summary: "Serves a TCPRoute or UDPRoute that names a port and no section at every port of its Gateway.",
        clauses: &[
            "upstream:TCPRouteParentRefPortAndSectionName",
            "upstream:UDPRouteParentRefPortAndSectionName",
            "GEP1364-14",
        ],
        seam: Seam::Config(|| serve_from(drop_ports)),
    },
    Fault {
        name: "keeps-first-certificates-of-streams",
        summary: "Goes on presenting the certificate that a TLS listener for TLSRoutes had first.",
        clauses: &["blind:HTTPRouteHTTPSListener.2"],
        seam: Seam::Config(|| Box::<KeepsCertificates>::default()),
    },
    Fault {
        name: "passes-on-what-it-once-passed-on",
        summary: "Goes on passing TLS on where the mode of a TLS listener is Terminate and was Passthrough.",
        clauses: &["OWN-114"],
        seam: Seam::Config(|| keep_once(modes, Option::is_none)),
    },
    Fault {
        name: "ends-tls-where-it-once-did",
        summary: "Goes on ending TLS where the mode of a TLS listener is Passthrough and was Terminate.",
        clauses: &["OWN-114"],
        seam: Seam::Config(|| keep_once(modes, Option::is_some)),
    },
    Fault {
        name: "keeps-streams-where-tls-came",
        summary: "Goes on giving connections to TCPRoutes at a port whose listener has gone over from TCP to TLS.",
        clauses: &["upstream:GatewayModifyListeners", "blind:GatewayModifyListeners.2"],
        seam: Seam::Config(|| keep_once(carried, |spoken| matches!(spoken, Protocol::Tcp(_)))),
    },
    Fault {
        name: "keeps-tls-where-streams-came",
        summary: "Goes on looking for server names at a port whose listener has gone over from TLS to TCP.",
        clauses: &["upstream:GatewayModifyListeners", "blind:GatewayModifyListeners.2"],
        seam: Seam::Config(|| keep_once(carried, |spoken| matches!(spoken, Protocol::Tls(_)))),
    },
    Fault {
        name: "ends-tls-with-lost-certificates",
        summary: "Goes on terminating TLS for TLSRoutes with a certificate that is not permitted or not readable any more.",
        clauses: &["blind:GatewayInvalidTLSConfiguration.1", "blind:GatewaySecretReferenceGrantAllInNamespace.1"],
        seam: Seam::Config(|| Box::new(KeepsLanes { known: BTreeMap::new(), is_kept: ends_tls, goes_on: is_wanted })),
    },
    Fault {
        name: "counts-one-route-of-streams",
        summary: "Counts one TCPRoute or UDPRoute at a listener with several, since one alone gets its traffic.",
        clauses: &["blind:Generic.13"],
        seam: Seam::Statuses(|| {
            say(|_, statuses| {
                for listener in listeners(statuses) {
                    if listener.supported_kinds.iter().any(|of| of.kind == "TCPRoute" || of.kind == "UDPRoute") {
                        listener.attached_routes = listener.attached_routes.min(1);
                    }
                }
            })
        }),
    },
    Fault {
        name: "drops-foreign-entries-of-tlsroutes",
        summary: "Removes the entries of other controllers from the status of TLSRoutes.",
        clauses: &["IMPL-20"],
        seam: Seam::StatusWriter(|inner| {
            merge(inner, |_, desired, status| drop_foreign(Kind::TlsRoute, desired, status))
        }),
    },
    Fault {
        name: "drops-foreign-entries-of-udproutes",
        summary: "Removes the entries of other controllers from the status of UDPRoutes.",
        clauses: &["IMPL-20"],
        seam: Seam::StatusWriter(|inner| {
            merge(inner, |_, desired, status| drop_foreign(Kind::UdpRoute, desired, status))
        }),
    },
];
