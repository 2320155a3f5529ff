//! The reference Gateway API implementation of the embedded target.
//!
//! It is written for reading: the specification, executable. A pure function, [`reconcile::reconcile`], turns a
//! [`snapshot::Snapshot`] of the cluster into the statuses that should be written and the configuration that the data
//! plane should serve, and [`reconcile::infrastructure`] says what is made in the cluster for Gateways. [`runtime`] watches,
//! calls them and acts on the outcome. Between the two run seven seams; a [`faults::Fault`] sits in one of them, a
//! [`variants::Variant`] does what the specification leaves open otherwise, and nothing else knows that they exist.

pub mod faults;
pub mod model;
pub mod reconcile;
pub mod runtime;
pub mod settings;
pub mod snapshot;
pub mod status;
pub mod variants;
