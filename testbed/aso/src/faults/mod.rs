//! Named ways to misbehave, one at a time.
//!
//! A fault sits in exactly one seam, so the implementation itself knows of none. It declares the clauses that it breaks.

use crate::behaviour::Seam;

/// A named misbehaviour.
#[derive(Clone, Copy, Debug)]
pub struct Fault {
    /// Stable name, in kebab case.
    pub name: &'static str,
    /// What the implementation does wrong, as one sentence.
    pub summary: &'static str,
    /// IDs of the requirements that it breaks.
    pub clauses: &'static [&'static str],
    /// Where it sits.
    pub seam: Seam,
}
