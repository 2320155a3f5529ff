//! `gateproof faults`: the kill matrix.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::crds;
use super::dialect::DialectArg;
use super::each::{self, Documents};
use super::list::no_reference;
use super::not_run::run_failure;
use super::options::{scenarios_of, unknown_of};
use super::output::{Format, say, tell};
use super::shard::Shard;
use super::{Failure, Outcome, measured, own, table};
use crate::dialects::Reference;
use crate::exit_codes;
use crate::kill::{self, Extent, Matrix, Plan, Proof, ShownBy, Varied, Watcher};
use crate::run::embedded;
use crate::scenario::Scenario;
use crate::scenario::pattern::matches;
use crate::suite::Suite;
use gateproof_report::words::counted;
use gateproof_testbed::UnknownBehaviour;

/// Run the kill matrix: which misbehaviour is noticed by what
#[derive(Debug, Clone, clap::Args)]
#[command(after_help = "\
Examples:
  gateproof faults                          each fault with the scenarios about its clauses, and ten others
  gateproof faults ignores-reference-grants
  gateproof faults NAME --table             what shows it
  gateproof faults NAME --table --write harness/src/kill/shown_by.yaml
                                            the same, put into the table; without a name all of it is made anew
  gateproof faults --dialect aso            the same of another dialect's reference; its table is shown_by/aso.yaml
  gateproof faults --dialect kuadrant,aso   one after the other; the exit code is the gravest
  gateproof faults --full --holes           the whole product, and what no fault fails alone
  gateproof faults --full --shard 2/4       a quarter of it, for one of four machines
  gateproof faults --scenario 'tlsroute-*'  these scenarios against every fault, as after they were written
  gateproof faults --pinpoint               go wrong at every asserted value once, and nowhere else
  gateproof faults --pinpoint --scenario 'httproute-mirror*'
  gateproof faults --inversion              negate every asserted value once; the plain reference must fail
  gateproof faults --variants               every scenario on every legal variant; nothing may complain
  gateproof faults --variants --crds FILE   the same with the definitions of another release
  gateproof faults --diagnose RUNS          how often `report diagnose` is right: each fault beside a legal variant
  gateproof faults --diagnose RUNS --shard 1/9
                                            one in nine of them, and what RUNS has already")]
pub(crate) struct Args {
    #[command(flatten)]
    dialect: DialectArg,
    /// Faults; all unless given
    #[arg(value_name = "FAULT")]
    faults: Vec<String>,
    /// Run every scenario against every fault
    #[arg(long)]
    full: bool,
    /// Run one part of the faults alone, of as many as are named, such as 2/4; all parts together are all faults
    #[arg(long, value_name = "PART/PARTS", conflicts_with_all = ["holes", "pinpoint", "inversion", "variants", "table"])]
    shard: Option<Shard>,
    /// Run a pinpoint fault for each expectation that no narrow fault fails alone, and list those that do not fail then
    #[arg(long)]
    holes: bool,
    /// Run a pinpoint fault for every expectation instead of the named ones
    #[arg(long, conflicts_with_all = ["full", "holes", "inversion", "faults"])]
    pinpoint: bool,
    /// Negate every asserted value instead of running faults
    #[arg(long, conflicts_with_all = ["full", "holes", "faults"])]
    inversion: bool,
    /// Run every scenario on every legal variant instead of faults; nothing may complain
    #[arg(long, conflicts_with_all = ["full", "holes", "pinpoint", "inversion", "faults"])]
    variants: bool,
    /// With --variants: serve these Gateway API definitions, of another release, instead of the built-in ones: a file or a URL
    #[arg(long, value_name = "FILE|URL", requires = "variants")]
    crds: Option<crds::Source>,
    /// Print which expectations show each fault, as the dialect's table beside harness/src/kill/shown_by.rs has it; what does not
    /// hold there, or is missing, is looked for
    #[arg(long, conflicts_with_all = ["full", "holes", "pinpoint", "inversion", "variants", "format"])]
    table: bool,
    /// With --table: put it into this file instead, which is the table of this dialect and edition; any other file is refused. What
    /// holds there stays as it is and where it is, what is new comes last, and what is changed is printed
    #[arg(long, value_name = "FILE", requires = "table")]
    write: Option<PathBuf>,
    /// Measure what `gateproof report diagnose` says: each fault is run beside a legal variant, and its record kept in this folder.
    /// What is there is not run again; all records there are asked about, as they are and cut, with the fault known and not
    #[arg(long, value_name = "DIR", conflicts_with_all = ["holes", "pinpoint", "inversion", "variants", "table", "format"])]
    diagnose: Option<PathBuf>,
    /// These scenarios alone, by globs, against every fault; or with --pinpoint, --inversion or --variants
    #[arg(long = "scenario", value_name = "GLOB", conflicts_with_all = ["full", "table", "diagnose"])]
    only: Vec<String>,
    /// Draws the others
    #[arg(long, value_name = "NUMBER", default_value_t = 1)]
    seed: u64,
    /// Embedded targets at once; four for each core unless given
    #[arg(long, value_name = "N", default_value_t = targets())]
    targets: usize,
    /// How to print it
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
}

