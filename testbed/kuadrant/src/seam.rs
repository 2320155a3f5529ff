//! Where faults and variants sit, and what each of them says of itself.

use gateproof_runtime::behaviour;
use serde_json::Value;

use crate::gate::Alter;
use crate::object::Snapshot;
use crate::reconcile::Outcome;
use crate::settings::Settings;

/// Changes what the reconciler gets to see; may keep state from one round to the next.
pub type View = Box<dyn FnMut(&mut Snapshot) + Send + Sync>;
/// Changes what should be.
pub type Edit = Box<dyn FnMut(&Snapshot, &Settings, &mut Outcome) + Send + Sync>;
/// Changes a status that is about to be written, after it was put into the live object.
pub type Write = Box<dyn FnMut(&Value, &mut Value) + Send + Sync>;

/// The seam that a behaviour sits in, with the maker of what it puts there.
#[derive(Clone, Copy)]
pub enum Seam {
    /// What the reconciler gets to see.
    Snapshot(fn() -> View),
    /// Statuses, objects to keep and the gate's configuration.
    Outcome(fn() -> Edit),
    /// How a status reads when it is written.
    Write(fn() -> Write),
    /// The same, with definitions that ask nothing of the conditions of policies.
    Unchecked(fn() -> Write),
    /// The same, and statuses are written time and again although nothing changes.
    Restless(fn() -> Write),
    /// What becomes of a request.
    Exchange(fn() -> Alter),
    /// Which definitions the API server serves.
    Definitions(fn(&mut Vec<Value>)),
}

impl std::fmt::Debug for Seam {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}

impl Seam {
    /// The name of the seam.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Snapshot(_) => "snapshot",
            Self::Outcome(_) => "outcome",
            Self::Write(_) | Self::Unchecked(_) | Self::Restless(_) => "write",
            Self::Exchange(_) => "exchange",
            Self::Definitions(_) => "definitions",
        }
    }
}

/// A named misbehaviour.
pub type Fault = behaviour::Fault<Seam>;
/// A named way to differ that is legal.
pub type Variant = behaviour::Variant<Seam>;
