//! What rules match, filter and wait for.

use std::time::Duration;

use gateproof_proxy::config::{Config, Filter, Fraction, PathMatch, PathModifier, Route, Timeouts, ValueMatch};

use crate::{
    faults::{
        Fault, Seam,
        tools::{filters, hosts, rules, serve},
    },
    runtime::seams::Seen,
};

/// Copies a share of the requests that are all to be copied.
fn mirror_a_share(config: &mut Config, numerator: u32, denominator: u32) {
    for filter in filters(config).flatten() {
        if let Filter::RequestMirror(mirror) = filter {
            mirror.fraction.get_or_insert(Fraction { numerator, denominator });
        }
    }
}

/// Gives rules with a timeout of 0s this one for the request.
fn limit_unlimited(seen: Seen<'_>, config: &mut Config, limit: Duration) {
    for rule in rules(config) {
        let id = &rule.id;
        let asked = seen.snapshot.http_route(&id.namespace, &id.name);
        let asked = asked.and_then(|(_, route)| route.rules.get(id.rule)?.timeouts.as_ref());
        let is_zero = |text: &Option<String>| text.as_deref() == Some("0s");
        if asked.is_some_and(|asked| is_zero(&asked.request) || is_zero(&asked.backend_request)) {
            rule.timeouts.request = Some(limit);
        }
    }
}

pub(in crate::faults) const FAULTS: &[Fault] = &[
    Fault {
        name: "reverses-rules",
        summary: "Lets the later of two rules with equal matches win.",
        clauses: &["blind:HTTPRoutePathMatchOrder.3", "blind:HTTPRouteMatchingAcrossRoutes.1"],
        seam: Seam::Config(|| serve(|_, config| hosts(config).for_each(|host| host.routes.reverse()))),
    },
    Fault {
        name: "reads-exact-paths-as-prefixes",
        summary: "Lets an Exact path match everything below it.",
        clauses: &[
            "upstream:HTTPRoutePathMatchOrder",
            "upstream:HTTPRouteExactPathMatching",
            "blind:HTTPRoutePathMatchOrder.2",
        ],
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
        clauses: &[
            "upstream:HTTPRouteMatching",
            "upstream:HTTPRouteRewritePath",
            "blind:Generic.16",
            "blind:HTTPRoute303Redirect.4",
        ],
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
        name: "misses-paths-without-the-slash-of-their-prefix",
        summary: "Takes the slash at the end of a PathPrefix for a part of it, so that the path without it does not match.",
        clauses: &["blind:HTTPRoutePathMatchOrder.1"],
        seam: Seam::Config(|| {
            serve(|_, config| {
                for one in rules(config).flat_map(|rule| &mut rule.matches) {
                    if let PathMatch::Prefix(path) = &one.path
                        && path.len() > 1
                        && path.ends_with('/')
                    {
                        one.path = PathMatch::Text(path.clone());
                    }
                }
            })
        }),
    },
    Fault {
        name: "ignores-header-matches",
        summary: "Leaves header matches out.",
        clauses: &[
            "upstream:HTTPRouteHeaderMatching",
            "upstream:GRPCRouteHeaderMatching",
            "upstream:HTTPRouteMatching",
            "upstream:HTTPRouteQueryParamMatching",
        ],
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
        clauses: &[
            "upstream:HTTPRouteMethodMatching",
            "blind:HTTPRouteMethodMatching.2",
            "upstream:HTTPRouteQueryParamMatching",
        ],
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
        clauses: &[
            "upstream:HTTPRouteRequestHeaderModifier",
            "GRPC-08",
            "upstream:HTTPRouteBackendRequestHeaderModifier",
            "blind:HTTPRouteRequestHeaderModifierBackendWeights.2",
        ],
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
        clauses: &[
            "upstream:HTTPRouteRewriteHost",
            "blind:HTTPRouteObservedGenerationBump.1",
            "blind:HTTPRouteRewriteHost.1",
            "blind:HTTPRouteBackendURLRewrite.2",
        ],
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
            "blind:HTTPRouteRequestPercentageMirror.1",
            "blind:HTTPRouteRequestMirror.7",
            "blind:HTTPRouteServiceTypes.1",
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
        name: "caps-timeouts-at-a-second",
        summary: "Gives up on a backend after a second where the timeout is longer.",
        clauses: &["blind:HTTPRouteTimeoutBackendRequest.1"],
        seam: Seam::Config(|| {
            serve(|_, config| {
                for timeouts in rules(config).map(|rule| &mut rule.timeouts) {
                    for limit in [&mut timeouts.request, &mut timeouts.backend_request].into_iter().flatten() {
                        *limit = (*limit).min(Duration::from_secs(1));
                    }
                }
            })
        }),
    },
    Fault {
        name: "reads-0s-as-a-default",
        summary: "Gives up after half a second where the timeout is 0s, which means no limit.",
        clauses: &["upstream:HTTPRouteTimeoutRequest", "upstream:HTTPRouteTimeoutBackendRequest"],
        seam: Seam::Config(|| serve(|seen, config| limit_unlimited(seen, config, Duration::from_millis(500)))),
    },
    Fault {
        name: "reads-0s-as-fifteen-seconds",
        summary: "Gives up after fifteen seconds where the timeout is 0s, which means no limit.",
        clauses: &["OWN-23", "blind:HTTPRouteTimeoutBackendRequest.2"],
        seam: Seam::Config(|| serve(|seen, config| limit_unlimited(seen, config, Duration::from_secs(15)))),
    },
];
