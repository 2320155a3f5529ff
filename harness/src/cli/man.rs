//! `gateproof man`: the pages of the manual, from the tables of the command line.

use std::path::{Path, PathBuf};

use clap_mangen::Man;

use super::output::{self, say};
use super::report_dir::can_be_directory;
use super::{Failure, Outcome, command};
use crate::exit_codes;

/// Print a page of the manual, or write all of them
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  gateproof man | man -l -
  gateproof man report diff | man -l -
  gateproof man --output /usr/local/share/man/man1")]
pub(crate) struct Args {
    /// The verb that the page is about; the program unless given
    #[arg(value_name = "VERB")]
    verb: Vec<String>,
    /// Write the pages of all verbs into this directory
    #[arg(long, value_name = "DIR", conflicts_with = "verb")]
    output: Option<PathBuf>,
}

/// Runs the verb.
pub(crate) fn run(args: &Args) -> Outcome {
    let mut command = command().disable_help_subcommand(true);
    command.build();
    if let Some(dir) = &args.output {
        can_be_directory(dir, "--output")?;
        std::fs::create_dir_all(dir).map_err(|error| unwritable(dir, &error))?;
        write_all(&command, dir)?;
        say!("written to {}", dir.display());
        return Ok(exit_codes::PASSED);
    }
    let mut of = &command;
    for verb in &args.verb {
        of = of.find_subcommand(verb).ok_or_else(|| {
            let problem = format!("`{verb}` is no verb of {}", of.get_display_name().unwrap_or(of.get_name()));
            Failure::usage(problem, "`gateproof help` lists the verbs")
        })?;
    }
    output::out(format_args!("{}", String::from_utf8_lossy(&page(of)?)));
    Ok(exit_codes::PASSED)
}

fn page(command: &clap::Command) -> Result<Vec<u8>, Failure> {
    let mut text = Vec::new();
    // A verb has no version of its own.
    let made = Man::new(command.clone()).source(concat!("gateproof ", env!("CARGO_PKG_VERSION"))).render(&mut text);
    made.map_err(|error| Failure::environment(error, "this is a mistake of gateproof; please report it"))?;
    Ok(text)
}

/// A page for a verb and for each below it.
fn write_all(command: &clap::Command, dir: &Path) -> Result<(), Failure> {
    let name = command.get_display_name().unwrap_or(command.get_name());
    let path = dir.join(format!("{name}.1"));
    std::fs::write(&path, page(command)?).map_err(|error| unwritable(&path, &error))?;
    command.get_subcommands().filter(|below| !below.is_hide_set()).try_for_each(|below| write_all(below, dir))
}

fn unwritable(path: &Path, error: &std::io::Error) -> Failure {
    let problem = format!("cannot write {}: {error}", path.display());
    Failure::environment(problem, "name a directory that can be written with --output")
}
