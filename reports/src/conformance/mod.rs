//! Upstream's ConformanceReport: its schema, how ours is made, how any is read and linted.

mod build;
mod claims;
mod lint;
mod types;

pub use build::{Identity, LeftOut, Mode, ProfileRule, Why, Withheld, build};
pub use claims::{Claims, claimed};
pub use lint::{Defect, KnownTest, lint};
pub use types::{
    ConformanceReport, Extended, Implementation, ProfileReport, ReadError, Statistics, Status, TestResult,
};
