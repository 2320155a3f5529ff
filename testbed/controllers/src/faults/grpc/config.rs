//! Faults in which calls are forwarded, and where.

use gateproof_proxy::config::{BackendTarget, Hostname, PathMatch, Route, ValueMatch};

use crate::{
    faults::{
        Fault, Seam,
        tools::{each, hosts, rules, serve, serve_from, serve_past},
    },
    snapshot::Kind,
};

/// Whether a rule is one of a GRPCRoute.
pub(in super::super) fn is_of_calls(rule: &Route) -> bool {
    rule.matches.iter().any(|one| matches!(one.path, PathMatch::Rpc { .. }))
}

fn is_unavailable(target: &BackendTarget) -> bool {
    matches!(target, BackendTarget::Fail { status: 503, .. })
}

/// Every pair of service and method that calls are matched by.
fn names(
    config: &mut gateproof_proxy::Config,
) -> impl Iterator<Item = (&mut Option<ValueMatch>, &mut Option<ValueMatch>)> {
    rules(config).flat_map(|rule| &mut rule.matches).filter_map(|one| match &mut one.path {
        PathMatch::Rpc { service, method } => Some((service, method)),
        _ => None,
    })
}

fn without_case(name: &mut Option<ValueMatch>) {
    if let Some(ValueMatch::Exact(exact)) = name {
        *name = Some(ValueMatch::Regex(format!("(?i:{})", regex::escape(exact))));
    }
}

/// Takes the rules that are not wanted off the hostnames that rules of both kinds have.
fn leave_to_one_kind(config: &mut gateproof_proxy::Config, is_wanted: fn(&Route) -> bool) {
    for host in hosts(config) {
        let wanted = host.routes.iter().filter(|rule| is_wanted(rule));
        let taken: Vec<Hostname> = wanted.flat_map(|rule| rule.hostnames.clone()).collect();
        host.routes.retain(|rule| is_wanted(rule) || !rule.hostnames.iter().any(|one| taken.contains(one)));
    }
}

