//! The parsed form of a manifest.

mod answer;
mod backend;
mod bounds;
mod branch;
mod made;
mod service;
mod subject;

use std::fmt;
use std::sync::Arc;

use indexmap::IndexMap;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::dialects::Dialect;
use crate::log::{ClientCertificate, Extension, Message, TlsVersion};

pub use answer::{Answer, CLEAR_TEXT, HeaderTest, NO_CERTIFICATE, Noted, Seen, Share, Times};
pub use backend::{BackendDecl, BackendProtocol, CertificateDecl};
pub use bounds::{Basis, Bounds, Channel, Release, Version};
pub use branch::Branch;
pub use made::{Carried, MadeFor};
pub use service::{BodyExpectation, Gap, Requests, Script, Since};
pub use subject::{
    BelowExpectation, ConditionExpectation, FieldExpectation, FieldTest, ListenerExpectation, MessageExpectation,
    ParentExpectation, Parents, SubCondition, SubjectExpectation,
};

/// A clause that something proves: an ID of the requirements table, `upstream:TEST` or `blind:TEST.n`.
pub type Clause = Arc<str>;

/// One scenario, from one YAML document.
#[derive(Debug, Clone, PartialEq)]
pub struct Scenario {
    /// `metadata.name`, unique among all scenarios; lower-case, dashes.
    pub name: String,
    /// The suite: the first folder below `manifests/`.
    pub suite: String,
    /// The dialect that it is written in.
    pub dialect: Arc<Dialect>,
    /// Path as the user gave it, or below `manifests/`.
    pub file: String,
    /// The sentence that the specification says.
    pub summary: String,
    /// Features that the target must claim.
    pub features: Vec<String>,
    /// Features that the target must not claim, because the scenario is about what it says without them.
    pub without: Vec<String>,
    /// Versions and channel in which the scenario has a meaning.
    pub bounds: Bounds,
    /// What it must not share with others.
    pub isolation: Isolation,
    /// Namespaces beside the main one (alias `ns`), by alias.
    pub namespaces: IndexMap<String, NamespaceDecl>,
    /// Pool Gateways by alias; the value is the shape.
    pub gateways: IndexMap<String, String>,
    /// Backends, hosted or deployed by the harness.
    pub backends: Vec<BackendDecl>,
    /// Objects that the target makes in the scenario's namespaces, and that steps ask after.
    pub made: Vec<MadeObject>,
    /// What is done and expected, in order.
    pub steps: Vec<Step>,
    /// SHA-256 of the source document, hexadecimal.
    pub digest: String,
    /// How the manifest writes the objects that binding renamed; empty before binding. Keeps the names of expectations
    /// the same in every run.
    pub labels: IndexMap<ObjectRef, Arc<str>>,
}

impl Scenario {
    /// Whether a step deletes an object and does not await its end, so that it is there no longer than its finalizers hold it.
    pub fn lets_go(&self, object: &ObjectRef) -> bool {
        self.steps
            .iter()
            .any(|step| matches!(&step.verb, Verb::Delete(gone) if !gone.awaited && gone.objects.contains(object)))
    }

    /// Whether the target is to make an object: it is there once it has.
    pub fn is_made(&self, object: &ObjectRef) -> bool {
        self.made.iter().any(|made| made.object == *object)
    }

    /// An object as the manifest writes it, whether the scenario is bound or not.
    pub fn label(&self, object: &ObjectRef) -> Arc<str> {
        self.labels.get(object).cloned().unwrap_or_else(|| Arc::from(object.to_string()))
    }
}

/// An object that the target makes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MadeObject {
    /// Its API group.
    pub group: String,
    /// The object, in a namespace of the scenario.
    pub object: ObjectRef,
}

/// A namespace of a scenario.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct NamespaceDecl {
    /// Labels beside those that the harness sets.
    pub labels: IndexMap<String, String>,
}

/// What a scenario must not share.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Isolation {
    /// Shares pool Gateways and their lanes; its hostnames set it apart.
    #[default]
    Shared,
    /// Has the lanes of its pool Gateways for itself: hostless and layer 4 scenarios.
    Lane,
    /// Changes cluster-scoped things that others depend on: runs alone.
    Cluster,
}

/// Where in the file something stands; both from 1.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Place {
    /// Line.
    pub line: usize,
    /// Column.
    pub column: usize,
}

/// How binding an expectation is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "UPPERCASE")]
pub enum Level {
    /// A miss is a note.
    May,
    /// A miss is a warning.
    Should,
    /// A miss is a failure.
    #[default]
    Must,
}

