//! The contract as data: strict reading of `suites/dialects/*/contract.yaml`.

use std::str::FromStr;
use std::sync::Arc;

use indexmap::IndexMap;
use regex::Regex;
use serde::Deserialize;

use super::definitions;
use super::document::{ApiVersion, Conditions, Document, DocumentKind, RawCondition, RawKind, RawTerms};
use super::error::{ContractError, in_set, path};
use super::graded::Graded;
use super::merged::{self, Merged};
use super::rule::Rule;
use super::typed::TypedValues;
use super::words;
use crate::dialects::{Dialect, StatusList};
use crate::scenario::{Basis, Level, Version};

/// A status contract: which kinds have which conditions, and which rules hold.
#[derive(Debug)]
pub struct Contract {
    dialect: Arc<Dialect>,
    edition: Option<String>,
    rules: IndexMap<Rule, Terms>,
    pub(super) transition: Transition,
    pub(super) message_required: bool,
    pub(super) kinds: Vec<Kind>,
    pub(super) reason_form: Regex,
    pub(super) reason_lint: Regex,
    pub(super) type_form: Regex,
    pub(super) controller_form: Option<Regex>,
    pub(super) time_form: Option<Regex>,
}

/// How binding a rule is, and where it comes from.
#[derive(Debug, Clone, PartialEq)]
pub struct Terms {
    /// How binding.
    pub level: Level,
    /// Clauses that state it.
    pub clauses: Vec<String>,
    /// The first release that states it; every one if `None`.
    pub since: Option<Version>,
}

impl Terms {
    /// Whether the rule is held at a version.
    pub(super) fn known_at(&self, basis: Basis) -> bool {
        basis.is_within(self.since, None)
    }
}

/// When `lastTransitionTime` moves.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) enum Transition {
    /// Exactly when the status flips, as the Kubernetes API conventions have it (K8S-07).
    OnStatusChange,
    /// Whenever anything of the condition changes (K8S-08).
    OnAnyChange,
    /// Whenever the status flips; it may move otherwise.
    Either,
}

#[derive(Debug)]
pub(super) struct Kind {
    pub(super) group: String,
    pub(super) kind: String,
    pub(super) subjects: Vec<Subject>,
    pub(super) sorted: Vec<SortedField>,
    pub(super) typed: Vec<TypedValues>,
    /// JSON pointer to what says who handles an object.
    pub(super) handled_by: Option<String>,
}

/// One place in the status where conditions stand.
#[derive(Debug)]
pub(super) struct Subject {
    pub(super) at: StatusList,
    /// The set of its conditions, as the contract calls it.
    pub(super) set: String,
    pub(super) conditions: IndexMap<String, ConditionTerms>,
    pub(super) counts: Vec<String>,
    pub(super) one_per_listener: bool,
    /// Whose entries these are, if not those of the controller under test.
    pub(super) controller: Option<String>,
}

impl Subject {
    /// Whether the dialect lists its types, if it lists any: a misspelt one would be demanded, and the right one be unknown. What is
    /// no more, or not to be, it need not list.
    fn is_known(&self, dialect: &Dialect) -> Result<(), ContractError> {
        let known = dialect.conditions();
        let is_known = |type_: &String| known.is_empty() || type_.contains('/') || known.contains(type_);
        let is_of_today = |terms: &ConditionTerms| terms.presence != Presence::Retired && terms.until.is_none();
        match self.conditions.iter().find(|(type_, terms)| is_of_today(terms) && !is_known(type_)) {
            Some((type_, _)) => {
                let (set, type_) = (self.set.clone(), type_.clone());
                Err(ContractError::UnknownType { set, type_, known: known.to_vec() })
            }
            None => Ok(()),
        }
    }
}

#[derive(Debug)]
pub(super) struct ConditionTerms {
    pub(super) presence: Presence,
    pub(super) negative: bool,
    pub(super) explains: bool,
    pub(super) closed: bool,
    pub(super) configured: bool,
    /// A value of the spec without which it has no reason to be there.
    pub(super) asked_by: Option<String>,
    /// Types that must be True beside it.
    pub(super) needs: Vec<String>,
    /// The same while it is True itself.
    pub(super) needs_when_true: Vec<String>,
    pub(super) since: Option<Version>,
    pub(super) until: Option<Version>,
    pub(super) reasons: IndexMap<String, Vec<Reason>>,
    /// Statuses whose reasons come from elsewhere, too.
    pub(super) open: Vec<String>,
    pub(super) graded: Graded,
}

