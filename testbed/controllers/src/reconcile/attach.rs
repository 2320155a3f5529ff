use std::collections::HashMap;

use gateproof_proxy::config::{Hostname, Route, TcpBackend};

use super::{
    gateway::Gateway,
    grants::lets_in,
    grpcroute, hostname,
    httproute::{self, Judged},
    listener::Listener,
    tcproute,
    verdict::Verdict,
};
use crate::{
    model::{GATEWAY_GROUP, ParentRef, RouteKind},
    snapshot::{Kind, Object, Snapshot},
};

/// Every route that refers to a Gateway in scope or a ListenerSet of one, or has entries in its status, oldest first.
pub(crate) struct Routes<'a> {
    pub(crate) all: Vec<RouteState<'a>>,
}

/// A route: what its spec comes to, and where it attaches.
pub(crate) struct RouteState<'a> {
    pub(crate) kind: Kind,
    pub(crate) object: &'a Object,
    pub(crate) content: Content,
    pub(crate) parents: Vec<Parent<'a>>,
}

/// What a route comes to, by kind.
pub(crate) enum Content {
    /// Of HTTPRoutes and GRPCRoutes.
    Http(Judged<Route>),
    /// Of TCPRoutes, TLSRoutes and UDPRoutes.
    Tcp(Judged<Vec<TcpBackend>>),
}

/// One parentRef to a Gateway in scope, or to a ListenerSet of one.
pub(crate) struct Parent<'a> {
    pub(crate) reference: &'a ParentRef,
    pub(crate) accepted: Verdict,
    /// Where the route is attached: Gateway, listener (both by index), and the hosts that it takes there.
    pub(crate) at: Vec<Place>,
}

/// A listener that a route is attached to.
pub(crate) struct Place {
    pub(crate) gateway: usize,
    pub(crate) listener: usize,
    pub(crate) hostnames: Vec<Hostname>,
}

impl Content {
    fn accepted(&self) -> Verdict {
        match self {
            Self::Http(judged) => judged.accepted(),
            Self::Tcp(judged) => judged.accepted(),
        }
    }
}

impl Routes<'_> {
    /// How many routes are attached to a listener: those that refer to it, are let in and are accepted.
    pub(crate) fn attached(&self, gateway: usize, listener: usize) -> usize {
        self.all
            .iter()
            .filter(|route| route.places().any(|at| (at.gateway, at.listener) == (gateway, listener)))
            .count()
    }
}

impl RouteState<'_> {
    /// Every place where the route is attached and accepted.
    pub(crate) fn places(&self) -> impl Iterator<Item = &Place> {
        self.parents.iter().filter(|parent| parent.accepted.is_true()).flat_map(|parent| &parent.at)
    }
}

/// Judges every route that is of concern, and finds its places. There may be thousands that are not.
pub(crate) fn routes<'a>(snapshot: &'a Snapshot, gateways: &'a [Gateway<'a>]) -> Routes<'a> {
    let known = Known::of(gateways);
    let route = |kind,
                 object: &'a Object,
                 (references, hostnames): (&'a [ParentRef], &'a [String]),
                 content: &dyn Fn() -> Content| {
        let found = known.among(references, &object.meta.namespace);
        if found.is_empty() && !has_entries(object) {
            return None;
        }
        let content = content();
        let parents = found.into_iter().map(|(reference, (index, set))| {
            match attach(snapshot, (index, &gateways[index], set), kind, object, hostnames, reference) {
                Ok(at) => Parent { reference, accepted: content.accepted(), at },
                Err(refused) => Parent { reference, accepted: refused, at: Vec::new() },
            }
        });
        let parents = parents.collect();
        Some(RouteState { kind, object, content, parents })
    };
    let http = snapshot.http_routes().filter_map(|(object, spec)| {
        let content = || Content::Http(httproute::judge(snapshot, object, spec));
        route(Kind::HttpRoute, object, (&spec.parent_refs, &spec.hostnames), &content)
    });
    let grpc = snapshot.grpc_routes().filter_map(|(object, spec)| {
        let content = || Content::Http(grpcroute::judge(snapshot, object, spec));
        route(Kind::GrpcRoute, object, (&spec.parent_refs, &spec.hostnames), &content)
    });
    let tcp = snapshot.tcp_routes().map(|(object, spec)| (Kind::TcpRoute, object, spec));
    let udp = snapshot.udp_routes().map(|(object, spec)| (Kind::UdpRoute, object, spec));
    let layer_4 = tcp.chain(udp).filter_map(|(kind, object, spec)| {
        let content = || Content::Tcp(tcproute::judge(snapshot, kind, object, spec));
        route(kind, object, (&spec.parent_refs, &[]), &content)
    });
    let tls = snapshot.tls_routes().filter_map(|(object, spec)| {
        let content = || Content::Tcp(tcproute::judge_tls(snapshot, object, spec));
        route(Kind::TlsRoute, object, (&spec.parent_refs, &spec.hostnames), &content)
    });
    let mut all: Vec<_> = http.chain(grpc).chain(layer_4).chain(tls).collect();
    all.sort_by_key(|route| route.object.meta.precedence());
    Routes { all }
}