/// What fails waits for its deadline, so there may be more targets than cores; with many more, what does not fail is late.
fn targets() -> usize {
    4 * std::thread::available_parallelism().map_or(1, usize::from)
}

/// Tells on standard error what came of each run, and how far it is.
#[derive(Default)]
struct Lines {
    over: AtomicUsize,
    planned: AtomicUsize,
}

impl Watcher for Lines {
    fn planned(&self, runs: usize) {
        self.over.store(0, Ordering::Relaxed);
        self.planned.store(runs, Ordering::Relaxed);
    }

    fn ran(&self, name: &str, failed: usize) {
        let over = self.over.fetch_add(1, Ordering::Relaxed) + 1;
        tell!("{over}/{}: {name}: {failed} failed", self.planned.load(Ordering::Relaxed));
    }
}

/// Runs the verb.
pub(crate) async fn run(args: Args) -> Outcome {
    if !args.dialect.are_several() {
        return one(args, &mut Documents::default()).await;
    }
    each::one_by_one(of_each(&args)?, args.format, one).await
}

/// What each of several dialects is asked, with its name: about the faults and the scenarios that are its own.
fn of_each(args: &Args) -> Result<Vec<(String, Args)>, Failure> {
    if args.diagnose.is_some() {
        return Err(Failure::usage(
            "--diagnose is about runs of one dialect, and these are several",
            "name one of them",
        ));
    }
    if args.table {
        let help = "name the dialect whose table is meant";
        return Err(Failure::usage(
            "--table prints what stands in the table of one dialect, and these are several",
            help,
        ));
    }
    let dialects = args.dialect.each()?;
    let (mut references, mut faults, mut names) = (Vec::new(), Vec::new(), Vec::new());
    for (_, suite) in &dialects {
        let reference = suite.reference().ok_or_else(|| no_reference(suite))?;
        references.push(reference);
        faults.push(move |name: &str| embedded::faults(reference).iter().any(|fault| fault.name == name));
        let scenarios = scenarios_of(suite, &[])?;
        names.push(move |glob: &str| scenarios.iter().any(|one| matches(glob, &one.name)));
    }
    let mut each = Vec::new();
    for (index, (dialect, suite)) in dialects.into_iter().enumerate() {
        let unknown = |name: &str| unknown_of(references[index], UnknownBehaviour::Fault(name.to_owned()));
        let faults = own::words(&args.faults, index, &faults).map_err(unknown)?;
        let only = own::words(&args.only, index, &names).map_err(no_scenario)?;
        if let (Some(faults), Some(only)) = (faults, only) {
            each.push((suite.dialect.name().to_owned(), Args { dialect, faults, only, ..args.clone() }));
        }
    }
    Ok(each)
}

