//! `gateproof run`: scenarios against a target, and reports of it.

use super::carry_out::{carried_out, prepared};
use super::each::Documents;
use super::progress::Reporter;
use super::report_dir::ReportDir;
use super::run_args::Args;
use super::{Outcome, interrupt, several, watch};
use crate::exit_codes;

/// Runs the verb.
pub(crate) async fn run(args: Args) -> Outcome {
    if args.selection.dialect.are_several() {
        return several::run(&args).await;
    }
    if !args.watch.is_empty() {
        return watch::run(args).await;
    }
    let mut dir = ReportDir::at(&args.report_dir);
    let outcome = one(args, &mut dir).await;
    if let Err(failure) = &outcome {
        dir.broken_off(failure);
    }
    outcome
}

async fn one(mut args: Args, dir: &mut ReportDir) -> Outcome {
    // What is read here may stand in the directory that is taken next.
    if !args.select_again()? {
        return Ok(exit_codes::PASSED);
    }
    let suite = args.selection.dialect.suite()?;
    let baseline = args.baseline.read(suite.dialect.name())?;
    args.tuning.read_features(&suite)?;
    dir.take()?;
    let prepared = prepared(args, baseline).await?;
    interrupt::clean_up_on_ctrl_c(&prepared.options)?;
    carried_out(prepared, dir, Reporter::new(), &mut Documents::default()).await
}
