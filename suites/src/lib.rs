//! Suites as data.
