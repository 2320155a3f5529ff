//! Whether a log is that of the record beside it.

use std::path::Path;

use gateproof_report::record::RunRecord;
use jiff::Timestamp;

use super::Failure;
use crate::log::Body;
use crate::run::replay;

/// That a log, by its first event, is that of the run that the record is of, or of a part of it: nobody sees from what it shows that it
/// is another's.
///
/// # Errors
/// If it is not, or is of another format.
pub(super) fn is_of(file: &Path, first: Option<&Body>, record: &RunRecord) -> Result<(), Failure> {
    let started = replay::started_by(first).map_err(|error| {
        let help = error.help();
        Failure::usage(format!("{}: {error}", file.display()), help)
    })?;
    let target = &record.target;
    let is_same = started.target == target.name
        && started.dialect == target.dialect
        && started.edition == target.edition
        && started.arguments == record.arguments;
    if is_same && is_at(&started.date, record, started.shard.is_some()) {
        return Ok(());
    }
    let of = |dialect: &str, target: &str, date: &str| format!("of {dialect} on {target} at {date}");
    let problem = format!(
        "{}: the log is of another run, {}, where the record is {}",
        file.display(),
        of(&started.dialect, &started.target, &started.date),
        of(&target.dialect, &target.name, &record.date)
    );
    Err(Failure::usage(
        problem,
        "name a report directory as its run wrote it; `gateproof report verify` says what was edited",
    ))
}

/// Whether a run that began then is the one of the record, or a part of it: what was put together has the date of its earliest part, and ends
/// with its last.
fn is_at(date: &str, record: &RunRecord, is_part: bool) -> bool {
    if !is_part || record.shard.is_some() {
        return date == record.date;
    }
    let [began, whole] = [date, &record.date].map(|date| date.parse::<Timestamp>().ok());
    let after = began.zip(whole).map(|(began, whole)| began.as_millisecond() - whole.as_millisecond());
    // Dates have whole seconds.
    after.and_then(|after| u64::try_from(after).ok()).is_some_and(|after| after <= record.duration_ms + 1000)
}
