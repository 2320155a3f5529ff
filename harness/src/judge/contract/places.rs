//! Which places in objects a contract names, to be held against the definitions of their kinds.

use super::data::Contract;
use super::error::{in_set, path};
use super::terms::{Kind, SortedField, Subject};
use crate::dialects::StatusList;
use crate::scenario::pointer::below;

/// A place in objects of a kind that a contract names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NamedPlace<'c> {
    /// The group of the kind.
    pub group: &'c str,
    /// The kind.
    pub kind: &'c str,
    /// The place, as JSON pointer.
    pub pointer: String,
    /// Where the contract may say so.
    pub at: Vec<Vec<String>>,
}

impl Contract {
    /// The places that it names.
    pub fn places(&self) -> Vec<NamedPlace<'_>> {
        self.kinds.iter().flat_map(Kind::places).collect()
    }
}

impl Kind {
    /// The places that it names, lists before what is in them.
    fn places(&self) -> Vec<NamedPlace<'_>> {
        let mut places = Vec::new();
        let mut add =
            |pointer: String, at| places.push(NamedPlace { group: &self.group, kind: &self.kind, pointer, at });
        let own = |rest: &[&str]| vec![path(&[&["kinds", &format!("kind={}", self.kind)], rest].concat())];
        for Subject { at, set, conditions, counts, .. } in &self.subjects {
            let item = format!("at={}", word(*at));
            add(at.pointer(), own(&["subjects", &item, "at"]));
            // Counted is in entries, and what stands for the object has none.
            for count in counts.iter().filter(|_| *at != StatusList::Object) {
                let pointer = below(&format!("{}/0", at.pointer()), count);
                add(pointer, own(&["subjects", &item, "counts", count]));
            }
            for (type_, terms) in conditions {
                for (word, field) in terms.graded.fields() {
                    add(below(&at.condition(), field), in_set(set, &[type_, "graded", word]));
                }
            }
        }
        for SortedField { at, by } in &self.sorted {
            let item = format!("at={at}");
            add(at.clone(), own(&["sorted", &item, "at"]));
            add(below(&format!("{at}/0"), by), own(&["sorted", &item, "by"]));
        }
        for typed in &self.typed {
            add(typed.at().to_owned(), own(&["typed", &format!("at={}", typed.at()), "at"]));
        }
        if let Some(pointer) = &self.handled_by {
            add(pointer.clone(), own(&["handledBy"]));
        }
        places
    }
}

/// As a contract calls it.
pub(super) fn word(at: StatusList) -> &'static str {
    match at {
        StatusList::Object => "object",
        StatusList::Listeners | StatusList::Parents | StatusList::Ancestors => at.field(),
    }
}
