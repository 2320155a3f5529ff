//! Upstream's ConformanceReport: its schema, how ours is made, how any is read and linted.

mod build;
mod claims;
mod layout;
mod lint;
mod names;
mod place;
mod readme;
mod submit;
mod types;

pub use build::{Identity, LeftOut, Mode, ProfileRule, Why, Withheld, build};
pub(crate) use claims::current_name;
pub use claims::{Claims, claimed};
pub use lint::{KnownTest, lint};
pub use names::{FeatureName, KnownNames, Minor, strangers};
pub(crate) use names::{release, renamed_early};
pub use place::{Place, misplaced};
pub use submit::{About, Submission, submission};
pub use types::{
    ConformanceReport, Defect, Extended, Implementation, ProfileReport, ReadError, Statistics, Status, TestResult,
};
