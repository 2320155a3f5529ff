//! Those of such mistakes that are made with traffic.

use std::sync::Arc;

use gateproof_proxy::{
    config::{Authorization, Config, Filter, Protocol},
    exchange::{Exchange, MatchOutcome, RequestHead},
    matching::{hostname::covers, path::PathPredicate},
    routing::Routing,
};
use http::{Method, Request, header::AUTHORIZATION};

use super::keep_first;
use crate::{
    faults::{
        Fault, Seam,
        exchange::{Body, Finds},
        tools::{drop_field, each, hosts, rules, serve, serve_from, virtual_hosts},
    },
    snapshot::Kind,
};

/// Has the scheme of a redirect say its port where that is one that everybody knows. Of a listener of HTTPS the scheme is that.
fn leave_known_ports_out(config: &mut Config) {
    for listener in &mut config.listeners {
        let scheme = if matches!(listener.protocol, Protocol::Http(_)) { "http" } else { "https" };
        let all = virtual_hosts(listener).into_iter().flat_map(|host| &mut host.routes);
        for filter in all.flat_map(|rule| &mut rule.filters) {
            if let Filter::RequestRedirect(redirect) = filter
                && matches!(redirect.port, Some(80 | 443))
            {
                redirect.port = None;
                redirect.scheme.get_or_insert_with(|| scheme.to_owned());
            }
        }
    }
}

/// Another question about a request than the one that is to be asked.
struct Asks(fn(&mut Request<Body>));

impl Exchange for Asks {
    fn on_question(&self, _: &RequestHead, _: &str, mut question: Request<Body>) -> Request<Body> {
        (self.0)(&mut question);
        question
    }
}

fn asked(config: &mut Config) -> impl Iterator<Item = &mut Authorization> {
    hosts(config).flat_map(|host| host.before.iter_mut())
}

/// Asks for `/` whoever would answer with a success other than 200, so that the request goes on.
fn take_any_success(question: &mut Request<Body>) {
    if question.uri().path().starts_with("/status/2") {
        *question.uri_mut() = http::Uri::from_static("/");
    }
}

/// Of the rules of one hostname that take a call the one with the longest method, then that with the longest service.
fn methods_first(request: &RequestHead, routing: &Routing<'_>, found: MatchOutcome) -> MatchOutcome {
    let Some(host) = routing.host_of(request) else { return found };
    let subject = request.subject();
    let mut fitting = host
        .candidates
        .iter()
        .filter(|one| covers(&one.hostname, &request.host) && one.predicate.holds(&subject))
        .peekable();
    let Some(hostname) = fitting.peek().map(|one| &one.hostname) else { return found };
    let calls = fitting.filter(|one| one.hostname == *hostname).filter_map(|one| match one.predicate.path() {
        PathPredicate::Rpc(rpc) => Some((rpc.lengths(), one)),
        _ => None,
    });
    // Of equals the first one stays.
    let best = calls.reduce(|best, next| {
        let key = |(service, method): (usize, usize)| (method, service);
        if key(next.0) > key(best.0) { next } else { best }
    });
    best.map_or(found, |(_, one)| MatchOutcome::Rule { route: one.route.clone(), predicate: one.predicate.clone() })
}

pub(in crate::faults) const FAULTS: &[Fault] = &[
    Fault {
        name: "asks-about-requests-by-get",
        summary: "Asks about every request of a listener with a filter by GET.",
        clauses: &["OWN-103"],
        seam: Seam::Exchange(|| Arc::new(Asks(|question| *question.method_mut() = Method::GET))),
    },
    Fault {
        name: "keeps-credentials-from-who-is-asked",
        summary: "Does not show who is asked about a request its Authorization.",
        clauses: &["OWN-103"],
        seam: Seam::Exchange(|| {
            Arc::new(Asks(|question| {
                question.headers_mut().remove(AUTHORIZATION);
            }))
        }),
    },
    Fault {
        name: "takes-any-success-for-a-permit",
        summary: "Lets a request through as soon as who is asked about it answers with any success.",
        clauses: &["OWN-103"],
        seam: Seam::Exchange(|| Arc::new(Asks(take_any_success))),
    },
    Fault {
        name: "asks-about-bare-paths",
        summary: "Asks about a request without what the filter puts before its path.",
        clauses: &["OWN-103"],
        seam: Seam::Config(|| serve(|_, config| asked(config).for_each(|one| one.prefix.clear()))),
    },
    Fault {
        name: "takes-no-headers-unless-listed",
        summary: "Goes on without the headers that who is asked about a request answers with, unless they are listed.",
        clauses: &["OWN-103"],
        seam: Seam::Config(|| {
            serve(|_, config| {
                asked(config)
                    .filter(|one| one.taken.is_empty())
                    .for_each(|one| one.taken.push("x-of-nobody".to_owned()));
            })
        }),
    },
    Fault {
        name: "compares-methods-before-services",
        summary: "Gives a call to the rule with the longest method, and asks for the longest service after that.",
        clauses: &["GRPC-03"],
        seam: Seam::Exchange(|| Arc::new(Finds(methods_first))),
    },
    Fault {
        name: "serves-calls-on-all-ports",
        summary: "Serves a GRPCRoute that names a port on the others of its Gateway, too.",
        clauses: &["GEP1364-14"],
        seam: Seam::Config(|| {
            serve_from(|snapshot| {
                snapshot.edit(Kind::GrpcRoute, |route| {
                    each(route, "/spec/parentRefs").for_each(|parent| drop_field(parent, "port"));
                });
            })
        }),
    },
    Fault {
        name: "serves-tlsroutes-for-one-hostname",
        summary: "Serves a TLSRoute for the first of its hostnames alone.",
        clauses: &["IMPL-38"],
        seam: Seam::Config(|| {
            serve_from(|snapshot| {
                snapshot.edit(Kind::TlsRoute, |route| keep_first(route.pointer_mut("/spec/hostnames")));
            })
        }),
    },
    Fault {
        name: "limits-tries-instead-of-requests",
        summary: "Takes no notice of the time of a request where its tries have times of their own.",
        clauses: &["blind:HTTPRouteRetryWithRequestTimeout.1"],
        seam: Seam::Config(|| {
            serve(|_, config| {
                for rule in rules(config).filter(|rule| rule.retry.is_some() && rule.timeouts.backend_request.is_some())
                {
                    rule.timeouts.request = None;
                }
            })
        }),
    },
    Fault {
        name: "leaves-known-ports-out-of-any-scheme",
        summary: "Leaves the ports 80 and 443 out of the Location of a redirect, whatever its scheme is.",
        clauses: &["upstream:HTTPRouteRedirectPortAndScheme"],
        seam: Seam::Config(|| serve(|_, config| leave_known_ports_out(config))),
    },
];
