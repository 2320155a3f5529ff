//! `gateproof report matrix`: ConformanceReports of anybody beside each other.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io::Read as _;
use std::path::{Path, PathBuf};

use clap::ValueEnum;
use gateproof_report::matrix::{self, Choice, Clause, Known, KnownFeature, Read, SuiteTest, Unread};
use gateproof_report::words::counted;
use gateproof_suites::{Feature, features, upstream_tests};

use super::options::scenarios_of;
use super::profiles::profile_rules;
use super::{Failure, Outcome, given, output};
use crate::exit_codes;
use crate::scenario::select;
use crate::suite::Suite;

/// How large a report may be; the largest that was published has 20 kB.
const LARGEST: u64 = 4 * 1024 * 1024;
/// How many files are read at most.
const FILES: usize = 20_000;

/// Set ConformanceReports, from any producer and of any release, beside each other.
///
/// A column is a report, a row a profile, a feature, or a test that somebody failed or left out. What is wrong with a file and
/// can be done without is named, with what was taken instead. Where implementations that claim the same differ stands out.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  gateproof report matrix reports/ --latest --as html > matrix.html
  gateproof report matrix reports/v1.6 ours/conformance-report.yaml
  gateproof report matrix reports/ --project cilium --project istio --release v1.5 --as json

Directories are searched at every depth for files that end with .yaml or .yml; links to other directories are not followed.")]
pub(super) struct Args {
    /// ConformanceReports, or directories of them
    #[arg(required = true)]
    paths: Vec<PathBuf>,
    /// As what
    #[arg(long = "as", value_enum, default_value_t = Form::Markdown)]
    form: Form,
    /// Only reports of this project, organisation, or ORGANISATION/PROJECT; may be repeated
    #[arg(long = "project", value_name = "NAME")]
    projects: Vec<String>,
    /// Only reports about this release of Gateway API, such as v1.6.1, or v1.6 for all of it; may be repeated
    #[arg(long = "release", value_name = "VERSION")]
    releases: Vec<String>,
    /// Of each implementation only its last version at its last release
    #[arg(long)]
    latest: bool,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Form {
    /// Who has which profile, where implementations differ, and what was tolerated.
    Markdown,
    /// Every cell, on a page that needs nothing beside it.
    Html,
    /// Every cell, for programs.
    Json,
}

/// Runs the verb.
pub(super) fn run(args: &Args) -> Outcome {
    let known = known()?;
    let mut files: Vec<(String, Read)> = Vec::new();
    for path in &args.paths {
        if !path.is_dir() {
            let text = given::read(path)?;
            files.push((name(path), matrix::read(&name(path), &text, &known)));
            continue;
        }
        let mut found = Vec::new();
        search(path, &mut found)?;
        files.extend(found.into_iter().map(|file| (name(&file), read(&file, &known))));
    }
    let choice = Choice { projects: args.projects.clone(), releases: args.releases.clone(), latest: args.latest };
    if files.iter().all(|(_, read)| read.reports.is_empty()) {
        let first = files.iter().flat_map(|(_, read)| &read.unread).next();
        let first = first.map(|one| format!("; {}:{} {}", one.file, one.line, one.problem)).unwrap_or_default();
        let problem = format!("no ConformanceReport in {}{first}", counted(files.len(), "file", "files"));
        return Err(Failure::usage(problem, "name files or directories of ConformanceReports"));
    }
    let matrix = matrix::matrix(files, &choice, &known)
        .map_err(|unmatched| Failure::usage(unmatched, "choose one of these, or leave the choice out"))?;
    match args.form {
        Form::Markdown => output::out(format_args!("{}", matrix::markdown(&matrix))),
        Form::Html => output::out(format_args!("{}", matrix::html(&matrix))),
        Form::Json => output::json(&matrix)?,
    }
    Ok(exit_codes::PASSED)
}

fn name(path: &Path) -> String {
    path.display().to_string()
}

/// Every YAML file below a directory, in order of path.
fn search(folder: &Path, into: &mut Vec<PathBuf>) -> Result<(), Failure> {
    let unreadable = |error| Failure::usage(format!("cannot read {}: {error}", folder.display()), "check the path");
    let mut entries: Vec<PathBuf> = Vec::new();
    for entry in fs::read_dir(folder).map_err(unreadable)? {
        entries.push(entry.map_err(unreadable)?.path());
    }
    entries.sort();
    for entry in entries {
        let is_folder = fs::symlink_metadata(&entry).is_ok_and(|there| there.is_dir());
        let is_hidden = entry.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b"."));
        if is_folder && !is_hidden {
            search(&entry, into)?;
        } else if entry.extension().is_some_and(|extension| extension == "yaml" || extension == "yml")
            && entry.is_file()
        {
            if into.len() == FILES {
                let problem = format!("{} has more than {FILES} files", folder.display());
                return Err(Failure::usage(problem, "name the directory of the reports alone"));
            }
            into.push(entry);
        }
    }
    Ok(())
}

