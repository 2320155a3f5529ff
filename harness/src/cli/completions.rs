//! `gateproof completions`: what a shell has to know to complete our words.

use clap_complete::Shell;

use super::output;
use super::{Outcome, command};
use crate::exit_codes;

/// Print the completions for a shell
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  gateproof completions bash > /etc/bash_completion.d/gateproof
  gateproof completions zsh > ~/.zfunc/_gateproof
  gateproof completions fish > ~/.config/fish/completions/gateproof.fish")]
pub(crate) struct Args {
    /// Which shell
    #[arg(value_enum)]
    shell: Shell,
}

/// Runs the verb.
pub(crate) fn run(args: &Args) -> Outcome {
    let mut command = command();
    let name = command.get_name().to_owned();
    let mut text = Vec::new();
    clap_complete::generate(args.shell, &mut command, name, &mut text);
    output::out(format_args!("{}", String::from_utf8_lossy(&text)));
    Ok(exit_codes::PASSED)
}