/// One step: a verb and what must come of it.
#[derive(Debug, Clone, PartialEq)]
pub struct Step {
    /// Position in `steps`, from 0.
    pub index: usize,
    /// What is done.
    pub verb: Verb,
    /// For writes: the ends that are legal. Empty: every write must be admitted.
    pub either: Vec<Ending>,
    /// The end of an earlier write that it belongs to: it is done only if the write comes to that end.
    pub within: Option<Branch>,
    /// Not done where it has no meaning. Those of the ends that it belongs to are among them.
    pub bounds: Bounds,
    /// What the step proves.
    pub proves: Vec<Clause>,
    /// Where it stands.
    pub place: Place,
}

/// What a step does.
#[derive(Debug, Clone, PartialEq)]
pub enum Verb {
    /// Server-side apply of objects, in order.
    Apply(Apply),
    /// A patch of one object.
    Patch(Patch),
    /// Deletion, awaited.
    Delete(Delete),
    /// Waits until a state is reached and stays.
    Settle(Settle),
    /// Watches for a while that something stays so.
    Hold(Hold),
    /// Sends requests until the data path agrees, or the budget is used up.
    Probe(Box<Probe>),
    /// Tells a service beside the target what to do.
    Script(Script),
    /// Counts the requests that such a service gets.
    Requests(Box<Requests>),
    /// Asks what is carried by the objects that a target made for another one.
    Made(Box<MadeFor>),
}

impl Verb {
    /// Whether it changes something: the target's objects, or what a scripted service does.
    pub fn writes(&self) -> bool {
        matches!(self, Verb::Apply(_) | Verb::Patch(_) | Verb::Delete(_) | Verb::Script(_))
    }
}

impl Verb {
    /// Whether it lasts until everything else of the run has come to its end.
    pub fn rests(&self) -> bool {
        match self {
            Verb::Hold(hold) => hold.duration == HoldFor::Rest,
            Verb::Requests(requests) => requests.within == HoldFor::Rest,
            _ => false,
        }
    }
}

/// Objects to apply.
#[derive(Debug, Clone, PartialEq)]
pub struct Apply {
    /// Plain Kubernetes objects, placeholders bound or not.
    pub objects: Vec<Value>,
    /// Which version of the API they are written at.
    pub at: ApiVersion,
}

/// The version of the API that an object is written at.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum ApiVersion {
    /// The newest that the target serves, if the object is one of Gateway API.
    #[default]
    Newest,
    /// The object's own.
    AsWritten,
}

/// A patch.
#[derive(Debug, Clone, PartialEq)]
pub struct Patch {
    /// Of which object.
    pub target: ObjectRef,
    /// `status`, or nothing.
    pub subresource: Option<String>,
    /// How.
    pub kind: PatchKind,
    /// The patch.
    pub patch: Value,
    /// Whether it plays a component that is not under test, whose status this is from then on.
    pub component: bool,
}

/// How a patch is meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PatchKind {
    /// JSON merge patch, RFC 7386.
    Merge,
    /// JSON patch, RFC 6902.
    Json,
}

/// Objects to delete.
#[derive(Debug, Clone, PartialEq)]
pub struct Delete {
    /// Which.
    pub objects: Vec<ObjectRef>,
    /// Whether they must be gone before the next step.
    pub awaited: bool,
}

/// An object of the scenario: `Kind/name`, `Kind/alias/name`, or a pool Gateway `${gw}`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ObjectRef {
    /// The kind.
    pub kind: String,
    /// Namespace alias before binding, namespace after; `None` for cluster-scoped kinds and, before binding, the main one.
    pub namespace: Option<String>,
    /// Name; for a pool Gateway before binding, its alias.
    pub name: String,
    /// Whether it is a pool Gateway.
    pub pool: bool,
}

impl fmt::Display for ObjectRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.namespace {
            None if self.pool => write!(f, "${{{}}}", self.name),
            Some(namespace) => write!(f, "{}/{}/{}", self.kind, namespace, self.name),
            None => write!(f, "{}/{}", self.kind, self.name),
        }
    }
}

/// A legal end of a write.
#[derive(Debug, Clone, PartialEq)]
pub enum Ending {
    /// The API server refuses it so.
    Refused(Refusal, Bounds),
    /// It is admitted, and this settles.
    Settle(Settle, Bounds),
    /// It is admitted, and that is the point: a refusal is a failure. It stands alone.
    Admitted,
}

/// A refusal at admission. Any other refusal makes the scenario inconclusive, unless admission is what is tested.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    /// HTTP code; 422 unless given.
    pub code: u16,
    /// Status reason; `Invalid` unless given.
    pub reason: String,
    /// The field that a cause must name, or begin with.
    pub field: Option<String>,
}

/// A state to be reached and kept for the quiet window.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Settle {
    /// Each must hold, all at one time.
    pub subjects: Vec<SubjectExpectation>,
    /// As an end of a write: it is one only where all of these were created in the same second, or only where they were not.
    pub same_age: Option<bool>,
    /// It need not stand still: what comes after it is about the moment at which it is said.
    pub at_once: bool,
}

