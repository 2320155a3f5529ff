//! What references can do otherwise, as lists: that of Gateway API here, those of other dialects beside their targets.

use std::time::Duration;

use gateproof_controllers::{faults as gateway_faults, variants as gateway_variants};

/// A misbehaviour that a reference has.
#[derive(Debug, Clone, Copy)]
pub struct KnownFault {
    /// Its name.
    pub name: &'static str,
    /// The seam that it sits in.
    pub seam: &'static str,
    /// What it does, as one sentence.
    pub summary: &'static str,
    /// IDs of the clauses that it breaks.
    pub clauses: &'static [&'static str],
    /// Where it was reported of a real controller: URLs.
    pub reported: &'static [&'static str],
}

/// A way to differ that a reference has and may have.
#[derive(Debug, Clone, Copy)]
pub struct KnownVariant {
    /// Its name.
    pub name: &'static str,
    /// What it does, as one sentence.
    pub summary: &'static str,
    /// Why it may.
    pub source: &'static str,
    /// How long it lets a data path wait, if it does.
    pub delay: Option<Duration>,
    /// Clauses with a SHOULD that it does not keep, of which it is warned.
    pub leaves_undone: &'static [&'static str],
}

/// Every fault of the reference of Gateway API.
pub fn faults() -> Vec<KnownFault> {
    let known = |fault: &gateway_faults::Fault| KnownFault {
        name: fault.name,
        seam: fault.seam.name(),
        summary: fault.summary,
        clauses: fault.clauses,
        reported: fault.reported(),
    };
    gateway_faults::catalogue().iter().map(known).collect()
}

/// Every legal way to differ that it has.
pub fn variants() -> Vec<KnownVariant> {
    let known = |variant: &gateway_variants::Variant| KnownVariant {
        name: variant.name,
        summary: variant.summary,
        source: variant.source,
        delay: variant.delay(),
        leaves_undone: variant.leaves_undone(),
    };
    gateway_variants::catalogue().map(known).collect()
}
