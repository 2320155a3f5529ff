//! Label selectors, equality-based and set-based.

use serde_json::Value;

use crate::kinds::names::{is_label_value, is_qualified_name};
use crate::meta;

/// All requirements must hold; none admits everything.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LabelSelector(Vec<Requirement>);

#[derive(Debug, Clone, PartialEq, Eq)]
struct Requirement {
    key: String,
    test: Test,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Test {
    In(Vec<String>),
    /// Also true where the label is absent.
    NotIn(Vec<String>),
    Exists,
    Absent,
    Greater(i64),
    Less(i64),
}

impl LabelSelector {
    /// Reads `a=b,c!=d,e in (f,g),h notin (i),j,!k,l>1`.
    ///
    /// # Errors
    /// What could not be read.
    pub fn parse(text: &str) -> Result<Self, String> {
        let mut requirements = Vec::new();
        for part in split(text) {
            let part = part.trim();
            if part.is_empty() {
                if text.trim().is_empty() {
                    break;
                }
                return Err(format!("found an empty requirement in {text:?}"));
            }
            requirements.push(requirement(part)?);
        }
        Ok(Self(requirements))
    }

    /// Whether it admits everything.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether an object's labels satisfy it.
    pub fn matches(&self, object: &Value) -> bool {
        self.0.iter().all(|requirement| requirement.matches(meta::label(object, &requirement.key)))
    }
}

impl Requirement {
    fn matches(&self, label: Option<&str>) -> bool {
        let number = || label.and_then(|text| text.parse::<i64>().ok());
        match &self.test {
            Test::In(values) => label.is_some_and(|label| values.iter().any(|value| value == label)),
            Test::NotIn(values) => label.is_none_or(|label| values.iter().all(|value| value != label)),
            Test::Exists => label.is_some(),
            Test::Absent => label.is_none(),
            Test::Greater(bound) => number().is_some_and(|number| number > *bound),
            Test::Less(bound) => number().is_some_and(|number| number < *bound),
        }
    }
}

/// Splits at commas outside parentheses.
fn split(text: &str) -> Vec<&str> {
    let mut parts = Vec::new();
    let (mut depth, mut start) = (0, 0);
    for (at, c) in text.char_indices() {
        match c {
            '(' => depth += 1,
            ')' => depth -= 1,
            ',' if depth == 0 => {
                parts.push(&text[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    parts.push(&text[start..]);
    parts
}

fn requirement(part: &str) -> Result<Requirement, String> {
    let of = |key: &str, test| {
        let key = key.trim();
        if is_qualified_name(key) {
            Ok(Requirement { key: key.to_owned(), test })
        } else {
            Err(format!("{key:?} is not a label key"))
        }
    };
    if let Some(key) = part.strip_prefix('!') {
        return of(key, Test::Absent);
    }
    if let Some(open) = part.find('(') {
        let mut words = part[..open].split_whitespace();
        let inner =
            part[open + 1..].strip_suffix(')').ok_or_else(|| format!("{part:?} lacks a closing parenthesis"))?;
        let values = values(inner.split(','))?;
        return match (words.next(), words.next(), words.next()) {
            (Some(key), Some("in"), None) => of(key, Test::In(values)),
            (Some(key), Some("notin"), None) => of(key, Test::NotIn(values)),
            _ => Err(format!("{part:?} is no requirement: expected `in` or `notin` before the parenthesis")),
        };
    }
    if let Some((key, value)) = part.split_once("!=") {
        return of(key, Test::NotIn(values([value])?));
    }
    if let Some((key, value)) = part.split_once("==").or_else(|| part.split_once('=')) {
        return of(key, Test::In(values([value])?));
    }
    let bound = |text: &str| text.trim().parse().map_err(|_| format!("{text:?} is not an integer"));
    if let Some((key, value)) = part.split_once('>') {
        return of(key, Test::Greater(bound(value)?));
    }
    if let Some((key, value)) = part.split_once('<') {
        return of(key, Test::Less(bound(value)?));
    }
    of(part, Test::Exists)
}

fn values<'a>(texts: impl IntoIterator<Item = &'a str>) -> Result<Vec<String>, String> {
    let one = |text: &str| {
        let text = text.trim();
        if is_label_value(text) { Ok(text.to_owned()) } else { Err(format!("{text:?} is not a label value")) }
    };
    texts.into_iter().map(one).collect()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use rstest::rstest;
    use serde_json::json;

    use super::*;

    #[rstest]
    #[case("", true)]
    #[case("app=web", true)]
    #[case("app==web,tier", true)]
    #[case("app!=web", false)]
    #[case("absent!=web", true)]
    #[case("app in (web, api)", true)]
    #[case("app notin (web,api)", false)]
    #[case("absent notin (web)", true)]
    #[case("!absent", true)]
    #[case("!app", false)]
    #[case("absent", false)]
    #[case("example.dev/n>3", true)]
    #[case("example.dev/n<3", false)]
    #[case("app in (web),tier=back", false)]
    fn selects(#[case] text: &str, #[case] expected: bool) {
        let object = json!({"metadata": {"labels": {"app": "web", "tier": "front", "example.dev/n": "4"}}});
        assert_eq!(LabelSelector::parse(text).unwrap().matches(&object), expected);
    }

    #[rstest]
    #[case("app in (web")]
    #[case("app of (web)")]
    #[case("=web")]
    #[case("app=we b")]
    #[case("a,,b")]
    #[case("n>x")]
    fn refuses(#[case] text: &str) {
        assert!(LabelSelector::parse(text).is_err(), "{text}");
    }
}
