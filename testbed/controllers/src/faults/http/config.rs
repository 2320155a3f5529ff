use std::collections::BTreeMap;

use gateproof_proxy::config::{BackendTarget, Filter, Protocol, Route, RouteId};
use serde_json::Value;

use super::super::{
    Fault, Seam,
    tools::{drop_field, each, filters, hosts, keep_of_rules, rules, serve, serve_from, virtual_hosts},
    v1_7::is_of_calls,
};
use crate::snapshot::{Kind, Snapshot};

/// Takes the hostname off the listeners that are alone on a port that a route names.
fn open_named_ports(snapshot: &mut Snapshot) {
    let named: Vec<(String, Value, Value)> = snapshot
        .all(Kind::HttpRoute)
        .flat_map(|route| {
            let parents = route.raw.pointer("/spec/parentRefs").and_then(Value::as_array).into_iter().flatten();
            let own = route.meta.namespace.clone();
            parents.filter(|parent| parent["port"].is_u64()).map(move |parent| {
                let namespace = parent["namespace"].as_str().unwrap_or(&own).to_owned();
                (namespace, parent["name"].clone(), parent["port"].clone())
            })
        })
        .collect();
    snapshot.edit(Kind::Gateway, |gateway| {
        let metadata = gateway["metadata"].clone();
        let ports: Vec<Value> = each(gateway, "/spec/listeners").map(|listener| listener["port"].clone()).collect();
        for listener in each(gateway, "/spec/listeners") {
            // Of several on a port none could be told apart without its hostname.
            if ports.iter().filter(|port| **port == listener["port"]).count() > 1 {
                continue;
            }
            let is_named = named.iter().any(|(namespace, name, port)| {
                metadata["namespace"] == namespace.as_str() && metadata["name"] == *name && listener["port"] == *port
            });
            if is_named {
                drop_field(listener, "hostname");
            }
        }
    });
}

/// The Services for which `wanted` holds, by namespace and name, with their first port.
fn services(snapshot: &Snapshot, wanted: fn(&Value) -> bool) -> Vec<(String, String, Value)> {
    let service = |object: &std::sync::Arc<crate::snapshot::Object>| {
        let port = object.raw.pointer("/spec/ports/0").cloned().unwrap_or_default();
        (object.meta.namespace.clone(), object.meta.name.clone(), port)
    };
    snapshot.all(Kind::Service).filter(|object| wanted(&object.raw)).map(service).collect()
}

/// Changes the EndpointSlices of these Services.
fn edit_slices(snapshot: &mut Snapshot, of: &[(String, String, Value)], change: fn(&mut Value, &Value)) {
    snapshot.edit(Kind::EndpointSlice, |slice| {
        let metadata = slice["metadata"].clone();
        let service = &metadata["labels"]["kubernetes.io/service-name"];
        let found = of
            .iter()
            .find(|(namespace, name, _)| metadata["namespace"] == namespace.as_str() && *service == name.as_str());
        if let Some((_, _, port)) = found {
            change(slice, port);
        }
    });
}

/// Whether the rule of an HTTPRoute or GRPCRoute that this one is made of has a name.
pub(in crate::faults) fn is_named(snapshot: &Snapshot, rule: &Route) -> bool {
    let kind = if is_of_calls(rule) { Kind::GrpcRoute } else { Kind::HttpRoute };
    let route = snapshot.get(kind, &rule.id.namespace, &rule.id.name);
    route.is_some_and(|route| route.raw["spec"]["rules"][rule.id.rule]["name"].is_string())
}

fn mirrors(list: &[Filter]) -> Vec<Filter> {
    list.iter().filter(|filter| matches!(filter, Filter::RequestMirror(_))).cloned().collect()
}

