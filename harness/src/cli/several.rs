//! What a run of several dialects (`--dialect A,B`) comes to for each of them, and the runs themselves, with reports of their own.

use std::path::Path;

use futures::{StreamExt, stream};
use indicatif::MultiProgress;

use super::carry_out::{Prepared, carried_out, prepared};
use super::each::{Documents, gravest};
use super::not_run::run_failure;
use super::options::{EMBEDDED, Selection, Target, scenarios_of};
use super::output::{Format, tell};
use super::progress::Reporter;
use super::report_dir::{ReportDir, can_be_directory, not_begun};
use super::run_args::Args;
use super::tuning::{self, Tuning};
use super::{Failure, Outcome, interrupt, own};
use crate::exit_codes;
use crate::run::{self, RunError, RunOptions};
use crate::scenario::Scenario;
use crate::suite::Suite;

/// Runs all of them, and exits with what counts most of what they came to.
///
/// On embedded targets they run side by side, since each has one of its own. What they would share otherwise is one cluster, on which a
/// scenario that has to be alone would not be, so there they run one after the other. Nothing is applied there before all of them are known
/// to be such as can be run, and no scenario begins before each canary has arrived where it has to. From then on no report of an earlier
/// run is there: of a dialect whose turn never comes its directory says so.
pub(super) async fn run(args: &Args) -> Outcome {
    let (format, is_embedded) = (args.format.format, args.target.is_embedded());
    let runs = parts(args).inspect_err(|failure| not_begun(&args.report_dir, failure))?;
    let mut dirs: Vec<ReportDir> = runs.iter().map(|(_, args)| ReportDir::at(&args.report_dir)).collect();
    let names: Vec<String> = runs.iter().map(|(name, _)| name.clone()).collect();
    let mut whole = ReportDir::of_several(&args.report_dir, names.clone());
    let mut documents = Documents::default();
    let ready = match made_ready(runs, is_embedded).await {
        Ok(ready) => ready,
        Err(refused) => {
            if format == Format::Json {
                documents.written()?;
            }
            return Ok(refused.told(&mut whole, names.iter().zip(&mut dirs)));
        }
    };
    whole.begin()?;
    dirs.iter_mut().try_for_each(ReportDir::begin)?;
    let at_once = if is_embedded { ready.len() } else { 1 };
    let bars = MultiProgress::new();
    let run = async |((name, prepared), mut dir): ((String, Prepared), ReportDir)| {
        let mut documents = Documents::about(&name);
        let outcome = carried_out(prepared, &mut dir, Reporter::among(&bars, &name), &mut documents).await;
        let code = outcome.unwrap_or_else(|failure| {
            dir.broken_off(&failure);
            failure.tell_of(&name)
        });
        (code, documents)
    };
    let mut ended = std::pin::pin!(stream::iter(ready.into_iter().zip(dirs)).map(run).buffered(at_once));
    let mut codes = Vec::new();
    while let Some((code, found)) = ended.next().await {
        codes.push(code);
        documents.join(found);
        // Whoever breaks off one does not wait for those that have not begun.
        if code == exit_codes::INTERRUPTED && at_once == 1 {
            break;
        }
    }
    whole.finish()?;
    if format == Format::Json {
        documents.written()?;
    }
    Ok(gravest(codes))
}

/// The run of each, whose reports can be where they are to go.
fn parts(args: &Args) -> Result<Vec<(String, Args)>, Failure> {
    let runs = each(args, Cluster::Asked)?;
    runs.iter().try_for_each(|(_, one)| can_be_directory(&one.report_dir, "--report-dir"))?;
    Ok(runs)
}

/// Why none of several dialects is run.
#[derive(Default)]
struct Refused {
    /// What stands in the way, with the name of the dialect of which it does.
    failures: Vec<(String, Failure)>,
    is_interrupted: bool,
}

impl Refused {
    /// What was asked, unless something stands in the way.
    fn or<T>(self, asked: T) -> Result<T, Refused> {
        if self.failures.is_empty() && !self.is_interrupted { Ok(asked) } else { Err(self) }
    }

