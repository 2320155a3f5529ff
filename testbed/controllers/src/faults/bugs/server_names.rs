//! Server names of streams, and whose they are.

use std::{collections::BTreeMap, net::IpAddr};

use gateproof_proxy::config::{Config, Listener, Protocol, StreamListener, StreamRoute, TcpTarget};
use serde_json::Value;

use super::{Bug, bystanders::Chokes};
use crate::{
    faults::{
        Fault, Seam,
        tools::{each, serve, view},
    },
    snapshot::{Kind, Snapshot},
};

/// The listeners of protocol TLS.
fn streams(config: &mut Config) -> impl Iterator<Item = &mut StreamListener> {
    let ports = config.listeners.iter_mut().filter_map(|lane| match &mut lane.protocol {
        Protocol::Tls(port) => Some(port),
        _ => None,
    });
    ports.flat_map(|port| port.streams.iter_mut())
}

/// Whether two routes of one listener have a hostname in common, letter by letter.
fn has_a_name_twice(lane: &Listener) -> bool {
    let Protocol::Tls(port) = &lane.protocol else { return false };
    port.streams.iter().any(|stream| {
        let names = |at: usize| stream.routes[at].hostnames.iter();
        (1..stream.routes.len()).any(|at| names(at).any(|name| (0..at).any(|of| names(of).any(|one| one == name))))
    })
}

/// Whether a listener that has no route shares its port with one of HTTPS.
fn has_an_idle_one_beside_https(lane: &Listener) -> bool {
    let Protocol::Tls(port) = &lane.protocol else { return false };
    !port.https.is_empty() && port.streams.iter().any(|stream| stream.routes.is_empty())
}

/// Leaves routes out none of whose backends can be had.
fn forget_without_backends(stream: &mut StreamListener) {
    let is_had = |target: &TcpTarget| !matches!(target, TcpTarget::Refuse { .. });
    stream.routes.retain(|route| route.backends.iter().any(|backend| is_had(&backend.target)));
}

/// Gives a hostname on one port of a Gateway the routes that it has on another.
fn join_ports(config: &mut Config) {
    let mut known: BTreeMap<(IpAddr, String), Vec<StreamRoute>> = BTreeMap::new();
    for lane in &mut config.listeners {
        let address = lane.address;
        let Protocol::Tls(port) = &mut lane.protocol else { continue };
        for stream in &mut port.streams {
            let first =
                known.entry((address, format!("{:?}", stream.hostname))).or_insert_with(|| stream.routes.clone());
            stream.routes.clone_from(first);
        }
    }
}

/// Lets a TLS listener have the hostname of a wider one of HTTPS on its port, so that both conflict.
fn widen_to_https(snapshot: &mut Snapshot) {
    snapshot.edit(Kind::Gateway, |gateway| {
        let all = gateway["spec"]["listeners"].as_array().cloned().unwrap_or_default();
        for listener in each(gateway, "/spec/listeners").filter(|listener| listener["protocol"] == "TLS") {
            let covers = |wide: &&Value| {
                let suffix = wide["hostname"].as_str().and_then(|wide| wide.strip_prefix('*'));
                let own = listener["hostname"].as_str();
                wide["protocol"] == "HTTPS"
                    && wide["port"] == listener["port"]
                    && suffix.zip(own).is_some_and(|(suffix, own)| own.ends_with(suffix))
            };
            if let Some(wide) = all.iter().find(covers) {
                listener["hostname"] = wide["hostname"].clone();
            }
        }
    });
}

pub(super) const BUGS: &[Bug] = &[
    Bug {
        fault: Fault {
            name: "chokes-on-server-names-of-two-routes",
            summary: "Takes no change up on a port where two TLSRoutes have the same hostname.",
            clauses: &["IMPL-38"],
            seam: Seam::Config(|| Chokes::on_all_of(has_a_name_twice)),
        },
        reported: &["cilium/cilium#45925", "cilium/cilium#45050"],
    },
    Bug {
        fault: Fault {
            name: "chokes-on-idle-tls-listeners",
            summary: "Takes no change up on a port where a TLS listener without routes is beside one of HTTPS.",
            clauses: &["IMPL-37"],
            seam: Seam::Config(|| Chokes::on_all_of(has_an_idle_one_beside_https)),
        },
        reported: &["envoyproxy/gateway#9341", "envoyproxy/gateway#9516", "envoyproxy/envoy#45829"],
    },
    Bug {
        fault: Fault {
            name: "gives-names-without-backends-to-wildcards",
            summary: "Gives connections for a TLSRoute none of whose backends resolves to a wider one.",
            clauses: &["upstream:TLSRouteInvalidBackendRefNonexistent"],
            seam: Seam::Config(|| serve(|_, config| streams(config).for_each(forget_without_backends))),
        },
        reported: &["cilium/cilium#46488"],
    },
    Bug {
        fault: Fault {
            name: "gives-tls-shares-to-one-backend",
            summary: "Gives all connections of a TLSRoute to its first backend with a weight.",
            clauses: &["OWN-30"],
            seam: Seam::Config(|| {
                serve(|_, config| {
                    for route in streams(config).flat_map(|stream| &mut stream.routes) {
                        let weighted = route.backends.iter_mut().filter(|backend| backend.weight > 0);
                        weighted.skip(1).for_each(|backend| backend.weight = 0);
                    }
                })
            }),
        },
        reported: &["cilium/cilium#45932", "cilium/cilium#45937"],
    },
    Bug {
        fault: Fault {
            name: "joins-tls-ports",
            summary: "Serves a hostname that TLS listeners on two ports have by the routes of the first on both.",
            clauses: &["IMPL-38"],
            seam: Seam::Config(|| serve(|_, config| join_ports(config))),
        },
        reported: &["cilium/cilium#31122", "cilium/cilium#37609"],
    },
    Bug {
        fault: Fault {
            name: "takes-wider-https-for-a-conflict",
            summary: "Says of a TLS listener that it conflicts with one of HTTPS on its port whose wildcard covers its hostname.",
            clauses: &["GEP1364-14"],
            seam: Seam::Snapshot(|| view(widen_to_https)),
        },
        reported: &["cilium/cilium#47590", "cilium/cilium#48092"],
    },
];
