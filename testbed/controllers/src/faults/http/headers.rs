//! Faults in what filters do to headers.

use gateproof_proxy::config::{Filter, HeaderModifier, Route};

use super::super::{
    Fault, Seam,
    tools::{backends, filters, rules, serve},
};

/// What these filters do to headers of requests.
fn of_requests(list: &mut [Filter]) -> impl Iterator<Item = &mut HeaderModifier> {
    list.iter_mut().filter_map(|filter| match filter {
        Filter::RequestHeaderModifier(modifier) => Some(modifier),
        _ => None,
    })
}

/// What these filters do to headers of answers.
fn of_answers(list: &mut [Filter]) -> impl Iterator<Item = &mut HeaderModifier> {
    list.iter_mut().filter_map(|filter| match filter {
        Filter::ResponseHeaderModifier(modifier) => Some(modifier),
        _ => None,
    })
}

/// Sets what is to be added.
fn set_additions(modifier: &mut HeaderModifier) {
    let added = std::mem::take(&mut modifier.add);
    modifier.set.extend(added);
}

fn keep_first(modifier: &mut HeaderModifier) {
    modifier.set.truncate(1);
    modifier.add.truncate(1);
    modifier.remove.truncate(1);
}

/// Whether a name begins in lower case and goes on in upper case.
fn is_odd(name: &str) -> bool {
    name.starts_with(|first: char| first.is_ascii_lowercase()) && name.chars().any(|one| one.is_ascii_uppercase())
}

fn drop_odd_names(modifier: &mut HeaderModifier) {
    modifier.set.retain(|header| !is_odd(&header.name));
    modifier.add.retain(|header| !is_odd(&header.name));
    modifier.remove.retain(|name| !is_odd(name));
}

/// Leaves the headers of requests alone where a rule has such another filter.
fn leave_requests_alone(rule: &mut Route, beside: fn(&Filter) -> bool) {
    if rule.filters.iter().any(beside) {
        rule.filters.retain(|filter| !matches!(filter, Filter::RequestHeaderModifier(_)));
    }
}

pub(in super::super) const FAULTS: &[Fault] = &[
    Fault {
        name: "sets-headers-that-are-added",
        summary: "Replaces a request header where the filter of a rule adds to it.",
        clauses: &["upstream:HTTPRouteRequestHeaderModifier"],
        seam: Seam::Config(|| {
            serve(|_, config| {
                rules(config).for_each(|rule| of_requests(&mut rule.filters).for_each(set_additions));
            })
        }),
    },
    Fault {
        name: "sets-response-headers-that-are-added",
        summary: "Replaces a response header where the filter adds to it.",
        clauses: &["upstream:HTTPRouteResponseHeaderModifier"],
        seam: Seam::Config(|| {
            serve(|_, config| filters(config).for_each(|list| of_answers(list).for_each(set_additions)))
        }),
    },
    Fault {
        name: "does-nothing-but-set-for-backends",
        summary: "Adds and removes no headers where the filter of a backend does.",
        clauses: &[
            "upstream:HTTPRouteBackendRequestHeaderModifier",
            "blind:HTTPRouteRequestHeaderModifierBackendWeights.2",
        ],
        seam: Seam::Config(|| {
            serve(|_, config| {
                for modifier in backends(config).flat_map(|to| of_requests(&mut to.filters)) {
                    modifier.add.clear();
                    modifier.remove.clear();
                }
            })
        }),
    },
    Fault {
        name: "changes-one-request-header-of-each-kind",
        summary: "Sets, adds and removes one header of a request, however many the filter names.",
        clauses: &[
            "upstream:GRPCRouteRequestHeaderModifier",
            "upstream:HTTPRouteRequestHeaderModifier",
            "upstream:HTTPRouteBackendRequestHeaderModifier",
        ],
        seam: Seam::Config(|| {
            serve(|_, config| filters(config).for_each(|list| of_requests(list).for_each(keep_first)))
        }),
    },
    Fault {
        name: "changes-one-response-header-of-each-kind",
        summary: "Sets, adds and removes one header of an answer, however many the filter names.",
        clauses: &["upstream:HTTPRouteResponseHeaderModifier"],
        seam: Seam::Config(|| {
            serve(|_, config| filters(config).for_each(|list| of_answers(list).for_each(keep_first)))
        }),
    },
    Fault {
        name: "trips-over-the-case-of-header-names",
        summary: "Leaves headers alone whose names begin in lower case and go on in upper case.",
        clauses: &[
            "upstream:HTTPRouteRequestHeaderModifier",
            "upstream:HTTPRouteBackendRequestHeaderModifier",
            "upstream:HTTPRouteResponseHeaderModifier",
        ],
        seam: Seam::Config(|| {
            serve(|_, config| {
                filters(config).for_each(|list| {
                    of_requests(list).for_each(drop_odd_names);
                    of_answers(list).for_each(drop_odd_names);
                });
            })
        }),
    },
    Fault {
        name: "leaves-requests-alone-where-answers-change",
        summary: "Leaves the headers of requests as they are where a rule changes those of answers too.",
        clauses: &["upstream:HTTPRouteResponseHeaderModifier"],
        seam: Seam::Config(|| {
            serve(|_, config| {
                rules(config)
                    .for_each(|rule| leave_requests_alone(rule, |of| matches!(of, Filter::ResponseHeaderModifier(_))));
            })
        }),
    },
    Fault {
        name: "leaves-headers-alone-beside-rewrites",
        summary: "Leaves the headers of requests as they are where a rule rewrites host or path too.",
        clauses: &["upstream:HTTPRouteRewritePath", "upstream:HTTPRouteRewriteHost"],
        seam: Seam::Config(|| {
            serve(|_, config| {
                rules(config).for_each(|rule| leave_requests_alone(rule, |of| matches!(of, Filter::UrlRewrite(_))));
            })
        }),
    },
    Fault {
        name: "leaves-headers-alone-beside-mirrors",
        summary: "Leaves the headers of requests as they are where a rule has a mirror too.",
        clauses: &[
            "upstream:HTTPRouteRequestMirror",
            "upstream:HTTPRouteRequestMultipleMirrors",
            "upstream:HTTPRouteRequestPercentageMirror",
        ],
        seam: Seam::Config(|| {
            serve(|_, config| {
                rules(config).for_each(|rule| leave_requests_alone(rule, |of| matches!(of, Filter::RequestMirror(_))));
            })
        }),
    },
];
