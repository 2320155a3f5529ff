//! Runs over time: scenario by scenario what became of it, how long it takes to settle, and what is flaky.

mod html;
mod keep;
mod spark;
mod text;

use std::collections::BTreeSet;

use schemars::JsonSchema;
use serde::Serialize;

pub use html::html;
pub use keep::{Keep, Pruned};
pub use text::render;

use crate::diff::{self, Gate, Side, Slower, State, diff};
use crate::record::{Outcome, RunRecord, ScenarioRecord};

/// A run of a series.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Run {
    /// Where it was found, as the user named it.
    pub place: String,
    /// When it began.
    pub date: String,
    /// What was tested.
    pub target: String,
    /// The release that it was judged by, if there are releases.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub release: Option<String>,
    /// Who tested.
    pub producer: String,
    /// How many scenarios passed in every execution.
    pub passed: usize,
    /// How many failed in every one.
    pub failed: usize,
    /// How many of those failed as is known.
    pub known: usize,
    /// How many did both.
    pub flaky: usize,
    /// How many came to no verdict.
    pub untested: usize,
    /// The part that passed of those that came to a verdict.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pass_rate: Option<f64>,
    /// The median over the scenarios that passed of what they took to settle, in milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub settle_ms: Option<f64>,
    /// Whether the user broke it off.
    pub interrupted: bool,
}

impl Run {
    /// Whether all of it went well: nothing failed but as is known, and something passed.
    pub fn is_green(&self) -> bool {
        self.failed == self.known && self.flaky == 0 && self.passed > 0 && !self.interrupted
    }
}

/// What became of a scenario.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum Course {
    /// It passed, and fails since.
    Broke,
    /// It went to and fro, or did both within one run.
    Flaky,
    /// It never passed.
    Failing,
    /// It failed, and passes since.
    Fixed,
    /// It came to no verdict in the last run, and passed before.
    Gone,
    /// It passes, and takes longer to settle than it did.
    Slower,
    /// It passes, as ever.
    Passing,
    /// It never came to a verdict.
    Untested,
}

impl Course {
    /// In the order of what asks most for a look.
    pub const ALL: [Course; 8] = [
        Course::Broke,
        Course::Flaky,
        Course::Failing,
        Course::Fixed,
        Course::Gone,
        Course::Slower,
        Course::Passing,
        Course::Untested,
    ];

    /// As it is said.
    pub fn words(self) -> &'static str {
        match self {
            Course::Broke => "newly failing",
            Course::Flaky => "flaky",
            Course::Failing => "failing",
            Course::Fixed => "fixed",
            Course::Gone => "no longer tested",
            Course::Slower => "slower",
            Course::Passing => "passing",
            Course::Untested => "never tested",
        }
    }

    /// Whether nothing about it is news.
    pub fn is_steady(self) -> bool {
        matches!(self, Course::Passing | Course::Untested)
    }

    /// What a series of states, the oldest first, comes to.
    fn of(states: &[State], is_slower: bool) -> Course {
        let verdicts: Vec<State> = states.iter().copied().filter(|state| *state != State::Untested).collect();
        let fails = |state: &State| matches!(state, State::Failed | State::Known);
        let turns = verdicts.windows(2).filter(|pair| fails(&pair[0]) != fails(&pair[1])).count();
        let Some(last) = verdicts.last() else { return Course::Untested };
        if turns > 1 || verdicts.contains(&State::Flaky) {
            return Course::Flaky;
        }
        match (fails(last), turns) {
            (true, 0) => Course::Failing,
            (true, _) => Course::Broke,
            (false, _) if states.last() == Some(&State::Untested) => Course::Gone,
            (false, 0) if is_slower => Course::Slower,
            (false, 0) => Course::Passing,
            (false, _) => Course::Fixed,
        }
    }
}

/// A scenario over time.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Row {
    /// Its name.
    pub scenario: String,
    /// What became of it.
    pub course: Course,
    /// The place of the run since which it is so, where it broke, was fixed or is gone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub since: Option<String>,
    /// How it was in each run, in the order of the runs.
    pub states: Vec<State>,
    /// What it took to settle, in milliseconds: the median of the executions that passed; nothing for a run without one.
    pub settle_ms: Vec<Option<f64>>,
}

/// The whole.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Trend {
    /// The runs, the oldest first.
    pub runs: Vec<Run>,
    /// How many older ones there are that are not shown.
    pub older: usize,
    /// Scenarios, by what became of them and name.
    pub scenarios: Vec<Row>,
    /// What takes longer to settle in the last run than in those before it together.
    pub slower: Vec<Slower>,
    /// What a reader should know of the series: that its targets differ, or a run was broken off.
    pub notes: Vec<String>,
}

impl Trend {
    /// How many scenarios went this way.
    pub fn count(&self, course: Course) -> usize {
        self.scenarios.iter().filter(|row| row.course == course).count()
    }

