//! The command line: one file a verb. Verbs parse, call the library and print; they decide nothing.

mod badge;
mod baseline;
mod belongs;
mod carry_out;
mod causes;
mod claims;
mod clean;
mod compare;
mod completions;
mod crds;
mod diagnose;
mod dialect;
mod diff;
mod each;
mod echo;
mod evidence;
mod explain;
mod failures;
mod faults;
mod given;
mod init;
mod interrupt;
mod lint;
mod list;
mod log_file;
mod man;
mod matrix;
mod measured;
mod merge;
mod not_run;
mod options;
mod options_from;
mod output;
mod own;
mod page;
mod plan;
mod preflight;
mod profiles;
mod progress;
mod rbac;
mod recorded;
mod replay;
mod report;
mod report_dir;
mod report_lint;
mod reports;
mod reproduce;
mod requirements;
mod run;
mod run_args;
mod schema;
mod served;
mod services;
mod several;
mod shard;
mod shelf;
mod submit;
mod table;
mod testbed;
mod trace;
mod trend;
mod tuning;
mod verify;
mod watch;
mod workloads;

use std::process::ExitCode;

use clap::{CommandFactory, Parser, Subcommand};
use gateproof_report::terminal;
use tracing_subscriber::EnvFilter;
use tracing_subscriber::filter::LevelFilter;

use self::output::tell;
use crate::exit_codes;

/// Tests implementations of the Kubernetes Gateway API against the specification.
#[derive(Debug, Parser)]
#[command(name = "gateproof", version, about, long_about = LONG_ABOUT, after_help = AFTER_HELP, max_term_width = 110)]
struct Cli {
    #[command(subcommand)]
    verb: Verb,
}

const LONG_ABOUT: &str = "\
Tests implementations of the Kubernetes Gateway API against the specification.

Gateproof applies scenario manifests to a target, watches status until it settles, asserts it, probes the data path, and \
writes a conformance report. Without a target it uses the embedded one, so it never touches a cluster that nobody named.";

const AFTER_HELP: &str = "\
Examples:
  gateproof run                                     everything, on the embedded target
  gateproof run httproute-missing-backend           one scenario
  gateproof run --gateway-class my-class            everything that the class claims, on the current cluster
  gateproof run --target embedded:ignores-reference-grants
                                                    see a known fault being caught
  gateproof explain httproute-missing-backend       what it proves, and how
  gateproof plan --dialect gateway-api,aso          what would run of several status languages

Exit codes: 0 all selected passed, 1 something failed or came late, 2 usage, manifest or configuration, \
3 inconclusive or environment, 130 interrupted.";

#[derive(Debug, Subcommand)]
enum Verb {
    /// Run scenarios, write reports
    Run(Box<run_args::Args>),
    /// Ask whether a target can be tested at all
    Preflight(Box<preflight::Args>),
    /// Print the role that a run needs, and nothing else
    Rbac(Box<rbac::Args>),
    /// Show what would run, what not, and why
    Plan(Box<plan::Args>),
    /// List scenarios, features, profiles, requirements or faults
    List(list::Args),
    /// Explain scenarios: clauses, expectations, faults that they notice
    Explain(explain::Args),
    /// Check scenario manifests
    Lint(lint::Args),
    /// Print the JSON Schema of scenario manifests, or of what a verb writes for programs
    Schema(schema::Args),
    /// Run the kill matrix: which misbehaviour is noticed by what
    Faults(faults::Args),
    /// Serve the embedded cluster and write a kubeconfig
    Testbed(testbed::Args),
    /// Run Deployments of known echo images of a cluster that has no nodes
    Workloads(workloads::Args),
    /// Judge a recorded run again, from its log
    Replay(replay::Args),
    /// Render, lint or compare reports
    Report(report::Args),
    /// Remove what a run left behind in a cluster
    Clean(clean::Args),
    /// Serve the echo backend, described by the environment as in a Pod
    Echo(echo::Args),
    /// Write the workflow that tests an implementation every night, and a first file of known failures
    Init(Box<init::Args>),
    /// Print the completions for a shell
    Completions(completions::Args),
    /// Print a page of the manual, or write all of them
    Man(man::Args),
}

