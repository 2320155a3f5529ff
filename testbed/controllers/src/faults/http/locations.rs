//! Faults in where redirects lead and what rewrites make of host and path.

use std::sync::Arc;

use gateproof_proxy::config::{Config, Filter, Hostname, PathModifier, Protocol, RequestRedirect, Route, RouteId};
use http::{HeaderValue, Method, StatusCode, header::LOCATION};

use super::super::{
    Fault, Seam,
    bugs::paths::Replaces,
    exchange::Answers,
    tools::{rules, serve, virtual_hosts},
};

fn redirects(rule: &mut Route) -> impl Iterator<Item = &mut RequestRedirect> {
    rule.filters.iter_mut().filter_map(|filter| match filter {
        Filter::RequestRedirect(redirect) => Some(redirect),
        _ => None,
    })
}

/// The same place with the port that its scheme has anyway; nothing where a port is said.
fn spell_port_out(location: &str) -> Option<String> {
    let (scheme, behind) = location.split_once("://")?;
    let port = match scheme {
        "http" => 80,
        "https" => 443,
        _ => return None,
    };
    let (authority, rest) = behind.split_at(behind.find(['/', '?', '#']).unwrap_or(behind.len()));
    (!authority.contains(':')).then(|| format!("{scheme}://{authority}:{port}{rest}"))
}

/// Gives every rule of a route the host that its first one rewrites to.
fn rewrite_alike(config: &mut Config) {
    let mut first: Vec<(RouteId, Option<String>)> = Vec::new();
    for rule in rules(config) {
        let id = rule.id.clone();
        for filter in &mut rule.filters {
            let Filter::UrlRewrite(rewrite) = filter else { continue };
            let is_same = |of: &&(RouteId, _)| (&of.0.namespace, &of.0.name) == (&id.namespace, &id.name);
            match first.iter().find(is_same) {
                Some((_, host)) if rewrite.hostname.is_some() => rewrite.hostname.clone_from(host),
                Some(_) => {}
                None => first.push((id.clone(), rewrite.hostname.clone())),
            }
        }
    }
}

