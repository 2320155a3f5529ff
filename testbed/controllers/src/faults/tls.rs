//! TLS streams: which connections get where, and what is said of their routes and listeners.

use gateproof_proxy::config::{Config, Hostname, PeerName, Protocol, StreamListener, StreamRoute, TcpTarget, TlsPort};

use super::{
    Fault, Seam,
    tools::{copy_counts, drop_field, each, has_reason, listeners, say, serve, serve_from, serve_past, set},
};
use crate::{
    model::{GATEWAY_GROUP, RouteKind},
    reconcile::intersect,
    snapshot::{Kind, Snapshot},
    status::{DesiredStatus, Truth},
};

/// The ports with listeners of protocol TLS.
fn ports(config: &mut Config) -> impl Iterator<Item = &mut TlsPort> {
    config.listeners.iter_mut().filter_map(|lane| match &mut lane.protocol {
        Protocol::Tls(port) => Some(port),
        _ => None,
    })
}

/// The listeners of protocol TLS.
pub(super) fn streams(config: &mut Config) -> impl Iterator<Item = &mut StreamListener> {
    ports(config).flat_map(|port| port.streams.iter_mut())
}

/// The listeners of protocol TLS that have their port to themselves.
pub(super) fn alone(config: &mut Config) -> impl Iterator<Item = &mut StreamListener> {
    ports(config).filter(|port| port.https.is_empty() && port.streams.len() == 1).flat_map(|port| &mut port.streams)
}

/// Ports where TLS is terminated for some server names and passed on for others.
pub(super) fn mixed(config: &mut Config) -> impl Iterator<Item = &mut TlsPort> {
    let ends = |port: &TlsPort, here: bool| port.streams.iter().any(|stream| stream.certificates.is_some() == here);
    ports(config).filter(move |port| ends(port, true) && ends(port, false))
}

/// Whether a listener has a wildcard, and one route with one hostname and one backend.
pub(super) fn has_one_route(stream: &StreamListener) -> bool {
    let is_plain =
        |route: &StreamRoute| matches!(route.hostnames[..], [Hostname::Exact(_)]) && route.backends.len() == 1;
    matches!(stream.hostname, Hostname::Wildcard(_)) && matches!(&stream.routes[..], [route] if is_plain(route))
}

/// Lets a listener take whatever comes, and gives it to its first route.
fn take_everything(stream: &mut StreamListener) {
    stream.hostname = Hostname::Any;
    if let Some(route) = stream.routes.first_mut() {
        route.hostnames.push(Hostname::Any);
    }
}

fn without_sections(snapshot: &mut Snapshot) {
    snapshot.edit(Kind::TlsRoute, |route| {
        each(route, "/spec/parentRefs").for_each(|of| {
            drop_field(of, "sectionName");
            drop_field(of, "port");
        });
    });
}

