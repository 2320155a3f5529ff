//! `gateproof init`: the files with which an implementation is tested every night.

mod carried;
mod facts;
mod files;
mod shipped;
mod workflow;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use clap::ValueEnum;
use gateproof_report::record::{Outcome as Came, RunRecord, repeat_of};
use gateproof_report::terminal::printable;
use gateproof_report::words::counted;
use gateproof_report::{first_known, reproduce};
use jiff::ToSpan;
use jiff::civil::Date;
use serde_json::Value;

use self::carried::{Carried, Places};
use self::shipped::{HERE, Source};
use self::workflow::Workflow;
use super::options::{builtin_scenarios, connect_failure, source};
use super::output::say;
use super::report_dir::RECORD;
use super::{Failure, Outcome, given};
use crate::cluster::{api, clock, connect};
use crate::dialects::Dialect;
use crate::exit_codes;

/// Write the workflow that tests an implementation every night, and a first file of known failures
///
/// What can be found out is not asked: who and where from the git remote, the class, the options and today's failures from the reports
/// of a first run, if there are some. The files go to the top of the repository, where CI looks for them. A cluster is looked at only with --from-cluster, and nothing of it is changed.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  gateproof run --gateway-class my-class --context kind-dev; gateproof init    what fails today is known until a month from now
  gateproof init --gateway-class my-class --from acme/gateproof@v0.1.0
  gateproof init --from 'acme/gateproof@COMMIT # v0.1.0'         nobody can put anything else in its place
  gateproof init --ci gitlab --from-cluster")]
