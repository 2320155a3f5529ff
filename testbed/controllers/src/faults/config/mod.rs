//! Faults of what the data plane is told, by what they are about.

pub(super) mod attachment;
pub(super) mod backends;
pub(super) mod certificates;
pub(super) mod hosts;
pub(super) mod rules;
