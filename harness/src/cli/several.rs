//! What a run of several dialects (`--dialect A,B`) comes to for each of them, and the runs themselves, with reports of their own.

use std::path::Path;

use futures::{StreamExt, stream};
use indicatif::MultiProgress;

use super::each::gravest;
use super::options::{Selection, Target};
use super::output::Format;
use super::progress::Reporter;
use super::run::{Args, one};
use super::tuning::Tuning;
use super::{Failure, Outcome, own};
use crate::exit_codes;
use crate::suite::Suite;

/// Runs all of them, and exits with what counts most of what they came to.
///
/// On embedded targets they run side by side, since each has one of its own. What they would share otherwise is one cluster, on which a
/// scenario that has to be alone would not be, so there they run one after the other.
pub(super) async fn run(args: &Args) -> Outcome {
    if args.format.format == Format::Json {
        return Err(alone("the document of --format json", &args.selection));
    }
    let runs = each(args, Cluster::Asked)?;
    let at_once = if args.target.is_embedded() { runs.len() } else { 1 };
    let bars = MultiProgress::new();
    let run = async |(name, args): (String, Args)| {
        one(args, Reporter::among(&bars, &name)).await.unwrap_or_else(|failure| failure.tell_of(&name))
    };
    let mut ended = std::pin::pin!(stream::iter(runs).map(run).buffered(at_once));
    let mut codes = Vec::new();
    while let Some(code) = ended.next().await {
        codes.push(code);
        // Whoever breaks off one does not wait for those that have not begun.
        if code == exit_codes::INTERRUPTED && at_once == 1 {
            break;
        }
    }
    Ok(gravest(codes))
}

/// What has a meaning for one of several dialects alone.
fn alone(what: &str, selection: &Selection) -> Failure {
    let problem =
        format!("{what} is about one dialect, and these are several: {}", selection.dialect.dialects.join(", "));
    Failure::usage(problem, "name one; nothing was applied")
}

/// Whether the target is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Cluster {
    /// It is, so it has to be known which it is.
    Asked,
    /// It is not.
    NotAsked,
}

/// What one of several dialects is tested with: of what says which scenarios run, where and how.
pub(super) struct Aimed {
    /// Name of the dialect.
    pub(super) name: String,
    /// Which scenarios.
    pub(super) selection: Selection,
    /// Where.
    pub(super) target: Target,
    /// How.
    pub(super) tuning: Tuning,
    suite: Suite,
}

/// What each of several dialects is tested with. Whatever is wrong with one is said before any of them is asked.
pub(super) fn aimed(
    selection: &Selection,
    target: &Target,
    tuning: &Tuning,
    cluster: Cluster,
) -> Result<Vec<Aimed>, Failure> {
    let of_one = [
        ("a selection", !selection.selectors.is_empty() || !selection.profiles.is_empty()),
        ("a manifest of --file", !selection.files.is_empty()),
        ("a fault or variant of --target", target.target != "embedded"),
    ];
    if let Some((what, _)) = of_one.iter().find(|(_, is_given)| *is_given) {
        return Err(alone(what, selection));
    }
    let parts = selection.dialect.each()?.into_iter().map(|(dialect, suite)| Aimed {
        name: suite.dialect.name().to_owned(),
        selection: Selection { dialect, ..selection.clone() },
        target: target.clone(),
        tuning: tuning.clone(),
        suite,
    });
    let mut parts: Vec<Aimed> = parts.collect();
    let kept = parts.iter().map(|part| {
        let (mut target, mut tuning) = (target.clone(), tuning.clone());
        own::keep(&mut target, &mut tuning, &part.suite, &suites(&parts));
        (target, tuning)
    });
    let kept: Vec<_> = kept.collect();
    for (part, (kept_target, kept_tuning)) in parts.iter_mut().zip(kept) {
        (part.target, part.tuning) = (kept_target, kept_tuning);
        let Aimed { name, target: of_it, tuning, suite, .. } = part;
        if cluster == Cluster::Asked && of_it.choice(suite)?.is_embedded() != target.is_embedded() {
            let problem = format!("the others are to be tested on a cluster, and nothing names one for `{name}`");
            return Err(Failure::usage(problem, "name it with --context or --kubeconfig; nothing was applied"));
        }
        own::of_tuning(tuning, suite)?;
        of_it.services.read(suite)?;
    }
    Ok(parts)
}

fn suites(parts: &[Aimed]) -> Vec<&Suite> {
    parts.iter().map(|part| &part.suite).collect()
}

/// The run of each, with the name of the dialect.
pub(super) fn each(args: &Args, cluster: Cluster) -> Result<Vec<(String, Args)>, Failure> {
    let of_one =
        [("a list of known failures", args.known_failures.is_some()), ("--rerun-failed", args.rerun_failed.is_some())];
    if let Some((what, _)) = of_one.iter().find(|(_, is_given)| *is_given) {
        return Err(alone(what, &args.selection));
    }
    let parts = aimed(&args.selection, &args.target, &args.tuning, cluster)?;
    let mut identities = Vec::new();
    for part in &parts {
        let mut identity = args.identity.clone();
        own::keep_identity(&mut identity, &part.suite, &suites(&parts));
        own::of_identity(&identity, &part.suite)?;
        identities.push(identity);
    }
    let run = |(part, identity): (Aimed, _)| {
        let Aimed { name, selection, target, tuning, .. } = part;
        let report_dir = Path::new(&args.report_dir).join(&name);
        (name, Args { selection, target, tuning, identity, report_dir, ..args.clone() })
    };
    Ok(parts.into_iter().zip(identities).map(run).collect())
}
