//! What goes on being served though the spec, the port or the endpoint is gone.

use std::{collections::BTreeMap, sync::Arc};

use gateproof_proxy::config::{BackendTarget, Config, Timeouts};
use serde_json::Value;

use super::Bug;
use crate::{
    faults::{
        Fault, Seam,
        tools::{Memory, add_former, backends, each, is, keep_of_rules, parents, serve_past},
    },
    runtime::seams::{ConfigSeam, Seen},
    snapshot::{Kind, Object, Snapshot},
    status::Truth,
};

fn hostnames(route: &mut Value) -> Vec<&mut Vec<Value>> {
    route.pointer_mut("/spec/hostnames").and_then(Value::as_array_mut).into_iter().collect()
}

fn ports(service: &mut Value) -> Vec<&mut Vec<Value>> {
    service.pointer_mut("/spec/ports").and_then(Value::as_array_mut).into_iter().collect()
}

fn matches_of_rules(route: &mut Value) -> Vec<&mut Vec<Value>> {
    each(route, "/spec/rules").filter_map(|rule| rule.get_mut("matches")?.as_array_mut()).collect()
}

/// Serves a route that is refused now as it was when it was accepted.
#[derive(Default)]
struct ServesTheLastAccepted(BTreeMap<String, Arc<Object>>);

impl ConfigSeam for ServesTheLastAccepted {
    fn edit(&mut self, seen: Seen<'_>, config: &mut Config) {
        let mut statuses = seen.otherwise(|_| {}).statuses;
        let mut past = Vec::new();
        for update in statuses.iter_mut().filter(|update| update.kind == Kind::HttpRoute) {
            let Some(route) = seen.snapshot.get(update.kind, &update.key.namespace, &update.key.name) else { continue };
            let mut own = parents(std::slice::from_mut(update));
            if own.any(|parent| is(&parent.conditions, "Accepted", Truth::True)) {
                self.0.insert(route.meta.uid.clone(), Arc::clone(route));
            } else {
                past.extend(self.0.get(&route.meta.uid).cloned());
            }
        }
        if !past.is_empty() {
            let insert =
                |snapshot: &mut Snapshot| past.into_iter().for_each(|old| snapshot.insert(Kind::HttpRoute, old));
            *config = seen.otherwise(insert).config;
        }
    }
}

fn is_idle(target: &BackendTarget) -> bool {
    matches!(target, BackendTarget::Fail { reason, .. } if reason.ends_with("has no ready endpoints"))
}

/// Serves a Service without endpoints by those that it had.
#[derive(Default)]
struct KeepsTheLastEndpoint(BTreeMap<String, BackendTarget>);

impl ConfigSeam for KeepsTheLastEndpoint {
    fn edit(&mut self, _: Seen<'_>, config: &mut Config) {
        for backend in backends(config) {
            match &backend.target {
                BackendTarget::Endpoints(_) => {
                    self.0.insert(backend.id.clone(), backend.target.clone());
                }
                idle if is_idle(idle) => {
                    if let Some(before) = self.0.get(&backend.id) {
                        backend.target = before.clone();
                    }
                }
                _ => {}
            }
        }
    }
}

/// Never has endpoints of a Service again that was without a ready one. A Service without any EndpointSlice is but new.
#[derive(Default)]
struct NeverFills(BTreeMap<String, BackendTarget>);

/// Whether there is an EndpointSlice of the Service that a backend is named for, as `NAMESPACE/NAME:PORT`.
fn has_slices(snapshot: &Snapshot, backend: &str) -> bool {
    let service = backend.rsplit_once(':').map_or(backend, |(service, _)| service);
    snapshot.all(Kind::EndpointSlice).any(|slice| {
        let of = slice.meta.labels.get("kubernetes.io/service-name");
        of.is_some_and(|of| service == format!("{}/{of}", slice.meta.namespace))
    })
}

impl ConfigSeam for NeverFills {
    fn edit(&mut self, seen: Seen<'_>, config: &mut Config) {
        for backend in backends(config) {
            if is_idle(&backend.target) && has_slices(seen.snapshot, &backend.id) {
                self.0.insert(backend.id.clone(), backend.target.clone());
            } else if let (Some(empty), BackendTarget::Endpoints(_)) = (self.0.get(&backend.id), &backend.target) {
                backend.target = empty.clone();
            }
        }
    }
}

