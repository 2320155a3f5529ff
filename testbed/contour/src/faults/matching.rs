//! Which route a request takes, and what it takes a condition for.

use std::sync::Arc;

use gateproof_proxy::config::{FieldMatch, PathMatch, ValueMatch};
use gateproof_proxy::exchange::{Exchange, MatchOutcome, RequestHead};
use gateproof_proxy::routing::Routing;

use super::edit;
use crate::reconcile::{Host, HostRoute, Outcome};
use crate::seam::{Fault, Seam};

/// A pattern that takes in nothing. Of expressions the longest comes first.
const NOTHING: &str = "(?:)";

/// The routes of hosts that have a regular expression for a path.
fn beside_expressions(outcome: &mut Outcome) -> impl Iterator<Item = &mut HostRoute> {
    let has = |host: &&mut Host| host.routes.iter().any(|route| matches!(route.matches.path, PathMatch::Regex(_)));
    outcome.hosts.iter_mut().filter(has).flat_map(|host| &mut host.routes)
}

/// Has a list ask of so many fields, of which those that are added are always missing.
fn pad(fields: &mut Vec<FieldMatch>, count: usize) {
    for index in fields.len()..count {
        fields.push(FieldMatch { name: format!("x-none-{index}"), value: ValueMatch::Absent });
    }
}

/// Changes the patterns of a value, and whether a value that is missing counts as another one.
fn change(value: &mut ValueMatch, pattern: &dyn Fn(&mut String), missing: &dyn Fn(&mut bool)) {
    match value {
        ValueMatch::Regex(text) => pattern(text),
        ValueMatch::Not { value, absent } => {
            missing(absent);
            change(value, pattern, missing);
        }
        ValueMatch::All(all) => all.iter_mut().for_each(|one| change(one, pattern, missing)),
        ValueMatch::Exact(_) | ValueMatch::Absent => {}
    }
}

fn headers(outcome: &mut Outcome) -> impl Iterator<Item = &mut ValueMatch> {
    super::routes(outcome).flat_map(|route| &mut route.matches.headers).map(|field| &mut field.value)
}

fn queries(outcome: &mut Outcome) -> impl Iterator<Item = &mut ValueMatch> {
    super::routes(outcome).flat_map(|route| &mut route.matches.query).map(|field| &mut field.value)
}

/// Serves whatever is below a wildcard, at whatever depth.
struct Depths;

impl Exchange for Depths {
    fn on_route(&self, request: &RequestHead, routing: &Routing<'_>, found: MatchOutcome) -> MatchOutcome {
        match (found, routing.virtual_host(&request.host)) {
            (MatchOutcome::NoRule, Some(index)) => routing.route_in(index, request),
            (found, _) => found,
        }
    }
}

