//! The trace event format of Chrome, one event a line, always in the same order.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use super::lanes::lines;
use super::{Execution, Happening, Micros, Trace, What};
use crate::record::Stage;
use crate::terminal::printable;

/// The run as a whole, and its scenarios: what Perfetto groups lines by.
const RUN: u32 = 1;
const SCENARIOS: u32 = 2;
/// How many numbers of lines a lane has: one for the scenario, one for objects, the rest for what overlaps.
const LINES: usize = 1000;
const OBJECTS: usize = 1;
const BESIDE: usize = 2;

/// An event of the format.
#[derive(Serialize)]
struct Event {
    name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    cat: Option<&'static str>,
    ph: &'static str,
    ts: Micros,
    #[serde(skip_serializing_if = "Option::is_none")]
    dur: Option<Micros>,
    /// How far a mark without length reaches: its line.
    #[serde(skip_serializing_if = "Option::is_none")]
    s: Option<&'static str>,
    pid: u32,
    tid: usize,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    args: BTreeMap<&'static str, String>,
}

/// The whole, as JSON.
///
/// # Errors
/// None that a trace could cause: numbers and texts always have a form in JSON.
pub fn json(trace: &Trace) -> Result<String, serde_json::Error> {
    let mut out = Out(Vec::new());
    out.name("process_name", RUN, 0, "run");
    out.name("thread_name", RUN, 0, "run");
    out.name("process_name", SCENARIOS, 0, "scenarios");
    for one in trace.happenings.iter().filter(|one| !one.is_beside()) {
        out.happening(one, (one.from, one.to), RUN, 0);
    }
    let everywhere = (0, Micros::MAX);
    let mut hindered = BTreeSet::new();
    for (one, stretch, line) in beside(&trace.happenings, everywhere) {
        if hindered.insert(line) {
            out.name("thread_name", RUN, line + 1, "hindered");
        }
        out.happening(one, stretch, RUN, line + 1);
    }
    let lanes = lines(trace.executions.iter().map(|one| (one.from, one.to)));
    let mut named: BTreeMap<usize, String> = BTreeMap::new();
    for (execution, lane) in trace.executions.iter().zip(lanes) {
        let first = lane * LINES;
        let mut name = |line: usize, words: &str| {
            named.entry(first + line).or_insert_with(|| format!("lane {}{words}", lane + 1));
        };
        name(0, "");
        let whole = (execution.from, execution.to.max(execution.from));
        for (one, stretch, line) in beside(&execution.happenings, whole) {
            let line = BESIDE + line.min(LINES - BESIDE - 1);
            name(line, " probes and waits");
            out.happening(one, stretch, SCENARIOS, first + line);
        }
        for one in execution.happenings.iter().filter(|one| one.what == What::Changed) {
            name(OBJECTS, " objects");
            out.happening(one, (one.from, one.to), SCENARIOS, first + OBJECTS);
        }
        out.execution(execution, first);
    }
    for (line, words) in &named {
        out.name("thread_name", SCENARIOS, *line, words);
    }
    // In order of time, and what holds others before what it holds: readers nest by that.
    out.0.sort_by_key(|event| (event.ph != "M", event.ts, std::cmp::Reverse(event.dur), event.pid, event.tid));
    let about = serde_json::json!({"target": trace.target, "date": trace.date, "producer": trace.producer});
    let mut text = format!("{{\"displayTimeUnit\":\"ms\",\"otherData\":{about},\"traceEvents\":[\n");
    for (index, event) in out.0.iter().enumerate() {
        text.push_str(if index == 0 { "" } else { ",\n" });
        text.push_str(&serde_json::to_string(event)?);
    }
    text.push_str("\n]}\n");
    Ok(text)
}

/// What has a length of its own beside steps, within these bounds, with its line.
fn beside(all: &[Happening], (low, high): (Micros, Micros)) -> Vec<(&Happening, (Micros, Micros), usize)> {
    let within = |one: &Happening| {
        let from = one.from.clamp(low, high);
        (from, one.to.clamp(from, high))
    };
    let mut those: Vec<_> = all.iter().filter(|one| one.is_beside()).map(|one| (one, within(one))).collect();
    those.sort_by_key(|(_, stretch)| *stretch);
    let free = lines(those.iter().map(|(_, stretch)| *stretch));
    those.into_iter().zip(free).map(|((one, stretch), line)| (one, stretch, line)).collect()
}

struct Out(Vec<Event>);

impl Out {
    fn name(&mut self, what: &str, pid: u32, tid: usize, name: &str) {
        let args = BTreeMap::from([("name", name.to_owned())]);
        self.0.push(Event { name: what.to_owned(), cat: None, ph: "M", ts: 0, dur: None, s: None, pid, tid, args });
    }

    fn span(
        &mut self,
        name: String,
        cat: &'static str,
        (from, to): (Micros, Micros),
        tid: usize,
        args: BTreeMap<&'static str, String>,
    ) {
        let dur = Some(to.saturating_sub(from));
        self.0.push(Event { name, cat: Some(cat), ph: "X", ts: from, dur, s: None, pid: SCENARIOS, tid, args });
    }

