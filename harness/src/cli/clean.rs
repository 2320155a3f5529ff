//! `gateproof clean`: what a killed run left behind.

use std::path::PathBuf;
use std::sync::Arc;

use gateproof_report::terminal::printable;
use schemars::JsonSchema;
use serde::Serialize;

use super::options::source;
use super::output::{self, Format, say};
use super::run::connect_failure;
use super::{Failure, Outcome};
use crate::exit_codes;
use crate::log::{Timing, TimingProfile};
use crate::target::clean::{CleanScope, Cleaned, Leftover, clean};
use crate::target::write::Writer;
use crate::target::{api, connect, discover, undo};

/// Remove what a run left behind in a cluster
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  gateproof clean --context kind-dev\n  gateproof clean --run 3f9a2c --kubeconfig testbed.kubeconfig"
)]
pub(crate) struct Args {
    /// Only what this run left, by the value of the label gateproof.dev/run
    #[arg(long, value_name = "ID")]
    run: Option<String>,
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
}

/// Something that did not go.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Remnant {
    /// `Kind/name`.
    object: String,
    /// What holds it, as far as it can be told.
    diagnosis: String,
}

impl From<Cleaned> for Document {
    fn from(Cleaned { restored, removed, leftovers }: Cleaned) -> Document {
        let remnant = |Leftover { object, diagnosis }| Remnant { object, diagnosis };
        Document { restored, removed, leftovers: leftovers.into_iter().map(remnant).collect() }
    }
}

/// Runs the verb.
pub(crate) async fn run(args: Args) -> Outcome {
    let environment = |error: &dyn std::error::Error| {
        Failure::environment(api::chain(error), "check the cluster and the permissions of the user")
    };
    let api = connect::connect(&source(args.kubeconfig, args.context)).await;
    let api = api.map_err(|error| connect_failure(&error))?;
    let scope = args.run.map_or(CleanScope::All, CleanScope::Run);
    let groups = undo::groups(&api, &scope).await.map_err(|e| environment(&e))?;
    let kinds = discover::kinds(&api, &groups).await.map_err(|e| environment(&e))?;
    let timing = Timing::of(TimingProfile::Real);
    let writer = Writer::new(api.clone(), Arc::new(kinds), &timing, None);
    let cleaned = clean(&api, &writer, &scope, timing.gateway).await.map_err(|e| environment(&e))?;
    let code = if cleaned.leftovers.is_empty() { exit_codes::PASSED } else { exit_codes::INCONCLUSIVE };
    if args.format == Format::Json {
        output::json(&Document::from(cleaned))?;
        return Ok(code);
    }
    for object in &cleaned.restored {
        say!("restored {}", printable(object));
    }
    for object in &cleaned.removed {
        say!("removed {}", printable(object));
    }
    for leftover in &cleaned.leftovers {
        say!("still there: {}: {}", printable(&leftover.object), printable(&leftover.diagnosis));
    }
    if !cleaned.restored.is_empty() {
        say!("{} restored", cleaned.restored.len());
    }
    say!("{} removed, {} left", cleaned.removed.len(), cleaned.leftovers.len());
    Ok(code)
}
