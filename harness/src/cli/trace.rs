//! `gateproof report trace`: a run for Perfetto and other readers of Chrome's trace format.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::{Path, PathBuf};

use gateproof_report::record::{Outcome as Ended, RunRecord, repeat_of};
use gateproof_report::terminal;
use gateproof_report::trace::{self, Execution, Happening, Micros, Trace, What};
use jiff::Timestamp;

use super::belongs::is_of;
use super::log_file::events_so_far;
use super::output::tell;
use super::recorded::logs_in;
use super::report_dir::{EVENTS, file_of, readable};
use super::{Failure, Outcome, given, output};
use crate::exit_codes;
use crate::log::{Body, Elapsed, Event, Exchange, ProbeRequest, Role, Scope, Write, WriteOutcome};

/// Write a run as a trace, with its lanes, scenarios, steps, stages, waits and probes, to standard output.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Example:
  gateproof report trace gateproof-report > trace.json

https://ui.perfetto.dev opens it, and so does chrome://tracing. docs/reports.md says what is where.")]
pub(super) struct Args {
    /// The report directory of a run
    dir: PathBuf,
}

/// Runs the verb.
pub(super) fn run(args: &Args) -> Outcome {
    let record = given::read_record(&args.dir)?;
    // Of a record alone nobody knows when anything was.
    let beside = args.dir.with_file_name("");
    let dir = if args.dir.is_dir() { &args.dir } else { &beside };
    let mut trace = Trace {
        target: record.target.name.clone(),
        date: record.date.clone(),
        producer: record.producer.clone(),
        ..Trace::default()
    };
    for log in logs(dir)? {
        readable(&log)?;
        let mut events = Vec::new();
        events_so_far(&log, |event| {
            if events.is_empty() {
                is_of(&log, Some(&event.body), &record)?;
            }
            events.push(event);
            Ok(())
        })?;
        if !events.last().is_some_and(|last| matches!(last.body, Body::RunEnded { .. })) {
            let log = log.to_string_lossy();
            tell!("{}: the log was cut off, and the trace ends where it does", terminal::printable(&log));
        }
        add(&mut trace, &events, &record);
    }
    trace.executions.sort_by_key(|one| one.from);
    let text = trace::json(&trace)
        .map_err(|error| Failure::environment(error, "this is a mistake of gateproof; please report it"))?;
    output::out(format_args!("{text}"));
    Ok(exit_codes::PASSED)
}

/// The log of a run, or those of its parts.
fn logs(dir: &Path) -> Result<Vec<PathBuf>, Failure> {
    let dir = if dir.as_os_str().is_empty() { Path::new(".") } else { dir };
    let logs = logs_in(dir)?;
    if logs.is_empty() { Ok(vec![file_of(dir, EVENTS)?]) } else { Ok(logs) }
}

/// How long after the run that a record is of the one of a log began: a part of several has a clock of its own.
fn later(events: &[Event], record: &RunRecord) -> Micros {
    let began = match events.first().map(|event| &event.body) {
        Some(Body::RunStarted(started)) => started.date.parse::<Timestamp>().ok(),
        _ => None,
    };
    let by = began
        .zip(record.date.parse::<Timestamp>().ok())
        .map(|(part, whole)| part.as_microsecond() - whole.as_microsecond());
    u64::try_from(by.unwrap_or_default()).unwrap_or_default()
}

/// Puts into a trace what of a log and its record is in it.
fn add(trace: &mut Trace, events: &[Event], record: &RunRecord) {
    let records: HashMap<&str, _> = record.scenarios.iter().map(|one| (&*one.name, one)).collect();
    let counted = record.scenarios.iter().filter(|one| one.alike > 0 && one.outcome == Ended::Passed);
    let counted: HashSet<&str> = counted.map(|one| repeat_of(&one.name).0).collect();
    let mut open: HashMap<&str, usize> = HashMap::new();
    let later = later(events, record);
    for event in events {
        let at = event.at.0.saturating_add(later);
        let into = match &event.scope {
            Scope::Scenario(name) => {
                if matches!(event.body, Body::ScenarioStarted(_)) {
                    open.insert(name, trace.executions.len());
                    // What was run before all scenarios is in no record, nor is what is only counted.
                    let record = records.get(&**name);
                    let unlisted = if counted.contains(repeat_of(name).0) { "passed" } else { "none" };
                    trace.executions.push(Execution {
                        name: name.to_string(),
                        outcome: record.map_or(unlisted, |one| terminal::word(one.outcome)).to_lowercase(),
                        from: at,
                        to: at,
                        stages: record.map(|one| one.stages.clone()).unwrap_or_default(),
                        happenings: Vec::new(),
                    });
                    continue;
                }
                let Some(execution) = open.get(&**name).and_then(|index| trace.executions.get_mut(*index)) else {
                    continue;
                };
                execution.to = execution.to.max(at);
                &mut execution.happenings
            }
            Scope::Run | Scope::Pool(_) => &mut trace.happenings,
        };
        into.extend(happening(event.at, &event.body).map(|one| one.later(later)));
    }
}

