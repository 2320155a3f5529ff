use gateproof_proxy::config::{TcpBackend, TcpTarget};

use super::{
    backends::{self, Destination},
    httproute::{Dropped, Judged},
};
use crate::{
    model::{TcpRouteSpec, TcpRule, TlsRouteSpec},
    snapshot::{Kind, Object, Snapshot},
};

/// Judges a TCPRoute or a UDPRoute. A backend that does not resolve refuses its share of connections, or drops its share of
/// datagrams, and leaves the route accepted (GEP-2644, GEP-2645). Nothing in a connection can choose between rules, so only the first can have an effect.
pub(crate) fn judge(snapshot: &Snapshot, kind: Kind, route: &Object, spec: &TcpRouteSpec) -> Judged<Vec<TcpBackend>> {
    rules(snapshot, kind, route, &spec.rules, plainly)
}

/// Judges a TLSRoute, likewise: its hostnames choose between routes, and nothing between rules.
pub(crate) fn judge_tls(snapshot: &Snapshot, route: &Object, spec: &TlsRouteSpec) -> Judged<Vec<TcpBackend>> {
    rules(snapshot, Kind::TlsRoute, route, &spec.rules, plainly)
}

/// Where a TLSRoute forwards what a listener took out of TLS: to backends with a policy within TLS again, and to one whose policy
/// cannot be carried out not at all.
pub(crate) fn protected(snapshot: &Snapshot, route: &Object) -> Option<Vec<TcpBackend>> {
    let (_, spec) = snapshot.tls_route(&route.meta.namespace, &route.meta.name)?;
    let target = |to: Destination| match to.tls {
        None => TcpTarget::Endpoints(to.endpoints),
        Some(Ok(tls)) => TcpTarget::Encrypted { endpoints: to.endpoints, tls },
        Some(Err(reason)) => TcpTarget::Refuse { reason },
    };
    rules(snapshot, Kind::TlsRoute, route, &spec.rules, target).rules.into_iter().next()
}

fn plainly(to: Destination) -> TcpTarget {
    TcpTarget::Endpoints(to.endpoints)
}

fn rules(
    snapshot: &Snapshot,
    kind: Kind,
    route: &Object,
    rules: &[TcpRule],
    target: fn(Destination) -> TcpTarget,
) -> Judged<Vec<TcpBackend>> {
    let mut judged = Judged { rules: Vec::new(), dropped: Vec::new(), problems: Vec::new() };
    for (index, rule) in rules.iter().enumerate() {
        let backends = rule.backend_refs.iter().map(|reference| {
            let id = backends::describe(route, reference);
            let target = match backends::resolve(snapshot, kind, route, reference) {
                Ok(to) => target(to),
                Err(problem) => {
                    let reason = problem.message.clone();
                    judged.problems.push(problem);
                    TcpTarget::Refuse { reason }
                }
            };
            TcpBackend { id, weight: reference.weight.unwrap_or(1), target }
        });
        let backends = backends.collect();
        if index == 0 {
            judged.rules.push(backends);
        } else {
            let message = "nothing tells its traffic from that of rule 0".into();
            judged.dropped.push((index, Dropped { reason: "UnsupportedValue", message }));
        }
    }
    judged
}
