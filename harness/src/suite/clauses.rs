//! Clauses that the files of a dialect name: one that is misspelt would be stated by nothing, and proven by nobody.

use std::path::Path;

use gateproof_suites::Requirement;

use super::error::SuiteError;
use crate::dialects::{Dialect, Implied};
use crate::judge::contract::Contract;
use crate::scenario::nearest;

/// A file's path and text.
type Of<'a> = (&'a Path, &'a str);

/// Holds the clauses that a dialect and its contract name against those that there are.
pub(super) fn hold(
    dialect: &Dialect,
    (path, text): Of<'_>,
    contract: &Contract,
    (contract_path, contract_text): Of<'_>,
    requirements: &[Requirement],
) -> Result<(), SuiteError> {
    let is_unknown = |clause: &str| !requirements.iter().any(|requirement| requirement.id == clause);
    let unknown = |path: &Path, text: &str, clause: &str, place: &[&str]| {
        let place: Vec<String> = place.iter().chain(&[clause]).map(|step| (*step).to_owned()).collect();
        let clauses = requirements.iter().map(|requirement| requirement.id.clone()).collect();
        let line = nearest(text, &[place]);
        SuiteError::UnknownClause { path: path.to_owned(), line, clause: clause.to_owned(), clauses }
    };
    let implied = |which: Implied| dialect.implied(which).iter().map(move |clause| (which, clause));
    if let Some((which, clause)) = Implied::ALL.into_iter().flat_map(implied).find(|(_, clause)| is_unknown(clause)) {
        return Err(unknown(path, text, clause, &["spec", "implied", which.name()]));
    }
    if let Some((rule, clause)) = contract.clauses().find(|(_, clause)| is_unknown(clause)) {
        return Err(unknown(contract_path, contract_text, clause, &["spec", "rules", rule.name(), "clauses"]));
    }
    Ok(())
}

/// Whether every clause is there once.
pub(super) fn once(path: &Path, text: &str, requirements: &[Requirement]) -> Result<(), SuiteError> {
    let is_again = |(index, one): &(usize, &Requirement)| requirements[..*index].iter().any(|other| other.id == one.id);
    let Some((_, again)) = requirements.iter().enumerate().find(is_again) else { return Ok(()) };
    let line = nearest(text, &[vec![format!("id={}", again.id)]]);
    Err(SuiteError::ClauseTwice { path: path.to_owned(), line, clause: again.id.clone() })
}