/// Why a verb ended without doing what was asked.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The command line, a manifest or the configuration is wrong.
    Usage(miette::Report),
    /// The environment stood in the way.
    Environment(miette::Report),
}

impl Failure {
    /// A usage failure with what to do about it.
    pub(crate) fn usage(message: impl std::fmt::Display, help: impl std::fmt::Display) -> Failure {
        Failure::Usage(report(&message.to_string(), &help.to_string()))
    }

    /// An environment failure with what to do about it.
    pub(crate) fn environment(message: impl std::fmt::Display, help: impl std::fmt::Display) -> Failure {
        Failure::Environment(report(&message.to_string(), &help.to_string()))
    }

    /// Says what went wrong; the exit code of its kind.
    fn tell(self) -> u8 {
        let (report, code) = match self {
            Failure::Usage(report) => (report, exit_codes::USAGE),
            Failure::Environment(report) => (report, exit_codes::INCONCLUSIVE),
        };
        tell!("{report:?}");
        code
    }

    /// The same of one of several dialects.
    fn tell_of(self, dialect: &str) -> u8 {
        tell!("{dialect}:");
        self.tell()
    }

    /// What went wrong, in one sentence.
    fn message(&self) -> String {
        let (Failure::Usage(report) | Failure::Environment(report)) = self;
        report.to_string()
    }
}

/// Messages may quote what a target said, which must not steer the terminal.
fn report(message: &str, help: &str) -> miette::Report {
    let plain = |text: &str| text.lines().map(terminal::printable).collect::<Vec<_>>().join("\n");
    miette::miette!(help = plain(help), "{}", plain(message))
}

/// What a verb came to: an exit code, or a failure that is yet to be printed.
pub(crate) type Outcome = Result<u8, Failure>;

/// The variable that says what of the inner workings is printed, as a `tracing` filter; errors only unless set.
const LOG_VARIABLE: &str = "GATEPROOF_LOG";

fn log_to_stderr() {
    let filter = EnvFilter::builder()
        .with_default_directive(LevelFilter::ERROR.into())
        .with_env_var(LOG_VARIABLE)
        .from_env_lossy();
    tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr).init();
}

/// Runs the command line of this process.
pub async fn main() -> ExitCode {
    // Whoever has installed one already has installed a provider too, which is all that is needed.
    let _ = rustls::crypto::ring::default_provider().install_default();
    log_to_stderr();
    let cli = match options_from::expanded(std::env::args_os().collect()) {
        Ok(words) => Cli::parse_from(words),
        Err(failure) => return ended(Err(failure)),
    };
    ended(run_verb(cli).await)
}

/// The command line, for whoever describes it.
fn command() -> clap::Command {
    Cli::command()
}

async fn run_verb(cli: Cli) -> Outcome {
    match cli.verb {
        Verb::Run(args) => run::run(*args).await,
        Verb::Preflight(args) => preflight::run(*args).await,
        Verb::Rbac(args) => rbac::run(*args).await,
        Verb::Plan(args) => plan::run(*args).await,
        Verb::List(args) => list::run(&args).await,
        Verb::Explain(args) => explain::run(&args).await,
        Verb::Lint(args) => lint::run(&args).await,
        Verb::Schema(args) => schema::run(&args),
        Verb::Faults(args) => faults::run(args).await,
        Verb::Testbed(args) => testbed::run(args).await,
        Verb::Workloads(args) => workloads::run(args).await,
        Verb::Replay(args) => replay::run(&args),
        Verb::Clean(args) => clean::run(args).await,
        Verb::Echo(args) => echo::run(args).await,
        Verb::Init(args) => init::run(*args).await,
        Verb::Completions(args) => completions::run(&args),
        Verb::Man(args) => man::run(&args),
        Verb::Report(args) => report::run(&args),
    }
}

/// Says what went wrong, and ends with the exit code of its kind.
fn ended(outcome: Outcome) -> ExitCode {
    let outcome = match (outcome, output::lost()) {
        (Ok(exit_codes::PASSED), Some(error)) => {
            Err(Failure::environment(format!("cannot write to standard output: {error}"), "everything else was done"))
        }
        (outcome, _) => outcome,
    };
    ExitCode::from(outcome.unwrap_or_else(Failure::tell))
}
