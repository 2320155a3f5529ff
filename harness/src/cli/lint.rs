//! `gateproof lint`: scenario manifests, without running them.

use std::collections::BTreeSet;
use std::path::PathBuf;

use super::dialect::DialectArg;
use super::options::{check, load_failure, texts};
use super::output::{self, Format, say, tell};
use super::{Failure, Outcome};
use crate::exit_codes;
use crate::scenario::Diagnostic;

/// Check scenario manifests
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  gateproof lint my-scenarios/")]
pub(crate) struct Args {
    /// Files or folders; those of the dialect unless given
    paths: Vec<PathBuf>,
    #[command(flatten)]
    dialect: DialectArg,
    /// How to print it
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
}

/// Runs the verb.
pub(crate) fn run(args: &Args) -> Outcome {
    let suites = args.dialect.suites()?;
    let given = if args.paths.is_empty() { None } else { Some(texts(&args.paths)?) };
    let (mut names, mut problems) = (BTreeSet::new(), Vec::new());
    for suite in &suites {
        let built_in = given.is_none().then(|| suite.manifests().map_err(load_failure)).transpose()?;
        let (scenarios, found) = check(given.as_ref().or(built_in.as_ref()).map_or(&[], Vec::as_slice), suite)?;
        names.extend(scenarios.into_iter().map(|scenario| scenario.name));
        // What is wrong in every edition is wrong once.
        let is_new = |found: &Diagnostic| problems.iter().all(|known: &Diagnostic| !known.is_same(found));
        let found: Vec<Diagnostic> = found.into_iter().filter(is_new).collect();
        problems.extend(found);
    }
    print(&problems, names.len(), args.format)?;
    Ok(if problems.is_empty() { exit_codes::PASSED } else { exit_codes::USAGE })
}

fn print(problems: &[Diagnostic], scenarios: usize, format: Format) -> Result<(), Failure> {
    if format == Format::Json {
        return output::json(problems);
    }
    for problem in problems {
        tell!("{:?}", miette::Report::new(problem.clone()));
    }
    if problems.is_empty() {
        say!("{scenarios} scenarios, no problems");
    } else {
        say!("{} problems", problems.len());
    }
    Ok(())
}
