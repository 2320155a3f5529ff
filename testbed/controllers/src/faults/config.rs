use std::time::Duration;

use gateproof_proxy::config::{
    BackendTarget, Config, Filter, Fraction, Hostname, PathMatch, PathModifier, Protocol, Route, Timeouts, TlsListener,
    ValueMatch, VirtualHost,
};
use serde_json::Value;

use super::{
    Fault, Seam,
    snapshot::grant_everything,
    tools::{
        Memory, Remembering, Serve, ServeFrom, View, backend_refs, backends, drop_at, drop_field, each, filters, hosts,
        rules, virtual_hosts,
    },
};
use crate::{
    runtime::seams::{ConfigSeam, Seen},
    snapshot::{Kind, Snapshot},
};

pub(super) fn serve(change: fn(Seen<'_>, &mut Config)) -> Box<dyn ConfigSeam> {
    Box::new(Serve(change))
}

/// Serves what would be right in another cluster.
pub(super) fn serve_from(change: fn(&mut Snapshot)) -> Box<dyn ConfigSeam> {
    Box::new(ServeFrom(View(change)))
}

/// Serves what would be right in the cluster of the past.
fn serve_past(change: fn(&mut Memory, &mut Snapshot)) -> Box<dyn ConfigSeam> {
    Box::new(ServeFrom(Remembering(Memory::default(), change)))
}

fn is_failing(target: &BackendTarget, code: u16) -> bool {
    matches!(target, BackendTarget::Fail { status, .. } if *status == code)
}

/// Lets parentRefs that match no listener match all.
fn widen_parents(snapshot: &mut Snapshot, fields: &[&str]) {
    let listeners: Vec<(String, String, Value)> = snapshot
        .all(Kind::Gateway)
        .map(|gateway| {
            (gateway.meta.namespace.clone(), gateway.meta.name.clone(), gateway.raw["spec"]["listeners"].clone())
        })
        .collect();
    snapshot.edit(Kind::HttpRoute, |route| {
        let own = route["metadata"]["namespace"].as_str().unwrap_or_default().to_owned();
        for parent in each(route, "/spec/parentRefs") {
            let namespace = parent["namespace"].as_str().unwrap_or(&own);
            let is_gateway =
                |(of, name, _): &&(String, String, Value)| of == namespace && parent["name"] == name.as_str();
            let Some((.., listeners)) = listeners.iter().find(is_gateway) else { continue };
            let matches = |listener: &Value| {
                let agrees = |field: &str, to: &str| parent[field].is_null() || parent[field] == listener[to];
                agrees("sectionName", "name") && agrees("port", "port")
            };
            if !listeners.as_array().is_some_and(|all| all.iter().any(matches)) {
                fields.iter().for_each(|field| drop_field(parent, field));
            }
        }
    });
}

fn modify_listeners(snapshot: &mut Snapshot, change: impl Fn(&mut Value)) {
    snapshot.edit(Kind::Gateway, |gateway| each(gateway, "/spec/listeners").for_each(&change));
}

/// Copies a share of the requests that are all to be copied.
fn mirror_a_share(config: &mut Config, numerator: u32, denominator: u32) {
    for filter in filters(config).flatten() {
        if let Filter::RequestMirror(mirror) = filter {
            mirror.fraction.get_or_insert(Fraction { numerator, denominator });
        }
    }
}

/// Has every HTTPS listener of a port present the certificates that `choose` finds among all of them.
fn present(config: &mut Config, choose: fn(&[TlsListener], &TlsListener) -> Option<usize>) {
    for listener in &mut config.listeners {
        let Protocol::Https(all) = &mut listener.protocol else { continue };
        let before = all.clone();
        for one in all {
            if let Some(other) = choose(&before, one) {
                one.certificates.clone_from(&before[other].certificates);
            }
        }
    }
}

/// The listener of a wildcard that covers the hostname of another.
fn wildcard_over(all: &[TlsListener], one: &TlsListener) -> Option<usize> {
    let Hostname::Exact(host) = &one.virtual_host.hostname else { return None };
    all.iter().position(|other| match &other.virtual_host.hostname {
        Hostname::Wildcard(suffix) => host.strip_suffix(suffix.as_str()).is_some_and(|rest| rest.ends_with('.')),
        _ => false,
    })
}

/// Shows the certificates that each listener of a Gateway referred to at first.
fn keep_certificate_references(memory: &mut Memory, snapshot: &mut Snapshot) {
    let mut first = snapshot.clone();
    memory.keep_first(&mut first, Kind::Gateway);
    snapshot.edit(Kind::Gateway, |gateway| {
        let (namespace, name) = (&gateway["metadata"]["namespace"], &gateway["metadata"]["name"]);
        let (Some(namespace), Some(name)) = (namespace.as_str(), name.as_str()) else { return };
        let Some(before) = first.get(Kind::Gateway, namespace, name).map(|object| (*object.raw).clone()) else {
            return;
        };
        for listener in each(gateway, "/spec/listeners") {
            let mut known = before.pointer("/spec/listeners").and_then(Value::as_array).into_iter().flatten();
            if let Some(tls) = known.find(|one| one["name"] == listener["name"]).and_then(|one| one.get("tls")) {
                listener["tls"] = tls.clone();
            }
        }
    });
}

/// Gives the room of a class to its newest Gateways.
fn serve_the_newest(seen: Seen<'_>, config: &mut Config) {
    let make_room = |snapshot: &mut Snapshot| {
        for (class, room) in &seen.settings.max_gateways {
            let mut all: Vec<_> =
                seen.snapshot.gateways().filter(|(_, spec)| spec.gateway_class_name == *class).collect();
            all.sort_by_key(|(object, _)| std::cmp::Reverse(object.meta.precedence()));
            for (object, _) in all.into_iter().skip(*room) {
                snapshot.remove(Kind::Gateway, &object.key());
            }
        }
    };
    *config = seen.otherwise(make_room).config;
}

pub(super) const FAULTS: &[Fault] = &[
    Fault {
        name: "presents-one-certificate-per-port",
        summary: "Presents the certificate of the first HTTPS listener of a port for all of them.",
        clauses: &["blind:HTTPRouteHTTPSListener.1"],
        seam: Seam::Config(|| serve(|_, config| present(config, |all, _| (!all.is_empty()).then_some(0)))),
    },
    Fault {
        name: "presents-wildcard-certificates-first",
        summary: "Presents the certificate of a wildcard listener where another listener fits the server name exactly.",
        clauses: &["blind:HTTPRouteHTTPSListener.1"],
        seam: Seam::Config(|| serve(|_, config| present(config, wildcard_over))),
    },
    Fault {
        name: "keeps-old-certificates",
        summary: "Goes on presenting a certificate that was renewed in its Secret.",
        clauses: &["blind:HTTPRouteHTTPSListener.2"],
        seam: Seam::Config(|| serve_past(|memory, snapshot| memory.keep_first(snapshot, Kind::Secret))),
    },
    Fault {
        name: "keeps-certificate-references",
        summary: "Goes on presenting the certificate that a listener referred to at first.",
        clauses: &["blind:GatewayModifyListeners.2"],
        seam: Seam::Config(|| serve_past(keep_certificate_references)),
    },
    Fault {
        name: "sends-to-unready-endpoints",
        summary: "Sends traffic to endpoints that are not ready, too.",
        clauses: &["blind:HTTPRouteServiceTypes.1"],
        seam: Seam::Config(|| {
            serve_from(|snapshot| {
                snapshot.edit(Kind::EndpointSlice, |slice| {
                    each(slice, "/endpoints").for_each(|endpoint| drop_field(endpoint, "conditions"));
                });
            })
        }),
    },
    Fault {
        name: "keeps-first-endpoints",
        summary: "Takes no notice of what becomes of an EndpointSlice.",
        clauses: &["blind:HTTPRouteServiceTypes.1"],
        seam: Seam::Config(|| serve_past(|memory, snapshot| memory.keep_first(snapshot, Kind::EndpointSlice))),
    },
    Fault {
        name: "takes-room-from-older-gateways",
        summary: "Stops serving an older Gateway when a newer one finds no room.",
        clauses: &["GEP1364-40"],
        seam: Seam::Config(|| serve(serve_the_newest)),
    },
    Fault {
        name: "answers-404-for-missing-backends",
        summary: "Leaves a rule out of the data plane when its only backend does not resolve.",
        clauses: &["GEP1364-41", "GEP1364-48"],
        seam: Seam::Config(|| {
            serve(|_, config| {
                for host in hosts(config) {
                    host.routes.retain(|rule| {
                        rule.backends.is_empty() || !rule.backends.iter().all(|to| is_failing(&to.target, 500))
                    });
                }
            })
        }),
    },
    Fault {
        name: "answers-503-for-missing-backends",
        summary: "Answers 503 instead of 500 where a backend does not resolve.",
        clauses: &["GEP1364-41", "GEP1364-48", "GEP1364-50"],
        seam: Seam::Config(|| {
            serve(|_, config| {
                for backend in backends(config) {
                    if let BackendTarget::Fail { status, .. } = &mut backend.target {
                        *status = 503;
                    }
                }
            })
        }),
    },
    Fault {
        name: "answers-502-without-endpoints",
        summary: "Answers 502 where a Service has no ready endpoints.",
        clauses: &["GEP1364-45", "blind:HTTPRouteInvalidNonExistentBackendRef.4"],
        seam: Seam::Config(|| {
            serve(|_, config| {
                for backend in backends(config) {
                    if let BackendTarget::Fail { status, .. } = &mut backend.target
                        && *status == 503
                    {
                        *status = 502;
                    }
                }
            })
        }),
    },
    Fault {
        name: "gives-bad-shares-to-good-backends",
        summary: "Takes backends that do not resolve out of a weighted set instead of failing their share.",
        clauses: &["GEP1364-49", "blind:HTTPRouteInvalidNonExistentBackendRef.2", "blind:HTTPRouteWeight.1"],
        seam: Seam::Config(|| {
            serve(|_, config| {
                for rule in rules(config) {
                    if !rule.backends.iter().all(|to| is_failing(&to.target, 500)) {
                        rule.backends.retain(|to| !is_failing(&to.target, 500));
                    }
                }
            })
        }),
    },
    Fault {
        name: "fails-whole-rules",
        summary: "Answers 500 for all requests of a rule when one of its backends does not resolve.",
        clauses: &["GEP1364-49", "blind:HTTPRouteInvalidNonExistentBackendRef.2"],
        seam: Seam::Config(|| {
            serve(|_, config| {
                for rule in rules(config) {
                    rule.backends.sort_by_key(|to| !is_failing(&to.target, 500));
                    if rule.backends.first().is_some_and(|to| is_failing(&to.target, 500)) {
                        rule.backends.truncate(1);
                    }
                }
            })
        }),
    },
    Fault {
        name: "ignores-weights",
        summary: "Spreads requests evenly whatever the weights are.",
        clauses: &["upstream:HTTPRouteWeight", "upstream:GRPCRouteWeight"],
        seam: Seam::Config(|| {
            serve(|_, config| {
                backends(config).filter(|backend| backend.weight > 0).for_each(|backend| backend.weight = 1);
            })
        }),
    },
    Fault {
        name: "serves-zero-weights",
        summary: "Sends requests to backends of weight 0 when there are no others.",
        clauses: &["blind:HTTPRouteNoBackendRefs.2"],
        seam: Seam::Config(|| {
            serve(|_, config| {
                for rule in rules(config).filter(|rule| rule.backends.iter().all(|backend| backend.weight == 0)) {
                    rule.backends.iter_mut().for_each(|backend| backend.weight = 1);
                }
            })
        }),
    },
    Fault {
        name: "forwards-across-namespaces",
        summary: "Sends HTTP traffic into other namespaces without a grant, while status says RefNotPermitted.",
        clauses: &["GEP1364-42", "GEP1364-50"],
        seam: Seam::Config(|| {
            serve(|seen, config| {
                let otherwise = seen.otherwise(grant_everything).config;
                for (listener, granted) in config.listeners.iter_mut().zip(otherwise.listeners) {
                    if matches!(listener.protocol, Protocol::Http(_)) {
                        *listener = granted;
                    }
                }
            })
        }),
    },
    Fault {
        name: "forwards-tcp-across-namespaces",
        summary: "Sends TCP connections into other namespaces without a grant, while status says RefNotPermitted.",
        clauses: &["blind:TCPRouteInvalidCrossNamespaceBackendRef.1"],
        seam: Seam::Config(|| {
            serve(|seen, config| {
                let otherwise = seen.otherwise(grant_everything).config;
                for (listener, granted) in config.listeners.iter_mut().zip(otherwise.listeners) {
                    if matches!(listener.protocol, Protocol::Tcp(_)) {
                        *listener = granted;
                    }
                }
            })
        }),
    },
    Fault {
        name: "serves-forbidden-certificates",
        summary: "Serves a certificate from another namespace that no ReferenceGrant permits.",
        clauses: &["blind:GatewaySecretMissingReferenceGrant.1"],
        seam: Seam::Config(|| {
            serve(|seen, config| {
                let otherwise = seen.otherwise(grant_everything).config;
                let is_new = |lane: &&gateproof_proxy::config::Listener| {
                    matches!(lane.protocol, Protocol::Https(_))
                        && !config
                            .listeners
                            .iter()
                            .any(|known| (known.address, known.port) == (lane.address, lane.port))
                };
                let new: Vec<_> = otherwise.listeners.iter().filter(is_new).cloned().collect();
                config.listeners.extend(new);
            })
        }),
    },
    Fault {
        name: "serves-after-grants-are-revoked",
        summary: "Sends traffic on after the ReferenceGrant is gone, while status says RefNotPermitted.",
        clauses: &["IMPL-42"],
        seam: Seam::Config(|| serve_past(|memory, snapshot| memory.keep_removed(snapshot, Kind::ReferenceGrant))),
    },
    Fault {
        name: "serves-deleted-routes",
        summary: "Goes on serving an HTTPRoute after it is deleted.",
        clauses: &["blind:Generic.14"],
        seam: Seam::Config(|| serve_past(|memory, snapshot| memory.keep_removed(snapshot, Kind::HttpRoute))),
    },
    Fault {
        name: "serves-old-specs",
        summary: "Serves the first spec of an HTTPRoute while status follows the newest.",
        clauses: &["blind:HTTPRouteObservedGenerationBump.1"],
        seam: Seam::Config(|| serve_past(|memory, snapshot| memory.keep_first(snapshot, Kind::HttpRoute))),
    },
    Fault {
        name: "serves-old-listeners",
        summary: "Listens as the first spec of a Gateway says while status follows the newest.",
        clauses: &[
            "blind:GatewayModifyListeners.1",
            "blind:GatewayModifyListeners.2",
            "upstream:GatewayModifyListeners",
        ],
        seam: Seam::Config(|| serve_past(|memory, snapshot| memory.keep_first(snapshot, Kind::Gateway))),
    },
    Fault {
        name: "serves-refused-namespaces",
        summary: "Serves a route from a namespace that the listener does not let in, while status refuses it.",
        clauses: &["blind:HTTPRouteCrossNamespace.1", "blind:HTTPRouteInvalidCrossNamespaceParentRef.1"],
        seam: Seam::Config(|| {
            serve_from(|snapshot| {
                modify_listeners(snapshot, |listener| {
                    listener["allowedRoutes"]["namespaces"] = serde_json::json!({"from": "All"});
                });
            })
        }),
    },
    Fault {
        name: "serves-refused-kinds",
        summary: "Serves HTTPRoutes on a listener whose allowedRoutes leave the kind out, while status refuses them.",
        clauses: &["blind:HTTPRouteDisallowedKind.2"],
        seam: Seam::Config(|| {
            serve_from(|snapshot| {
                modify_listeners(snapshot, |listener| drop_at(listener, "/allowedRoutes", "kinds"));
            })
        }),
    },
    Fault {
        name: "serves-unmatched-sections",
        summary: "Serves a route on all listeners when its sectionName matches none.",
        clauses: &["blind:HTTPRouteInvalidParentRefNotMatchingSectionName.2"],
        seam: Seam::Config(|| serve_from(|snapshot| widen_parents(snapshot, &["sectionName"]))),
    },
    Fault {
        name: "serves-unmatched-ports",
        summary: "Serves a route on all listeners when the port of its parentRef matches none.",
        clauses: &["blind:HTTPRouteInvalidParentRefNotMatchingListenerPort.2"],
        seam: Seam::Config(|| serve_from(|snapshot| widen_parents(snapshot, &["port"]))),
    },
    Fault {
        name: "serves-all-ports",
        summary: "Serves a route that names one listener on the other ports of the Gateway too.",
        clauses: &["blind:GatewayWithAttachedRoutesWithPort8080.1"],
        seam: Seam::Config(|| {
            serve_from(|snapshot| {
                snapshot.edit(Kind::HttpRoute, |route| {
                    for parent in each(route, "/spec/parentRefs") {
                        drop_field(parent, "sectionName");
                        drop_field(parent, "port");
                    }
                });
            })
        }),
    },
    Fault {
        name: "reads-hostnames-as-suffixes",
        summary: "Lets a route answer for hosts below its hostnames.",
        clauses: &["blind:HTTPRouteMatchingAcrossRoutes.3"],
        seam: Seam::Config(|| {
            serve(|_, config| {
                for rule in rules(config) {
                    let exact = rule.hostnames.iter().filter_map(|hostname| match hostname {
                        Hostname::Exact(host) => Some(Hostname::Wildcard(host.clone())),
                        Hostname::Any | Hostname::Wildcard(_) => None,
                    });
                    let below: Vec<Hostname> = exact.collect();
                    rule.hostnames.extend(below);
                }
            })
        }),
    },
    Fault {
        name: "ignores-listener-hostnames",
        summary: "Lets the listeners of one port share their routes.",
        clauses: &["upstream:GatewayHTTPListenerIsolation", "upstream:GRPCRouteListenerHostnameMatching"],
        seam: Seam::Config(|| {
            serve(|_, config| {
                for listener in &mut config.listeners {
                    let all: Vec<Route> =
                        virtual_hosts(listener).into_iter().flat_map(|host| host.routes.clone()).collect();
                    if let Protocol::Http(http) = &mut listener.protocol {
                        let one = VirtualHost { listener: listener.id.clone(), hostname: Hostname::Any, routes: all };
                        http.virtual_hosts = vec![one];
                    }
                }
            })
        }),
    },
    Fault {
        name: "reverses-rules",
        summary: "Lets the later of two rules with equal matches win.",
        clauses: &["blind:HTTPRoutePathMatchOrder.3"],
        seam: Seam::Config(|| serve(|_, config| hosts(config).for_each(|host| host.routes.reverse()))),
    },
    Fault {
        name: "reads-exact-paths-as-prefixes",
        summary: "Lets an Exact path match everything below it.",
        clauses: &["upstream:HTTPRouteExactPathMatching"],
        seam: Seam::Config(|| {
            serve(|_, config| {
                for one in rules(config).flat_map(|rule| &mut rule.matches) {
                    if let PathMatch::Exact(path) = &one.path {
                        one.path = PathMatch::Prefix(path.clone());
                    }
                }
            })
        }),
    },
    Fault {
        name: "reads-prefixes-as-text",
        summary: "Compares a PathPrefix letter by letter instead of element by element.",
        clauses: &["upstream:HTTPRouteMatching", "upstream:HTTPRouteRewritePath", "blind:Generic.16"],
        seam: Seam::Config(|| {
            serve(|_, config| {
                for one in rules(config).flat_map(|rule| &mut rule.matches) {
                    if let PathMatch::Prefix(path) = &one.path
                        && path != "/"
                    {
                        one.path = PathMatch::Regex(format!("{}.*", regex::escape(path.trim_end_matches('/'))));
                    }
                }
            })
        }),
    },
    Fault {
        name: "ignores-header-matches",
        summary: "Leaves header matches out.",
        clauses: &["upstream:HTTPRouteHeaderMatching", "upstream:GRPCRouteHeaderMatching"],
        seam: Seam::Config(|| {
            serve(|_, config| rules(config).flat_map(|rule| &mut rule.matches).for_each(|one| one.headers.clear()))
        }),
    },
    Fault {
        name: "compares-header-values-without-case",
        summary: "Takes a header value in another case for equal.",
        clauses: &["blind:HTTPRouteHeaderMatching.1"],
        seam: Seam::Config(|| {
            serve(|_, config| {
                for header in rules(config).flat_map(|rule| &mut rule.matches).flat_map(|one| &mut one.headers) {
                    if let ValueMatch::Exact(value) = &header.value {
                        header.value = ValueMatch::Regex(format!("(?i:{})", regex::escape(value)));
                    }
                }
            })
        }),
    },
    Fault {
        name: "ignores-method-matches",
        summary: "Leaves method matches out.",
        clauses: &["upstream:HTTPRouteMethodMatching", "blind:HTTPRouteMethodMatching.2"],
        seam: Seam::Config(|| {
            serve(|_, config| rules(config).flat_map(|rule| &mut rule.matches).for_each(|one| one.method = None))
        }),
    },
    Fault {
        name: "drops-rule-filters-beside-backend-filters",
        summary: "Applies only the filters of the backend where the rule has some too.",
        clauses: &["blind:HTTPRouteBackendRequestHeaderModifier.2"],
        seam: Seam::Config(|| {
            serve(|_, config| {
                let has_both = |rule: &&mut Route| rule.backends.iter().any(|backend| !backend.filters.is_empty());
                rules(config).filter(has_both).for_each(|rule| rule.filters.clear());
            })
        }),
    },
    Fault {
        name: "swaps-backend-filters",
        summary: "Applies the filters of one backend to requests for another.",
        clauses: &["blind:HTTPRouteRequestHeaderModifierBackendWeights.2"],
        seam: Seam::Config(|| {
            serve(|_, config| {
                for rule in rules(config) {
                    let mut lists: Vec<_> =
                        rule.backends.iter_mut().map(|backend| std::mem::take(&mut backend.filters)).collect();
                    lists.reverse();
                    for (backend, list) in rule.backends.iter_mut().zip(lists) {
                        backend.filters = list;
                    }
                }
            })
        }),
    },
    Fault {
        name: "adds-instead-of-setting",
        summary: "Adds a header value where the filter sets it.",
        clauses: &[
            "upstream:HTTPRouteRequestHeaderModifier",
            "blind:HTTPRouteRequestHeaderModifierBackendWeights.3",
            "GRPC-08",
        ],
        seam: Seam::Config(|| {
            serve(|_, config| {
                for filter in filters(config).flatten() {
                    if let Filter::RequestHeaderModifier(modifier) = filter {
                        let set = std::mem::take(&mut modifier.set);
                        modifier.add.extend(set);
                    }
                }
            })
        }),
    },
    Fault {
        name: "never-removes-headers",
        summary: "Leaves headers in that a filter removes.",
        clauses: &["upstream:HTTPRouteRequestHeaderModifier", "GRPC-08"],
        seam: Seam::Config(|| {
            serve(|_, config| {
                for filter in filters(config).flatten() {
                    if let Filter::RequestHeaderModifier(modifier) = filter {
                        modifier.remove.clear();
                    }
                }
            })
        }),
    },
    Fault {
        name: "skips-response-headers",
        summary: "Leaves response header filters out.",
        clauses: &["upstream:HTTPRouteResponseHeaderModifier"],
        seam: Seam::Config(|| {
            serve(|_, config| {
                filters(config).for_each(|list| list.retain(|of| !matches!(of, Filter::ResponseHeaderModifier(_))));
            })
        }),
    },
    Fault {
        name: "redirects-with-302",
        summary: "Redirects with 302 whatever status the filter asks for.",
        clauses: &[
            "upstream:HTTPRouteRedirectHostAndStatus",
            "upstream:HTTPRoute303Redirect",
            "upstream:HTTPRoute307Redirect",
            "upstream:HTTPRoute308Redirect",
        ],
        seam: Seam::Config(|| {
            serve(|_, config| {
                for filter in filters(config).flatten() {
                    if let Filter::RequestRedirect(redirect) = filter {
                        redirect.status = 302;
                    }
                }
            })
        }),
    },
    Fault {
        name: "redirects-to-full-paths",
        summary: "Replaces the whole path in a redirect where only the matched prefix should go.",
        clauses: &["upstream:HTTPRouteRedirectPath"],
        seam: Seam::Config(|| {
            serve(|_, config| {
                for filter in filters(config).flatten() {
                    if let Filter::RequestRedirect(redirect) = filter
                        && let Some(PathModifier::ReplacePrefixMatch(path)) = &redirect.path
                    {
                        redirect.path = Some(PathModifier::ReplaceFullPath(path.clone()));
                    }
                }
            })
        }),
    },
    Fault {
        name: "rewrites-full-paths",
        summary: "Replaces the whole path in a rewrite where only the matched prefix should go.",
        clauses: &["upstream:HTTPRouteRewritePath"],
        seam: Seam::Config(|| {
            serve(|_, config| {
                for filter in filters(config).flatten() {
                    if let Filter::UrlRewrite(rewrite) = filter
                        && let Some(PathModifier::ReplacePrefixMatch(path)) = &rewrite.path
                    {
                        rewrite.path = Some(PathModifier::ReplaceFullPath(path.clone()));
                    }
                }
            })
        }),
    },
    Fault {
        name: "rewrites-no-hosts",
        summary: "Leaves the Host header as it is where a filter rewrites it.",
        clauses: &["upstream:HTTPRouteRewriteHost"],
        seam: Seam::Config(|| {
            serve(|_, config| {
                for filter in filters(config).flatten() {
                    if let Filter::UrlRewrite(rewrite) = filter {
                        rewrite.hostname = None;
                    }
                }
            })
        }),
    },
    Fault {
        name: "mirrors-twice",
        summary: "Sends two copies of every mirrored request.",
        clauses: &["blind:HTTPRouteRequestMirror.2"],
        seam: Seam::Config(|| {
            serve(|_, config| {
                for list in filters(config) {
                    let copies: Vec<Filter> =
                        list.iter().filter(|of| matches!(of, Filter::RequestMirror(_))).cloned().collect();
                    list.extend(copies);
                }
            })
        }),
    },
    Fault {
        name: "mirrors-every-second-request",
        summary: "Copies one of two requests that should be mirrored, by chance.",
        clauses: &["blind:HTTPRouteRequestMirror.2"],
        seam: Seam::Config(|| serve(|_, config| mirror_a_share(config, 1, 2))),
    },
    Fault {
        name: "mirrors-nine-of-ten-requests",
        summary: "Copies nine of ten requests that should be mirrored, by chance.",
        clauses: &["blind:HTTPRouteRequestMirror.2"],
        seam: Seam::Config(|| serve(|_, config| mirror_a_share(config, 9, 10))),
    },
    Fault {
        name: "mirrors-nothing",
        summary: "Leaves mirror filters out.",
        clauses: &[
            "upstream:HTTPRouteRequestMirror",
            "upstream:HTTPRouteRequestMultipleMirrors",
            "upstream:HTTPRouteRequestPercentageMirror",
        ],
        seam: Seam::Config(|| {
            serve(|_, config| {
                filters(config).for_each(|list| list.retain(|of| !matches!(of, Filter::RequestMirror(_))));
            })
        }),
    },
    Fault {
        name: "ignores-timeouts",
        summary: "Waits for a backend for ever.",
        clauses: &[
            "upstream:HTTPRouteTimeoutRequest",
            "upstream:HTTPRouteTimeoutBackendRequest",
            "blind:HTTPRouteTimeoutRequest.2",
            "blind:HTTPRouteTimeoutBackendRequest.4",
            "blind:HTTPRouteRetry.2",
        ],
        seam: Seam::Config(|| serve(|_, config| rules(config).for_each(|rule| rule.timeouts = Timeouts::default()))),
    },
    Fault {
        name: "times-out-early",
        summary: "Gives up on a backend after a tenth of the timeout.",
        clauses: &["blind:HTTPRouteTimeoutBackendRequest.1"],
        seam: Seam::Config(|| {
            serve(|_, config| {
                for timeouts in rules(config).map(|rule| &mut rule.timeouts) {
                    for limit in [&mut timeouts.request, &mut timeouts.backend_request].into_iter().flatten() {
                        *limit /= 10;
                    }
                }
            })
        }),
    },
    Fault {
        name: "reads-0s-as-a-default",
        summary: "Gives up after half a second where the timeout is 0s, which means no limit.",
        clauses: &["blind:HTTPRouteTimeoutBackendRequest.2"],
        seam: Seam::Config(|| {
            serve(|seen, config| {
                for rule in rules(config) {
                    let id = &rule.id;
                    let asked = seen.snapshot.http_route(&id.namespace, &id.name);
                    let asked = asked.and_then(|(_, route)| route.rules.get(id.rule)?.timeouts.as_ref());
                    let is_zero = |text: &Option<String>| text.as_deref() == Some("0s");
                    if asked.is_some_and(|asked| is_zero(&asked.request) || is_zero(&asked.backend_request)) {
                        rule.timeouts.request = Some(Duration::from_millis(500));
                    }
                }
            })
        }),
    },
    Fault {
        name: "forwards-tcp-of-missing-backends",
        summary: "Sends the share of a TCP backend that does not resolve to another one.",
        clauses: &["blind:TCPRouteInvalidBackendRefNonexistent.1"],
        seam: Seam::Config(|| {
            serve_from(|snapshot| {
                let mut ports: Vec<(String, Value, Value)> = Vec::new();
                for service in snapshot.all(Kind::Service) {
                    let port = service.raw["spec"]["ports"][0]["port"].clone();
                    ports.push((service.meta.namespace.clone(), service.raw["metadata"]["name"].clone(), port));
                }
                snapshot.edit(Kind::TcpRoute, |route| {
                    let own = route["metadata"]["namespace"].as_str().unwrap_or_default().to_owned();
                    for reference in backend_refs(route) {
                        let namespace = reference["namespace"].as_str().unwrap_or(&own);
                        let exists = ports.iter().any(|(of, name, _)| of == namespace && *name == reference["name"]);
                        if let Some((_, name, port)) = ports.iter().find(|(of, ..)| *of == own).filter(|_| !exists) {
                            reference["name"] = name.clone();
                            reference["port"] = port.clone();
                        }
                    }
                });
            })
        }),
    },
    Fault {
        name: "ignores-tcp-weights",
        summary: "Spreads connections evenly whatever the weights are.",
        clauses: &["upstream:TCPRouteWeightedRouting", "blind:TCPRouteWeightedRouting.1"],
        seam: Seam::Config(|| {
            serve(|_, config| {
                for listener in &mut config.listeners {
                    if let Protocol::Tcp(tcp) = &mut listener.protocol {
                        tcp.backends.iter_mut().for_each(|backend| backend.weight = 1);
                    }
                }
            })
        }),
    },
    Fault {
        name: "serves-deleted-tcproutes",
        summary: "Goes on serving a TCPRoute after it is deleted.",
        clauses: &["blind:TCPRouteMultipleRoutesAttachment.1"],
        seam: Seam::Config(|| serve_past(|memory, snapshot| memory.keep_removed(snapshot, Kind::TcpRoute))),
    },
];
