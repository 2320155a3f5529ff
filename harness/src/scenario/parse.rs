//! From text to scenarios: a tree with places, held against the table of fields, then read.

mod authorities;
mod build;
pub(in crate::scenario) mod check;
mod client;
mod component;
mod editions;
mod expect;
pub(in crate::scenario) mod field;
mod group;
mod hold;
mod made;
mod made_for;
pub(in crate::scenario) mod names;
mod over;
mod probe;
pub(in crate::scenario) mod read;
mod scalar;
mod service;
pub(in crate::scenario) mod shape;
mod shares;
pub(in crate::scenario) mod tree;
mod turns;

use std::sync::Arc;

use super::diagnostic::{Diagnostic, Report, Source};
use super::model::{Place, Scenario};
use super::parentless;
use super::sessions;
use super::silence;
use super::vocabulary::Vocabulary;
use super::witness;
use check::Checker;
use tree::{Mark, Node};

const SILENCE_HELP: &str = "settle an entry of this route first, or in the same settle one of another route that is applied \
                            later, and hold this one after it";

const PARENTLESS_HELP: &str = "name some in its `spec.parentRefs`, or say which entries are meant with `parents`";

const SESSION_HELP: &str =
    "say the same of the handshake as where it began, or give this one a session of another name";

const WITNESS_HELP: &str = "probe the same listener for an answer from a backend, best before this one; or say `contrast: false` \
                            if no proof is wanted";

/// Where the name of a scenario stands.
pub(super) struct NamePlace {
    name: String,
    mark: Mark,
    source: Arc<Source>,
}

impl NamePlace {
    /// Says that another scenario has the name already.
    pub(super) fn duplicate(&self, file: &str) -> Diagnostic {
        let help = Some(format!("it is the name of a scenario in {file}"));
        self.source.problem(self.mark, format!("there are two scenarios `{}`", self.name), help)
    }
}

/// Reads every scenario of a file.
///
/// # Errors
/// All problems of the file, in order of their places.
pub fn parse(file: &str, text: &str, vocabulary: &Vocabulary) -> Result<Vec<Scenario>, Vec<Diagnostic>> {
    let (found, mut problems) = parse_with_places(file, text, vocabulary);
    let mut scenarios: Vec<Scenario> = Vec::new();
    for (scenario, place) in found {
        if scenarios.iter().any(|s| s.name == scenario.name) {
            problems.push(place.duplicate(file));
        }
        scenarios.push(scenario);
    }
    if problems.is_empty() {
        return Ok(scenarios);
    }
    problems.sort_by_key(|p| (p.line, p.column));
    Err(problems)
}

/// Scenarios and problems of a file; the scenarios are of use only if there are no problems.
pub(super) fn parse_with_places(
    file: &str,
    text: &str,
    vocabulary: &Vocabulary,
) -> (Vec<(Scenario, NamePlace)>, Vec<Diagnostic>) {
    let source = Source::new(file, text);
    let mut problems = Vec::new();
    let documents = tree::read(&source, &mut problems);
    let (mut written, mut scenarios) = (0, Vec::new());
    for document in &documents {
        let components = component::conditions(&document.root);
        let mut checker = Checker { source: &source, vocabulary, problems: &mut problems, misread: false, components };
        checker.check(&document.root, &shape::Shape::Table(&shape::DOCUMENT));
        let of_shape = checker.problems.len();
        let built = build::scenario(document, file, &mut checker);
        if checker.misread {
            // What is missing because a field was not understood is no problem of its own.
            checker.problems.truncate(of_shape);
        }
        if let Some(scenario) = built {
            written += 1;
            if scenario.bounds.elsewhere {
                continue;
            }
            if checker.problems.is_empty() {
                for place in silence::met_by_silence(&scenario) {
                    let message = "no entry is what a controller that has not spoken yet has, too".to_owned();
                    checker.report(source.mark_of(place), message, Some(SILENCE_HELP.to_owned()));
                }
                for place in parentless::look_at_nothing(&scenario) {
                    let message =
                        "this object names no parent, so its conditions would be looked for nowhere".to_owned();
                    checker.report(source.mark_of(place), message, Some(PARENTLESS_HELP.to_owned()));
                }
                for place in sessions::of_another_client(&scenario) {
                    let message = "this session began as that of another client, and goes on as such".to_owned();
                    checker.report(source.mark_of(place), message, Some(SESSION_HELP.to_owned()));
                }
                for place in witness::given_by_nobody(&scenario) {
                    let message = "a data path that serves nothing gives this answer, too".to_owned();
                    checker.report(source.mark_of(place), message, Some(WITNESS_HELP.to_owned()));
                }
            }
            let name = document.root.get("metadata").and_then(|m| m.get("name"));
            let mark = name.map_or(document.root.mark, |n: &Node| n.mark);
            let place = NamePlace { name: scenario.name.clone(), mark, source: Arc::clone(&source) };
            scenarios.push((scenario, place));
        }
    }
    if problems.is_empty() && written == 0 {
        let start = Mark { place: Place { line: 1, column: 1 }, ..Mark::default() };
        problems.push(source.problem(start, "the file holds no scenario".to_owned(), None));
    }
    (scenarios, problems)
}

#[cfg(test)]
mod edition_tests;
#[cfg(test)]
mod tests;
