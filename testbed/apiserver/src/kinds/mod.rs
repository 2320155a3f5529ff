//! The kinds that the server serves: one table for the built-in ones, CustomResourceDefinitions for the rest.

pub mod certificates;
pub mod crd;
pub mod defaults;
pub mod definitions;
pub mod empty;
pub mod events;
pub mod families;
pub mod names;
pub mod naming;
pub mod network;
pub mod policies;
mod registry;
mod roles;
pub mod services;
mod table;
pub mod validation;
mod workloads;
mod zero;

pub use registry::{OPTIONAL, Registry, is_built_in};
pub use zero::zero;
