//! The data plane of the embedded target.
