//! Controllers that refuse where they may.

use std::collections::BTreeSet;

use gateproof_proxy::{
    Config,
    config::{Backend, BackendTarget},
};
use serde_json::Value;

use super::{Place, Variant, say::say};
use crate::{
    faults::tools,
    reconcile::{Outcome, backends},
    runtime::seams::{ConfigSeam, Seen, StatusesSeam},
    settings::CONTROLLER_NAME,
    snapshot::{Kind, Object, ObjectKey, Snapshot},
    status::{Condition, DesiredStatus, StatusUpdate, Truth},
};

fn no(conditions: &mut [Condition], r#type: &str, reason: &str, message: &str) {
    for condition in conditions.iter_mut().filter(|condition| condition.r#type == r#type) {
        condition.status = Truth::False;
        condition.reason = reason.to_owned();
        condition.message = message.to_owned();
    }
}

fn is_false(conditions: &[Condition], r#type: &str) -> bool {
    conditions.iter().any(|condition| condition.r#type == r#type && condition.status == Truth::False)
}

/// A Gateway with a listener that is not valid is not accepted; what of it is good is served all the same.
fn refuse_gateway(_: &Snapshot, update: &mut StatusUpdate) {
    // One of an unknown protocol is none of these: since v1.6 it must not keep the Gateway from being accepted.
    let is_bad = |conditions: &[Condition]| {
        let conflicts = |one: &Condition| one.r#type == "Conflicted" && one.status == Truth::True;
        conditions.iter().any(conflicts) || (is_false(conditions, "ResolvedRefs") && is_false(conditions, "Programmed"))
    };
    if let DesiredStatus::Gateway { conditions, listeners, .. } = &mut update.status
        && !is_false(conditions, "Accepted")
        && listeners.iter().any(|listener| is_bad(&listener.conditions))
    {
        no(conditions, "Accepted", "ListenersNotValid", "a listener is not valid, so the Gateway is not accepted");
        no(conditions, "Programmed", "Invalid", "the Gateway is not accepted");
    }
}

/// A class is refused while the definitions are of a release that nobody here knows.
fn refuse_class(_: &Snapshot, update: &mut StatusUpdate) {
    if let DesiredStatus::GatewayClass { conditions, .. } = &mut update.status
        && is_false(conditions, "SupportedVersion")
    {
        no(conditions, "Accepted", "UnsupportedVersion", "the installed Gateway API is of an unknown release");
    }
}

/// A backend of a TCPRoute or UDPRoute that nobody serves is none.
fn refuse_backend(snapshot: &Snapshot, update: &mut StatusUpdate) {
    let ObjectKey { namespace, name } = &update.key;
    let found = match update.kind {
        Kind::TcpRoute => snapshot.tcp_route(namespace, name),
        Kind::UdpRoute => snapshot.udp_route(namespace, name),
        _ => None,
    };
    let Some((route, spec)) = found else { return };
    let mut references = spec.rules.iter().flat_map(|rule| &rule.backend_refs);
    let is_idle = references.any(|reference| {
        backends::resolve(snapshot, update.kind, route, reference).is_ok_and(|to| to.endpoints.is_empty())
    });
    if let (true, DesiredStatus::Route { parents }) = (is_idle, &mut update.status) {
        for parent in parents {
            no(&mut parent.conditions, "ResolvedRefs", "BackendNotFound", "a Service has no ready endpoints");
        }
    }
}

/// The classes of ours but for the oldest, and for those that the settings name.
fn younger(seen: Seen<'_>) -> BTreeSet<ObjectKey> {
    let ours = seen.snapshot.gateway_classes().filter(|(_, class)| class.controller_name == CONTROLLER_NAME);
    let unnamed = ours.filter(|(object, _)| !seen.settings.max_gateways.contains_key(&object.meta.name));
    let mut all: Vec<&Object> = unnamed.map(|(object, _)| object).collect();
    all.sort_by_key(|object| (object.meta.creation_timestamp.clone(), object.meta.name.clone()));
    all.into_iter().skip(1).map(Object::key).collect()
}

/// What would follow without these classes.
fn without(seen: Seen<'_>, classes: &BTreeSet<ObjectKey>) -> Outcome {
    seen.otherwise(|snapshot| {
        for class in classes {
            snapshot.remove(Kind::GatewayClass, class);
        }
    })
}

/// Takes the oldest class, and refuses the others.
struct TakesOne;

impl StatusesSeam for TakesOne {
    fn edit(&mut self, seen: Seen<'_>, statuses: &mut Vec<StatusUpdate>) {
        let refused = younger(seen);
        let before = std::mem::replace(statuses, without(seen, &refused).statuses);
        let is_refused = |update: &StatusUpdate| update.kind == Kind::GatewayClass && refused.contains(&update.key);
        statuses.extend(before.into_iter().filter(is_refused).map(|mut update| {
            if let DesiredStatus::GatewayClass { conditions, .. } = &mut update.status {
                no(conditions, "Accepted", "Unsupported", "another class is taken already, and it is the only one");
            }
            update
        }));
    }
}

impl ConfigSeam for TakesOne {
    fn edit(&mut self, seen: Seen<'_>, config: &mut Config) {
        *config = without(seen, &younger(seen)).config;
    }
}

/// Answers 503 where a Service has no such port.
struct Unavailable;

impl ConfigSeam for Unavailable {
    fn edit(&mut self, _: Seen<'_>, config: &mut Config) {
        for Backend { target, .. } in tools::backends(config) {
            if let BackendTarget::Fail { status, reason } = target
                && *status == 500
                && reason.ends_with("the Service has no such port")
            {
                *status = 503;
            }
        }
    }
}

/// Answers 500 where a Service of an HTTPRoute has no endpoints.
struct Invalid;

impl ConfigSeam for Invalid {
    fn edit(&mut self, seen: Seen<'_>, config: &mut Config) {
        for rule in tools::rules(config) {
            if seen.snapshot.grpc_route(&rule.id.namespace, &rule.id.name).is_some() {
                continue;
            }
            for Backend { target, .. } in &mut rule.backends {
                if let BackendTarget::Fail { status, reason } = target
                    && reason.ends_with("has no ready endpoints")
                {
                    *status = 500;
                }
            }
        }
    }
}

/// Takes neither of two ports of one number that carry something else.
fn refuse_shared_numbers(snapshot: &mut Snapshot) {
    snapshot.edit(Kind::Service, |service| {
        let Some(ports) = service.pointer_mut("/spec/ports").and_then(Value::as_array_mut) else { return };
        let numbers: Vec<Value> = ports.iter().map(|port| port["port"].clone()).collect();
        for port in ports {
            if numbers.iter().filter(|number| **number == port["port"]).count() > 1 {
                port["protocol"] = "TCP and UDP at once".into();
            }
        }
    });
}

pub(super) const VARIANTS: &[Variant] = &[
    Variant {
        name: "takes-idle-services-for-broken",
        summary: "Answers 500 instead of 503 where a Service has no ready endpoints.",
        source: "HTTPRouteRule.backendRefs: 503 SHOULD be returned for a Service without endpoints since v1.2; before, 500 was the code for all.",
        place: Place::Runtime(|seams| seams.config.push(Box::new(Invalid))),
    },
    Variant {
        name: "refuses-gateways-with-bad-listeners",
        summary: "Says Accepted=False/ListenersNotValid of a Gateway as soon as two of its listeners conflict, or what one refers to is not to \
                  be had.",
        source: "GatewayConditionAccepted: with ListenersNotValid it may be True or False, depending on whether the \
                 implementation can go on with the rest.",
        place: Place::Runtime(|seams| say(seams, refuse_gateway)),
    },
    Variant {
        name: "refuses-classes-of-unknown-releases",
        summary: "Refuses its class while the definitions are of a release that it does not know.",
        source: "GatewayClassReasonUnsupportedVersion: a reason of Accepted=False, too.",
        place: Place::Runtime(|seams| say(seams, refuse_class)),
    },
    Variant {
        name: "takes-one-class",
        summary: "Takes the oldest of its classes, and refuses the others as Unsupported.",
        source: "Implementer's guide (IMPL-30): an implementation may accept one class or many.",
        place: Place::Runtime(|seams| {
            seams.statuses.push(Box::new(TakesOne));
            seams.config.push(Box::new(TakesOne));
        }),
    },
    Variant {
        name: "has-no-external-authorization",
        summary: "Does not accept a listener with a filter of type ExternalAuth.",
        source: "GEP-5224: a filter that is not supported is a reason to say Accepted=False/UnsupportedValue of the listener.",
        place: Place::Settings(|settings| settings.authorizes = false),
    },
    Variant {
        name: "keeps-kinds-of-routes-apart",
        summary: "Refuses the younger of an HTTPRoute and a GRPCRoute that want one host of a listener.",
        source: "GRPCRouteSpec.hostnames, and HTTPRoute's since v1.7: an implementation may reject one of the two; it must accept the \
                 older, then the one that is first by namespace and name.",
        place: Place::Settings(|settings| settings.keeps_kinds_apart = true),
    },
    Variant {
        name: "keeps-numbers-of-ports-apart",
        summary: "Says ResolvedRefs=False/UnsupportedProtocol of a route to a port of a Service whose number stands for TCP and for UDP.",
        source: "GEP-1911: implementations may support Services that have both on one port, and have to say so of routes otherwise.",
        place: Place::Runtime(|seams| seams.snapshot.push(tools::view(refuse_shared_numbers))),
    },
    Variant {
        name: "takes-tcproutes-out-of-tls",
        summary: "Attaches TCPRoutes, too, to listeners of protocol TLS at which it ends, and forwards what was within it.",
        source: "TLSRoute: for a single target of a TLS listener \"you could choose to use a TCPRoute with a TLS listener\".",
        place: Place::Settings(|settings| settings.takes_streams_out_of_tls = true),
    },
    Variant {
        name: "misses-endpoints-of-tcproutes",
        summary: "Says ResolvedRefs=False of a TCPRoute to a Service without ready endpoints.",
        source: "TCPRouteRule.backendRefs: a Service without endpoints is called an invalid backend.",
        place: Place::Runtime(|seams| say(seams, refuse_backend)),
    },
    Variant {
        name: "finds-undeclared-ports-unavailable",
        summary: "Answers 503 where a route names a port that its Service does not have.",
        source: "HTTPRouteRule.backendRefs: 500 is for references that are invalid; nothing says whether one to a port is.",
        place: Place::Runtime(|seams| seams.config.push(Box::new(Unavailable))),
    },
];