/// A file that a search found: what is wrong with it is no reason to tell nothing of the others.
fn read(file: &Path, known: &Known) -> Read {
    let unread = |problem: String| {
        let unread = vec![Unread { file: name(file), line: 1, problem }];
        Read { unread, ..Read::default() }
    };
    let mut text = Vec::new();
    // One byte more, to know whether there is more.
    match File::open(file).and_then(|file| file.take(LARGEST + 1).read_to_end(&mut text)) {
        Err(error) => unread(format!("cannot be read: {error}")),
        Ok(_) if text.len() as u64 > LARGEST => unread(format!("is larger than {LARGEST} bytes, which no report is")),
        Ok(_) => match String::from_utf8(text) {
            Ok(text) => matrix::read(&name(file), &text, known),
            Err(_) => unread("is no text in UTF-8".to_owned()),
        },
    }
}

/// What is known of Gateway API, for the rows and their links.
fn known() -> Result<Known, Failure> {
    let mistake = |error| Failure::usage(error, "this is a mistake of gateproof; please report it");
    let suite = Suite::gateway_api().map_err(mistake)?;
    let scenarios = scenarios_of(&suite, &[])?;
    // Of each clause the features that every scenario needs that proves it, and of each test those who prove the same.
    let mut needed: BTreeMap<String, BTreeSet<&str>> = BTreeMap::new();
    let mut proven: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for scenario in &scenarios {
        let features: BTreeSet<&str> = scenario.features.iter().map(String::as_str).collect();
        for clause in select::clauses(scenario) {
            match clause.strip_prefix("upstream:") {
                Some(test) => proven.entry(test.to_owned()).or_default().push(scenario.name.clone()),
                None => {
                    needed
                        .entry(clause.to_string())
                        .and_modify(|all| all.retain(|feature| features.contains(feature)))
                        .or_insert_with(|| features.clone());
                }
            }
        }
    }
    let feature = |feature: &Feature| {
        let is_about_it = |id: &str| needed.get(id).is_some_and(|features| features.contains(feature.name.as_str()));
        let clauses = suite.requirements.iter().filter(|one| is_about_it(&one.id));
        KnownFeature {
            name: feature.name.clone(),
            formerly: feature.formerly.clone(),
            link: Some(definition(feature)),
            clauses: clauses.map(|one| Clause { id: one.id.clone(), link: one.source.clone() }).collect(),
        }
    };
    let test = |test: &gateproof_suites::UpstreamTest| SuiteTest {
        name: test.name.to_owned(),
        since: test.since.to_owned(),
        features: test.features.iter().map(|one| (*one).to_owned()).collect(),
        scenarios: proven.get(test.name).cloned().unwrap_or_default(),
    };
    Ok(Known {
        profiles: profile_rules(""),
        features: features().iter().map(feature).collect(),
        tests: upstream_tests().iter().map(test).collect(),
    })
}

/// Where upstream defines a feature: at the newest release that has it.
fn definition(feature: &Feature) -> String {
    let release = if feature.until.is_some() { "v1.6.1" } else { "v1.7.0" };
    let file = feature.kind.to_lowercase();
    format!("https://github.com/kubernetes-sigs/gateway-api/blob/{release}/pkg/features/{file}.go")
}
