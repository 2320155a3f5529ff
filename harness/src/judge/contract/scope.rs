//! Which rules are held against a kind, and how reports name them: decided by the contract's data alone, never by what a target happened to show.

use super::data::Contract;
use super::definitions;
use super::rule::Rule;
use super::terms::{ConditionTerms, Kind, Presence, Subject, Transition};
use crate::dialects::StatusList;
use crate::scenario::Basis;

impl Contract {
    /// Every name that a rule can have in reports, `contract/KIND/RULE`.
    pub fn rule_names(&self) -> Vec<String> {
        let of_kinds = |rule: &&Rule| **rule != Rule::DefinitionsKept;
        let of = |kind: &Kind| {
            self.rules.keys().filter(of_kinds).map(|rule| format!("contract/{}/{}", kind.kind, rule.name())).collect()
        };
        let of_definitions = self.rules.contains_key(&Rule::DefinitionsKept).then(definitions::name);
        self.kinds.iter().flat_map(|kind| -> Vec<String> { of(kind) }).chain(of_definitions).collect()
    }

    /// Whether a rule is held against every version of the objects of a kind.
    pub(super) fn holds(&self, rule: Rule, kind: &Kind, basis: Basis) -> bool {
        if !self.rule(rule).is_some_and(|terms| terms.known_at(basis)) {
            return false;
        }
        let any = |test: &dyn Fn(&Subject) -> bool| kind.subjects.iter().any(test);
        let term = |test: &dyn Fn(&ConditionTerms) -> bool| {
            any(&|subject| subject.conditions.values().any(|terms| terms.known_at(basis) && test(terms)))
        };
        let in_use = |test: &dyn Fn(&ConditionTerms) -> bool| term(&|t| t.presence != Presence::Retired && test(t));
        let shared = || any(&|subject| matches!(subject.at, StatusList::Parents | StatusList::Ancestors));
        let known =
            |subject: &Subject, type_: &str| subject.conditions.get(type_).is_some_and(|terms| terms.known_at(basis));
        let has_accepted = |subject: &Subject| self.dialect().accepted().is_some_and(|type_| known(subject, type_));
        match rule {
            Rule::UniqueType
            | Rule::TriState
            | Rule::ReasonForm
            | Rule::ReasonCamelCase
            | Rule::TypeForm
            | Rule::TypePrefixed
            | Rule::ForeignPreserved
            | Rule::ForeignOrder
            | Rule::Quiescent
            | Rule::ObjectsUntouched => any(&|_| true),
            // Definitions are of no kind of the dialect.
            Rule::DefinitionsKept => false,
            Rule::MessagePresent => self.message_required,
            Rule::TransitionTimeForm => self.time_form.is_some(),
            Rule::ObservedGenerationPresent
            | Rule::ObservedGenerationNotAhead
            | Rule::ObservedGenerationNotBackwards
            | Rule::ObservedGenerationCurrent
            | Rule::TransitionTimeMoves
            | Rule::TransitionTimeNotBackwards
            | Rule::TransitionTimeNotAhead
            | Rule::MessageDoesNotGrow
            | Rule::SaidInStatusAlone
            | Rule::TypeRetired => term(&|_| true),
            Rule::TransitionTimeStays => self.transition != Transition::Either && term(&|_| true),
            Rule::ConditionsStay | Rule::ConditionsDoNotFlap | Rule::ReasonsStay => in_use(&|terms| terms.configured),
            Rule::NeedsMet => in_use(&|terms| !terms.needs.is_empty() || !terms.needs_when_true.is_empty()),
            Rule::MessageExplains => in_use(&|terms| terms.explains || terms.graded.has(rule)),
            Rule::GradeFitsStatus
            | Rule::ReasonFitsGrade
            | Rule::MessageSilent
            | Rule::ReasonWhileDeleted
            | Rule::NoStepBack => in_use(&|terms| terms.graded.has(rule)),
            Rule::AlwaysFromFirstWrite | Rule::AlwaysPresent => in_use(&|terms| terms.presence == Presence::Always),
            Rule::SupportedVersionPresent => {
                any(&|subject| has_accepted(subject)) && in_use(&|terms| terms.presence == Presence::WithAccepted)
            }
            Rule::NegativeOnlyWhileTrue => in_use(&|terms| terms.negative),
            Rule::ReasonListed => in_use(&|terms| !terms.closed && !terms.reasons.is_empty()),
            Rule::ReasonClosed => in_use(&|terms| terms.closed && !terms.reasons.is_empty()),
            Rule::ForeignEntriesPreserved | Rule::ControllerNameForm => shared(),
            Rule::EntryUnique => any(&|subject| subject.at != StatusList::Object),
            Rule::ListenersComplete => any(&|subject| subject.one_per_listener),
            Rule::ProgrammedAfterAccepted => {
                any(&|subject| known(subject, self.dialect().ready()) && has_accepted(subject))
            }
            Rule::CountPresent => any(&|subject| !subject.counts.is_empty()),
            Rule::Sorted => !kind.sorted.is_empty(),
            Rule::ValueFitsType => !kind.typed.is_empty(),
        }
    }
}
