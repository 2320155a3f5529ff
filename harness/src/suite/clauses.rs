//! Clauses that the files of a dialect name: one that is misspelt would be stated by nothing, and proven by nobody. And what a
//! clause says, for those who read its name alone.

use std::path::Path;

use gateproof_suites::{Requirement, UpstreamTest, blind_spot, upstream_test};

use super::Suite;
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

/// What a clause of `proves` says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Said {
    /// How binding it is, such as `MUST`: that of a requirement, which tests of upstream's and what they do not see have none of.
    pub level: Option<String>,
    /// What it asks.
    pub text: String,
    /// Where it stands: a URL. What a test does not see stands where the test does.
    pub source: Option<String>,
}

impl Suite {
    /// What the clause of this name says: a requirement, a test of upstream's, or what such a test does not see.
    pub fn said(&self, clause: &str) -> Option<Said> {
        if let Some(one) = self.requirement(clause) {
            let level = Some(format!("{:?}", one.level).to_uppercase());
            return Some(Said { level, text: one.text.clone(), source: Some(one.source.clone()) });
        }
        if let Some(test) = clause.strip_prefix("upstream:").and_then(upstream_test) {
            return Some(Said { level: None, text: test.asks(), source: Some(test.source()) });
        }
        let spot = blind_spot(clause)?;
        Some(Said { level: None, text: spot.unnoticed(), source: spot.test().map(UpstreamTest::source) })
    }
}

/// Whether every clause is there once.
pub(super) fn once(path: &Path, text: &str, requirements: &[Requirement]) -> Result<(), SuiteError> {
    let is_again = |(index, one): &(usize, &Requirement)| requirements[..*index].iter().any(|other| other.id == one.id);
    let Some((_, again)) = requirements.iter().enumerate().find(is_again) else { return Ok(()) };
    let line = nearest(text, &[vec![format!("id={}", again.id)]]);
    Err(SuiteError::ClauseTwice { path: path.to_owned(), line, clause: again.id.clone() })
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case::requirement("GEP1364-03", Some(("MUST", "A condition list holds", "apis/v1/shared_types.go#L555-L556")))]
    #[case::test_of_upstream("upstream:HTTPRouteWeight", Some(("", "What HTTPRouteWeight asks", "v1.7.0/conformance/tests/httproute-weight.go")))]
    #[case::unseen("blind:HTTPRouteWeight.1", Some(("", "Upstream's suite does not notice: ", "v1.7.0/conformance/tests/httproute-weight.go")))]
    #[case::unseen_by_many("blind:Generic.4", Some(("", "Upstream's suite does not notice: ", "")))]
    #[case::unknown_requirement("GEP1364-999", None)]
    #[case::unknown_test("upstream:HTTPRouteWeights", None)]
    #[case::unknown_unseen("blind:HTTPRouteWeight.99", None)]
    #[case::other_prefix("HTTPRouteWeight", None)]
    fn says_what_a_name_stands_for(#[case] clause: &str, #[case] expected: Option<(&str, &str, &str)>) {
        let said = Suite::gateway_api().unwrap().said(clause);
        let Some((level, text, source)) = expected else { return assert_eq!(said, None) };
        let said = said.unwrap();
        assert_eq!(said.level.as_deref().unwrap_or_default(), level);
        assert!(said.text.starts_with(text), "{}", said.text);
        assert!(said.source.unwrap_or_default().ends_with(source));
    }
}
