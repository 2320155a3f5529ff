//! Which expectations show a fault.
//!
//! A fault says which clauses it breaks, and many expectations carry one of them. So that none of those excuses the others,
//! a table for each dialect names the ones that fail first under the fault. It stands on this side: the faults know no scenario.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use gateproof_testbed::KnownFault;
use serde::Deserialize;

use crate::dialects::Reference;
use crate::run::embedded;
use crate::scenario::expectations::enumerate;
use crate::scenario::pattern::matches;
use crate::scenario::{Scenario, Verb};

/// The tables: of a dialect, and of its other editions.
pub(super) const TABLES: [(Reference, Option<&str>, &str); 7] = [
    (Reference::GatewayApi, None, include_str!("shown_by.yaml")),
    (Reference::Aso, None, include_str!("shown_by/aso.yaml")),
    (Reference::Aso, Some("design"), include_str!("shown_by/aso.design.yaml")),
    (Reference::Contour, None, include_str!("shown_by/contour.yaml")),
    (Reference::Contour, Some("design"), include_str!("shown_by/contour.design.yaml")),
    (Reference::Kuadrant, None, include_str!("shown_by/kuadrant.yaml")),
    (Reference::Kuadrant, Some("design"), include_str!("shown_by/kuadrant.design.yaml")),
];

/// What prints the table of a dialect, in one of its other editions or the one that is meant first.
pub fn printed_by(reference: Reference, edition: Option<&str>) -> String {
    let dialect = match reference {
        Reference::GatewayApi => String::new(),
        other => format!(" --dialect {}", other.dialect()),
    };
    let edition = edition.map(|edition| format!(" --edition {edition}")).unwrap_or_default();
    format!("gateproof faults{dialect}{edition} --table")
}

/// Clauses that a fault breaks where another edition says something else, and not in this one, though they hold here, too.
const UNBROKEN: &str = include_str!("shown_by/unbroken.yaml");

/// The clauses, by the fault, of what an edition of a dialect has of [`UNBROKEN`].
///
/// # Errors
/// It is not well-formed.
pub(super) fn unbroken(dialect: &str, edition: &str) -> Result<BTreeMap<String, Vec<String>>, serde_yaml::Error> {
    let mut all: BTreeMap<String, BTreeMap<String, Vec<String>>> = serde_yaml::from_str(UNBROKEN)?;
    Ok(all.remove(&format!("{dialect}.{edition}")).unwrap_or_default())
}

/// What follows from faults elsewhere, in scenarios about something else. Only whole products (`--full`) see all of it.
pub(super) const BESIDES: &str = include_str!("besides.yaml");

/// What a failure is about beside the values that a manifest asserts: whether something came to rest, was spoken of at all, is
/// up to date, can be probed, and goes on as it began, at once or after a while.
const OWN_ASPECTS: [&str; 7] = ["again", "ancestors", "entry", "observedGeneration", "parents", "programmed", "stays"];

/// What stands for an expectation where a scenario cannot be judged under a fault: what it has to set up is refused, or an answer
/// is the one that anybody gets.
pub(super) const INCONCLUSIVE: &str = "inconclusive";

/// An expectation of a scenario, or a rule of the contract that is broken in it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(try_from = "String")]
pub struct Showing {
    /// The scenario.
    pub scenario: String,
    /// Such as `steps[2].probe.status` or `contract/HTTPRoute/unique-type`. `*` stands for any text, such as the number of a step
    /// where it is a matter of time which of several notices.
    pub expectation: String,
}

impl TryFrom<String> for Showing {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        match text.split_once(' ') {
            Some((scenario, expectation)) if !expectation.contains(' ') => {
                Ok(Showing { scenario: scenario.to_owned(), expectation: expectation.to_owned() })
            }
            _ => Err(format!("`{text}` is not a scenario, a space and an expectation")),
        }
    }
}

impl fmt::Display for Showing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.scenario, self.expectation)
    }
}

/// Expectations, by the fault under which they fail first.
type Table = BTreeMap<String, Vec<Showing>>;

/// For each fault what shows it, and first what states best what is wrong.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ShownBy {
    shown: Table,
    /// What fails first too, for clauses that the fault is not made to break.
    besides: Table,
}

impl ShownBy {
    /// The table of the built-in scenarios of a dialect, in the edition that is meant first.
    ///
    /// # Errors
    /// It is not well-formed.
    pub fn builtin(reference: Reference) -> Result<ShownBy, serde_yaml::Error> {
        ShownBy::in_edition(reference, None)
    }

    /// The same in another edition; empty where there is none of that.
    ///
    /// # Errors
    /// It is not well-formed.
    pub fn in_edition(reference: Reference, other: Option<&str>) -> Result<ShownBy, serde_yaml::Error> {
        let found = TABLES.iter().find(|(of, edition, _)| *of == reference && *edition == other);
        let table = found.map_or_else(|| Ok(ShownBy::default()), |(_, _, text)| ShownBy::parse(text))?;
        if reference == Reference::GatewayApi { table.with_besides(BESIDES) } else { Ok(table) }
    }

