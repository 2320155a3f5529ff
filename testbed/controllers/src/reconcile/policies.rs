//! What is said of policies for TLS to backends.

use std::collections::BTreeSet;

use super::{
    attach::{Place, RouteState, Routes},
    encryption::{in_force, is_service, judge, section_of},
    gateway::Gateway,
    installed,
    verdict::Verdict,
};
use crate::{
    model::{BackendRef, BackendTlsPolicySpec, GATEWAY_GROUP, ParentRef, ServicePort},
    settings::Settings,
    snapshot::{Object, Snapshot},
    status::{Condition, DesiredStatus, ParentStatus, StatusUpdate},
};

/// Desired `status.ancestors` of every policy that applies under a Gateway of ours, or has an entry of ours that has to go.
pub(crate) fn statuses(
    snapshot: &Snapshot,
    gateways: &[Gateway<'_>],
    routes: &Routes<'_>,
    settings: &Settings,
) -> Vec<StatusUpdate> {
    let status = |(object, spec): (&Object, &BackendTlsPolicySpec)| {
        let above = ancestors(snapshot, object, spec, (gateways, routes));
        let entries = object.raw.pointer("/status/ancestors").and_then(serde_json::Value::as_array);
        let left_over = |entry: &serde_json::Value| entry["controllerName"] == settings.controller_name.as_str();
        if above.is_empty() && !entries.is_some_and(|entries| entries.iter().any(left_over)) {
            return None;
        }
        let conditions = conditions(snapshot, object, spec);
        let ancestors = above.into_iter().map(|index| ParentStatus {
            parent_ref: reference(gateways[index].object),
            controller_name: settings.controller_name.clone(),
            conditions: conditions.clone(),
        });
        let update = StatusUpdate {
            kind: crate::snapshot::Kind::BackendTlsPolicy,
            key: object.key(),
            generation: object.meta.generation,
            controller_name: settings.controller_name.clone(),
            status: DesiredStatus::Policy { ancestors: ancestors.collect() },
        };
        Some(update.stamped())
    };
    snapshot.backend_tls_policies().filter_map(status).collect()
}

fn reference(gateway: &Object) -> ParentRef {
    ParentRef {
        group: Some(GATEWAY_GROUP.into()),
        kind: Some("Gateway".into()),
        namespace: Some(gateway.meta.namespace.clone()),
        name: gateway.meta.name.clone(),
        ..ParentRef::default()
    }
}

/// The Gateways, by index, with a route that sends traffic to a target of the policy.
fn ancestors(
    snapshot: &Snapshot,
    policy: &Object,
    spec: &BackendTlsPolicySpec,
    (gateways, routes): (&[Gateway<'_>], &Routes<'_>),
) -> BTreeSet<usize> {
    let leads_here = |route: &&RouteState<'_>| {
        let is_target = |reference: &BackendRef| {
            let namespace = reference.namespace.as_deref().filter(|namespace| !namespace.is_empty());
            namespace.unwrap_or(&route.object.meta.namespace) == policy.meta.namespace
                && (&*reference.group, &*reference.kind) == ("", "Service")
                && spec.target_refs.iter().any(|target| is_service(target, &reference.name))
        };
        references(snapshot, route).into_iter().any(is_target)
    };
    // Who passes TLS on has no part in it.
    let ends = |route: &RouteState<'_>, place: &Place| {
        let listener = gateways.get(place.gateway).and_then(|gateway| gateway.listeners.get(place.listener));
        route.kind != crate::snapshot::Kind::TlsRoute || listener.is_some_and(|listener| listener.terminates())
    };
    let places = |route| RouteState::places(route).filter(move |place| ends(route, place)).map(|place| place.gateway);
    routes.all.iter().filter(leads_here).flat_map(places).collect()
}

/// Where a route sends requests, and copies of them.
fn references<'a>(snapshot: &'a Snapshot, route: &RouteState<'_>) -> Vec<&'a BackendRef> {
    let (namespace, name) = (&route.object.meta.namespace, &route.object.meta.name);
    let mut found = Vec::new();
    let mut take = |backends: &'a [BackendRef], filters: &'a [crate::model::HttpFilter]| {
        let of_backends = backends.iter().flat_map(|backend| &backend.filters);
        let mirrors = filters.iter().chain(of_backends).filter_map(|filter| filter.request_mirror.as_ref());
        found.extend(mirrors.map(|mirror| &mirror.backend_ref));
        found.extend(backends);
    };
    match route.kind {
        crate::snapshot::Kind::HttpRoute => {
            let rules = snapshot.http_route(namespace, name).map(|(_, spec)| spec.rules.as_slice());
            rules.into_iter().flatten().for_each(|rule| take(&rule.backend_refs, &rule.filters));
        }
        crate::snapshot::Kind::GrpcRoute => {
            let rules = snapshot.grpc_route(namespace, name).map(|(_, spec)| spec.rules.as_slice());
            rules.into_iter().flatten().for_each(|rule| take(&rule.backend_refs, &rule.filters));
        }
        crate::snapshot::Kind::TlsRoute => {
            let rules = snapshot.tls_route(namespace, name).map(|(_, spec)| spec.rules.as_slice());
            rules.into_iter().flatten().for_each(|rule| take(&rule.backend_refs, &[]));
        }
        _ => {}
    }
    found
}

fn conditions(snapshot: &Snapshot, policy: &Object, spec: &BackendTlsPolicySpec) -> Vec<Condition> {
    let judged = judge(snapshot, &policy.meta.namespace, spec);
    let accepted = targets(snapshot, policy, spec)
        .or(judged.tls.err())
        .unwrap_or_else(|| Verdict::yes("Accepted", "Connections to the target are encrypted"));
    let mut conditions = vec![accepted.condition("Accepted")];
    if installed::is_since(snapshot, 4) {
        conditions.push(judged.resolved.condition("ResolvedRefs"));
    }
    conditions
}

/// Why the policy cannot have one of its targets, if it cannot.
fn targets(snapshot: &Snapshot, policy: &Object, spec: &BackendTlsPolicySpec) -> Option<Verdict> {
    let namespace = &policy.meta.namespace;
    spec.target_refs.iter().find_map(|target| {
        let section = section_of(target);
        let service = snapshot.service(namespace, &target.name).filter(|_| is_service(target, &target.name));
        let Some((_, service)) = service else {
            return Some(Verdict::no("TargetNotFound", format!("there is no {} {}", target.kind, target.name)));
        };
        let mut meant =
            service.ports.iter().filter(|port| section.is_none() || port.name.as_deref() == section).peekable();
        if let Some(section) = section.filter(|_| meant.peek().is_none()) {
            return Some(Verdict::no("TargetNotFound", format!("Service {} has no port {section}", target.name)));
        }
        let is_of_datagrams = |port: &ServicePort| port.protocol.as_deref() == Some("UDP");
        if (section.is_some() || service.ports.len() == 1) && meant.all(is_of_datagrams) {
            return Some(Verdict::no(
                "Invalid",
                format!("Service {} has a UDP port there, and TLS is for TCP", target.name),
            ));
        }
        let (first, _) = in_force(snapshot, namespace, &target.name, section)?;
        let message = || format!("BackendTLSPolicy {} for the same target takes precedence", first.key());
        (first.meta.name != policy.meta.name).then(|| Verdict::no("Conflicted", message()))
    })
}