impl ConditionTerms {
    /// Whether the type has a meaning at a version.
    pub(super) fn known_at(&self, basis: Basis) -> bool {
        basis.is_within(self.since, self.until)
    }
}

/// The statuses that a condition may have.
pub(super) const STATUSES: [&str; 3] = ["True", "False", "Unknown"];

/// When a condition must be there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) enum Presence {
    /// In every status that the controller writes.
    Always,
    /// As soon as `Accepted` is there.
    WithAccepted,
    /// Only while True.
    OnlyTrue,
    /// Only while True is better, an explicit False is legal.
    PreferablyTrue,
    /// As the implementation likes.
    Optional,
    /// Not to be used, or replaced by another.
    Retired,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) struct Reason {
    pub(super) name: String,
    since: Option<Version>,
    until: Option<Version>,
}

impl Reason {
    pub(super) fn known_at(&self, basis: Basis) -> bool {
        basis.is_within(self.since, self.until)
    }
}

impl FromStr for Reason {
    type Err = String;
    fn from_str(text: &str) -> Result<Reason, String> {
        let bad = || format!("`{text}` is not a reason such as `Pending since 1.2 until 1.5`");
        let mut words = text.split_whitespace();
        let mut reason = Reason { name: words.next().ok_or_else(bad)?.to_owned(), since: None, until: None };
        while let Some(word) = words.next() {
            let version = words.next().ok_or_else(bad)?.parse::<Version>()?;
            match word {
                "since" => reason.since = Some(version),
                "until" => reason.until = Some(version),
                _ => return Err(bad()),
            }
        }
        Ok(reason)
    }
}

/// The release that stands at one of these places.
fn version(text: Option<&str>, at: impl FnOnce() -> Vec<Vec<String>>) -> Result<Option<Version>, ContractError> {
    text.map(str::parse).transpose().map_err(|error| ContractError::Version { at: at(), error })
}

/// A list that must be sorted.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct SortedField {
    /// JSON pointer.
    pub(super) at: String,
    /// Field of its items.
    pub(super) by: String,
}

impl Contract {
    /// Reads the contract of a built-in dialect. Anything that it does not know is an error.
    ///
    /// # Errors
    /// It is not of this shape, or of a dialect that is not built in.
    pub fn parse(text: &str) -> Result<Contract, ContractError> {
        Contract::read(text, None, Dialect::named)
    }

    /// Reads the contract of a dialect, as one of its editions has it. Anything that it does not know is an error.
    ///
    /// # Errors
    /// It is not of this shape, or of another dialect.
    pub fn of(dialect: Arc<Dialect>, edition: Option<&str>, text: &str) -> Result<Contract, ContractError> {
        Contract::read(text, edition, |name| Some(dialect).filter(|dialect| dialect.name() == name))
    }

