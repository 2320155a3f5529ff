//! What a manifest may hold, as one table. The parser checks against it and the JSON Schema is made from it.

use super::super::grpc::NAMES;

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
const SINCE: Field = may("since", Shape::Version, "first Gateway API release for which this has a meaning");
const UNTIL: Field = may("until", Shape::Version, "first Gateway API release for which it no longer has one");
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
        SINCE,
        UNTIL,
        CHANNEL,
        EDITIONS,
        may("isolation", Shape::Word(&["shared", "lane", "cluster"]), "what the scenario must not share with others"),
        may("gateways", Shape::Map(&Shape::Pool), "pool Gateways by alias"),
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
    doc: "An object that the target makes in a namespace of the scenario. Until it is there, and once it is gone, it has no fields.",
    conditions: false,
    one_of: &[],
    fields: &[
        must("apiVersion", Shape::Text, "such as apps/v1"),
        must("kind", Shape::Text, "such as Deployment"),
        must("name", Shape::Text, "its name, without placeholders"),
        may("namespace", Shape::Text, "alias of its namespace; the scenario's own without it"),
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
            Shape::Word(&["http", "h2c", "tcp"]),
            "what it speaks; http unless given. h2c: HTTP/2 with prior knowledge, and gRPC",
        ),
        may("service", Shape::Name, "the backend whose Service it is a further endpoint of"),
        may("ready", Shape::Bool, "false: the Service has no ready endpoint, or not this one"),
        may("headless", Shape::Bool, "true: the Service has no cluster IP"),
        may("greets", Shape::Bool, "true: over TCP it sends its line at once, and does not wait for one"),
    ],
};

static STEP: Table = Table {
    name: "Step",
    doc: "One verb, and what must come of it.",
    conditions: false,
    one_of: &["apply", "patch", "delete", "settle", "hold", "probe", "script", "requests"],
    fields: &[
        may("apply", Shape::List(&Shape::Object), "objects for server-side apply, in order"),
        may(
            "asWritten",
            Shape::Bool,
            "true: objects of Gateway API are written at their own apiVersion, not at the newest served",
        ),
        may("patch", Shape::Table(&PATCH), "a patch of one object"),
        may("delete", TEXTS, "objects to delete, awaited"),
        may("awaited", Shape::Bool, "false: what is deleted may still be there at the next step"),
        may("settle", SUBJECTS, "a state to be reached and kept for the quiet window"),
        may("hold", Shape::Table(&HOLD), "a watch that something stays so"),
        may("probe", Shape::Table(&PROBE), "requests until the data path agrees"),
        may("script", Shape::Table(&SCRIPT), "tells a service beside the target what to do"),
        may("requests", Shape::Table(&REQUESTS), "requests that such a service must get, or must not"),
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
        may("then", Shape::List(&Shape::Table(&STEP)), "what is done after this end alone"),
        SINCE,
        UNTIL,
        CHANNEL,
    ],
};

static SUBJECT: Table = Table {
    name: "Subject",
    doc: "What is expected of one object's status. On a route, conditions are those of every parent entry.",
    conditions: true,
    one_of: &[],
    fields: &[
        may(
            "parents",
            Shape::Either(&[Shape::Word(&["none"]), Shape::List(&Shape::Table(&PARENT))]),
            "which parent entries of our controller there are",
        ),
        may(
            "mirrors",
            Shape::Map(&MIRROR),
            "fields of its status by name, or by JSON pointer below the status; `current` is the object's generation",
        ),
        may("listeners", Shape::Map(&Shape::Table(&LISTENER)), "listener entries by name"),
        may("fields", Shape::List(&Shape::Table(&FIELD)), "further fields"),
    ],
};

static PARENT: Table = Table {
    name: "Parent",
    doc: "One parent entry of a route.",
    conditions: true,
    one_of: &[],
    fields: &[
        must(
            "ref",
            Shape::Either(&[Shape::Text, Shape::Map(&Shape::Any)]),
            "a Gateway such as ${gw} or Gateway/own, or a whole parentRef",
        ),
        may("section", Shape::Text, "its sectionName"),
        may("port", Shape::Either(&[Shape::Integer(1, 65535), Shape::Text]), "its port"),
        may("controller", Shape::Text, "whose entry it is; our controller's unless given"),
        may("absent", Shape::Bool, "true: there must be no such entry"),
    ],
};

