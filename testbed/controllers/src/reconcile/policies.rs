//! Policies for TLS to backends.

use std::collections::BTreeSet;

use gateproof_proxy::config::{Authorities, BackendTls, PeerName};

use super::{
    attach::{Place, RouteState, Routes},
    authorities::Source,
    gateway::Gateway,
    installed,
    verdict::{Problem, Verdict, resolved_refs},
};
use crate::{
    model::{AuthorityRef, BackendRef, BackendTlsPolicySpec, GATEWAY_GROUP, ParentRef, ServicePort, TargetRef},
    settings::Settings,
    snapshot::{Object, Snapshot},
    status::{Condition, DesiredStatus, ParentStatus, StatusUpdate},
};

/// How a Service port is talked to, as the policy that is in force for it says; nothing without one. A policy that cannot be
/// carried out keeps all traffic away, for what it was to protect would go out unprotected.
pub(crate) fn encryption(
    snapshot: &Snapshot,
    namespace: &str,
    service: &str,
    port: &ServicePort,
) -> Option<Result<BackendTls, String>> {
    let section = port.name.as_deref().filter(|name| !name.is_empty());
    let of_port = section.and_then(|section| in_force(snapshot, namespace, service, Some(section)));
    let (object, spec) = of_port.or_else(|| in_force(snapshot, namespace, service, None))?;
    let judged = judge(snapshot, &object.meta.namespace, spec);
    Some(judged.tls.map_err(|refused| format!("BackendTLSPolicy {}: {}", object.key(), refused.message)))
}

/// Of the policies for exactly this part of a Service the oldest.
fn in_force<'a>(
    snapshot: &'a Snapshot,
    namespace: &str,
    service: &str,
    section: Option<&str>,
) -> Option<(&'a Object, &'a BackendTlsPolicySpec)> {
    let is_meant = |target: &TargetRef| is_service(target, service) && section_of(target) == section;
    let here = snapshot.backend_tls_policies().filter(|(object, _)| object.meta.namespace == namespace);
    here.filter(|(_, spec)| spec.target_refs.iter().any(is_meant)).min_by_key(|(object, _)| object.meta.precedence())
}

fn is_service(target: &TargetRef, name: &str) -> bool {
    (target.group.as_str(), target.kind.as_str(), target.name.as_str()) == ("", "Service", name)
}

fn section_of(target: &TargetRef) -> Option<&str> {
    target.section_name.as_deref().filter(|section| !section.is_empty())
}

/// What the validation of a policy comes to.
struct Judged {
    resolved: Verdict,
    /// What to do, or `Accepted` if that cannot be done.
    tls: Result<BackendTls, Verdict>,
}

fn judge(snapshot: &Snapshot, namespace: &str, spec: &BackendTlsPolicySpec) -> Judged {
    let validation = &spec.validation;
    let (mut pem, mut problems) = (String::new(), Vec::new());
    for reference in &validation.ca_certificate_refs {
        match authority(snapshot, namespace, reference) {
            Ok(bundle) => pem.push_str(&format!("{bundle}\n")),
            Err(problem) => problems.push(problem),
        }
    }
    let resolved = resolved_refs(&problems);
    let authorities = match validation.well_known_ca_certificates.as_deref().filter(|name| !name.is_empty()) {
        _ if !pem.is_empty() => Ok(Authorities::Pem(pem)),
        _ if !problems.is_empty() => {
            // Releases before v1.4 have no reason of their own for it.
            let reason = if installed::is_since(snapshot, 4) { "NoValidCACertificate" } else { "Invalid" };
            Err(Verdict::no(reason, resolved.message.clone()))
        }
        Some("System") => Ok(Authorities::System),
        Some(other) => {
            Err(Verdict::no("Invalid", format!("wellKnownCACertificates {other} is not known: only System is")))
        }
        None => Err(Verdict::no("Invalid", "It names no authority")),
    };
    let names = validation.subject_alt_names.iter().map(|name| match name.r#type.as_str() {
        "Hostname" => Ok(PeerName::Dns(name.hostname.clone())),
        "URI" => Ok(PeerName::Uri(name.uri.clone())),
        other => Err(Verdict::no("Invalid", format!("subjectAltNames of type {other} are not known"))),
    });
    let names: Result<Vec<_>, Verdict> = names.collect();
    let server_name = validation.hostname.clone();
    let tls =
        authorities.and_then(|authorities| Ok(BackendTls { server_name, authorities, names: names?, client: None }));
    Judged { resolved, tls }
}

/// The bundle of a reference, or why it cannot be had.
fn authority(snapshot: &Snapshot, namespace: &str, reference: &AuthorityRef) -> Result<String, Problem> {
    let AuthorityRef { group, kind, name } = reference;
    let what = format!("caCertificateRef {kind} {name}");
    let source =
        Source::of(snapshot, group, kind).map_err(|why| Problem::new("InvalidKind", format!("{what} {why}")))?;
    source
        .read(snapshot, namespace, name)
        .map_err(|why| Problem::new("InvalidCACertificateRef", format!("{what}{why}")))
}

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
        if let Some(section) = section
            && !service.ports.iter().any(|port| port.name.as_deref() == Some(section))
        {
            return Some(Verdict::no("TargetNotFound", format!("Service {} has no port {section}", target.name)));
        }
        let (first, _) = in_force(snapshot, namespace, &target.name, section)?;
        let message = || format!("BackendTLSPolicy {} for the same target takes precedence", first.key());
        (first.meta.name != policy.meta.name).then(|| Verdict::no("Conflicted", message()))
    })
}