pub(in super::super) const FAULTS: &[Fault] = &[
    Fault {
        name: "redirects-every-host",
        summary: "Redirects for every host of the listener where the status is 301.",
        clauses: &["blind:HTTPRouteRedirectHostAndStatus.4"],
        seam: Seam::Config(|| {
            serve(|_, config| {
                for rule in rules(config) {
                    if redirects(rule).any(|to| to.status == 301 && to.path.is_none() && to.hostname.is_some()) {
                        rule.hostnames.push(Hostname::Any);
                    }
                }
            })
        }),
    },
    Fault {
        name: "keeps-the-rest-behind-full-paths",
        summary: "Keeps what stands behind the matched prefix in a redirect that replaces the whole path.",
        clauses: &["upstream:HTTPRouteRedirectPath"],
        seam: Seam::Config(|| {
            serve(|_, config| {
                for path in rules(config).flat_map(redirects).filter_map(|to| to.path.as_mut()) {
                    if let PathModifier::ReplaceFullPath(all) = path {
                        *path = PathModifier::ReplacePrefixMatch(std::mem::take(all));
                    }
                }
            })
        }),
    },
    Fault {
        name: "redirects-with-302-within-a-host",
        summary: "Redirects with 302 instead of 301 where the filter names no host.",
        clauses: &[
            "upstream:HTTPRouteRedirectPath",
            "upstream:HTTPRouteRedirectPort",
            "upstream:HTTPRouteRedirectScheme",
        ],
        seam: Seam::Config(|| {
            serve(|_, config| {
                let within = |to: &&mut RequestRedirect| to.status == 301 && to.hostname.is_none();
                rules(config).flat_map(redirects).filter(within).for_each(|to| to.status = 302);
            })
        }),
    },
    Fault {
        name: "drops-odd-ports-of-redirects-on-https",
        summary: "Leaves the port of a redirect without a scheme out on an HTTPS listener unless everyone knows it.",
        clauses: &["upstream:HTTPRouteRedirectPortAndScheme"],
        seam: Seam::Config(|| {
            serve(|_, config| {
                let https = config.listeners.iter_mut().filter(|lane| matches!(lane.protocol, Protocol::Https(_)));
                let all = https.flat_map(virtual_hosts).flat_map(|host| &mut host.routes);
                let odd = |to: &&mut RequestRedirect| {
                    to.scheme.is_none() && to.port.is_some_and(|port| ![80, 443].contains(&port))
                };
                all.flat_map(redirects).filter(odd).for_each(|to| to.port = Some(443));
            })
        }),
    },
    Fault {
        name: "rewrites-hosts-alike",
        summary: "Rewrites the host in every rule of a route as in its first.",
        clauses: &["upstream:HTTPRouteRewriteHost"],
        seam: Seam::Config(|| serve(|_, config| rewrite_alike(config))),
    },
    Fault {
        name: "keeps-prefixes-that-nothing-replaces",
        summary: "Leaves a prefix in its place where an empty text is to replace it.",
        clauses: &["blind:HTTPRouteRedirectPath.1", "blind:HTTPRouteRewritePath.2"],
        seam: Seam::Exchange(|| {
            Arc::new(Replaces(|of| of.by.is_empty().then(|| format!("{}{}", of.matched, of.rest))))
        }),
    },
    Fault {
        name: "drops-slashes-behind-prefixes",
        summary: "Leaves the slash at the end of a path out where nothing else stands behind the prefix.",
        clauses: &["blind:HTTPRouteRedirectPath.1", "blind:HTTPRouteRewritePath.2"],
        seam: Seam::Exchange(|| {
            Arc::new(Replaces(|of| {
                let is_bare = of.rest == "/" && !of.by.is_empty() && !of.by.ends_with('/');
                is_bare.then(|| of.by.to_owned())
            }))
        }),
    },
    Fault {
        name: "gives-303-to-get-and-post-alone",
        summary: "Gives 302 instead of 303 to all but GET and POST.",
        clauses: &["blind:HTTPRoute303Redirect.3"],
        seam: Seam::Exchange(|| {
            Arc::new(Answers(|request, response| {
                let is_plain = [Method::GET, Method::POST].contains(&request.method);
                if response.status() == StatusCode::SEE_OTHER && !is_plain {
                    *response.status_mut() = StatusCode::FOUND;
                }
            }))
        }),
    },
    Fault {
        name: "loses-paths-in-redirects",
        summary: "Redirects to the root of another host with 301 where the filter says nothing of the path.",
        clauses: &["blind:HTTPRouteRedirectHostAndStatus.3"],
        seam: Seam::Config(|| {
            serve(|_, config| {
                let elsewhere = |to: &&mut RequestRedirect| {
                    to.status == 301 && to.hostname.is_some() && to.path.is_none() && to.scheme.is_none()
                };
                for to in rules(config).flat_map(redirects).filter(elsewhere) {
                    to.path = Some(PathModifier::ReplaceFullPath("/".into()));
                }
            })
        }),
    },
    Fault {
        name: "spells-ports-of-redirects-out",
        summary: "Spells out in the Location of a redirect the port that its scheme has anyway.",
        clauses: &["OWN-40", "blind:HTTPRouteRedirectPortAndScheme.1"],
        seam: Seam::Exchange(|| {
            Arc::new(Answers(|_, response| {
                let location = response.headers().get(LOCATION).and_then(|value| value.to_str().ok());
                let longer = location.and_then(spell_port_out).and_then(|url| HeaderValue::try_from(url).ok());
                if let Some(longer) = longer.filter(|_| response.status().is_redirection()) {
                    response.headers_mut().insert(LOCATION, longer);
                }
            }))
        }),
    },
];
