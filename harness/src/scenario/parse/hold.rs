//! Holds.

use super::super::model::{Hold, HoldFor, ObjectRef, Step, Verb};
use super::check::Checker;
use super::expect::subjects;
use super::names::Names;
use super::read::{boolean, level};
use super::tree::Node;

/// Reads a hold.
pub(super) fn hold(node: &Node, names: &Names, checker: &mut Checker<'_>) -> Hold {
    let duration = match node.get("for") {
        None => HoldFor::Quiet,
        Some(given) => duration(given, checker),
    };
    let mut of = |name| node.get(name).map(|n| subjects(n, names, checker)).unwrap_or_default();
    let (never, always) = (of("never"), of("always"));
    let unchanged = node.get("unchanged").map(|n| references(n, names, checker)).unwrap_or_default();
    if never.is_empty() && always.is_empty() && unchanged.is_empty() {
        checker.report(node.mark, "the hold watches nothing".to_owned(), None);
    }
    let other_messages = boolean(node, "otherMessages").unwrap_or_default();
    for name in ["otherMessages", "level"] {
        if let (true, Some((key, _))) = (unchanged.is_empty(), node.entries().iter().find(|(key, _)| key.name == name))
        {
            let help = Some("it is about what is `unchanged`".to_owned());
            checker.report(key.mark, format!("`{name}` without `unchanged`"), help);
        }
    }
    let unchanged_level = level(node, "level").unwrap_or_default();
    Hold { duration, never, always, unchanged, other_messages, unchanged_level }
}

/// The objects that a list of references names.
fn references(list: &Node, names: &Names, checker: &mut Checker<'_>) -> Vec<ObjectRef> {
    list.list().iter().filter_map(|item| names.reference(item.text()?, item.mark, checker)).collect()
}

/// Reads how long something is watched; what is none is reported, and counts for `quiet`.
pub(super) fn duration(node: &Node, checker: &mut Checker<'_>) -> HoldFor {
    node.text().and_then(hold_for).unwrap_or_else(|| {
        let help = Some("`quiet`, `rest`, or a time such as 500ms or 2s".to_owned());
        checker.report(node.mark, "not a time".to_owned(), help);
        HoldFor::Quiet
    })
}

fn hold_for(text: &str) -> Option<HoldFor> {
    match text {
        "quiet" => Some(HoldFor::Quiet),
        "rest" => Some(HoldFor::Rest),
        time => millis(time).map(HoldFor::Millis),
    }
}

/// Reports a step that comes after one that lasts as long as the rest of the run: only what watches as well may, since nobody else
/// is meant to be at work by then, and nobody waits for a scenario that has more to do.
pub(super) fn comes_before_the_rest(step: &Step, before: &[Step], node: &Node, checker: &mut Checker<'_>) {
    let watches = matches!(step.verb, Verb::Hold(_) | Verb::Requests(_));
    if let Some(rests) = before.iter().find(|step| step.verb.rests()).filter(|_| !watches) {
        let help = "let it be the last but for holds and requests, or watch it for `quiet` or a time";
        let message =
            format!("steps[{}] lasts until the rest of the run is over, and this comes after it", rests.index);
        checker.report(node.mark, message, Some(help.to_owned()));
    }
}

/// Milliseconds of a time such as `500ms` or `2s`.
pub(super) fn millis(text: &str) -> Option<u64> {
    let (number, factor) = match (text.strip_suffix("ms"), text.strip_suffix('s')) {
        (Some(number), _) => (number, 1),
        (None, Some(number)) => (number, 1000),
        (None, None) => return None,
    };
    number.parse::<u64>().ok().and_then(|n| n.checked_mul(factor))
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case("quiet", Some(HoldFor::Quiet))]
    #[case("500ms", Some(HoldFor::Millis(500)))]
    #[case("2s", Some(HoldFor::Millis(2000)))]
    #[case("rest", Some(HoldFor::Rest))]
    #[case("Rest", None)]
    #[case("2", None)]
    #[case("-1s", None)]
    #[case("ms", None)]
    fn times_are_read(#[case] text: &str, #[case] expected: Option<HoldFor>) {
        assert_eq!(hold_for(text), expected);
    }
}
