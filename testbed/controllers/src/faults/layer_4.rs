//! Streams and datagrams where something else is beside them: other modes, other protocols, other namespaces, capitals.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use async_trait::async_trait;
use gateproof_proxy::{
    config::{Config, Hostname, StreamListener, TcpTarget, TlsPort},
    exchange::{Connection, Exchange, TcpChoice},
    stream::Stream,
};
use serde_json::Value;

use super::{
    Fault, Seam,
    tls::{mixed, streams},
    tools::{copy_counts, has_reason, is, parents, protocol, say, serve, set},
};
use crate::{
    model::{ParentRef, RouteKind},
    reconcile::intersect,
    runtime::seams::{ConfigSeam, Seen},
    snapshot::{Kind, Object, Snapshot},
    status::{DesiredStatus, StatusUpdate, Truth},
};

/// Compares server names to the letter, so that one with a capital is nobody's.
struct OverlooksCapitals;

#[async_trait]
impl Exchange for OverlooksCapitals {
    async fn serve_passed(&self, _: &Connection, stream: Stream, choice: TcpChoice) -> Option<(Stream, TcpChoice)> {
        if stream.has_capitals() {
            stream.reset_at_close();
            return None;
        }
        Some((stream, choice))
    }
}

/// Serves of the routes on a port each at the first listener that it is attached to.
fn serve_once(port: &mut TlsPort) {
    let mut served: BTreeSet<String> = BTreeSet::new();
    for stream in &mut port.streams {
        stream.routes.retain(|route| served.insert(route.name.clone()));
    }
}

/// Goes on sending what comes out of TLS to where a Service was that is gone.
#[derive(Default)]
struct KeepsServices(BTreeMap<String, TcpTarget>);

impl ConfigSeam for KeepsServices {
    fn edit(&mut self, seen: Seen<'_>, config: &mut Config) {
        let ends = streams(config).filter(|stream| stream.certificates.is_some());
        for backend in ends.flat_map(|stream| &mut stream.routes).flat_map(|route| &mut route.backends) {
            let service = backend.id.rsplit_once(':').and_then(|(of, _)| of.split_once('/'));
            let is_gone = service.is_some_and(|(namespace, name)| seen.snapshot.service(namespace, name).is_none());
            match &backend.target {
                TcpTarget::Refuse { .. } if is_gone => {
                    backend.target = self.0.get(&backend.id).unwrap_or(&backend.target).clone();
                }
                TcpTarget::Refuse { .. } => {}
                target => {
                    self.0.insert(backend.id.clone(), target.clone());
                }
            }
        }
    }
}

/// Gives what two wildcards take to the older route, whichever says it more precisely.
fn order_wildcards_by_age(stream: &mut StreamListener) {
    let mut taken: Vec<Hostname> = Vec::new();
    stream.routes.retain_mut(|route| {
        // Without a hostname a route has every one.
        if route.hostnames.is_empty() {
            return true;
        }
        let is_wildcard = |one: &Hostname| matches!(one, Hostname::Wildcard(_));
        let is_taken = |one: &Hostname| taken.iter().any(|by| intersect(by, one).as_ref() == Some(one));
        route.hostnames.retain(|one| !(is_wildcard(one) && is_taken(one)));
        taken.extend(route.hostnames.iter().filter(|one| is_wildcard(one)).cloned());
        !route.hostnames.is_empty()
    });
}

/// Whether this is a route of streams or datagrams.
fn is_layer_4(update: &StatusUpdate) -> bool {
    [Kind::TcpRoute, Kind::UdpRoute].contains(&update.kind)
}

/// Counts a TCPRoute or UDPRoute that is attached to a whole Gateway at the HTTP listeners of it, too.
fn count_at_http(statuses: &mut [StatusUpdate]) {
    let whole = |of: &ParentRef| of.is_gateway() && of.section_name.is_none() && of.port.is_none();
    let mut attached: Vec<(String, String)> = Vec::new();
    for update in statuses.iter_mut().filter(|update| is_layer_4(update)) {
        let own = update.key.namespace.clone();
        for parent in parents(std::slice::from_mut(update)) {
            let of = &parent.parent_ref;
            if whole(of) && is(&parent.conditions, "Accepted", Truth::True) {
                attached.push((of.namespace.as_ref().unwrap_or(&own).clone(), of.name.clone()));
            }
        }
    }
    for update in statuses {
        let key = (update.key.namespace.clone(), update.key.name.clone());
        let DesiredStatus::Gateway { listeners, .. } = &mut update.status else { continue };
        let more = attached.iter().filter(|one| **one == key).count();
        let http = |kinds: &[RouteKind]| kinds.iter().any(|kind| kind.kind == "HTTPRoute");
        let all = listeners.iter_mut().filter(|listener| http(&listener.supported_kinds));
        all.for_each(|listener| listener.attached_routes += more);
    }
}

/// Whether a route names a Service that is not there, by references of this sort.
fn lacks(snapshot: &Snapshot, route: &Object, counts: fn(&Value) -> bool) -> bool {
    let rules = route.raw.pointer("/spec/rules").and_then(Value::as_array);
    let references = rules.into_iter().flatten().filter_map(|rule| rule["backendRefs"].as_array()).flatten();
    references.filter(|reference| counts(reference)).any(|reference| {
        let namespace = reference["namespace"].as_str().unwrap_or(&route.meta.namespace);
        snapshot.service(namespace, reference["name"].as_str().unwrap_or_default()).is_none()
    })
}

