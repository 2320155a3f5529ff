//! Faults in which rule of several a request belongs to.

use std::cmp::Reverse;
use std::sync::Arc;

use gateproof_proxy::{
    compiled::Candidate,
    config::{FieldMatch, ValueMatch},
    exchange::{MatchOutcome, RequestHead},
    matching::{hostname::covers, path::PathPredicate, precedence::Rank},
    routing::Routing,
};
use http::Method;

use super::super::{Fault, Seam, exchange::Finds};

fn rule(of: &Candidate) -> MatchOutcome {
    MatchOutcome::Rule { route: Arc::clone(&of.route), predicate: Arc::clone(&of.predicate) }
}

/// The rule that comes first in another order, where there is one.
fn first_by<K: Ord>(
    request: &RequestHead,
    routing: &Routing<'_>,
    found: MatchOutcome,
    order: impl Fn(&Rank) -> K,
) -> MatchOutcome {
    let MatchOutcome::Rule { .. } = found else { return found };
    let host = routing.virtual_host(&request.host).and_then(|index| routing.hosts.get(index));
    let all = host.into_iter().flat_map(|host| &host.candidates);
    let held = all.filter(|of| covers(&of.hostname, &request.host) && of.predicate.holds(&request.subject()));
    held.min_by_key(|of| order(&of.rank)).map_or(found, rule)
}

/// How long the prefix is that matched.
fn prefix(found: &MatchOutcome) -> usize {
    match found {
        MatchOutcome::Rule { predicate, .. } => match predicate.path() {
            PathPredicate::Prefix(prefix) => prefix.len(),
            _ => usize::MAX,
        },
        _ => 0,
    }
}

fn queries(found: &MatchOutcome) -> usize {
    match found {
        MatchOutcome::Rule { predicate, .. } => predicate.query_count(),
        _ => 0,
    }
}

/// The rule for the request with another query.
fn with_query(request: &RequestHead, routing: &Routing<'_>, query: String) -> MatchOutcome {
    routing.route(&RequestHead { query: Some(query), ..request.clone() })
}

/// A parameter as it stands in a query.
fn written(field: &FieldMatch) -> Option<String> {
    match &field.value {
        ValueMatch::Exact(value) => Some(format!("{}={value}", field.name)),
        _ => None,
    }
}

/// The rule that asks for several parameters, one of which is there.
fn with_one_of_several(request: &RequestHead, routing: &Routing<'_>, found: MatchOutcome) -> MatchOutcome {
    let Some(query) = request.query.as_deref() else { return found };
    let matches = routing.hosts.iter().flat_map(|host| &host.candidates).flat_map(|of| &of.route.rule.matches);
    for one in matches.filter(|one| one.query.len() > 1) {
        let asked: Vec<String> = one.query.iter().filter_map(written).collect();
        if asked.iter().any(|parameter| query.split('&').any(|own| own == parameter)) {
            let other = with_query(request, routing, format!("{query}&{}", asked.join("&")));
            if queries(&other) > 1 {
                return other;
            }
        }
    }
    found
}

pub(in super::super) const FAULTS: &[Fault] = &[
    Fault {
        name: "finds-prefixes-anywhere",
        summary: "Takes a PathPrefix for equal with elements in the middle of a path.",
        clauses: &["upstream:HTTPRouteMatching"],
        seam: Seam::Exchange(|| {
            Arc::new(Finds(|request, routing, found| {
                let inner = request.path.match_indices('/').skip(1).map(|(at, _)| &request.path[at..]);
                let inner = inner.map(|path| routing.route(&RequestHead { path: path.to_owned(), ..request.clone() }));
                let longer =
                    |other: &MatchOutcome| (prefix(&found).saturating_add(1)..usize::MAX).contains(&prefix(other));
                inner.into_iter().find(longer).unwrap_or(found)
            }))
        }),
    },
    Fault {
        name: "takes-head-for-get",
        summary: "Gives a HEAD request that no rule takes to the one that asks for GET.",
        clauses: &["upstream:HTTPRouteMethodMatching"],
        seam: Seam::Exchange(|| {
            Arc::new(Finds(|request, routing, found| match found {
                MatchOutcome::NoRule if request.method == Method::HEAD => {
                    routing.route(&RequestHead { method: Method::GET, ..request.clone() })
                }
                found => found,
            }))
        }),
    },
    Fault {
        name: "prefers-headers-to-methods",
        summary: "Lets a rule with a header win against one with a method.",
        clauses: &["upstream:HTTPRouteMethodMatching"],
        seam: Seam::Exchange(|| {
            Arc::new(Finds(|request, routing, found| {
                first_by(request, routing, found, |rank| (rank.0, rank.1, rank.3, rank.2, rank.4))
            }))
        }),
    },
    Fault {
        name: "prefers-methods-to-paths",
        summary: "Lets a rule with a method win against one with a longer path.",
        clauses: &["upstream:HTTPRouteMethodMatching"],
        seam: Seam::Exchange(|| {
            Arc::new(Finds(|request, routing, found| {
                first_by(request, routing, found, |rank| (rank.0, rank.2, rank.1, rank.3, rank.4))
            }))
        }),
    },
    Fault {
        name: "prefers-fewer-parameters",
        summary: "Lets a rule with one query parameter win against one with several.",
        clauses: &["upstream:HTTPRouteQueryParamMatching"],
        seam: Seam::Exchange(|| {
            Arc::new(Finds(|request, routing, found| {
                first_by(request, routing, found, |rank| {
                    let Reverse(count) = rank.4;
                    (rank.0, rank.1, rank.2, rank.3, if count == 0 { usize::MAX } else { count })
                })
            }))
        }),
    },
    Fault {
        name: "needs-one-of-several-parameters",
        summary: "Takes one of the query parameters of a match for all of them.",
        clauses: &["upstream:HTTPRouteQueryParamMatching"],
        seam: Seam::Exchange(|| Arc::new(Finds(with_one_of_several))),
    },
    Fault {
        name: "trips-over-further-parameters",
        summary: "Finds no rule for a request with more query parameters than the match asks for.",
        clauses: &["upstream:HTTPRouteQueryParamMatching"],
        seam: Seam::Exchange(|| {
            Arc::new(Finds(|request, _, found| {
                let given = request.query.as_deref().map_or(0, |query| query.split('&').count());
                if (1..given).contains(&queries(&found)) { MatchOutcome::NoRule } else { found }
            }))
        }),
    },
    Fault {
        name: "compares-parameters-without-case",
        summary: "Takes a query parameter in another case for equal.",
        clauses: &["upstream:HTTPRouteQueryParamMatching"],
        seam: Seam::Exchange(|| {
            Arc::new(Finds(|request, routing, found| match (&found, &request.query) {
                (MatchOutcome::NoRule, Some(query)) => with_query(request, routing, query.to_ascii_lowercase()),
                _ => found,
            }))
        }),
    },
];
