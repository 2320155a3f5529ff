//! `gateproof lint`: scenario manifests, without running them.

use std::collections::BTreeSet;
use std::path::PathBuf;

use gateproof_report::words::counted;

use super::dialect::DialectArg;
use super::each::{self, Documents};
use super::options::{check, load_failure, texts};
use super::output::{Format, say, tell};
use super::{Failure, Outcome};
use crate::exit_codes;
use crate::scenario::Diagnostic;

/// Check scenario manifests
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  gateproof lint my-scenarios/
  gateproof lint --dialect my-dialect,kuadrant    what comes with them")]
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
pub(crate) async fn run(args: &Args) -> Outcome {
    if args.dialect.are_several() && !args.paths.is_empty() {
        let problem =
            format!("manifests are of one dialect, and these are several: {}", args.dialect.dialects.join(", "));
        return Err(Failure::usage(problem, "name that one; without paths, what comes with each is checked"));
    }
    each::dialect(&args.dialect, args.format, async |dialect, documents| one(args, &dialect, documents)).await
}

fn one(args: &Args, dialect: &DialectArg, documents: &mut Documents) -> Outcome {
    let suites = dialect.suites()?;
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
    print(&problems, names.len(), args.format, documents)?;
    Ok(if problems.is_empty() { exit_codes::PASSED } else { exit_codes::USAGE })
}

fn print(problems: &[Diagnostic], scenarios: usize, format: Format, documents: &mut Documents) -> Result<(), Failure> {
    if format == Format::Json {
        return documents.json(problems);
    }
    for problem in problems {
        tell!("{:?}", miette::Report::new(problem.clone()));
    }
    if problems.is_empty() {
        say!("{}, no problems", counted(scenarios, "scenario", "scenarios"));
    } else {
        say!("{}", counted(problems.len(), "problem", "problems"));
    }
    Ok(())
}
