use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use bytes::Bytes;
use futures::{StreamExt, stream};
use gateproof_proxy::{
    compiled::CompiledRoute,
    config::{BackendTarget, Hostname, PathMatch, Route, RouteId, ValueMatch},
    exchange::{BackendChoice, Exchange, MatchOutcome, RequestHead},
    grpc::{STATUS, is_grpc},
    matching::{hostname::covers, path::PathPredicate},
    routing::Routing,
};
use http::{HeaderMap, Request, Response, Version};
use http_body_util::{BodyExt, BodyStream, StreamBody};
use hyper::body::Frame;

use super::{
    Fault, Seam,
    exchange::{Body, Finds, Forwards},
    tools::{each, find, hosts, listeners, parents, rules, say, serve, serve_from, serve_past, set},
};
use crate::{
    model::{GATEWAY_GROUP, RouteKind},
    runtime::seams::{Seen, StatusesSeam},
    snapshot::{Kind, Object, Snapshot},
    status::{DesiredStatus, StatusUpdate, Truth},
};

/// Whether a rule is one of a GRPCRoute.
fn is_of_calls(rule: &Route) -> bool {
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

/// The statuses of GRPCRoutes.
fn of_grpcroutes(statuses: &mut [StatusUpdate]) -> impl Iterator<Item = &mut StatusUpdate> {
    statuses.iter_mut().filter(|update| update.kind == Kind::GrpcRoute)
}

/// The rule of some call that the host is taken for.
fn any_rule(routing: &Routing<'_>, request: &RequestHead) -> Option<MatchOutcome> {
    let mut candidates = routing.hosts.iter().flat_map(|host| &host.candidates);
    let found = candidates.find(|candidate| {
        matches!(candidate.predicate.path(), PathPredicate::Rpc(_))
            && candidate.hostname != Hostname::Any
            && covers(&candidate.hostname, &request.host)
    })?;
    Some(MatchOutcome::Rule { route: Arc::clone(&found.route), predicate: Arc::clone(&found.predicate) })
}

/// The last of the rules that take a call for its host, instead of the first.
fn last_rule(request: &RequestHead, routing: &Routing<'_>, found: MatchOutcome) -> MatchOutcome {
    let Some(host) = routing.virtual_host(&request.host).and_then(|index| routing.hosts.get(index)) else {
        return found;
    };
    let subject = request.subject();
    let takes = |candidate: &&gateproof_proxy::compiled::Candidate| {
        covers(&candidate.hostname, &request.host) && candidate.predicate.holds(&subject)
    };
    let service = |path: &PathPredicate| match path {
        PathPredicate::Rpc(rpc) => Some(rpc.lengths()),
        _ => None,
    };
    let all: Vec<_> =
        host.candidates.iter().filter(takes).filter(|one| service(one.predicate.path()).is_some()).collect();
    match all.as_slice() {
        // Rules that differ in their headers alone stay in order.
        [first, .., last] if service(first.predicate.path()) != service(last.predicate.path()) => {
            MatchOutcome::Rule { route: Arc::clone(&last.route), predicate: Arc::clone(&last.predicate) }
        }
        _ => found,
    }
}

/// Sends all requests of one HTTP/2 connection for a rule where the first one went.
#[derive(Default)]
struct BalancesConnections(Mutex<HashMap<(u64, RouteId), BackendChoice>>);

#[async_trait]
impl Exchange for BalancesConnections {
    fn on_backend(&self, request: &RequestHead, route: &CompiledRoute, drawn: BackendChoice) -> BackendChoice {
        if request.version != Version::HTTP_2 || matches!(drawn, BackendChoice::Fail { .. }) {
            return drawn;
        }
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        known.entry((request.connection.id, route.rule.id.clone())).or_insert(drawn).clone()
    }
}

/// Another choice of backend.
struct Chooses(fn(&RequestHead, BackendChoice) -> BackendChoice);

#[async_trait]
impl Exchange for Chooses {
    fn on_backend(&self, request: &RequestHead, _: &CompiledRoute, drawn: BackendChoice) -> BackendChoice {
        (self.0)(request, drawn)
    }
}

/// Other frames of an answer to a call.
struct Frames(fn(usize, Frame<Bytes>) -> Option<Frame<Bytes>>);

#[async_trait]
impl Exchange for Frames {
    async fn on_response(&self, request: &RequestHead, response: Response<Body>) -> Option<Response<Body>> {
        if !is_grpc(&request.headers) {
            return Some(response);
        }
        let change = self.0;
        let frames = move |(index, frame): (usize, Result<Frame<Bytes>, _>)| {
            let changed = match frame {
                Ok(frame) => change(index, frame).map(Ok),
                Err(error) => Some(Err(error)),
            };
            stream::iter(changed)
        };
        Some(response.map(|body| StreamBody::new(BodyStream::new(body).enumerate().flat_map(frames)).boxed_unsync()))
    }
}

/// Forwards the first message of a call alone, as its client sends them in pieces.
struct ForwardsOneMessage;

impl Exchange for ForwardsOneMessage {
    fn on_try(&self, request: &RequestHead, _: u32, sent: Request<Body>) -> Request<Body> {
        if !is_grpc(&request.headers) {
            return sent;
        }
        let first = |body| StreamBody::new(BodyStream::new(body).take(1)).boxed_unsync();
        sent.map(first)
    }
}

/// The trailers of a frame, changed.
fn with_trailers(frame: Frame<Bytes>, change: impl FnOnce(&mut HeaderMap)) -> Frame<Bytes> {
    match frame.into_trailers() {
        Ok(mut trailers) => {
            change(&mut trailers);
            Frame::trailers(trailers)
        }
        Err(frame) => frame,
    }
}

/// Breaks off what came over HTTP/2 and TLS.
struct BreaksOffHttp2;

#[async_trait]
impl Exchange for BreaksOffHttp2 {
    async fn on_response(&self, request: &RequestHead, response: Response<Body>) -> Option<Response<Body>> {
        (request.version != Version::HTTP_2 || request.scheme != "https").then_some(response)
    }
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

/// Takes the rules that are not wanted off the hostnames that rules of both kinds have.
fn leave_to_one_kind(config: &mut gateproof_proxy::Config, is_wanted: fn(&Route) -> bool) {
    for host in hosts(config) {
        let wanted = host.routes.iter().filter(|rule| is_wanted(rule));
        let taken: Vec<Hostname> = wanted.flat_map(|rule| rule.hostnames.clone()).collect();
        host.routes.retain(|rule| is_wanted(rule) || !rule.hostnames.iter().any(|one| taken.contains(one)));
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

pub(super) const FAULTS: &[Fault] = &[
    Fault {
        name: "forwards-unmatched-calls",
        summary: "Forwards a call that no rule takes to the backend of the first rule for its host.",
        clauses: &["blind:GRPCExactMethodMatching.1", "upstream:GRPCExactMethodMatching", "GRPC-02"],
        seam: Seam::Exchange(|| {
            Arc::new(Finds(|request, routing, found| match found {
                MatchOutcome::NoRule if is_grpc(&request.headers) => any_rule(routing, request).unwrap_or(found),
                found => found,
            }))
        }),
    },
    Fault {
        name: "needs-methods-of-calls",
        summary: "Never takes a call by its service alone.",
        clauses: &["blind:GRPCExactMethodMatching.2", "GRPC-02", "GRPC-09"],
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
        name: "lets-shorter-services-win",
        summary: "Gives a call to the last rule that takes it where the first has a longer service or method.",
        clauses: &["GRPC-03"],
        seam: Seam::Exchange(|| Arc::new(Finds(last_rule))),
    },
    Fault {
        name: "drops-binary-metadata",
        summary: "Forwards calls without their binary metadata.",
        clauses: &["blind:GRPCExactMethodMatching.3"],
        seam: Seam::Exchange(|| {
            Arc::new(Forwards(|_, parts| {
                let binary: Vec<_> =
                    parts.headers.keys().filter(|name| name.as_str().ends_with("-bin")).cloned().collect();
                for name in binary {
                    parts.headers.remove(name);
                }
            }))
        }),
    },
    Fault {
        name: "drops-trailing-metadata",
        summary: "Leaves nothing but the status in the trailers of a call.",
        clauses: &["blind:GRPCExactMethodMatching.3"],
        seam: Seam::Exchange(|| {
            Arc::new(Frames(|_, frame| {
                Some(with_trailers(frame, |trailers| {
                    let code = trailers.get(STATUS).cloned();
                    trailers.clear();
                    trailers.extend(code.map(|code| (STATUS, code)));
                }))
            }))
        }),
    },
    Fault {
        name: "alters-codes-of-calls",
        summary: "Turns every code of a backend but OK into INTERNAL.",
        clauses: &["blind:GRPCExactMethodMatching.3"],
        seam: Seam::Exchange(|| {
            Arc::new(Frames(|_, frame| {
                Some(with_trailers(frame, |trailers| {
                    if let Some(code) = trailers.get_mut(STATUS).filter(|code| code.as_bytes() != b"0") {
                        *code = 13.into();
                    }
                }))
            }))
        }),
    },
    Fault {
        name: "sends-one-message",
        summary: "Sends the first message of an answer to a call and no other.",
        clauses: &["blind:Generic.6"],
        seam: Seam::Exchange(|| Arc::new(Frames(|index, frame| (index == 0 || frame.is_trailers()).then_some(frame)))),
    },
    Fault {
        name: "forwards-one-message",
        summary: "Forwards the first message that a call sends and no other.",
        clauses: &["blind:Generic.6"],
        seam: Seam::Exchange(|| Arc::new(ForwardsOneMessage)),
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
                let mut without = seen.otherwise(|snapshot| snapshot.retain(Kind::GrpcRoute, |_| false)).statuses;
                for update in statuses.iter_mut().filter(|update| update.kind == Kind::Gateway) {
                    let Some(other) =
                        without.iter_mut().find(|other| (other.kind, &other.key) == (update.kind, &update.key))
                    else {
                        continue;
                    };
                    let counts: Vec<usize> =
                        listeners(std::slice::from_mut(other)).map(|listener| listener.attached_routes).collect();
                    for (listener, count) in listeners(std::slice::from_mut(update)).zip(counts) {
                        listener.attached_routes = count;
                    }
                }
            })
        }),
    },
    Fault {
        name: "balances-connections-not-calls",
        summary: "Sends all calls of one connection to the backend of the first.",
        clauses: &["blind:GRPCRouteWeight.1"],
        seam: Seam::Exchange(|| Arc::new(BalancesConnections::default())),
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
        name: "ignores-filters-of-calls",
        summary: "Forwards calls as they are, whatever filters their rule has.",
        clauses: &["GRPC-08", "blind:Generic.15"],
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
        clauses: &["blind:Generic.14"],
        seam: Seam::Config(|| serve_past(|memory, snapshot| memory.keep_removed(snapshot, Kind::GrpcRoute))),
    },
    Fault {
        name: "serves-old-specs-of-grpcroutes",
        summary: "Serves the first spec of a GRPCRoute while status follows the newest.",
        clauses: &["blind:HTTPRouteObservedGenerationBump.1"],
        seam: Seam::Config(|| serve_past(|memory, snapshot| memory.keep_first(snapshot, Kind::GrpcRoute))),
    },
    Fault {
        name: "refuses-http2-over-tls",
        summary: "Agrees to HTTP/2 in a handshake and answers nothing over it.",
        clauses: &["GRPC-01"],
        seam: Seam::Exchange(|| Arc::new(BreaksOffHttp2)),
    },
    Fault {
        name: "speaks-http1-to-h2c-backends",
        summary: "Speaks HTTP/1.1 to a backend of an HTTPRoute that asks for HTTP/2 with prior knowledge.",
        clauses: &["blind:HTTPRouteBackendProtocolH2C.3"],
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
        name: "keeps-http1-clients-from-h2c-backends",
        summary: "Answers 502 to a client that speaks HTTP/1.1 where the backend speaks HTTP/2 with prior knowledge.",
        clauses: &["blind:HTTPRouteBackendProtocolH2C.1"],
        seam: Seam::Exchange(|| {
            Arc::new(Chooses(|request, drawn| match drawn {
                BackendChoice::Forward { backend, h2c: true, .. } if request.version != Version::HTTP_2 => {
                    let reason = "the client speaks HTTP/1.1".to_owned();
                    BackendChoice::Fail { backend: Some(backend), status: 502, reason }
                }
                drawn => drawn,
            }))
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
    Fault {
        name: "never-gives-hostnames-to-grpcroutes",
        summary: "Goes on refusing a GRPCRoute for a hostname of an older HTTPRoute when that is gone.",
        clauses: &["GRPC-09"],
        seam: Seam::Statuses(|| Box::new(HoldsGrudges::default())),
    },
];
