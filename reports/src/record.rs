//! What a run came to. The format of `record.json`.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::known::KnownFailureRecord;
use crate::words::counted;

/// How a scenario ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum Outcome {
    /// Every binding expectation held.
    Passed,
    /// One did not.
    Failed,
    /// Everything came, but some of it after its deadline. Counts as failed.
    Late,
    /// It failed or came late as the user's file of known failures says. Does not fail the run; a ConformanceReport counts it as
    /// failed.
    KnownFailure,
    /// It could not be tested: never success, never the target's fault.
    Inconclusive,
    /// The user left it out.
    Skipped,
    /// The target does not claim a feature, or the scenario has no meaning at its version or channel.
    NotSupported,
}

/// A whole run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RunRecord {
    /// Version of this format.
    pub format: u32,
    /// Producer and its version, such as `gateproof 0.1.0`.
    pub producer: String,
    /// Start of the run, RFC 3339.
    pub date: String,
    /// What was tested.
    pub target: Target,
    /// The arguments of `gateproof run` that decide verdicts, beside the selection: with them a scenario is run again as
    /// it was.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub arguments: Vec<String>,
    /// A file that holds these arguments, one a line, if they are too many for a line of their own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub options_file: Option<String>,
    /// Whether the user broke it off.
    pub interrupted: bool,
    /// Whether wrong statuses were judged before their time was up: no ground for a ConformanceReport.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub impatient: bool,
    /// Every selected scenario in order of name, each in exactly one state.
    pub scenarios: Vec<ScenarioRecord>,
    /// Names of the selected scenarios that need features of no one profile, in order: no ConformanceReport counts them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub outside_profiles: Vec<String>,
    /// Every contract rule for every kind of which an object was watched, in order of kind and rule.
    pub contract: Vec<ContractRecord>,
    /// Every entry of the user's file of known failures, in its order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub known_failures: Vec<KnownFailureRecord>,
    /// What the run made, or was to restore, and could not: somebody has to look after it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub leftovers: Vec<LeftoverRecord>,
    /// What it was of, so that it can be told whether another run was of the same. Not of runs from before there were any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub digests: Option<Digests>,
    /// Which part of its selection it is, if other runs have the rest.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shard: Option<ShardRecord>,
    /// Milliseconds from start to end.
    pub duration_ms: u64,
}

/// SHA-256 of what a run was of, in hexadecimal.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Digests {
    /// What targets are judged by beside scenarios: dialect, contract, clauses, features.
    pub suite: String,
    /// The text of each selected scenario, by its name.
    pub manifests: BTreeMap<String, String>,
    /// What the target said of itself: class, release, claims and kinds.
    pub target: String,
    /// How it was run: the harness, the arguments that decide verdicts, and the table of limits.
    pub environment: String,
}

/// Which part of a selection a run is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ShardRecord {
    /// From 1.
    pub part: usize,
    /// How many there are.
    pub parts: usize,
    /// How many scenarios are selected in all parts together.
    pub selected: usize,
    /// SHA-256 of the names and texts of these, in hexadecimal: the same in every part.
    pub selection: String,
    /// Scenarios that are in no part, and that the target could have run.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub left_out: Vec<String>,
}

/// Something that a run could not remove or restore.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct LeftoverRecord {
    /// `Kind/name`.
    pub object: String,
    /// What holds it, as far as it can be told.
    pub diagnosis: String,
}

impl RunRecord {
    /// The arguments with which a scenario is run again as it was, as they are typed.
    pub fn again(&self) -> Cow<'_, [String]> {
        match &self.options_file {
            Some(file) => Cow::Owned(vec!["--options-from".to_owned(), file.clone()]),
            None => Cow::Borrowed(&self.arguments),
        }
    }
}

/// What was tested.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Target {
    /// How the user named it.
    pub name: String,
    /// Whether it is the embedded one.
    pub embedded: bool,
    /// The status language that it speaks, such as `gateway-api`.
    #[serde(default = "gateway_api")]
    pub dialect: String,
    /// Which edition of it, if it has several.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub edition: Option<String>,
    /// GatewayClass, in a dialect that has classes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gateway_class: Option<String>,
    /// Its controller.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub controller_name: Option<String>,
    /// The release that it is judged by: the bundle version of the CRDs, unless the user chooses another. In a dialect that has
    /// releases.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gateway_api_version: Option<String>,
    /// Its channel.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gateway_api_channel: Option<String>,
    /// What the CRDs are of, if the user chose another release or channel.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub definitions: Option<String>,
    /// Features that it is held to, sorted: those that it claims, unless the user says otherwise.
    pub features: Vec<String>,
}

/// The dialect of records that do not say which: there was no other.
fn gateway_api() -> String {
    "gateway-api".to_owned()
}

