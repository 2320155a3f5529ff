//! The seams between the world, the decision, the status and ARM, and what sits in them.

use std::{fmt, sync::Arc};

use gateproof_runtime::behaviour::{self, Spoiler};
use serde_json::Value;

use crate::{
    arm::{Outcome, Request},
    decide::{Decision, Seen, decide},
    status::{Desired, merge},
    world::Facts,
};

/// A seam, with what sits in it: it works on what came out right.
#[derive(Clone, Copy, Debug)]
pub enum Seam {
    /// The view of the world.
    World(fn(&mut Facts)),
    /// The decision.
    Decision(fn(Seen<'_>, &mut Decision)),
    /// The status writer: the statuses that are written one after the other, of which there is one.
    Writer(fn(Write<'_>, &mut Vec<Value>)),
    /// The client of ARM: what is heard.
    Arm(fn(&Request, &mut Outcome)),
    /// The writer of objects: what is written beside the status.
    Object(fn(&mut Value)),
    /// The definitions that the API server serves.
    Definitions(fn(&mut Vec<Value>)),
}

impl Seam {
    /// The name of the seam.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::World(_) => "world",
            Self::Decision(_) => "decision",
            Self::Writer(_) => "status writer",
            Self::Arm(_) => "ARM client",
            Self::Object(_) => "object writer",
            Self::Definitions(_) => "definitions",
        }
    }
}

/// What a status is worked out from.
#[derive(Clone, Copy, Debug)]
pub struct Write<'a> {
    /// The object as it is.
    pub live: &'a Value,
    /// What is to be said.
    pub desired: &'a Desired,
    /// The time, in RFC 3339 with whole seconds.
    pub now: &'a str,
}

/// A named misbehaviour.
pub type Fault = behaviour::Fault<Seam>;
/// A named way to differ that is legal.
pub type Variant = behaviour::Variant<Seam>;

/// How the implementation behaves: plainly, or with some faults and variants.
#[derive(Clone, Default)]
pub struct Behaviour {
    seams: Vec<Seam>,
    spoiler: Option<Arc<dyn Spoiler>>,
}

impl fmt::Debug for Behaviour {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let is_spoiled = self.spoiler.is_some();
        f.debug_struct("Behaviour").field("seams", &self.seams).field("is_spoiled", &is_spoiled).finish()
    }
}

impl Behaviour {
    /// Adds a fault.
    #[must_use]
    pub fn with_fault(mut self, fault: &Fault) -> Self {
        self.seams.push(fault.seam);
        self
    }

    /// Lets somebody change what is written.
    #[must_use]
    pub fn with_spoiler(mut self, spoiler: Arc<dyn Spoiler>) -> Self {
        self.spoiler = Some(spoiler);
        self
    }

    /// Who changes what is written, if anybody does.
    pub fn spoiler(&self) -> Option<&dyn Spoiler> {
        self.spoiler.as_deref()
    }

    /// Adds a variant.
    #[must_use]
    pub fn with_variant(mut self, variant: &Variant) -> Self {
        self.seams.push(variant.seam);
        self
    }

    /// The view of the world that decisions are made from.
    pub fn view(&self, facts: &mut Facts) {
        self.seams.iter().for_each(|seam| {
            if let Seam::World(edit) = seam {
                edit(facts);
            }
        });
    }

    /// Decides.
    pub fn decide(&self, seen: Seen<'_>) -> Decision {
        let mut decision = decide(seen);
        self.seams.iter().for_each(|seam| {
            if let Seam::Decision(edit) = seam {
                edit(seen, &mut decision);
            }
        });
        decision
    }

    /// The statuses to write one after the other.
    pub fn statuses(&self, edition: crate::Edition, write: Write<'_>) -> Vec<Value> {
        let mut statuses = vec![merge(edition, write.live, write.desired, write.now)];
        self.seams.iter().for_each(|seam| {
            if let Seam::Writer(edit) = seam {
                edit(write, &mut statuses);
            }
        });
        statuses
    }

    /// An object that is about to be written for its metadata.
    pub fn objects(&self, wanted: &mut Value) {
        self.seams.iter().for_each(|seam| {
            if let Seam::Object(edit) = seam {
                edit(wanted);
            }
        });
    }

    /// The definitions that the API server is about to serve.
    pub fn reshape(&self, definitions: &mut Vec<Value>) {
        self.seams.iter().for_each(|seam| {
            if let Seam::Definitions(edit) = seam {
                edit(definitions);
            }
        });
    }

    /// What is heard of ARM.
    pub fn hear(&self, request: &Request, outcome: &mut Outcome) {
        self.seams.iter().for_each(|seam| {
            if let Seam::Arm(edit) = seam {
                edit(request, outcome);
            }
        });
    }
}
