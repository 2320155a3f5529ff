//! Which policy for TLS to backends is in force where.

use std::collections::BTreeMap;

use gateproof_proxy::config::{BackendTarget, Config, Filter, PeerName, Route};
use serde_json::json;

use super::Bug;
use crate::{
    faults::{
        Fault, Seam,
        policies::encrypted,
        tools::{each, rules, serve, serve_from},
    },
    snapshot::{Kind, ObjectKey, Snapshot},
};

/// Lets every backend of a rule be spoken to as the first one is.
fn speak_as_to_the_first(rule: &mut Route) {
    let Some(first) = rule.backends.first().map(|backend| backend.target.clone()) else { return };
    for backend in rule.backends.iter_mut().skip(1) {
        let endpoints = backend.target.endpoints().to_vec();
        match &first {
            _ if endpoints.is_empty() => {}
            BackendTarget::Tls { h2, tls, .. } => {
                backend.target = BackendTarget::Tls { endpoints, h2: *h2, tls: tls.clone() };
            }
            _ => backend.target = BackendTarget::Endpoints(endpoints),
        }
    }
}

/// Copies requests in clear text.
fn copy_in_clear_text(config: &mut Config) {
    let of_rule = |rule: &mut Route| {
        let of_backends = rule.backends.iter_mut().flat_map(|backend| &mut backend.filters);
        for filter in rule.filters.iter_mut().chain(of_backends) {
            if let Filter::RequestMirror(mirror) = filter
                && let BackendTarget::Tls { endpoints, .. } = &mirror.target
            {
                mirror.target = BackendTarget::Endpoints(endpoints.clone());
            }
        }
    };
    rules(config).for_each(of_rule);
}

/// Lets the first of the policies for Services of one name be in force for all to which one route leads.
fn look_at_names_alone(snapshot: &mut Snapshot) {
    let mut namespaces: BTreeMap<ObjectKey, ObjectKey> = BTreeMap::new();
    for (route, spec) in snapshot.http_routes() {
        let mut first: BTreeMap<&str, ObjectKey> = BTreeMap::new();
        for backend in spec.rules.iter().flat_map(|rule| &rule.backend_refs) {
            let namespace = backend.namespace.as_deref().filter(|namespace| !namespace.is_empty());
            let key = ObjectKey::new(namespace.unwrap_or(&route.meta.namespace), &backend.name);
            let known = first.entry(&backend.name).or_insert_with(|| key.clone());
            if *known != key {
                namespaces.insert(key, known.clone());
            }
        }
    }
    let of = |snapshot: &Snapshot, service: &ObjectKey| {
        let mut policies = snapshot.all(Kind::BackendTlsPolicy).filter(|policy| {
            policy.meta.namespace == service.namespace
                && policy.raw["spec"]["targetRefs"][0]["name"] == service.name.as_str()
        });
        policies.next().map(|policy| policy.raw["spec"]["validation"]["hostname"].clone())
    };
    let known = snapshot.clone();
    snapshot.edit(Kind::BackendTlsPolicy, |policy| {
        let text = |value: &serde_json::Value| value.as_str().unwrap_or_default().to_owned();
        let name = text(&policy["spec"]["targetRefs"][0]["name"]);
        let own = ObjectKey::new(text(&policy["metadata"]["namespace"]), &name);
        if let Some(hostname) = namespaces.get(&own).and_then(|first| of(&known, first)) {
            policy["spec"]["validation"]["hostname"] = hostname;
        }
    });
}

/// Speaks to the backends of a rule that rewrites the host as if their policies named that host.
fn name_as_rewritten(rule: &mut Route) {
    let rewritten = rule.filters.iter().find_map(|filter| match filter {
        Filter::UrlRewrite(rewrite) => rewrite.hostname.clone(),
        _ => None,
    });
    let Some(host) = rewritten else { return };
    for backend in &mut rule.backends {
        if let BackendTarget::Tls { tls, .. } = &mut backend.target {
            tls.server_name.clone_from(&host);
            tls.names.clear();
        }
    }
}

pub(super) const BUGS: &[Bug] = &[
    Bug {
        fault: Fault {
            name: "encrypts-shares-as-the-first",
            summary: "Speaks to all backends of a rule as the policy of the first one, or none, has it.",
            clauses: &["upstream:BackendTLSPolicy"],
            seam: Seam::Config(|| serve(|_, config| rules(config).for_each(speak_as_to_the_first))),
        },
        reported: &["envoyproxy/gateway#2774"],
    },
    Bug {
        fault: Fault {
            name: "mirrors-in-clear-text",
            summary: "Copies requests in clear text to a mirror that has a policy for TLS.",
            clauses: &["upstream:BackendTLSPolicy"],
            seam: Seam::Config(|| serve(|_, config| copy_in_clear_text(config))),
        },
        reported: &["lexfrei/cloudflare-tunnel-gateway-controller#343"],
    },
    Bug {
        fault: Fault {
            name: "takes-other-targets-for-services",
            summary: "Looks at the name of a policy's target alone, whatever kind it is of.",
            clauses: &["upstream:BackendTLSPolicy"],
            seam: Seam::Config(|| {
                serve_from(|snapshot| {
                    snapshot.edit(Kind::BackendTlsPolicy, |policy| {
                        for target in each(policy, "/spec/targetRefs") {
                            target["group"] = json!("");
                            target["kind"] = json!("Service");
                        }
                    });
                })
            }),
        },
        reported: &["apache/apisix-ingress-controller#2796"],
    },
    Bug {
        fault: Fault {
            name: "looks-for-policies-by-name-alone",
            summary: "Takes the policy for a Service of another namespace that has the same name.",
            clauses: &["upstream:BackendTLSPolicy"],
            seam: Seam::Config(|| serve_from(look_at_names_alone)),
        },
        reported: &["envoyproxy/gateway#3409"],
    },
    Bug {
        fault: Fault {
            name: "takes-common-names-of-backends",
            summary: "Takes what the subject of a backend's certificate is called for a name that it is for.",
            clauses: &["OWN-67"],
            seam: Seam::Config(|| {
                serve(|_, config| {
                    for tls in encrypted(config).filter(|tls| tls.names.is_empty()) {
                        let name = tls.server_name.clone();
                        tls.names = vec![PeerName::Dns(name.clone()), PeerName::CommonName(name)];
                    }
                })
            }),
        },
        reported: &["haproxy/haproxy#3486"],
    },
    Bug {
        fault: Fault {
            name: "names-backends-as-rewritten",
            summary: "Takes the host that a rule rewrites to for the server name of its backends, and for the name that they have to show.",
            clauses: &["upstream:BackendTLSPolicy"],
            seam: Seam::Config(|| serve(|_, config| rules(config).for_each(name_as_rewritten))),
        },
        reported: &["emissary-ingress/emissary#449", "apache/apisix#3864"],
    },
];