async fn one(args: Args, documents: &mut Documents) -> Outcome {
    let suite = args.dialect.suite()?;
    let (scenarios, all) = scenarios(&args, &suite)?;
    let name = suite.dialect.name().to_owned();
    let lacking = no_reference(&suite);
    let mut plan = Plan::new(suite, scenarios).ok_or(lacking)?;
    plan.all = all;
    let edition = plan.suite.other_edition().map(str::to_owned);
    let malformed = |error: serde_yaml::Error| Failure::usage(format!("what shows the faults of {name}: {error}"), "");
    let shown_by = ShownBy::in_edition(plan.reference, edition.as_deref()).map_err(malformed)?;
    plan.faults = match &args.faults[..] {
        [] => ShownBy::faults(plan.reference, edition.as_deref()).map_err(malformed)?,
        named => kill::faults_named(plan.reference, named)
            .map_err(|name| unknown_of(plan.reference, UnknownBehaviour::Fault(name)))?,
    };
    if let Some(shard) = args.shard {
        plan.faults = shard.of(plan.faults);
    }
    plan.extent = if args.full || !args.only.is_empty() { Extent::Full } else { Extent::Declared(args.seed) };
    plan.targets = args.targets;
    if let Some(source) = &args.crds {
        if plan.reference != Reference::GatewayApi {
            let help = "leave out --crds, or name `gateway-api`";
            return Err(Failure::usage(format!("--crds has definitions of Gateway API, and this is `{name}`"), help));
        }
        plan.crds = crds::read(source).await?;
    }
    let lines = Lines::default();
    if let Some(folder) = &args.diagnose {
        let known = ShownBy::faults(plan.reference, edition.as_deref()).map_err(malformed)?;
        return measured::run(&plan, &known, &shown_by, (folder, args.seed), &lines).await;
    }
    if args.inversion {
        let (negated, untried) = kill::negated(&plan.scenarios);
        let found = kill::invert_all(&plan, negated, &lines).await.map_err(run_failure)?;
        return print_proof(&Proof { untried, ..found }, args.format, documents);
    }
    if args.pinpoint {
        let found = kill::pin_all(&plan, kill::pinned(&plan.scenarios), &lines).await.map_err(run_failure)?;
        return print_proof(&found, args.format, documents);
    }
    if args.variants {
        let all: Arc<[Scenario]> = plan.scenarios.clone().into();
        let trials: Vec<_> =
            embedded::variants(plan.reference).into_iter().map(|variant| (variant, Arc::clone(&all))).collect();
        let varied = kill::vary(&plan, &trials, &lines).await.map_err(run_failure)?;
        return print_varied(&varied, args.format, documents);
    }
    if args.table {
        return table::run(&mut plan, shown_by, args.write.as_deref(), args.seed, &lines).await;
    }
    if let (Some(edition), true) = (&edition, plan.faults.is_empty()) {
        let problem = format!("no fault is shown by the edition `{edition}` of `{name}` alone");
        return Err(Failure::usage(
            problem,
            "--pinpoint, --inversion and --variants prove it there; leave out --edition for the faults",
        ));
    }
    let mut matrix = kill::drive(&plan, &shown_by, &lines).await;
    if plan.scenarios.len() < plan.all {
        matrix.of_some(&plan.scenarios.iter().map(|scenario| scenario.name.clone()).collect(), &args.faults);
    }
    if args.holes {
        let left = kill::pinned(&plan.scenarios).into_iter().filter(|trial| matrix.holes.contains(&trial.name()));
        let proof = kill::pin_all(&plan, left.collect(), &lines).await.map_err(run_failure)?;
        matrix.pinpointed(&proof);
    }
    if args.format == Format::Json {
        documents.json(&matrix)?;
    } else {
        print_matrix(&matrix);
    }
    let proven = matrix.complaints.is_empty() && (!args.holes || matrix.holes.is_empty());
    Ok(if proven { exit_codes::PASSED } else { exit_codes::FAILED })
}

