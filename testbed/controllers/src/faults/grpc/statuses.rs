//! Faults in what is said of GRPCRoutes, and of HTTPRoutes beside them or with HTTP/2 behind them.

use std::collections::BTreeSet;

use crate::{
    faults::{
        Fault, Seam,
        tools::{copy_counts, find, listeners, parents, say, set},
    },
    model::{GATEWAY_GROUP, RouteKind},
    runtime::seams::{Seen, StatusesSeam},
    snapshot::{Kind, Object, Snapshot},
    status::{DesiredStatus, StatusUpdate, Truth},
};

/// The statuses of GRPCRoutes.
fn of_grpcroutes(statuses: &mut [StatusUpdate]) -> impl Iterator<Item = &mut StatusUpdate> {
    statuses.iter_mut().filter(|update| update.kind == Kind::GrpcRoute)
}

/// Whether a route has a backend whose port asks for HTTP/2 with prior knowledge.
fn asks_for_h2c(seen: Seen<'_>, update: &StatusUpdate) -> bool {
    let Some((object, spec)) = seen.snapshot.http_route(&update.key.namespace, &update.key.name) else { return false };
    let asks = |name: &str, port: Option<u16>| {
        let service = seen.snapshot.service(&object.meta.namespace, name).map(|(_, service)| service);
        service
            .into_iter()
            .flat_map(|service| &service.ports)
            .any(|one| Some(one.port) == port && one.app_protocol.as_deref() == Some("kubernetes.io/h2c"))
    };
    spec.rules.iter().flat_map(|rule| &rule.backend_refs).any(|to| asks(&to.name, to.port))
}

/// The hostnames of a route.
fn hostnames(route: &Object) -> impl Iterator<Item = &str> {
    let of = route.raw.pointer("/spec/hostnames").and_then(serde_json::Value::as_array);
    of.into_iter().flatten().filter_map(serde_json::Value::as_str)
}

/// The routes of a kind that want a hostname of this one.
fn rivals<'a>(snapshot: &'a Snapshot, kind: Kind, route: &'a Object) -> impl Iterator<Item = &'a Object> {
    let wants = |other: &Object| hostnames(other).any(|host| hostnames(route).any(|own| own == host));
    snapshot.all(kind).map(|other| &**other).filter(move |other| wants(other))
}

fn refuse(update: &mut StatusUpdate) {
    for parent in parents(std::slice::from_mut(update)) {
        set(&mut parent.conditions, "Accepted", Truth::False, "NotAllowedByListeners");
    }
}

/// Refuses HTTPRoutes that share a hostname with a GRPCRoute.
fn refuse_beside_grpcroutes(seen: Seen<'_>, statuses: &mut [StatusUpdate]) {
    for update in statuses.iter_mut().filter(|update| update.kind == Kind::HttpRoute) {
        let route = seen.snapshot.get(Kind::HttpRoute, &update.key.namespace, &update.key.name);
        if route.is_some_and(|route| rivals(seen.snapshot, Kind::GrpcRoute, route).next().is_some()) {
            refuse(update);
        }
    }
}

/// Refuses a GRPCRoute for good whose hostname an older HTTPRoute had.
#[derive(Default)]
struct HoldsGrudges(BTreeSet<String>);

impl StatusesSeam for HoldsGrudges {
    fn edit(&mut self, seen: Seen<'_>, statuses: &mut Vec<StatusUpdate>) {
        for update in of_grpcroutes(statuses) {
            let Some(route) = seen.snapshot.get(Kind::GrpcRoute, &update.key.namespace, &update.key.name) else {
                continue;
            };
            let is_older = |other: &Object| other.meta.precedence() < route.meta.precedence();
            if rivals(seen.snapshot, Kind::HttpRoute, route).any(is_older) {
                self.0.insert(route.meta.uid.clone());
            }
            if self.0.contains(&route.meta.uid) {
                refuse(update);
            }
        }
    }
}