    /// Says so, also where reports of earlier runs would be taken for those of this one. The exit code that it comes to.
    fn told<'d>(self, whole: &mut ReportDir, dirs: impl Iterator<Item = (&'d String, &'d mut ReportDir)>) -> u8 {
        let others = Failure::usage("it was not begun, for another of the dialects cannot be run", "");
        whole.broken_off(&Failure::usage("it was not begun, for one of the dialects cannot be run", ""));
        for (name, dir) in dirs {
            let own = self.failures.iter().find(|(of, _)| of == name);
            dir.broken_off(own.map_or(&others, |(_, why)| why));
        }
        let mut codes: Vec<u8> = self.failures.into_iter().map(|(name, failure)| failure.tell_of(&name)).collect();
        if self.is_interrupted {
            tell!("interrupted before any scenario was run");
            codes.push(exit_codes::INTERRUPTED);
        } else {
            tell!("no scenario of any of these dialects was run");
        }
        gravest(codes)
    }
}

/// How many scenarios of each of several dialects may run at once on embedded targets: all have one machine, with their targets.
fn share(jobs: usize, dialects: usize) -> usize {
    (jobs / dialects.max(1)).max(1)
}

/// Asks of all whether they can be run: their arguments first, then on a cluster whatever can be asked without applying anything, and
/// at last each canary.
async fn made_ready(runs: Vec<(String, Args)>, is_embedded: bool) -> Result<Vec<(String, Prepared)>, Refused> {
    let (mut ready, mut refused) = (Vec::new(), Refused::default());
    for (name, args) in runs {
        let read = match args.baseline.read(&name) {
            Ok(baseline) => prepared(args, baseline).await,
            Err(failure) => Err(failure),
        };
        match read {
            Ok(one) => ready.push((name, one)),
            Err(failure) => refused.failures.push((name, failure)),
        }
    }
    let mut ready = refused.or(ready)?;
    if is_embedded {
        let count = ready.len();
        ready.iter_mut().for_each(|(_, one)| one.options.jobs = share(one.options.jobs, count));
    }
    let options: Vec<&RunOptions> = ready.iter().map(|(_, one)| &one.options).collect();
    if let (Err(failure), Some((name, _))) = (interrupt::clean_up_all_on_ctrl_c(&options), ready.first()) {
        return Err(Refused { failures: vec![(name.clone(), failure)], is_interrupted: false });
    }
    if is_embedded {
        return Ok(ready);
    }
    asked(&ready, async |one, reporter| run::inquire(&one.options, one.scenarios.clone(), reporter).await).await?;
    for one in &ready {
        // Once something is in the way, nothing more is applied.
        asked(std::slice::from_ref(one), async |one, reporter| run::try_canary(&one.options, reporter).await).await?;
    }
    Ok(ready)
}

