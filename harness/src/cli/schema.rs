//! `gateproof schema`: JSON Schema of what people write.

use clap::ValueEnum;

use super::{Outcome, output};
use crate::exit_codes;
use crate::scenario::{Vocabulary, schema};

/// Print the JSON Schema of scenario manifests
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  gateproof schema manifest > scenario.schema.json")]
pub(crate) struct Args {
    /// Of what
    #[arg(value_enum, default_value_t = Subject::Manifest)]
    subject: Subject,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Subject {
    /// Scenario manifests
    Manifest,
}

/// Runs the verb.
pub(crate) fn run(args: &Args) -> Outcome {
    match args.subject {
        Subject::Manifest => output::json(&schema::manifest(&Vocabulary::builtin()))?,
    }
    Ok(exit_codes::PASSED)
}
