//! Whether fields of a status are of the current generation, where no condition is asked that would say so.

use serde_json::Value;

use super::Check;
use crate::dialects::{Generation, Standing};
use crate::judge::conditions::{Condition, generation, own};
use crate::scenario::{FieldExpectation, FieldTest, SubjectExpectation};

const STATUS: &str = "/status";
const OBSERVED: &str = "/status/observedGeneration";

/// What a status says of the generation that it is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Said {
    /// This one.
    Generation(i64),
    /// Nothing, and it ought to.
    Nothing,
    /// Nothing can be said of it.
    Unasked,
}

impl Check<'_> {
    /// Fields of a status that is about an earlier generation are what they were before.
    pub(super) fn fields_are_fresh(&mut self, expected: &SubjectExpectation, object: &Value) {
        let asked: Vec<&FieldExpectation> = expected.fields.iter().filter(|field| is_of_status(field)).collect();
        let Some(level) = asked.iter().map(|field| field.level).max() else { return };
        if !self.rules.strict_freshness || self.asks_conditions(expected) {
            return;
        }
        let seen = match self.said(expected, object) {
            Said::Generation(observed) if observed != self.generation => format!("it is about generation {observed}"),
            // That something is not there is so before a controller has said a word.
            Said::Nothing if asked.iter().any(|field| is_met_by_something(&field.test)) => {
                "it does not say which generation it is about".to_owned()
            }
            Said::Generation(_) | Said::Nothing | Said::Unasked => return,
        };
        let expected = format!("the status of {} is about generation {}", self.name, self.generation);
        self.stale("", expected, seen, level);
    }

    /// Whether a condition is asked that has to be of the current generation itself.
    fn asks_conditions(&self, expected: &SubjectExpectation) -> bool {
        expected.conditions.values().any(|one| self.binding(one) && !one.absent && !one.optional)
    }

    fn said(&self, expected: &SubjectExpectation, object: &Value) -> Said {
        let dialect = &self.rules.scenario.dialect;
        let Some(kind) = dialect.kind(&expected.subject.kind) else { return Said::Unasked };
        match kind.generation {
            Generation::Unsaid => Said::Unasked,
            Generation::Status => {
                object.pointer(OBSERVED).and_then(Value::as_i64).map_or(Said::Nothing, Said::Generation)
            }
            // Each says it for itself alone. If all are about earlier ones, nobody has spoken of this one yet.
            Generation::Conditions if kind.conditions == Standing::Object => {
                let conditions = own(object, dialect);
                let newest =
                    conditions.iter().filter_map(|condition: &Condition<'_>| condition.observed_generation).max();
                newest.filter(|newest| *newest < generation(object)).map_or(Said::Unasked, Said::Generation)
            }
            Generation::Conditions | Generation::Shown => Said::Unasked,
        }
    }
}

/// Whether it is about the status, and not what says itself which generation that is of.
fn is_of_status(field: &FieldExpectation) -> bool {
    let below = field.pointer.strip_prefix(STATUS).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
    below && field.pointer != OBSERVED
}

fn is_met_by_something(test: &FieldTest) -> bool {
    match test {
        FieldTest::Absent | FieldTest::Empty => false,
        FieldTest::OneOf(values) => !values.contains(&Value::Null),
        FieldTest::Equals(_)
        | FieldTest::Current
        | FieldTest::NotEmpty
        | FieldTest::SortedBy(_)
        | FieldTest::SameAs(_)
        | FieldTest::Mentions(_)
        | FieldTest::Contains(_) => true,
    }
}
