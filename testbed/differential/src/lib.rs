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

/// Which addresses the Services of a cluster get. Each setting has a corpus and golden files of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Setting {
    /// Addresses of IPv4.
    SingleStack,
    /// Addresses of IPv4 and IPv6.
    DualStack,
}

impl Setting {
    /// The folder of the corpus.
    pub fn corpus(self) -> PathBuf {
        self.home().join("corpus")
    }

    /// The folder of the golden files.
    pub fn golden(self) -> PathBuf {
        self.home().join("golden")
    }

    fn home(self) -> PathBuf {
        match self {
            Self::SingleStack => home(),
            Self::DualStack => home().join("dual-stack"),
        }
    }
}

/// The folder of this package in the source tree.
pub fn home() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}