static LISTENER: Table = Table {
    name: "Listener",
    doc: "One listener entry of a Gateway.",
    conditions: true,
    one_of: &[],
    fields: &[
        may("attachedRoutes", Shape::Integer(0, 1_000_000), "exact number of attached routes"),
        may("supportedKinds", TEXTS, "exact set of supported kinds, Kind or group/Kind"),
    ],
};

static FIELD: Table = Table {
    name: "Field",
    doc: "A test of one field, by JSON pointer.",
    conditions: false,
    one_of: &["equals", "oneOf", "absent", "notEmpty", "empty", "sortedBy", "contains"],
    fields: &[
        must("at", Shape::Text, "JSON pointer such as /status/addresses"),
        may("equals", Shape::Any, "is this value"),
        may("oneOf", Shape::List(&Shape::Any), "is one of these values"),
        may("absent", Shape::Bool, "true: is not there at all"),
        may("notEmpty", Shape::Bool, "is there and not empty"),
        may("empty", Shape::Bool, "is not there, or empty"),
        may("sortedBy", Shape::Text, "is a list in ascending order of this field"),
        may("contains", Shape::Any, "is a list that holds this value"),
        LEVEL,
    ],
};

/// The long form of a condition.
pub(in crate::scenario) static CONDITION: Table = Table {
    name: "Condition",
    doc: "What is expected of one condition; observedGeneration must always be current.",
    conditions: false,
    one_of: &[],
    fields: &[
        may("status", TEXT_OR_TEXTS, "True, False or Unknown; several are alternatives"),
        may("reason", TEXT_OR_TEXTS, "several are alternatives"),
        may("message", Shape::Table(&MESSAGE), "what the message must say"),
        may("fields", Shape::Map(&MIRROR), "further fields of the condition, by name"),
        may(
            "below",
            Shape::Map(&Shape::Either(&[Shape::List(&Shape::SubCondition), Shape::Table(&BELOW)])),
            "lists of sub-conditions in the condition, by name of the field: these and no others, in any order",
        ),
        may("present", Shape::Bool, "false: must not be there"),
        may("absent", Shape::Bool, "true: must not be there"),
        may("optional", Shape::Bool, "true: may be absent, but if there it must be so"),
        LEVEL,
        may("reasonLevel", Shape::Word(&["MUST", "SHOULD", "MAY"]), "how binding the reason is, if weaker"),
        SINCE,
        UNTIL,
        CHANNEL,
        PROVES,
    ],
};

/// A value that a field must have, or a test of it. Nothing means that it must not be there.
const MIRROR: Shape = Shape::Either(&[Shape::Scalar, Shape::Table(&VALUE)]);

static VALUE: Table = Table {
    name: "Value",
    doc: "A test of a field's value.",
    conditions: false,
    one_of: &["equals", "oneOf", "absent", "notEmpty", "empty"],
    fields: &[
        may("equals", Shape::Any, "is this value"),
        may("oneOf", Shape::List(&Shape::Any), "is one of these values"),
        may("absent", Shape::Bool, "true: is not there at all"),
        may("notEmpty", Shape::Bool, "true: is there and not empty"),
        may("empty", Shape::Bool, "true: is not there, or empty"),
    ],
};

static BELOW: Table = Table {
    name: "Below",
    doc: "What stands in a list of sub-conditions, beside others.",
    conditions: false,
    one_of: &["atLeast"],
    fields: &[may(
        "atLeast",
        Shape::List(&Shape::SubCondition),
        "these, each as often as it is named, and perhaps others",
    )],
};

