//! `gateproof init`: the files with which an implementation is tested every night.

mod facts;

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

use clap::ValueEnum;
use gateproof_report::first_known;
use gateproof_report::record::RunRecord;
use gateproof_report::terminal::printable;
use jiff::ToSpan;
use jiff::civil::Date;
use serde_json::Value;

use self::facts::Remote;
use super::options::{connect_failure, source};
use super::output::say;
use super::report_dir::RECORD;
use super::{Failure, Outcome, given};
use crate::cluster::{api, clock, connect};
use crate::dialects::Dialect;
use crate::exit_codes;

/// Write the workflow that tests an implementation every night, and a first file of known failures
///
/// What can be found out is not asked: who and where from the git remote, the class and today's failures from the reports of a
/// first run, if there are some. A cluster is looked at only with --from-cluster, and nothing of it is changed.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  gateproof run --gateway-class my-class --context kind-dev; gateproof init    what fails today is known until a month from now
  gateproof init --gateway-class my-class --from acme/gateproof@v0.1.0
  gateproof init --ci gitlab --from-cluster")]
pub(crate) struct Args {
    /// The repository of the implementation
    #[arg(default_value = ".")]
    dir: PathBuf,
    /// The reports of a first run, instead of gateproof-report in the repository
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
    /// Where gateproof and its action are, as OWNER/REPOSITORY@REF
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

/// Whoever has it from somewhere says so.
const HERE: &str = concat!("OWNER/gateproof@v", env!("CARGO_PKG_VERSION"));
const KNOWN: &str = "gateproof-known-failures.yaml";
const REPORT: &str = "gateproof-report";
/// The class until somebody names one.
const CLASS: &str = "my-class";
const INSTALL: &str = "scripts/install-controller";
const DAYS: i64 = 30;

/// Runs the verb.
pub(crate) async fn run(args: Args) -> Outcome {
    let root = &args.dir;
    let mut found: Vec<[String; 2]> = Vec::new();
    let mut next = Vec::new();
    let remote = remote(root);
    if let Some(remote) = &remote {
        found.push(["remote".to_owned(), remote.url()]);
    }
    let (record, about) = match first_run(&args)? {
        FirstRun::None => (None, None),
        FirstRun::Ours(dir, record) => {
            let about = format!("{} of {}", dir.display(), printable(&record.date));
            (Some(record), Some(about))
        }
        FirstRun::Others(what) => (None, Some(format!("{what}: nothing is taken from it"))),
    };
    found.extend(about.map(|about| ["first run".to_owned(), about]));
    let class = class(&args, record.as_deref(), &mut found, &mut next).await?;
    let release = record.as_ref().and_then(|record| record.target.gateway_api_version.clone());
    let release = release
        .filter(|release| facts::is_object_name(release))
        .unwrap_or_else(|| format!("v1.{}.0", gateproof_suites::NEWEST_MINOR));
    let install = facts::install(root);
    if let Some((_, file)) = &install {
        found.push(["installed by".to_owned(), file.clone()]);
    }
    let (install, given) = install.map_or((INSTALL.to_owned(), false), |(command, _)| (command, true));
    let is_gitlab = remote.as_ref().is_some_and(|remote| remote.host.contains("gitlab"));
    let ci = args.ci.unwrap_or(if is_gitlab { Ci::Gitlab } else { Ci::Github });
    let (repository, reference) = from(&args.from)?;
    let arguments = remote.as_ref().map_or_else(
        || "--organization ORGANIZATION --project PROJECT --url https://example.com --contact CONTACT".to_owned(),
        |remote| {
            let (group, project) = (&remote.organization, &remote.project);
            format!("--organization {group} --project {project} --url {url} --contact {url}/issues", url = remote.url())
        },
    );
    let values = [
        ("@ACTION@", format!("{repository}/.github/actions/gateproof@{reference}")),
        (
            "@DOWNLOAD@",
            format!("https://github.com/{repository}/releases/download/{reference}/gateproof-x86_64-linux.tar.gz"),
        ),
        ("@ARGUMENTS@", arguments),
        ("@RELEASE@", release),
        ("@INSTALL@", install),
        ("@CLASS@", class.clone()),
        ("@KNOWN@", KNOWN.to_owned()),
    ];
    let (path, template) = match ci {
        Ci::Github => (".github/workflows/gateproof.yml", include_str!("init/github.yml")),
        Ci::Gitlab => (".gitlab/gateproof.yml", include_str!("init/gitlab.yml")),
    };
    let workflow = values.iter().fold(template.to_owned(), |text, (place, value)| text.replace(place, value));
    let until = match args.until {
        Some(day) if day < in_days(0)? => {
            let help = "name a day to come with --until";
            return Err(Failure::usage(format!("{day} is past: nothing would be known to fail"), help));
        }
        Some(day) => day,
        None => in_days(DAYS)?,
    };
    let known = first_known::render(record.as_deref(), &until.to_string())
        .map_err(|error| Failure::environment(error, "this is a mistake of gateproof; please report it"))?;
    let files = [(path, workflow), (KNOWN, known)];
    write(root, &files, args.force)?;

    for [what, value] in &found {
        say!("found    {what}: {value}");
    }
    for (path, _) in &files {
        say!("written  {}", root.join(path).display());
    }
    if repository.starts_with("OWNER/") {
        next.push(format!("in {path} put the repository from which you have gateproof in the place of `{repository}`"));
    }
    match ci {
        Ci::Github if !given => {
            next.push(format!(
                "write {INSTALL}: it brings your controller and its GatewayClass onto the cluster of kubectl"
            ));
        }
        Ci::Github => {
            next.push("see that the command behind `install` brings your controller and its GatewayClass".to_owned())
        }
        Ci::Gitlab => next.push(format!(
            "include {path} in .gitlab-ci.yml, and give the project a KUBECONFIG and the job the checksum"
        )),
    }
    if remote.is_none() {
        next.push("there is no git remote that tells who you are: complete --organization and the rest".to_owned());
    }
    match &record {
        Some(_) => next.push(format!("give each entry of {KNOWN} its issue, and a day on which it will be mended")),
        None => next.push(format!(
            "run `gateproof run --gateway-class {class}` once, and `gateproof init --force` again: what fails then is known"
        )),
    }
    next.push(format!("commit {path} and {KNOWN}; docs/ci.md of gateproof says what a run does"));
    for (index, line) in next.iter().enumerate() {
        say!("next {:>2}. {line}", index + 1);
    }
    Ok(exit_codes::PASSED)
}

/// The address of `origin`, if there is git and a repository.
fn remote(root: &Path) -> Option<Remote> {
    let mut git = Command::new("git");
    let output = git.arg("-C").arg(root).args(["config", "--get", "remote.origin.url"]).output().ok()?;
    Remote::of(&String::from_utf8(output.stdout).ok()?)
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
fn first_run(args: &Args) -> Result<FirstRun, Failure> {
    let dir = args.report.clone().unwrap_or_else(|| args.dir.join(REPORT));
    if args.report.is_none() && !dir.join(RECORD).is_file() {
        return Ok(FirstRun::None);
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

/// `OWNER/REPOSITORY` and `REF`.
fn from(text: &str) -> Result<(&str, &str), Failure> {
    let plain = |part: &str| !part.is_empty() && part.chars().all(|c| c.is_ascii_alphanumeric() || "._-".contains(c));
    text.split_once('@')
        .filter(|(repository, reference)| {
            plain(reference) && repository.split('/').count() == 2 && repository.split('/').all(plain)
        })
        .ok_or_else(|| {
            Failure::usage(format!("`{text}` names no repository at a ref"), format!("write it as {HERE} is written"))
        })
}

fn in_days(days: i64) -> Result<Date, Failure> {
    let today = clock::calendar().to_zoned(jiff::tz::TimeZone::UTC).date();
    today.checked_add(days.days()).map_err(|error| Failure::environment(error, "say the last day with --until"))
}

/// Writes all of them or none: a file that is there stays, unless the user wants otherwise.
fn write(root: &Path, files: &[(&str, String)], force: bool) -> Result<(), Failure> {
    let there: Vec<String> = files
        .iter()
        .map(|(path, _)| root.join(path))
        .filter(|path| fs::symlink_metadata(path).is_ok())
        .map(|path| path.display().to_string())
        .collect();
    if !there.is_empty() && !force {
        let problem = format!("there already, and nothing was written: {}", there.join(", "));
        return Err(Failure::usage(problem, "look at what is there; --force writes over it"));
    }
    files.iter().try_for_each(|(path, _)| is_free(root, path))?;
    for (path, text) in files {
        let path = root.join(path);
        let unwritable = |error: std::io::Error| {
            Failure::environment(format!("cannot write {}: {error}", path.display()), "name another directory")
        };
        fs::create_dir_all(path.parent().unwrap_or(root)).map_err(unwritable)?;
        // What a link leads to is not ours to write over.
        if fs::symlink_metadata(&path).is_ok_and(|there| there.is_symlink()) {
            fs::remove_file(&path).map_err(unwritable)?;
        }
        let mut file = fs::File::create(&path).map_err(unwritable)?;
        file.write_all(text.as_bytes()).map_err(unwritable)?;
    }
    Ok(())
}

/// That a file can be written there: what stands in its way is no folder and no pipe, and no folder on the way to it leads elsewhere.
fn is_free(root: &Path, path: &str) -> Result<(), Failure> {
    let in_the_way = |place: &Path, what: &str| {
        let problem = format!("{} {what}, and nothing was written", place.display());
        Err(Failure::usage(problem, "take it away, or name another directory"))
    };
    let mut place = root.to_owned();
    let mut parts = Path::new(path).components().peekable();
    while let Some(part) = parts.next() {
        place.push(part);
        let Ok(there) = fs::symlink_metadata(&place) else { return Ok(()) };
        match parts.peek() {
            Some(_) if !there.is_dir() => return in_the_way(&place, "is no folder"),
            None if !there.is_file() && !there.is_symlink() => return in_the_way(&place, "is no file"),
            _ => {}
        }
    }
    Ok(())
}