/// Whether there is anything in `status.parents`, which may have to go.
fn has_entries(route: &Object) -> bool {
    let entries = route.raw.get("status").and_then(|status| status.get("parents")?.as_array());
    entries.is_some_and(|entries| !entries.is_empty())
}

/// A Gateway, and which of its ListenerSets, if it is one: both by index.
type Found = (usize, Option<usize>);

/// What a parentRef may lead to, by namespace and name.
struct Known<'a> {
    gateways: HashMap<(&'a str, &'a str), Found>,
    sets: HashMap<(&'a str, &'a str), Found>,
}

impl<'a> Known<'a> {
    fn of(gateways: &'a [Gateway<'a>]) -> Known<'a> {
        let name = |object: &'a Object| (object.meta.namespace.as_str(), object.meta.name.as_str());
        let mut known = Known { gateways: HashMap::new(), sets: HashMap::new() };
        for (index, gateway) in gateways.iter().enumerate() {
            known.gateways.entry(name(gateway.object)).or_insert((index, None));
            for (set, of) in gateway.sets.iter().enumerate() {
                known.sets.entry(name(of.object)).or_insert((index, Some(set)));
            }
        }
        known
    }

    /// Those of the parentRefs in a namespace that lead to one of these.
    fn among<'r>(&self, references: &'r [ParentRef], own: &str) -> Vec<(&'r ParentRef, Found)> {
        let found = |reference: &'r ParentRef| {
            let kind = if reference.is_gateway() {
                &self.gateways
            } else if reference.is_listener_set() {
                &self.sets
            } else {
                return None;
            };
            let namespace = reference.namespace.as_deref().unwrap_or(own);
            Some((reference, *kind.get(&(namespace, reference.name.as_str()))?))
        };
        references.iter().filter_map(found).collect()
    }
}

/// Finds the listeners that a parentRef attaches to, narrowing down step by step; the step that leaves none is the reason.
/// Only those of the very parent count: a ListenerSet's are none of its Gateway's for routes.
fn attach(
    snapshot: &Snapshot,
    (index, gateway, set): (usize, &Gateway<'_>, Option<usize>),
    kind: Kind,
    route: &Object,
    hostnames: &[String],
    reference: &ParentRef,
) -> Result<Vec<Place>, Verdict> {
    let section = reference.section_name.as_deref().filter(|section| !section.is_empty());
    let parent = match set {
        None => format!("Gateway {}", gateway.object.key()),
        Some(set) => format!("ListenerSet {}", gateway.sets[set].object.key()),
    };
    if set.is_some_and(|set| !gateway.sets[set].is_let_in) {
        return Err(Verdict::no(
            "NoMatchingParent",
            format!("{parent} is not allowed to add listeners to its Gateway"),
        ));
    }
    let mut candidates: Vec<(usize, &Listener<'_>)> =
        gateway.listeners.iter().enumerate().filter(|(_, listener)| listener.set == set).collect();
    candidates.retain(|(_, listener)| {
        section.is_none_or(|section| section == listener.name())
            && reference.port.is_none_or(|port| port == listener.spec.port)
    });
    if candidates.is_empty() {
        let message = format!("{parent} has no listener with this sectionName and port");
        return Err(Verdict::no("NoMatchingParent", message));
    }
    let route_kind = RouteKind { group: GATEWAY_GROUP.into(), kind: kind.name().into() };
    let own = set.map_or(gateway.object, |set| gateway.sets[set].object);
    candidates.retain(|(_, listener)| {
        let namespaces = &listener.spec.allowed_routes.namespaces;
        listener.kinds.contains(&route_kind)
            && lets_in(snapshot, namespaces, "Same", &own.meta.namespace, &route.meta.namespace)
    });
    if candidates.is_empty() {
        let message = format!("No listener of {parent} lets {} of this namespace in", kind.name());
        return Err(Verdict::no("NotAllowedByListeners", message));
    }
    let place = |(listener, of): (usize, &Listener<'_>)| {
        Some(Place { gateway: index, listener, hostnames: hostname::effective(&of.hostname, hostnames)? })
    };
    let places: Vec<Place> = candidates.into_iter().filter_map(place).collect();
    if places.is_empty() {
        let message = format!("No listener of {parent} takes any hostname of the route");
        return Err(Verdict::no("NoMatchingListenerHostname", message));
    }
    Ok(places)
}
