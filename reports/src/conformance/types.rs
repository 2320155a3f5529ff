//! The schema, as upstream's `conformance/apis/v1` has it, read tolerantly and written strictly.

use serde::{Deserialize, Serialize};

/// A ConformanceReport. Fields stand in the alphabetical order in which upstream's JSON-to-YAML conversion writes them.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ConformanceReport {
    /// `gateway.networking.k8s.io/v1`; `v1alpha1` in reports up to v1.1.
    pub api_version: String,
    /// RFC 3339.
    pub date: String,
    /// `standard`, `experimental` or `UNDEFINED`; absent before v1.1.
    #[serde(rename = "gatewayAPIChannel", default, skip_serializing_if = "Option::is_none")]
    pub gateway_api_channel: Option<String>,
    /// Bundle version of the CRDs, or `UNDEFINED`.
    #[serde(rename = "gatewayAPIVersion")]
    pub gateway_api_version: String,
    /// Who was tested.
    pub implementation: Implementation,
    /// `ConformanceReport`.
    pub kind: String,
    /// A free word; absent before v1.1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode: Option<String>,
    /// Results by profile.
    #[serde(alias = "profileReports")]
    pub profiles: Vec<ProfileReport>,
    /// Provisional tests that passed, sorted.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub succeeded_provisional_tests: Vec<String>,
}

/// Who was tested.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Implementation {
    /// Where to ask.
    pub contact: Vec<String>,
    /// Organisation.
    pub organization: String,
    /// Project.
    pub project: String,
    /// Home page.
    pub url: String,
    /// A snapshot such as a release, never a branch.
    pub version: String,
}

/// Results of one profile.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ProfileReport {
    /// Tests of core features.
    pub core: Status,
    /// Tests that need an extended feature; absent if none was counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub extended: Option<Extended>,
    /// Such as `GATEWAY-HTTP`.
    pub name: String,
    /// A sentence; absent in the oldest reports.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summary: Option<String>,
}

/// How a set of tests ended.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Status {
    /// Tests that failed, sorted.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub failed_tests: Vec<String>,
    /// The summary of the statistics.
    #[serde(default)]
    pub result: TestResult,
    /// Tests that were left out, sorted.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub skipped_tests: Vec<String>,
    /// Counts.
    #[serde(default)]
    pub statistics: Statistics,
    /// Where reports up to v1.0 kept their sentence; read, never written.
    #[serde(default, skip_serializing)]
    pub summary: Option<String>,
}

/// [`Status`] and the features it is about.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Extended {
    /// Tests that failed, sorted.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub failed_tests: Vec<String>,
    /// The summary of the statistics.
    #[serde(default)]
    pub result: TestResult,
    /// Tests that were left out, sorted.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub skipped_tests: Vec<String>,
    /// Counts.
    #[serde(default)]
    pub statistics: Statistics,
    /// One published report nests the four fields above below this key; read, never written.
    #[serde(default, skip_serializing)]
    pub status: Option<Status>,
    /// Where reports up to v1.0 kept their sentence; read, never written.
    #[serde(default, skip_serializing)]
    pub summary: Option<String>,
    /// Extended features of the profile that the target claims, sorted.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub supported_features: Vec<String>,
    /// Extended features of the profile that it does not, sorted.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unsupported_features: Vec<String>,
}

impl Extended {
    /// The status, wherever the report keeps it.
    pub fn status(&self) -> Status {
        self.status.clone().unwrap_or_else(|| Status {
            failed_tests: self.failed_tests.clone(),
            result: self.result,
            skipped_tests: self.skipped_tests.clone(),
            statistics: self.statistics,
            summary: None,
        })
    }
}

/// Counts. Upstream writes the names with a capital letter.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", deny_unknown_fields)]
pub struct Statistics {
    /// Failed.
    #[serde(alias = "failed")]
    pub failed: u32,
    /// Passed.
    #[serde(alias = "passed")]
    pub passed: u32,
    /// Left out.
    #[serde(alias = "skipped")]
    pub skipped: u32,
}

/// The summary of statistics.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum TestResult {
    /// Nothing failed, nothing was left out.
    #[default]
    Success,
    /// Nothing failed, something was left out.
    Partial,
    /// Something failed.
    Failure,
}

impl Statistics {
    /// Upstream's rule: failure before partial before success.
    pub fn result(&self) -> TestResult {
        match self {
            Statistics { failed: 1.., .. } => TestResult::Failure,
            Statistics { skipped: 1.., .. } => TestResult::Partial,
            _ => TestResult::Success,
        }
    }
}

/// Why a report cannot be read or written.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// It is not YAML of this schema.
    #[error("not a ConformanceReport: {0}")]
    Parse(String),
    /// It cannot be put into YAML.
    #[error("cannot write the ConformanceReport: {0}")]
    Write(String),
}

impl ConformanceReport {
    /// Reads a report.
    ///
    /// # Errors
    /// [`ReadError::Parse`] with line and column when it is not YAML of this schema.
    pub fn from_yaml(text: &str) -> Result<ConformanceReport, ReadError> {
        serde_yaml::from_str(text).map_err(|error| {
            // What follows the first line shows the place in the file once more.
            let error = error.to_string();
            let words = error.lines().next().unwrap_or_default();
            ReadError::Parse(words.trim_start_matches("error: ").to_owned())
        })
    }

    /// Writes a report.
    ///
    /// # Errors
    /// [`ReadError::Write`] if a value has no YAML form.
    pub fn to_yaml(&self) -> Result<String, ReadError> {
        serde_yaml::to_string_with_options(self, serde_yaml::ser_options! { prefer_block_scalars: false })
            .map_err(|error| ReadError::Write(error.to_string()))
    }
}

/// Something in a report that a submission may not have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Defect {
    /// Which field, such as `profiles[GATEWAY-HTTP].core.result`, a part of the file's path, or `README.md` beside it.
    pub field: String,
    /// What is wrong with it, and what to do.
    pub problem: String,
}
