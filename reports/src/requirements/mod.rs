//! What runs say of each clause: held, broken, not seen, or not applicable and why.
//!
//! A clause is held by a target if an expectation that names it was held against what the target did and was met, and none that
//! names it was missed. What was not looked at to its end holds nothing.

mod html;
mod markdown;
mod text;

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;

use crate::record::Severity;

pub use html::render as html;
pub use markdown::render as markdown;
pub use text::render as text;

/// A clause that targets may be held to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Clause {
    /// Its name, such as `GEP1364-47`.
    pub id: String,
    /// How binding its document is; not of what is no clause of a document.
    pub level: Option<String>,
    /// What it asks.
    pub text: String,
    /// Where it stands: a URL.
    pub source: Option<String>,
    /// What is said of it if nothing looks at it.
    pub otherwise: Unlooked,
}

/// Why nothing looks at a clause.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Unlooked {
    /// It is a rule for whoever tests.
    OfHarness,
    /// It cannot be tested, or not yet.
    Because(String),
    /// Nobody says.
    Open,
}

/// One expectation in one execution of a scenario, or one rule of the status contract, and what was seen of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Look {
    /// The clauses that it names.
    pub clauses: Vec<String>,
    /// The execution; none for what the whole run shows.
    pub scenario: Option<String>,
    /// The expectation, or the rule.
    pub expectation: String,
    /// What was seen of it.
    pub came: Came,
}

/// What was seen of an expectation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Came {
    /// It was met.
    Held,
    /// It was missed.
    Missed(Miss),
    /// It has no meaning for the target; why.
    NotApplicable(String),
    /// It was not looked at to its end; why.
    NotSeen(String),
}

/// How an expectation was missed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Miss {
    /// How binding it is.
    pub severity: Severity,
    /// What was expected, in words.
    pub expected: String,
    /// What was seen, in words.
    pub seen: String,
    /// Whether it came after all, past its deadline.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub late: bool,
    /// Whether it follows from what was missed before it in the same scenario.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub consequence: bool,
    /// Why it does not fail the run, if the user's file of known failures has it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub known: Option<String>,
}

/// What a run says of a clause.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum State {
    /// Something that names it was missed.
    Broken,
    /// Nothing that names it was looked at to its end.
    NotSeen,
    /// It has no meaning for the target.
    NotApplicable,
    /// Something that names it was met, and nothing missed.
    Held,
}

impl State {
    /// All, in the order in which readers want them.
    pub const ALL: [State; 4] = [State::Broken, State::NotSeen, State::NotApplicable, State::Held];

    /// In words.
    pub fn word(self) -> &'static str {
        match self {
            State::Broken => "broken",
            State::NotSeen => "not seen",
            State::NotApplicable => "not applicable",
            State::Held => "held",
        }
    }
}

/// What runs say of each clause.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Account {
    /// The runs, in the order in which they were named.
    pub runs: Vec<Run>,
    /// Every clause, in order of document and number.
    pub clauses: Vec<Row>,
}

/// A run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Run {
    /// How the user named it.
    pub name: String,
    /// What was tested.
    pub target: String,
    /// Its release and channel, or its dialect.
    pub of: String,
    /// When.
    pub date: String,
    /// How many clauses are in which state.
    pub counts: BTreeMap<String, usize>,
}

/// A clause.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Row {
    /// Its name.
    pub id: String,
    /// How binding its document is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub level: Option<String>,
    /// What it asks.
    pub text: String,
    /// Where it stands.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    /// What each run says of it.
    pub of: Vec<Cell>,
}

impl Row {
    /// Whether the runs say different things of it.
    pub fn differs(&self) -> bool {
        self.of.windows(2).any(|two| two[0].state != two[1].state)
    }
}

/// What a run says of a clause.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Cell {
    /// In one word.
    pub state: State,
    /// What was missed; first what does not follow from anything else.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub missed: Vec<Missed>,
    /// What was met.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub held_by: Vec<Met>,
    /// What was not looked at to its end.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub not_seen: Vec<Why>,
    /// What has no meaning for the target.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub not_applicable: Vec<Why>,
}

/// An expectation that was missed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Missed {
    /// The execution; none for what the whole run shows.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scenario: Option<String>,
    /// The expectation, or the rule of the contract.
    pub expectation: String,
    /// How.
    #[serde(flatten)]
    pub miss: Miss,
}

/// Expectations of one execution that were met, or one rule.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Met {
    /// The execution; none for a rule.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scenario: Option<String>,
    /// The expectations, in the order of the manifest, or the rule.
    pub expectations: Vec<String>,
}

