//! What holds for any input: the bodies of the fuzz targets. The package `fuzz` hands them what libFuzzer finds, the tests
//! below seeds and random bytes.
//!
//! A body returns if the input is refused in good order or its property holds, and panics otherwise.

mod answers;
mod manifests;
mod records;
mod rules;

pub use answers::probe_answer;
pub use manifests::manifest;
pub use records::{conformance_report, event_log, readme};
pub use rules::dial_rule;

#[cfg(test)]
mod tests;