    /// How many went which way, in one line.
    fn counts(&self) -> String {
        let counts = Course::ALL.map(|course| (self.count(course), course.words()));
        let counts: Vec<String> =
            counts.iter().filter(|(n, _)| *n > 0).map(|(n, words)| format!("{n} {words}")).collect();
        counts.join(", ")
    }
}

/// The trend of these runs, each with its place, the oldest first. `older` counts those that were left out before.
pub fn trend(runs: &[(String, RunRecord)], older: usize) -> Trend {
    let sides: Vec<Side<'_>> = runs.iter().filter_map(|(_, record)| Side::of([record])).collect();
    let slower = match runs.split_last() {
        Some(((_, last), before)) => match (Side::of(before.iter().map(|(_, record)| record)), Side::of([last])) {
            (Some(before), Some(here)) => diff(&before, &here, &Gate::default()).slower,
            _ => Vec::new(),
        },
        None => Vec::new(),
    };
    let names: BTreeSet<&str> = sides.iter().flat_map(|side| side.names()).collect();
    let rows = names.into_iter().map(|name| {
        let states: Vec<State> = sides.iter().map(|side| side.state(name)).collect();
        let is_slower = slower.iter().any(|one| one.step.as_ref().is_some_and(|(scenario, _)| scenario == name));
        let course = Course::of(&states, is_slower);
        Row {
            scenario: name.to_owned(),
            course,
            since: since(&states, course).and_then(|index| runs.get(index)).map(|(place, _)| place.clone()),
            settle_ms: sides
                .iter()
                .map(|side| median(side.executions(name).iter().filter_map(|one| settled(one))))
                .collect(),
            states,
        }
    });
    let mut scenarios: Vec<Row> = rows.collect();
    scenarios.sort_by(|a, b| (a.course, &a.scenario).cmp(&(b.course, &b.scenario)));
    let all = runs.iter().zip(&sides).map(|((place, record), side)| run(place, record, side)).collect::<Vec<_>>();
    Trend { notes: notes(&all), runs: all, older, scenarios, slower }
}

/// A run in numbers; nothing else of it has to be kept at hand.
pub fn summary(place: &str, record: &RunRecord) -> Run {
    match Side::of([record]) {
        Some(side) => run(place, record, &side),
        None => unreachable!("a side of one run is never empty"),
    }
}

/// The run in which it began to be as it is.
fn since(states: &[State], course: Course) -> Option<usize> {
    let is_now: fn(&State) -> bool = match course {
        Course::Broke => |state| matches!(state, State::Failed | State::Known),
        Course::Fixed => |state| *state == State::Passed,
        Course::Gone => |state| *state == State::Untested,
        _ => return None,
    };
    // A run without a verdict says nothing about when it broke or was mended.
    let counts = |state: &State| course == Course::Gone || *state != State::Untested;
    let told: Vec<(usize, &State)> = states.iter().enumerate().filter(|(_, state)| counts(state)).collect();
    told.iter().rev().take_while(|(_, state)| is_now(state)).last().map(|(index, _)| *index)
}

fn run(place: &str, record: &RunRecord, side: &Side<'_>) -> Run {
    let states: Vec<State> = side.names().map(|name| side.state(name)).collect();
    let count = |wanted: State| states.iter().filter(|state| **state == wanted).count();
    let (passed, known) = (count(State::Passed), count(State::Known));
    let tested = side.tested();
    let settles = side.names().filter_map(|name| median(side.executions(name).iter().filter_map(|one| settled(one))));
    Run {
        place: place.to_owned(),
        date: record.date.clone(),
        target: record.target.name.clone(),
        release: record.target.gateway_api_version.clone(),
        producer: record.producer.clone(),
        passed,
        failed: count(State::Failed) + known,
        known,
        flaky: count(State::Flaky),
        untested: states.len() - tested,
        pass_rate: (tested > 0).then(|| passed as f64 / tested as f64),
        settle_ms: median(settles),
        interrupted: record.interrupted,
    }
}

fn notes(runs: &[Run]) -> Vec<String> {
    let mut notes = Vec::new();
    let mut differing = |what: &str, of: fn(&Run) -> &str| {
        let values: BTreeSet<&str> = runs.iter().map(of).collect();
        if values.len() > 1 {
            let values: Vec<&str> = values.into_iter().collect();
            notes.push(format!("the runs are of several {what}: {}", values.join(", ")));
        }
    };
    differing("targets", |run| &run.target);
    differing("releases", |run| run.release.as_deref().unwrap_or("none"));
    differing("versions of the harness", |run| &run.producer);
    notes.extend(runs.iter().filter(|run| run.interrupted).map(|run| format!("{} was broken off", run.place)));
    notes
}

/// What an execution that passed took to settle, in milliseconds.
fn settled(scenario: &ScenarioRecord) -> Option<f64> {
    let is_timed = scenario.outcome == Outcome::Passed && !scenario.stages.is_empty();
    is_timed.then(|| scenario.stages.iter().map(|stage| stage.reached_ms as f64).sum())
}

fn median(values: impl Iterator<Item = f64>) -> Option<f64> {
    let values: Vec<f64> = values.collect();
    (!values.is_empty()).then(|| diff::median(&values))
}
