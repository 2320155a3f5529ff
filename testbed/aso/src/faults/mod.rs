//! Named ways to misbehave, one at a time.
//!
//! A fault sits in exactly one seam, so the implementation itself knows of none. It declares the clauses that it breaks.

mod conditions;
mod late;
mod passing;
mod payload;
mod requests;
pub(crate) mod tools;
mod views;
mod writes;

#[cfg(test)]
mod tests;

use crate::behaviour::Fault;

/// Every fault.
pub fn catalogue() -> impl Iterator<Item = &'static Fault> {
    let all = [
        conditions::FAULTS,
        views::FAULTS,
        requests::FAULTS,
        late::FAULTS,
        passing::FAULTS,
        payload::FAULTS,
        writes::FAULTS,
    ];
    all.into_iter().flatten()
}

/// Every fault, as a list.
pub static FAULTS: std::sync::LazyLock<Vec<Fault>> = std::sync::LazyLock::new(|| catalogue().copied().collect());

/// The fault of that name.
pub fn find(name: &str) -> Option<&'static Fault> {
    catalogue().find(|fault| fault.name == name)
}
