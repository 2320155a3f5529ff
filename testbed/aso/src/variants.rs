//! Named ways to differ that are allowed.

use crate::behaviour::Seam;

/// A named legal variant.
#[derive(Clone, Copy, Debug)]
pub struct Variant {
    /// Stable name, in kebab case.
    pub name: &'static str,
    /// What the implementation does otherwise, as one sentence.
    pub summary: &'static str,
    /// Why it may.
    pub source: &'static str,
    /// Where it sits.
    pub seam: Seam,
}