pub(in super::super) const FAULTS: &[Fault] = &[
    Fault {
        name: "lists-no-grpcroutes",
        summary: "Leaves GRPCRoute out of supportedKinds.",
        clauses: &["blind:GRPCRouteListenerHostnameMatching.3"],
        seam: Seam::Statuses(|| {
            say(|_, statuses| {
                let calls = RouteKind { group: GATEWAY_GROUP.into(), kind: Kind::GrpcRoute.name().into() };
                listeners(statuses).for_each(|listener| listener.supported_kinds.retain(|kind| *kind != calls));
            })
        }),
    },
    Fault {
        name: "counts-no-grpcroutes",
        summary: "Leaves GRPCRoutes out of attachedRoutes.",
        clauses: &["blind:GRPCRouteListenerHostnameMatching.3"],
        seam: Seam::Statuses(|| {
            say(|seen, statuses| {
                let without = seen.otherwise(|snapshot| snapshot.retain(Kind::GrpcRoute, |_| false));
                copy_counts(without.statuses, statuses);
            })
        }),
    },
    Fault {
        name: "resolves-grpcroutes-always",
        summary: "Says ResolvedRefs=True on a GRPCRoute whatever its backends are.",
        clauses: &["GRPC-06", "blind:Generic.15"],
        seam: Seam::Statuses(|| {
            say(|_, statuses| {
                for update in of_grpcroutes(statuses) {
                    for parent in parents(std::slice::from_mut(update)) {
                        set(&mut parent.conditions, "ResolvedRefs", Truth::True, "ResolvedRefs");
                    }
                }
            })
        }),
    },
    Fault {
        name: "leaves-resolved-refs-off-grpcroutes",
        summary: "Publishes no ResolvedRefs on a GRPCRoute whose backends do not resolve.",
        clauses: &["GRPC-06", "blind:Generic.15", "GEP1364-15"],
        seam: Seam::Statuses(|| {
            say(|_, statuses| {
                for update in of_grpcroutes(statuses) {
                    for parent in parents(std::slice::from_mut(update)) {
                        let is_bad = |of: &&mut crate::status::Condition| of.status == Truth::False;
                        if find(&mut parent.conditions, "ResolvedRefs").filter(is_bad).is_some() {
                            parent.conditions.retain(|condition| condition.r#type != "ResolvedRefs");
                        }
                    }
                }
            })
        }),
    },
    Fault {
        name: "accepts-grpcroutes-without-listener",
        summary: "Says Accepted=True on a GRPCRoute that no listener fits or lets in.",
        clauses: &["GRPC-07"],
        seam: Seam::Statuses(|| {
            say(|_, statuses| {
                for update in of_grpcroutes(statuses) {
                    let DesiredStatus::Route { parents } = &mut update.status else { continue };
                    for parent in parents {
                        let refused = find(&mut parent.conditions, "Accepted")
                            .filter(|of| ["NoMatchingParent", "NotAllowedByListeners"].contains(&of.reason.as_str()));
                        if refused.is_some() {
                            set(&mut parent.conditions, "Accepted", Truth::True, "Accepted");
                        }
                    }
                }
            })
        }),
    },
    Fault {
        name: "does-not-resolve-h2c-ports",
        summary: "Says ResolvedRefs=False on an HTTPRoute with a backend that speaks HTTP/2 with prior knowledge, and serves it.",
        clauses: &["blind:HTTPRouteBackendProtocolH2C.4"],
        seam: Seam::Statuses(|| {
            say(|seen, statuses| {
                for update in statuses.iter_mut().filter(|update| update.kind == Kind::HttpRoute) {
                    if asks_for_h2c(seen, update) {
                        for parent in parents(std::slice::from_mut(update)) {
                            set(&mut parent.conditions, "ResolvedRefs", Truth::False, "UnsupportedProtocol");
                        }
                    }
                }
            })
        }),
    },
    Fault {
        name: "refuses-httproutes-beside-grpcroutes",
        summary: "Refuses an HTTPRoute that has a hostname in common with a GRPCRoute, even if it was there first.",
        clauses: &["GRPC-09"],
        seam: Seam::Statuses(|| say(|seen, statuses| refuse_beside_grpcroutes(seen, statuses))),
    },
    Fault {
        name: "never-gives-hostnames-to-grpcroutes",
        summary: "Goes on refusing a GRPCRoute for a hostname of an older HTTPRoute when that is gone.",
        clauses: &["GRPC-09"],
        seam: Seam::Statuses(|| Box::new(HoldsGrudges::default())),
    },
];
