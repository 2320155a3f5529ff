//! Gateproof: a conformance test harness for Kubernetes Gateway API implementations.
//!
//! The way through the code is the way of a run: manifest ([`scenario`]) → plan and run ([`run`]) → log ([`log`]) →
//! verdict ([`judge`]) → report (the package `gateproof-report`); from there [`diagnosis`] goes back to what may be wrong. Layers point
//! down only: `cli` → `diagnosis` → `kill` → `run` → {`probe`, `judge`}; `probe` → `cluster` → `log`; `judge` → {`scenario`, `log`}.

// The macros of the standard library panic where a pipe is closed; `cli::output` prints.
#![warn(clippy::print_stdout, clippy::print_stderr)]

pub mod cli;
pub mod cluster;
pub mod diagnosis;
pub mod dialects;
pub mod exit_codes;
#[cfg(any(test, fuzzing))]
pub mod fuzzing;
pub mod judge;
pub mod kill;
pub mod log;
pub mod probe;
pub mod run;
pub mod scenario;
pub mod suite;
