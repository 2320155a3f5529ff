//! `gateproof report submit`: the folder in which upstream takes a ConformanceReport.

use std::fs;
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};

use gateproof_report::conformance::{self, About, Defect, Submission};
use gateproof_report::reproduce;
use gateproof_report::terminal::printable;

use super::output::{say, tell};
use super::report_dir::{RECORD, can_be_directory};
use super::report_lint as lint;
use super::{Failure, Outcome, given};
use crate::exit_codes;

/// Write the folder for a submission of a ConformanceReport to upstream, if its rules are kept.
///
/// What `report lint` finds, and what the rules want beside that, is said, and then nothing is written. The report goes there byte
/// for byte. A README that is there already stays as it is: the row for its table is printed.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  gateproof report submit gateproof-report --output ../gateway-api
  gateproof report submit conformance-report.yaml --output ../gateway-api --reproduce reproduce.md --folder acme-gateway

Exit codes: 0 written, 1 it would not be taken.")]
pub(super) struct Args {
    /// The report directory of a run, or a ConformanceReport of any producer.
    report: PathBuf,
    /// Where conformance/reports/ is or is to be, such as a checkout of upstream
    #[arg(long, value_name = "DIR")]
    output: PathBuf,
    /// How to come to the same report, as Markdown; of a recorded run its command unless given
    #[arg(long, value_name = "FILE")]
    reproduce: Option<PathBuf>,
    /// The implementation's folder, if it has one already
    #[arg(long, value_name = "NAME")]
    folder: Option<String>,
    /// The page of the release that was tested, if it is no release of a project on GitHub
    #[arg(long, value_name = "URL")]
    release_page: Option<String>,
}

/// Runs the verb.
pub(super) fn run(args: &Args) -> Outcome {
    let lint::Read { file, text, report: read } = lint::read(&args.report)?;
    let mut defects = lint::defects(&read);
    let own_words = args.reproduce.as_deref().map(given::read).transpose()?;
    let record = args.report.is_dir().then(|| args.report.join(RECORD)).filter(|record| record.is_file());
    let record = record.map(|record| given::read_record(&record)).transpose()?;
    if record.as_ref().is_some_and(|record| record.target.embedded) {
        let problem = "is the embedded reference, which is no implementation".to_owned();
        defects.push(Defect { field: "implementation".to_owned(), problem });
    }
    if record.as_ref().is_some_and(|record| record.impatient) {
        let problem = "are of a run that judged before the time was up (--impatient)".to_owned();
        defects.push(Defect { field: "results".to_owned(), problem });
    }
    let command = record.as_ref().map(|record| {
        let arguments = record.again();
        let line = reproduce::line(["gateproof", "run"].into_iter().chain(arguments.iter().map(String::as_str)));
        format!("With {}:\n\n    {}\n", printable(&record.producer), printable(&line))
    });
    let about = About {
        text: &text,
        folder: args.folder.as_deref(),
        release_page: args.release_page.as_deref(),
        reproduce: own_words.as_deref().or(command.as_deref()),
        in_own_words: own_words.is_some(),
    };
    let made = conformance::submission(&read, about);
    // What lint says of a field is said once.
    let wanting: Vec<Defect> = made.as_ref().err().into_iter().flatten().cloned().collect();
    let is_news = |one: &Defect| defects.iter().all(|said| said.field != one.field);
    let news: Vec<Defect> = wanting.into_iter().filter(is_news).collect();
    defects.extend(news);
    let submission = match made {
        Ok(submission) if defects.is_empty() => submission,
        _ => {
            for Defect { field, problem } in &defects {
                say!("{}: {} {}", file.display(), printable(field), printable(problem));
            }
            tell!("nothing was written: upstream would not take it");
            return Ok(exit_codes::FAILED);
        }
    };
    write(&args.output, &submission)?;
    if record.is_some() {
        tell!("upstream takes reports of its own suite; ask before you send one of another");
    }
    Ok(exit_codes::PASSED)
}

/// Writes below a directory and nowhere else, and nothing over anything.
fn write(output: &Path, submission: &Submission) -> Result<(), Failure> {
    can_be_directory(output, "--output")?;
    fs::create_dir_all(output).map_err(|error| unwritable(output, &error))?;
    let mut dir = output.to_owned();
    for folder in &submission.folders {
        dir.push(folder);
        match fs::symlink_metadata(&dir) {
            Ok(there) if there.is_dir() => {}
            // A link would lead elsewhere.
            Ok(_) => return Err(in_the_way(&dir, "is no folder")),
            Err(_) => fs::create_dir(&dir).map_err(|error| unwritable(&dir, &error))?,
        }
    }
    let path = dir.join(&submission.name);
    if !create(&path, &submission.text)? && fs::read_to_string(&path).ok().as_ref() != Some(&submission.text) {
        return Err(in_the_way(&path, "is there, and another report"));
    }
    say!("{}", path.display());
    let readme = dir.join("README.md");
    if create(&readme, &submission.readme)? {
        say!("{}", readme.display());
    } else if !fs::read_to_string(&readme).is_ok_and(|text| text.contains(&submission.row)) {
        say!("{} is there; its table needs the row\n{}", readme.display(), submission.row);
    }
    Ok(())
}

/// Creates a file; not if anything is there, a link that leads nowhere too.
fn create(path: &Path, text: &str) -> Result<bool, Failure> {
    match fs::OpenOptions::new().write(true).create_new(true).open(path) {
        Ok(mut file) => file.write_all(text.as_bytes()).map(|()| true).map_err(|error| unwritable(path, &error)),
        Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(false),
        Err(error) => Err(unwritable(path, &error)),
    }
}

fn in_the_way(path: &Path, what: &str) -> Failure {
    Failure::usage(format!("{} {what}", path.display()), "take it away, or name another directory with --output")
}

fn unwritable(path: &Path, error: &std::io::Error) -> Failure {
    let problem = format!("cannot write {}: {error}", path.display());
    Failure::environment(problem, "name a directory that can be written with --output")
}