/// One scenario's end. What it has of its manifest it has in common with the other executions of the scenario, of which a run may have
/// many.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ScenarioRecord {
    /// Name, with `#2` and up for repeats.
    pub name: String,
    /// Suite.
    pub suite: Arc<str>,
    /// File of the manifest.
    pub file: Arc<str>,
    /// The scenario's sentence.
    pub summary: Arc<str>,
    /// Features that it needs.
    pub features: Arc<[String]>,
    /// Every clause that it proves.
    pub proves: Arc<[String]>,
    /// How it ended.
    pub outcome: Outcome,
    /// Why, for known failures, inconclusive, skipped and not supported.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Misses, in order of time.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub findings: Vec<Finding>,
    /// How long each stage took.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stages: Vec<Stage>,
    /// What the answers to each probe came to.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub probes: Vec<ProbeRecord>,
    /// Milliseconds from its first to its last event.
    pub duration_ms: u64,
    /// How many more executions of the scenario ended as this one did: passed with nothing else to say, or never began for this reason. A
    /// run has too many to list them all.
    #[serde(default, skip_serializing_if = "is_none")]
    pub alike: u32,
}

impl ScenarioRecord {
    /// How many executions it tells of.
    pub fn executions(&self) -> usize {
        usize::try_from(self.alike).unwrap_or(usize::MAX).saturating_add(1)
    }

    /// The reason, and how many more have it.
    pub fn reasons(&self) -> Option<Cow<'_, str>> {
        let reason = Cow::Borrowed(self.reason.as_deref()?);
        let more = || counted(self.alike, "more execution", "more executions");
        Some(if self.alike == 0 { reason } else { format!("{reason} (and {})", more()).into() })
    }
}

/// How many executions ended so.
pub fn executions(record: &RunRecord, is_so: impl Fn(Outcome) -> bool) -> usize {
    record.scenarios.iter().filter(|one| is_so(one.outcome)).map(ScenarioRecord::executions).sum()
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks by reference")]
fn is_none(alike: &u32) -> bool {
    *alike == 0
}

/// A scenario's name without the number of a repeat, and that number: `a#2` is the second execution of `a`, and `a` the first.
pub fn repeat_of(name: &str) -> (&str, u32) {
    name.rsplit_once('#').and_then(|(name, number)| Some((name, number.parse().ok()?))).unwrap_or((name, 1))
}

/// The name of the execution of a scenario with this number, the first being 1: what [`repeat_of`] takes apart.
pub fn repeat(scenario: &str, number: usize) -> String {
    if number <= 1 { scenario.to_owned() } else { format!("{scenario}#{number}") }
}

/// How binding a finding is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// A MAY was not taken.
    Note,
    /// A SHOULD was missed.
    Warning,
    /// A MUST was missed.
    Failure,
}

/// Something that was not as expected.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Finding {
    /// The expectation, such as `steps[4].settle.HTTPRoute/route.ResolvedRefs.reason`.
    pub expectation: String,
    /// How binding.
    pub severity: Severity,
    /// Clauses of the specification that it breaks.
    pub clauses: Vec<String>,
    /// Line of the manifest.
    pub line: usize,
    /// The stage that did not settle: `observed`, `programmed`, `converged`, `admission`, `hold`, `deletion`.
    pub stage: String,
    /// What was expected, in words.
    pub expected: String,
    /// What was seen, in words.
    pub seen: String,
    /// Whether it came after all, past its deadline.
    pub late: bool,
    /// Whether it follows from an earlier finding of the same scenario.
    pub consequence: bool,
    /// Milliseconds after the scenario's start.
    pub at_ms: u64,
}

/// How long one stage of one step took.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Stage {
    /// Step, from 0.
    pub step: usize,
    /// Stage.
    pub stage: Cow<'static, str>,
    /// Milliseconds until the asked state was first seen.
    pub reached_ms: u64,
    /// Milliseconds until it was settled.
    pub settled_ms: u64,
    /// The budget in milliseconds.
    pub limit_ms: u64,
    /// Declared wait that this stage could not avoid (quiet window, hold), in milliseconds.
    pub waited_ms: u64,
}

/// What the answers to one probe came to.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ProbeRecord {
    /// Step, from 0.
    pub step: usize,
    /// How many attempts there were, without those that look at something else, such as contrasts.
    pub n: u64,
    /// How many disagreed before the data path first agreed as often in a row as it must: it was converging.
    pub converging: u64,
    /// How many disagreed after that: it did not stay as it was.
    pub staying: u64,
    /// How many of all that disagreed brought no whole answer: refused, reset, or not in time.
    pub broken: u64,
    /// How those that disagreed ended, such as `status 503` or `refused`, and how often.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub codes: BTreeMap<String, u64>,
}

/// One rule of the status contract for one kind, over the whole run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ContractRecord {
    /// Such as `contract/HTTPRoute/observed-generation-current`.
    pub name: String,
    /// Clauses of the specification.
    pub clauses: Vec<String>,
    /// How binding.
    pub severity: Severity,
    /// How many objects of the kind were watched: every version of each was held against it.
    pub objects: u64,
    /// Why it does not fail the run, if the user's file of known failures has all of its breaches.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub known: Option<String>,
    /// Every breach.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub breaches: Vec<Breach>,
}

impl ContractRecord {
    /// Whether it fails the run: a MUST is broken in a way that the user does not expect.
    pub fn fails(&self) -> bool {
        self.severity == Severity::Failure && !self.breaches.is_empty() && self.known.is_none()
    }
}

/// One breach of a contract rule.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Breach {
    /// The scenario in which it was seen; empty for the run's own objects.
    pub scenario: String,
    /// The object.
    pub object: String,
    /// Which part, such as `status.parents[0].conditions[Accepted]`.
    pub path: String,
    /// What was seen.
    pub seen: String,
    /// Position of the event in the log.
    pub seq: u64,
}
