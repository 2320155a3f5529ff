//! What belongs to one connection, and what does not.

use std::sync::Arc;

use gateproof_proxy::exchange::RequestHead;
use http::{
    header::{CONNECTION, UPGRADE},
    request::Parts,
};

use super::Bug;
use crate::faults::{Fault, Seam, exchange::Forwards};

/// Takes what the client named in Connection out of what the filters made of the request.
fn strip_last(request: &RequestHead, parts: &mut Parts) {
    let values = request.headers.get_all(CONNECTION).iter().filter_map(|value| value.to_str().ok());
    for name in values.flat_map(|value| value.split(',')).map(str::trim) {
        if !name.eq_ignore_ascii_case(UPGRADE.as_str()) {
            parts.headers.remove(name);
        }
    }
}

pub(super) const BUGS: &[Bug] = &[Bug {
    fault: Fault {
        name: "strips-headers-behind-filters",
        summary: "Takes a header that the client names in Connection away after a filter has set it.",
        clauses: &["upstream:HTTPRouteRequestHeaderModifier"],
        seam: Seam::Exchange(|| Arc::new(Forwards(strip_last))),
    },
    reported: &["traefik/traefik#8319", "golang/go#50580", "ory/oathkeeper#1098"],
}];