pub(in super::super) const FAULTS: &[Fault] = &[
    Fault {
        name: "needs-methods-of-calls",
        summary: "Never takes a call by its service alone.",
        clauses: &["blind:GRPCExactMethodMatching.2", "GRPC-02"],
        seam: Seam::Config(|| {
            serve(|_, config| {
                for (service, method) in names(config) {
                    if service.is_some() {
                        method.get_or_insert_with(|| ValueMatch::Exact(String::new()));
                    }
                }
            })
        }),
    },
    Fault {
        name: "compares-services-without-case",
        summary: "Takes a service in another case for equal.",
        clauses: &["blind:GRPCExactMethodMatching.2"],
        seam: Seam::Config(|| serve(|_, config| names(config).for_each(|(service, _)| without_case(service)))),
    },
    Fault {
        name: "compares-calls-without-case",
        summary: "Takes a service or method of a call in another case for equal.",
        clauses: &["blind:GRPCExactMethodMatching.2"],
        seam: Seam::Config(|| serve(|_, config| names(config).for_each(|(_, method)| without_case(method)))),
    },
    Fault {
        name: "ignores-hostnames-of-grpcroutes",
        summary: "Takes calls for every hostname of a listener that has one, whatever those of the route are.",
        clauses: &["blind:GRPCRouteListenerHostnameMatching.1"],
        seam: Seam::Config(|| {
            serve(|_, config| {
                for host in hosts(config).filter(|host| host.hostname != Hostname::Any) {
                    host.routes.iter_mut().filter(|rule| is_of_calls(rule)).for_each(|rule| rule.hostnames.clear());
                }
            })
        }),
    },
    Fault {
        name: "answers-unknown-for-missing-backends",
        summary: "Ends calls for a backend that does not resolve with UNKNOWN instead of UNAVAILABLE.",
        clauses: &["blind:Generic.15"],
        seam: Seam::Config(|| {
            serve(|_, config| {
                for backend in rules(config).filter(|rule| is_of_calls(rule)).flat_map(|rule| &mut rule.backends) {
                    if let BackendTarget::Fail { status, .. } = &mut backend.target {
                        *status = 500;
                    }
                }
            })
        }),
    },
    Fault {
        name: "gives-unavailable-shares-to-good-backends",
        summary: "Takes backends of calls that do not resolve out of a weighted set instead of failing their share.",
        clauses: &["GRPC-05", "blind:Generic.15"],
        seam: Seam::Config(|| {
            serve(|_, config| {
                for rule in rules(config).filter(|rule| is_of_calls(rule)) {
                    if !rule.backends.iter().all(|to| is_unavailable(&to.target)) {
                        rule.backends.retain(|to| !is_unavailable(&to.target));
                    }
                }
            })
        }),
    },
    Fault {
        name: "ignores-filters-of-calls",
        summary: "Forwards calls as they are, whatever filters their rule has.",
        clauses: &[
            "blind:GRPCRouteRequestHeaderModifier.1",
            "upstream:GRPCRouteRequestHeaderModifier",
            "GRPC-08",
            "blind:Generic.15",
        ],
        seam: Seam::Config(|| {
            serve(|_, config| rules(config).filter(|rule| is_of_calls(rule)).for_each(|rule| rule.filters.clear()))
        }),
    },
    Fault {
        name: "skips-unknown-filters-of-calls",
        summary: "Leaves a filter of a GRPCRoute out that nobody knows, and forwards its calls.",
        clauses: &["GRPC-08"],
        seam: Seam::Config(|| {
            serve_from(|snapshot| {
                snapshot.edit(Kind::GrpcRoute, |route| {
                    for rule in each(route, "/spec/rules") {
                        if let Some(filters) = rule.get_mut("filters").and_then(serde_json::Value::as_array_mut) {
                            filters.retain(|filter| filter["type"] != "ExtensionRef");
                        }
                    }
                });
            })
        }),
    },
    Fault {
        name: "serves-deleted-grpcroutes",
        summary: "Goes on serving a GRPCRoute after it is deleted.",
        clauses: &["blind:Generic.14", "blind:GRPCRouteMultipleRoutesAttachmentSameHostnameIntersection.2"],
        seam: Seam::Config(|| serve_past(|memory, snapshot| memory.keep_removed(snapshot, Kind::GrpcRoute))),
    },
    Fault {
        name: "serves-old-specs-of-grpcroutes",
        summary: "Serves the first spec of a GRPCRoute while status follows the newest.",
        clauses: &["blind:HTTPRouteObservedGenerationBump.1", "blind:GRPCRouteMultipleGateways.3"],
        seam: Seam::Config(|| serve_past(|memory, snapshot| memory.keep_first(snapshot, Kind::GrpcRoute))),
    },
    Fault {
        name: "speaks-http1-to-h2c-backends",
        summary: "Speaks HTTP/1.1 to a backend of an HTTPRoute that asks for HTTP/2 with prior knowledge.",
        clauses: &["blind:HTTPRouteBackendProtocolH2C.3", "upstream:HTTPRouteBackendProtocolH2C"],
        seam: Seam::Config(|| {
            serve(|_, config| {
                for backend in rules(config).filter(|rule| !is_of_calls(rule)).flat_map(|rule| &mut rule.backends) {
                    if let BackendTarget::H2cEndpoints(endpoints) = &backend.target {
                        backend.target = BackendTarget::Endpoints(endpoints.clone());
                    }
                }
            })
        }),
    },
    Fault {
        name: "leaves-hostnames-to-grpcroutes",
        summary: "Serves nothing of an HTTPRoute on a hostname that a GRPCRoute has too, even if it was there first.",
        clauses: &["GRPC-09"],
        seam: Seam::Config(|| serve(|_, config| leave_to_one_kind(config, is_of_calls))),
    },
    Fault {
        name: "leaves-hostnames-to-httproutes",
        summary: "Serves nothing of a GRPCRoute on a hostname that an HTTPRoute has too, even if it was there first.",
        clauses: &["GRPC-09"],
        seam: Seam::Config(|| serve(|_, config| leave_to_one_kind(config, |rule| !is_of_calls(rule)))),
    },
];
