//! Holds.

use super::super::model::{Hold, HoldFor};
use super::build::{boolean, level, references};
use super::check::Checker;
use super::expect::subjects;
use super::names::Names;
use super::tree::Node;

/// Reads a hold.
pub(super) fn hold(node: &Node, names: &Names, checker: &mut Checker<'_>) -> Hold {
    let duration = match node.get("for") {
        None => HoldFor::Quiet,
        Some(given) => match given.text().map(duration) {
            Some(Some(duration)) => duration,
            _ => {
                let help = Some("`quiet`, or a time such as 500ms or 2s".to_owned());
                checker.report(given.mark, "not a time".to_owned(), help);
                HoldFor::Quiet
            }
        },
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

fn duration(text: &str) -> Option<HoldFor> {
    if text == "quiet" { Some(HoldFor::Quiet) } else { millis(text).map(HoldFor::Millis) }
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
    #[case("2", None)]
    #[case("-1s", None)]
    #[case("ms", None)]
    fn times_are_read(#[case] text: &str, #[case] expected: Option<HoldFor>) {
        assert_eq!(duration(text), expected);
    }
}
