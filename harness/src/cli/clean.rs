//! `gateproof clean`: what a killed run left behind.

use std::collections::BTreeSet;
use std::io::{BufRead as _, IsTerminal as _};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use gateproof_report::terminal::printable;
use schemars::JsonSchema;
use serde::Serialize;

use super::options::connect_failure;
use super::options::source;
use super::output::{self, Format, say, tell};
use super::{Failure, Outcome};
use crate::cluster::clean::{self, CleanScope, Cleaned, Leftover, Runs};
use crate::cluster::names;
use crate::cluster::write::Writer;
use crate::cluster::{api, connect};
use crate::exit_codes;
use crate::log::{Timing, TimingProfile};

/// Remove what a run left behind in a cluster
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  gateproof clean --context kind-dev                   runs that are over\n  gateproof clean --run k3f9a2 --kubeconfig testbed.kubeconfig\n                                                       one run, over or not\n  gateproof clean --all --yes                          every run, and what runs share"
)]
pub(crate) struct Args {
    /// What this run made, whether it is over or not, by the value of the label gateproof.dev/run
    #[arg(long, value_name = "ID", conflicts_with = "all")]
    run: Option<String>,
    /// What every run made, those under way too, and what runs share
    #[arg(long)]
    all: bool,
    /// Do not ask before --all
    #[arg(long, requires = "all")]
    yes: bool,
    /// Kubeconfig file, instead of $KUBECONFIG and ~/.kube/config
    #[arg(long, value_name = "FILE")]
    kubeconfig: Option<PathBuf>,
    /// Context of the kubeconfig, instead of the current one
    #[arg(long, value_name = "NAME")]
    context: Option<String>,
    /// How to print it
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
}

/// What a clean-up came to.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Document {
    /// Objects that are as they were before the run, as `Kind/name`.
    restored: Vec<String>,
    /// Objects that are gone, as `Kind/name`.
    removed: Vec<String>,
    /// Objects that are not.
    leftovers: Vec<Remnant>,
    /// Objects that have the label of a run and were not made by one, as `Kind/name`: they stay.
    others: Vec<String>,
    /// Runs that are under way, and were left alone.
    alive: Vec<String>,
    /// Runs without a Lease, of which nobody can tell whether they are over; left alone.
    unknown: Vec<String>,
}

/// Something that did not go.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Remnant {
    /// `Kind/name`.
    object: String,
    /// What holds it, as far as it can be told.
    diagnosis: String,
}

impl Document {
    fn of(Cleaned { restored, removed, leftovers, others }: Cleaned, runs: Runs) -> Document {
        let remnant = |Leftover { object, diagnosis }| Remnant { object, diagnosis };
        Document {
            restored,
            removed,
            leftovers: leftovers.into_iter().map(remnant).collect(),
            others,
            alive: runs.alive.into_iter().collect(),
            unknown: runs.unknown.into_iter().collect(),
        }
    }
}

impl Document {
    fn found_nothing(&self) -> bool {
        self.restored.is_empty() && self.removed.is_empty() && self.leftovers.is_empty() && self.others.is_empty()
    }
}

/// Runs the verb.
pub(crate) async fn run(args: Args) -> Outcome {
    let environment = |error: &dyn std::error::Error| {
        Failure::environment(api::chain(error), "check the cluster and the permissions of the user")
    };
    let api = connect::connect(&source(args.kubeconfig, args.context)).await;
    let api = api.map_err(|error| connect_failure(&error))?;
    let mut runs = Runs::default();
    let scope = match &args.run {
        Some(id) if !names::is_run_id(id) => {
            return Err(Failure::usage(
                format!("`{}` is no ID of a run", printable(id)),
                "it is the value of the label gateproof.dev/run, such as k3f9a2: a run names it when it begins",
            ));
        }
        Some(id) => CleanScope::run(id),
        None if args.all => {
            if !args.yes && !agreed() {
                return Err(Failure::usage("nothing was removed", "answer `yes`, or add --yes"));
            }
            CleanScope::All
        }
        None => {
            runs = clean::runs(&api, wait).await.map_err(|e| environment(&e))?;
            CleanScope::Runs(runs.over.clone())
        }
    };
    let cleaned = if scope == CleanScope::Runs(BTreeSet::new()) {
        Cleaned::default()
    } else {
        let kinds = clean::kinds(&api).await.map_err(|e| environment(&e))?;
        let timing = Timing::of(TimingProfile::Real);
        let writer = Writer::new(api.clone(), Arc::new(kinds), &timing, None);
        clean::clean(&api, &writer, &scope, timing.gateway).await.map_err(|e| environment(&e))?
    };
    let code = if cleaned.leftovers.is_empty() { exit_codes::PASSED } else { exit_codes::INCONCLUSIVE };
    let document = Document::of(cleaned, runs);
    match args.format {
        Format::Json => output::json(&document)?,
        Format::Text => {
            print(&document);
            if let Some(id) = args.run.filter(|_| document.found_nothing()) {
                say!("no run {} has anything here", printable(&id));
            }
        }
    }
    Ok(code)
}

/// Asks whoever sits at the terminal. Where nobody does, nobody agrees.
fn agreed() -> bool {
    let mut input = std::io::stdin().lock();
    if !input.is_terminal() {
        return false;
    }
    tell!("This removes what every run of gateproof made in this cluster, those under way too. Type `yes` to go on:");
    let mut answer = String::new();
    input.read_line(&mut answer).is_ok() && answer.trim() == "yes"
}

fn wait(runs: &BTreeSet<String>, time: Duration) {
    let runs: Vec<_> = runs.iter().map(|run| printable(run)).collect();
    tell!("looking for {} s whether these runs are under way: {}", time.as_secs(), runs.join(", "));
}

fn print(document: &Document) {
    for object in &document.restored {
        say!("restored {}", printable(object));
    }
    for object in &document.removed {
        say!("removed {}", printable(object));
    }
    for Remnant { object, diagnosis } in &document.leftovers {
        say!("still there: {}: {}", printable(object), printable(diagnosis));
    }
    for object in &document.others {
        say!("left alone: {}: it has the label of a run, and no run made it", printable(object));
    }
    for run in &document.alive {
        say!(
            "left alone: run {}, which is under way; `gateproof clean --run ID` takes it all the same",
            printable(run)
        );
    }
    for run in &document.unknown {
        say!("left alone: run {}, which has no Lease; `gateproof clean --run ID` takes it", printable(run));
    }
    if !document.restored.is_empty() {
        say!("{} restored", document.restored.len());
    }
    say!("{} removed, {} left", document.removed.len(), document.leftovers.len());
}