static MESSAGE: Table = Table {
    name: "Message",
    doc: "What a message must say.",
    conditions: false,
    one_of: &[],
    fields: &[
        may("mentions", TEXT_OR_TEXTS, "texts that it must contain"),
        may("starts", TEXT_OR_TEXTS, "what it must start with; several are alternatives"),
        may("level", Shape::Word(&["MUST", "SHOULD", "MAY"]), "how binding; SHOULD unless given"),
    ],
};

static HOLD: Table = Table {
    name: "Hold",
    doc: "A watch over a while, asked of every version seen meanwhile.",
    conditions: false,
    one_of: &[],
    fields: &[
        may("for", Shape::Text, "quiet (by the table of limits), or a time such as 500ms or 2s"),
        may("never", SUBJECTS, "no version may satisfy any of these"),
        may("always", SUBJECTS, "every version must satisfy all of these"),
        may("unchanged", TEXTS, "the status of these must not be written"),
        may("otherMessages", Shape::Bool, "true: it may be, with other messages, which may speak of what else changed"),
        may("level", Shape::Word(&["MUST", "SHOULD", "MAY"]), "how binding `unchanged` is; MUST unless given"),
    ],
};

static PROBE: Table = Table {
    name: "Probe",
    doc: "A request and the answer that it must get.",
    conditions: false,
    one_of: &["get", "head", "post", "put", "patch", "delete", "options", "grpc", "websocket", "tcp"],
    fields: &[
        may("get", Shape::Text, "URL of a GET"),
        may("head", Shape::Text, "URL of a HEAD"),
        may("post", Shape::Text, "URL of a POST"),
        may("put", Shape::Text, "URL of a PUT"),
        may("patch", Shape::Text, "URL of a PATCH"),
        may("delete", Shape::Text, "URL of a DELETE"),
        may("options", Shape::Text, "URL of an OPTIONS"),
        may("grpc", Shape::Text, "URL of a call of gRPC: http://HOST/PACKAGE.SERVICE/METHOD"),
        may("websocket", Shape::Text, "URL (of HTTP) of a WebSocket"),
        may("tcp", Shape::Text, "the Gateway to connect to over TCP"),
        may("send", Shape::Text, "what is sent over TCP"),
        may("listens", Shape::Bool, "true: nothing is sent over TCP, for the backend speaks first"),
        may("via", Shape::Text, "the Gateway: alias or Gateway/name; the only one unless given"),
        may("listener", Shape::Text, "the listener; the first that fits the protocol unless given"),
        may("method", Shape::Text, "the method as it is sent, if it is not the key in upper case"),
        may(
            "headers",
            Shape::Map(&TEXT_OR_TEXTS),
            "request headers, or metadata of a call; several values are several lines",
        ),
        may("http2", Shape::Bool, "true: over HTTP/2, with prior knowledge or by ALPN; calls always are"),
        may("body", Shape::Text, "request body"),
        may("sends", TEXTS, "texts of the messages of a call, in this order; one empty message unless given"),
        may(
            "among",
            TEXTS,
            "paths on the same host: for each a GET, or a call, is sent before it over the same HTTP/2 connection, and not waited for",
        ),
        must(
            "expect",
            Shape::Either(&[Shape::Word(&["refused", "noAnswer", "cutOff"]), Shape::Table(&ANSWER)]),
            "the answer",
        ),
        may("over", Shape::Name, "name of a connection that is kept open from probe to probe"),
        may("contrast", Shape::Bool, "false: no control request around a 4xx or 5xx expectation"),
        may("unprogrammed", Shape::Bool, "true: the Gateway's Programmed=True is not waited for before it"),
        LEVEL,
    ],
};