/// What an event is in a trace; nothing if it is not in it.
fn happening(at: Elapsed, body: &Body) -> Option<Happening> {
    let mut more: BTreeMap<&'static str, String> = BTreeMap::new();
    let since = |by: u64| at.0.saturating_sub(by);
    let (what, step, from, name) = match body {
        Body::Wrote(write) => {
            more.insert("answer", answer(write));
            let verb = format!("{:?}", write.verb).to_lowercase();
            (What::Wrote, Some(write.step), at.0, format!("{verb} {}", write.key))
        }
        Body::Made(write) => {
            more.insert("answer", answer(write));
            let verb = format!("{:?}", write.verb).to_lowercase();
            (What::Wrote, None, at.0, format!("own {verb} {}", write.key))
        }
        Body::Observed { key, change, object } => {
            let metadata = object.get("metadata");
            let of = |field: &str| metadata.and_then(|metadata| metadata.get(field)).map(ToString::to_string);
            more.extend(of("generation").map(|generation| ("generation", generation)));
            let change = format!("{change:?}").to_lowercase();
            (What::Changed, None, at.0, format!("{change} {key}"))
        }
        Body::Probed { step, attempt, role, exchange } => {
            more.insert("attempt", attempt.to_string());
            more.insert("id", exchange.id.clone());
            more.insert("answer", came(exchange));
            let role = match role {
                Role::Main => "probe",
                Role::Contrast => "contrast",
                Role::Reach => "reach",
            };
            (What::Probed, Some(*step), exchange.started.0.min(at.0), format!("{role} {}", asked(&exchange.request)))
        }
        Body::Journal { step, entries } => (What::Other, Some(*step), at.0, format!("journal of {}", entries.len())),
        Body::Looked { step, .. } => (What::Other, Some(*step), at.0, "looked".to_owned()),
        Body::Renewed { step, .. } => (What::Other, Some(*step), at.0, "watches renewed".to_owned()),
        Body::Quiesced { step, .. } => (What::Other, Some(*step), at.0, "writes stopped".to_owned()),
        Body::Scripted { step, service, .. } => (What::Other, Some(*step), at.0, format!("script for {service}")),
        Body::Marked { step, service, .. } => (What::Other, Some(*step), at.0, format!("mark at {service}")),
        Body::Requested { step, service, asked, .. } => {
            (What::Other, Some(*step), at.0.max(asked.0), format!("requests of {service}"))
        }
        Body::Listed { step, .. } => (What::Other, Some(*step), at.0, "listed".to_owned()),
        Body::Waited { by } => (What::Waited, None, since(*by), "waits for another run".to_owned()),
        Body::Lagged { by } => (What::Hindered, None, since(*by), "the harness was late".to_owned()),
        Body::Unreachable { by } => (What::Hindered, None, since(*by), "no API server".to_owned()),
        Body::Sighted { kind, by, .. } => (What::Hindered, None, since(*by), format!("blind for {kind}")),
        Body::Gap { resource, reason } => {
            more.insert("reason", reason.clone());
            (What::Hindered, None, at.0, format!("gap in {resource}"))
        }
        _ => return None,
    };
    Some(Happening { what, step, name, from, to: at.0, more })
}

fn answer(write: &Write) -> String {
    match &write.outcome {
        WriteOutcome::Admitted { generation, .. } => format!("admitted as generation {generation}"),
        WriteOutcome::Refused { code, reason, .. } => format!("refused with {code} {reason}"),
        WriteOutcome::Failed { error } => format!("failed: {error}"),
    }
}

fn asked(request: &ProbeRequest) -> String {
    match request {
        ProbeRequest::Http(http) => format!("{} {}{}", http.method, http.authority, http.target),
        ProbeRequest::Tcp { host, port, .. } => format!("tcp {host}:{port}"),
        ProbeRequest::Udp { host, port, .. } => format!("udp {host}:{port}"),
    }
}

/// How an attempt ended, in a few words.
fn came(exchange: &Exchange) -> String {
    match (&exchange.error, &exchange.http) {
        (Some(error), _) => format!("{error:?}"),
        (None, Some(http)) => format!("status {}", http.status),
        (None, None) if exchange.tcp.is_some() || exchange.udp.is_some() => "ended".to_owned(),
        (None, None) => "none".to_owned(),
    }
}
