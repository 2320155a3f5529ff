//! Where requests and connections go.

use gateproof_proxy::config::{BackendTarget, Config, Listener, PathMatch, Protocol, Route, StreamListener};
use serde_json::Value;

use crate::{
    faults::{
        Fault, Seam,
        snapshot::grant_everything,
        tools::{backend_refs, backends, drop_field, each, hosts, rules, serve, serve_from, serve_past},
    },
    runtime::seams::Seen,
    snapshot::Kind,
};

fn is_failing(target: &BackendTarget, code: u16) -> bool {
    matches!(target, BackendTarget::Fail { status, .. } if *status == code)
}

/// Serves the listeners of a kind as if everything were granted. Some may be there only then, such as those whose Secret is not.
fn take_granted(seen: Seen<'_>, config: &mut Config, is_meant: fn(&Protocol) -> bool) {
    let place = |listener: &Listener| (listener.address, listener.port, listener.protocol.transport());
    let mut otherwise = seen.otherwise(grant_everything).config.listeners;
    for listener in config.listeners.iter_mut().filter(|listener| is_meant(&listener.protocol)) {
        if let Some(at) = otherwise.iter().position(|granted| place(granted) == place(listener)) {
            *listener = otherwise.swap_remove(at);
        }
    }
}

/// Serves what listeners take out of TLS as if everything were granted, and nothing else.
fn take_granted_within(seen: Seen<'_>, config: &mut Config) {
    let otherwise = seen.otherwise(grant_everything).config.listeners;
    for lane in &mut config.listeners {
        let Protocol::Tls(port) = &mut lane.protocol else { continue };
        let granted = otherwise.iter().filter(|one| (one.address, one.port) == (lane.address, lane.port));
        let granted = granted.filter_map(|one| match &one.protocol {
            Protocol::Tls(port) => Some(port),
            _ => None,
        });
        let granted: Vec<_> = granted.flat_map(|port| &port.streams).collect();
        for stream in port.streams.iter_mut().filter(|stream| stream.certificates.is_some()) {
            let same = |one: &&&StreamListener| (&one.listener, &one.hostname) == (&stream.listener, &stream.hostname);
            if let Some(found) = granted.iter().find(same) {
                stream.routes.clone_from(&found.routes);
            }
        }
    }
}

