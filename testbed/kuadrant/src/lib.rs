//! A reference implementation of Kuadrant's policies for the embedded target.
//!
//! It follows source that was read, not runs of the original. It stands beside the Gateway API reference, which serves
//! GatewayClasses, Gateways and routes. A pure function, [`reconcile::reconcile`], turns a [`object::Snapshot`] into
//! statuses, objects to keep and the configuration of the [`gate`]; `runtime` watches, calls it and acts, and [`Kuadrant`]
//! starts and stops that. Faults and variants sit in the seams that [`seam`] has, and nothing else knows of them.

pub mod behaviour;
pub mod components;
pub mod control;
mod definitions;
pub mod effective;
pub mod expression;
mod faults;
pub mod gate;
pub mod object;
mod operator;
pub mod reconcile;
pub mod runtime;
pub mod seam;
pub mod settings;
pub mod status;
pub mod topology;
mod variants;

pub use behaviour::Behaviour;
pub use definitions::{definitions, definitions_of};
pub use faults::FAULTS;
pub use operator::Kuadrant;
pub use runtime::StartError;
pub use settings::{Edition, Settings};
pub use variants::VARIANTS;
