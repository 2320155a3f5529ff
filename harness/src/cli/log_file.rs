//! The log of a run, read event by event.

use std::fs::File;
use std::io::{BufRead as _, BufReader};
use std::path::Path;

use super::Failure;
use crate::log::codec::{DecodeError, Decoder};
use crate::log::{Event, RunStarted};
use crate::run::replay::{self, ReplayError};

/// What is done about a log that cannot be read.
const UNREADABLE: &str =
    "it was cut off or edited, or a newer gateproof wrote it; name the report directory of a run that ended";

/// Whether a log was streamed through a pipe: it is gone, and would be waited for.
pub(super) fn is_streamed(log: &Path) -> bool {
    std::fs::metadata(log).is_ok_and(|there| !there.is_file())
}

/// How a run began, by the first event of its log.
///
/// # Errors
/// If the log cannot be read, or begins otherwise.
pub(super) fn started(log: &Path) -> Result<RunStarted, Failure> {
    let (mut lines, mut line) = (opened(log)?, Vec::new());
    lines.read_until(b'\n', &mut line).map_err(|error| unreadable(log, &error))?;
    let first = (!line.is_empty()).then(|| Decoder::default().event_of(&line));
    let first = first.transpose().map_err(|error| undecodable(log, &error))?;
    Ok(replay::started_by(first.as_ref().map(|event| &event.body)).map_err(|error| unfit(log, &error))?.clone())
}

/// That a log cannot be judged again.
pub(super) fn unfit(log: &Path, error: &ReplayError) -> Failure {
    Failure::usage(format!("{}: {error}", log.display()), error.help())
}

fn unreadable(log: &Path, error: &std::io::Error) -> Failure {
    Failure::usage(format!("cannot read {}: {error}", log.display()), "check the path")
}

fn undecodable(log: &Path, error: &DecodeError) -> Failure {
    Failure::usage(format!("{}: {error}", log.display()), UNREADABLE)
}

fn opened(log: &Path) -> Result<BufReader<File>, Failure> {
    File::open(log).map(BufReader::new).map_err(|error| unreadable(log, &error))
}

/// Reads a log line by line: the whole of it would take a multiple of its size. A run that was killed leaves a line without its end, which is
/// no event.
pub(super) fn events_so_far(log: &Path, take: impl FnMut(Event) -> Result<(), Failure>) -> Result<(), Failure> {
    read(log, false, take)
}

/// The same of a log that has to be whole.
pub(super) fn every_event(log: &Path, take: impl FnMut(Event) -> Result<(), Failure>) -> Result<(), Failure> {
    read(log, true, take)
}

fn read(log: &Path, is_whole: bool, mut take: impl FnMut(Event) -> Result<(), Failure>) -> Result<(), Failure> {
    let (mut lines, mut line, mut decoder) = (opened(log)?, Vec::new(), Decoder::default());
    while lines.read_until(b'\n', &mut line).map_err(|error| unreadable(log, &error))? > 0 {
        match decoder.event_of(&line) {
            Ok(event) => take(event)?,
            Err(_) if !is_whole && !line.ends_with(b"\n") => break,
            Err(error) => return Err(undecodable(log, &error)),
        }
        line.clear();
    }
    Ok(())
}
