//! `gateproof preflight`: whether a target can be tested at all.

use gateproof_report::terminal::printable;

use super::each::{self, Documents};
use super::not_run::run_failure;
use super::options::{Selected, Selection, Target};
use super::output::{Format, FormatArg, say};
use super::progress::Reporter;
use super::several::{self, Aimed, Cluster};
use super::tuning::Tuning;
use super::{Failure, Outcome};
use crate::exit_codes;
use crate::run::{self, Preflight, RunError};

/// Ask whether a target can be tested at all
#[derive(Debug, Clone, clap::Args)]
#[command(after_help = "\
Asks what `gateproof run` asks of a named cluster before any scenario: that the CRDs are there, the GatewayClass is accepted, all that
the selected scenarios need is permitted, a Gateway gets an address, and a request through it reaches a backend.

Examples:
  gateproof preflight --gateway-class my-class --context kind-dev --backend-address 172.18.0.1
  gateproof preflight --dialect gateway-api,kuadrant --gateway-class my-class --context kind-dev")]
pub(crate) struct Args {
    #[command(flatten)]
    selection: Selection,
    #[command(flatten)]
    target: Target,
    #[command(flatten)]
    tuning: Tuning,
    #[command(flatten)]
    format: FormatArg,
}

/// Runs the verb.
pub(crate) async fn run(args: Args) -> Outcome {
    if !args.selection.dialect.are_several() {
        return one(args, &mut Documents::default()).await;
    }
    let parts = several::aimed(&args.selection, &args.target, &args.tuning, Cluster::Asked)?.into_iter().map(|part| {
        let Aimed { name, selection, target, tuning, .. } = part;
        (name, Args { selection, target, tuning, ..args.clone() })
    });
    each::one_by_one(parts.collect(), args.format.format, one).await
}

async fn one(mut args: Args, documents: &mut Documents) -> Outcome {
    let Selected { suite, chosen: scenarios, all } = args.selection.among_all()?;
    let mut options = args.target.options(&suite).await?;
    args.tuning.apply(&mut options, &all, &suite)?;
    super::interrupt::clean_up_on_ctrl_c(&options)?;
    let mut reporter = Reporter::of_preflight();
    let outcome = run::preflight(options, scenarios, &mut reporter).await;
    reporter.finish();
    let json = args.format.format == Format::Json;
    match outcome {
        Ok(preflight) => {
            print(&preflight, json, documents)?;
            Ok(exit_codes::PASSED)
        }
        Err(RunError::Preflight(failed)) if json => {
            print(&failed.preflight, json, documents)?;
            Ok(exit_codes::INCONCLUSIVE)
        }
        Err(RunError::Interrupted) => Ok(exit_codes::INTERRUPTED),
        Err(error) => Err(run_failure(error)),
    }
}

fn print(preflight: &Preflight, json: bool, documents: &mut Documents) -> Result<(), Failure> {
    if json {
        return documents.json(preflight);
    }
    for line in preflight.to_string().lines() {
        say!("{}", printable(line));
    }
    say!("the target can be tested");
    Ok(())
}