/// Asks each of these, and says of all of them what stands in the way.
async fn asked(
    ready: &[(String, Prepared)],
    ask: impl AsyncFn(&Prepared, &mut Reporter) -> Result<(), RunError>,
) -> Result<(), Refused> {
    let mut refused = Refused::default();
    for (name, one) in ready {
        let mut reporter = Reporter::among(&MultiProgress::new(), name);
        let answer = ask(one, &mut reporter).await;
        reporter.finish();
        match answer {
            Ok(()) => {}
            Err(RunError::Interrupted) => {
                refused.is_interrupted = true;
                break;
            }
            Err(error) => refused.failures.push((name.clone(), run_failure(error))),
        }
    }
    refused.or(())
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
        ("a manifest of --file", !selection.files.is_empty()),
        ("a fault or variant of --target", target.target.as_ref().is_some_and(|target| target != EMBEDDED)),
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
    let skips = skips(&tuning.skip, &parts)?;
    let kept = parts.iter().zip(skips).map(|(part, skip)| {
        let (mut target, mut tuning) = (target.clone(), Tuning { skip, ..tuning.clone() });
        target.keep(&part.suite, &suites(&parts));
        tuning.keep(&part.suite, &suites(&parts));
        (target, tuning)
    });
    let kept: Vec<_> = kept.collect();
    // An option of a dialect that has nothing of the selection is not in vain, for it was named.
    let selected = selection.each()?;
    for (part, (kept_target, kept_tuning)) in parts.iter_mut().zip(kept) {
        (part.target, part.tuning) = (kept_target, kept_tuning);
        let Some((_, own)) = selected.iter().find(|(name, _)| *name == part.name) else { continue };
        part.selection = own.clone();
        let Aimed { name, target: of_it, tuning, suite, .. } = part;
        if cluster == Cluster::Asked && of_it.choice(suite)?.is_embedded() != target.is_embedded() {
            let problem = format!("the others are to be tested on a cluster, and nothing names one for `{name}`");
            return Err(Failure::usage(problem, "name it with --context or --kubeconfig; nothing was applied"));
        }
        tuning.is_of(suite)?;
        of_it.services.read(suite)?;
    }
    parts.retain(|part| selected.iter().any(|(name, _)| *name == part.name));
    if parts.is_empty() {
        let problem = "no scenario of any of these dialects is selected by all that is asked for";
        return Err(Failure::usage(
            problem,
            "a selection and a --profile are to be of the same dialect; nothing was applied",
        ));
    }
    Ok(parts)
}

/// What of the words of `--skip` each of several dialects knows. What none of them knows is an error.
fn skips(words: &[String], parts: &[Aimed]) -> Result<Vec<Vec<String>>, Failure> {
    if words.is_empty() {
        return Ok(vec![Vec::new(); parts.len()]);
    }
    let scenarios = parts.iter().map(|part| scenarios_of(&part.suite, &[]));
    let scenarios: Vec<Vec<Scenario>> = scenarios.collect::<Result<_, _>>()?;
    let knows: Vec<_> = scenarios.iter().map(|all| move |word: &str| tuning::skip(word, all).is_ok()).collect();
    let own = |index| own::words(words, index, &knows).map(Option::unwrap_or_default);
    (0..parts.len()).map(own).collect::<Result<_, _>>().map_err(|word| {
        let told = tuning::skip(word, &scenarios.concat()).err();
        told.unwrap_or_else(|| Failure::usage(format!("--skip: there is no scenario `{word}`"), ""))
    })
}

fn suites(parts: &[Aimed]) -> Vec<&Suite> {
    parts.iter().map(|part| &part.suite).collect()
}

/// The run of each, with the name of the dialect.
pub(super) fn each(args: &Args, cluster: Cluster) -> Result<Vec<(String, Args)>, Failure> {
    let of_one = [
        ("a list of known failures", args.known_failures.is_some()),
        ("--rerun-failed", args.rerun_failed.is_some()),
        ("--watch", !args.watch.is_empty()),
    ];
    if let Some((what, _)) = of_one.iter().find(|(_, is_given)| *is_given) {
        return Err(alone(what, &args.selection));
    }
    let parts = aimed(&args.selection, &args.target, &args.tuning, cluster)?;
    let mut identities = Vec::new();
    for part in &parts {
        let mut identity = args.identity.clone();
        identity.keep(&part.suite, &suites(&parts));
        identity.is_of(&part.suite)?;
        identities.push(identity);
    }
    let run = |(part, identity): (Aimed, _)| {
        let Aimed { name, selection, target, tuning, .. } = part;
        let report_dir = Path::new(&args.report_dir).join(&name);
        let baseline = args.baseline.of_several(&name);
        (name, Args { selection, target, tuning, identity, report_dir, baseline, ..args.clone() })
    };
    Ok(parts.into_iter().zip(identities).map(run).collect())
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::share;

    #[rstest]
    #[case::alone(32, 1, 32)]
    #[case::three(32, 3, 10)]
    #[case::fewer_than_dialects(2, 3, 1)]
    fn what_may_run_at_once_is_shared(#[case] jobs: usize, #[case] dialects: usize, #[case] each: usize) {
        assert_eq!(share(jobs, dialects), each);
    }
}