pub(crate) struct Args {
    /// The repository of the implementation, or a folder in it
    #[arg(default_value = ".")]
    dir: PathBuf,
    /// The reports of a first run, instead of gateproof-report in that folder or at the top
    #[arg(long, value_name = "DIR")]
    report: Option<PathBuf>,
    /// The GatewayClass, instead of that of the first run
    #[arg(long, value_name = "NAME")]
    gateway_class: Option<String>,
    /// Look for GatewayClasses in the cluster of the current context
    #[arg(long)]
    from_cluster: bool,
    /// For which CI, instead of the one that the remote tells
    #[arg(long, value_enum)]
    ci: Option<Ci>,
    /// Where gateproof and its action are, as OWNER/REPOSITORY@REF, or as 'OWNER/REPOSITORY@COMMIT # RELEASE'
    #[arg(long, value_name = "REF", default_value = HERE)]
    from: String,
    /// The last day of what is known to fail, instead of one in 30 days
    #[arg(long, value_name = "DATE")]
    until: Option<Date>,
    /// Write over files that are there
    #[arg(long)]
    force: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Ci {
    /// A workflow for GitHub
    Github,
    /// A file to include for GitLab
    Gitlab,
}

const KNOWN: &str = "gateproof-known-failures.yaml";
const REPORT: &str = "gateproof-report";
/// The class until somebody names one.
const CLASS: &str = "my-class";
const INSTALL: &str = "scripts/install-controller";
const DAYS: i64 = 30;

/// Runs the verb.
pub(crate) async fn run(args: Args) -> Outcome {
    let mut found: Vec<[String; 2]> = Vec::new();
    let mut next = Vec::new();
    let from = Source::of(&args.from)?;
    let place = Place::of(&args.dir);
    if place.is_above {
        found.push(["top of the repository".to_owned(), place.root.display().to_string()]);
    }
    let remote = facts::remote(&place.root);
    if let Some(remote) = &remote {
        found.push(["remote".to_owned(), remote.url()]);
    }
    let (record, about) = match first_run(&args, &place)? {
        FirstRun::None => (None, None),
        FirstRun::Ours(dir, record) => {
            let about = format!("{} of {}", dir.display(), printable(&record.date));
            (Some((dir, record)), Some(about))
        }
        FirstRun::Others(what) => (None, Some(format!("{what}: nothing is taken from it"))),
    };
    found.extend(about.map(|about| ["first run".to_owned(), about]));
    let is_gitlab = remote.as_ref().is_some_and(|remote| remote.host.contains("gitlab"));
    let ci = args.ci.unwrap_or(if is_gitlab { Ci::Gitlab } else { Ci::Github });
    let carried = record.as_ref().map(|(dir, record)| {
        let started = [dir.parent(), Some(Path::new(".")), Some(&*args.dir), Some(&*place.top)];
        let bases = started.into_iter().flatten().map(Path::to_owned).collect();
        carried::of(record, ci, &Places { top: place.top.clone(), bases })
    });
    let carried = carried.unwrap_or_default();
    let record = record.map(|(_, record)| record);
    if !carried.options.is_empty() {
        let words = carried.options.iter().flatten().map(String::as_str);
        found.push(["its options".to_owned(), printable(&reproduce::line(words)).into_owned()]);
    }
    let class = class(&args, record.as_deref(), &mut found, &mut next).await?;
    let target = record.as_ref().map(|record| &record.target);
    let release = target.and_then(|target| target.gateway_api_version.clone());
    let release = release
        .filter(|release| facts::is_object_name(release))
        .unwrap_or_else(|| format!("v1.{}.0", gateproof_suites::NEWEST_MINOR));
    let install = facts::install(&place.root, &place.folder);
    if let Some((_, file)) = &install {
        found.push(["installed by".to_owned(), file.clone()]);
    }
    let (install, is_known) = install.map_or((INSTALL.to_owned(), false), |(command, _)| (command, true));
    let options = options(&carried, record.as_deref(), ci);
    let until = last_day(args.until)?;
    let workflow = Workflow {
        ci,
        source: &from,
        remote: remote.as_ref(),
        release: &release,
        is_experimental: target.is_some_and(|target| target.gateway_api_channel.as_deref() == Some("experimental")),
        install: &install,
        class: &class,
        known: carried.known.as_deref().unwrap_or(KNOWN),
        options: &options,
    };
    let mut files = vec![(Workflow::path(ci), workflow.render())];
    if carried.known.is_none() {
        let known = first_known::render(record.as_deref(), &until.to_string())
            .map_err(|error| Failure::environment(error, "this is a mistake of gateproof; please report it"))?;
        files.push((KNOWN, known));
    }
    files::write(&place.root, &files, args.force)?;

    for [what, value] in &found {
        say!("found    {what}: {value}");
    }
    for line in &carried.left {
        say!("left out {line}");
    }
    for (path, _) in &files {
        say!("written  {}", place.root.join(path).display());
    }
    next.extend(carried.next);
    next.extend(to_do(&workflow, is_known));
    next.extend(after_first_run(&workflow, record.as_deref(), carried.known.is_some())?);
    next.push(format!("commit {} and {}; docs/ci.md of gateproof says what a run does", files[0].0, workflow.known));
    for (index, line) in next.iter().enumerate() {
        say!("next {:>2}. {line}", index + 1);
    }
    Ok(exit_codes::PASSED)
}

/// Where the files go.
struct Place {
    /// As it is said.
    root: PathBuf,
    /// The same, without links.
    top: PathBuf,
    /// The folder that was named, from there.
    folder: PathBuf,
    /// Whether that is another one.
    is_above: bool,
}

impl Place {
    /// The top of the repository, if there is one; otherwise the folder itself.
    fn of(dir: &Path) -> Place {
        let there = dir.canonicalize().unwrap_or_else(|_| dir.to_owned());
        match facts::top(dir) {
            Some(top) if top != there => {
                let folder = there.strip_prefix(&top).map(Path::to_owned).unwrap_or_default();
                Place { root: top.clone(), top, folder, is_above: true }
            }
            _ => Place { root: dir.to_owned(), top: there, folder: PathBuf::new(), is_above: false },
        }
    }
}

/// The options of the nightly's run. Kind has no way to Gateways of its own, so where nobody knows that it needs none, there is one.
fn options(carried: &Carried, record: Option<&RunRecord>, ci: Ci) -> Vec<Vec<String>> {
    let mut options = carried.options.clone();
    let went_around =
        |record: &RunRecord| record.arguments.iter().any(|word| word == "--dial" || word == "--dial-proxy");
    let is_open = record.is_none_or(went_around);
    if ci == Ci::Github && is_open && !carried::has(&options, "--port-forward") {
        options.push(vec!["--port-forward".to_owned()]);
    }
    options
}

/// What somebody has to do beside.
fn to_do(workflow: &Workflow<'_>, is_install_known: bool) -> Vec<String> {
    let mut next = Vec::new();
    let (path, Source { repository, reference, release }) = (Workflow::path(workflow.ci), workflow.source);
    let has = |name| carried::has(workflow.options, name);
    if workflow.source.is_open() {
        next.push(format!("in {path} put the repository from which you have gateproof in the place of `{repository}`"));
    }
    match workflow.ci {
        Ci::Github => {
            if !workflow.source.is_pinned() {
                next.push(format!(
                    "pin gateproof to a commit, which nobody can move: write this again with --force --from '{repository}@COMMIT # {release}'. The \
                     last line of `git ls-remote https://github.com/{repository} {reference} '{reference}^{{}}'` begins with it"
                ));
            }
            next.push(match is_install_known {
                true => "see that the command behind `install` brings your controller and its GatewayClass".to_owned(),
                false => {
                    format!(
                        "write {INSTALL}: it brings your controller and its GatewayClass onto the cluster of kubectl"
                    )
                }
            });
            next.push(match has("--port-forward") {
                true => "see that Gateways get addresses: kind has nothing that gives them to Services of type LoadBalancer; leave \
                         --port-forward out if the runner can reach them"
                    .to_owned(),
                false => "see that Gateways get addresses: kind has nothing that gives them to Services of type LoadBalancer; add \
                          --port-forward if the runner cannot reach them"
                    .to_owned(),
            });
        }
        Ci::Gitlab => {
            next.push(format!(
                "include {path} in .gitlab-ci.yml, and give the project a KUBECONFIG and the job the checksum"
            ));
            if !has("--backends") {
                next.push(format!(
                    "see that the data plane reaches the job, where the backends run; otherwise add --backends deployed --backend-image IMAGE, \
                     as {path} says"
                ));
            }
            if !has("--port-forward") {
                next.push(
                    "see that the job reaches the addresses of Gateways; otherwise add --port-forward".to_owned(),
                );
            }
        }
    }
    if let Some(image) =
        workflow.options.iter().find(|words| words[0] == "--backend-image").and_then(|words| words.get(1))
    {
        next.push(format!("see that the cluster can pull {image}"));
    }
    if workflow.remote.is_none() {
        next.push("there is no git remote that tells who you are: complete --organization and the rest".to_owned());
    }
    next
}

/// What somebody has to do about what a first run says, and what it does not. `has_known` is whether it has a file of known failures.
fn after_first_run(
    workflow: &Workflow<'_>,
    record: Option<&RunRecord>,
    has_known: bool,
) -> Result<Vec<String>, Failure> {
    let (path, known) = (Workflow::path(workflow.ci), workflow.known);
    let Some(record) = record else {
        return Ok(vec![format!(
            "run `gateproof run --gateway-class {}` once, and `gateproof init --force` again: what fails then is known",
            workflow.class
        )]);
    };
    let mut next = Vec::new();
    if !carried::has(workflow.options, "-f") {
        let (had, all) = (record.scenarios.iter().map(|one| repeat_of(&one.name).0), builtin_scenarios()?.len());
        let had = had.collect::<BTreeSet<_>>().len();
        if had < all {
            next.push(format!(
                "know that the first run had {had} of {all} scenarios: what fails in the others fails the nightly"
            ));
        }
    }
    let unrecorded = carried::unrecorded().join(", ");
    next.push(format!("add to {path} what of {unrecorded} the nightly needs: the first run's record has none of them"));
    if has_known {
        let failed = record.scenarios.iter().filter(|one| matches!(one.outcome, Came::Failed | Came::Late)).count();
        let failed = failed + record.contract.iter().filter(|rule| rule.fails()).count();
        if failed > 0 {
            let failures = counted(failed, "failure", "failures");
            next.push(format!("add to {known} what it does not know: the first run had {failures} beside"));
        }
    } else {
        next.push(format!("give each entry of {known} its issue, and a day on which it will be mended"));
    }
    Ok(next)
}

/// The last day of what is known.
fn last_day(until: Option<Date>) -> Result<Date, Failure> {
    match until {
        Some(day) if day < in_days(0)? => {
            let help = "name a day to come with --until";
            Err(Failure::usage(format!("{day} is past: nothing would be known to fail"), help))
        }
        Some(day) => Ok(day),
        None => in_days(DAYS),
    }
}

/// What there is of a first run.
enum FirstRun {
    None,
    /// Where it is, and its record.
    Ours(PathBuf, Box<RunRecord>),
    /// One that says nothing of the implementation, in words.
    Others(String),
}

/// The first run, if there is one. The reference's failures are nobody's, and what is written is about Gateway API.
fn first_run(args: &Args, place: &Place) -> Result<FirstRun, Failure> {
    let (here, top) = (args.dir.join(REPORT), place.root.join(REPORT));
    // A run of several dialects has a directory for each.
    let usual = [here, top].into_iter().flat_map(|dir| [dir.join(Dialect::gateway_api().name()), dir]);
    let usual = usual.filter(|dir| dir.is_dir()).max_by_key(|dir| dir.join(RECORD).is_file());
    let Some(dir) = args.report.clone().or(usual) else { return Ok(FirstRun::None) };
    if args.report.is_none() && !dir.join(RECORD).is_file() {
        let what = format!("{} has no record of a run that ended", dir.display());
        return Ok(FirstRun::Others(what));
    }
    let record = given::read_record(&dir)?;
    let target = &record.target;
    let other = if target.embedded {
        "about the embedded target, whose failures are not yours".to_owned()
    } else if target.dialect != Dialect::gateway_api().name() {
        format!("of the dialect {}, and what is written tests Gateway API", printable(&target.dialect))
    } else {
        return Ok(FirstRun::Ours(dir, Box::new(record)));
    };
    let what = format!("{} is {other}", dir.display());
    match args.report {
        None => Ok(FirstRun::Others(what)),
        Some(_) => Err(Failure::usage(what, "name the reports of a run of Gateway API with --gateway-class")),
    }
}

/// The class by its name, as the user says, the first run, or the cluster.
async fn class(
    args: &Args,
    record: Option<&RunRecord>,
    found: &mut Vec<[String; 2]>,
    next: &mut Vec<String>,
) -> Result<String, Failure> {
    let name = args.gateway_class.clone().or_else(|| record.and_then(|record| record.target.gateway_class.clone()));
    if let Some(name) = name {
        if !facts::is_object_name(&name) {
            let problem = format!("`{}` cannot be the name of a GatewayClass", printable(&name));
            return Err(Failure::usage(problem, "name it with --gateway-class"));
        }
        return Ok(name);
    }
    if args.from_cluster {
        let mut classes = of_cluster().await?;
        let said: Vec<String> = classes.iter().map(|(name, controller)| format!("{name} ({controller})")).collect();
        found.push(["classes of the cluster".to_owned(), said.join(", ")]);
        if classes.len() == 1 {
            return Ok(classes.swap_remove(0).0);
        }
    }
    next.push(format!("put the name of your GatewayClass in the place of `{CLASS}`"));
    Ok(CLASS.to_owned())
}

/// The classes of the current context with their controllers. Reads, and nothing else.
async fn of_cluster() -> Result<Vec<(String, String)>, Failure> {
    let dialect = Dialect::gateway_api();
    let Some(kind) = dialect.class() else { return Ok(Vec::new()) };
    let connected = connect::connect(&source(None, None)).await.map_err(|error| connect_failure(&error))?;
    let path = format!("/apis/{}/v1/{}", dialect.group_of(&kind.kind), kind.plural);
    let list = connected.get(&path).await;
    let list =
        list.map_err(|error| Failure::environment(api::chain(&error), "leave --from-cluster out, or name the class"))?;
    let text =
        |object: &Value, place: &str| object.pointer(place).and_then(Value::as_str).unwrap_or_default().to_owned();
    let class = |object: &Value| (text(object, "/metadata/name"), text(object, "/spec/controllerName"));
    let all = list["items"].as_array().into_iter().flatten().map(class);
    Ok(all
        .filter(|(name, _)| facts::is_object_name(name))
        .map(|(name, of)| (name, printable(&of).into_owned()))
        .collect())
}

fn in_days(days: i64) -> Result<Date, Failure> {
    let today = clock::calendar().to_zoned(jiff::tz::TimeZone::UTC).date();
    today.checked_add(days.days()).map_err(|error| Failure::environment(error, "say the last day with --until"))
}
