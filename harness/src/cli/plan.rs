//! `gateproof plan`: what would run, what not, and why.

use gateproof_report::terminal::printable;
use serde_json::json;

use super::options::{Selection, Target};
use super::output::{self, Format};
use super::run::{Tuning, run_failure};
use super::{Failure, Outcome};
use crate::exit_codes;
use crate::run::{self, Decision};

/// Show what would run, what not, and why
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  gateproof plan HTTPRoute --gateway-class my-class")]
pub(crate) struct Args {
    #[command(flatten)]
    selection: Selection,
    #[command(flatten)]
    target: Target,
    #[command(flatten)]
    tuning: Tuning,
    /// How to print it
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
}

/// Runs the verb.
pub(crate) async fn run(args: Args) -> Outcome {
    let (scenarios, known) = args.selection.among_known()?;
    let mut options = args.target.options().await?;
    args.tuning.apply(&mut options, &known)?;
    let (facts, plan) = run::survey(&options, scenarios).await.map_err(run_failure)?;
    let rows: Vec<[String; 3]> = plan
        .iter()
        .map(|planned| {
            let (decision, why) = match &planned.decision {
                Decision::Run => ("run", ""),
                Decision::NotSupported(why) => ("not supported", why.as_str()),
                Decision::Skipped(why) => ("skipped", why.as_str()),
            };
            [planned.scenario.name.clone(), decision.to_owned(), why.to_owned()]
        })
        .collect();
    if args.format == Format::Json {
        let rows: Vec<_> = rows
            .iter()
            .map(|[name, decision, why]| json!({"name": name, "decision": decision, "reason": why}))
            .collect();
        output::json(&rows)?;
    } else {
        println!(
            "class {} ({}), Gateway API {}",
            printable(&facts.gateway_class),
            printable(&facts.controller_name),
            printable(&facts.bundle)
        );
        output::columns(&rows);
        let runs = plan.iter().filter(|p| matches!(p.decision, Decision::Run)).count();
        println!("{runs} of {} would run", plan.len());
    }
    Ok::<u8, Failure>(exit_codes::PASSED)
}
