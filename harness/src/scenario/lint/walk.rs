//! What steps expect of which subjects, wherever they do.

use super::super::parse::tree::{Key, Node};

/// Calls with each subject that one of the steps expects something of, and whether that is what must not be.
pub(super) fn subjects<'n>(steps: Option<&'n Node>, visit: &mut dyn FnMut(&'n Key, &'n Node, bool)) {
    for step in steps.map(Node::list).unwrap_or_default() {
        let held = |part: &str| step.get("hold").and_then(|hold| hold.get(part));
        for (subjects, is_never) in [(step.get("settle"), false), (held("always"), false), (held("never"), true)] {
            each(subjects, is_never, visit);
        }
        for end in step.get("either").map(Node::list).unwrap_or_default() {
            subjects(end.get("then"), visit);
            each(end.get("settle"), false, visit);
        }
    }
}

fn each<'n>(subjects: Option<&'n Node>, is_never: bool, visit: &mut dyn FnMut(&'n Key, &'n Node, bool)) {
    for (key, subject) in subjects.map(Node::entries).unwrap_or_default() {
        visit(key, subject, is_never);
    }
}

/// The kind of a reference such as `HTTPRoute/route`; none if it stands for something that is known later.
pub(super) fn kind(reference: &str) -> Option<&str> {
    reference.split_once('/').map(|(kind, _)| kind).filter(|kind| !kind.contains('$'))
}
