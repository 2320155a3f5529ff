//! The reference Gateway API implementation.
