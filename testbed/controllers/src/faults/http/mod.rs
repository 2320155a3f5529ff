//! Faults in what HTTPRoutes do beyond choosing a backend.

pub(super) mod config;
pub(super) mod cors;
pub(super) mod exchange;
pub(super) mod retry;
pub(super) mod websocket;
