//! What one route does to others.

use std::{
    collections::{BTreeMap, BTreeSet},
    net::IpAddr,
    sync::Arc,
};

use gateproof_proxy::config::{Config, Filter, HeaderModifier, HeaderValue, Listener, Protocol, Route};
use serde_json::Value;

use super::Bug;
use crate::{
    faults::{
        Fault, Seam,
        tools::{has_reason, is, parents, say, set, virtual_hosts},
    },
    runtime::seams::{ConfigSeam, Seen},
    snapshot::{Kind, Object},
    status::{StatusUpdate, Truth},
};

/// Keeps what a port had before as long as it has a rule that it chokes on.
pub(super) struct Chokes {
    lanes: fn(&Listener) -> bool,
    /// Nothing: any of these ports is too much.
    on: Option<fn(&Route) -> bool>,
    before: BTreeMap<(IpAddr, u16), Protocol>,
}

impl Chokes {
    pub(super) fn on(on: fn(&Route) -> bool) -> Box<dyn ConfigSeam> {
        Self::on_lanes(|_| true, on)
    }

    /// The same, for some ports alone.
    pub(super) fn on_lanes(lanes: fn(&Listener) -> bool, on: fn(&Route) -> bool) -> Box<dyn ConfigSeam> {
        Box::new(Chokes { lanes, on: Some(on), before: BTreeMap::new() })
    }

    /// On what such a port has besides rules.
    pub(super) fn on_all_of(lanes: fn(&Listener) -> bool) -> Box<dyn ConfigSeam> {
        Box::new(Chokes { lanes, on: None, before: BTreeMap::new() })
    }

    fn chokes(&self, lane: &mut Listener) -> bool {
        if !(self.lanes)(lane) {
            return false;
        }
        let Some(on) = self.on else { return true };
        virtual_hosts(lane).into_iter().flat_map(|host| &host.routes).any(on)
    }
}

/// Whether a rule sets or adds such a header.
fn sets(rule: &Route, is_such: fn(&HeaderValue) -> bool) -> bool {
    rule.filters.iter().any(|filter| match filter {
        Filter::RequestHeaderModifier(HeaderModifier { set, add, .. }) => set.iter().chain(add).any(is_such),
        _ => false,
    })
}

impl ConfigSeam for Chokes {
    fn edit(&mut self, _: Seen<'_>, config: &mut Config) {
        for lane in &mut config.listeners {
            let key = (lane.address, lane.port);
            if !self.chokes(lane) {
                self.before.insert(key, lane.protocol.clone());
            } else if let Some(before) = self.before.get(&key) {
                lane.protocol = before.clone();
            }
        }
    }
}

/// Refuses the older routes of a host beside one that has no rule that could be carried out.
fn spread_refusals(seen: Seen<'_>, statuses: &mut [StatusUpdate]) {
    let refused: BTreeSet<_> = statuses
        .iter_mut()
        .filter(|update| update.kind == Kind::HttpRoute)
        .filter_map(|update| {
            let key = update.key.clone();
            let mut own = parents(std::slice::from_mut(update));
            own.any(|parent| has_reason(&parent.conditions, "Accepted", "UnsupportedValue")).then_some(key)
        })
        .collect();
    let bad: Vec<_> = seen.snapshot.http_routes().filter(|(route, _)| refused.contains(&route.key())).collect();
    for update in statuses.iter_mut().filter(|update| update.kind == Kind::HttpRoute) {
        let Some((own, spec)) = seen.snapshot.http_route(&update.key.namespace, &update.key.name) else { continue };
        let is_beside = |(other, of): &(&Object, &crate::model::HttpRouteSpec)| {
            other.meta.namespace == own.meta.namespace
                && of.hostnames == spec.hostnames
                && own.meta.precedence() < other.meta.precedence()
        };
        if bad.iter().any(is_beside) {
            for parent in parents(std::slice::from_mut(update)) {
                set(&mut parent.conditions, "Accepted", Truth::False, "UnsupportedValue");
            }
        }
    }
}

/// Serves the other routes of a namespace as they were before a refused one was mended.
#[derive(Default)]
struct FreezesOnMending {
    refused: BTreeSet<String>,
    /// Every route as it was in the round before.
    before: Vec<Arc<Object>>,
    frozen: Vec<Arc<Object>>,
}