pub(super) const FAULTS: &[Fault] = &[
    Fault {
        name: "passes-names-beyond-tls-listeners",
        summary: "Forwards connections whose server name a TLSRoute has and its listener has not.",
        clauses: &["blind:TLSRouteHostnameIntersection.1"],
        seam: Seam::Config(|| serve(|_, config| alone(config).for_each(|stream| stream.hostname = Hostname::Any))),
    },
    Fault {
        name: "gives-unknown-names-to-a-tlsroute",
        summary: "Gives connections of a TLS listener without a hostname to its first route where no route is for them.",
        clauses: &["blind:TLSRouteHostnameIntersection.2"],
        seam: Seam::Config(|| {
            serve(|_, config| {
                streams(config).filter(|stream| stream.hostname == Hostname::Any).for_each(take_everything);
            })
        }),
    },
    Fault {
        name: "takes-domains-for-tls-wildcards",
        summary: "Takes the wildcard of a TLSRoute for the domain itself too.",
        clauses: &["upstream:TLSRouteHostnameIntersection"],
        seam: Seam::Config(|| {
            serve(|_, config| {
                for route in streams(config).flat_map(|stream| &mut stream.routes) {
                    let domain = |hostname: &Hostname| match hostname {
                        Hostname::Wildcard(suffix) => Some(Hostname::Exact(suffix.clone())),
                        _ => None,
                    };
                    let domains: Vec<Hostname> = route.hostnames.iter().filter_map(domain).collect();
                    route.hostnames.extend(domains);
                }
            })
        }),
    },
    Fault {
        name: "prefers-older-tlsroutes",
        summary: "Gives a connection to the oldest TLSRoute that takes its server name, however precise others are.",
        clauses: &[
            "upstream:TLSRouteHostnameIntersection",
            "blind:TLSRouteHostnameIntersection.2",
            "upstream:TLSRouteMultipleRoutesAttachmentSameHostnameIntersection",
            "blind:TLSRouteMultipleRoutesAttachmentSameHostnameIntersection.1",
        ],
        seam: Seam::Config(|| {
            serve(|_, config| {
                for stream in streams(config) {
                    let mut taken: Vec<Hostname> = Vec::new();
                    for route in &mut stream.routes {
                        let is_free = |one: &Hostname| !taken.iter().any(|by| intersect(by, one).as_ref() == Some(one));
                        let free: Vec<Hostname> = route.hostnames.iter().filter(|one| is_free(one)).cloned().collect();
                        taken.extend(free.iter().cloned());
                        route.hostnames = free;
                    }
                    // Without a hostname a route would have every one.
                    stream.routes.retain(|route| !route.hostnames.is_empty());
                }
            })
        }),
    },
    Fault {
        name: "prefers-younger-tlsroutes",
        summary: "Gives a connection to the youngest of the TLSRoutes that have one hostname.",
        clauses: &["OWN-29"],
        seam: Seam::Config(|| serve(|_, config| streams(config).for_each(|stream| stream.routes.reverse()))),
    },
    Fault {
        name: "orders-tlsroutes-by-intersection",
        summary: "Compares TLSRoutes by what their listener takes of their hostnames, not by what they say.",
        clauses: &["blind:TLSRouteMultipleRoutesAttachmentSameHostnameIntersection.1"],
        seam: Seam::Config(|| {
            serve(|_, config| {
                for stream in streams(config) {
                    let taken = |one: &Hostname| intersect(&stream.hostname, one);
                    for route in &mut stream.routes {
                        route.hostnames = route.hostnames.iter().filter_map(taken).collect();
                    }
                }
            })
        }),
    },
    Fault {
        name: "asks-backends-of-streams-for-the-hostname-of-the-route",
        summary: "Names the hostname of a TLSRoute in the handshake with its backend, and not the one of the policy.",
        clauses: &["upstream:BackendTLSPolicyTLSRouteTerminate"],
        seam: Seam::Config(|| {
            serve(|_, config| {
                for route in streams(config).flat_map(|stream| &mut stream.routes) {
                    let [Hostname::Exact(host)] = &route.hostnames[..] else { continue };
                    for backend in &mut route.backends {
                        let TcpTarget::Encrypted { tls, .. } = &mut backend.target else { continue };
                        let asked = std::mem::replace(&mut tls.server_name, host.clone());
                        if tls.names.is_empty() {
                            tls.names.push(PeerName::Dns(asked));
                        }
                    }
                }
            })
        }),
    },
    Fault {
        name: "hides-tlsroutes-of-broader-hostnames",
        summary: "Serves nothing of a TLSRoute with a wildcard that takes the hostname of another one at the same listener.",
        clauses: &["blind:TLSRouteMultipleRoutesAttachmentSameHostnameIntersection.2"],
        seam: Seam::Config(|| {
            serve(|_, config| {
                for stream in streams(config) {
                    let all: Vec<Hostname> = stream.routes.iter().flat_map(|route| route.hostnames.clone()).collect();
                    let takes =
                        |own: &Hostname| all.iter().any(|one| one != own && intersect(own, one).as_ref() == Some(one));
                    stream.routes.retain(|route| !route.hostnames.iter().any(takes));
                }
            })
        }),
    },
    Fault {
        name: "passes-nothing-on-for-a-lone-tlsroute",
        summary: "Passes TLS on at a listener with a wildcard once two routes are attached to it, and not for one.",
        clauses: &["upstream:TLSRouteSimpleSameNamespace"],
        seam: Seam::Config(|| {
            serve(|_, config| {
                for stream in alone(config).filter(|stream| stream.certificates.is_none() && has_one_route(stream)) {
                    stream.routes.clear();
                }
            })
        }),
    },
    Fault {
        name: "passes-tls-on-for-a-lone-tlsroute",
        summary: "Passes TLS on where a listener with a wildcard is to terminate it and has one route.",
        clauses: &["upstream:TLSRouteTerminateSimpleSameNamespace", "blind:TLSRouteListenerTerminateSupportedKinds.1"],
        seam: Seam::Config(|| {
            serve(|_, config| {
                for stream in alone(config).filter(|stream| has_one_route(stream)) {
                    stream.certificates = None;
                }
            })
        }),
    },
    Fault {
        name: "terminates-what-is-passed-on-beside",
        summary: "Terminates TLS on every listener of a port if one of them asks for it.",
        clauses: &["upstream:TLSRouteMixedTerminationSameNamespace"],
        seam: Seam::Config(|| {
            serve(|_, config| {
                for port in mixed(config) {
                    let certificates = port.streams.iter().find_map(|stream| stream.certificates.clone());
                    port.streams.iter_mut().for_each(|stream| stream.certificates.clone_from(&certificates));
                }
            })
        }),
    },
    Fault {
        name: "terminates-unknown-names-of-mixed-ports",
        summary: "Terminates and forwards what no listener takes on a port with both modes of TLS.",
        clauses: &["blind:TLSRouteMixedTerminationSameNamespace.1"],
        seam: Seam::Config(|| {
            serve(|_, config| {
                let ends = mixed(config).flat_map(|port| &mut port.streams);
                ends.filter(|stream| stream.certificates.is_some()).for_each(take_everything);
            })
        }),
    },
    Fault {
        name: "terminates-names-of-others",
        summary: "Terminates and forwards server names that a TLS listener has not.",
        clauses: &["blind:TLSRouteTerminateSimpleSameNamespace.1"],
        seam: Seam::Config(|| {
            serve(|_, config| {
                alone(config).filter(|stream| stream.certificates.is_some()).for_each(take_everything);
            })
        }),
    },
    Fault {
        name: "moves-shares-of-missing-tls-backends",
        summary: "Sends the share of a TLSRoute's backend that does not resolve to the others.",
        clauses: &["blind:TLSRouteInvalidBackendRefNonexistent.1"],
        seam: Seam::Config(|| {
            serve(|_, config| {
                for route in streams(config).flat_map(|stream| &mut stream.routes) {
                    route.backends.retain(|backend| !matches!(backend.target, TcpTarget::Refuse { .. }));
                }
            })
        }),
    },
    Fault {
        name: "serves-deleted-tlsroutes",
        summary: "Goes on serving a TLSRoute after it is deleted.",
        clauses: &["blind:TLSRouteMultipleRoutesAttachmentSameHostnameIntersection.3", "blind:Generic.14"],
        seam: Seam::Config(|| serve_past(|memory, snapshot| memory.keep_removed(snapshot, Kind::TlsRoute))),
    },
    Fault {
        name: "serves-tlsroutes-of-any-section",
        summary: "Serves a TLSRoute on every listener, whatever section and port it names.",
        clauses: &["blind:TLSRouteInvalidNoMatchingListener.1"],
        seam: Seam::Config(|| serve_from(without_sections)),
    },
    Fault {
        name: "counts-tlsroutes-of-any-section",
        summary: "Counts a TLSRoute on every listener, whatever section and port it names.",
        clauses: &["blind:TLSRouteInvalidNoMatchingListener.1"],
        seam: Seam::Statuses(|| say(|seen, statuses| copy_counts(seen.otherwise(without_sections).statuses, statuses))),
    },
    Fault {
        name: "accepts-tlsroutes-of-near-hostnames",
        summary: "Accepts a TLSRoute whose one hostname is none of its listener's.",
        clauses: &["blind:TLSRouteInvalidNoMatchingListenerHostname.1"],
        seam: Seam::Statuses(|| {
            say(|seen, statuses| {
                for update in statuses.iter_mut().filter(|update| update.kind == Kind::TlsRoute) {
                    let route = seen.snapshot.tls_route(&update.key.namespace, &update.key.name);
                    let DesiredStatus::Route { parents } = &mut update.status else { continue };
                    for parent in
                        parents.iter_mut().filter(|_| route.is_some_and(|(_, spec)| spec.hostnames.len() == 1))
                    {
                        if has_reason(&parent.conditions, "Accepted", "NoMatchingListenerHostname") {
                            set(&mut parent.conditions, "Accepted", Truth::True, "Accepted");
                        }
                    }
                }
            })
        }),
    },
    Fault {
        name: "lists-tcproutes-on-tls-listeners",
        summary: "Lists TCPRoute among the kinds that a TLS listener supports.",
        clauses: &[
            "blind:TLSRouteListenerPassthroughSupportedKinds.1",
            "upstream:TLSRouteMixedTerminationSameNamespace",
            "blind:HTTPRouteDisallowedKind.1",
            "upstream:TLSRouteListenerPassthroughSupportedKinds",
            "upstream:TLSRouteListenerTerminateSupportedKinds",
        ],
        seam: Seam::Statuses(|| {
            say(|_, statuses| {
                let is_tls = |kinds: &[RouteKind]| kinds.iter().any(|kind| kind.kind == "TLSRoute");
                for listener in listeners(statuses).filter(|listener| is_tls(&listener.supported_kinds)) {
                    let kind = RouteKind { group: GATEWAY_GROUP.into(), kind: "TCPRoute".into() };
                    listener.supported_kinds.push(kind);
                }
            })
        }),
    },
];
