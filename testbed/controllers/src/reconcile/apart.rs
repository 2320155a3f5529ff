//! HTTPRoutes and GRPCRoutes that want one host of a listener, where it is for one kind alone.

use gateproof_proxy::config::Hostname;

use super::{
    attach::{Place, Routes},
    hostname::intersect,
    verdict::Verdict,
};
use crate::snapshot::Kind;

/// Refuses every entry of an HTTPRoute or GRPCRoute that leads to a listener where an older route of the other kind has a host
/// that it wants too. One that is refused itself keeps nobody out.
pub(crate) fn refuse_younger(routes: &mut Routes<'_>) {
    let mut taken: Vec<(Kind, (usize, usize), Vec<Hostname>)> = Vec::new();
    // They are in the order in which they came.
    for route in &mut routes.all {
        let kind = route.kind;
        if !matches!(kind, Kind::HttpRoute | Kind::GrpcRoute) {
            continue;
        }
        for parent in route.parents.iter_mut().filter(|parent| parent.accepted.is_true()) {
            let is_taken = |place: &Place| {
                taken.iter().any(|(of, at, hosts)| {
                    *of != kind && *at == (place.gateway, place.listener) && meet(hosts, &place.hostnames)
                })
            };
            if parent.at.iter().any(is_taken) {
                let message = "an older route of the other kind has a host of it at the same listener";
                parent.accepted = Verdict::no("NotAllowedByListeners", message);
            } else {
                let own = parent.at.iter().map(|at| (kind, (at.gateway, at.listener), at.hostnames.clone()));
                taken.extend(own);
            }
        }
    }
}

/// Whether some host is of both; no hostnames are every host.
fn meet(one: &[Hostname], other: &[Hostname]) -> bool {
    one.is_empty()
        || other.is_empty()
        || one.iter().any(|host| other.iter().any(|with| intersect(host, with).is_some()))
}