    fn read(
        text: &str,
        edition: Option<&str>,
        dialect: impl FnOnce(&str) -> Option<Arc<Dialect>>,
    ) -> Result<Contract, ContractError> {
        let Merged { document, unused, rules: listed } = merged::document(text, edition)?;
        let Document { api_version: ApiVersion::V1Alpha1, kind: DocumentKind::StatusContract, metadata, spec } =
            document;
        let mut rules = IndexMap::new();
        for (name, terms) in spec.rules {
            let rule = Rule::named(&name).ok_or_else(|| unknown_rule(&name))?;
            let Some(RawTerms { level, clauses, since }) = terms else { continue };
            let level = said(level, || format!("rules.{name}.level"))?;
            rules.insert(
                rule,
                Terms { level, clauses, since: version(since.as_deref(), || vec![path(&["rules", &name, "since"])])? },
            );
        }
        let kinds: Vec<Kind> =
            spec.kinds.into_iter().map(|kind| read_kind(kind, &spec.conditions)).collect::<Result<_, _>>()?;
        // A misspelt name leaves a set behind, too, and is what is meant then.
        if let Some(set) = unused {
            return Err(ContractError::UnusedConditions(set));
        }
        let dialect = dialect(&metadata.name).ok_or(ContractError::UnknownDialect(metadata.name))?;
        if let Some(edition) = spec.editions.keys().find(|edition| !dialect.editions().contains(edition)) {
            return Err(ContractError::UnknownEdition { dialect: dialect.name().to_owned(), edition: edition.clone() });
        }
        let is_own = |kind: &&Kind| dialect.kind(&kind.kind).is_some() && dialect.group_of(&kind.kind) == kind.group;
        if let Some(Kind { kind, group, .. }) = kinds.iter().find(|kind| !is_own(kind)) {
            return Err(ContractError::UnknownKind { kind: kind.clone(), group: group.clone() });
        }
        kinds.iter().flat_map(|kind| &kind.subjects).try_for_each(|subject| subject.is_known(&dialect))?;
        let contract = Contract {
            dialect,
            edition: edition.map(str::to_owned),
            rules,
            transition: said(spec.transition_time, || "transitionTime".to_owned())?,
            message_required: said(spec.message_required, || "messageRequired".to_owned())?,
            kinds,
            reason_form: form(spec.forms.reason, "reason")?,
            reason_lint: form(spec.forms.reason_lint, "reasonLint")?,
            type_form: form(spec.forms.r#type, "type")?,
            controller_form: spec.forms.controller_name.map(|text| regex(&text, "controllerName")).transpose()?,
            time_form: spec.forms.time.map(|text| regex(&text, "time")).transpose()?,
        };
        words::hold(&contract, |rule| listed.contains(rule.name()))?;
        Ok(contract)
    }

    /// Leaves out clauses that do not hold, and rules that none is left of.
    pub fn without(mut self, is_elsewhere: impl Fn(&str) -> bool) -> Contract {
        self.rules.retain(|_, terms| {
            let were = terms.clauses.len();
            terms.clauses.retain(|clause| !is_elsewhere(clause));
            were == 0 || !terms.clauses.is_empty()
        });
        self
    }

    /// Which edition of the dialect it is of; none if there is but one.
    pub fn edition(&self) -> Option<&str> {
        self.edition.as_deref()
    }

    /// Whether a condition follows from configuration alone, wherever it stands in this kind.
    pub fn is_configured(&self, kind: &str, type_: &str) -> bool {
        let subjects = self.kinds.iter().filter(|of| of.kind == kind).flat_map(|of| &of.subjects);
        subjects.filter_map(|subject| subject.conditions.get(type_)).any(|terms| terms.configured)
    }

    /// What a kind always says in its entries for parents when all is well: each type with its first reason.
    pub fn well_in_parents(&self, kind: &str) -> Vec<(&str, &str)> {
        let subjects = self.kinds.iter().filter(|of| of.kind == kind).flat_map(|of| &of.subjects);
        let conditions =
            subjects.filter(|subject| subject.at == StatusList::Parents).flat_map(|subject| &subject.conditions);
        let always = conditions.filter(|(_, terms)| terms.presence == Presence::Always);
        always.filter_map(|(type_, terms)| Some((&**type_, &*terms.reasons.get("True")?.first()?.name))).collect()
    }

    /// Names of the rules that state a clause.
    pub fn rules_proving(&self, clause: &str) -> Vec<&'static str> {
        let states = |terms: &Terms| terms.clauses.iter().any(|own| own == clause);
        self.rules.iter().filter(|(_, terms)| states(terms)).map(|(rule, _)| rule.name()).collect()
    }

    /// Its name, which is that of its dialect.
    pub fn name(&self) -> &str {
        self.dialect.name()
    }

    /// What its kinds are.
    pub fn dialect(&self) -> &Arc<Dialect> {
        &self.dialect
    }

    /// How binding a rule is; `None` if the contract does not hold it.
    pub fn rule(&self, rule: Rule) -> Option<&Terms> {
        self.rules.get(&rule)
    }

    /// The clauses that its rules state, each with the rule.
    pub fn clauses(&self) -> impl Iterator<Item = (Rule, &str)> {
        self.rules.iter().flat_map(|(rule, terms)| terms.clauses.iter().map(|clause| (*rule, &**clause)))
    }

    /// Every name that a rule can have in reports, `contract/KIND/RULE`.
    pub fn rule_names(&self) -> Vec<String> {
        let of_kinds = |rule: &&Rule| **rule != Rule::DefinitionsKept;
        let of = |kind: &Kind| {
            self.rules.keys().filter(of_kinds).map(|rule| format!("contract/{}/{}", kind.kind, rule.name())).collect()
        };
        let of_definitions = self.rules.contains_key(&Rule::DefinitionsKept).then(definitions::name);
        self.kinds.iter().flat_map(|kind| -> Vec<String> { of(kind) }).chain(of_definitions).collect()
    }

    pub(super) fn kind(&self, group: &str, kind: &str) -> Option<&Kind> {
        self.kinds.iter().find(|k| k.kind == kind && k.group == group)
    }
}

