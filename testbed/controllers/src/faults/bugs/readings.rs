//! Lists and names that are read for more than they say, or for less.

use std::collections::BTreeSet;

use gateproof_proxy::config::{
    BackendTarget, Config, Filter, HeaderModifier, HeaderValue, PathMatch, Route, ValueMatch, VirtualHost,
};

use super::Bug;
use crate::{
    faults::{
        Fault, Seam,
        tools::{filters, hosts, rules, serve, view},
    },
    snapshot::{Kind, Snapshot},
};

/// What a filter writes into headers.
fn written(filter: &mut Filter) -> impl Iterator<Item = &mut HeaderValue> {
    let modifier = match filter {
        Filter::RequestHeaderModifier(modifier) | Filter::ResponseHeaderModifier(modifier) => Some(modifier),
        _ => None,
    };
    modifier.into_iter().flat_map(|HeaderModifier { set, add, .. }| set.iter_mut().chain(add))
}

fn keep_last_member(header: &mut HeaderValue) {
    if let Some((_, last)) = header.value.rsplit_once(',') {
        header.value = last.trim_start().to_owned();
    }
}

/// Every service and every method that calls are matched by.
fn calls(config: &mut Config) -> impl Iterator<Item = (Option<&mut ValueMatch>, Option<&mut ValueMatch>)> {
    rules(config).flat_map(|rule| &mut rule.matches).filter_map(|one| match &mut one.path {
        PathMatch::Rpc { service, method } => Some((service.as_mut(), method.as_mut())),
        _ => None,
    })
}

/// Takes an exact name for a pattern.
fn reread(name: Option<&mut ValueMatch>, as_pattern: fn(&str) -> String) {
    if let Some(name) = name
        && let ValueMatch::Exact(exact) = name
    {
        *name = ValueMatch::Regex(as_pattern(exact));
    }
}

/// A path as an expression in which a dot stands for any character.
fn with_open_dots(path: &str) -> String {
    regex::escape(path).replace("\\.", ".")
}

/// Every path that requests are matched by.
fn paths(config: &mut Config) -> impl Iterator<Item = &mut PathMatch> {
    rules(config).flat_map(|rule| &mut rule.matches).map(|one| &mut one.path)
}

/// Takes the exact paths of a host out that a prefix of it has with a slash behind them, with what had no others.
fn prefer_slashed_prefixes(host: &mut VirtualHost) {
    let matches = host.routes.iter().flat_map(|rule| &rule.matches);
    let slashed: BTreeSet<String> = matches
        .filter_map(|one| match &one.path {
            PathMatch::Prefix(path) => path.strip_suffix('/').map(str::to_owned),
            _ => None,
        })
        .collect();
    host.routes.retain_mut(|rule| {
        let takes_all = rule.matches.is_empty();
        rule.matches.retain(|one| !matches!(&one.path, PathMatch::Exact(path) if slashed.contains(path)));
        takes_all || !rule.matches.is_empty()
    });
}

/// Whether a rule has a backend without a share that could not take one either, beside one with a share.
fn has_idle_backend(rule: &Route) -> bool {
    rule.backends.iter().any(|to| to.weight > 0)
        && rule.backends.iter().any(|to| to.weight == 0 && matches!(to.target, BackendTarget::Fail { .. }))
}

/// Leaves of the entries of a grant that differ in this field alone the last.
fn keep_last_of(snapshot: &mut Snapshot, list: &str, field: &str) {
    snapshot.edit(Kind::ReferenceGrant, |grant| {
        let Some(entries) = grant["spec"][list].as_array_mut() else { return };
        let mut known = BTreeSet::new();
        entries.reverse();
        entries.retain(|entry| {
            let of = |part: &str| entry[part].as_str().unwrap_or_default().to_owned();
            entry[field].as_str().is_none_or(str::is_empty) || known.insert((of("group"), of("kind")))
        });
        entries.reverse();
    });
}

