//! The log of a run that ended, read event by event.

use std::fs::File;
use std::io::{BufRead as _, BufReader};
use std::path::Path;

use super::Failure;
use crate::log::codec::Decoder;
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
    let mut lines = BufReader::new(File::open(log).map_err(|error| unreadable(log, &error))?);
    let mut line = String::new();
    lines.read_line(&mut line).map_err(|error| unreadable(log, &error))?;
    let first = if line.is_empty() { None } else { Some(Decoder::default().event(line.trim_end_matches('\n'))) };
    let first = first.transpose().map_err(|error| undecodable(log, &error.to_string()))?;
    Ok(replay::started_by(first.as_ref().map(|event| &event.body)).map_err(|error| unfit(log, &error))?.clone())
}

/// That a log cannot be judged again.
pub(super) fn unfit(log: &Path, error: &ReplayError) -> Failure {
    Failure::usage(format!("{}: {error}", log.display()), error.help())
}

fn unreadable(log: &Path, error: &std::io::Error) -> Failure {
    Failure::usage(format!("cannot read {}: {error}", log.display()), "check the path")
}

fn undecodable(log: &Path, error: &str) -> Failure {
    Failure::usage(format!("{}: {error}", log.display()), UNREADABLE)
}

/// Reads a log line by line: the whole of it would take a multiple of its size. A run that was killed leaves a line without its end, which is
/// no event.
pub(super) fn each_event(log: &Path, take: impl FnMut(Event) -> Result<(), Failure>) -> Result<(), Failure> {
    read(log, false, take)
}

/// The same of a log that has to be whole.
pub(super) fn every_event(log: &Path, take: impl FnMut(Event) -> Result<(), Failure>) -> Result<(), Failure> {
    read(log, true, take)
}

fn read(log: &Path, is_whole: bool, mut take: impl FnMut(Event) -> Result<(), Failure>) -> Result<(), Failure> {
    let unreadable = |error| unreadable(log, &error);
    let mut decoder = Decoder::default();
    let mut text = BufReader::new(File::open(log).map_err(unreadable)?);
    let mut line = Vec::new();
    while text.read_until(b'\n', &mut line).map_err(unreadable)? > 0 {
        let text = str::from_utf8(&line).map_err(|error| error.to_string());
        let event = text.and_then(|text| decoder.event(text.trim_end_matches('\n')).map_err(|error| error.to_string()));
        match event {
            Ok(event) => take(event)?,
            Err(_) if !is_whole && !line.ends_with(b"\n") => break,
            Err(error) => return Err(undecodable(log, &error)),
        }
        line.clear();
    }
    Ok(())
}
