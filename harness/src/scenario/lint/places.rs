//! Places within objects that steps name by pointer or patch: a misspelt one is looked at in vain, or dropped without a word.

use std::sync::Arc;

use super::super::diagnostic::{Diagnostic, Report, Source};
use super::super::parse::tree::{Document, Mark, Node};
use super::{ObjectSchemas, locate, near};

/// What steps expect, keep or patch at places that no schema of the kind has.
pub(super) fn problems(document: &Document, source: &Arc<Source>, schemas: &dyn ObjectSchemas) -> Vec<Diagnostic> {
    let mut found = Vec::new();
    let steps = document.root.get("spec").and_then(|spec| spec.get("steps"));
    in_steps(steps, &mut |kind, what| match what {
        Named::Pointer(mark, pointer) => {
            if let Some(missing) = schemas.missing_at(kind, pointer) {
                found.push(source.problem(mark, format!("{kind} has nothing at `{missing}`"), None));
            }
        }
        Named::Merge(patch) => {
            for (path, known) in schemas.unknown_in_patch(kind, &patch.value()) {
                let message = format!("{kind} has no field `{path}`");
                found.push(source.problem(locate(patch, &path), message, near(&path, &known)));
            }
        }
    });
    found
}

/// How a step names a place.
enum Named<'n> {
    /// By JSON pointer.
    Pointer(Mark, &'n str),
    /// By a merge patch.
    Merge(&'n Node),
}

fn in_steps<'n>(steps: Option<&'n Node>, take: &mut dyn FnMut(&str, Named<'n>)) {
    for step in steps.map(Node::list).unwrap_or_default() {
        // A refusal may be what is wanted.
        let may_be_refused = step.get("refused").is_some() || step.get("either").is_some();
        if let Some(patch) = step.get("patch").filter(|_| !may_be_refused) {
            in_patch(patch, take);
        }
        let held = ["never", "always"].map(|part| step.get("hold").and_then(|hold| hold.get(part)));
        for subjects in [step.get("settle")].into_iter().chain(held).flatten() {
            in_subjects(subjects, take);
        }
        for end in step.get("either").map(Node::list).unwrap_or_default() {
            in_steps(end.get("then"), take);
            if let Some(subjects) = end.get("settle") {
                in_subjects(subjects, take);
            }
        }
    }
}

fn in_patch<'n>(patch: &'n Node, take: &mut dyn FnMut(&str, Named<'n>)) {
    let Some(kind) = patch.get("target").and_then(Node::text).and_then(kind) else { return };
    if let Some(merge) = patch.get("merge") {
        take(kind, Named::Merge(merge));
    }
    // What adds says by itself that nothing is there.
    let changes = patch.get("json").map(Node::list).unwrap_or_default().iter();
    let changes = changes.filter(|change| change.get("op").and_then(Node::text) != Some("add"));
    for path in changes.filter_map(|change| change.get("path")) {
        if let Some(pointer) = path.text() {
            take(kind, Named::Pointer(path.mark, pointer));
        }
    }
}

fn in_subjects<'n>(subjects: &'n Node, take: &mut dyn FnMut(&str, Named<'n>)) {
    for (key, subject) in subjects.entries() {
        let Some(kind) = kind(&key.name) else { continue };
        for at in subject.get("fields").map(Node::list).unwrap_or_default().iter().filter_map(|field| field.get("at")) {
            if let Some(pointer) = at.text() {
                take(kind, Named::Pointer(at.mark, pointer));
            }
        }
    }
}

/// The kind of a reference such as `HTTPRoute/route`; none if it stands for something that is known later.
fn kind(reference: &str) -> Option<&str> {
    reference.split_once('/').map(|(kind, _)| kind).filter(|kind| !kind.contains('$'))
}
