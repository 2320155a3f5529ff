//! ListenerSets whose Gateway is another than before, is gone for a while, or is not accepted, and whose listeners are to be one
//! list with its own.

use std::{collections::BTreeMap, sync::Arc};

use gateproof_proxy::{
    config::{Config, Hostname, Listener as Lane, Protocol, Route, VirtualHost},
    exchange::{MatchOutcome, RequestHead},
    routing::Routing,
};

use super::{
    super::{
        Fault, Seam,
        exchange::Finds,
        tools::{Memory, has_reason, say, serve, set},
    },
    acts::{parent, sets},
};
use crate::{
    model::Listener,
    reconcile::intersect,
    runtime::seams::{ConfigSeam, Seen, SnapshotSeam, StatusesSeam},
    snapshot::{Kind, ObjectKey, Snapshot},
    status::{DesiredStatus, StatusUpdate, Truth},
};

/// Shows each ListenerSet that has moved as it was when it was first seen.
fn show_where_they_were(memory: &mut Memory, snapshot: &mut Snapshot) {
    let mut first = snapshot.clone();
    memory.keep_first(&mut first, Kind::ListenerSet);
    let keys = snapshot.all(Kind::ListenerSet).map(|set| set.key());
    let moved: Vec<ObjectKey> = keys.filter(|key| parent(&first, key) != parent(snapshot, key)).collect();
    for key in moved {
        if let Some(before) = first.get(Kind::ListenerSet, &key.namespace, &key.name).cloned() {
            snapshot.insert(Kind::ListenerSet, before);
        }
    }
}

/// Serves ListenerSets where they are, and where they were first.
#[derive(Default)]
struct ServesWhereTheyWere(Memory);

impl ConfigSeam for ServesWhereTheyWere {
    fn edit(&mut self, seen: Seen<'_>, config: &mut Config) {
        let former = seen.otherwise(|snapshot| show_where_they_were(&mut self.0, snapshot)).config;
        for old in former.listeners {
            let Some(lane) = config.listeners.iter_mut().find(|lane| lane.id == old.id) else {
                config.listeners.push(old);
                continue;
            };
            if let (Protocol::Http(now), Protocol::Http(before)) = (&mut lane.protocol, old.protocol) {
                let is_new = |host: &VirtualHost| {
                    now.virtual_hosts
                        .iter()
                        .all(|one| (&one.listener, &one.hostname) != (&host.listener, &host.hostname))
                };
                let gone: Vec<VirtualHost> = before.virtual_hosts.into_iter().filter(is_new).collect();
                now.virtual_hosts.extend(gone);
            }
        }
    }
}

/// Counts ListenerSets where they are, and where they were first.
#[derive(Default)]
struct CountsWhereTheyWere(BTreeMap<String, ObjectKey>);

impl StatusesSeam for CountsWhereTheyWere {
    fn edit(&mut self, seen: Seen<'_>, statuses: &mut Vec<StatusUpdate>) {
        for set in seen.snapshot.all(Kind::ListenerSet) {
            let Some(now) = parent(seen.snapshot, &set.key()) else { continue };
            let first = self.0.entry(set.meta.uid.clone()).or_insert_with(|| now.clone());
            let former = statuses.iter_mut().find(|update| update.kind == Kind::Gateway && update.key == *first);
            if let Some(DesiredStatus::Gateway { attached_listener_sets: Some(count), .. }) =
                former.filter(|_| *first != now).map(|update| &mut update.status)
            {
                *count += 1;
            }
        }
    }
}

/// Looks at no ListenerSet that has lost its Gateway, until it is written.
#[derive(Default)]
struct ForgetsWithTheGateway(BTreeMap<ObjectKey, (i64, String)>);

