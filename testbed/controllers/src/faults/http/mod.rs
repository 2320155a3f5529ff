//! Faults in what HTTPRoutes do beyond choosing a backend.

pub(super) mod config;
pub(super) mod cors;
pub(super) mod exchange;
pub(super) mod headers;
pub(super) mod locations;
pub(super) mod matching;
pub(super) mod mirrors;
pub(super) mod retry;
pub(super) mod tls;
pub(super) mod websocket;
