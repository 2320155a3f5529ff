//! The Gateproof harness.