/// Shows the ports of every EndpointSlice with the numbers that they had when it was first seen.
fn keep_first_ports(memory: &mut Memory, snapshot: &mut Snapshot) {
    let mut first = snapshot.clone();
    memory.keep_first(&mut first, Kind::EndpointSlice);
    snapshot.edit(Kind::EndpointSlice, |slice| {
        let (namespace, name) = (&slice["metadata"]["namespace"], &slice["metadata"]["name"]);
        let (Some(namespace), Some(name)) = (namespace.as_str(), name.as_str()) else { return };
        let Some(before) = first.get(Kind::EndpointSlice, namespace, name).cloned() else { return };
        for port in each(slice, "/ports") {
            let mut known = before.raw["ports"].as_array().into_iter().flatten();
            if let Some(old) = known.find(|one| one["name"] == port["name"]) {
                port["port"] = old["port"].clone();
            }
        }
    });
}

pub(super) const BUGS: &[Bug] = &[
    Bug {
        fault: Fault {
            name: "serves-hosts-that-routes-had",
            summary: "Serves an HTTPRoute for the hostnames that it had before, too.",
            clauses: &["blind:HTTPRouteObservedGenerationBump.1"],
            seam: Seam::Config(|| {
                serve_past(|memory, snapshot| {
                    add_former(memory, snapshot, Kind::HttpRoute, hostnames, |one, other| one == other);
                })
            }),
        },
        reported: &["pl4nty/cloudflare-kubernetes-gateway#206"],
    },
    Bug {
        fault: Fault {
            name: "serves-paths-that-routes-had",
            summary: "Serves an HTTPRoute for what its rules matched before, too.",
            clauses: &["blind:HTTPRouteObservedGenerationBump.1"],
            seam: Seam::Config(|| {
                serve_past(|memory, snapshot| {
                    add_former(memory, snapshot, Kind::HttpRoute, matches_of_rules, |one, other| one == other);
                })
            }),
        },
        reported: &["vmware/load-balancer-and-ingress-services-for-kubernetes#1523"],
    },
    Bug {
        fault: Fault {
            name: "serves-the-last-accepted-spec",
            summary: "Serves an HTTPRoute that was changed and is refused since as it was before.",
            clauses: &["GEP1364-14"],
            seam: Seam::Config(|| Box::<ServesTheLastAccepted>::default()),
        },
        reported: &["linkerd/linkerd2#13280"],
    },
    Bug {
        fault: Fault {
            name: "keeps-the-last-endpoint",
            summary: "Sends requests for a Service that has no ready endpoint any more to the one that it had.",
            clauses: &["blind:HTTPRouteServiceTypes.1"],
            seam: Seam::Config(|| Box::<KeepsTheLastEndpoint>::default()),
        },
        reported: &["cilium/cilium#48460"],
    },
    Bug {
        fault: Fault {
            name: "never-fills-empty-backends",
            summary: "Sends no requests to the endpoints of a Service any more once none of them was ready.",
            clauses: &["blind:HTTPRouteServiceTypes.1"],
            seam: Seam::Config(|| Box::<NeverFills>::default()),
        },
        reported: &["apache/apisix-ingress-controller#2252"],
    },
    Bug {
        fault: Fault {
            name: "keeps-ports-of-services",
            summary: "Sends requests to a port that the Service no longer has, as long as there are endpoints for it.",
            clauses: &["blind:HTTPRouteInvalidNonExistentBackendRef.1"],
            seam: Seam::Config(|| {
                serve_past(|memory, snapshot| {
                    let is_same = |one: &Value, other: &Value| one["port"] == other["port"];
                    add_former(memory, snapshot, Kind::Service, ports, is_same);
                })
            }),
        },
        reported: &["GoogleCloudPlatform/gke-gateway-api#49"],
    },
    Bug {
        fault: Fault {
            name: "keeps-ports-of-endpoints",
            summary: "Sends requests to the ports that the endpoints of a Service had at first, as long as their slice is there.",
            clauses: &["blind:HTTPRouteServiceTypes.1"],
            seam: Seam::Config(|| serve_past(keep_first_ports)),
        },
        reported: &["haproxytech/kubernetes-ingress#328"],
    },
    Bug {
        fault: Fault {
            name: "keeps-timeouts-that-are-taken-off",
            summary: "Keeps to the timeouts of a rule of an HTTPRoute that has none any more.",
            clauses: &["blind:HTTPRouteObservedGenerationBump.1"],
            seam: Seam::Config(|| {
                keep_of_rules(|rule| &mut rule.timeouts, |timeouts| *timeouts == Timeouts::default())
            }),
        },
        reported: &["istio/old_issues_repo#241"],
    },
];
