//! Slashes and escapes of paths.

use std::sync::Arc;

use async_trait::async_trait;
use gateproof_proxy::{
    compiled::CompiledRoute,
    config::{Filter, PathModifier, Route},
    exchange::{Exchange, MatchOutcome, RequestHead},
    matching::path::PathPredicate,
    routing::Routing,
};
use http::{HeaderValue, StatusCode, header::LOCATION};

use super::Bug;
use crate::faults::{
    Fault, Seam,
    exchange::Answers,
    tools::{rules, serve},
};

/// Escapes that are no longer the same when they are taken off, with what they stand for.
const ESCAPES: [(&str, &str); 4] = [("%2F", "/"), ("%40", "@"), ("%2B", "+"), ("%2C", ",")];

/// A prefix that is replaced.
pub(in crate::faults) struct Replaced<'a> {
    /// Whether by a redirect.
    pub(in crate::faults) redirects: bool,
    /// What matched, without its slash at the end.
    pub(in crate::faults) matched: &'a str,
    /// What takes its place.
    pub(in crate::faults) by: &'a str,
    /// What stands behind it.
    pub(in crate::faults) rest: &'a str,
}

/// Makes another path of a replaced prefix, where it makes any.
pub(in crate::faults) struct Replaces(pub(in crate::faults) fn(&Replaced<'_>) -> Option<String>);

#[async_trait]
impl Exchange for Replaces {
    fn on_route(&self, request: &RequestHead, _: &Routing<'_>, found: MatchOutcome) -> MatchOutcome {
        let MatchOutcome::Rule { route, predicate } = &found else { return found };
        let PathPredicate::Prefix(matched) = predicate.path() else { return found };
        let rest = request.path.strip_prefix(matched.as_str()).unwrap_or(&request.path);
        let mut rule = route.rule.clone();
        for (redirects, path) in modifiers(&mut rule) {
            if let PathModifier::ReplacePrefixMatch(by) = path
                && let Some(wrong) = (self.0)(&Replaced { redirects, matched, by, rest })
            {
                *path = PathModifier::ReplaceFullPath(wrong);
            }
        }
        if rule == route.rule {
            return found;
        }
        MatchOutcome::Rule { route: Arc::new(CompiledRoute::new(&rule)), predicate: Arc::clone(predicate) }
    }
}

/// Unescapes the path of a request that is redirected with it.
struct UnescapesRedirects;

impl Exchange for UnescapesRedirects {
    fn on_route(&self, request: &RequestHead, _: &Routing<'_>, found: MatchOutcome) -> MatchOutcome {
        let MatchOutcome::Rule { route, predicate } = &found else { return found };
        let plain = unescaped(&request.path);
        if plain == request.path {
            return found;
        }
        let mut rule = route.rule.clone();
        for filter in &mut rule.filters {
            if let Filter::RequestRedirect(redirect) = filter {
                redirect.path.get_or_insert_with(|| PathModifier::ReplaceFullPath(plain.clone()));
            }
        }
        if rule == route.rule {
            return found;
        }
        MatchOutcome::Rule { route: Arc::new(CompiledRoute::new(&rule)), predicate: Arc::clone(predicate) }
    }
}

/// Takes the slash off the end of a whole path, if there is more than that.
fn trim((_, path): (bool, &mut PathModifier)) {
    if let PathModifier::ReplaceFullPath(full) = path
        && let Some(shorter) = full.strip_suffix('/').filter(|shorter| !shorter.is_empty())
    {
        *full = shorter.to_owned();
    }
}

/// What changes the path of a rule's requests, and whether by a redirect.
fn modifiers(rule: &mut Route) -> impl Iterator<Item = (bool, &mut PathModifier)> {
    rule.filters.iter_mut().filter_map(|filter| match filter {
        Filter::UrlRewrite(rewrite) => Some((false, rewrite.path.as_mut()?)),
        Filter::RequestRedirect(redirect) => Some((true, redirect.path.as_mut()?)),
        _ => None,
    })
}

fn unescaped(path: &str) -> String {
    ESCAPES.iter().fold(path.to_owned(), |path, (escape, plain)| path.replace(escape, plain))
}

pub(super) const BUGS: &[Bug] = &[
    Bug {
        fault: Fault {
            name: "glues-prefixes-to-paths",
            summary: "Puts what a rewrite has for the prefix / before the path without a slash in between.",
            clauses: &["upstream:HTTPRouteRewritePath", "blind:HTTPRouteRewritePath.2"],
            seam: Seam::Exchange(|| {
                Arc::new(Replaces(|of| {
                    let glued = || format!("{}{}", of.by, of.rest.trim_start_matches('/'));
                    (!of.redirects && of.matched.is_empty()).then(glued)
                }))
            }),
        },
        reported: &["istio/istio#60182", "envoyproxy/gateway#5256"],
    },
    Bug {
        fault: Fault {
            name: "doubles-slashes-of-rewrites",
            summary: "Keeps the slash at the end of what replaces a prefix beside the one that follows it.",
            clauses: &["upstream:HTTPRouteRewritePath", "blind:HTTPRouteRewritePath.2"],
            seam: Seam::Exchange(|| {
                Arc::new(Replaces(|of| {
                    let doubles = !of.redirects && of.by != "/" && of.by.ends_with('/') && of.rest.starts_with('/');
                    doubles.then(|| format!("{}{}", of.by, of.rest))
                }))
            }),
        },
        reported: &["envoyproxy/gateway#3807"],
    },
    Bug {
        fault: Fault {
            name: "doubles-slashes-of-redirects",
            summary: "Begins the path of a Location with two slashes where a redirect takes the prefix away.",
            clauses: &["upstream:HTTPRouteRedirectPath", "blind:HTTPRouteRedirectPath.1"],
            seam: Seam::Exchange(|| {
                Arc::new(Replaces(|of| {
                    let doubles = of.redirects && of.by == "/" && of.rest.starts_with('/');
                    doubles.then(|| format!("/{}", of.rest))
                }))
            }),
        },
        reported: &["envoyproxy/gateway#2976"],
    },
    Bug {
        fault: Fault {
            name: "takes-escapes-off-rewritten-paths",
            summary: "Unescapes what stands behind a prefix that a rewrite replaces.",
            clauses: &["OWN-06"],
            seam: Seam::Exchange(|| {
                Arc::new(Replaces(|of| {
                    let path = || unescaped(&format!("{}{}", of.by, of.rest));
                    (!of.redirects && of.by != "/" && of.rest != unescaped(of.rest)).then(path)
                }))
            }),
        },
        reported: &["traefik/traefik#13641"],
    },
    Bug {
        fault: Fault {
            name: "takes-escapes-off-redirected-paths",
            summary: "Unescapes what stands behind a prefix that a redirect replaces.",
            clauses: &["OWN-06"],
            seam: Seam::Exchange(|| {
                Arc::new(Replaces(|of| {
                    let path = || unescaped(&format!("{}{}", of.by, of.rest));
                    (of.redirects && of.by != "/" && of.rest != unescaped(of.rest)).then(path)
                }))
            }),
        },
        reported: &["traefik/traefik#13875"],
    },
    Bug {
        fault: Fault {
            name: "takes-escapes-off-plain-redirects",
            summary: "Unescapes the path of the request where a redirect replaces none.",
            clauses: &["OWN-06"],
            seam: Seam::Exchange(|| Arc::new(UnescapesRedirects)),
        },
        reported: &["nginx/unit#705", "goochjj/pound#4"],
    },
    Bug {
        fault: Fault {
            name: "redirects-escaped-slashes",
            summary: "Answers a path with an escaped slash with a redirect to the one where it is none.",
            clauses: &["OWN-06"],
            seam: Seam::Exchange(|| {
                Arc::new(Answers(|request, response| {
                    let plain = request.path.replace("%2F", "/");
                    if plain != request.path
                        && let Ok(to) = HeaderValue::try_from(plain)
                    {
                        *response.status_mut() = StatusCode::TEMPORARY_REDIRECT;
                        response.headers_mut().insert(LOCATION, to);
                    }
                }))
            }),
        },
        reported: &["envoyproxy/gateway#7084", "traefik/traefik#12395"],
    },
    Bug {
        fault: Fault {
            name: "trims-slashes-of-full-paths",
            summary: "Takes the slash off the end of a path that replaces the whole of another.",
            clauses: &["upstream:HTTPRouteRewritePath", "upstream:HTTPRouteRedirectPath"],
            seam: Seam::Config(|| serve(|_, config| rules(config).flat_map(modifiers).for_each(trim))),
        },
        reported: &["agentgateway/agentgateway#3396"],
    },
];
