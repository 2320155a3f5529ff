//! What a run is of, and what of it did not run.

use gateproof_report::known::KnownFailure;
use gateproof_report::record::{Digests, Outcome, ShardRecord};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Timing;

/// Facts about the run that verdicts and reports need.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RunStarted {
    /// Version of this format.
    pub format: u32,
    /// Version of the harness.
    pub harness: String,
    /// Label value that marks everything that the run creates.
    pub run_id: String,
    /// Wall-clock time of the start, RFC 3339, for people and reports only.
    pub date: String,
    /// How the target was named by the user, such as `embedded` or `context kind-dev`.
    pub target: String,
    /// The arguments of the command line that decide verdicts, beside the selection.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub arguments: Vec<String>,
    /// A file that holds these arguments, one a line, if they are too many for a line of their own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub options_file: Option<String>,
    /// Whether the target is the embedded one.
    pub embedded: bool,
    /// The status language that the target speaks.
    #[serde(default = "gateway_api")]
    pub dialect: String,
    /// Which edition of it is meant, if it has several.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub edition: Option<String>,
    /// The GatewayClass under test, in a dialect that has classes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gateway_class: Option<String>,
    /// Its controller.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub controller_name: Option<String>,
    /// The release that the target is judged by, such as `v1.6.1`: the bundle version of the installed CRDs, unless the user
    /// chooses another. In a dialect that has releases.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gateway_api_version: Option<String>,
    /// Its channel: `standard` or `experimental`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gateway_api_channel: Option<String>,
    /// What the installed CRDs are of, if another release or channel is chosen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub definitions: Option<String>,
    /// Features that the target is held to, sorted.
    pub features: Vec<String>,
    /// The scenarios that were selected, whether they run on the target or not; nothing if nobody says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub selected: Option<Vec<String>>,
    /// The scenarios that were not selected and could have run on the target, for ConformanceReports; nothing if nobody says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub left_out: Option<Vec<String>>,
    /// Digests of what the run is of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub digests: Option<Digests>,
    /// Which part of a selection it is, if it is not the whole.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shard: Option<ShardRecord>,
    /// How many executions of a scenario are listed that passed with nothing else to say, if not all of them are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub listed: Option<u32>,
    /// The user's file of known failures.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub known_failures: Vec<KnownFailure>,
    /// The table of limits in force.
    pub timing: Timing,
}

/// A selected scenario that did not run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct NotRun {
    /// Its name, with `#2` and up for repeats.
    pub name: String,
    /// Skipped, not supported or inconclusive.
    pub outcome: Outcome,
    /// Why.
    pub reason: String,
    /// How many more executions of the scenario never began for the same reason.
    #[serde(default, skip_serializing_if = "is_none")]
    pub alike: u32,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks by reference")]
fn is_none(alike: &u32) -> bool {
    *alike == 0
}

/// The dialect of logs that do not say which: there was no other.
fn gateway_api() -> String {
    "gateway-api".to_owned()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use serde_json::json;

    use super::*;
    use crate::log::TimingProfile;

    /// What the first logs had, and nothing that came later.
    #[test]
    fn a_log_of_before_there_were_dialects_is_of_the_first() {
        let written = json!({"format": 1, "harness": "0.1.0", "runId": "a", "date": "2026-01-01T00:00:00Z", "target": "embedded",
            "embedded": true, "gatewayClass": "b", "controllerName": "c", "gatewayApiVersion": "v1.4.0", "gatewayApiChannel": "standard",
            "features": [], "timing": Timing::of(TimingProfile::Embedded)});
        let started: RunStarted = serde_json::from_value(written).unwrap();
        assert_eq!((started.dialect.as_str(), started.edition), ("gateway-api", None));
        assert_eq!(started.gateway_class.as_deref(), Some("b"));
    }
}