pub(super) const FAULTS: &[Fault] = &[
    edit!(
        "tries-prefixes-before-expressions",
        "Takes a route by its prefix before one by a regular expression.",
        ["HTTPPROXY-K28"],
        |_, _, outcome| {
            for route in beside_expressions(outcome) {
                if let PathMatch::Text(prefix) = &route.matches.path
                    && prefix != "/"
                {
                    let first = format!("{}.*{}", regex::escape(prefix), NOTHING.repeat(50));
                    route.matches.path = PathMatch::Regex(first);
                }
            }
        }
    ),
    edit!(
        "tries-expressions-before-exact-paths",
        "Takes a route by a long regular expression before one by an exact path.",
        ["HTTPPROXY-K28"],
        |_, _, outcome| {
            for route in beside_expressions(outcome) {
                if let PathMatch::Exact(path) = &route.matches.path {
                    route.matches.path = PathMatch::Regex(regex::escape(path));
                }
            }
        }
    ),
    edit!(
        "tries-prefixes-before-exact-paths",
        "Takes a route by its prefix before one by an exact path that is as long.",
        ["HTTPPROXY-K28"],
        |_, _, outcome| {
            for host in &mut outcome.hosts {
                let prefixes: Vec<PathMatch> = host.routes.iter().map(|route| route.matches.path.clone()).collect();
                host.routes.retain(|route| match &route.matches.path {
                    PathMatch::Exact(path) => !prefixes.contains(&PathMatch::Text(path.clone())),
                    _ => true,
                });
            }
        }
    ),
    edit!(
        "tries-short-expressions-first",
        "Takes a route by the shortest regular expression that fits.",
        ["HTTPPROXY-K28"],
        |_, _, outcome| {
            for route in beside_expressions(outcome) {
                if let PathMatch::Regex(pattern) = &mut route.matches.path {
                    *pattern = format!("{pattern}{}", NOTHING.repeat(200_usize.saturating_sub(pattern.len())));
                }
            }
        }
    ),
    edit!(
        "counts-no-header-conditions",
        "Takes the first of several routes of one path that fit, whatever they ask of headers.",
        ["HTTPPROXY-K28"],
        |_, _, outcome| {
            for host in &mut outcome.hosts {
                let most = host.routes.iter().map(|route| route.matches.headers.len()).max().unwrap_or_default();
                host.routes.iter_mut().for_each(|route| pad(&mut route.matches.headers, most));
            }
        }
    ),
    edit!(
        "counts-no-query-conditions",
        "Takes the first of several routes of one path that fit, whatever they ask of queries.",
        ["HTTPPROXY-K28"],
        |_, _, outcome| {
            for host in &mut outcome.hosts {
                let most = host.routes.iter().map(|route| route.matches.query.len()).max().unwrap_or_default();
                host.routes.iter_mut().for_each(|route| pad(&mut route.matches.query, most));
            }
        }
    ),
    edit!(
        "counts-queries-before-headers",
        "Takes a route that asks more of queries before one that asks more of headers.",
        ["HTTPPROXY-K28"],
        |_, _, outcome| {
            for route in super::routes(outcome) {
                let count = route.matches.headers.len() + 10 * route.matches.query.len();
                pad(&mut route.matches.headers, count);
            }
        }
    ),
    edit!(
        "minds-the-case-of-values",
        "Minds the case of a value that is to be compared without.",
        ["HTTPPROXY-K07"],
        |_, _, outcome| {
            let minding = |text: &mut String| *text = text.replacen("(?si)", "(?s)", 1);
            headers(outcome).for_each(|value| change(value, &minding, &|_| {}));
            queries(outcome).for_each(|value| change(value, &minding, &|_| {}));
        }
    ),
    edit!(
        "minds-no-case-of-queries",
        "Compares values of query parameters in whatever case they are.",
        ["HTTPPROXY-K07"],
        |_, _, outcome| {
            let any = |text: &mut String| *text = text.replacen("(?s)", "(?si)", 1);
            queries(outcome).for_each(|value| change(value, &any, &|_| {}));
        }
    ),
    edit!(
        "takes-no-missing-header-for-empty",
        "Does not take a header that is missing for one that is empty where a condition asks for that.",
        ["HTTPPROXY-K07"],
        |_, _, outcome| headers(outcome).for_each(|value| change(value, &|_| {}, &|absent| *absent = false))
    ),
    edit!(
        "takes-missing-headers-for-empty",
        "Takes a header that is missing for one that is empty wherever it is to be something else.",
        ["HTTPPROXY-K07"],
        |_, _, outcome| headers(outcome).for_each(|value| change(value, &|_| {}, &|absent| *absent = true))
    ),
    Fault {
        name: "serves-deeper-hosts-by-wildcards",
        summary: "Serves hosts that have more than one label below the name of a wildcard.",
        clauses: &["HTTPPROXY-K19"],
        seam: Seam::Exchange(|| Arc::new(Depths)),
    },
    edit!(
        "serves-wildcards-in-clear-text-alone",
        "Serves no host by a wildcard over TLS.",
        ["HTTPPROXY-K19"],
        |_, _, outcome| {
            for host in outcome.hosts.iter_mut().filter(|host| host.fqdn.starts_with("*.")) {
                host.secure = None;
            }
        }
    ),
];