impl SnapshotSeam for ForgetsWithTheGateway {
    fn view(&mut self, mut snapshot: Snapshot) -> Snapshot {
        let known = &mut self.0;
        let seen = snapshot.clone();
        snapshot.retain(Kind::ListenerSet, |set| {
            let gateway = parent(&seen, &set.key())
                .and_then(|key| Some(seen.get(Kind::Gateway, &key.namespace, &key.name)?.meta.uid.clone()));
            let Some(gateway) = gateway else { return true };
            let now = (set.meta.generation, gateway);
            let (generation, first) = known.entry(set.key()).or_insert_with(|| now.clone());
            if *generation != now.0 {
                (*generation, *first) = now.clone();
            }
            *first == now.1
        });
        snapshot
    }
}

fn say_under_refused(positive: &[&str], seen: Seen<'_>, statuses: &mut [StatusUpdate]) {
    for (_, conditions, _) in sets(seen.snapshot, statuses) {
        if has_reason(conditions, "Accepted", "ParentNotAccepted") {
            positive.iter().for_each(|kind| set(conditions, kind, Truth::True, kind));
        }
    }
}

/// The hostnames of the listeners that the Gateway of a lane has itself.
fn own_hosts(seen: Seen<'_>, lane: &Lane) -> Vec<(String, Hostname)> {
    let gateway = lane.id.rsplit_once(':').and_then(|(id, _)| id.split_once('/'));
    let gateway = gateway.and_then(|(namespace, name)| seen.snapshot.gateway(namespace, name));
    let own = |one: &Listener| (one.name.clone(), Hostname::parse(one.host().unwrap_or_default()));
    gateway.into_iter().flat_map(|(_, spec)| &spec.listeners).filter(|one| one.port == lane.port).map(own).collect()
}

/// Lets the routes of a Gateway's own listeners answer for the hosts of its ListenerSets, too, where those are among theirs.
fn isolate_within_objects(seen: Seen<'_>, config: &mut Config) {
    for lane in &mut config.listeners {
        let own = own_hosts(seen, lane);
        let Protocol::Http(http) = &mut lane.protocol else { continue };
        let is_own = |host: &VirtualHost| own.contains(&(host.listener.clone(), host.hostname.clone()));
        let of_gateway: Vec<VirtualHost> = http.virtual_hosts.iter().filter(|host| is_own(host)).cloned().collect();
        for host in http.virtual_hosts.iter_mut().filter(|host| !is_own(host)) {
            let within = |one: &Hostname| intersect(one, &host.hostname).as_ref() == Some(&host.hostname);
            let covers = |one: &&VirtualHost| matches!(one.hostname, Hostname::Wildcard(_)) && within(&one.hostname);
            let routes = of_gateway.iter().filter(covers).flat_map(|one| one.routes.clone());
            let routes: Vec<Route> = routes.map(|route| Route { hostnames: Vec::new(), ..route }).collect();
            host.routes.extend(routes);
        }
    }
}

/// What is set before the names of listeners that ListenerSets add, to tell them from those of the Gateway.
const ADDED: &str = "added/";

/// Marks the listeners of HTTPS that ListenerSets add.
fn mark_added(seen: Seen<'_>, config: &mut Config) {
    for lane in &mut config.listeners {
        let own = own_hosts(seen, lane);
        let Protocol::Https(all) = &mut lane.protocol else { continue };
        for host in all.iter_mut().map(|listener| &mut listener.virtual_host) {
            if !own.contains(&(host.listener.clone(), host.hostname.clone())) {
                host.listener.insert_str(0, ADDED);
            }
        }
    }
}

/// Looks for the host of a request where the handshake led, if another object has the listener that it belongs to.
fn find_within_objects(request: &RequestHead, routing: &Routing<'_>, found: MatchOutcome) -> MatchOutcome {
    let place = |host: &str| routing.virtual_host(host);
    let is_added = |at: usize| routing.hosts.get(at).is_some_and(|host| host.listener.starts_with(ADDED));
    match (&found, request.server_name.as_deref().and_then(place), place(&request.host)) {
        (MatchOutcome::Misdirected, Some(chosen), Some(own)) if is_added(chosen) != is_added(own) => {
            routing.route_in(chosen, request)
        }
        _ => found,
    }
}

