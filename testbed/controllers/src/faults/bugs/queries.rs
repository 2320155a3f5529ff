//! Signs that mean something in a query to some, and nothing to others.

use std::sync::Arc;

use gateproof_proxy::exchange::RequestHead;
use http::{request::Parts, uri::PathAndQuery};

use super::Bug;
use crate::faults::{Fault, Seam, exchange::Forwards};

/// Forwards another query than the one that the filters left.
fn change(parts: &mut Parts, to: fn(&str) -> String) {
    let Some(query) = parts.uri.query() else { return };
    if let Ok(target) = format!("{}?{}", parts.uri.path(), to(query)).parse::<PathAndQuery>() {
        parts.uri = target.into();
    }
}

/// Takes a semicolon for what stands between parameters.
fn write_ampersands(_: &RequestHead, parts: &mut Parts) {
    change(parts, |query| query.replace(';', "&"));
}

/// Forwards no parameter that has a semicolon in it.
fn drop_parameters(_: &RequestHead, parts: &mut Parts) {
    change(parts, |query| query.split('&').filter(|one| !one.contains(';')).collect::<Vec<_>>().join("&"));
}

pub(super) const BUGS: &[Bug] = &[
    Bug {
        fault: Fault {
            name: "writes-ampersands-for-semicolons",
            summary: "Forwards the semicolons of a query as ampersands.",
            clauses: &["OWN-07"],
            seam: Seam::Exchange(|| Arc::new(Forwards(write_ampersands))),
        },
        reported: &["traefik/traefik#9164"],
    },
    Bug {
        fault: Fault {
            name: "drops-parameters-with-semicolons",
            summary: "Forwards no parameter of a query that has a semicolon in it.",
            clauses: &["OWN-07"],
            seam: Seam::Exchange(|| Arc::new(Forwards(drop_parameters))),
        },
        reported: &["ory/oathkeeper#1255", "tailscale/tailscale#13058"],
    },
];
