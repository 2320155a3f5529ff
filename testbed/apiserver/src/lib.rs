//! An in-process Kubernetes API server.

pub mod crds;
