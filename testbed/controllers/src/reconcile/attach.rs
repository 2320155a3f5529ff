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

/// Every route that refers to a Gateway or ListenerSet, oldest first.
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

/// Judges every route and finds its places.
pub(crate) fn routes<'a>(snapshot: &'a Snapshot, gateways: &[Gateway<'_>]) -> Routes<'a> {
    let http = snapshot.http_routes().map(|(object, spec)| {
        let content = Content::Http(httproute::judge(snapshot, object, spec));
        route(snapshot, gateways, Kind::HttpRoute, object, (&spec.parent_refs, &spec.hostnames), content)
    });
    let grpc = snapshot.grpc_routes().map(|(object, spec)| {
        let content = Content::Http(grpcroute::judge(snapshot, object, spec));
        route(snapshot, gateways, Kind::GrpcRoute, object, (&spec.parent_refs, &spec.hostnames), content)
    });
    let tcp = snapshot.tcp_routes().map(|(object, spec)| (Kind::TcpRoute, object, spec));
    let udp = snapshot.udp_routes().map(|(object, spec)| (Kind::UdpRoute, object, spec));
    let layer_4 = tcp.chain(udp).map(|(kind, object, spec)| {
        let content = Content::Tcp(tcproute::judge(snapshot, kind, object, spec));
        route(snapshot, gateways, kind, object, (&spec.parent_refs, &[]), content)
    });
    let tls = snapshot.tls_routes().map(|(object, spec)| {
        let content = Content::Tcp(tcproute::judge_tls(snapshot, object, spec));
        route(snapshot, gateways, Kind::TlsRoute, object, (&spec.parent_refs, &spec.hostnames), content)
    });
    let mut all: Vec<_> = http.chain(grpc).chain(layer_4).chain(tls).collect();
    all.sort_by_key(|route| route.object.meta.precedence());
    Routes { all }
}

fn route<'a>(
    snapshot: &Snapshot,
    gateways: &[Gateway<'_>],
    kind: Kind,
    object: &'a Object,
    (references, hostnames): (&'a [ParentRef], &'a [String]),
    content: Content,
) -> RouteState<'a> {
    let parents = references.iter().filter_map(|reference| {
        let (index, set) = find(gateways, reference, &object.meta.namespace)?;
        Some(match attach(snapshot, (index, &gateways[index], set), kind, object, hostnames, reference) {
            Ok(at) => Parent { reference, accepted: content.accepted(), at },
            Err(refused) => Parent { reference, accepted: refused, at: Vec::new() },
        })
    });
    let parents = parents.collect();
    RouteState { kind, object, content, parents }
}

/// The Gateway that a parentRef leads to, and which of its ListenerSets it names, if it names one.
fn find(gateways: &[Gateway<'_>], reference: &ParentRef, own: &str) -> Option<(usize, Option<usize>)> {
    let namespace = reference.namespace.as_deref().unwrap_or(own);
    let is = |object: &Object| object.meta.namespace == namespace && object.meta.name == reference.name;
    if reference.is_gateway() {
        return gateways.iter().position(|gateway| is(gateway.object)).map(|index| (index, None));
    }
    let set = |gateway: &Gateway<'_>| gateway.sets.iter().position(|set| is(set.object));
    let found = || gateways.iter().enumerate().find_map(|(index, gateway)| Some((index, Some(set(gateway)?))));
    reference.is_listener_set().then(found).flatten()
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