pub(in super::super) const FAULTS: &[Fault] = &[
    Fault {
        name: "keeps-filters-that-are-taken-off",
        summary: "Applies the filters that a rule of an HTTPRoute had when it has none any more.",
        clauses: &["blind:HTTPRouteObservedGenerationBump.1"],
        seam: Seam::Config(|| keep_of_rules(|rule| &mut rule.filters, Vec::is_empty)),
    },
    Fault {
        name: "opens-ports-that-routes-name",
        summary: "Lets a route that names a port answer there for every host, whatever the hostname of the listener.",
        clauses: &["blind:HTTPRouteListenerPortMatching.1"],
        seam: Seam::Config(|| serve_from(open_named_ports)),
    },
    Fault {
        name: "prefers-the-first-filtered-backend",
        summary: "Sends everything to the first of several backends that have filters.",
        clauses: &["blind:HTTPRouteRequestHeaderModifierBackendWeights.1"],
        seam: Seam::Config(|| {
            serve(|_, config| {
                for rule in rules(config) {
                    let mut filtered = rule.backends.iter_mut().filter(|to| !to.filters.is_empty() && to.weight > 0);
                    filtered.next();
                    filtered.for_each(|backend| backend.weight = 0);
                }
            })
        }),
    },
    Fault {
        name: "dials-target-ports",
        summary: "Dials the target port of a Service instead of the port of its endpoints.",
        clauses: &[
            "blind:HTTPRouteServiceTypes.1",
            "GRPC-06",
            "IMPL-39",
            "blind:HTTPRouteInvalidNonExistentBackendRef.3",
            "blind:HTTPRouteBackendProtocolH2C.1",
            "blind:HTTPRouteBackendProtocolH2C.4",
            "upstream:HTTPRouteBackendProtocolWebSocket",
        ],
        seam: Seam::Config(|| {
            serve_from(|snapshot| {
                let all = services(snapshot, |_| true);
                edit_slices(snapshot, &all, |slice, port| {
                    if port["targetPort"].is_u64() {
                        each(slice, "/ports").for_each(|one| one["port"] = port["targetPort"].clone());
                    }
                });
            })
        }),
    },
    Fault {
        name: "ignores-headless-services",
        summary: "Finds no endpoints of a Service without cluster IP.",
        clauses: &["upstream:HTTPRouteServiceTypes"],
        seam: Seam::Config(|| {
            serve_from(|snapshot| {
                let headless = services(snapshot, |service| service["spec"]["clusterIP"] == "None");
                edit_slices(snapshot, &headless, |slice, _| slice["endpoints"] = Value::Array(Vec::new()));
            })
        }),
    },
    Fault {
        name: "mirrors-whole-routes",
        summary: "Mirrors the requests of all rules of a route where one has a mirror.",
        clauses: &["blind:HTTPRouteRequestMirror.4"],
        seam: Seam::Config(|| {
            serve(|_, config| {
                let key = |id: &RouteId| (id.namespace.clone(), id.name.clone());
                let mut found: BTreeMap<_, Vec<Filter>> = BTreeMap::new();
                for rule in rules(config) {
                    let own = mirrors(&rule.filters);
                    if !own.is_empty() {
                        found.insert(key(&rule.id), own);
                    }
                }
                for rule in rules(config).filter(|rule| mirrors(&rule.filters).is_empty()) {
                    rule.filters.extend(found.get(&key(&rule.id)).cloned().unwrap_or_default());
                }
            })
        }),
    },
    Fault {
        name: "takes-the-longer-timeout",
        summary: "Takes no notice of the timeout of a backend where the request has one too.",
        clauses: &["blind:HTTPRouteTimeoutRequest.2"],
        seam: Seam::Config(|| {
            serve(|_, config| {
                for timeouts in rules(config).map(|rule| &mut rule.timeouts).filter(|both| both.request.is_some()) {
                    timeouts.backend_request = None;
                }
            })
        }),
    },
    Fault {
        name: "adds-response-headers-that-are-set",
        summary: "Adds a response header where the filter sets it.",
        clauses: &["blind:HTTPRouteResponseHeaderModifier.3", "upstream:HTTPRouteResponseHeaderModifier"],
        seam: Seam::Config(|| {
            serve(|_, config| {
                for filter in filters(config).flatten() {
                    if let Filter::ResponseHeaderModifier(modifier) = filter {
                        let set = std::mem::take(&mut modifier.set);
                        modifier.add.extend(set);
                    }
                }
            })
        }),
    },
    Fault {
        name: "forgets-listener-ports-in-redirects",
        summary: "Leaves the port of the listener out of Location.",
        clauses: &["blind:HTTPRouteRedirectPortAndScheme.2"],
        seam: Seam::Config(|| {
            serve(|_, config| {
                let http = config.listeners.iter_mut().filter(|lane| matches!(lane.protocol, Protocol::Http(_)));
                for rule in http.flat_map(virtual_hosts).flat_map(|host| &mut host.routes) {
                    for filter in &mut rule.filters {
                        if let Filter::RequestRedirect(redirect) = filter
                            && redirect.scheme.is_none()
                        {
                            redirect.port.get_or_insert(80);
                        }
                    }
                }
            })
        }),
    },
    Fault {
        name: "keeps-listener-ports-under-another-scheme",
        summary: "Puts the port of the listener, if it is none that everyone knows, into a Location of another scheme.",
        clauses: &["upstream:HTTPRouteRedirectPortAndScheme"],
        seam: Seam::Config(|| {
            serve(|_, config| {
                for lane in config.listeners.iter_mut().filter(|lane| !matches!(lane.port, 80 | 443)) {
                    let port = lane.port;
                    for rule in virtual_hosts(lane).into_iter().flat_map(|host| &mut host.routes) {
                        for filter in &mut rule.filters {
                            if let Filter::RequestRedirect(redirect) = filter
                                && redirect.scheme.is_some()
                            {
                                redirect.port.get_or_insert(port);
                            }
                        }
                    }
                }
            })
        }),
    },
    Fault {
        name: "keeps-hosts-towards-h2c-backends",
        summary: "Leaves the host as it is where a filter rewrites it and the backend is spoken to in HTTP/2.",
        clauses: &["blind:HTTPRouteRewriteHost.3"],
        seam: Seam::Config(|| {
            serve(|_, config| {
                for rule in rules(config) {
                    if !rule.backends.iter().any(|to| matches!(to.target, BackendTarget::H2cEndpoints(_))) {
                        continue;
                    }
                    for filter in &mut rule.filters {
                        if let Filter::UrlRewrite(rewrite) = filter {
                            rewrite.hostname = None;
                        }
                    }
                }
            })
        }),
    },
    Fault {
        name: "leaves-named-rules-out",
        summary: "Serves no rule of an HTTPRoute or GRPCRoute that has a name.",
        clauses: &["upstream:HTTPRouteNamedRule", "blind:HTTPRouteNamedRule.1", "upstream:GRPCRouteNamedRule"],
        seam: Seam::Config(|| {
            serve(|seen, config| {
                for host in hosts(config) {
                    host.routes.retain(|rule| !is_named(seen.snapshot, rule));
                }
            })
        }),
    },
];
