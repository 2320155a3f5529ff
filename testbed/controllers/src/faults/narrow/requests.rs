//! Those of such mistakes that a single request or route of a test of upstream's shows.

use std::sync::Arc;

use gateproof_proxy::{
    body,
    config::{Filter, RequestRedirect, Route, VirtualHost},
};
use http::{
    HeaderName, Method, StatusCode,
    header::{ACCESS_CONTROL_REQUEST_METHOD, CONTENT_LENGTH, ORIGIN},
};

use crate::{
    faults::{
        Fault, Seam,
        exchange::Answers,
        http::config::is_named,
        tools::{filters, hosts, serve},
        v1_7::{is_of_one, shared},
    },
    snapshot::{Kind, Snapshot},
};

/// When the route of a rule was made.
fn made<'a>(snapshot: &'a Snapshot, rule: &Route) -> Option<&'a str> {
    let kinds = [Kind::HttpRoute, Kind::GrpcRoute];
    let route = kinds.iter().find_map(|kind| snapshot.get(*kind, &rule.id.namespace, &rule.id.name));
    route.map(|route| route.meta.creation_timestamp.as_str())
}

/// Ranks a rule by the hosts that it has of its listener where a rule of a younger route has the same matches.
fn keep_with_older(snapshot: &Snapshot, host: &mut VirtualHost) {
    let all = host.routes.clone();
    for rule in &mut host.routes {
        let age = made(snapshot, rule);
        let is_rival =
            |other: &Route| !is_of_one(rule, other) && made(snapshot, other) > age && other.matches == rule.matches;
        if all.iter().any(is_rival) {
            rule.hostnames = shared(&host.hostname, rule);
        }
    }
}

/// Whether a redirect leads to where the request was sent, by another status than the usual one.
fn is_bare(to: &RequestRedirect) -> bool {
    to.status != 302 && to.scheme.is_none() && to.hostname.is_none() && to.port.is_none() && to.path.is_none()
}

/// Leaves the rules without a name out of routes that have some with one.
fn serve_named(snapshot: &Snapshot, host: &mut VirtualHost) {
    let named: Vec<Route> = host.routes.iter().filter(|rule| is_named(snapshot, rule)).cloned().collect();
    host.routes.retain(|rule| is_named(snapshot, rule) || !named.iter().any(|other| is_of_one(rule, other)));
}

/// Puts neighbours of one route that ask for as many headers, of other names, into the order of these names.
fn order_by_header_names(host: &mut VirtualHost) {
    let names = |rule: &Route| {
        let headers = rule.matches.first().map(|one| one.headers.iter());
        let mut names: Vec<String> = headers.into_iter().flatten().map(|one| one.name.clone()).collect();
        names.sort_unstable();
        names
    };
    let path = |rule: &Route| rule.matches.first().map(|one| one.path.clone());
    for at in 1..host.routes.len() {
        let (one, other) = (&host.routes[at - 1], &host.routes[at]);
        let alike = is_of_one(one, other) && path(one) == path(other) && names(one).len() == names(other).len();
        if alike && names(one) > names(other) {
            host.routes.swap(at - 1, at);
        }
    }
}

pub(in crate::faults) const FAULTS: &[Fault] = &[
    Fault {
        name: "keeps-what-older-routes-match",
        summary: "Leaves to a route what a younger one matches as well, however narrowly that writes the hostname.",
        clauses: &[
            "upstream:HTTPRouteMultipleRoutesAttachmentSameHostnameIntersection",
            "upstream:GRPCRouteMultipleRoutesAttachmentSameHostnameIntersection",
        ],
        seam: Seam::Config(|| {
            serve(|seen, config| hosts(config).for_each(|host| keep_with_older(seen.snapshot, host)))
        }),
    },
    Fault {
        name: "overlooks-redirects-to-the-same-place",
        summary: "Takes no notice of a redirect that names another status than 302 and nothing else.",
        clauses: &["upstream:HTTPRoute303Redirect", "upstream:HTTPRoute307Redirect", "upstream:HTTPRoute308Redirect"],
        seam: Seam::Config(|| {
            serve(|_, config| {
                let is_meant = |one: &Filter| matches!(one, Filter::RequestRedirect(to) if is_bare(to));
                filters(config).for_each(|list| list.retain(|one| !is_meant(one)));
            })
        }),
    },
    Fault {
        name: "serves-named-rules-alone",
        summary: "Serves of a route in which some rules have a name no others.",
        clauses: &["upstream:HTTPRouteNamedRule", "upstream:GRPCRouteNamedRule"],
        seam: Seam::Config(|| serve(|seen, config| hosts(config).for_each(|host| serve_named(seen.snapshot, host)))),
    },
    Fault {
        name: "tells-headers-apart-by-their-names",
        summary: "Lets of two neighbours with as many headers the one win whose headers come first in the alphabet.",
        clauses: &["upstream:HTTPRouteHeaderMatching"],
        seam: Seam::Config(|| serve(|_, config| hosts(config).for_each(order_by_header_names))),
    },
    Fault {
        name: "takes-whoever-names-a-method-for-a-preflight",
        summary: "Answers a request of another origin by itself if it has Access-Control-Request-Method, whatever its own method is.",
        clauses: &["upstream:HTTPRouteCORS"],
        seam: Seam::Exchange(|| {
            Arc::new(Answers(|request, response| {
                let names = |header: HeaderName| request.headers.contains_key(header);
                if request.method != Method::OPTIONS && names(ORIGIN) && names(ACCESS_CONTROL_REQUEST_METHOD) {
                    *response.status_mut() = StatusCode::NO_CONTENT;
                    response.headers_mut().remove(CONTENT_LENGTH);
                    *response.body_mut() = body::empty();
                }
            }))
        }),
    },
];
