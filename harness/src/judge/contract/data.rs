//! The contract as data: strict reading of `suites/dialects/*/contract.yaml`.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use indexmap::IndexMap;
use regex::Regex;
use serde::Deserialize;
use serde_json::Value;

use super::graded::Graded;
use super::rule::Rule;
use super::typed::TypedValues;
use crate::dialects::Dialect;
use crate::scenario::{Basis, Level, Version};

/// Why a contract could not be read.
#[derive(Debug, thiserror::Error)]
pub enum ContractError {
    /// Not YAML of this shape.
    #[error("reading the contract: {0}")]
    Parse(String),
    /// A rule that does not exist.
    #[error("no rule is named `{name}`{}", hint.as_ref().map_or_else(String::new, |h| format!("; did you mean `{h}`?")))]
    UnknownRule {
        /// As written.
        name: String,
        /// The nearest one.
        hint: Option<String>,
    },
    /// A set of conditions that is not defined.
    #[error("{kind} refers to the conditions `{set}`, which are not defined")]
    UnknownConditions {
        /// The kind that refers to it.
        kind: String,
        /// As written.
        set: String,
    },
    /// A condition that another needs and its set has not.
    #[error("a condition of the set `{set}` needs the condition `{type_}`, which is not in that set")]
    UnknownNeed {
        /// The set.
        set: String,
        /// As written.
        type_: String,
    },
    /// A reason that is not `Name [since V] [until V]`.
    #[error("`{0}` is not a reason such as `Pending since 1.2 until 1.5`")]
    Reason(String),
    /// A kind that its dialect has not.
    #[error("the dialect has no kind {kind} of the group `{group}`")]
    UnknownKind {
        /// As written.
        kind: String,
        /// As written.
        group: String,
    },
    /// Of something else.
    #[error("the contract is of the dialect `{0}`, which is another")]
    UnknownDialect(String),
    /// A version that is none.
    #[error("{0}")]
    Version(String),
    /// An edition that the dialect does not name.
    #[error("the dialect `{dialect}` has no edition `{edition}`")]
    UnknownEdition {
        /// The dialect.
        dialect: String,
        /// As written.
        edition: String,
    },
}

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
    pub(super) at: Place,
    pub(super) conditions: IndexMap<String, ConditionTerms>,
    pub(super) counts: Vec<String>,
    pub(super) one_per_listener: bool,
    /// Whose entries these are, if not those of the controller under test.
    pub(super) controller: Option<String>,
}

/// Where.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) enum Place {
    /// `status.conditions`.
    Object,
    /// `status.listeners[].conditions`, keyed by name.
    Listeners,
    /// `status.parents[].conditions`, keyed by parentRef and controllerName.
    Parents,
    /// `status.ancestors[].conditions`, keyed by ancestorRef and controllerName.
    Ancestors,
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
    type Err = ContractError;
    fn from_str(text: &str) -> Result<Reason, ContractError> {
        let bad = || ContractError::Reason(text.to_owned());
        let mut words = text.split_whitespace();
        let mut reason = Reason { name: words.next().ok_or_else(bad)?.to_owned(), since: None, until: None };
        while let Some(word) = words.next() {
            let version = version(words.next().ok_or_else(bad)?)?;
            match word {
                "since" => reason.since = Some(version),
                "until" => reason.until = Some(version),
                _ => return Err(bad()),
            }
        }
        Ok(reason)
    }
}

