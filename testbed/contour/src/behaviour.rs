//! How the implementation behaves: what sits in its seams, by name.

use std::sync::Arc;

use gateproof_proxy::Exchange;
use gateproof_runtime::behaviour::{self, Spoiler, UnknownBehaviour};
use serde_json::Value;

use crate::kinds::Snapshot;
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
        let seams = behaviour::seams(names, crate::FAULTS.iter().flat_map(|faults| *faults), crate::VARIANTS)?;
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
            if let Seam::Definitions(change) = seam {
                change(definitions);
            }
        }
    }

    /// What stands in the data path.
    #[must_use]
    pub fn exchanges(&self) -> Vec<Arc<dyn Exchange>> {
        let made = |seam: &Seam| if let Seam::Exchange(make) = seam { Some(make()) } else { None };
        self.seams.iter().filter_map(made).collect()
    }

    /// Fresh contents of the other seams of one run.
    #[must_use]
    pub fn seams(&self) -> Seams {
        let mut seams = Seams { spoiler: self.spoiler.clone(), ..Seams::default() };
        for seam in &self.seams {
            match seam {
                Seam::Snapshot(make) => seams.views.push(make()),
                Seam::Outcome(make) => seams.edits.push(make()),
                Seam::Write(make) => seams.writes.push(make()),
                Seam::Restless(make) => {
                    seams.touches.push(make());
                    seams.restless = true;
                }
                Seam::Label(label, value) => seams.label = Some((*label, *value)),
                Seam::Exchange(_) | Seam::Definitions(_) => {}
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
    /// The same, once it is dated.
    pub touches: Vec<Write>,
    /// The label of what is looked at that is written over, and its value.
    pub label: Option<(&'static str, &'static str)>,
    /// Whether there are rounds without a change.
    pub restless: bool,
    /// Who changes what is written, if anybody does.
    pub spoiler: Option<Arc<dyn Spoiler>>,
}

impl Seams {
    /// One round: what should be, given what is known, with all that sits between.
    pub fn round(&mut self, mut snapshot: Snapshot, settings: &Settings) -> Outcome {
        self.views.iter_mut().for_each(|view| view(&mut snapshot));
        let mut outcome = crate::reconcile::reconcile(&snapshot, settings);
        self.edits.iter_mut().for_each(|edit| edit(&snapshot, settings, &mut outcome));
        outcome
    }

    /// The status to write over a live object of a kind, spoiled if somebody spoils it.
    pub fn written(&mut self, kind: &str, live: &Value, merge: impl Fn(&Value) -> Value, now: &str) -> Value {
        let mut merge = |live: &Value| {
            let mut status = merge(live);
            self.writes.iter_mut().for_each(|write| write(live, &mut status));
            crate::status::date(live, &mut status, now);
            self.touches.iter_mut().for_each(|touch| touch(live, &mut status));
            status
        };
        let Some(spoiler) = self.spoiler.clone() else { return merge(live) };
        let mut wanted = spoiler.restore(kind, live).unwrap_or_else(|| live.clone());
        wanted["status"] = merge(&wanted);
        spoiler.spoil(kind, live, &mut wanted);
        wanted["status"].take()
    }
}
