//! What such mistakes do that are made in the one shape of objects that a case of upstream's tests has.

use std::collections::{BTreeMap, BTreeSet};

use gateproof_proxy::config::{
    Authorities, BackendTarget, Config, Hostname, HttpListener, PeerName, Protocol, VirtualHost,
};
use serde_json::{Value, json};

use crate::{
    faults::tools::{backends, each, has_reason, is, parents, set, written_listeners},
    runtime::seams::{Seen, StatusesSeam},
    snapshot::{Kind, ObjectKey, Snapshot},
    status::{DesiredStatus, StatusUpdate, Truth},
};

const PROTOCOLS: [&str; 5] = ["HTTP", "HTTPS", "TLS", "TCP", "UDP"];

fn list<'a>(object: &'a Value, pointer: &str) -> impl Iterator<Item = &'a Value> {
    object.pointer(pointer).and_then(Value::as_array).into_iter().flatten()
}

fn is_wildcard(hostname: &Value) -> bool {
    hostname.as_str().is_some_and(|hostname| hostname.starts_with("*."))
}

/// Takes protocols of listeners that stand for no domain, and that nobody knows, for HTTP.
pub(super) fn speak_http(snapshot: &mut Snapshot) {
    let is_unknown = |protocol: &str| !protocol.contains('/') && !PROTOCOLS.contains(&protocol);
    snapshot.edit(Kind::Gateway, |gateway| {
        for listener in each(gateway, "/spec/listeners") {
            if listener["protocol"].as_str().is_some_and(is_unknown) {
                listener["protocol"] = json!("HTTP");
            }
        }
    });
}

/// Says of a ListenerSet none of whose listeners lets a route in that it has no listener for it.
pub(super) fn find_no_listeners(statuses: &mut [StatusUpdate]) {
    for update in statuses.iter_mut().filter(|update| update.kind == Kind::HttpRoute) {
        for parent in parents(std::slice::from_mut(update)) {
            let of = &parent.parent_ref;
            if of.is_listener_set()
                && of.section_name.is_none()
                && has_reason(&parent.conditions, "Accepted", "NotAllowedByListeners")
            {
                set(&mut parent.conditions, "Accepted", Truth::False, "NoMatchingParent");
            }
        }
    }
}

/// Refuses ListenerSets one of whose listeners has lost for its protocol on a port that the Gateway has no listener on.
pub(super) fn refuse_losers(seen: Seen<'_>, statuses: &mut [StatusUpdate]) {
    for update in statuses {
        let DesiredStatus::ListenerSet { conditions, listeners } = &mut update.status else { continue };
        let Some(of) = seen.snapshot.get(Kind::ListenerSet, &update.key.namespace, &update.key.name) else { continue };
        let gateway = &of.raw["spec"]["parentRef"];
        let namespace = gateway["namespace"].as_str().unwrap_or(&update.key.namespace);
        let name = gateway["name"].as_str().unwrap_or_default();
        let ports: Vec<&Value> = written_listeners(seen.snapshot, namespace, name).map(|one| &one["port"]).collect();
        let is_lost = |name: &str| {
            list(&of.raw, "/spec/listeners").any(|one| one["name"] == name && !ports.contains(&&one["port"]))
        };
        let mut lost = listeners.iter().filter(|one| has_reason(&one.conditions, "Conflicted", "ProtocolConflict"));
        if lost.any(|one| is_lost(&one.name)) {
            set(conditions, "Accepted", Truth::False, "ListenersNotValid");
            set(conditions, "Programmed", Truth::False, "ListenersNotValid");
        }
    }
}

/// Accepts TLSRoutes with a wildcard at listeners with another one.
pub(super) fn let_wildcards_in(seen: Seen<'_>, statuses: &mut [StatusUpdate]) {
    for update in statuses.iter_mut().filter(|update| update.kind == Kind::TlsRoute) {
        let own = update.key.clone();
        let route = seen.snapshot.get(Kind::TlsRoute, &own.namespace, &own.name);
        if !route.is_some_and(|route| list(&route.raw, "/spec/hostnames").any(is_wildcard)) {
            continue;
        }
        for parent in parents(std::slice::from_mut(update)) {
            let of = &parent.parent_ref;
            let namespace = of.namespace.as_deref().unwrap_or(&own.namespace);
            let is_meant = |one: &Value| of.section_name.as_deref().is_none_or(|section| one["name"] == section);
            let mut named = written_listeners(seen.snapshot, namespace, &of.name).filter(|one| is_meant(one));
            if named.any(|one| is_wildcard(&one["hostname"]))
                && has_reason(&parent.conditions, "Accepted", "NoMatchingListenerHostname")
            {
                set(&mut parent.conditions, "Accepted", Truth::True, "Accepted");
            }
        }
    }
}

/// Accepts TLSRoutes that name no section at Gateways that have HTTPS listeners and none of TLS.
pub(super) fn accept_at_https(seen: Seen<'_>, statuses: &mut [StatusUpdate]) {
    for update in statuses.iter_mut().filter(|update| update.kind == Kind::TlsRoute) {
        let own = update.key.namespace.clone();
        for parent in parents(std::slice::from_mut(update)) {
            let of = &parent.parent_ref;
            let namespace = of.namespace.as_deref().unwrap_or(&own);
            let speaks = |protocol: &str| {
                written_listeners(seen.snapshot, namespace, &of.name).any(|one| one["protocol"] == protocol)
            };
            if of.is_gateway() && of.section_name.is_none() && speaks("HTTPS") && !speaks("TLS") {
                set(&mut parent.conditions, "Accepted", Truth::True, "Accepted");
            }
        }
    }
}

