//! The embedded target.