fn version(text: &str) -> Result<Version, ContractError> {
    text.parse().map_err(ContractError::Version)
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

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct Document {
    api_version: ApiVersion,
    kind: DocumentKind,
    metadata: Metadata,
    spec: Spec,
}

#[derive(Deserialize)]
enum ApiVersion {
    #[serde(rename = "gateproof.dev/v1alpha1")]
    V1Alpha1,
}

#[derive(Deserialize)]
enum DocumentKind {
    StatusContract,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Metadata {
    name: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct Spec {
    transition_time: Transition,
    message_required: bool,
    forms: Forms,
    rules: IndexMap<String, RawTerms>,
    conditions: IndexMap<String, IndexMap<String, RawCondition>>,
    kinds: Vec<RawKind>,
    /// What is otherwise in an edition.
    #[serde(default)]
    editions: IndexMap<String, Value>,
}

/// The contract as an edition has it: what stands under its name in `editions` is a JSON merge patch (RFC 7386) of the rest.
/// All editions are read, so that what is wrong with one is told whichever is meant.
fn document(text: &str, wanted: Option<&str>) -> Result<Document, ContractError> {
    let unread = |error: &dyn fmt::Display| ContractError::Parse(error.to_string());
    let plain: Document = serde_yaml::from_str(text).map_err(|error| unread(&error))?;
    let whole: Value = serde_yaml::from_str(text).map_err(|error| unread(&error))?;
    let mut found = None;
    for (edition, otherwise) in &plain.spec.editions {
        if let Some(place) = taken_from_nothing(otherwise, &whole["spec"]) {
            return Err(unread(&format!(
                "in the edition `{edition}`: there is no `{place}` to be taken away or changed"
            )));
        }
        let mut merged = whole.clone();
        json_patch::merge(&mut merged["spec"], otherwise);
        let read: Document =
            serde_json::from_value(merged).map_err(|error| unread(&format!("in the edition `{edition}`: {error}")))?;
        if wanted == Some(edition) {
            found = Some(read);
        }
    }
    Ok(found.unwrap_or(plain))
}

/// Where a patch takes away what is not there, or changes something within it: a misspelt name.
fn taken_from_nothing(patch: &Value, of: &Value) -> Option<String> {
    patch.as_object()?.iter().find_map(|(name, patch)| match of.get(name) {
        None if patch.is_null() => Some(name.clone()),
        None => None,
        Some(there) => taken_from_nothing(patch, there).map(|below| format!("{name}.{below}")),
    })
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct Forms {
    reason: String,
    reason_lint: String,
    r#type: String,
    controller_name: Option<String>,
    time: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawTerms {
    level: Level,
    #[serde(default)]
    clauses: Vec<String>,
    since: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct RawCondition {
    presence: Presence,
    #[serde(default)]
    negative: bool,
    #[serde(default)]
    explains: bool,
    #[serde(default)]
    closed: bool,
    #[serde(default)]
    configured: bool,
    asked_by: Option<String>,
    #[serde(default)]
    needs: Vec<String>,
    since: Option<String>,
    until: Option<String>,
    #[serde(default)]
    reasons: IndexMap<String, Vec<String>>,
    #[serde(default)]
    open: Vec<String>,
    #[serde(default)]
    graded: Graded,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct RawKind {
    kind: String,
    group: String,
    subjects: Vec<RawSubject>,
    #[serde(default)]
    sorted: Vec<SortedField>,
    #[serde(default)]
    typed: Vec<TypedValues>,
    handled_by: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct RawSubject {
    at: Place,
    conditions: String,
    #[serde(default)]
    counts: Vec<String>,
    #[serde(default)]
    one_per_listener: bool,
    controller: Option<String>,
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
        let Document { api_version: ApiVersion::V1Alpha1, kind: DocumentKind::StatusContract, metadata, spec } =
            document(text, edition)?;
        let mut rules = IndexMap::new();
        for (name, terms) in spec.rules {
            let rule = Rule::named(&name).ok_or_else(|| unknown_rule(&name))?;
            let RawTerms { level, clauses, since } = terms;
            rules.insert(rule, Terms { level, clauses, since: since.as_deref().map(version).transpose()? });
        }
        let kinds: Vec<Kind> =
            spec.kinds.into_iter().map(|kind| read_kind(kind, &spec.conditions)).collect::<Result<_, _>>()?;
        let dialect = dialect(&metadata.name).ok_or(ContractError::UnknownDialect(metadata.name))?;
        if let Some(edition) = spec.editions.keys().find(|edition| !dialect.editions().contains(edition)) {
            return Err(ContractError::UnknownEdition { dialect: dialect.name().to_owned(), edition: edition.clone() });
        }
        let is_own = |kind: &&Kind| dialect.kind(&kind.kind).is_some() && dialect.group_of(&kind.kind) == kind.group;
        if let Some(Kind { kind, group, .. }) = kinds.iter().find(|kind| !is_own(kind)) {
            return Err(ContractError::UnknownKind { kind: kind.clone(), group: group.clone() });
        }
        Ok(Contract {
            dialect,
            edition: edition.map(str::to_owned),
            rules,
            transition: spec.transition_time,
            message_required: spec.message_required,
            kinds,
            reason_form: regex(&spec.forms.reason)?,
            reason_lint: regex(&spec.forms.reason_lint)?,
            type_form: regex(&spec.forms.r#type)?,
            controller_form: spec.forms.controller_name.as_deref().map(regex).transpose()?,
            time_form: spec.forms.time.as_deref().map(regex).transpose()?,
        })
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

    /// Every name that a rule can have in reports, `contract/KIND/RULE`.
    pub fn rule_names(&self) -> Vec<String> {
        let of =
            |kind: &Kind| self.rules.keys().map(|rule| format!("contract/{}/{}", kind.kind, rule.name())).collect();
        self.kinds.iter().flat_map(|kind| -> Vec<String> { of(kind) }).collect()
    }

    pub(super) fn kind(&self, group: &str, kind: &str) -> Option<&Kind> {
        self.kinds.iter().find(|k| k.kind == kind && k.group == group)
    }
}

fn regex(text: &str) -> Result<Regex, ContractError> {
    Regex::new(text).map_err(|e| ContractError::Parse(e.to_string()))
}

fn unknown_rule(name: &str) -> ContractError {
    let nearest = Rule::ALL
        .into_iter()
        .map(|rule| (strsim::jaro_winkler(name, rule.name()), rule.name()))
        .filter(|(likeness, _)| *likeness > 0.8)
        .max_by(|a, b| a.0.total_cmp(&b.0));
    ContractError::UnknownRule { name: name.to_owned(), hint: nearest.map(|(_, name)| name.to_owned()) }
}

fn read_kind(raw: RawKind, sets: &IndexMap<String, IndexMap<String, RawCondition>>) -> Result<Kind, ContractError> {
    let mut subjects = Vec::new();
    for subject in raw.subjects {
        let set = sets.get(&subject.conditions).ok_or_else(|| ContractError::UnknownConditions {
            kind: raw.kind.clone(),
            set: subject.conditions.clone(),
        })?;
        let conditions = set
            .iter()
            .map(|(type_, raw)| Ok((type_.clone(), read_condition(raw)?)))
            .collect::<Result<IndexMap<String, ConditionTerms>, ContractError>>()?;
        let needed = conditions.values().flat_map(|terms| &terms.needs);
        if let Some(missing) = needed.into_iter().find(|type_| !conditions.contains_key(*type_)) {
            return Err(ContractError::UnknownNeed { set: subject.conditions, type_: missing.clone() });
        }
        subjects.push(Subject {
            at: subject.at,
            conditions,
            counts: subject.counts,
            one_per_listener: subject.one_per_listener,
            controller: subject.controller,
        });
    }
    let RawKind { group, kind, sorted, typed, handled_by, .. } = raw;
    Ok(Kind { group, kind, subjects, sorted, typed, handled_by })
}

fn read_condition(raw: &RawCondition) -> Result<ConditionTerms, ContractError> {
    let reasons = raw
        .reasons
        .iter()
        .map(|(status, reasons)| {
            let reasons = reasons.iter().map(|text| text.parse()).collect::<Result<_, _>>()?;
            Ok((status.clone(), reasons))
        })
        .collect::<Result<_, ContractError>>()?;
    Ok(ConditionTerms {
        presence: raw.presence,
        negative: raw.negative,
        explains: raw.explains,
        closed: raw.closed,
        configured: raw.configured,
        asked_by: raw.asked_by.clone(),
        needs: raw.needs.clone(),
        since: raw.since.as_deref().map(version).transpose()?,
        until: raw.until.as_deref().map(version).transpose()?,
        reasons,
        open: raw.open.clone(),
        graded: raw.graded.clone(),
    })
}

#[cfg(test)]
#[path = "data_tests.rs"]
mod tests;
