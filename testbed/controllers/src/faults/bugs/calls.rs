//! How calls end.

use std::sync::Arc;

use gateproof_proxy::grpc::STATUS;

use super::Bug;
use crate::faults::{
    Fault, Seam,
    grpc::exchange::{Frames, with_trailers},
};

pub(super) const BUGS: &[Bug] = &[
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
            clauses: &["blind:GRPCExactMethodMatching.3", "blind:Generic.6"],
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
];