    fn happening(&mut self, one: &Happening, (from, to): (Micros, Micros), pid: u32, tid: usize) {
        let cat = match one.what {
            What::Wrote => "write",
            What::Changed => "object",
            What::Probed => "probe",
            What::Waited => "wait",
            What::Hindered => "hindered",
            What::Other => "other",
        };
        let mut args: BTreeMap<&'static str, String> =
            one.more.iter().map(|(name, value)| (*name, printable(value).into_owned())).collect();
        if let Some(step) = one.step {
            args.insert("step", step.to_string());
        }
        let name = printable(&one.name).into_owned();
        let (ph, dur, s) =
            if one.is_beside() { ("X", Some(to.saturating_sub(from)), None) } else { ("i", None, Some("t")) };
        self.0.push(Event { name, cat: Some(cat), ph, ts: from, dur, s, pid, tid, args });
    }

    /// The scenario, its steps in it, and their stages in them.
    fn execution(&mut self, execution: &Execution, tid: usize) {
        let whole = (execution.from, execution.to.max(execution.from));
        let args = BTreeMap::from([("outcome", execution.outcome.clone())]);
        self.span(printable(&execution.name).into_owned(), "scenario", whole, tid, args);
        for one in execution.happenings.iter().filter(|one| matches!(one.what, What::Wrote | What::Other)) {
            // A mark: what it took is not known, or is that of the step.
            self.happening(one, (one.to, one.to), SCENARIOS, tid);
        }
        for step in steps(execution) {
            self.span(format!("steps[{}]", step.index), "step", (step.from, step.to), tid, BTreeMap::new());
            self.stages(&step, tid);
        }
    }

    /// The stages of a step begin together, so the shorter lies in the longer. Then comes what is waited to be sure.
    fn stages(&mut self, step: &Step<'_>, tid: usize) {
        let end = |millis: u64| step.written.saturating_add(millis.saturating_mul(1000)).min(step.to);
        let mut stages = step.stages.clone();
        stages.sort_by_key(|stage| std::cmp::Reverse(stage.reached_ms));
        for stage in &stages {
            let millis = |millis: u64| format!("{millis} ms");
            let args = BTreeMap::from([
                ("reached", millis(stage.reached_ms)),
                ("settled", millis(stage.settled_ms)),
                ("limit", millis(stage.limit_ms)),
                ("waited", millis(stage.waited_ms)),
            ]);
            let stretch = (step.written, end(stage.reached_ms));
            self.span(printable(&stage.stage).into_owned(), "stage", stretch, tid, args);
        }
        let reached = stages.first().map_or(step.written, |stage| end(stage.reached_ms));
        let Some(last) = step.stages.iter().max_by_key(|stage| stage.settled_ms) else { return };
        if end(last.settled_ms) > reached {
            let name = format!("waits ({})", printable(&last.stage));
            self.span(name, "wait", (reached, end(last.settled_ms)), tid, BTreeMap::new());
        }
    }
}

/// A step of an execution, as far as it can be told.
struct Step<'a> {
    index: usize,
    from: Micros,
    /// When all that it writes was written: its stages begin.
    written: Micros,
    to: Micros,
    stages: Vec<&'a Stage>,
}

/// The steps, one after the other: each begins where the one before ends, or with what happened first in it, and ends
/// with its last stage or what happened last.
fn steps(execution: &Execution) -> Vec<Step<'_>> {
    let of_stages = execution.stages.iter().map(|stage| stage.step);
    let indexes: BTreeSet<usize> = execution.happenings.iter().filter_map(|one| one.step).chain(of_stages).collect();
    let mut steps: Vec<Step<'_>> = Vec::new();
    for index in indexes {
        let those = || execution.happenings.iter().filter(|one| one.step == Some(index));
        let (earliest, cursor) = steps.last().map_or((execution.from, execution.from), |last| (last.from, last.to));
        let first = those().map(|one| one.from).min().unwrap_or(cursor);
        let from = cursor.min(first).max(earliest).min(execution.to);
        if let Some(last) = steps.last_mut() {
            last.to = last.to.min(from);
            last.written = last.written.min(last.to);
        }
        let written = those().filter(|one| one.what == What::Wrote).map(|one| one.to).max().unwrap_or(from);
        let written = written.clamp(from, execution.to.max(from));
        let stages: Vec<&Stage> = execution.stages.iter().filter(|stage| stage.step == index).collect();
        let settled = stages.iter().map(|stage| stage.settled_ms.max(stage.reached_ms)).max().unwrap_or_default();
        let settled = written.saturating_add(settled.saturating_mul(1000));
        let to = those().map(|one| one.to).max().unwrap_or(from).max(settled).clamp(from, execution.to.max(from));
        steps.push(Step { index, from, written, to, stages });
    }
    steps
}
