//! Faults in what GRPCRoutes do, and HTTPRoutes over HTTP/2.

pub(super) mod config;
pub(super) mod exchange;
pub(super) mod statuses;
