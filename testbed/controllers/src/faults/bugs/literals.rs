//! Texts of matches that are pasted into a language in which their signs mean something.

use gateproof_proxy::config::{Config, FieldMatch, PathMatch, RequestMatch, ValueMatch};

use super::Bug;
use crate::faults::{
    Fault, Seam,
    tools::{hosts, rules, serve},
};

/// What headers are to have, or what query parameters are.
fn values(config: &mut Config, of: fn(&mut RequestMatch) -> &mut Vec<FieldMatch>) -> Vec<&mut ValueMatch> {
    let matches = rules(config).flat_map(|rule| &mut rule.matches);
    matches.flat_map(of).map(|field| &mut field.value).collect()
}

/// Takes an exact value for an expression, if it is one that says something else.
fn read_as_pattern(value: &mut ValueMatch) {
    if let ValueMatch::Exact(exact) = value
        && regex::escape(exact) != *exact
        && regex::Regex::new(exact).is_ok()
    {
        *value = ValueMatch::Regex(exact.clone());
    }
}

/// Takes the parts between commas for values of which any will do.
fn split_at_commas(value: &mut ValueMatch) {
    if let ValueMatch::Exact(exact) = value
        && exact.contains(',')
    {
        *value = ValueMatch::Regex(exact.split(',').map(regex::escape).collect::<Vec<_>>().join("|"));
    }
}

fn has_colon(one: &RequestMatch) -> bool {
    match &one.path {
        PathMatch::Exact(path) | PathMatch::Prefix(path) => path.contains(':'),
        _ => false,
    }
}

pub(super) const BUGS: &[Bug] = &[
    Bug {
        fault: Fault {
            name: "reads-header-values-as-patterns",
            summary: "Takes the exact value that a header is to have for a regular expression.",
            clauses: &["upstream:HTTPRouteHeaderMatching"],
            seam: Seam::Config(|| {
                serve(|_, config| values(config, |one| &mut one.headers).into_iter().for_each(read_as_pattern))
            }),
        },
        reported: &["higress-group/higress#3751"],
    },
    Bug {
        fault: Fault {
            name: "reads-query-values-as-patterns",
            summary: "Takes the exact value that a query parameter is to have for a regular expression.",
            clauses: &["blind:HTTPRouteQueryParamMatching.1"],
            seam: Seam::Config(|| {
                serve(|_, config| values(config, |one| &mut one.query).into_iter().for_each(read_as_pattern))
            }),
        },
        reported: &["kubernetes-sigs/aws-load-balancer-controller#4321"],
    },
    Bug {
        fault: Fault {
            name: "splits-header-matches-at-commas",
            summary: "Takes the commas of the exact value that a header is to have for those of a list of values.",
            clauses: &["upstream:HTTPRouteHeaderMatching"],
            seam: Seam::Config(|| {
                serve(|_, config| values(config, |one| &mut one.headers).into_iter().for_each(split_at_commas))
            }),
        },
        reported: &["kubernetes-sigs/aws-load-balancer-controller#4321"],
    },
    Bug {
        fault: Fault {
            name: "loses-rules-with-quotes",
            summary: "Has no rule that asks for a value of a header with a back quote in it.",
            clauses: &["upstream:HTTPRouteHeaderMatching"],
            seam: Seam::Config(|| {
                serve(|_, config| {
                    let is_quoted =
                        |field: &FieldMatch| matches!(&field.value, ValueMatch::Exact(text) if text.contains('`'));
                    for host in hosts(config) {
                        host.routes.retain(|rule| !rule.matches.iter().any(|one| one.headers.iter().any(is_quoted)));
                    }
                })
            }),
        },
        reported: &["traefik/traefik#12753", "traefik/traefik#13645"],
    },
    Bug {
        fault: Fault {
            name: "loses-rules-with-colons-in-paths",
            summary: "Has no rule that asks for a path with a colon in it.",
            clauses: &["upstream:HTTPRouteExactPathMatching", "upstream:HTTPRouteMatching"],
            seam: Seam::Config(|| {
                serve(|_, config| {
                    hosts(config).for_each(|host| host.routes.retain(|rule| !rule.matches.iter().any(has_colon)));
                })
            }),
        },
        reported: &["zalando/skipper#1763"],
    },
];
