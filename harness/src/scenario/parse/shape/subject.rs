//! What may be expected of an object.

use super::{CHANNEL, EDITIONS, Field, LEVEL, PROVES, SINCE, Shape, TEXT_OR_TEXTS, TEXTS, Table, UNTIL, may, must};

pub(super) static SUBJECT: Table = Table {
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
            "an entry such as ${gw} or Kind/own, or a whole parentRef",
        ),
        may("section", Shape::Text, "its sectionName"),
        may("port", Shape::Either(&[Shape::Integer(1, 65535), Shape::Text]), "its port"),
        may("controller", Shape::Text, "whose entry it is; our controller's unless given"),
        may("absent", Shape::Bool, "true: there must be no such entry"),
    ],
};

static LISTENER: Table = Table {
    name: "Listener",
    doc: "One listener of the status of an object.",
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
    one_of: &["equals", "oneOf", "absent", "notEmpty", "empty", "sortedBy", "contains", "sameAs", "mentions"],
    fields: &[
        must("at", Shape::Text, "JSON pointer such as /status/addresses"),
        may("equals", Shape::Any, "is this value"),
        may("oneOf", Shape::List(&Shape::Any), "is one of these values"),
        may("absent", Shape::Bool, "true: is not there at all"),
        may("notEmpty", Shape::Bool, "is there and not empty"),
        may("empty", Shape::Bool, "is not there, or empty"),
        may("sortedBy", Shape::Text, "is a list in ascending order of this field"),
        may("contains", Shape::Any, "is a list that holds this value"),
        may("sameAs", Shape::Text, "is what stands at this JSON pointer of the same object, where something does"),
        may("mentions", Shape::Text, "is a text that has this one in it, in whatever case"),
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
        may("otherThan", TEXT_OR_TEXTS, "any reason but these"),
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
        EDITIONS,
        PROVES,
    ],
};

/// A value that a field must have, or a test of it. Nothing means that it must not be there.
pub(super) const MIRROR: Shape = Shape::Either(&[Shape::Scalar, Shape::Table(&VALUE)]);

static VALUE: Table = Table {
    name: "Value",
    doc: "A test of a field's value.",
    conditions: false,
    one_of: &["equals", "oneOf", "absent", "notEmpty", "empty"],
    fields: &[EQUALS, ONE_OF, IS_ABSENT, NOT_EMPTY, EMPTY],
};

const EQUALS: Field = may("equals", Shape::Any, "is this value");
const ONE_OF: Field = may("oneOf", Shape::List(&Shape::Any), "is one of these values");
const IS_ABSENT: Field = may("absent", Shape::Bool, "true: is not there at all");
const NOT_EMPTY: Field = may("notEmpty", Shape::Bool, "true: is there and not empty");
const EMPTY: Field = may("empty", Shape::Bool, "true: is not there, or empty");

/// As of fields, and values that nobody is to read.
pub(super) const BODY: Shape = Shape::Either(&[Shape::Scalar, Shape::Table(&SENT)]);

static SENT: Table = Table {
    name: "Sent",
    doc: "A test of a value in the body of a request.",
    conditions: false,
    one_of: &["equals", "oneOf", "absent", "notEmpty", "empty", "secret"],
    fields: &[
        EQUALS,
        ONE_OF,
        IS_ABSENT,
        NOT_EMPTY,
        EMPTY,
        may(
            "secret",
            Shape::Text,
            "is this text, of which no more than the digest is asked for, written down or shown",
        ),
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
        may("lacks", TEXT_OR_TEXTS, "texts that it must not contain, beside `mentions` or `starts`"),
        may("starts", TEXT_OR_TEXTS, "what it must start with; several are alternatives"),
        may("level", Shape::Word(&["MUST", "SHOULD", "MAY"]), "how binding; SHOULD unless given"),
    ],
};
