//! `gateproof plan`: what would run, what not, and why.

use std::collections::BTreeSet;

use gateproof_report::terminal::printable;
use gateproof_report::words::counted;
use schemars::JsonSchema;
use serde::Serialize;

use super::each::{self, Documents};
use super::not_run::run_failure;
use super::options::{Selected, Selection, Target};
use super::output::{self, Format, say};
use super::several::{self, Aimed, Cluster};
use super::tuning::Tuning;
use super::{Failure, Outcome, own, served};
use crate::exit_codes;
use crate::run::releases::{Difference, differences};
use crate::run::{self, Decision};
use crate::scenario::Version;

/// Show what would run, what not, and why
#[derive(Debug, Clone, clap::Args)]
#[command(after_help = "\
Examples:
  gateproof plan HTTPRoute --gateway-class my-class
  gateproof plan --compare v1.6,v1.7    what is asked at one of two releases only
  gateproof plan --dialect gateway-api,kuadrant,aso")]
pub(crate) struct Args {
    #[command(flatten)]
    selection: Selection,
    #[command(flatten)]
    target: Target,
    #[command(flatten)]
    tuning: Tuning,
    /// Say what is asked at one of two releases of Gateway API and not at the other, instead of what would run; asks no target
    #[arg(long, value_name = "VERSION,VERSION", value_parser = two_versions)]
    compare: Option<(Version, Version)>,
    /// How to print it
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
}

fn two_versions(text: &str) -> Result<(Version, Version), String> {
    let (from, to) = text.split_once(',').ok_or("two releases are needed, such as v1.6,v1.7")?;
    Ok((from.trim().parse()?, to.trim().parse()?))
}

/// What would become of one scenario.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Row {
    /// The scenario.
    name: String,
    /// What would become of it.
    decision: Word,
    /// Why it would not run; empty if it would.
    reason: String,
}

/// What would become of a scenario.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
pub(crate) enum Word {
    /// It would run.
    #[serde(rename = "run")]
    Run,
    /// The target does not claim a feature, or the scenario has no meaning at its version or channel.
    #[serde(rename = "not supported")]
    NotSupported,
    /// The user leaves it out.
    #[serde(rename = "skipped")]
    Skipped,
}

impl Word {
    fn text(self) -> &'static str {
        match self {
            Word::Run => "run",
            Word::NotSupported => "not supported",
            Word::Skipped => "skipped",
        }
    }
}

/// Runs the verb.
pub(crate) async fn run(args: Args) -> Outcome {
    if !args.selection.dialect.are_several() {
        return one(args, &mut Documents::default()).await;
    }
    // Releases are compared without a target.
    let cluster = if args.compare.is_some() { Cluster::NotAsked } else { Cluster::Asked };
    let parts = several::aimed(&args.selection, &args.target, &args.tuning, cluster)?.into_iter().map(|part| {
        let Aimed { name, selection, target, tuning, .. } = part;
        (name, Args { selection, target, tuning, ..args.clone() })
    });
    each::one_by_one(parts.collect(), args.format, one).await
}

async fn one(mut args: Args, documents: &mut Documents) -> Outcome {
    let Selected { suite, chosen: scenarios, all } = args.selection.among_all()?;
    if let Some((from, to)) = args.compare {
        if let Err(why) = own::releases("--compare", &suite) {
            documents.nothing(why, args.format)?;
            return Ok(exit_codes::PASSED);
        }
        [from, to].into_iter().try_for_each(|version| own::known_release("--compare", version, &suite))?;
        return compared(&differences(&scenarios, from, to), args.format, documents);
    }
    let mut options = args.target.options(&suite).await?;
    args.tuning.apply(&mut options, &all, &suite)?;
    served::hold(&suite, &args.selection.files, &scenarios, &options).await?;
    let (facts, plan) = run::survey(&options, scenarios).await.map_err(run_failure)?;
    let rows: Vec<Row> = plan
        .iter()
        .map(|planned| {
            let (decision, why) = match &planned.decision {
                Decision::Run => (Word::Run, ""),
                Decision::NotSupported(why) => (Word::NotSupported, why.as_str()),
                Decision::Skipped(why) => (Word::Skipped, why.as_str()),
            };
            Row { name: planned.scenario.name.clone(), decision, reason: why.to_owned() }
        })
        .collect();
    if args.format == Format::Json {
        documents.json(&rows)?;
    } else {
        say!("{}", printable(&facts.summary()));
        let cells = |row: &Row| [row.name.clone(), row.decision.text().to_owned(), row.reason.clone()];
        output::columns(&rows.iter().map(cells).collect::<Vec<_>>());
        let runs = plan.iter().filter(|p| matches!(p.decision, Decision::Run)).count();
        say!("{runs} of {} would run", plan.len());
    }
    Ok::<u8, Failure>(exit_codes::PASSED)
}

fn compared(differences: &[Difference], format: Format, documents: &mut Documents) -> Outcome {
    if format == Format::Json {
        documents.json(differences)?;
        return Ok(exit_codes::PASSED);
    }
    let cells = |one: &Difference| {
        let channel = one.channel.map_or(String::new(), |channel| format!(" in the {channel} channel"));
        let mut what = one.expectation.as_deref().unwrap_or("the whole scenario").to_owned();
        if let Some(values) = &one.asks {
            what.push_str(&format!(": {values}"));
        }
        [one.scenario.clone(), format!("at {} only{channel}", one.only_at), what]
    };
    output::columns(&differences.iter().map(cells).collect::<Vec<_>>());
    let scenarios: BTreeSet<&str> = differences.iter().map(|one| one.scenario.as_str()).collect();
    say!("{}", counted(scenarios.len(), "scenario differs", "scenarios differ"));
    Ok(exit_codes::PASSED)
}
