//! What is taken for a request that went to the wrong listener, and is none.

use std::sync::{Arc, Mutex, PoisonError};

use gateproof_proxy::{
    compiled::{Compiled, Service},
    config::Hostname,
    exchange::{Connection, Exchange, MatchOutcome, RequestHead},
    routing::Routing,
};

use super::Bug;
use crate::faults::{Fault, Seam, exchange::Finds};

/// Whether the handshake was for another host than the request.
fn is_other(request: &RequestHead) -> bool {
    request.server_name.as_ref().is_some_and(|name| *name != request.host)
}

/// Takes a host over TLS for that of a listener of plain HTTP on the same address that has it by name, where the own listener has not.
#[derive(Default)]
struct LooksAtPlainListeners(Mutex<Option<Arc<Compiled>>>);

impl LooksAtPlainListeners {
    fn is_plain(&self, request: &RequestHead) -> bool {
        let known = self.0.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let Some(config) = known else { return false };
        let own = request.connection.listener;
        let exact = Hostname::Exact(request.host.clone());
        let lanes = config.config.listeners.iter().filter(|lane| lane.address == own.address);
        let plain = lanes.filter_map(|lane| match &lane.protocol {
            gateproof_proxy::config::Protocol::Http(http) => Some(http),
            _ => None,
        });
        let mut hosts = plain.flat_map(|http| &http.virtual_hosts);
        hosts.any(|host| host.hostname == exact)
    }
}

impl Exchange for LooksAtPlainListeners {
    fn choose_config(&self, of: &Connection, current: &Arc<Compiled>, _: &[Arc<Compiled>]) -> Arc<Compiled> {
        let is_secure = current.listener(of.listener).is_some_and(|lane| matches!(lane.service, Service::Https { .. }));
        if is_secure {
            *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(Arc::clone(current));
        }
        Arc::clone(current)
    }

    fn on_route(&self, request: &RequestHead, routing: &Routing<'_>, found: MatchOutcome) -> MatchOutcome {
        let own = routing.virtual_host(&request.host).and_then(|index| routing.hosts.get(index));
        let is_named = own.is_some_and(|host| matches!(host.hostname, Hostname::Exact(_)));
        match found {
            MatchOutcome::Rule { .. } if request.scheme == "https" && !is_named && self.is_plain(request) => {
                MatchOutcome::Misdirected
            }
            found => found,
        }
    }
}

pub(super) const BUGS: &[Bug] = &[
    Bug {
        fault: Fault {
            name: "takes-hosts-of-no-listener-for-misdirection",
            summary: "Answers 421 over TLS for a host that no listener has.",
            clauses: &["upstream:HTTPRouteHTTPSListener"],
            seam: Seam::Exchange(|| {
                Arc::new(Finds(|request, routing, found| {
                    let is_stranger = routing.virtual_host(&request.host).is_none();
                    if is_other(request) && is_stranger { MatchOutcome::Misdirected } else { found }
                }))
            }),
        },
        reported: &["nginx/nginx-gateway-fabric#4838", "nginx/nginx-gateway-fabric#4878", "varnish/gateway#42"],
    },
    Bug {
        fault: Fault {
            name: "takes-hosts-of-plain-listeners-for-misdirection",
            summary: "Answers 421 over TLS for a host that a listener of plain HTTP has by name.",
            clauses: &["upstream:HTTPRouteHTTPSListener"],
            seam: Seam::Exchange(|| Arc::new(LooksAtPlainListeners::default())),
        },
        reported: &["agentgateway/agentgateway#1395"],
    },
];
