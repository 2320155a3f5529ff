//! What clients get back.

use std::sync::Arc;

use http::{HeaderValue, header::SERVER};

use super::Bug;
use crate::faults::{Fault, Seam, exchange::Answers};

pub(super) const BUGS: &[Bug] = &[Bug {
    fault: Fault {
        name: "names-itself-as-the-server",
        summary: "Puts its own name into the header Server of an answer, whatever a filter has set there.",
        clauses: &["upstream:HTTPRouteResponseHeaderModifier"],
        seam: Seam::Exchange(|| {
            Arc::new(Answers(|_, response| {
                if let Some(server) = response.headers_mut().get_mut(SERVER) {
                    *server = HeaderValue::from_static("gateway");
                }
            }))
        }),
    },
    reported: &["istio/istio#56211"],
}];