static SCRIPT: Table = Table {
    name: "Script",
    doc: "What a scripted service does from here on, until the next script of the scenario or its end.",
    conditions: false,
    one_of: &[],
    fields: &[
        must("service", Shape::Name, "the service, one of the dialect's"),
        must("rules", Shape::List(&Shape::Any), "rules that it alone understands; none takes back those before"),
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
            "how many; two at least where there is only a `gap`",
        ),
        may("gap", Shape::Table(&GAP), "the time between two that follow each other"),
        may(
            "since",
            Shape::Word(&["step", "start"]),
            "counted since the step before this one began (unless given), or since the scenario did",
        ),
        may(
            "within",
            Shape::Text,
            "how long what must stay out is watched for: quiet (as a hold, unless given), or a time such as 2s",
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

static ANSWER: Table = Table {
    name: "Answer",
    doc: "What must come back.",
    conditions: false,
    one_of: &[],
    fields: &[
        may("backend", Shape::Name, "the backend that answers"),
        may("status", Shape::Either(&[STATUS, Shape::List(&STATUS)]), "legal status codes; 200 unless given"),
        may("code", Shape::Either(&[CODE, Shape::List(&CODE)]), "legal codes of a call; OK unless given"),
        may("prefer", Shape::Either(&[STATUS, Shape::List(&STATUS)]), "those that a SHOULD prefers"),
        may("headers", Shape::Map(&HEADER), "response headers"),
        may("trailers", Shape::Map(&HEADER), "response trailers"),
        may("messages", Shape::Integer(0, 10_000), "how many messages a call is answered with"),
        may("seen", Shape::Table(&SEEN), "what the backend saw"),
        may("certificate", Shape::Text, "a DNS name of the certificate that is presented, as it stands there"),
        may("mirrored", Shape::List(&Shape::Name), "backends that got a copy of the very request"),
        may(
            "replies",
            Shape::List(&Shape::Word(&["text", "binary", "fragments", "large", "ping", "close"])),
            "messages over the WebSocket, in this order, each of which must get its right answer",
        ),
        may("noted", Shape::Map(&Shape::Table(&NOTED)), "what backends noted of the very request, by backend"),
        may(
            "shares",
            Shape::Map(&Shape::Integer(0, 1_000_000)),
            "weights by backend (`a|b` for what several have together), status code or code of a call",
        ),
        may(
            "copies",
            Shape::Map(&Shape::Integer(0, 100)),
            "how many of a hundred requests a mirror gets a copy of, by backend; one",
        ),
        may("margin", Shape::Number, "percentage points below which a deviation is not looked for; 10 unless given"),
    ],
};

/// A header test: a value, `absent` or `present`, or a mapping for values that are such words.
const HEADER: Shape = Shape::Either(&[Shape::Text, Shape::Table(&HEADER_VALUE)]);

static HEADER_VALUE: Table = Table {
    name: "HeaderValue",
    doc: "A test of a header's value.",
    conditions: false,
    one_of: &["equals", "oneOf", "members", "without", "lines"],
    fields: &[
        may("equals", Shape::Text, "the value, for those that would read as a test otherwise"),
        may("oneOf", TEXTS, "legal values"),
        may("members", TEXTS, "the members of the list that it is, in any order and case"),
        may("without", Shape::Text, "a member that the list does not have, nor `*`; it may be absent"),
        may("lines", TEXTS, "its lines, in this order"),
    ],
};

static NOTED: Table = Table {
    name: "Noted",
    doc: "What a backend noted of each request of the probe.",
    conditions: false,
    one_of: &[],
    fields: &[
        may(
            "times",
            Shape::Either(&[Shape::Integer(0, 1000), Shape::Table(&COUNT)]),
            "how often the request reached it",
        ),
        may("apart", Shape::Text, "the time, such as 200ms, that lies between two of these at least"),
        may("method", Shape::Text, "the method, each time"),
        may("path", Shape::Text, "raw path with query, each time"),
        may("body", Shape::Text, "the body, each time"),
        may("headers", Shape::Map(&HEADER), "request headers, each time"),
    ],
};

static SEEN: Table = Table {
    name: "Seen",
    doc: "What the backend saw of the request.",
    conditions: false,
    one_of: &[],
    fields: &[
        may("path", Shape::Text, "raw path with query"),
        may("host", Shape::Text, "Host header"),
        may("proto", Shape::Word(&["HTTP/1.1", "HTTP/2.0"]), "the protocol that it is spoken to in"),
        may("messages", TEXTS, "texts of the messages of a call, in this order"),
        may("headers", Shape::Map(&HEADER), "request headers"),
    ],
};
