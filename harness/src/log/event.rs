//! What a run appends to its log.

use std::sync::Arc;

use indexmap::IndexMap;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Authority, Carrier, Elapsed, Exchange, JournalEntry, NotRun, ObjectKey, Role, RunStarted, ServiceRequest};

/// One thing that happened, in the order in which the harness learned of it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Event {
    /// Position in the log, from 0 without holes.
    pub seq: u64,
    /// When.
    pub at: Elapsed,
    /// Whom it concerns.
    pub scope: Scope,
    /// What.
    pub body: Body,
}

/// Whom an event concerns.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum Scope {
    /// The whole run.
    Run,
    /// One execution of a scenario: its name, with `#2` and up for repeats.
    Scenario(Arc<str>),
    /// A Gateway of the pool, which many scenarios share; the name is the shape.
    Pool(Arc<str>),
}

/// What happened.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum Body {
    /// Always the first event.
    RunStarted(Box<RunStarted>),
    /// A scenario began; its manifest is bound to these names.
    ScenarioStarted(Box<Bindings>),
    /// A write was asked of the API server and answered.
    Wrote(Box<Write>),
    /// The harness wrote an object for its own ends: a namespace, a backend, a Gateway of the pool, what is put back. Beside what
    /// scenarios write, nothing of these is to be changed by anybody.
    Made(Box<Write>),
    /// A watch delivered a version of an object. `Deleted` carries the last version.
    Observed {
        /// Which object.
        key: ObjectKey,
        /// What the watch said.
        change: Change,
        /// The object. Of `metadata.managedFields` it has the newest entries, without the fields; Secret data is replaced by
        /// digests.
        object: Arc<serde_json::Value>,
    },
    /// What a watch was to show was listed anew: versions may have been missed before this point, and those that follow are there
    /// now.
    Gap {
        /// The resource, such as `httproutes.gateway.networking.k8s.io`.
        resource: String,
        /// Why.
        reason: String,
    },
    /// A watch is not open, or not to be believed: what happens to its objects is not seen until it is open again.
    Blind {
        /// The resource, such as `httproutes.gateway.networking.k8s.io`.
        resource: String,
        /// The kind of its objects.
        kind: String,
        /// Why.
        reason: String,
        /// Whether it was open, and a read showed what it did not.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        doubted: bool,
    },
    /// That watch is open again. What it missed stands before this, as versions behind a gap, or comes now.
    Sighted {
        /// The resource.
        resource: String,
        /// The kind of its objects.
        kind: String,
        /// For how long it was not, in microseconds.
        by: u64,
    },
    /// Objects were read, to know whether what the watches showed of them is what is there.
    Looked {
        /// The step that asked.
        step: usize,
        /// What was found of each.
        found: Vec<Sight>,
        /// Why nothing can be said, if so.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        error: Option<String>,
    },
    /// Watches that did not show what was there have begun anew, and what there is was logged before this.
    Renewed {
        /// The step that asked.
        step: usize,
        /// Why they have not, if so.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        error: Option<String>,
    },
    /// The run writes nothing until the step that asked is over.
    Quiesced {
        /// The step that asked.
        step: usize,
        /// Since when; nothing if writes that were under way did not end.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        since: Option<Elapsed>,
    },
    /// An object of Gateway API changed that is not of this run: its data path may be busy with that. In the scope of a scenario it
    /// lies in a namespace of that.
    Stirred {
        /// Which.
        key: ObjectKey,
        /// What happened.
        change: Change,
        /// Its metadata: which it is, its generation, who wrote last.
        object: Arc<serde_json::Value>,
    },
    /// Somebody told of an object by a Kubernetes Event. Evidence for people: no verdict rests on it.
    KubernetesEvent(Box<KubernetesEvent>),
    /// Kubernetes Events are missing from here on, or some were missed before.
    NoKubernetesEvents {
        /// Why.
        reason: String,
    },
    /// One attempt on the data path.
    Probed {
        /// The step that asked.
        step: usize,
        /// 0, 1, 2 … within the step and role.
        attempt: u32,
        /// What it was for.
        role: Role,
        /// What was sent and came back.
        exchange: Box<Exchange>,
    },
    /// What the backends' journals hold for the requests of a step.
    Journal {
        /// The step that asked.
        step: usize,
        /// The entries.
        entries: Vec<JournalEntry>,
    },
    /// A service beside the target was told what to do.
    Scripted {
        /// The step that asked.
        step: usize,
        /// Which service.
        service: String,
        /// What the script is known by there.
        key: String,
        /// Why it was not, if so.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        error: Option<String>,
    },
    /// Where the log of a service stood before a step began.
    Marked {
        /// The step that asked.
        step: usize,
        /// Which service.
        service: String,
        /// The position that its next request will have.
        next: u64,
        /// Why that is not known, if so.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        error: Option<String>,
    },
    /// The log of a service was read.
    Requested {
        /// The step that asked.
        step: usize,
        /// Which service.
        service: String,
        /// When the reading began: what came before it is in the log.
        asked: Elapsed,
        /// The requests that the step counts, of those since it was read last.
        requests: Vec<ServiceRequest>,
        /// The position that comes next.
        next: u64,
        /// Why it could not be read, if so.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        error: Option<String>,
    },
    /// Objects that others made for one of the scenario's were listed.
    Listed {
        /// The step that asked.
        step: usize,
        /// When the reading began: what was there before it is in the list.
        asked: Elapsed,
        /// What there is, but for what is being deleted.
        found: Vec<Carrier>,
        /// Why it could not be read, if so.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        error: Option<String>,
    },
    /// Nothing else of the run is at work, nor can begin beside the scenarios that watch on until then.
    Rested,
    /// The run woke up because a time limit of the judge passed; it carries only its time.
    Tick,
    /// The harness itself was late: what it measured meanwhile is not the target's. In the scope of the run it was late by so
    /// much since the last of these, in that of a scenario during an attempt.
    Lagged {
        /// By how much, in microseconds.
        by: u64,
    },
    /// The API server could not be reached: what did not come meanwhile is not the target's failure.
    Unreachable {
        /// Since when: microseconds, or since the last of these.
        by: u64,
    },
    /// The scenario waited for what another run had to itself: that time counts for no deadline.
    Waited {
        /// For how long, in microseconds.
        by: u64,
    },
    /// Something that the run made, or was to restore, and that is still there.
    LeftBehind {
        /// `Kind/name`.
        object: String,
        /// What holds it, as far as it can be told.
        diagnosis: String,
    },
    /// The scenario's last event, written once no more can come.
    ScenarioEnded(Ended),
    /// The selected scenarios that did not run.
    NotRun {
        /// In no order.
        scenarios: Vec<NotRun>,
    },
    /// Always the last event.
    RunEnded {
        /// Whether the user broke the run off.
        interrupted: bool,
    },
}

