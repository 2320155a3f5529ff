//! Features of a dialect that is not Gateway API.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What a target may support or be set to, or not: its user says so with `--features`, and a scenario that names it runs there alone.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DialectFeature {
    /// Its name, such as `RootNamespaces`.
    pub name: String,
    /// What it means that a target has it.
    pub about: String,
    /// Whether who has it is asked for less: `--all-features` does not mean it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub limit: bool,
}

impl DialectFeature {
    /// Whether its name is one: letters and digits, a letter first.
    pub fn can_be_named(&self) -> bool {
        self.name.starts_with(|first: char| first.is_ascii_alphabetic())
            && self.name.chars().all(|one| one.is_ascii_alphanumeric())
    }
}
