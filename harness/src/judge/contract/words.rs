//! Words of a contract that a rule alone reads: said without it they would be dead, and nobody would be told.

use super::data::Contract;
use super::error::{ContractError, in_set, path};
use super::rule::Rule;
use super::terms::{ConditionTerms, Kind, Presence, Subject};

/// Words, and the rules of which one has to be listed for a word to say anything. `configured` is none of them: a wait for a status
/// reads it, too.
pub(crate) const READ_BY: [(&str, &[Rule]); 25] = [
    ("messageRequired", &[Rule::MessagePresent]),
    ("forms.controllerName", &[Rule::ControllerNameForm]),
    ("forms.time", &[Rule::TransitionTimeForm]),
    ("presence: always", &[Rule::AlwaysPresent, Rule::AlwaysFromFirstWrite]),
    ("presence: withAccepted", &[Rule::SupportedVersionPresent]),
    ("presence: onlyTrue", &[Rule::NegativeOnlyWhileTrue]),
    ("presence: preferablyTrue", &[Rule::NegativeOnlyWhileTrue]),
    ("presence: retired", &[Rule::TypeRetired]),
    ("negative", &[Rule::NegativeOnlyWhileTrue, Rule::MessageExplains]),
    ("explains", &[Rule::MessageExplains]),
    ("reasons", &[Rule::ReasonListed]),
    ("closed", &[Rule::ReasonClosed]),
    ("askedBy", &[Rule::NegativeOnlyWhileTrue]),
    ("needs", &[Rule::NeedsMet]),
    ("needsWhenTrue", &[Rule::NeedsMet]),
    ("graded.by", &[Rule::GradeFitsStatus, Rule::ReasonFitsGrade, Rule::MessageExplains]),
    ("graded.reasons", &[Rule::ReasonFitsGrade]),
    ("graded.explains", &[Rule::MessageExplains]),
    ("graded.silent", &[Rule::MessageSilent]),
    ("graded.whileDeleted", &[Rule::ReasonWhileDeleted]),
    ("graded.never", &[Rule::NoStepBack]),
    ("counts", &[Rule::CountPresent]),
    ("onePerListener", &[Rule::ListenersComplete]),
    ("sorted", &[Rule::Sorted]),
    ("typed", &[Rule::ValueFitsType]),
];

/// Words of a condition that say something beside another one alone.
pub(crate) const BESIDE: [(&str, &str); 5] = [
    ("presence: onlyTrue", "negative"),
    ("presence: preferablyTrue", "negative"),
    ("askedBy", "negative"),
    ("closed", "reasons"),
    ("open", "reasons"),
];

/// A word that a contract says.
struct Said {
    word: &'static str,
    /// Where it may stand.
    at: Vec<Vec<String>>,
}

/// Whether every word that a contract says says something. `listed` are the rules that it names in any of its editions, even to take
/// one away that it refines: who does that does not want the word read.
pub(super) fn hold(contract: &Contract, listed: impl Fn(Rule) -> bool) -> Result<(), ContractError> {
    let is_unread = |said: &Said| {
        let read_by = READ_BY.iter().find(|(word, _)| *word == said.word).map(|(_, rules)| *rules);
        read_by.filter(|rules| !rules.iter().any(|rule| listed(*rule)))
    };
    for said in contract.said() {
        if let Some(rules) = is_unread(&said) {
            return Err(ContractError::Unread { word: said.word, rules, at: said.at });
        }
    }
    let subjects = || contract.kinds.iter().flat_map(|kind| &kind.subjects);
    for (set, type_, terms) in
        subjects().flat_map(|one| one.conditions.iter().map(|(type_, terms)| (&one.set, type_, terms)))
    {
        let is_there = |word: &str| terms.words().contains(&word) || (word == "reasons" && !terms.reasons.is_empty());
        if let Some((word, beside)) = BESIDE.iter().find(|(word, beside)| is_there(word) && !is_there(beside)) {
            let at = in_set(set, &[type_, key(word)]);
            return Err(ContractError::Alone { word, beside, type_: type_.clone(), at });
        }
    }
    Ok(())
}

/// The key of a word, which may have its value with it.
fn key(word: &'static str) -> &'static str {
    word.split(':').next().unwrap_or(word)
}

impl Contract {
    fn said(&self) -> Vec<Said> {
        let mut said = Vec::new();
        let whole = [
            ("messageRequired", self.message_required),
            ("forms.controllerName", self.controller_form.is_some()),
            ("forms.time", self.time_form.is_some()),
        ];
        for (word, _) in whole.into_iter().filter(|(_, is_said)| *is_said) {
            said.push(Said { word, at: vec![path(&word.split('.').collect::<Vec<_>>())] });
        }
        self.kinds.iter().for_each(|kind| kind.said(&mut said));
        said
    }
}

impl Kind {
    fn said(&self, said: &mut Vec<Said>) {
        let own = |rest: &[&str]| vec![path(&[&["kinds", &format!("kind={}", self.kind)], rest].concat())];
        for Subject { at, set, conditions, counts, one_per_listener, .. } in &self.subjects {
            for (type_, terms) in conditions {
                for word in terms.words() {
                    let below: Vec<&str> = key(word).split('.').collect();
                    said.push(Said { word, at: in_set(set, &[&[&**type_], &below[..]].concat()) });
                }
            }
            let entries = [("counts", !counts.is_empty()), ("onePerListener", *one_per_listener)];
            for (word, _) in entries.into_iter().filter(|(_, is_said)| *is_said) {
                let item = format!("at={}", super::places::word(*at));
                said.push(Said { word, at: own(&["subjects", &item, word]) });
            }
        }
        let lists = [("sorted", self.sorted.is_empty()), ("typed", self.typed.is_empty())];
        said.extend(
            lists.into_iter().filter(|(_, is_empty)| !is_empty).map(|(word, _)| Said { word, at: own(&[word]) }),
        );
    }
}

impl ConditionTerms {
    /// The words that it says, as [`READ_BY`] and [`BESIDE`] call them.
    fn words(&self) -> Vec<&'static str> {
        let presence = match self.presence {
            Presence::Always => Some("presence: always"),
            Presence::WithAccepted => Some("presence: withAccepted"),
            Presence::OnlyTrue => Some("presence: onlyTrue"),
            Presence::PreferablyTrue => Some("presence: preferablyTrue"),
            Presence::Retired => Some("presence: retired"),
            Presence::Optional => None,
        };
        let said = [
            ("negative", self.negative),
            ("explains", self.explains),
            // Where there are no others, `closed` has them read.
            ("reasons", !self.closed && !self.reasons.is_empty()),
            ("closed", self.closed),
            ("open", !self.open.is_empty()),
            ("askedBy", self.asked_by.is_some()),
            ("needs", !self.needs.is_empty()),
            ("needsWhenTrue", !self.needs_when_true.is_empty()),
            ("graded.by", self.graded.has(Rule::GradeFitsStatus)),
            ("graded.reasons", self.graded.has(Rule::ReasonFitsGrade)),
            ("graded.explains", self.graded.has(Rule::MessageExplains)),
            ("graded.silent", self.graded.has(Rule::MessageSilent)),
            ("graded.whileDeleted", self.graded.has(Rule::ReasonWhileDeleted)),
            ("graded.never", self.graded.has(Rule::NoStepBack)),
        ];
        let said = said.into_iter().filter(|(_, is_said)| *is_said).map(|(word, _)| word);
        presence.into_iter().chain(said).collect()
    }
}

#[cfg(test)]
#[path = "words_tests.rs"]
mod tests;
