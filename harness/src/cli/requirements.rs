//! `gateproof report requirements`: clause by clause, what runs say of each.

use std::path::PathBuf;

use clap::ValueEnum;
use gateproof_report::requirements::{self, Account, Clause, Run, State, Unlooked};
use gateproof_suites::{TestKind, UpstreamTest, blind_spots, upstream_tests};

use super::output::{self, tell};
use super::recorded::{self, JudgedBy, Recorded};
use super::{Failure, Outcome};
use crate::dialects::Reference;
use crate::exit_codes;
use crate::run::looks::looks;
use crate::suite::Suite;

/// Account for every clause of the specification: held, broken, not seen, or not applicable and why.
///
/// The log is judged again, so a clause counts as held only where an expectation that names it was held against what the target did and
/// was met, and none that names it was missed. Rules of the status contract count too.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  gateproof report requirements gateproof-report
  gateproof report requirements gateproof-report --state broken --state not-seen
  gateproof report requirements ours theirs --as markdown
  gateproof report requirements gateproof-report --upstream --as html > clauses.html

The exit code is 0 whatever is held or not.")]
pub(super) struct Args {
    /// Report directories of runs, which stand side by side
    #[arg(required = true, value_name = "DIR")]
    dirs: Vec<PathBuf>,
    /// How to print it
    #[arg(long = "as", value_enum, default_value_t = Form::Text)]
    form: Form,
    /// Only what is so in one of the runs; may be repeated
    #[arg(long, value_name = "STATE", value_enum)]
    state: Vec<StateArg>,
    /// The tests of upstream's suite, too, by the scenarios that show the same
    #[arg(long)]
    upstream: bool,
    /// What upstream's tests do not see, too
    #[arg(long)]
    blind: bool,
    #[command(flatten)]
    by: JudgedBy,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Form {
    /// For people
    Text,
    /// A table, and what is broken
    Markdown,
    /// For programs
    Json,
    /// A page
    Html,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum StateArg {
    /// Something that names it was missed
    Broken,
    /// Nothing that names it was looked at to its end
    NotSeen,
    /// It has no meaning for the target
    NotApplicable,
    /// Something that names it was met, and nothing missed
    Held,
}

impl StateArg {
    fn state(self) -> State {
        match self {
            StateArg::Broken => State::Broken,
            StateArg::NotSeen => State::NotSeen,
            StateArg::NotApplicable => State::NotApplicable,
            StateArg::Held => State::Held,
        }
    }
}

/// Runs the verb.
pub(super) fn run(args: &Args) -> Outcome {
    let runs: Vec<Recorded> = args.dirs.iter().map(|dir| recorded::read(dir, &args.by)).collect::<Result<_, _>>()?;
    let Some(first) = runs.first() else { return Ok(exit_codes::PASSED) };
    let meant = |run: &Recorded| (run.record.target.dialect.clone(), run.record.target.edition.clone());
    if let Some(other) = runs.iter().find(|run| meant(run) != meant(first)) {
        let problem = format!("{} and {} are of different dialects or editions", first.name, other.name);
        return Err(Failure::usage(problem, "their clauses are others; account for each by itself"));
    }
    let clauses = clauses(&first.suite, args);
    let told = runs.iter().map(|run| (about(run), looks(&run.run, &run.scenarios, &run.suite.contract)));
    let account = requirements::account(&clauses, told.collect());
    let states: Vec<State> = args.state.iter().map(|state| state.state()).collect();
    print(&account.only(&states), args.form)
}

fn print(account: &Account, form: Form) -> Outcome {
    match form {
        Form::Json => output::json(account)?,
        Form::Text => output::out(format_args!("{}", requirements::text(account))),
        Form::Markdown => output::out(format_args!("{}", requirements::markdown(account))),
        Form::Html => output::out(format_args!("{}", requirements::html(account))),
    }
    Ok(exit_codes::PASSED)
}

/// Who was run, and what a reader has to know of it.
fn about(run: &Recorded) -> Run {
    if !run.changed.is_empty() {
        let names = run.changed.join(", ");
        tell!("{}: judged by manifests that are not those that were run: {names}", run.name);
    }
    let target = &run.record.target;
    let of = match (&target.gateway_api_version, &target.gateway_api_channel, &target.edition) {
        (Some(version), Some(channel), _) => format!("Gateway API {version} {channel}"),
        (_, _, Some(edition)) => format!("{}, edition {edition}", target.dialect),
        _ => target.dialect.clone(),
    };
    let (name, date) = (run.name.clone(), run.record.date.clone());
    Run { name, target: target.name.clone(), of, date, counts: Default::default() }
}

/// Every clause that targets of a suite may be held to, and what else was asked for.
fn clauses(suite: &Suite, args: &Args) -> Vec<Clause> {
    let here = suite.requirements.iter().filter(|one| !suite.vocabulary.edition.is_elsewhere(&one.id));
    let mut all: Vec<Clause> = here
        .map(|one| {
            let reason = one.untested.as_ref().map(|why| format!("no cluster shows it: {why}"));
            let reason = reason.or_else(|| one.later.as_ref().map(|why| format!("no scenario asks it yet: {why}")));
            let is_own = one.tests.iter().all(|kind| *kind == TestKind::C);
            Clause {
                id: one.id.clone(),
                level: Some(format!("{:?}", one.level).to_lowercase()),
                text: one.text.clone(),
                source: Some(one.source.clone()),
                otherwise: match reason {
                    None if is_own => Unlooked::OfHarness,
                    None => Unlooked::Open,
                    Some(reason) => Unlooked::Because(reason),
                },
            }
        })
        .collect();
    if suite.reference() != Some(Reference::GatewayApi) {
        return all;
    }
    if args.upstream {
        all.extend(upstream_tests().iter().map(|test| Clause {
            id: format!("upstream:{}", test.name),
            level: None,
            text: test.asks(),
            source: Some(test.source()),
            otherwise: Unlooked::Open,
        }));
    }
    if args.blind {
        all.extend(blind_spots().iter().map(|spot| Clause {
            id: spot.clause(),
            level: None,
            text: format!("Not: {}", spot.text),
            source: spot.test().map(UpstreamTest::source),
            otherwise: match spot.untested.as_ref().or(spot.later.as_ref()) {
                Some(reason) => Unlooked::Because(reason.clone()),
                None => Unlooked::Open,
            },
        }));
    }
    all
}
