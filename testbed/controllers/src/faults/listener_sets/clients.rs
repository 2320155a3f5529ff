//! What goes wrong with certificates of clients at the listeners that ListenerSets add.

use std::net::IpAddr;

use gateproof_proxy::config::{Config, Hostname, Listener as Lane, TlsListener};

use super::{
    super::{
        Fault, Seam,
        clients::{forget_broken, https_of},
        tools::{drop_field, has_reason, say, serve, set},
    },
    acts::sets,
};
use crate::{model::Listener, runtime::seams::Seen, snapshot::Kind, status::Truth};

const ADDED: &str = "blind:GatewayFrontendClientCertificateValidation.3";

/// The listeners that the Gateways of a lane have themselves on its port.
fn own<'a>(seen: Seen<'a>, lane: &Lane) -> Vec<&'a Listener> {
    let keys = lane.id.split(", ").filter_map(|id| id.rsplit_once(':')?.0.split_once('/'));
    let gateways = keys.filter_map(|(namespace, name)| seen.snapshot.gateway(namespace, name));
    gateways.flat_map(|(_, spec)| &spec.listeners).filter(|one| one.port == lane.port).collect()
}

fn is(own: &Listener, served: &TlsListener) -> bool {
    let host = &served.virtual_host;
    own.name == host.listener && Hostname::parse(own.host().unwrap_or_default()) == host.hostname
}

/// Changes the HTTPS listeners of which no Gateway has one that is like it.
fn change_added(
    seen: Seen<'_>,
    config: &mut Config,
    is_like: fn(&Listener, &TlsListener) -> bool,
    mut change: impl FnMut((IpAddr, u16), &mut TlsListener),
) {
    for lane in &mut config.listeners {
        let (own, place) = (own(seen, lane), (lane.address, lane.port));
        for listener in https_of(lane) {
            if !own.iter().any(|one| is_like(one, listener)) {
                change(place, listener);
            }
        }
    }
}

/// Validates the clients of added listeners as if nothing were said of their ports.
fn follow_the_default(seen: Seen<'_>, config: &mut Config) {
    let mut otherwise = seen.otherwise(|snapshot| {
        snapshot.edit(Kind::Gateway, |gateway| {
            if let Some(frontend) = gateway.pointer_mut("/spec/tls/frontend") {
                drop_field(frontend, "perPort");
            }
        });
    });
    change_added(seen, config, is, |place, listener| {
        let lanes = otherwise.config.listeners.iter_mut().filter(|lane| (lane.address, lane.port) == place);
        let by_default = lanes.flat_map(https_of).find(|one| one.virtual_host == listener.virtual_host);
        if let Some(by_default) = by_default {
            listener.clients.clone_from(&by_default.clients);
        }
    });
}

/// Serves everybody on ports of added listeners that have lost their authorities.
fn open_closed_ports(seen: Seen<'_>, config: &mut Config) {
    let otherwise = seen.otherwise(forget_broken).config;
    let known: Vec<(IpAddr, u16)> = config.listeners.iter().map(|lane| (lane.address, lane.port)).collect();
    let is_closed = |lane: &Lane| !known.contains(&(lane.address, lane.port)) && own(seen, lane).is_empty();
    config.listeners.extend(otherwise.listeners.into_iter().filter(is_closed));
}

pub(in crate::faults) const FAULTS: &[Fault] = &[
    Fault {
        name: "skips-validation-on-listener-sets",
        summary: "Asks clients for no certificate at the listeners that ListenerSets add.",
        clauses: &[ADDED],
        seam: Seam::Config(|| {
            serve(|seen, config| change_added(seen, config, is, |_, listener| listener.clients = None))
        }),
    },
    Fault {
        name: "skips-validation-on-ports-of-listener-sets",
        summary: "Asks clients for no certificate on ports that only a ListenerSet has.",
        clauses: &[ADDED],
        seam: Seam::Config(|| {
            serve(|seen, config| change_added(seen, config, |_, _| true, |_, listener| listener.clients = None))
        }),
    },
    Fault {
        name: "validates-listener-sets-by-the-default-alone",
        summary: "Takes no notice at the listeners that ListenerSets add of what is said of single ports on the validation of clients.",
        clauses: &[ADDED],
        seam: Seam::Config(|| serve(follow_the_default)),
    },
    Fault {
        name: "opens-listener-sets-without-client-authority",
        summary: "Serves everybody on a port of a ListenerSet that has no valid authority of clients.",
        clauses: &[ADDED],
        seam: Seam::Config(|| serve(open_closed_ports)),
    },
    Fault {
        name: "accepts-listener-sets-without-client-authority",
        summary: "Says that a listener of a ListenerSet is well though it has no valid authority of clients.",
        clauses: &[ADDED],
        seam: Seam::Statuses(|| {
            say(|seen, statuses| {
                for (_, _, listeners) in sets(seen.snapshot, statuses) {
                    for listener in listeners {
                        if has_reason(&listener.conditions, "Accepted", "NoValidCACertificate") {
                            set(&mut listener.conditions, "Accepted", Truth::True, "Accepted");
                            set(&mut listener.conditions, "ResolvedRefs", Truth::True, "ResolvedRefs");
                        }
                    }
                }
            })
        }),
    },
];
