//! What browsers ask for before they ask.

use std::sync::Arc;

use gateproof_proxy::{
    body::Body,
    config::{Config, Cors, Filter, Hostname, Route},
    exchange::RequestHead,
};
use http::{
    HeaderMap, HeaderName, Response,
    header::{ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_REQUEST_HEADERS},
};

use super::Bug;
use crate::faults::{
    Fault, Seam,
    exchange::Answers,
    tools::{hosts, serve},
};

fn members<'a>(headers: &'a HeaderMap, name: &HeaderName) -> impl Iterator<Item = &'a str> + use<'a> {
    let lines = headers.get_all(name).iter().filter_map(|value| value.to_str().ok());
    lines.flat_map(|line| line.split(',')).map(str::trim)
}

/// Grants no header if one is asked for in another case than it is granted in.
fn compare_as_written(request: &RequestHead, response: &mut Response<Body>) {
    let is_other = |asked: &str| {
        let granted = || members(response.headers(), &ACCESS_CONTROL_ALLOW_HEADERS);
        granted().any(|one| one.eq_ignore_ascii_case(asked)) && !granted().any(|one| one == asked)
    };
    if members(&request.headers, &ACCESS_CONTROL_REQUEST_HEADERS).any(is_other) {
        response.headers_mut().remove(ACCESS_CONTROL_ALLOW_HEADERS);
    }
}

fn is_cors(filter: &Filter) -> bool {
    matches!(filter, Filter::Cors(_))
}

/// The rules of a listener that are for hosts of their own.
fn of_own_hosts(rules: &mut [Route]) -> impl Iterator<Item = &mut Route> {
    rules.iter_mut().filter(|rule| !rule.hostnames.is_empty())
}

/// Gives the CORS filters of a route those of the oldest route of its hosts that has one.
fn share_among_routes(config: &mut Config) {
    for host in hosts(config) {
        let mut known: Vec<(Vec<Hostname>, (String, String), Cors)> = Vec::new();
        for rule in of_own_hosts(&mut host.routes) {
            let route = (rule.id.namespace.clone(), rule.id.name.clone());
            for filter in &mut rule.filters {
                let Filter::Cors(cors) = filter else { continue };
                match known.iter().find(|(hosts, ..)| *hosts == rule.hostnames) {
                    Some((_, of, first)) if *of != route => cors.clone_from(first),
                    Some(_) => {}
                    None => known.push((rule.hostnames.clone(), route.clone(), cors.clone())),
                }
            }
        }
    }
}

/// Gives rules without a CORS filter that of the first rule of their hosts that has one.
fn grant_by_any(config: &mut Config) {
    for host in hosts(config) {
        let with_cors =
            |rule: &Route| Some((rule.hostnames.clone(), rule.filters.iter().find(|of| is_cors(of))?.clone()));
        let known: Vec<(Vec<Hostname>, Filter)> = host.routes.iter().filter_map(with_cors).collect();
        for rule in of_own_hosts(&mut host.routes).filter(|rule| !rule.filters.iter().any(is_cors)) {
            if let Some((_, filter)) = known.iter().find(|(hosts, _)| *hosts == rule.hostnames) {
                rule.filters.insert(0, filter.clone());
            }
        }
    }
}

pub(super) const BUGS: &[Bug] = &[
    Bug {
        fault: Fault {
            name: "compares-names-of-granted-headers-as-written",
            summary: "Grants a browser no headers that a CORS filter writes in another case than the browser.",
            clauses: &["upstream:HTTPRouteCORS"],
            seam: Seam::Exchange(|| Arc::new(Answers(compare_as_written))),
        },
        reported: &["akka/akka-http#4495", "quarkusio/quarkus#3681", "versity/versitygw#1492"],
    },
    Bug {
        fault: Fault {
            name: "shares-cors-among-routes-of-a-host",
            summary: "Gives the CORS filters of a route what those of an older route of the same hosts say.",
            clauses: &["upstream:HTTPRouteCORS"],
            seam: Seam::Config(|| serve(|_, config| share_among_routes(config))),
        },
        reported: &["kgateway-dev/kgateway#1288"],
    },
    Bug {
        fault: Fault {
            name: "grants-by-any-cors-of-a-host",
            summary: "Gives rules without a CORS filter that of another rule of the same hosts.",
            clauses: &["upstream:HTTPRouteCORS"],
            seam: Seam::Config(|| serve(|_, config| grant_by_any(config))),
        },
        reported: &["openservicemesh/osm#455"],
    },
];