/// The names that a scenario's manifest is bound to for one execution.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Bindings {
    /// The scenario's name in its manifest.
    pub scenario: String,
    /// The run's label value.
    pub run_id: String,
    /// A token unique to run and scenario, legal in names, hostnames and paths.
    pub token: String,
    /// Namespace alias in the manifest → namespace; the alias of the scenario's main namespace is `ns`.
    pub namespaces: IndexMap<String, String>,
    /// Host alias in the manifest → hostname; the main one is `host`.
    pub hosts: IndexMap<String, String>,
    /// Gateway alias in the manifest → pool Gateway.
    pub gateways: IndexMap<String, GatewayBinding>,
    /// Backends of the manifest.
    pub backends: IndexMap<String, BackendBinding>,
    /// Name alias for cluster-scoped objects → name.
    pub names: IndexMap<String, String>,
    /// Authorities of the manifest, by alias.
    #[serde(default, skip_serializing_if = "IndexMap::is_empty")]
    pub authorities: IndexMap<String, Authority>,
    /// Port alias such as `http` or `tcp` → port for this execution.
    pub ports: IndexMap<String, u16>,
    /// Kinds of the manifest that the target serves without namespaces, beside those of Kubernetes and Gateway API.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cluster_scoped: Vec<String>,
    /// The GatewayClass under test, in a dialect that has classes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gateway_class: Option<String>,
    /// A class of the same controller that takes one Gateway only, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub single_gateway_class: Option<String>,
    /// An address that Gateways of the class may ask for, if one is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usable_address: Option<String>,
    /// Its controller.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub controller_name: Option<String>,
}

