use gateproof_proxy::config::{TcpBackend, TcpTarget};

use super::{
    backends,
    httproute::{Dropped, Judged},
};
use crate::{
    model::{TcpRouteSpec, TcpRule, TlsRouteSpec},
    snapshot::{Kind, Object, Snapshot},
};

/// Judges a TCPRoute or a UDPRoute. A backend that does not resolve refuses its share of connections, or drops its share of
/// datagrams, and leaves the route accepted (GEP-2644, GEP-2645). Nothing in a connection can choose between rules, so only the first can have an effect.
pub(crate) fn judge(snapshot: &Snapshot, kind: Kind, route: &Object, spec: &TcpRouteSpec) -> Judged<Vec<TcpBackend>> {
    rules(snapshot, kind, route, &spec.rules)
}

/// Judges a TLSRoute, likewise: its hostnames choose between routes, and nothing between rules.
pub(crate) fn judge_tls(snapshot: &Snapshot, route: &Object, spec: &TlsRouteSpec) -> Judged<Vec<TcpBackend>> {
    rules(snapshot, Kind::TlsRoute, route, &spec.rules)
}

fn rules(snapshot: &Snapshot, kind: Kind, route: &Object, rules: &[TcpRule]) -> Judged<Vec<TcpBackend>> {
    let mut judged = Judged { rules: Vec::new(), dropped: Vec::new(), problems: Vec::new() };
    for (index, rule) in rules.iter().enumerate() {
        let backends = rule.backend_refs.iter().map(|reference| {
            let id = backends::describe(route, reference);
            let target = match backends::resolve(snapshot, kind, route, reference) {
                Ok(to) => TcpTarget::Endpoints(to.endpoints),
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
