//! The cluster under test: how to reach it, what it serves, writing to it, and observing it.
//!
//! Everything that happens goes into the log through [`log_writer::LogWriter`]; nothing here judges.

pub mod api;
mod around;
pub mod backends;
pub mod clean;
pub mod clock;
pub mod connect;
pub mod control;
pub mod definitions;
pub mod dial;
pub mod discover;
mod events;
pub mod executions;
pub mod forward;
pub mod kinds;
pub mod lease;
mod leftover;
pub mod log_writer;
pub mod names;
pub mod neighbours;
pub mod observe;
pub mod own;
pub mod pod_logs;
pub mod pool;
pub mod proxy;
pub mod quiesce;
pub mod reach;
mod redact;
pub mod resources;
pub mod restarts;
pub mod room;
pub mod schemas;
mod selector;
pub mod served;
pub mod services;
pub mod shape;
pub mod undo;
pub mod view;
mod watching;
mod way;
pub mod write;
