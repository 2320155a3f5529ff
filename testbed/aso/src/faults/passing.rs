//! Faults in what is made of answers that pass: refusals for now, of a deletion and of what tells how an operation goes, and the time
//! that Azure asks to wait then.

use serde_json::json;

use super::Fault;
use crate::{
    arm::{Outcome, Purpose, Response},
    behaviour::Seam,
    decide::{Again, Seen},
    status::Desired,
    world::POLLER_TOKEN,
};

/// Takes a deletion for done that was refused with such a status.
fn deleted(purpose: &Purpose, outcome: &mut Outcome, is_meant: impl Fn(u16) -> bool) {
    if let (Purpose::Delete, Ok(response)) = (purpose, outcome)
        && is_meant(response.status)
    {
        response.status = 204;
    }
}

/// Whether ARM tells nothing of an operation for now.
fn is_busy(response: &Response) -> bool {
    matches!(response.status, 429 | 500..)
}

/// Takes an operation for failed of which ARM tells nothing, with such a status.
fn failed(purpose: &Purpose, outcome: &mut Outcome, is_meant: impl Fn(u16) -> bool) {
    if let (Purpose::Poll(poll), Ok(response)) = (purpose, outcome)
        && !poll.deletes
        && is_meant(response.status)
    {
        let body = json!({"error": {"code": "OperationFailed", "message": "nobody tells how the operation goes"}});
        *response = Response { status: 400, body, ..Response::default() };
    }
}

/// Whether what is there to decide follows from an operation that puts something in, of which ARM told nothing last.
fn is_left_alone(seen: Seen<'_>) -> bool {
    match seen.answer {
        Some((request, Ok(response))) => {
            matches!(&request.purpose, Purpose::Poll(poll) if !poll.deletes) && is_busy(response)
        }
        Some(_) => false,
        None => {
            let is_followed = seen.facts.annotation(POLLER_TOKEN).is_some() && !seen.facts.is_deleting();
            is_followed && seen.memory.failures > 0
        }
    }
}

pub(super) const FAULTS: &[Fault] = &[
    Fault {
        name: "conflicting-deletion-is-done",
        summary: "Takes a deletion for done that Azure refused for a conflict.",
        clauses: &["ASO-A32", "ASO-INV-11"],
        seam: Seam::Arm(|request, outcome| deleted(&request.purpose, outcome, |status| status == 409)),
    },
    Fault {
        name: "busy-deletion-is-done",
        summary: "Takes a deletion for done that failed for a fault of Azure itself.",
        clauses: &["ASO-A32"],
        seam: Seam::Arm(|request, outcome| deleted(&request.purpose, outcome, |status| status >= 500)),
    },
    Fault {
        name: "throttled-deletion-is-done",
        summary: "Takes a deletion for done that Azure put off.",
        clauses: &["ASO-A32"],
        seam: Seam::Arm(|request, outcome| deleted(&request.purpose, outcome, |status| status == 429)),
    },
    Fault {
        name: "deletion-of-what-is-gone-fails",
        summary: "Takes it for a failure that Azure has no more what is to be deleted.",
        clauses: &["ASO-A51"],
        seam: Seam::Arm(|request, outcome| {
            if let (Purpose::Delete, Ok(response)) = (&request.purpose, outcome)
                && response.status == 404
            {
                response.status = 410;
            }
        }),
    },
    Fault {
        name: "deletes-before-retry-after",
        summary: "Asks for a deletion again before the time that its refusal gave is over.",
        clauses: &["ASO-A39"],
        seam: Seam::Arm(|request, outcome| {
            if let (Purpose::Delete, Ok(response)) = (&request.purpose, outcome)
                && response.status >= 400
            {
                response.retry_after = None;
            }
        }),
    },
    Fault {
        name: "polls-deletions-early",
        summary: "Asks how a deletion goes before the time that Azure gave is over.",
        clauses: &["ASO-A39"],
        seam: Seam::Arm(|request, outcome| {
            let is_of_deletion = match &request.purpose {
                Purpose::Delete => true,
                Purpose::Poll(poll) => poll.deletes,
                _ => false,
            };
            if let Ok(response) = outcome
                && is_of_deletion
                && response.is_success()
            {
                response.retry_after = None;
            }
        }),
    },
    Fault {
        name: "busy-deletion-polls-are-done",
        summary: "Takes a deletion for done when Azure does not say for now how it goes.",
        clauses: &["ASO-INV-11", "ASO-A32"],
        seam: Seam::Arm(|request, outcome| {
            if let (Purpose::Poll(poll), Ok(response)) = (&request.purpose, outcome)
                && poll.deletes
                && is_busy(response)
            {
                *response = Response { status: 200, body: json!({"status": "Succeeded"}), ..Response::default() };
            }
        }),
    },
    Fault {
        name: "takes-busy-polls-for-failed",
        summary: "Takes an operation for failed when the server that tells of it has a fault.",
        clauses: &["ASO-36"],
        seam: Seam::Arm(|request, outcome| failed(&request.purpose, outcome, |status| status >= 500)),
    },
    Fault {
        name: "takes-throttled-polls-for-failed",
        summary: "Takes an operation for failed when it was asked for too often how it goes.",
        clauses: &["ASO-36"],
        seam: Seam::Arm(|request, outcome| failed(&request.purpose, outcome, |status| status == 429)),
    },
    Fault {
        name: "stops-polling-after-refusals",
        summary: "Does not ask again how an operation goes once Azure did not say it for now.",
        clauses: &["ASO-38", "ASO-19", "ASO-INV-10"],
        seam: Seam::Decision(|seen, decision| {
            if is_left_alone(seen) {
                decision.request = None;
                decision.again = Again::Change;
                decision.memory.due = None;
                decision.memory.failures = seen.memory.failures.max(1);
                if seen.answer.is_none() {
                    decision.status = Desired::default();
                }
            }
        }),
    },
    Fault {
        name: "polls-early-after-refusals",
        summary: "Asks again how an operation goes before the time is over that Azure gave when it did not say it.",
        clauses: &["ASO-A39"],
        seam: Seam::Arm(|request, outcome| {
            if let (Purpose::Poll(_), Ok(response)) = (&request.purpose, outcome)
                && response.status >= 400
            {
                response.retry_after = None;
            }
        }),
    },
];
