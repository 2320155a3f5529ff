//! The data plane of the embedded target: one configuration type in, traffic out.

pub mod config;