/// Forgets the TCPRoutes and UDPRoutes that name a Service which is not there.
fn forget_those_without_backends(snapshot: &mut Snapshot) {
    let known = snapshot.clone();
    for kind in [Kind::TcpRoute, Kind::UdpRoute] {
        snapshot.retain(kind, |route| !lacks(&known, route, |_| true));
    }
}

pub(super) const FAULTS: &[Fault] = &[
    Fault {
        name: "overlooks-capitals-in-server-names",
        summary: "Resets connections to be passed on whose server name has a capital.",
        clauses: &["blind:TLSRouteHostnameIntersection.2"],
        seam: Seam::Exchange(|| Arc::new(OverlooksCapitals)),
    },
    Fault {
        name: "serves-tlsroutes-in-one-mode",
        summary: "Serves a TLSRoute that listeners of both modes on a port take at the first of them alone.",
        clauses: &["upstream:TLSRouteMixedTerminationSameNamespace"],
        seam: Seam::Config(|| serve(|_, config| mixed(config).for_each(serve_once))),
    },
    Fault {
        name: "keeps-lost-services-behind-ended-tls",
        summary: "Goes on sending what comes out of TLS to the endpoints of a Service that is deleted.",
        clauses: &["upstream:TLSRouteInvalidBackendRefNonexistent"],
        seam: Seam::Config(|| Box::<KeepsServices>::default()),
    },
    Fault {
        name: "orders-wildcards-of-tlsroutes-by-age",
        summary: "Gives server names that the wildcards of two TLSRoutes take to the older one, not to the longer.",
        clauses: &["upstream:TLSRouteMultipleRoutesAttachmentSameHostnameIntersection"],
        seam: Seam::Config(|| serve(|_, config| streams(config).for_each(order_wildcards_by_age))),
    },
    Fault {
        name: "counts-streams-at-http",
        summary: "Counts a TCPRoute or UDPRoute of a whole Gateway at the HTTP listeners beside its own.",
        clauses: &["blind:TCPRouteParentRefAttachAll.1", "upstream:UDPRouteParentRefAttachAllListeners"],
        seam: Seam::Statuses(|| say(|_, statuses| count_at_http(statuses))),
    },
    Fault {
        name: "counts-no-streams-without-backends",
        summary: "Does not count a TCPRoute or UDPRoute whose Service is missing.",
        clauses: &["blind:TCPRouteInvalidBackendRefNonexistent.1", "blind:UDPRouteInvalidBackendRefNonexistent.1"],
        seam: Seam::Statuses(|| {
            say(|seen, statuses| copy_counts(seen.otherwise(forget_those_without_backends).statuses, statuses))
        }),
    },
    Fault {
        name: "accepts-udproutes-at-tls",
        summary: "Accepts a UDPRoute for a listener of TLS.",
        clauses: &["GEP1364-35", "upstream:UDPRouteNotAllowedByListeners"],
        seam: Seam::Statuses(|| {
            say(|seen, statuses| {
                for update in statuses.iter_mut().filter(|update| update.kind == Kind::UdpRoute) {
                    let own = update.key.namespace.clone();
                    for parent in parents(std::slice::from_mut(update)) {
                        if protocol(seen.snapshot, &own, &parent.parent_ref) == Some("TLS") {
                            set(&mut parent.conditions, "Accepted", Truth::True, "Accepted");
                        }
                    }
                }
            })
        }),
    },
    Fault {
        name: "misses-udp-backends-before-it-asks-for-grants",
        summary: "Gives BackendNotFound as the reason of a UDPRoute that may not refer to a Service which is not there.",
        clauses: &["upstream:UDPRouteInvalidCrossNamespaceBackendRef"],
        seam: Seam::Statuses(|| {
            say(|seen, statuses| {
                for update in statuses.iter_mut().filter(|update| update.kind == Kind::UdpRoute) {
                    let route = seen.snapshot.get(Kind::UdpRoute, &update.key.namespace, &update.key.name);
                    if !route.is_some_and(|route| lacks(seen.snapshot, route, |of| of["namespace"].is_string())) {
                        continue;
                    }
                    for parent in parents(std::slice::from_mut(update)) {
                        if has_reason(&parent.conditions, "ResolvedRefs", "RefNotPermitted") {
                            set(&mut parent.conditions, "ResolvedRefs", Truth::False, "BackendNotFound");
                        }
                    }
                }
            })
        }),
    },
    Fault {
        name: "forwards-without-weight-over-tls",
        summary: "Forwards the connections for a TLSRoute whose backends all have weight 0.",
        clauses: &["OWN-30"],
        seam: Seam::Config(|| {
            serve(|_, config| {
                let routes = streams(config).flat_map(|stream| &mut stream.routes);
                for route in routes.filter(|route| route.backends.iter().all(|backend| backend.weight == 0)) {
                    route.backends.iter_mut().for_each(|backend| backend.weight = 1);
                }
            })
        }),
    },
];