/// A pool Gateway as a scenario sees it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct GatewayBinding {
    /// Namespace of the Gateway.
    pub namespace: String,
    /// Name of the Gateway.
    pub name: String,
    /// The shape asked for.
    pub shape: String,
}

/// A backend as a scenario sees it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct BackendBinding {
    /// Namespace of its Service.
    pub namespace: String,
    /// Name of its Service.
    pub service: String,
    /// The identity that its echo reports in `pod`, unique to run, scenario and backend.
    pub identity: String,
}

/// A write and its answer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Write {
    /// The step that asked.
    pub step: usize,
    /// Position within the step.
    pub ordinal: usize,
    /// How.
    pub verb: WriteVerb,
    /// To which object.
    pub key: ObjectKey,
    /// The `apiVersion` that was used.
    pub api_version: String,
    /// What was sent; Secret data is replaced by digests.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sent: Option<Arc<serde_json::Value>>,
    /// What came of it.
    pub outcome: WriteOutcome,
}

/// What a read found of an object.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Sight {
    /// Which object.
    pub key: ObjectKey,
    /// The object, as an observed one is logged; nothing if it is not there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub object: Option<Arc<serde_json::Value>>,
}

/// What is kept of a Kubernetes Event.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct KubernetesEvent {
    /// The object that it is about.
    pub about: ObjectKey,
    /// `Normal` or `Warning`.
    #[serde(rename = "type")]
    pub class: String,
    /// Such as `BackendNotFound`.
    pub reason: String,
    /// The first 1,024 characters of its text.
    pub message: String,
    /// The component that tells it.
    pub from: String,
    /// How many times it was told so far.
    pub count: u64,
}

/// How an object was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum WriteVerb {
    /// Server-side apply.
    Apply,
    /// A merge or JSON patch.
    Patch,
    /// Deletion.
    Delete,
}

/// The API server's answer to a write.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum WriteOutcome {
    /// Taken. Deletions carry the generation that was deleted, or 0.
    Admitted {
        /// The object's uid.
        uid: String,
        /// Its `metadata.generation`, or 0 for kinds that have none.
        generation: i64,
        /// Its `metadata.resourceVersion`.
        resource_version: String,
    },
    /// Refused with a `Status`.
    Refused {
        /// HTTP code.
        code: u16,
        /// Machine-readable reason, such as `Invalid`.
        reason: String,
        /// Text.
        message: String,
        /// Causes, with their fields.
        causes: Vec<Cause>,
    },
    /// No usable answer: the harness' environment, not the target.
    Failed {
        /// Which phase, and what went wrong.
        error: String,
    },
}

/// One cause of a refusal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Cause {
    /// Such as `FieldValueInvalid`.
    pub reason: String,
    /// Such as `spec.rules[0].filters`.
    pub field: String,
    /// Text.
    pub message: String,
}

/// What a watch said of an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Change {
    /// New to the observer.
    Added,
    /// Another version.
    Modified,
    /// Gone.
    Deleted,
}

/// Why a scenario ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum Ended {
    /// The judge had nothing more to ask.
    Completed,
    /// The user broke the run off, or `--fail-fast` did.
    Interrupted,
    /// The harness could not go on: the environment, not the target.
    Environment {
        /// Which phase, and what went wrong.
        error: String,
    },
}
