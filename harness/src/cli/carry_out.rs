//! A run for one dialect, from its arguments to its reports.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use gateproof_report::record::{Outcome as Ended, RunRecord, repeat_of};
use gateproof_report::terminal::{self, printable};
use gateproof_report::words::counted;

use super::baseline::Baseline;
use super::causes::exit_code;
use super::each::Documents;
use super::not_run::run_failure;
use super::options::{Selected, known_failures};
use super::output::{self, Format, say, tell};
use super::progress::Reporter;
use super::report_dir::{OPTIONS, ReportDir};
use super::run_args::{Args, ContractEffect};
use super::shard::Shard;
use super::{Failure, Outcome, diagnose, options_from, reports, reproduce, served};
use crate::dialects::Scope;
use crate::exit_codes;
use crate::run::{self, Part, RunError, RunOptions, RunOutput, origin};
use crate::scenario::{Scenario, objects};

/// A run whose arguments are read, and mean something.
pub(super) struct Prepared {
    args: Args,
    baseline: Option<Baseline>,
    /// What they come to.
    pub(super) options: RunOptions,
    /// What is selected.
    pub(super) scenarios: Vec<Scenario>,
}

/// Reads the arguments of a run for one dialect, but for the run before, which is read by now.
pub(super) async fn prepared(args: Args, baseline: Option<Baseline>) -> Result<Prepared, Failure> {
    let selected = args.selection.among_all()?;
    prepared_of(args, baseline, selected).await
}

/// The same of what is selected already.
pub(super) async fn prepared_of(
    mut args: Args,
    baseline: Option<Baseline>,
    Selected { suite, chosen, all }: Selected,
) -> Result<Prepared, Failure> {
    let part = args.shard.map(|shard| Part { part: shard.part, parts: shard.parts, whole: origin::manifests(&chosen) });
    let scenarios = match args.shard {
        Some(shard) if shard.parts > chosen.len() => return Err(too_many(shard, chosen.len())),
        Some(shard) => shard.of(chosen),
        None => chosen,
    };
    let mut options = args.target.options(&suite).await?;
    args.tuning.apply(&mut options, &all, &suite)?;
    served::hold(&suite, &args.selection.files, &scenarios, &options).await?;
    if let Some(file) = &args.known_failures {
        options.known_failures = known_failures(file, &all, &suite)?;
    }
    args.identity.is_of(&suite)?;
    options.unselected = args.selection.left_out(&scenarios, all)?;
    options.preflight &= !args.skip_preflight;
    options.logs_from.clone_from(&args.logs_from);
    options.arguments = reproduce::arguments(&args);
    let unreadable = |error| Failure::usage(error, "nothing was applied");
    options.suite = Some(suite.digest().map_err(unreadable)?);
    options.part = part;
    Ok(Prepared { args, baseline, options, scenarios })
}

fn too_many(shard: Shard, selected: usize) -> Failure {
    let scenarios = counted(selected, "scenario is selected", "scenarios are selected");
    let problem = format!("--shard {shard}: {scenarios}, so some of the parts would have none");
    Failure::usage(problem, format!("name at most {}; nothing was applied", counted(selected, "part", "parts")))
}

/// Carries it out, with reports in this directory.
pub(super) async fn carried_out(
    prepared: Prepared,
    dir: &mut ReportDir,
    mut reporter: Reporter,
    documents: &mut Documents,
) -> Outcome {
    let Prepared { args, baseline, mut options, scenarios } = prepared;
    dir.begin()?;
    options.events_file = Some(dir.events_file()?);
    let target = options.target.name();
    // Of the run that was here before more is true of this one than of any other.
    options.took = baseline.as_ref().map(|baseline| baseline.took(&target)).unwrap_or_default();
    options.took.extend(dir.took(&target));
    if let Some(text) = options_from::file(&options.arguments) {
        dir.write(&[OPTIONS], &text)?;
        options.options_file = Some(args.report_dir.join(OPTIONS).display().to_string());
    }
    reporter.watch(&options.waits);
    let resources = scenarios.iter().map(|scenario| (scenario.name.clone(), resources(scenario))).collect();
    let output = match run::run(options, scenarios, &mut reporter).await {
        Err(RunError::Interrupted) => {
            tell!("interrupted before anything was applied");
            return Ok(exit_codes::INTERRUPTED);
        }
        output => output.map_err(run_failure)?,
    };
    reporter.finish();
    reports::write(dir, &output, &args.identity, baseline.as_ref())?;
    dir.finish()?;

    if args.format.format == Format::Json {
        documents.json(&output.record)?;
    } else {
        output::out(format_args!("{}", terminal::summary(&output.record)));
        diagnose::after(&output.record)?;
    }
    tell(&output, &resources, &args.report_dir, args.format.format);
    Ok(exit_code(&output.record, args.contract == ContractEffect::Fail))
}

/// The resources of its dialect of which a scenario has objects in namespaces, by its name.
type Resources = BTreeMap<String, Vec<String>>;

fn resources(scenario: &Scenario) -> Vec<String> {
    let kinds = objects::applied(scenario).filter_map(|key| scenario.dialect.kind(&key.kind).cloned());
    kinds.filter(|kind| kind.scope == Scope::Namespaced).map(|kind| kind.plural).collect()
}

/// What `kubectl get` is asked for: of what did not run the target may know no resource.
fn that_ran(record: &RunRecord, resources: &Resources) -> String {
    let ran = record.scenarios.iter().filter(|one| !matches!(one.outcome, Ended::Skipped | Ended::NotSupported));
    let of: BTreeSet<&str> =
        ran.filter_map(|one| resources.get(repeat_of(&one.name).0)).flatten().map(String::as_str).collect();
    ["all"].into_iter().chain(of).collect::<Vec<_>>().join(",")
}

/// What a person may want to know beside the record.
fn tell(output: &RunOutput, resources: &Resources, report_dir: &Path, format: Format) {
    let mut lines = Vec::new();
    for leftover in &output.leftovers {
        lines.push(format!("left behind: {}: {}", printable(&leftover.object), printable(&leftover.diagnosis)));
    }
    if !output.leftovers.is_empty() {
        lines.push("`gateproof clean` removes what is left behind, once whatever holds it lets go".to_owned());
    }
    if !output.kept.is_empty() {
        lines.push("kept for you to look at; `gateproof clean` removes it later:".to_owned());
        let all = that_ran(&output.record, resources);
        lines.extend(output.kept.iter().map(|name| format!("  kubectl get {all} -n {name}")));
    }
    lines.push(format!("reports: {}", report_dir.display()));
    for line in lines {
        match format {
            Format::Text => say!("{line}"),
            // Standard output holds one document and nothing else.
            Format::Json => tell!("{line}"),
        }
    }
}
