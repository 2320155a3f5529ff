//! What a manifest may hold, as one table. The parser checks against it and the JSON Schema is made from it.

mod made;
mod probe;
mod subject;

use super::super::grpc::NAMES;
use made::MADE_FOR;
use probe::PROBE;
pub(in crate::scenario) use subject::CONDITION;
use subject::{BODY, SUBJECT};

/// What a value must look like.
#[derive(Debug, Clone, Copy)]
pub(in crate::scenario) enum Shape {
    /// Any string.
    Text,
    /// Lower-case letters, digits and dashes.
    Name,
    /// A whole number in this range.
    Integer(i64, i64),
    /// Any number.
    Number,
    /// true or false.
    Bool,
    /// One of these words.
    Word(&'static [&'static str]),
    /// `major.minor[.patch]`, quoted.
    Version,
    /// A release channel: one of [`CHANNELS`].
    Channel,
    /// A day, `YYYY-MM-DD`.
    Date,
    /// A feature's name.
    Feature,
    /// A requirement's ID, `upstream:TEST` or `blind:TEST.n`.
    Clause,
    /// An edition of the dialect.
    Edition,
    /// A shape of pool Gateway.
    Pool,
    /// `Status`, `Status/Reason`, `Status/ReasonA|ReasonB` or `absent`.
    Condition,
    /// A string, a number, true or false, or nothing.
    Scalar,
    /// `Type/Reason` of a sub-condition.
    SubCondition,
    /// A plain Kubernetes object.
    Object,
    /// Anything.
    Any,
    /// A list of these.
    List(&'static Shape),
    /// A mapping from free names to these.
    Map(&'static Shape),
    /// A value that fits one of these; which is meant is clear from what it is.
    Either(&'static [Shape]),
    /// A mapping with these fields.
    Table(&'static Table),
}

/// The fields of a mapping.
#[derive(Debug)]
pub(in crate::scenario) struct Table {
    /// What it is called in messages and in the schema.
    pub(in crate::scenario) name: &'static str,
    /// What it is for.
    pub(in crate::scenario) doc: &'static str,
    /// Its fields.
    pub(in crate::scenario) fields: &'static [Field],
    /// Whether keys that are condition types may stand beside the fields.
    pub(in crate::scenario) conditions: bool,
    /// At least and at most this many of these fields.
    pub(in crate::scenario) one_of: &'static [&'static str],
}

/// A field of a mapping.
#[derive(Debug)]
pub(in crate::scenario) struct Field {
    pub(in crate::scenario) name: &'static str,
    pub(in crate::scenario) shape: Shape,
    pub(in crate::scenario) required: bool,
    pub(in crate::scenario) doc: &'static str,
}

const fn must(name: &'static str, shape: Shape, doc: &'static str) -> Field {
    Field { name, shape, required: true, doc }
}

const fn may(name: &'static str, shape: Shape, doc: &'static str) -> Field {
    Field { name, shape, required: false, doc }
}

const TEXTS: Shape = Shape::List(&Shape::Text);
const TEXT_OR_TEXTS: Shape = Shape::Either(&[Shape::Text, TEXTS]);
const LEVEL: Field = may("level", Shape::Word(&["MUST", "SHOULD", "MAY"]), "how binding; MUST unless given");
const SINCE: Field = may("since", Shape::Version, "first release of the dialect for which this has a meaning");
const UNTIL: Field = may("until", Shape::Version, "first release of the dialect for which it no longer has one");
/// The release channels.
pub(in crate::scenario) const CHANNELS: [&str; 2] = ["standard", "experimental"];
const CHANNEL: Field = may("channel", Shape::Channel, "release channel");
const EDITIONS: Field =
    may("editions", Shape::List(&Shape::Edition), "editions of the dialect in which this has a meaning");
const PROVES: Field = may("proves", Shape::List(&Shape::Clause), "the clauses that a failure breaks");
const STATUS: Shape = Shape::Integer(100, 599);
const CODE: Shape = Shape::Word(&NAMES);
const SUBJECTS: Shape = Shape::Map(&Shape::Table(&SUBJECT));

/// HTTP methods that may stand for the URL of a probe, and what stands for that of a call or a WebSocket.
pub(in crate::scenario) const METHODS: [&str; 9] =
    ["get", "head", "post", "put", "patch", "delete", "options", GRPC, WEBSOCKET];

/// What stands for the URL of a call.
pub(in crate::scenario) const GRPC: &str = "grpc";
/// Stands for a GET that asks for a WebSocket.
pub(in crate::scenario) const WEBSOCKET: &str = "websocket";

/// The whole document.
pub(in crate::scenario) static DOCUMENT: Table = Table {
    name: "Scenario",
    doc: "A scenario: what is done to a target and what must come of it.",
    conditions: false,
    one_of: &[],
    fields: &[
        must("apiVersion", Shape::Word(&["gateproof.dev/v1alpha1"]), "version of this format"),
        must("kind", Shape::Word(&["Scenario"]), "always Scenario"),
        must("metadata", Shape::Table(&METADATA), "the scenario's name"),
        must("spec", Shape::Table(&SPEC), "the scenario"),
    ],
};

/// The whole file of known failures.
pub(in crate::scenario) static KNOWN_FAILURES: Table = Table {
    name: "KnownFailures",
    doc: "What fails today, why, and until when that is put up with.",
    conditions: false,
    one_of: &[],
    fields: &[
        must("apiVersion", Shape::Word(&["gateproof.dev/v1alpha1"]), "version of this format"),
        must("kind", Shape::Word(&["KnownFailures"]), "always KnownFailures"),
        must("failures", Shape::List(&Shape::Table(&KNOWN_FAILURE)), "the entries"),
    ],
};

static KNOWN_FAILURE: Table = Table {
    name: "KnownFailure",
    doc: "A failure that does not fail a run. In names `*` stands for any characters; everything that is named must fail.",
    conditions: false,
    one_of: &[],
    fields: &[
        may("scenario", Shape::Text, "name of the scenario that fails, or in which the contract rule is broken"),
        may(
            "expectation",
            Shape::Text,
            "the expectation of the scenario that fails, as reports name it; any unless given",
        ),
        may("contract", Shape::Text, "the contract rule that is broken, as contract/KIND/RULE"),
        must("reason", Shape::Text, "why, such as the number of an issue"),
        must("expires", Shape::Date, "the last day on which it holds, in UTC"),
    ],
};

static METADATA: Table = Table {
    name: "Metadata",
    doc: "Metadata of a scenario.",
    conditions: false,
    one_of: &[],
    fields: &[must("name", Shape::Name, "unique among all scenarios")],
};

static SPEC: Table = Table {
    name: "Spec",
    doc: "The body of a scenario.",
    conditions: false,
    one_of: &[],
    fields: &[
        must("summary", Shape::Text, "the sentence that the specification says"),
        must("features", Shape::List(&Shape::Feature), "features that the target must claim"),
        may(
            "without",
            Shape::List(&Shape::Feature),
            "features that the target must not claim: the scenario is about what becomes of who asks for them",
        ),
        SINCE,
        UNTIL,
        CHANNEL,
        EDITIONS,
        may("isolation", Shape::Word(&["shared", "lane", "cluster"]), "what the scenario must not share with others"),
        may("gateways", Shape::Map(&Shape::Pool), "entries of the pool, by alias"),
        may("namespaces", Shape::Map(&Shape::Table(&NAMESPACE)), "namespaces beside `ns`, by alias"),
        may(
            "backends",
            Shape::List(&Shape::Either(&[Shape::Name, Shape::Table(&BACKEND)])),
            "Services whose endpoints echo",
        ),
        may(
            "made",
            Shape::List(&Shape::Table(&MADE)),
            "objects that the target makes, so that steps can ask after them",
        ),
        must("steps", Shape::List(&Shape::Table(&STEP)), "what is done and expected, in order"),
    ],
};

static NAMESPACE: Table = Table {
    name: "Namespace",
    doc: "A namespace that the harness makes for the scenario.",
    conditions: false,
    one_of: &[],
    fields: &[may("labels", Shape::Map(&Shape::Text), "labels beside those of the harness")],
};

static MADE: Table = Table {
    name: "Made",
    doc: "An object that the target makes for the scenario. Until it is there, and once it is gone, it has no fields.",
    conditions: false,
    one_of: &[],
    fields: &[
        must("apiVersion", Shape::Text, "such as apps/v1"),
        must("kind", Shape::Text, "such as Deployment"),
        must(
            "name",
            Shape::Text,
            "its name; without a namespace, one that only this scenario can mean, by a placeholder",
        ),
        may(
            "namespace",
            Shape::Text,
            "alias of its namespace; the scenario's own without it, or none if its kind has none",
        ),
    ],
};

static BACKEND: Table = Table {
    name: "Backend",
    doc: "A Service whose endpoints echo.",
    conditions: false,
    one_of: &[],
    fields: &[
        must("name", Shape::Name, "name of the Service"),
        may("namespace", Shape::Name, "alias of its namespace; `ns` unless given"),
        may("port", Shape::Integer(1, 65535), "port of the Service; 8080 unless given"),
        may(
            "protocol",
            Shape::Word(&["http", "h2c", "tcp", "tls", "udp"]),
            "what it speaks; http unless given. h2c: HTTP/2 with prior knowledge, and gRPC. tls: what tcp speaks, within TLS, with a certificate for the name of its Service",
        ),
        may("service", Shape::Name, "the backend whose Service it is a further endpoint of"),
        may("ready", Shape::Bool, "false: the Service has no ready endpoint, or not this one"),
        may("headless", Shape::Bool, "true: the Service has no cluster IP"),
        may("greets", Shape::Bool, "true: over TCP it sends its line at once, and does not wait for one"),
        may(
            "alpn",
            TEXTS,
            "the protocols that one of protocol tls agrees on in handshakes, the most preferred first; none unless given",
        ),
        may("portName", Shape::Name, "name of its port of the Service; none unless given"),
        may(
            "tls",
            Shape::Table(&CERTIFICATE),
            "the certificate with which it takes TLS, beside clear text; of one of protocol tls the only one",
        ),
    ],
};

static CERTIFICATE: Table = Table {
    name: "BackendCertificate",
    doc: "A fresh certificate, with which a backend takes TLS beside clear text, or of protocol tls alone.",
    conditions: false,
    one_of: &[],
    fields: &[
        must("names", TEXTS, "hosts and URIs that it is for"),
        may("commonName", Shape::Text, "what its subject is called, beside these names; anything unless given"),
        may(
            "authority",
            Shape::Name,
            "alias of the authority that signs it, which somebody trusts, or `stranger`; `ca` unless given",
        ),
        may("expired", Shape::Bool, "true: its time is over"),
        may("future", Shape::Bool, "true: its time is to come"),
        may(
            "chain",
            Shape::Word(&["whole", "cut"]),
            "an authority stands between, whose certificate is shown too (whole) or not (cut); none does unless given",
        ),
        may("clients", Shape::Name, "alias of the authority without whose certificate nobody comes over TLS"),
    ],
};

static STEP: Table = Table {
    name: "Step",
    doc: "One verb, and what must come of it.",
    conditions: false,
    one_of: &["apply", "patch", "delete", "settle", "hold", "probe", "script", "requests", "made"],
    fields: &[
        may("apply", Shape::List(&Shape::Object), "objects for server-side apply, in order"),
        may(
            "asWritten",
            Shape::Bool,
            "true: the dialect's objects are written at their own apiVersion, not at the newest served",
        ),
        may("patch", Shape::Table(&PATCH), "a patch of one object"),
        may("delete", TEXTS, "objects to delete, awaited"),
        may("awaited", Shape::Bool, "false: what is deleted may still be there at the next step"),
        may("settle", SUBJECTS, "a state to be reached and kept for the quiet window"),
        may(
            "atOnce",
            Shape::Bool,
            "true: what settles need not stand still: the next step comes when it is first seen",
        ),
        may("hold", Shape::Table(&HOLD), "a watch that something stays so"),
        may("probe", Shape::Table(&PROBE), "requests until the data path agrees"),
        may("script", Shape::Table(&SCRIPT), "tells a service beside the target what to do"),
        may("requests", Shape::Table(&REQUESTS), "requests that such a service must get, or must not"),
        may("made", Shape::Table(&MADE_FOR), "what is carried by the objects that the target made for another one"),
        may("refused", Shape::Table(&REFUSAL), "the write must be refused at admission, so"),
        may("admitted", Shape::Bool, "true: the write must be admitted; a refusal of its content is a failure"),
        may("either", Shape::List(&Shape::Table(&ENDING)), "the legal ends of the write"),
        SINCE,
        UNTIL,
        CHANNEL,
        EDITIONS,
        PROVES,
    ],
};

static PATCH: Table = Table {
    name: "Patch",
    doc: "A patch of one object.",
    conditions: false,
    one_of: &["merge", "json"],
    fields: &[
        must("target", Shape::Text, "Kind/name or Kind/namespace/name"),
        may("merge", Shape::Map(&Shape::Any), "JSON merge patch, RFC 7386"),
        may("json", Shape::List(&Shape::Any), "JSON patch, RFC 6902"),
        may("subresource", Shape::Word(&["status"]), "the subresource to patch"),
        may("component", Shape::Bool, "true: what is written is the word of a component that is not under test"),
    ],
};

static REFUSAL: Table = Table {
    name: "Refusal",
    doc: "A refusal at admission.",
    conditions: false,
    one_of: &[],
    fields: &[
        may("code", Shape::Integer(400, 599), "HTTP code; 422 unless given"),
        may("reason", Shape::Text, "status reason; Invalid unless given"),
        may("field", Shape::Text, "the field that a cause must name, or begin with"),
    ],
};

static ENDING: Table = Table {
    name: "Ending",
    doc: "One legal end of a write.",
    conditions: false,
    one_of: &["refused", "settle"],
    fields: &[
        may("refused", Shape::Table(&REFUSAL), "it is refused so"),
        may("settle", SUBJECTS, "it is admitted, and this settles"),
        may(
            "sameAge",
            Shape::Bool,
            "an end only where all that settles was created in the same second, or with false only where it was not",
        ),
        may("then", Shape::List(&Shape::Table(&STEP)), "what is done after this end alone"),
        SINCE,
        UNTIL,
        CHANNEL,
    ],
};

static HOLD: Table = Table {
    name: "Hold",
    doc: "A watch over a while, asked of every version seen meanwhile.",
    conditions: false,
    one_of: &[],
    fields: &[
        may(
            "for",
            Shape::Text,
            "quiet (by the table of limits), rest (until everything else of the run is over), or a time such as 500ms or 2s",
        ),
        may("never", SUBJECTS, "no version may satisfy any of these"),
        may("always", SUBJECTS, "every version must satisfy all of these"),
        may("unchanged", TEXTS, "the status of these must not be written"),
        may("otherMessages", Shape::Bool, "true: it may be, with other messages, which may speak of what else changed"),
        may("level", Shape::Word(&["MUST", "SHOULD", "MAY"]), "how binding `unchanged` is; MUST unless given"),
    ],
};

static SCRIPT: Table = Table {
    name: "Script",
    doc: "What a scripted service does from here on, until the next script of the scenario or its end.",
    conditions: false,
    one_of: &[],
    fields: &[
        must("service", Shape::Name, "the service, one of the dialect's"),
        must("rules", Shape::List(&Shape::Any), "rules, each as the service takes them; none takes back those before"),
    ],
};

static REQUESTS: Table = Table {
    name: "Requests",
    doc: "Requests that a scripted service must get, or must not.",
    conditions: false,
    one_of: &[],
    fields: &[
        must("service", Shape::Name, "the service, one of the dialect's"),
        may("method", Shape::Text, "the method; any unless given"),
        may("path", Shape::Text, "a glob over the path, in which * stands for any characters; any unless given"),
        may("caller", Shape::Text, "who asks, as the service's log has it; anybody unless given"),
        may(
            "count",
            Shape::Either(&[Shape::Integer(0, 1_000_000), Shape::Table(&COUNT)]),
            "how many; unless given two at least where there is a `gap`, else one",
        ),
        may("gap", Shape::Table(&GAP), "the time between two that follow each other"),
        may("body", Shape::Map(&BODY), "what one of them carries, and those after it, by JSON pointer"),
        may(
            "since",
            Shape::Word(&["step", "start"]),
            "counted since the step before this one began (unless given), or since the scenario did",
        ),
        may(
            "within",
            Shape::Text,
            "how long what must stay out is watched for: quiet (as a hold, unless given), rest (until everything else of the run \
             is over), or a time such as 2s",
        ),
        LEVEL,
    ],
};

static COUNT: Table = Table {
    name: "Count",
    doc: "Bounds of a number.",
    conditions: false,
    one_of: &[],
    fields: &[
        may("atLeast", Shape::Integer(0, 1_000_000), "so many at least"),
        may("atMost", Shape::Integer(0, 1_000_000), "so many at most"),
    ],
};

static GAP: Table = Table {
    name: "Gap",
    doc: "Bounds of a time, such as 500ms or 2s.",
    conditions: false,
    one_of: &[],
    fields: &[may("atLeast", Shape::Text, "so long at least"), may("atMost", Shape::Text, "so long at most")],
};