/// Why something was not looked at.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Why {
    /// In words.
    pub reason: String,
    /// In which executions, or of which rules; none if it is not about any.
    pub scenarios: Vec<String>,
}

/// Accounts for each clause, in each run: who it is, and everything that was looked at there.
pub fn account(clauses: &[Clause], runs: Vec<(Run, Vec<Look>)>) -> Account {
    let mut rows: Vec<Row> = clauses.iter().map(row).collect();
    let mut told = Vec::new();
    for (mut run, looks) in runs {
        let mut by_clause: BTreeMap<&str, Vec<&Look>> = BTreeMap::new();
        for look in &looks {
            for clause in &look.clauses {
                by_clause.entry(clause).or_default().push(look);
            }
        }
        for (clause, row) in clauses.iter().zip(&mut rows) {
            let cell = cell(clause, by_clause.get(&*clause.id).map(Vec::as_slice).unwrap_or_default());
            *run.counts.entry(cell.state.word().to_owned()).or_default() += 1;
            row.of.push(cell);
        }
        told.push(run);
    }
    Account { runs: told, clauses: rows }
}

impl Account {
    /// Without what is in none of these states in any run; everything if none is named.
    pub fn only(mut self, states: &[State]) -> Account {
        self.clauses.retain(|row| states.is_empty() || row.of.iter().any(|cell| states.contains(&cell.state)));
        self
    }
}

fn row(clause: &Clause) -> Row {
    let Clause { id, level, text, source, otherwise: _ } = clause.clone();
    Row { id, level, text, source, of: Vec::new() }
}

fn cell(clause: &Clause, looks: &[&Look]) -> Cell {
    let mut cell = Cell {
        state: State::NotSeen,
        missed: Vec::new(),
        held_by: Vec::new(),
        not_seen: Vec::new(),
        not_applicable: Vec::new(),
    };
    for look in looks {
        match &look.came {
            Came::Held => met(&mut cell.held_by, look),
            // What may be is not broken by whoever does without.
            Came::Missed(miss) if miss.severity == Severity::Note => {
                because(&mut cell.not_applicable, "it is optional, and the target does without", look);
            }
            Came::Missed(miss) => cell.missed.push(Missed {
                scenario: look.scenario.clone(),
                expectation: look.expectation.clone(),
                miss: miss.clone(),
            }),
            Came::NotApplicable(why) => because(&mut cell.not_applicable, why, look),
            Came::NotSeen(why) => because(&mut cell.not_seen, why, look),
        }
    }
    cell.missed.sort_by_key(|missed| (missed.miss.consequence, std::cmp::Reverse(missed.miss.severity)));
    cell.state = match (cell.missed.is_empty(), cell.held_by.is_empty()) {
        (false, _) => State::Broken,
        (true, false) => State::Held,
        (true, true) if !cell.not_seen.is_empty() => State::NotSeen,
        (true, true) if !cell.not_applicable.is_empty() => State::NotApplicable,
        (true, true) => return unlooked(clause, cell),
    };
    cell
}

fn unlooked(clause: &Clause, cell: Cell) -> Cell {
    let why = |reason: &str| vec![Why { reason: reason.to_owned(), scenarios: Vec::new() }];
    match &clause.otherwise {
        Unlooked::OfHarness => Cell {
            state: State::NotApplicable,
            not_applicable: why("it is a rule for whoever tests, not for targets"),
            ..cell
        },
        Unlooked::Because(reason) => Cell { not_seen: why(reason), ..cell },
        Unlooked::Open => Cell { not_seen: why("no scenario and no rule names it"), ..cell },
    }
}

fn met(all: &mut Vec<Met>, look: &Look) {
    match all.iter_mut().find(|met| met.scenario == look.scenario && look.scenario.is_some()) {
        Some(met) if met.expectations.contains(&look.expectation) => {}
        Some(met) => met.expectations.push(look.expectation.clone()),
        None => all.push(Met { scenario: look.scenario.clone(), expectations: vec![look.expectation.clone()] }),
    }
}

fn because(all: &mut Vec<Why>, reason: &str, look: &Look) {
    let index = all.iter().position(|why| why.reason == reason).unwrap_or_else(|| {
        all.push(Why { reason: reason.to_owned(), scenarios: Vec::new() });
        all.len() - 1
    });
    // Rules are of no scenario, and are named themselves.
    let name = look.scenario.as_ref().unwrap_or(&look.expectation);
    if !all[index].scenarios.contains(name) {
        all[index].scenarios.push(name.clone());
    }
}