pub(in crate::faults) const FAULTS: &[Fault] = &[
    Fault {
        name: "sends-to-unready-endpoints",
        summary: "Sends traffic to endpoints that are not ready, too.",
        clauses: &["blind:HTTPRouteServiceTypes.1"],
        seam: Seam::Config(|| {
            serve_from(|snapshot| {
                snapshot.edit(Kind::EndpointSlice, |slice| {
                    each(slice, "/endpoints").for_each(|endpoint| drop_field(endpoint, "conditions"));
                });
            })
        }),
    },
    Fault {
        name: "keeps-first-endpoints",
        summary: "Takes no notice of what becomes of an EndpointSlice.",
        clauses: &["blind:HTTPRouteServiceTypes.1"],
        seam: Seam::Config(|| serve_past(|memory, snapshot| memory.keep_first(snapshot, Kind::EndpointSlice))),
    },
    Fault {
        name: "answers-404-for-missing-backends",
        summary: "Leaves a rule out of the data plane when its only backend does not resolve.",
        clauses: &[
            "GEP1364-41",
            "GEP1364-48",
            "GEP1364-50",
            "GEP1364-38",
            "IMPL-41",
            "blind:HTTPRouteBackendProtocolH2C.4",
            "blind:HTTPRouteBackendProtocolWebSocket.4",
            "blind:HTTPRouteInvalidNonExistentBackendRef.1",
        ],
        seam: Seam::Config(|| {
            serve(|_, config| {
                for host in hosts(config) {
                    host.routes.retain(|rule| {
                        rule.backends.is_empty() || !rule.backends.iter().all(|to| is_failing(&to.target, 500))
                    });
                }
            })
        }),
    },
    Fault {
        name: "answers-503-for-missing-backends",
        summary: "Answers 503 instead of 500 where a backend does not resolve.",
        clauses: &[
            "GEP1364-41",
            "GEP1364-48",
            "GEP1364-50",
            "GEP1364-49",
            "GEP1364-38",
            "IMPL-41",
            "blind:HTTPRouteBackendProtocolH2C.4",
            "blind:HTTPRouteInvalidBackendRefUnknownKind.1",
        ],
        seam: Seam::Config(|| {
            serve(|_, config| {
                for backend in backends(config) {
                    if let BackendTarget::Fail { status, .. } = &mut backend.target {
                        *status = 503;
                    }
                }
            })
        }),
    },
    Fault {
        name: "answers-502-without-endpoints",
        summary: "Answers 502 where a Service has no ready endpoints.",
        clauses: &["GEP1364-45", "blind:HTTPRouteInvalidNonExistentBackendRef.4"],
        seam: Seam::Config(|| {
            serve(|_, config| {
                for backend in backends(config) {
                    if let BackendTarget::Fail { status, .. } = &mut backend.target
                        && *status == 503
                    {
                        *status = 502;
                    }
                }
            })
        }),
    },
    Fault {
        name: "gives-bad-shares-to-good-backends",
        summary: "Takes backends that do not resolve out of a weighted set instead of failing their share.",
        clauses: &[
            "GEP1364-49",
            "blind:HTTPRouteInvalidNonExistentBackendRef.2",
            "blind:HTTPRouteWeight.1",
            "blind:HTTPRouteInvalidBackendRefUnknownKind.1",
        ],
        seam: Seam::Config(|| {
            serve(|_, config| {
                for rule in rules(config) {
                    if !rule.backends.iter().all(|to| is_failing(&to.target, 500)) {
                        rule.backends.retain(|to| !is_failing(&to.target, 500));
                    }
                }
            })
        }),
    },
    Fault {
        name: "fails-whole-rules",
        summary: "Answers 500 for all requests of a rule when one of its backends does not resolve.",
        clauses: &[
            "GEP1364-49",
            "blind:HTTPRouteInvalidNonExistentBackendRef.2",
            "blind:HTTPRouteInvalidBackendRefUnknownKind.1",
        ],
        seam: Seam::Config(|| {
            serve(|_, config| {
                for rule in rules(config) {
                    rule.backends.sort_by_key(|to| !is_failing(&to.target, 500));
                    if rule.backends.first().is_some_and(|to| is_failing(&to.target, 500)) {
                        rule.backends.truncate(1);
                    }
                }
            })
        }),
    },
    Fault {
        name: "ignores-weights",
        summary: "Spreads requests evenly whatever the weights are.",
        clauses: &["upstream:HTTPRouteWeight", "upstream:GRPCRouteWeight", "GRPC-05"],
        seam: Seam::Config(|| {
            serve(|_, config| {
                backends(config).filter(|backend| backend.weight > 0).for_each(|backend| backend.weight = 1);
            })
        }),
    },
    Fault {
        name: "serves-zero-weights",
        summary: "Sends requests to backends of weight 0 when there are no others.",
        clauses: &["blind:HTTPRouteNoBackendRefs.2"],
        seam: Seam::Config(|| {
            serve(|_, config| {
                for rule in rules(config).filter(|rule| rule.backends.iter().all(|backend| backend.weight == 0)) {
                    rule.backends.iter_mut().for_each(|backend| backend.weight = 1);
                }
            })
        }),
    },
    Fault {
        name: "forwards-across-namespaces",
        summary: "Sends HTTP traffic into other namespaces without a grant, while status says RefNotPermitted.",
        clauses: &["GEP1364-42", "GEP1364-50", "IMPL-41", "blind:HTTPRouteRequestMirror.6"],
        seam: Seam::Config(|| {
            serve(|seen, config| {
                take_granted(seen, config, |protocol| matches!(protocol, Protocol::Http(_)));
            })
        }),
    },
    Fault {
        name: "forwards-tcp-across-namespaces",
        summary: "Sends TCP connections into other namespaces without a grant, while status says RefNotPermitted.",
        clauses: &["blind:TCPRouteInvalidCrossNamespaceBackendRef.1"],
        seam: Seam::Config(|| {
            serve(|seen, config| {
                take_granted(seen, config, |protocol| matches!(protocol, Protocol::Tcp(_)));
            })
        }),
    },
    Fault {
        name: "forwards-tls-across-namespaces",
        summary: "Sends TLS streams into other namespaces without a grant, while status says RefNotPermitted.",
        clauses: &["blind:TLSRouteInvalidReferenceGrant.1"],
        seam: Seam::Config(|| {
            serve(|seen, config| {
                take_granted(seen, config, |protocol| matches!(protocol, Protocol::Tls(_)));
            })
        }),
    },
    Fault {
        name: "forwards-ended-tls-across-namespaces",
        summary: "Sends what a listener takes out of TLS into other namespaces without a grant.",
        clauses: &["blind:TLSRouteInvalidReferenceGrant.1"],
        seam: Seam::Config(|| serve(take_granted_within)),
    },
    Fault {
        name: "serves-after-grants-are-revoked",
        summary: "Sends traffic on after the ReferenceGrant is gone, while status says RefNotPermitted.",
        clauses: &[
            "upstream:HTTPRouteReferenceGrant",
            "IMPL-42",
            "GEP1364-50",
            "blind:UDPRouteReferenceGrant.1",
            "blind:TCPRouteReferenceGrant.1",
        ],
        seam: Seam::Config(|| serve_past(|memory, snapshot| memory.keep_removed(snapshot, Kind::ReferenceGrant))),
    },
    Fault {
        name: "forwards-tcp-of-missing-backends",
        summary: "Sends the share of a TCP backend that does not resolve to another one.",
        clauses: &["GEP1364-51", "blind:TCPRouteInvalidBackendRefNonexistent.1"],
        seam: Seam::Config(|| {
            serve_from(|snapshot| {
                let mut ports: Vec<(String, Value, Value)> = Vec::new();
                for service in snapshot.all(Kind::Service) {
                    let port = service.raw["spec"]["ports"][0]["port"].clone();
                    ports.push((service.meta.namespace.clone(), service.raw["metadata"]["name"].clone(), port));
                }
                snapshot.edit(Kind::TcpRoute, |route| {
                    let own = route["metadata"]["namespace"].as_str().unwrap_or_default().to_owned();
                    for reference in backend_refs(route) {
                        let namespace = reference["namespace"].as_str().unwrap_or(&own);
                        let exists = ports.iter().any(|(of, name, _)| of == namespace && *name == reference["name"]);
                        if let Some((_, name, port)) = ports.iter().find(|(of, ..)| *of == own).filter(|_| !exists) {
                            reference["name"] = name.clone();
                            reference["port"] = port.clone();
                        }
                    }
                });
            })
        }),
    },
    Fault {
        name: "serves-the-third-of-weight-0",
        summary: "Gives a share to a backend of weight 0 beside two others with weights.",
        clauses: &["upstream:HTTPRouteWeight"],
        seam: Seam::Config(|| {
            serve(|_, config| {
                let is_call = |rule: &Route| rule.matches.iter().any(|one| matches!(one.path, PathMatch::Rpc { .. }));
                for rule in rules(config).filter(|rule| rule.backends.len() > 2 && !is_call(rule)) {
                    let most = rule.backends.iter().map(|to| to.weight).max().unwrap_or(0);
                    rule.backends.iter_mut().filter(|to| to.weight == 0).for_each(|to| to.weight = most.div_ceil(10));
                }
            })
        }),
    },
    Fault {
        name: "answers-404-for-empty-lists",
        summary: "Leaves a rule out of the data plane whose list of backends is there and empty.",
        clauses: &["GEP1364-44", "upstream:HTTPRouteNoBackendRefs"],
        seam: Seam::Config(|| {
            serve(|seen, config| {
                for host in hosts(config) {
                    host.routes.retain(|rule| {
                        let route = seen.snapshot.get(Kind::HttpRoute, &rule.id.namespace, &rule.id.name);
                        let list = route.map(|route| &route.raw["spec"]["rules"][rule.id.rule]["backendRefs"]);
                        !list.and_then(Value::as_array).is_some_and(Vec::is_empty)
                    });
                }
            })
        }),
    },
    Fault {
        name: "evens-tcp-weights-out",
        summary: "Splits connections 62 to 38 where the weights say 7 to 3, and so with others.",
        clauses: &["upstream:TCPRouteWeightedRouting", "blind:TCPRouteWeightedRouting.1"],
        seam: Seam::Config(|| {
            serve(|_, config| {
                for listener in &mut config.listeners {
                    let Protocol::Tcp(tcp) = &mut listener.protocol else { continue };
                    let total: u32 = tcp.backends.iter().map(|to| to.weight).sum();
                    let shared = tcp.backends.iter().filter(|to| to.weight > 0).count();
                    for to in tcp.backends.iter_mut().filter(|to| to.weight > 0 && shared == 2) {
                        to.weight = to.weight * 60 + total * 20;
                    }
                }
            })
        }),
    },
    Fault {
        name: "ignores-tcp-weights",
        summary: "Spreads connections evenly whatever the weights are.",
        clauses: &["upstream:TCPRouteWeightedRouting", "blind:TCPRouteWeightedRouting.1"],
        seam: Seam::Config(|| {
            serve(|_, config| {
                for listener in &mut config.listeners {
                    if let Protocol::Tcp(tcp) = &mut listener.protocol {
                        tcp.backends.iter_mut().for_each(|backend| backend.weight = 1);
                    }
                }
            })
        }),
    },
];
