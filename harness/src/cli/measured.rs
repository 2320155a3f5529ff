//! `gateproof faults --diagnose`: how much is true of what is said of runs that failed.

use std::path::{Path, PathBuf};

use futures::StreamExt;
use gateproof_report::record::RunRecord;
use gateproof_report::words::counted;
use gateproof_testbed::KnownFault;

use super::given::read_record;
use super::output::say;
use super::report_dir::can_be_directory;
use super::{Failure, Outcome};
use crate::diagnosis::{Measured, Tally};
use crate::exit_codes;
use crate::kill::{self, Plan, ShownBy, Watcher};

/// Runs the faults of the plan whose records are not in the folder yet, puts these there, and measures on all that are.
pub(super) async fn run(
    plan: &Plan,
    known: &[KnownFault],
    shown_by: &ShownBy,
    (folder, seed): (&Path, u64),
    watcher: &dyn Watcher,
) -> Outcome {
    can_be_directory(folder, "--diagnose")?;
    std::fs::create_dir_all(folder).map_err(|error| unwritten(folder, &error))?;
    let waiting: Vec<(&KnownFault, PathBuf)> = plan
        .faults
        .iter()
        .map(|fault| (fault, folder.join(format!("{}.json", fault.name))))
        .filter(|(_, file)| !file.exists())
        .collect();
    watcher.planned(waiting.len());
    let runs = futures::stream::iter(waiting.into_iter().map(|(fault, file)| async move {
        let record = kill::record(plan, fault, shown_by).await;
        (fault.name, file, record)
    }));
    let mut runs = runs.buffer_unordered(plan.targets.max(1));
    while let Some((name, file, record)) = runs.next().await {
        match record {
            Ok(Some(record)) => {
                write(&file, &record)?;
                watcher.ran(name, record.scenarios.iter().filter(|one| !one.findings.is_empty()).count());
            }
            Ok(None) => watcher.ran(&format!("{name}, which no scenario is about"), 0),
            Err(error) => watcher.ran(&format!("{name}, which could not be run: {error}"), 0),
        }
    }
    let records = records(folder)?;
    let measured = Measured::of(&records, known, shown_by, seed);
    print(&measured, records.len(), seed);
    Ok(if measured.is_honest() { exit_codes::PASSED } else { exit_codes::FAILED })
}

fn write(file: &Path, record: &RunRecord) -> Result<(), Failure> {
    let text =
        serde_json::to_string(record).map_err(|error| Failure::environment(error, "this is a mistake of ours"))?;
    std::fs::write(file, text).map_err(|error| unwritten(file, &error))
}

fn unwritten(path: &Path, error: &std::io::Error) -> Failure {
    Failure::environment(format!("cannot write {}: {error}", path.display()), "name a folder that can be written to")
}

/// The records of a folder, in the order of their files' names.
fn records(folder: &Path) -> Result<Vec<RunRecord>, Failure> {
    let unread = |error: std::io::Error| {
        Failure::environment(format!("cannot read {}: {error}", folder.display()), "name a folder that can be read")
    };
    let mut files = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(unread)? {
        files.push(entry.map_err(unread)?.path());
    }
    files.retain(|file| file.extension().is_some_and(|extension| extension == "json"));
    files.sort();
    files.iter().map(|file| read_record(file)).collect()
}

fn print(found: &Measured, runs: usize, seed: u64) {
    say!(
        "{:<32}{:>6}{:>7}{:>6}{:>8}{:>9}{:>7}{:>8}",
        "",
        "asked",
        "right",
        "part",
        "beside",
        "nothing",
        "wrong",
        "silent"
    );
    for (what, tally) in found.rows() {
        let Tally { right, part, beside, nothing, wrong, silent } = tally;
        say!("{what:<32}{:>6}{right:>7}{part:>6}{beside:>8}{nothing:>9}{wrong:>7}{silent:>8}", tally.asked());
    }
    for (title, lines) in [("named, and no cause", &found.wrong), ("fails first, and no table says so", &found.unknown)]
    {
        if !lines.is_empty() {
            say!("\n{title}:");
            lines.iter().for_each(|line| say!("  {line}"));
        }
    }
    say!("\n{}; cut and put together as --seed {seed} draws it", counted(runs, "run", "runs"));
}
