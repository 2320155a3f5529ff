//! Named ways to differ that the specification allows.
//!
//! A variant sits in the seams, as faults do, and breaks nothing: a suite that complains of one blames wrongly.

mod clear_text;
mod clients;
mod exchanges;
mod lacking;
mod late;
mod left;
pub(crate) mod limits;
mod listener_sets;
mod made;
mod networks;
mod node;
mod pacing;
mod places;
mod protection;
mod protocols;
mod reasons;
mod refusals;
mod reloads;
mod say;
mod silence;
mod statuses;
mod writes;

#[cfg(test)]
mod tests;

pub use late::DELAY;

use std::sync::Arc;
use std::time::Duration;

use gateproof_proxy::Exchange;

use crate::{runtime::seams::Seams, settings::Settings};

/// A named legal variant.
#[derive(Clone, Copy, Debug)]
pub struct Variant {
    /// Stable name, in kebab case.
    pub name: &'static str,
    /// What the implementation does otherwise, as one sentence.
    pub summary: &'static str,
    /// Why it may: what the specification says, and where.
    pub source: &'static str,
    place: Place,
}

/// Where a variant sits.
#[derive(Clone, Copy, Debug)]
enum Place {
    /// In the seams of the runtime.
    Runtime(fn(&mut Seams)),
    /// In that of the data plane.
    Exchange(fn() -> Arc<dyn Exchange>),
    /// In what the operator decides.
    Settings(fn(&mut Settings)),
}

/// What should be and is not under a variant, by the clauses that say so. Nothing that must be is among it.
const LEFT_UNDONE: [(&str, &[&str]); 6] = [
    ("takes-idle-services-for-broken", &["GEP1364-45"]),
    ("leaves-entries-behind", &["OWN-13"]),
    ("lacks-room-for-long-names", &["GEP1364-07"]),
    ("prefers-the-older-http", &["OWN-32"]),
    ("ends-streams-with-their-clients", &["OWN-24"]),
    ("says-nothing-of-policies-for-udp", &["OWN-152"]),
];

impl Variant {
    /// Clauses with a SHOULD that it does not follow, for which a warning is right.
    pub fn leaves_undone(&self) -> &'static [&'static str] {
        LEFT_UNDONE.iter().find(|(name, _)| *name == self.name).map_or(&[], |(_, clauses)| clauses)
    }

    /// How long a Gateway waits for its data plane, where that is what the variant is about.
    pub fn delay(&self) -> Option<Duration> {
        late::delay(self.name)
    }

    /// Takes its place in the seams of the runtime, after what is there.
    pub fn enter(&self, seams: &mut Seams) {
        if let Place::Runtime(enter) = self.place {
            enter(seams);
        }
    }

    /// Takes its place in the settings.
    pub fn settle(&self, settings: &mut Settings) {
        if let Place::Settings(settle) = self.place {
            settle(settings);
        }
    }

    /// What it puts into the seam of the data plane.
    pub fn exchange(&self) -> Option<Arc<dyn Exchange>> {
        match self.place {
            Place::Exchange(make) => Some(make()),
            Place::Runtime(_) | Place::Settings(_) => None,
        }
    }
}

/// Every variant.
pub fn catalogue() -> impl Iterator<Item = &'static Variant> {
    let runtime = [late::VARIANTS, reloads::VARIANTS, refusals::VARIANTS, statuses::VARIANTS, writes::VARIANTS];
    let more = [reasons::VARIANTS, left::VARIANTS, exchanges::VARIANTS, pacing::VARIANTS, limits::VARIANTS];
    runtime
        .into_iter()
        .chain(more)
        .chain([places::VARIANTS, silence::VARIANTS, listener_sets::VARIANTS, networks::VARIANTS])
        .chain([clients::VARIANTS, protection::VARIANTS, lacking::VARIANTS, made::VARIANTS, protocols::VARIANTS])
        .chain([node::VARIANTS, clear_text::VARIANTS])
        .flatten()
}

/// The variant of that name.
pub fn find(name: &str) -> Option<&'static Variant> {
    catalogue().find(|variant| variant.name == name)
}
