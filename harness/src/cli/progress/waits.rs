//! What is waited for, as a person sees it: the longest waits under the bar, and a line for each long one where there is no bar.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use gateproof_report::terminal::printable;
use gateproof_report::words::counted;

use crate::run::Wait;

/// How many waits are shown at once.
const SHOWN: usize = 3;
/// From when on a wait is worth a line under a bar.
const SOON: Duration = Duration::from_secs(2);
/// From when on it is worth one that stays, as in the log of a CI.
const LONG: Duration = Duration::from_secs(15);

/// The lines under a bar, each with the end of the one before, no wider than this.
pub(super) fn under(waits: &[Wait], width: usize) -> String {
    let long = waits.iter().filter(|wait| wait.lasts >= SOON);
    long.take(SHOWN).map(|wait| format!("\n{}", cut(&format!("  {}", in_words(wait)), width))).collect()
}

/// `23 s: httproute-simple, steps[2]: HTTPRoute/route to be as asked`
fn in_words(wait: &Wait) -> String {
    format!("{:>3} s: {}, {}", wait.lasts.as_secs(), printable(&wait.name), printable(&wait.what))
}

fn cut(line: &str, width: usize) -> String {
    match line.char_indices().nth(width) {
        Some(_) => line.chars().take(width.saturating_sub(1)).chain(['…']).collect(),
        None => line.to_owned(),
    }
}

/// The long waits that were told.
#[derive(Debug, Default)]
pub(super) struct Told(HashSet<(Arc<str>, String)>);

impl Told {
    /// What is to be said now: each long wait once, and of many at once the longest and how many there are.
    pub(super) fn news(&mut self, waits: &[Wait]) -> Vec<String> {
        let long: Vec<&Wait> = waits.iter().filter(|wait| wait.lasts >= LONG).collect();
        let key = |wait: &Wait| (Arc::clone(&wait.name), wait.what.clone());
        let now: HashSet<_> = long.iter().map(|wait| key(wait)).collect();
        // What is over may come again.
        self.0.retain(|told| now.contains(told));
        let new: Vec<&Wait> = long.into_iter().filter(|wait| self.0.insert(key(wait))).collect();
        let mut lines: Vec<String> =
            new.iter().take(SHOWN).map(|wait| format!("waiting {}", in_words(wait).trim_start())).collect();
        if new.len() > SHOWN {
            lines.push(format!("waiting in {} more", counted(new.len() - SHOWN, "scenario", "scenarios")));
        }
        lines
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn waits(of: &[(&str, &str, u64)]) -> Vec<Wait> {
        let wait = |(name, what, seconds): &(&str, &str, u64)| Wait {
            name: Arc::from(*name),
            what: (*what).to_owned(),
            lasts: Duration::from_millis(seconds * 1000 + 400),
        };
        of.iter().map(wait).collect()
    }

    #[test]
    fn the_longest_stand_under_the_bar() {
        let all = waits(&[
            ("httproute-missing-backend", "steps[4]: HTTPRoute/route to be as asked", 123),
            ("gateway-\u{1b}[2J", "its namespaces and backends", 23),
            ("tcproute-simple", "steps[2]: a stream to be answered as asked", 2),
            ("udproute-simple", "steps[2]: datagrams to be answered as asked", 2),
        ]);
        insta::assert_snapshot!(under(&all, 60), @r"

          123 s: httproute-missing-backend, steps[4]: HTTPRoute/rou…
           23 s: gateway-\u{1b}[2J, its namespaces and backends
            2 s: tcproute-simple, steps[2]: a stream to be answered…
        ");
        assert_eq!(under(&waits(&[("a", "steps[0]: b", 1)]), 60), "");
    }

    #[test]
    fn a_long_wait_is_told_once() {
        let mut told = Told::default();
        assert_eq!(told.news(&waits(&[("a", "steps[0]: b", 14)])), [""; 0]);
        let long = [("a", "steps[0]: b", 15)];
        assert_eq!(told.news(&waits(&long)), ["waiting 15 s: a, steps[0]: b"]);
        assert_eq!(told.news(&waits(&[("a", "steps[0]: b", 16)])), [""; 0]);
        // At another step it is another wait, and so it is in a run that comes back to it.
        assert_eq!(told.news(&waits(&[("a", "steps[1]: b", 20)])), ["waiting 20 s: a, steps[1]: b"]);
        assert_eq!(told.news(&waits(&long)), ["waiting 15 s: a, steps[0]: b"]);
    }

    #[test]
    fn many_at_once_are_few_lines() {
        let names: Vec<String> = (0..40).map(|number| format!("s{number:02}")).collect();
        let all: Vec<_> = names.iter().map(|name| (name.as_str(), "steps[1]: x", 30)).collect();
        insta::assert_snapshot!(Told::default().news(&waits(&all)).join("\n"), @r"
        waiting 30 s: s00, steps[1]: x
        waiting 30 s: s01, steps[1]: x
        waiting 30 s: s02, steps[1]: x
        waiting in 37 scenarios more
        ");
    }
}