/// Changes the exact hosts that a Gateway has itself, or what a ListenerSet has for every host beside them.
fn beside_own(seen: Seen<'_>, config: &mut Config, change: fn(&mut VirtualHost, &mut VirtualHost)) {
    for lane in &mut config.listeners {
        let own = own_hosts(seen, lane);
        let Protocol::Http(http) = &mut lane.protocol else { continue };
        let is_own = |host: &VirtualHost| own.contains(&(host.listener.clone(), host.hostname.clone()));
        let (mut of_gateway, mut added): (Vec<_>, Vec<_>) =
            http.virtual_hosts.iter_mut().partition(|host| is_own(host));
        let rest = added.iter_mut().find(|host| host.hostname == Hostname::Any && !host.routes.is_empty());
        if let Some(rest) = rest {
            let exact = of_gateway.iter_mut().filter(|host| matches!(host.hostname, Hostname::Exact(_)));
            exact.for_each(|host| change(host, rest));
        }
    }
}

pub(in crate::faults) const FAULTS: &[Fault] = &[
    Fault {
        name: "serves-listener-sets-where-they-were",
        summary: "Goes on serving a ListenerSet at the Gateway that it named before, beside the one that it names.",
        clauses: &[super::SERVED, "blind:Generic.14"],
        seam: Seam::Config(|| Box::<ServesWhereTheyWere>::default()),
    },
    Fault {
        name: "counts-listener-sets-where-they-were",
        summary: "Goes on counting a ListenerSet for the Gateway that it named before.",
        clauses: &["upstream:ListenerSetAllowedNamespaceSame"],
        seam: Seam::Statuses(|| Box::<CountsWhereTheyWere>::default()),
    },
    Fault {
        name: "forgets-listener-sets-of-deleted-gateways",
        summary: "Looks at no ListenerSet of a Gateway that is made again, until the ListenerSet is written.",
        clauses: &["upstream:ListenerSetAllowedNamespaceSame"],
        seam: Seam::Snapshot(|| Box::<ForgetsWithTheGateway>::default()),
    },
    Fault {
        name: "accepts-listener-sets-of-refused-gateways",
        summary: "Accepts a ListenerSet whose Gateway it does not accept.",
        clauses: &["OWN-75"],
        seam: Seam::Statuses(|| say(|seen, statuses| say_under_refused(&["Accepted"], seen, statuses))),
    },
    Fault {
        name: "programs-listener-sets-of-refused-gateways",
        summary: "Says of a ListenerSet whose Gateway it does not accept that it is accepted and programmed.",
        clauses: &["OWN-75", "GEP1364-18"],
        seam: Seam::Statuses(|| say(|seen, statuses| say_under_refused(&["Accepted", "Programmed"], seen, statuses))),
    },
    Fault {
        name: "isolates-listeners-of-one-object-alone",
        summary: "Has the listeners of a Gateway with a wildcard take requests for hosts that a ListenerSet names.",
        clauses: &["upstream:GatewayHTTPListenerIsolation"],
        seam: Seam::Config(|| serve(isolate_within_objects)),
    },
    Fault {
        name: "finds-misdirection-within-one-object-alone",
        summary: "Looks for the host of a request over TLS among the routes of the listener that the handshake chose, if a listener of another object has it.",
        clauses: &["OWN-112"],
        seam: Seam::Several(&[
            Seam::Config(|| serve(mark_added)),
            Seam::Exchange(|| Arc::new(Finds(find_within_objects))),
        ]),
    },
    Fault {
        name: "serves-no-listener-sets-without-hostname",
        summary: "Serves no listener of a ListenerSet that has no hostname, beside those of its Gateway that have one.",
        clauses: &[super::SERVED],
        seam: Seam::Config(|| serve(|seen, config| beside_own(seen, config, |_, rest| rest.routes.clear()))),
    },
    Fault {
        name: "lets-listener-sets-without-hostname-take-all",
        summary: "Has a listener of a ListenerSet that has no hostname take the requests for those of its Gateway, too.",
        clauses: &[super::SERVED],
        seam: Seam::Config(|| {
            serve(|seen, config| beside_own(seen, config, |own, rest| own.routes.clone_from(&rest.routes)))
        }),
    },
];
