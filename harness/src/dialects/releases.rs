//! What a dialect says of its releases: where a target names its own, and which there are.

use std::fmt;
use std::str::FromStr;

use serde::Deserialize;
use serde::de::{self, Deserializer};

/// Where a target says which release of the dialect it serves, and which there are.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Releases {
    /// The definition that is asked, such as `gateways.gateway.networking.k8s.io`.
    pub definition: String,
    /// Its annotation with the version.
    pub version: String,
    /// Its annotation with the channel.
    pub channel: String,
    /// Those that are known, without their patches; none if nobody says which there are.
    #[serde(default)]
    pub known: Vec<Minor>,
}

/// A release without its patch, such as `1.7`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Minor {
    /// Major.
    pub major: u16,
    /// Minor.
    pub minor: u16,
}

impl FromStr for Minor {
    type Err = String;
    fn from_str(text: &str) -> Result<Minor, String> {
        let bad = || format!("`{text}` is not a release such as 1.7");
        let (major, minor) = text.split_once('.').ok_or_else(bad)?;
        let number = |text: &str| text.parse().map_err(|_| bad());
        Ok(Minor { major: number(major)?, minor: number(minor)? })
    }
}

impl fmt::Display for Minor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "v{}.{}", self.major, self.minor)
    }
}

impl<'de> Deserialize<'de> for Minor {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Minor, D::Error> {
        String::deserialize(from)?.parse().map_err(de::Error::custom)
    }
}

/// The releases that have something, such as `1.6`, and up, or `1.3..1.5` for those before 1.5.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Span {
    since: Minor,
    until: Option<Minor>,
}

impl Span {
    /// Whether a release is one of them.
    pub fn has(self, release: Minor) -> bool {
        self.since <= release && self.until.is_none_or(|until| release < until)
    }
}

impl<'de> Deserialize<'de> for Span {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Span, D::Error> {
        let text = String::deserialize(from)?;
        let (since, until) = text.split_once("..").map_or((&*text, None), |(since, until)| (since, Some(until)));
        let read = |text: &str| text.parse().map_err(de::Error::custom);
        let span = Span { since: read(since)?, until: until.map(read).transpose()? };
        if span.until.is_some_and(|until| until <= span.since) {
            return Err(de::Error::custom(format!("there is no release in `{text}`")));
        }
        Ok(span)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case::from("'1.6'", [false, true, true])]
    #[case::until("1.5..1.7", [true, true, false])]
    fn spans_end_before_a_release(#[case] span: &str, #[case] expected: [bool; 3]) {
        let span: Span = serde_yaml::from_str(span).unwrap();
        assert_eq!(["1.5", "1.6", "1.7"].map(|release| span.has(release.parse().unwrap())), expected);
    }

    #[rstest]
    #[case::empty("1.5..1.5")]
    #[case::word("soon")]
    #[case::patch("1.5.1")]
    fn a_span_of_nothing_is_none(#[case] span: &str) {
        assert!(serde_yaml::from_str::<Span>(&format!("'{span}'")).is_err());
    }
}
