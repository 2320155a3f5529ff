//! What the judge asks of the run, and what it needs to know beforehand.

use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;

use super::contract::Contract;
use crate::log::{Elapsed, ProbeRequest, Role, Timing, WriteVerb};
use crate::scenario::{ApiVersion, Basis, MadeFor, ObjectRef, PatchKind, Requests};

/// What a scenario is judged under. All of it is constant while the scenario runs.
#[derive(Debug, Clone)]
pub struct Context {
    /// Budgets, windows and counts.
    pub timing: Timing,
    /// The status contract.
    pub contract: Arc<Contract>,
    /// What the target is judged by; binds `since`, `until` and `channel`.
    pub basis: Basis,
    /// The controller under test: only its entries in `status.parents` count.
    pub controller_name: String,
    /// Longest time that a settle of the run took so far; a hold is a multiple of it.
    pub slowest_settle: Duration,
    /// Most probes that one test of shares may use.
    pub max_probes: u32,
}

/// What the run has to do now.
#[derive(Debug, Clone, PartialEq)]
pub enum Next {
    /// Do all of these: writes in order, probes at once. Ask again only after the judge observed every result.
    Perform(Vec<Action>),
    /// Wait for any event, or until this time; then log a `Tick`.
    Wait {
        /// When a limit of the judge passes; `None` if only an event can move it.
        until: Option<Elapsed>,
    },
    /// Nothing more to ask: end the scenario.
    Finished,
}

/// One thing to do, each of which ends in exactly one logged event.
#[derive(Debug, Clone, PartialEq)]
pub enum Action {
    /// A write to the API server; ends in `Body::Wrote`.
    Write {
        /// The step that asks.
        step: usize,
        /// Position within the step.
        ordinal: usize,
        /// How.
        verb: WriteVerb,
        /// What.
        target: WriteTarget,
    },
    /// One attempt on the data path; ends in `Body::Probed`.
    Probe {
        /// The step that asks.
        step: usize,
        /// 0, 1, 2 … within the step and role.
        attempt: u32,
        /// What it is for.
        role: Role,
        /// Unique within the run. The prober sends it as `X-Gateproof-Request` or as the first TCP line, and logs it
        /// as the exchange's `id`.
        id: String,
        /// What to send, and where.
        request: ProbeRequest,
        /// Not to be sent earlier: back-off after a miss.
        not_before: Elapsed,
    },
    /// Read what the backends noted of these requests; ends in `Body::Journal`.
    ReadJournal {
        /// The step that asks.
        step: usize,
        /// Request ids.
        ids: Vec<String>,
    },
    /// Tell a service beside the target what to do; ends in `Body::Scripted`.
    Script {
        /// The step that asks.
        step: usize,
        /// Which service.
        service: String,
        /// What the script is known by there.
        key: String,
        /// What it is to do.
        rules: Vec<Value>,
    },
    /// Read where the log of a service stands; ends in `Body::Marked`.
    Mark {
        /// The step that asks.
        step: usize,
        /// Which service.
        service: String,
    },
    /// Read the log of a service; ends in `Body::Requested`.
    ReadRequests {
        /// The step that asks.
        step: usize,
        /// The position from which on.
        from: u64,
        /// Which requests are to be logged: those that fit.
        expected: Requests,
        /// Not to be read earlier.
        not_before: Elapsed,
    },
    /// List the objects that a target made for another one; ends in `Body::Listed`.
    ListMade {
        /// The step that asks.
        step: usize,
        /// Which, and what of them is to be logged.
        expected: Box<MadeFor>,
        /// Not to be listed earlier.
        not_before: Elapsed,
    },
    /// Read objects, to know whether the watches show what is there; ends in `Body::Looked`.
    Look {
        /// The step that asks.
        step: usize,
        /// Which.
        objects: Vec<ObjectRef>,
    },
    /// Have the run write nothing until the step is over; ends in `Body::Quiesced`.
    Quiesce {
        /// The step that asks.
        step: usize,
    },
    /// Have the watches of these objects begin anew; ends in `Body::Renewed`, behind what that brought.
    Renew {
        /// The step that asks.
        step: usize,
        /// Which.
        objects: Vec<ObjectRef>,
    },
}

/// What a write is about.
#[derive(Debug, Clone, PartialEq)]
pub enum WriteTarget {
    /// Server-side apply of an object.
    Object {
        /// The object.
        object: Value,
        /// At which version of the API.
        at: ApiVersion,
    },
    /// A patch of an object.
    Patch {
        /// Which object.
        target: ObjectRef,
        /// `status`, or nothing.
        subresource: Option<String>,
        /// How the patch is meant.
        kind: PatchKind,
        /// The patch.
        patch: Value,
    },
    /// Deletion of an object.
    Delete(ObjectRef),
}
