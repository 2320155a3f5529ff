//! A reference implementation of Kuadrant's policies for the embedded target.
//!
//! It follows source that was read, not runs of the original. It stands beside the Gateway API reference, which serves
//! GatewayClasses, Gateways and routes.

pub mod components;
mod definitions;
pub mod effective;
pub mod expression;
pub mod object;
pub mod status;
pub mod topology;

pub use definitions::definitions;
