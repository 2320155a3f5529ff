//! Deployments whose containers are known echo images, run within this process.
//!
//! A client of the API server that does what scheduler, kubelet and the controllers of Deployments and EndpointSlices
//! would do for them: it makes Pods, starts an [`gateproof_echo::Echo`] for each port of a container, reports Pods and
//! Deployments ready, and publishes the endpoints of Services that select them. So manifests that bring their own
//! backends work on an API server that has no nodes. A small kubelet beside it answers for the logs. Deployments of other images are left alone.

mod addresses;
mod deployment;
mod image;
mod kubelet;
mod pod;
mod runtime;
mod slices;
mod volumes;

pub use addresses::Place;
pub use runtime::{StartError, Workloads};

/// The node that the Pods are bound to. What is bound to it is ours, and nothing else is touched.
pub const NODE: &str = "gateproof-workloads";
