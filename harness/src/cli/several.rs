//! `gateproof run --dialect A,B`: a run for each of several dialects, with reports of its own.

use std::path::Path;

use futures::{StreamExt, stream};
use indicatif::MultiProgress;

use super::dialect::DialectArg;
use super::output::Format;
use super::progress::Reporter;
use super::run::{Args, one};
use super::{Failure, Outcome, own};
use crate::exit_codes;
use crate::suite::Suite;

/// Runs all of them, and exits with what counts most of what they came to.
///
/// On embedded targets they run side by side, since each has one of its own. What they would share otherwise is one cluster, on which a
/// scenario that has to be alone would not be, so there they run one after the other.
pub(super) async fn run(args: &Args) -> Outcome {
    let runs = each(args)?;
    let at_once = if args.target.is_embedded() { runs.len() } else { 1 };
    let bars = MultiProgress::new();
    let run = |(name, args): (String, Args)| one(args, Reporter::among(&bars, &name));
    let outcomes: Vec<Outcome> = stream::iter(runs).map(run).buffered(at_once).collect().await;
    let codes = outcomes.into_iter().map(|outcome| outcome.unwrap_or_else(Failure::tell));
    Ok(gravest(codes))
}

/// What each is run with.
fn each(args: &Args) -> Result<Vec<(String, Args)>, Failure> {
    let dialects = &args.selection.dialect.dialects;
    let alone = |what: &str| {
        let problem = format!("{what} is about one dialect, and these are several: {}", dialects.join(", "));
        Err(Failure::usage(problem, "run each by itself; nothing was applied"))
    };
    let of_one = [
        ("a selection", !args.selection.selectors.is_empty() || !args.selection.profiles.is_empty()),
        ("a manifest of --file", !args.selection.files.is_empty()),
        ("a fault or variant of --target", args.target.target != "embedded"),
        ("a list of known failures", args.known_failures.is_some()),
        ("--rerun-failed", args.rerun_failed.is_some()),
        ("the document of --format json", args.format.format == Format::Json),
    ];
    if let Some((what, _)) = of_one.iter().find(|(_, is_given)| *is_given) {
        return alone(what);
    }
    let alone_of = dialects.iter().map(|dialect| DialectArg { dialects: vec![dialect.clone()], edition: None });
    let mut suites = alone_of.map(|dialect| dialect.suite()).collect::<Result<Vec<_>, _>>()?;
    let edition = |suite: &Suite| {
        let named = args.selection.dialect.edition.as_ref();
        let is_of = |suite: &Suite| named.is_some_and(|named| suite.dialect.editions().contains(named));
        // What none of them has is told by the first.
        named.filter(|_| is_of(suite) || !suites.iter().any(is_of)).cloned()
    };
    let editions: Vec<Option<String>> = suites.iter().map(edition).collect();
    let mut runs: Vec<(String, Args)> = Vec::new();
    for (index, (dialect, edition)) in dialects.iter().zip(editions).enumerate() {
        let mut of_it = args.clone();
        of_it.selection.dialect = DialectArg { dialects: vec![dialect.clone()], edition };
        // Whatever is wrong with one is said before any of them begins.
        suites[index] = of_it.selection.dialect.suite()?;
        let suite = &suites[index];
        let name = suite.dialect.name().to_owned();
        if runs.iter().any(|(other, _)| *other == name) {
            let problem = format!("--dialect names `{name}` twice");
            return Err(Failure::usage(problem, "their reports would stand in one folder; nothing was applied"));
        }
        own::keep(&mut of_it, suite, &suites);
        let choice = of_it.target.choice(suite)?;
        if choice.is_embedded() != args.target.is_embedded() {
            let problem = format!("the others are to be tested on a cluster, and nothing names one for `{name}`");
            return Err(Failure::usage(problem, "name it with --context or --kubeconfig; nothing was applied"));
        }
        own::of_tuning(&of_it.tuning, suite)?;
        own::of_identity(&of_it.identity, suite)?;
        of_it.target.services.read(suite)?;
        of_it.report_dir = Path::new(&args.report_dir).join(&name);
        runs.push((name, of_it));
    }
    Ok(runs)
}

/// The first in the order of the exit codes.
fn gravest(codes: impl Iterator<Item = u8>) -> u8 {
    let found: Vec<u8> = codes.collect();
    [exit_codes::INTERRUPTED, exit_codes::USAGE, exit_codes::FAILED, exit_codes::INCONCLUSIVE]
        .into_iter()
        .find(|code| found.contains(code))
        .unwrap_or(exit_codes::PASSED)
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case::good(&[0, 0], 0)]
    #[case::inconclusive(&[0, 3], 3)]
    #[case::failed(&[3, 1, 0], 1)]
    #[case::usage(&[1, 2], 2)]
    #[case::interrupted(&[130, 1], 130)]
    fn the_gravest_counts(#[case] codes: &[u8], #[case] exit: u8) {
        assert_eq!(gravest(codes.iter().copied()), exit);
    }
}