/// Says nothing of policies for Services without an endpoint that is ready.
pub(super) fn skip_idle(seen: Seen<'_>, statuses: &mut [StatusUpdate]) {
    for update in statuses {
        let DesiredStatus::Policy { ancestors } = &mut update.status else { continue };
        let namespace = &update.key.namespace;
        let Some(policy) = seen.snapshot.get(Kind::BackendTlsPolicy, namespace, &update.key.name) else { continue };
        let is_served = |service: &str| {
            let mut slices = seen.snapshot.endpoint_slices().filter(|(slice, _)| {
                slice.meta.namespace == *namespace
                    && slice.meta.labels.get("kubernetes.io/service-name").is_some_and(|of| of == service)
            });
            slices.any(|(_, slice)| slice.endpoints.iter().any(|endpoint| endpoint.is_ready()))
        };
        if !list(&policy.raw, "/spec/targetRefs").any(|target| target["name"].as_str().is_some_and(is_served)) {
            ancestors.clear();
        }
    }
}

/// Lists no kinds of listeners that a Gateway did not have when it was first seen.
#[derive(Default)]
pub(super) struct ListsFirst(BTreeMap<ObjectKey, BTreeSet<String>>);

impl StatusesSeam for ListsFirst {
    fn edit(&mut self, _: Seen<'_>, statuses: &mut Vec<StatusUpdate>) {
        for update in statuses {
            let DesiredStatus::Gateway { listeners, .. } = &mut update.status else { continue };
            let names = || listeners.iter().map(|listener| listener.name.clone()).collect();
            let first = self.0.entry(update.key.clone()).or_insert_with(names);
            for listener in listeners.iter_mut().filter(|listener| !first.contains(&listener.name)) {
                if is(&listener.conditions, "ResolvedRefs", Truth::True) {
                    listener.supported_kinds.clear();
                }
            }
        }
    }
}

/// Reads the appProtocol HTTPS as one that nobody speaks.
pub(super) fn forget_https(snapshot: &mut Snapshot) {
    snapshot.edit(Kind::Service, |service| {
        for port in each(service, "/spec/ports").filter(|port| port["appProtocol"] == "HTTPS") {
            port["appProtocol"] = json!("kubernetes.io/unheard-of");
        }
    });
}

/// Takes ports that do not say what they speak, of Services with a policy, for such of HTTP/1.1.
pub(super) fn speak_http_1(snapshot: &mut Snapshot) {
    let policies = snapshot.all(Kind::BackendTlsPolicy).flat_map(|policy| {
        let targets = list(&policy.raw, "/spec/targetRefs").filter_map(|target| target["name"].as_str());
        targets.map(move |name| (policy.meta.namespace.clone(), name.to_owned()))
    });
    let encrypted: BTreeSet<(String, String)> = policies.collect();
    snapshot.edit(Kind::Service, |service| {
        let part = |name: &str| service["metadata"][name].as_str().unwrap_or_default().to_owned();
        if encrypted.contains(&(part("namespace"), part("name"))) {
            for port in each(service, "/spec/ports").filter(|port| port["appProtocol"].is_null()) {
                port["appProtocol"] = json!("http");
            }
        }
    });
}

/// Believes whatever certificate is shown at ports whose appProtocol is HTTPS.
pub(super) fn believe_https(seen: Seen<'_>, config: &mut Config) {
    for backend in backends(config) {
        let service = backend.id.rsplit_once(':').and_then(|(service, _)| service.split_once('/'));
        let Some((namespace, name)) = service else { continue };
        let of = seen.snapshot.service(namespace, name);
        let is_https =
            of.is_some_and(|(_, of)| of.ports.iter().any(|port| port.app_protocol.as_deref() == Some("HTTPS")));
        if let BackendTarget::Tls { tls, .. } = &mut backend.target
            && is_https
        {
            (tls.authorities, tls.names) = (Authorities::Any, vec![PeerName::Any]);
        }
    }
}

/// Changes what is served by HTTP in clear text, port by port.
pub(super) fn of_http(config: &mut Config, change: fn(&mut HttpListener)) {
    for lane in &mut config.listeners {
        if let Protocol::Http(http) = &mut lane.protocol {
            change(http);
        }
    }
}

/// Serves for a single host what a listener has whose wildcard is wider than another one that covers the host, too.
pub(super) fn share_outer(http: &mut HttpListener) {
    let known = http.virtual_hosts.clone();
    for host in &mut http.virtual_hosts {
        let Hostname::Exact(name) = &host.hostname else { continue };
        let width = |of: &VirtualHost| match &of.hostname {
            Hostname::Wildcard(suffix) => {
                name.strip_suffix(suffix.as_str()).is_some_and(|rest| rest.ends_with('.')).then_some(suffix.len())
            }
            _ => None,
        };
        let mut above: Vec<(usize, &VirtualHost)> = known.iter().filter_map(|of| Some((width(of)?, of))).collect();
        above.sort_by_key(|(width, _)| *width);
        if let [(outer, of), .., (inner, _)] = above.as_slice()
            && outer < inner
        {
            host.routes.extend(of.routes.clone());
        }
    }
}

/// Serves under a wildcard the routes of other listeners that write it.
pub(super) fn lend_wildcards(http: &mut HttpListener) {
    let known = http.virtual_hosts.clone();
    for host in http.virtual_hosts.iter_mut().filter(|host| matches!(host.hostname, Hostname::Wildcard(_))) {
        let others = known.iter().filter(|of| of.hostname != host.hostname).flat_map(|of| &of.routes);
        let more: Vec<_> = others.filter(|rule| rule.hostnames.contains(&host.hostname)).cloned().collect();
        host.routes.extend(more);
    }
}
