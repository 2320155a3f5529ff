//! An in-process Kubernetes API server.

pub mod patch;
pub mod schema;
