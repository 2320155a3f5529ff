//! How calls end.

use std::sync::Arc;

use gateproof_proxy::{
    exchange::{MatchOutcome, RequestHead},
    grpc::{STATUS, is_grpc},
    routing::Routing,
};
use http::{
    Version,
    header::{HOST, TE},
};

use super::Bug;
use crate::faults::{
    Fault, Seam,
    exchange::Finds,
    grpc::exchange::{Frames, with_trailers},
    transit::Sends,
};

/// Finds nothing for a request of HTTP/2 that has a Host header: whoever sends one has no authority beside it.
fn know_authorities_alone(request: &RequestHead, _: &Routing<'_>, found: MatchOutcome) -> MatchOutcome {
    let is_such = request.version == Version::HTTP_2 && request.headers.contains_key(HOST);
    if is_such { MatchOutcome::NoRule } else { found }
}

pub(super) const BUGS: &[Bug] = &[
    Bug {
        fault: Fault {
            name: "knows-no-host-without-an-authority",
            summary: "Finds no route for a request over HTTP/2 whose host stands in its Host header, and not in `:authority`.",
            clauses: &["OWN-86"],
            seam: Seam::Exchange(|| Arc::new(Finds(know_authorities_alone))),
        },
        reported: &["agentgateway/agentgateway#3322", "apache/trafficserver#11765", "h2o/h2o#3041"],
    },
    Bug {
        fault: Fault {
            name: "loses-status-without-messages",
            summary: "Ends a call that its backend ends before the first message as if all had gone well.",
            clauses: &["blind:GRPCExactMethodMatching.3"],
            seam: Seam::Exchange(|| {
                Arc::new(Frames(|index, frame| {
                    Some(with_trailers(frame, |trailers| {
                        if index == 0 {
                            trailers.clear();
                            trailers.insert(STATUS, 0.into());
                        }
                    }))
                }))
            }),
        },
        reported: &["projectcalico/calico#10319"],
    },
    Bug {
        fault: Fault {
            name: "drops-words-of-calls",
            summary: "Keeps to itself what a backend says of why a call has failed.",
            clauses: &["blind:GRPCExactMethodMatching.3"],
            seam: Seam::Exchange(|| {
                Arc::new(Frames(|_, frame| {
                    Some(with_trailers(frame, |trailers| {
                        trailers.remove("grpc-message");
                    }))
                }))
            }),
        },
        reported: &["projectcalico/calico#10319"],
    },
    Bug {
        fault: Fault {
            name: "trips-over-ports-in-hosts-of-calls",
            summary: "Finds no route for a call whose host has a port.",
            clauses: &["OWN-77"],
            seam: Seam::Exchange(|| {
                Arc::new(Finds(|request, _, found| {
                    let is_such = request.authority.contains(':') && is_grpc(&request.headers);
                    if is_such { MatchOutcome::NoRule } else { found }
                }))
            }),
        },
        reported: &["knative/serving#3370", "istio/istio#6573"],
    },
    Bug {
        fault: Fault {
            name: "drops-te-of-calls",
            summary: "Keeps from the backend of a call that its client takes trailers.",
            clauses: &["OWN-78"],
            seam: Seam::Exchange(|| {
                Arc::new(Sends(|request, mut sent| {
                    if is_grpc(&request.headers) {
                        sent.headers_mut().remove(TE);
                    }
                    sent
                }))
            }),
        },
        reported: &["golang/go#21096", "TykTechnologies/tyk#2105"],
    },
];