/// The scenarios that are meant, and how many there are.
fn scenarios(args: &Args, suite: &Suite) -> Result<(Vec<Scenario>, usize), Failure> {
    let mut scenarios = scenarios_of(suite, &[])?;
    let all = scenarios.len();
    if args.only.is_empty() {
        return Ok((scenarios, all));
    }
    if let Some(none) = args.only.iter().find(|glob| !scenarios.iter().any(|one| matches(glob, &one.name))) {
        return Err(no_scenario(none));
    }
    scenarios.retain(|scenario| args.only.iter().any(|glob| matches(glob, &scenario.name)));
    Ok((scenarios, all))
}

fn no_scenario(glob: &str) -> Failure {
    Failure::usage(format!("no scenario is called `{glob}`"), "`gateproof list scenarios` shows all")
}

fn print_matrix(matrix: &Matrix) {
    for row in &matrix.rows {
        say!("{}{}", row.fault, if row.narrow { "" } else { "  (not narrow)" });
        for (scenario, first) in &row.kills {
            say!("  {scenario}: {}", first.join(", "));
        }
        for rule in &row.contract {
            say!("  {rule}");
        }
    }
    if matrix.pinpointed.is_some() && !matrix.holes.is_empty() {
        say!("\nholes:");
        matrix.holes.iter().for_each(|hole| say!("  {hole}"));
    }
    if !matrix.complaints.is_empty() {
        say!("\ncomplaints:");
        matrix.complaints.iter().for_each(|complaint| say!("  {complaint}"));
    }
    let narrow = matrix.rows.iter().filter(|row| row.narrow).count();
    let (faults, signatures, all) = (matrix.rows.len(), matrix.signatures, matrix.expectations);
    let left = matrix.holes.len();
    let proof = match matrix.pinpointed {
        Some(pinpointed) => {
            let named = all - pinpointed - left;
            let holes = counted(left, "hole", "holes");
            format!("{named} fail alone under one of them, {pinpointed} under a pinpoint fault; {holes}")
        }
        None => format!("{} fail alone under one of them", all - left),
    };
    say!(
        "\n{}, {narrow} narrow, {}; {}, {proof}; {}",
        counted(faults, "fault", "faults"),
        counted(signatures, "signature", "signatures"),
        counted(all, "expectation", "expectations"),
        counted(matrix.complaints.len(), "complaint", "complaints")
    );
}

fn print_varied(varied: &Varied, format: Format, documents: &mut Documents) -> Outcome {
    if format == Format::Json {
        documents.json(varied)?;
    } else {
        for one in &varied.blamed {
            say!("{}: {}: {}", one.variant, one.by, one.why);
        }
        let runs = counted(varied.runs, "scenario", "scenarios");
        say!("{runs} run on legal variants, {}", counted(varied.blamed.len(), "complaint", "complaints"));
    }
    Ok(if varied.blamed.is_empty() { exit_codes::PASSED } else { exit_codes::FAILED })
}

fn print_proof(found: &Proof, format: Format, documents: &mut Documents) -> Outcome {
    if format == Format::Json {
        documents.json(found)?;
    } else {
        for survivor in &found.survivors {
            say!("{}: {} ({}) {}", survivor.scenario, survivor.expectation, survivor.outcome, survivor.why);
        }
        say!(
            "{} tried ({} not binding at this version, or behind another end of a write), {} without an opposite, {} did not fail alone",
            counted(found.tried, "expectation", "expectations"),
            found.unbound,
            found.untried.len(),
            found.survivors.len()
        );
    }
    Ok(if found.survivors.is_empty() { exit_codes::PASSED } else { exit_codes::FAILED })
}
