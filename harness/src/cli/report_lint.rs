//! `gateproof report lint`: ConformanceReports of anybody, held to upstream's rules for submissions.

use std::fs;
use std::path::{Component, Path, PathBuf};

use gateproof_report::conformance::{self, ConformanceReport, Defect, FeatureName, KnownNames, KnownTest, Place};
use gateproof_report::terminal::printable;
use gateproof_report::words::counted;
use gateproof_suites::{Feature, NEWEST_MINOR, UpstreamTest, features, profiles, upstream_tests};
use schemars::JsonSchema;
use serde::Serialize;

use super::output::{self, Format, say, tell};
use super::report_dir::{CONFORMANCE, file_of};
use super::{Failure, Outcome, given};
use crate::exit_codes;

/// Something in a ConformanceReport that a submission may not have.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct FileDefect {
    /// The file as the user named it.
    file: String,
    /// Which field, such as `profiles[GATEWAY-HTTP].core.result`; of the place of the file `path.release`, `path.folder` or
    /// `path.name`, and `README.md` of what is beside it. Empty if the file could not be read.
    field: String,
    /// What is wrong with it, and what to do.
    problem: String,
}

/// A ConformanceReport that was read.
pub(super) struct Read {
    /// Its file.
    pub(super) file: PathBuf,
    /// What is in there.
    pub(super) text: String,
    /// What that says.
    pub(super) report: ConformanceReport,
}

/// Reads a report, given itself or the report directory of a run.
pub(super) fn read(path: &Path) -> Result<Read, Failure> {
    let file = file_of(path, CONFORMANCE)?;
    let text = given::read(&file)?;
    let report = ConformanceReport::from_yaml(&text)
        .map_err(|error| Failure::usage(format!("{}: {error}", file.display()), "see the place named above"))?;
    Ok(Read { file, text, report })
}

/// Every defect of a report, wherever it stands.
pub(super) fn defects(report: &ConformanceReport) -> Vec<Defect> {
    let test = |test: &UpstreamTest| KnownTest { name: test.name, since: test.since };
    let tests: Vec<KnownTest<'static>> = upstream_tests().iter().map(test).collect();
    let mut defects = conformance::lint(report, &tests);
    defects.extend(conformance::strangers(report, &known_names()));
    defects
}

/// Profiles and features of the releases that are known.
fn known_names() -> KnownNames<'static> {
    let feature = |feature: &'static Feature| FeatureName {
        name: &feature.name,
        formerly: feature.formerly.as_deref(),
        since: feature.since.as_deref(),
        until: feature.until.as_deref(),
    };
    KnownNames {
        profiles: profiles().iter().map(|profile| profile.name.as_str()).collect(),
        features: features().iter().map(feature).collect(),
        newest: (1, NEWEST_MINOR),
    }
}

/// Where a file stands in upstream's repository, and the README beside it; none if it stands elsewhere.
fn place(file: &Path) -> Option<(Place, Option<String>)> {
    let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    // Names of releases lead to one another there.
    let folder = fs::canonicalize(folder).ok()?;
    let whole = folder.join(file.file_name()?);
    let parts: Vec<_> = whole
        .components()
        .filter_map(|part| match part {
            Component::Normal(name) => Some(name.to_string_lossy()),
            _ => None,
        })
        .collect();
    let place = Place::of(&parts.iter().map(|part| &**part).collect::<Vec<_>>())?;
    let readme = folder.join("README.md");
    let readme = readme.is_file().then(|| fs::read(&readme).ok()).flatten();
    Some((place, readme.map(|bytes| String::from_utf8_lossy(&bytes).into_owned())))
}

/// What was made of all files.
#[derive(Default)]
struct Counts {
    fit: usize,
    unfit: usize,
    unread: usize,
    /// Whose path and README were not looked at.
    elsewhere: usize,
}

/// Looks at each file, whatever is wrong with those before it.
pub(super) fn run(files: &[PathBuf], format: Format) -> Outcome {
    let (mut all, mut counts) = (Vec::new(), Counts::default());
    for path in files {
        let file = printable(&path.display().to_string()).into_owned();
        let found = match read(path) {
            Ok(read) => look(&read, &file, &mut counts),
            Err(failure) => {
                counts.unread += 1;
                let problem = format!("could not be read: {}", failure.message());
                failure.tell();
                all.push(FileDefect { file, field: String::new(), problem });
                continue;
            }
        };
        *(if found.is_empty() { &mut counts.fit } else { &mut counts.unfit }) += 1;
        if format == Format::Text {
            for Defect { field, problem } in &found {
                say!("{file}: {} {}", printable(field), printable(problem));
            }
            if found.is_empty() {
                say!("{file}: no defects");
            }
        }
        let defect = |Defect { field, problem }| FileDefect { file: file.clone(), field, problem };
        all.extend(found.into_iter().map(defect));
    }
    let Counts { fit, unfit, unread, elsewhere } = counts;
    if format == Format::Json {
        output::json(&all)?;
    } else if files.len() > 1 {
        let files = counted(files.len(), "file", "files");
        say!("{files}: {fit} without defects, {unfit} with defects, {unread} not read");
    }
    if elsewhere > 0 {
        let stand = counted(elsewhere, "file stands", "files stand");
        tell!("{stand} outside of conformance/reports/RELEASE/FOLDER: path, file name and README were not looked at");
    }
    Ok(match (unread, unfit) {
        (1.., _) => exit_codes::USAGE,
        (0, 1..) => exit_codes::FAILED,
        (0, 0) => exit_codes::PASSED,
    })
}

/// What is wrong with a report and its place; what nothing can be said of is told.
fn look(read: &Read, file: &str, counts: &mut Counts) -> Vec<Defect> {
    let mut found = defects(&read.report);
    let release = &read.report.gateway_api_version;
    if !known_names().cover(release) {
        let release = printable(release);
        tell!("{file}: {release} is newer than v1.{NEWEST_MINOR}: names of profiles and features were not looked at");
    }
    match place(&read.file) {
        Some((place, readme)) => found.extend(conformance::misplaced(&read.report, &place, readme.as_deref())),
        None => counts.elsewhere += 1,
    }
    found
}