impl ConfigSeam for FreezesOnMending {
    fn edit(&mut self, seen: Seen<'_>, config: &mut Config) {
        let mut statuses = seen.otherwise(|_| {}).statuses;
        for update in statuses.iter_mut().filter(|update| update.kind == Kind::HttpRoute) {
            let Some(route) = seen.snapshot.get(update.kind, &update.key.namespace, &update.key.name) else { continue };
            let mut own = parents(std::slice::from_mut(update));
            if own.any(|parent| is(&parent.conditions, "Accepted", Truth::False)) {
                self.refused.insert(route.meta.uid.clone());
            } else if self.refused.remove(&route.meta.uid) {
                let beside = |other: &&Arc<Object>| {
                    other.meta.namespace == route.meta.namespace && other.meta.uid != route.meta.uid
                };
                self.frozen.extend(self.before.iter().filter(beside).cloned());
            }
        }
        self.before = seen.snapshot.all(Kind::HttpRoute).cloned().collect();
        self.frozen.retain(|old| {
            let now = seen.snapshot.get(Kind::HttpRoute, &old.meta.namespace, &old.meta.name);
            now.is_some_and(|now| now.meta.uid == old.meta.uid)
        });
        if !self.frozen.is_empty() {
            let past = |snapshot: &mut crate::snapshot::Snapshot| {
                self.frozen.iter().for_each(|old| snapshot.insert(Kind::HttpRoute, Arc::clone(old)));
            };
            *config = seen.otherwise(past).config;
        }
    }
}

/// Serves the HTTPRoutes of a namespace as they were before one of them had a backend without a port.
#[derive(Default)]
struct StopsWithoutPorts(Vec<Arc<Object>>);

fn has_backend_without_port(route: &Object) -> bool {
    let each = |of: &Value, field: &str| of[field].as_array().cloned().unwrap_or_default();
    let rules = each(&route.raw["spec"], "rules");
    rules.iter().flat_map(|rule| each(rule, "backendRefs")).any(|backend| backend["port"].is_null())
}

impl ConfigSeam for StopsWithoutPorts {
    fn edit(&mut self, seen: Seen<'_>, config: &mut Config) {
        let now: Vec<_> = seen.snapshot.all(Kind::HttpRoute).cloned().collect();
        let is_stopped = |of: &Object| {
            now.iter().any(|route| route.meta.namespace == of.meta.namespace && has_backend_without_port(route))
        };
        let is_same = |old: &Arc<Object>, new: &Arc<Object>| old.meta.uid == new.meta.uid;
        let mut before = std::mem::take(&mut self.0);
        before.retain(|old| is_stopped(old) && now.iter().any(|new| is_same(old, new)));
        if !before.is_empty() {
            let past = |snapshot: &mut crate::snapshot::Snapshot| {
                before.iter().for_each(|old| snapshot.insert(Kind::HttpRoute, Arc::clone(old)));
            };
            *config = seen.otherwise(past).config;
        }
        let fresh: Vec<_> = now.iter().filter(|new| !before.iter().any(|old| is_same(old, new))).cloned().collect();
        before.extend(fresh);
        self.0 = before;
    }
}

pub(super) const BUGS: &[Bug] = &[
    Bug {
        fault: Fault {
            name: "chokes-on-percent-signs",
            summary: "Takes no change up on a port where a header filter has a value with a percent sign.",
            clauses: &["blind:HTTPRouteRequestHeaderModifier.5"],
            seam: Seam::Config(|| Chokes::on(|rule| sets(rule, |header| header.value.contains('%')))),
        },
        reported: &["envoyproxy/gateway#7195"],
    },
    Bug {
        fault: Fault {
            name: "chokes-on-hosts-in-header-filters",
            summary: "Takes no change up on a port where a header filter sets Host.",
            clauses: &["blind:HTTPRouteRequestHeaderModifier.5"],
            seam: Seam::Config(|| Chokes::on(|rule| sets(rule, |header| header.name.eq_ignore_ascii_case("host")))),
        },
        reported: &["envoyproxy/gateway#5182", "kgateway-dev/kgateway#11794"],
    },
    Bug {
        fault: Fault {
            name: "refuses-routes-beside-refused-ones",
            summary: "Says Accepted=False for the older routes of a host beside one that is refused, while they are served.",
            clauses: &["GEP1364-14"],
            seam: Seam::Statuses(|| say(|seen, statuses| spread_refusals(seen, statuses))),
        },
        reported: &["nginx/nginx-gateway-fabric#3866"],
    },
    Bug {
        fault: Fault {
            name: "freezes-routes-beside-mended-ones",
            summary: "Serves the routes beside a refused one for good as they were before it was mended.",
            clauses: &["blind:HTTPRouteObservedGenerationBump.1"],
            seam: Seam::Config(|| Box::<FreezesOnMending>::default()),
        },
        reported: &["kgateway-dev/kgateway#14264"],
    },
    Bug {
        fault: Fault {
            name: "stops-at-backends-without-a-port",
            summary: "Takes no change of an HTTPRoute up while one of its namespace has a backend that names no port.",
            clauses: &["blind:HTTPRouteObservedGenerationBump.1"],
            seam: Seam::Config(|| Box::<StopsWithoutPorts>::default()),
        },
        reported: &["cilium/cilium#27956"],
    },
];
