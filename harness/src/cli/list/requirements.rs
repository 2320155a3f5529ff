//! `gateproof list requirements`: what a target can get wrong, and who shows it.

use std::collections::{BTreeMap, HashMap};

use gateproof_suites::{BlindSpot, Level, Requirement, TestKind, blind_spots};
use schemars::JsonSchema;
use serde::Serialize;

use super::Failure;
use crate::cli::options;
use crate::dialects::Reference;
use crate::judge::contract::Contract;
use crate::scenario::select;
use crate::suite::Suite;

/// A clause of the specification, or a misbehaviour that upstream's tests do not see, with who proves it.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct RequirementItem<'s> {
    /// Its name in `proves`.
    id: String,
    /// How binding the document is; not of blind spots.
    #[serde(skip_serializing_if = "Option::is_none")]
    level: Option<Level>,
    /// How it can be tested; none of blind spots.
    tests: &'s [TestKind],
    /// What it asks, or the misbehaviour.
    text: &'s str,
    /// Where it stands: a URL; not of blind spots.
    #[serde(skip_serializing_if = "Option::is_none")]
    source: Option<&'s str>,
    /// Why it cannot be tested in a cluster.
    #[serde(skip_serializing_if = "Option::is_none")]
    untested: Option<&'s str>,
    /// Why no scenario tests it yet.
    #[serde(skip_serializing_if = "Option::is_none")]
    later: Option<&'s str>,
    /// How far it is proven.
    state: State,
    /// Scenarios that prove it.
    scenarios: Vec<String>,
    /// Rules of the status contract that prove it.
    rules: Vec<&'static str>,
}

/// How far something is proven.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum State {
    /// By a scenario or a rule of the status contract.
    Proven,
    /// It is for later, and says why.
    Later,
    /// It cannot be seen in a cluster.
    Untested,
    /// It is a rule for the harness itself, which a test or a legal variant of the reference names.
    Harness,
    /// Nothing proves it yet.
    Open,
}

impl State {
    fn text(self) -> &'static str {
        match self {
            State::Proven => "proven",
            State::Later => "later",
            State::Untested => "untested",
            State::Harness => "harness",
            State::Open => "open",
        }
    }
}

impl RequirementItem<'_> {
    /// The item as a line for people.
    pub(super) fn cells(&self) -> [String; 3] {
        let why = match self.state {
            State::Later => self.later,
            State::Untested => self.untested,
            _ => None,
        };
        let why = why.map(|why| format!(" ({why})")).unwrap_or_default();
        [self.id.clone(), self.state.text().to_owned(), format!("{}{why}", self.text)]
    }
}

/// Names of scenarios by what they prove.
type Provers = HashMap<String, Vec<String>>;

/// Every clause of a dialect in the edition that is meant, then every blind spot of the tests that there are of it.
pub(super) fn all(suite: &Suite) -> Result<Vec<RequirementItem<'_>>, Failure> {
    let scenarios = options::scenarios_of(suite, &[])?;
    let mut provers = Provers::new();
    for scenario in &scenarios {
        for clause in select::clauses(scenario) {
            provers.entry(clause.to_string()).or_default().push(scenario.name.clone());
        }
    }
    let contract = &suite.contract;
    let holds = |it: &&Requirement| !suite.vocabulary.edition.is_elsewhere(&it.id);
    let mut items: Vec<_> =
        suite.requirements.iter().filter(holds).map(|it| clause(it, &mut provers, contract)).collect();
    if suite.reference() == Some(Reference::GatewayApi) {
        items.extend(blind_spots().iter().map(|it| spot(it, &mut provers, contract)));
    }
    Ok(items)
}

/// How many are in which state, in two lines.
pub(super) fn counts(items: &[RequirementItem<'_>]) -> String {
    let line = |what: &str, of: &dyn Fn(&&RequirementItem) -> bool| {
        let mut states: BTreeMap<State, usize> = BTreeMap::new();
        for item in items.iter().filter(of) {
            *states.entry(item.state).or_default() += 1;
        }
        let parts: Vec<String> = states.iter().map(|(state, count)| format!("{count} {}", state.text())).collect();
        format!("{} {what}: {}", states.values().sum::<usize>(), parts.join(", "))
    };
    let clauses = line("clauses", &|item| item.level.is_some());
    if items.iter().all(|item| item.level.is_some()) {
        return clauses;
    }
    let spots = line("blind spots of upstream's tests", &|item| item.level.is_none());
    format!("{clauses}\n{spots}")
}

fn clause<'s>(it: &'s Requirement, provers: &mut Provers, contract: &Contract) -> RequirementItem<'s> {
    let item = item(&it.id, &it.text, (&it.later, &it.untested), provers, contract);
    let is_own = item.state == State::Open && !it.in_scope();
    RequirementItem {
        level: Some(it.level),
        tests: &it.tests,
        source: Some(&it.source),
        state: if is_own { State::Harness } else { item.state },
        ..item
    }
}

fn spot(it: &'static BlindSpot, provers: &mut Provers, contract: &Contract) -> RequirementItem<'static> {
    item(&it.clause(), &it.text, (&it.later, &it.untested), provers, contract)
}

fn item<'s>(
    id: &str,
    text: &'s str,
    (later, untested): (&'s Option<String>, &'s Option<String>),
    provers: &mut Provers,
    contract: &Contract,
) -> RequirementItem<'s> {
    let scenarios = provers.remove(id).unwrap_or_default();
    let rules = contract.rules_proving(id);
    let state = match (scenarios.is_empty() && rules.is_empty(), later, untested) {
        (false, ..) => State::Proven,
        (true, Some(_), _) => State::Later,
        (true, None, Some(_)) => State::Untested,
        (true, None, None) => State::Open,
    };
    RequirementItem {
        id: id.to_owned(),
        level: None,
        tests: &[],
        text,
        source: None,
        untested: untested.as_deref(),
        later: later.as_deref(),
        state,
        scenarios,
        rules,
    }
}
