//! Failures that the user expects, and what became of each in a run.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// An entry of the user's file of known failures. In names `*` stands for any characters.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct KnownFailure {
    /// Names of the scenarios that fail, or, beside `contract`, in which the rule is broken.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scenario: Option<String>,
    /// The expectation that fails; any unless given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expectation: Option<String>,
    /// The contract rule that is broken, such as `contract/HTTPRoute/observed-generation-current`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub contract: Option<String>,
    /// Why, for people.
    pub reason: String,
    /// The last day on which it holds, such as `2027-01-31`, in UTC.
    pub expires: String,
    /// Where it stands, as `FILE:LINE`.
    pub place: String,
}

impl KnownFailure {
    /// Whether it still holds on a day, given as a date or as the beginning of an RFC 3339 time.
    pub fn holds_on(&self, date: &str) -> bool {
        // Dates of this form are in the order of their letters.
        date.get(..self.expires.len()).is_some_and(|day| day <= self.expires.as_str())
    }
}

/// What became of an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum KnownState {
    /// It failed as the entry says.
    Seen,
    /// Something that it names passed: the entry is out of date, which fails the run.
    UnexpectedPass,
    /// It failed as the entry says, but the entry's time is over, which fails the run.
    Expired,
    /// Nothing that it names came to an end that tells.
    NotTried,
}

impl KnownState {
    /// What became of an entry of which this was seen and this passed, on a day given as RFC 3339.
    pub fn of(entry: &KnownFailure, date: &str, seen: &[String], passed: &[String]) -> KnownState {
        match (seen.is_empty(), passed.is_empty()) {
            (_, false) => KnownState::UnexpectedPass,
            (false, true) if !entry.holds_on(date) => KnownState::Expired,
            (false, true) => KnownState::Seen,
            (true, true) => KnownState::NotTried,
        }
    }
}

/// An entry, and what became of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct KnownFailureRecord {
    /// The entry.
    pub entry: KnownFailure,
    /// What became of it.
    pub state: KnownState,
    /// The scenarios or contract rules that failed as it says.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub seen: Vec<String>,
    /// Those that it names and that passed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub passed: Vec<String>,
}

impl KnownFailureRecord {
    /// Whether the entry has to be changed, which fails the run.
    pub fn is_stale(&self) -> bool {
        matches!(self.state, KnownState::UnexpectedPass | KnownState::Expired)
    }

    /// What is wrong with a stale entry and what to do, in words; `None` for others.
    pub fn complaint(&self) -> Option<String> {
        let KnownFailure { reason, expires, .. } = &self.entry;
        match self.state {
            KnownState::UnexpectedPass => Some(format!(
                "{} passed; take it out of the entry, or the entry out of the file (reason: {reason})",
                self.passed.join(", ")
            )),
            KnownState::Expired => Some(format!(
                "{} still fails, and the entry ended on {expires}; mend the target, or give the entry another date (reason: {reason})",
                self.seen.join(", ")
            )),
            KnownState::Seen | KnownState::NotTried => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case::before("2026-11-20T10:00:00Z", true)]
    #[case::the_last_day("2026-11-21T23:59:59Z", true)]
    #[case::after("2026-11-22T00:00:00Z", false)]
    #[case::another_year("2027-01-01", false)]
    #[case::no_date("", false)]
    fn an_entry_holds_through_its_last_day(#[case] now: &str, #[case] expected: bool) {
        let entry = KnownFailure {
            scenario: Some("a".to_owned()),
            expectation: None,
            contract: None,
            reason: String::new(),
            expires: "2026-11-21".to_owned(),
            place: "known.yaml:1".to_owned(),
        };
        assert_eq!(entry.holds_on(now), expected);
    }
}
