//! Named ways to differ that the specification allows.
//!
//! A variant sits in the seams, as faults do, and breaks nothing: a suite that complains of one blames wrongly.

mod late;
mod reloads;
mod statuses;
mod writes;

#[cfg(test)]
mod tests;

pub use late::DELAY;

use crate::runtime::seams::Seams;

/// A named legal variant.
#[derive(Clone, Copy, Debug)]
pub struct Variant {
    /// Stable name, in kebab case.
    pub name: &'static str,
    /// What the implementation does otherwise, as one sentence.
    pub summary: &'static str,
    /// Why it may: what the specification says, and where.
    pub source: &'static str,
    enter: fn(&mut Seams),
}

impl Variant {
    /// Takes its place in the seams, after what is there.
    pub fn enter(&self, seams: &mut Seams) {
        (self.enter)(seams);
    }
}

/// Every variant.
pub fn catalogue() -> impl Iterator<Item = &'static Variant> {
    [late::VARIANTS, reloads::VARIANTS, statuses::VARIANTS, writes::VARIANTS].into_iter().flatten()
}

/// The variant of that name.
pub fn find(name: &str) -> Option<&'static Variant> {
    catalogue().find(|variant| variant.name == name)
}