pub(super) const BUGS: &[Bug] = &[
    Bug {
        fault: Fault {
            name: "keeps-the-last-of-comma-values",
            summary: "Writes of a header value with commas what stands behind the last of them.",
            clauses: &["upstream:HTTPRouteRequestHeaderModifier", "upstream:HTTPRouteResponseHeaderModifier"],
            seam: Seam::Config(|| {
                serve(|_, config| filters(config).flatten().flat_map(written).for_each(keep_last_member))
            }),
        },
        reported: &["envoyproxy/gateway#5733", "envoyproxy/gateway#4023"],
    },
    Bug {
        fault: Fault {
            name: "reads-methods-as-prefixes",
            summary: "Takes a call whose method only begins with the one that a rule names.",
            clauses: &["GRPC-02", "blind:GRPCExactMethodMatching.1"],
            seam: Seam::Config(|| {
                serve(|_, config| {
                    calls(config).for_each(|(_, method)| reread(method, |exact| regex::escape(exact) + ".*"));
                })
            }),
        },
        reported: &["Kong/kong-operator#4673"],
    },
    Bug {
        fault: Fault {
            name: "reads-dots-of-services-as-any",
            summary: "Takes a call whose service has another character where the one that a rule names has a dot.",
            clauses: &["GRPC-02", "blind:GRPCExactMethodMatching.1"],
            seam: Seam::Config(|| {
                serve(|_, config| calls(config).for_each(|(service, _)| reread(service, str::to_owned)))
            }),
        },
        reported: &["Kong/kong-operator#4673"],
    },
    Bug {
        fault: Fault {
            name: "fails-rules-beside-idle-backends",
            summary: "Has no rule that names a backend of weight 0 which does not resolve or has no endpoints.",
            clauses: &["upstream:HTTPRouteWeight"],
            seam: Seam::Config(|| {
                serve(|_, config| hosts(config).for_each(|host| host.routes.retain(|rule| !has_idle_backend(rule))))
            }),
        },
        reported: &["traefik/traefik#9158"],
    },
    Bug {
        fault: Fault {
            name: "last-name-of-a-grant",
            summary: "Knows of the names that a ReferenceGrant has for one kind the last.",
            clauses: &["IMPL-41"],
            seam: Seam::Snapshot(|| view(|snapshot| keep_last_of(snapshot, "to", "name"))),
        },
        reported: &["istio/istio#58266"],
    },
    Bug {
        fault: Fault {
            name: "last-origin-of-a-grant",
            summary: "Knows of the namespaces that a ReferenceGrant lets one kind refer from the last.",
            clauses: &["IMPL-41"],
            seam: Seam::Snapshot(|| view(|snapshot| keep_last_of(snapshot, "from", "namespace"))),
        },
        reported: &["istio/istio#58266"],
    },
    Bug {
        fault: Fault {
            name: "reads-dots-of-exact-paths-as-any",
            summary: "Takes a request whose path has another character where an exact path has a dot.",
            clauses: &["upstream:HTTPRouteExactPathMatching"],
            seam: Seam::Config(|| {
                serve(|_, config| {
                    for path in paths(config) {
                        if let PathMatch::Exact(exact) = path
                            && exact.contains('.')
                        {
                            *path = PathMatch::Regex(with_open_dots(exact));
                        }
                    }
                })
            }),
        },
        reported: &["wso2/apk#511"],
    },
    Bug {
        fault: Fault {
            name: "reads-dots-of-prefixes-as-any",
            summary: "Takes a request whose path has another character where a prefix has a dot.",
            clauses: &["upstream:HTTPRouteMatching"],
            seam: Seam::Config(|| {
                serve(|_, config| {
                    for path in paths(config) {
                        if let PathMatch::Prefix(prefix) = path
                            && prefix.contains('.')
                        {
                            *path = PathMatch::Regex(with_open_dots(prefix.trim_end_matches('/')) + "(/.*)?");
                        }
                    }
                })
            }),
        },
        reported: &["wso2/apk#511"],
    },
    Bug {
        fault: Fault {
            name: "lets-slashed-prefixes-beat-exact-paths",
            summary: "Lets a prefix that ends in a slash win against the exact path without it.",
            clauses: &["upstream:HTTPRoutePathMatchOrder", "blind:HTTPRoutePathMatchOrder.2"],
            seam: Seam::Config(|| serve(|_, config| hosts(config).for_each(prefer_slashed_prefixes))),
        },
        reported: &["envoyproxy/gateway#2112"],
    },
];
