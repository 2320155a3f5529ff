//! Named ways to misbehave, one at a time.
//!
//! A fault sits in exactly one seam, so the implementation itself knows of none. It declares the clauses that it breaks.

mod conditions;
mod payload;
mod requests;
pub(crate) mod tools;
mod views;
mod writes;

#[cfg(test)]
mod tests;

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

/// Every fault.
pub fn catalogue() -> impl Iterator<Item = &'static Fault> {
    let all = [conditions::FAULTS, views::FAULTS, requests::FAULTS, payload::FAULTS, writes::FAULTS];
    all.into_iter().flatten()
}

/// Every fault, as a list.
pub static FAULTS: std::sync::LazyLock<Vec<Fault>> = std::sync::LazyLock::new(|| catalogue().copied().collect());

/// The fault of that name.
pub fn find(name: &str) -> Option<&'static Fault> {
    catalogue().find(|fault| fault.name == name)
}
