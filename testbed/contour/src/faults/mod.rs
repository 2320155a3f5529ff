//! Named misbehaviours.

use crate::behaviour::Fault;

/// Every fault, by the file that it stands in.
pub const FAULTS: &[&[Fault]] = &[];
