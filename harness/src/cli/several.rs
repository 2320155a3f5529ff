//! `gateproof run --dialect A,B`: a run for each of several dialects, with reports of its own.

use std::path::Path;

use futures::{StreamExt, stream};
use indicatif::MultiProgress;

use super::dialect::DialectArg;
use super::output::Format;
use super::progress::Reporter;
use super::run::{Args, one};
use super::{Failure, Outcome};
use crate::exit_codes;

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
    let mut runs: Vec<(String, Args)> = Vec::new();
    for dialect in dialects {
        let mut own = args.clone();
        own.selection.dialect =
            DialectArg { dialects: vec![dialect.clone()], edition: args.selection.dialect.edition.clone() };
        // Whatever is wrong with one is said before any of them begins.
        let name = own.selection.dialect.suite()?.dialect.name().to_owned();
        if runs.iter().any(|(other, _)| *other == name) {
            let problem = format!("--dialect names `{name}` twice");
            return Err(Failure::usage(problem, "their reports would stand in one folder; nothing was applied"));
        }
        own.report_dir = Path::new(&args.report_dir).join(&name);
        runs.push((name, own));
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