    /// A table of what shows each fault.
    ///
    /// # Errors
    /// It is not well-formed.
    pub fn parse(text: &str) -> Result<ShownBy, serde_yaml::Error> {
        Ok(ShownBy { shown: serde_yaml::from_str(text)?, besides: Table::new() })
    }

    /// The same, with a table of what fails first too, for clauses that the faults are not made to break.
    ///
    /// # Errors
    /// It is not well-formed.
    pub fn with_besides(self, text: &str) -> Result<ShownBy, serde_yaml::Error> {
        Ok(ShownBy { besides: serde_yaml::from_str(text)?, ..self })
    }

    /// The same with another table of what shows the faults.
    pub fn with_shown(self, shown: BTreeMap<String, Vec<Showing>>) -> ShownBy {
        ShownBy { shown, ..self }
    }

    /// The faults that a run in this edition is about: what its table names, and in the first edition what no table does, too.
    ///
    /// # Errors
    /// A table is not well-formed.
    pub fn faults(reference: Reference, other: Option<&str>) -> Result<Vec<KnownFault>, serde_yaml::Error> {
        let own = ShownBy::in_edition(reference, other)?;
        let mut elsewhere = BTreeSet::new();
        for (_, edition, _) in TABLES.iter().filter(|(of, edition, _)| *of == reference && *edition != other) {
            elsewhere.extend(ShownBy::in_edition(reference, *edition)?.shown.into_keys());
        }
        let is_meant = |fault: &KnownFault| {
            own.shown.contains_key(fault.name) || (other.is_none() && !elsewhere.contains(fault.name))
        };
        Ok(embedded::faults(reference).into_iter().filter(is_meant).collect())
    }

    /// What shows a fault.
    pub fn of(&self, fault: &str) -> &[Showing] {
        self.shown.get(fault).map(Vec::as_slice).unwrap_or_default()
    }

    /// Whether it is known that this fails first under the fault, though it is about something else.
    pub fn is_beside(&self, fault: &str, scenario: &str, expectation: &str) -> bool {
        let mut besides = self.besides.get(fault).into_iter().flatten();
        besides.any(|one| one.scenario == scenario && matches(&one.expectation, expectation))
    }

    /// Whether it is known that a rule of the contract is broken under the fault. One scenario is named in which it is, and it may be in
    /// others.
    pub fn is_broken_beside(&self, fault: &str, rule: &str) -> bool {
        self.besides.get(fault).into_iter().flatten().any(|one| one.expectation == rule)
    }

    /// Whether it is known that the scenario cannot be judged under the fault.
    pub fn is_open(&self, fault: &str, scenario: &str) -> bool {
        let mut besides = self.besides.get(fault).into_iter().flatten();
        besides.any(|one| one.scenario == scenario && one.expectation == INCONCLUSIVE)
    }

    /// Names of faults, scenarios, expectations and contract rules that there are none of, and faults that are left out.
    pub fn problems(&self, faults: &[KnownFault], scenarios: &[Scenario], rules: &[String]) -> Vec<String> {
        let mut problems = Vec::new();
        for fault in faults {
            if self.of(fault.name).is_empty() {
                problems.push(format!("nothing is named that shows {}", fault.name));
            }
        }
        let able: BTreeMap<&str, BTreeSet<String>> =
            scenarios.iter().map(|scenario| (scenario.name.as_str(), able_to_fail(scenario))).collect();
        for (fault, showings) in self.shown.iter().chain(&self.besides) {
            if !faults.iter().any(|known| known.name == fault) {
                problems.push(format!("there is no fault {fault}"));
            }
            for showing in showings {
                let Some(expectations) = able.get(showing.scenario.as_str()) else {
                    problems.push(format!("{fault}: there is no scenario {}", showing.scenario));
                    continue;
                };
                if showing.expectation == INCONCLUSIVE {
                    let shows = |one: &Showing| one.scenario == showing.scenario;
                    if self.of(fault).iter().any(shows) {
                        problems.push(format!("{fault}: {} cannot show it and be inconclusive", showing.scenario));
                    }
                    continue;
                }
                let able = |name: &String| matches(&showing.expectation, name);
                if !expectations.iter().any(able) && !rules.contains(&showing.expectation) {
                    problems.push(format!("{fault}: {showing} can never fail"));
                }
            }
        }
        problems
    }
}

/// Every name that a finding of a scenario can have.
fn able_to_fail(scenario: &Scenario) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    for id in enumerate(scenario).into_iter().map(|expectation| expectation.id) {
        let mut stem = id.as_str();
        while let Some((shorter, _)) = stem.rsplit_once('.').filter(|(shorter, _)| shorter.contains('.')) {
            stem = shorter;
            names.extend(OWN_ASPECTS.iter().map(|aspect| format!("{stem}.{aspect}")));
            names.insert(stem.to_owned());
        }
        // A probe of which one answer is asked has no name above its own.
        if id.ends_with(".probe") {
            names.insert(format!("{id}.stays"));
        }
        names.insert(id);
    }
    for step in &scenario.steps {
        if let Verb::Delete(gone) = &step.verb
            && gone.awaited
        {
            names.extend(gone.objects.iter().map(|object| format!("steps[{}].delete.{object}", step.index)));
        }
    }
    names
}

#[cfg(test)]
#[path = "shown_by_tests.rs"]
mod tests;
