//! Faults of what the statuses should say, by what they speak of.

pub(super) mod gateways;
pub(super) mod listeners;
pub(super) mod routes;
