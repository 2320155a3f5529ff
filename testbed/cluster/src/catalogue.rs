//! What references of dialects other than Gateway API can do otherwise, as lists.

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
}