/// What neither the contract nor what it refines may leave out.
fn said<T>(value: Option<T>, field: impl FnOnce() -> String) -> Result<T, ContractError> {
    value.ok_or_else(|| ContractError::Unsaid(field()))
}

fn form(text: Option<String>, name: &str) -> Result<Regex, ContractError> {
    regex(&said(text, || format!("forms.{name}"))?, name)
}

fn regex(text: &str, name: &str) -> Result<Regex, ContractError> {
    Regex::new(text).map_err(|error| ContractError::Form { name: name.to_owned(), error: Box::new(error) })
}

fn unknown_rule(name: &str) -> ContractError {
    let nearest = Rule::ALL
        .into_iter()
        .map(|rule| (strsim::jaro_winkler(name, rule.name()), rule.name()))
        .filter(|(likeness, _)| *likeness > 0.8)
        .max_by(|a, b| a.0.total_cmp(&b.0));
    ContractError::UnknownRule { name: name.to_owned(), hint: nearest.map(|(_, name)| name.to_owned()) }
}

fn read_kind(raw: RawKind, sets: &IndexMap<String, Option<Conditions>>) -> Result<Kind, ContractError> {
    let mut subjects = Vec::new();
    for subject in raw.subjects {
        let name = subject.conditions.name();
        let set = sets.get(&name).and_then(Option::as_ref);
        let set = set.ok_or_else(|| {
            let missing = subject.conditions.names().into_iter().find(|name| !sets.contains_key(*name));
            let set = missing.unwrap_or(&name).to_owned();
            ContractError::UnknownConditions { kind: raw.kind.clone(), set }
        })?;
        let conditions = set
            .iter()
            .filter_map(|(type_, raw)| Some((type_, raw.as_ref()?)))
            .map(|(type_, raw)| Ok((type_.clone(), read_condition(&name, type_, raw)?)))
            .collect::<Result<IndexMap<String, ConditionTerms>, ContractError>>()?;
        let needed = conditions.values().flat_map(|terms| terms.needs.iter().chain(&terms.needs_when_true));
        if let Some(missing) = needed.into_iter().find(|type_| !conditions.contains_key(*type_)) {
            return Err(ContractError::UnknownNeed { set: name, type_: missing.clone() });
        }
        subjects.push(Subject {
            at: subject.at,
            set: name,
            conditions,
            counts: subject.counts,
            one_per_listener: subject.one_per_listener,
            controller: subject.controller,
        });
    }
    let RawKind { group, kind, sorted, typed, handled_by, .. } = raw;
    Ok(Kind { group, kind, subjects, sorted, typed, handled_by })
}

fn read_condition(set: &str, type_: &str, raw: &RawCondition) -> Result<ConditionTerms, ContractError> {
    if let Some(like) = &raw.like {
        let (set, type_, like) = (set.to_owned(), type_.to_owned(), like.clone());
        return Err(ContractError::UnknownLike { set, type_, like });
    }
    let statuses = raw.reasons.keys().chain(&raw.open).chain(raw.graded.statuses());
    if let Some(status) = statuses.into_iter().find(|status| !STATUSES.contains(&status.as_str())) {
        let (set, type_, status) = (set.to_owned(), type_.to_owned(), status.clone());
        return Err(ContractError::UnknownStatus { set, type_, status });
    }
    let reasons = raw
        .reasons
        .iter()
        .map(|(status, reasons)| {
            let reasons = reasons.iter().map(|text| {
                text.parse().map_err(|why| {
                    let (set, type_, status) = (set.to_owned(), type_.to_owned(), status.clone());
                    ContractError::Reason { set, type_, status, text: text.clone(), why }
                })
            });
            let reasons = reasons.collect::<Result<_, _>>()?;
            Ok((status.clone(), reasons))
        })
        .collect::<Result<_, ContractError>>()?;
    Ok(ConditionTerms {
        presence: said(raw.presence, || format!("conditions.{set}.{type_}.presence"))?,
        negative: raw.negative,
        explains: raw.explains,
        closed: raw.closed,
        configured: raw.configured,
        asked_by: raw.asked_by.clone(),
        needs: raw.needs.clone(),
        needs_when_true: raw.needs_when_true.clone(),
        since: version(raw.since.as_deref(), || in_set(set, &[type_, "since"]))?,
        until: version(raw.until.as_deref(), || in_set(set, &[type_, "until"]))?,
        reasons,
        open: raw.open.clone(),
        graded: raw.graded.clone(),
    })
}

#[cfg(test)]
#[path = "data_tests.rs"]
mod tests;
