//! Holds the embedded API server against a real one.
//!
//! A corpus of requests is sent to both, answers are normalised and compared. What a real server answered is kept as
//! golden files, so that the embedded one is held against them where no other server is at hand.

pub mod bundles;
pub mod compare;
pub mod corpus;
pub mod fixtures;
pub mod generate;
pub mod golden;
pub mod list;
mod normal;
mod path;
pub mod run;
pub mod server;

use std::path::PathBuf;

/// The folder of this package in the source tree.
pub fn home() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}
