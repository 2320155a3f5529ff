//! How the implementation behaves: what sits in its seams, by name.

use std::sync::Arc;

use gateproof_runtime::behaviour::{self, Spoiler, UnknownBehaviour};
use serde_json::Value;

use crate::gate::Alter;
use crate::object::Snapshot;
use crate::reconcile::Outcome;
use crate::seam::{Edit, Seam, View, Write};
use crate::settings::Settings;

/// Faults and variants, each of which works on what the one before it made. None is the plain behaviour.
#[derive(Clone, Default)]
pub struct Behaviour {
    seams: Vec<Seam>,
    spoiler: Option<Arc<dyn Spoiler>>,
}

impl std::fmt::Debug for Behaviour {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let is_spoiled = self.spoiler.is_some();
        f.debug_struct("Behaviour").field("seams", &self.seams).field("is_spoiled", &is_spoiled).finish()
    }
}

impl Behaviour {
    /// What is named, such as `NAME+variant:NAME`; plain without a name.
    ///
    /// # Errors
    /// The first name that means nothing.
    pub fn of(names: Option<&str>) -> Result<Self, UnknownBehaviour> {
        let seams = behaviour::seams(names, crate::FAULTS.iter(), crate::VARIANTS)?;
        Ok(Self { seams, spoiler: None })
    }

    /// Lets somebody change what is written.
    #[must_use]
    pub fn with_spoiler(mut self, spoiler: Arc<dyn Spoiler>) -> Self {
        self.spoiler = Some(spoiler);
        self
    }

    /// Changes the definitions that the API server is about to serve.
    pub fn reshape(&self, definitions: &mut Vec<Value>) {
        for seam in &self.seams {
            match seam {
                Seam::Definitions(change) => change(definitions),
                Seam::Unchecked(_) => crate::definitions::ask_nothing_of_conditions(definitions),
                _ => {}
            }
        }
    }

    /// Fresh contents of the seams of one run.
    #[must_use]
    pub fn seams(&self) -> Seams {
        let mut seams = Seams { spoiler: self.spoiler.clone(), ..Seams::default() };
        for seam in &self.seams {
            match seam {
                Seam::Snapshot(make) => seams.views.push(make()),
                Seam::Outcome(make) => seams.edits.push(make()),
                Seam::Write(make) => seams.writes.push(make()),
                Seam::Unchecked(make) => {
                    seams.writes.push(make());
                    seams.unchecked = true;
                }
                Seam::Restless(make) => {
                    seams.writes.push(make());
                    seams.restless = true;
                }
                Seam::Exchange(make) => seams.alters.push(make()),
                Seam::Definitions(_) => {}
            }
        }
        seams
    }
}

/// The seams of one running implementation.
#[derive(Default)]
pub struct Seams {
    /// What the reconciler gets to see.
    pub views: Vec<View>,
    /// What should be.
    pub edits: Vec<Edit>,
    /// What is written.
    pub writes: Vec<Write>,
    /// Whether one of them writes what the definition of an entry for an ancestor would refuse.
    pub unchecked: bool,
    /// What becomes of requests.
    pub alters: Vec<Alter>,
    /// Whether there are rounds without a change.
    pub restless: bool,
    /// Who changes what is written, if anybody does.
    pub spoiler: Option<Arc<dyn Spoiler>>,
}

impl Seams {
    /// One round: what should be, given what is known, with all that sits between.
    pub fn round(&mut self, mut snapshot: Snapshot, settings: &Settings) -> Outcome {
        if let Some(spoiler) = &self.spoiler {
            for ((kind, _, _), object) in &mut snapshot.objects {
                if let Some(plain) = spoiler.restore(kind.name(), object) {
                    *object = Arc::new(plain);
                }
            }
        }
        self.views.iter_mut().for_each(|view| view(&mut snapshot));
        let mut outcome = crate::reconcile::reconcile(&snapshot, settings);
        self.edits.iter_mut().for_each(|edit| edit(&snapshot, settings, &mut outcome));
        outcome
    }

    /// The status to write over a live object of a kind, spoiled if somebody spoils it.
    pub fn written(&mut self, kind: &str, live: &Value, change: &crate::status::Change, now: &str) -> Value {
        let Some(spoiler) = self.spoiler.clone() else { return self.merge(live, change, now) };
        let mut wanted = spoiler.restore(kind, live).unwrap_or_else(|| live.clone());
        wanted["status"] = self.merge(&wanted, change, now);
        spoiler.spoil(kind, live, &mut wanted);
        wanted["status"].take()
    }

    /// The status that follows for a live object.
    pub fn merge(&mut self, live: &Value, change: &crate::status::Change, now: &str) -> Value {
        let mut status = crate::status::merge(live, change, now);
        for write in &mut self.writes {
            let before = status.clone();
            write(live, &mut status);
            // A mistake in the conditions is none in how they are repeated.
            if !self.unchecked {
                crate::status::repeat(live, &before, &mut status);
            }
        }
        status
    }
}
