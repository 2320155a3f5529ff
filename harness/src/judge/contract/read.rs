//! Strict reading of `suites/dialects/*/contract.yaml`.

use std::sync::Arc;

use indexmap::IndexMap;
use regex::Regex;

use super::data::Contract;
use super::document::{ApiVersion, Conditions, Document, DocumentKind, RawCondition, RawKind, RawTerms};
use super::error::{ContractError, in_set, path};
use super::merged::{self, Merged};
use super::rule::Rule;
use super::terms::{ConditionTerms, Kind, Presence, STATUSES, Subject, Terms};
use super::words;
use crate::dialects::Dialect;
use crate::scenario::Version;

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
        kinds.iter().flat_map(|kind| &kind.subjects).try_for_each(|subject| known(subject, &dialect))?;
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
}

/// Whether the dialect lists the types of a subject, if it lists any: a misspelt one would be demanded, and the right one be unknown. What is
/// no more, or not to be, it need not list.
fn known(subject: &Subject, dialect: &Dialect) -> Result<(), ContractError> {
    let known = dialect.conditions();
    let is_known = |type_: &String| known.is_empty() || type_.contains('/') || known.contains(type_);
    let is_of_today = |terms: &ConditionTerms| terms.presence != Presence::Retired && terms.until.is_none();
    match subject.conditions.iter().find(|(type_, terms)| is_of_today(terms) && !is_known(type_)) {
        Some((type_, _)) => {
            let (set, type_) = (subject.set.clone(), type_.clone());
            Err(ContractError::UnknownType { set, type_, known: known.to_vec() })
        }
        None => Ok(()),
    }
}

/// The release that stands at one of these places.
fn version(text: Option<&str>, at: impl FnOnce() -> Vec<Vec<String>>) -> Result<Option<Version>, ContractError> {
    text.map(str::parse).transpose().map_err(|error| ContractError::Version { at: at(), error })
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
