//! An in-process Kubernetes API server.

pub mod crds;
pub mod patch;
pub mod schema;