/// A watch for things that must not, or must all the time, be so. Asked of every version seen meanwhile.
#[derive(Debug, Clone, PartialEq)]
pub struct Hold {
    /// How long.
    pub duration: HoldFor,
    /// No version may satisfy any of these.
    pub never: Vec<SubjectExpectation>,
    /// Every version must satisfy all of these; so must the version at the start.
    pub always: Vec<SubjectExpectation>,
    /// The status of these must not be written at all.
    pub unchanged: Vec<ObjectRef>,
    /// Whether it may be, with other messages: something else changed that these may speak of.
    pub other_messages: bool,
    /// How binding it is that they are not.
    pub unchanged_level: Level,
}

/// How long a hold lasts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HoldFor {
    /// By the table of limits: a multiple of the slowest settle so far, within bounds.
    Quiet,
    /// Until everything else of the run has come to its end, and by the table of limits no shorter and no longer than that says.
    Rest,
    /// Milliseconds.
    Millis(u64),
}

/// Requests and the answer that they must get.
#[derive(Debug, Clone, PartialEq)]
pub struct Probe {
    /// Where to.
    pub target: ProbeTarget,
    /// HTTP method; `None` for streams of TCP and TLS, and for UDP.
    pub method: Option<String>,
    /// Whether it is a call of gRPC: a POST over HTTP/2 with messages.
    pub grpc: bool,
    /// Whether over HTTP/2.
    pub http2: bool,
    /// Whether the whole URL is the request target, in absolute form.
    pub absolute: bool,
    /// Whether its host stands in a Host header over HTTP/2, without `:authority`.
    pub host_header: bool,
    /// Raw request target for HTTP, text to send for TCP and UDP.
    pub path: String,
    /// Whether nothing is sent over TCP before a line has come.
    pub listens: bool,
    /// Whether its half of a stream is ended behind what is sent, and the backend answers behind that end.
    pub half_close: bool,
    /// Milliseconds for which a stream is idle between the line and what is sent behind it.
    pub idle: Option<u64>,
    /// Whether it is over UDP.
    pub datagrams: bool,
    /// From how many sockets at the same time datagrams are sent; from one unless given.
    pub flows: Option<u32>,
    /// Whether datagrams have not a byte.
    pub empty: bool,
    /// Host header; of a TLS stream the server name, if it has one; `None` for TCP and UDP.
    pub host: Option<String>,
    /// Whether over TLS; the server name is the host. Without a method it is a stream.
    pub tls: bool,
    /// The protocols that are offered in a handshake, in order; empty: the one that is spoken, and none for a stream.
    pub alpn: Vec<String>,
    /// What is left out of the handshake of a request over TLS.
    pub without: Vec<Extension>,
    /// The version of TLS that is spoken alone; whichever the other side takes unless given.
    pub tls_version: Option<TlsVersion>,
    /// Name of a TLS session that is resumed from attempt to attempt and from probe to probe, where the other side lets it.
    pub session: Option<String>,
    /// Whether the first message of a handshake for a stream goes out in two pieces.
    pub in_two: bool,
    /// Whether the first message of a handshake for a stream is split over two records.
    pub two_records: bool,
    /// Request headers, with a line for each value.
    pub headers: IndexMap<String, Vec<String>>,
    /// What follows the request body, with a line for each value.
    pub trailers: IndexMap<String, Vec<String>>,
    /// Request body; of a stream and a datagram what is sent behind the text, and has to come back.
    pub body: String,
    /// Texts of the messages of a call, in order; none: one empty message.
    pub sends: Vec<String>,
    /// Request targets that are asked for before it over the same HTTP/2 connection, and not waited for.
    pub among: Vec<String>,
    /// Whether the connection shall become a WebSocket, and what is sent over it then.
    pub messages: Option<Vec<Message>>,
    /// The answer.
    pub answer: Answer,
    /// Name of a connection that is kept open from attempt to attempt and from probe to probe.
    pub over: Option<String>,
    /// Whether the automatic contrast is sent around 4xx and 5xx expectations.
    pub contrast: bool,
    /// The certificate that it has for who asks for one over TLS.
    pub client: Option<ClientCertificate>,
    /// Whether it is sent although its Gateway is not `Programmed=True`.
    pub unprogrammed: bool,
    /// Whether it is sent once, and that answer counts.
    pub once: bool,
    /// How many are sent so, one after the other.
    pub each: u32,
    /// How binding.
    pub level: Level,
}

/// Which Gateway and listener a probe goes to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProbeTarget {
    /// The Gateway: pool or own.
    pub gateway: ObjectRef,
    /// Listener name; the first of the spec that fits the protocol unless given.
    pub listener: Option<String>,
    /// The object whose listener that is, where it is not the Gateway itself.
    pub of: Option<ObjectRef>,
}

/// Names one expectation of a scenario, such as `steps[4].settle.HTTPRoute/route.ResolvedRefs.reason`.
pub type ExpectationId = String;
