//! What a step may hold that asks after the objects which a target makes.

use super::subject::MIRROR;
use super::{LEVEL, Shape, TEXTS, Table, may, must};

pub(super) static MADE_FOR: Table = Table {
    name: "MadeFor",
    doc: "What the objects carry that a target made for another one, in its namespace.",
    conditions: false,
    one_of: &[],
    fields: &[
        must(
            "for",
            Shape::Text,
            "the object that they were made for: Kind/name, Kind/namespace/name or an alias of an entry of the pool",
        ),
        may("kinds", TEXTS, "the kinds that are looked at, of those that the dialect names; all of them unless given"),
        may("labels", Shape::Map(&MIRROR), "labels that each of them carries, or lacks, by key"),
        may("annotations", Shape::Map(&MIRROR), "annotations that each of them carries, or lacks, by key"),
        may("someOfEach", Shape::Bool, "true: of each kind that there is, one object that carries it is enough"),
        LEVEL,
    ],
};
