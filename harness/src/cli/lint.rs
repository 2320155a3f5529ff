//! `gateproof lint`: scenario manifests, without running them.

use std::path::PathBuf;

use super::options::load_failure;
use super::output::{self, Format};
use super::{Failure, Outcome};
use crate::exit_codes;
use crate::scenario::load::LoadError;
use crate::scenario::{Diagnostic, Vocabulary, lint, load};
use crate::target::schemas::BundledSchemas;

/// Check scenario manifests
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  gateproof lint my-scenarios/")]
pub(crate) struct Args {
    /// Files or folders; the built-in manifests unless given
    paths: Vec<PathBuf>,
    /// How to print it
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
}

/// Runs the verb.
pub(crate) fn run(args: &Args) -> Outcome {
    let vocabulary = Vocabulary::builtin();
    let mut problems = Vec::new();
    let mut scenarios = 0;
    let mut take = |loaded: Result<Vec<crate::scenario::Scenario>, LoadError>| match loaded {
        Ok(found) => {
            scenarios += found.len();
            Ok(())
        }
        Err(LoadError::Manifests(found)) => {
            problems.extend(found);
            Ok(())
        }
        Err(error) => Err(load_failure(error)),
    };
    if args.paths.is_empty() {
        take(load::builtin(&vocabulary))?;
    }
    for path in &args.paths {
        take(load::path(path, &vocabulary))?;
    }
    for (file, text) in texts(&args.paths)? {
        problems.extend(lint::objects(&file, &text, &BundledSchemas));
    }
    print(&problems, scenarios, args.format)?;
    Ok(if problems.is_empty() { exit_codes::PASSED } else { exit_codes::USAGE })
}

fn texts(paths: &[PathBuf]) -> Result<Vec<(String, String)>, Failure> {
    if paths.is_empty() {
        let own = |(file, text): (&str, &str)| (file.to_owned(), text.to_owned());
        return Ok(gateproof_suites::manifests().into_iter().map(own).collect());
    }
    let mut all = Vec::new();
    for path in paths {
        all.extend(load::texts(path).map_err(load_failure)?);
    }
    Ok(all)
}

fn print(problems: &[Diagnostic], scenarios: usize, format: Format) -> Result<(), Failure> {
    if format == Format::Json {
        return output::json(problems);
    }
    for problem in problems {
        eprintln!("{:?}", miette::Report::new(problem.clone()));
    }
    println!("{scenarios} scenarios, {} problems", problems.len());
    Ok(())
}
