//! The part of Kubernetes' JSONPath that printer columns and selectable fields use.

use serde_json::Value;

/// A parsed path: members, indexes, wildcards and filters by equality.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JsonPath(Vec<Step>);

#[derive(Debug, Clone, PartialEq, Eq)]
enum Step {
    Member(String),
    Index(usize),
    Every,
    /// `[?(@.member=="value")]`
    Where(String, String),
}

/// A path that is not understood.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not a path of members, indexes, [*] and [?(@.member==\"value\")]")]
pub struct PathError(pub String);

impl JsonPath {
    /// Reads a path such as `.status.conditions[?(@.type=="Ready")].status`.
    ///
    /// # Errors
    /// [`PathError`] for anything outside the supported part.
    pub fn parse(text: &str) -> Result<Self, PathError> {
        steps(text).map(Self).ok_or_else(|| PathError(text.to_owned()))
    }

    /// A path of plain members that the program itself spells; anything else finds nothing.
    pub fn of(text: &str) -> Self {
        Self(text.split('.').filter(|name| !name.is_empty()).map(|name| Step::Member(name.to_owned())).collect())
    }

    /// All values at the path.
    pub fn find<'a>(&self, object: &'a Value) -> Vec<&'a Value> {
        let mut found = vec![object];
        for step in &self.0 {
            found = found.into_iter().flat_map(|value| step.take(value)).collect();
        }
        found
    }

    /// The first value at the path.
    pub fn first<'a>(&self, object: &'a Value) -> Option<&'a Value> {
        self.find(object).into_iter().next()
    }
}

impl Step {
    fn take<'a>(&self, value: &'a Value) -> Vec<&'a Value> {
        match self {
            Self::Member(name) => value.get(name).into_iter().collect(),
            Self::Index(index) => value.get(index).into_iter().collect(),
            Self::Every => match value {
                Value::Array(items) => items.iter().collect(),
                Value::Object(members) => members.values().collect(),
                _ => Vec::new(),
            },
            Self::Where(member, wanted) => match value {
                Value::Array(items) => {
                    items.iter().filter(|item| item.get(member).is_some_and(|found| plain(found) == *wanted)).collect()
                }
                _ => Vec::new(),
            },
        }
    }
}

/// A scalar without quotes, anything else as JSON.
pub fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

fn steps(text: &str) -> Option<Vec<Step>> {
    let mut rest = text.trim().strip_prefix('$').unwrap_or(text.trim());
    let mut steps = Vec::new();
    while !rest.is_empty() {
        if let Some(after) = rest.strip_prefix('.') {
            let (name, after) = member(after)?;
            steps.push(if name == "*" { Step::Every } else { Step::Member(name) });
            rest = after;
        } else {
            let inner = rest.strip_prefix('[')?;
            let end = closing(inner)?;
            steps.push(bracket(&inner[..end])?);
            rest = &inner[end + 1..];
        }
    }
    Some(steps)
}

/// A member's name up to the next unescaped dot or bracket; `\.` stands for a dot.
fn member(text: &str) -> Option<(String, &str)> {
    let mut name = String::new();
    let mut escaped = false;
    for (at, c) in text.char_indices() {
        match c {
            _ if escaped => {
                name.push(c);
                escaped = false;
            }
            '\\' => escaped = true,
            '.' | '[' => return (!name.is_empty()).then(|| (name, &text[at..])),
            _ => name.push(c),
        }
    }
    (!name.is_empty()).then_some((name, ""))
}

/// The position of the bracket that ends the expression, quoted text left aside.
fn closing(text: &str) -> Option<usize> {
    let mut quote = None;
    for (at, c) in text.char_indices() {
        match (quote, c) {
            (Some(open), _) if c == open => quote = None,
            (Some(_), _) => {}
            (None, '"' | '\'') => quote = Some(c),
            (None, ']') => return Some(at),
            (None, _) => {}
        }
    }
    None
}

fn bracket(inner: &str) -> Option<Step> {
    if inner == "*" {
        return Some(Step::Every);
    }
    if let Some(condition) = inner.strip_prefix("?(").and_then(|rest| rest.strip_suffix(')')) {
        let (left, right) = condition.split_once("==")?;
        let name = left.trim().strip_prefix("@.")?.to_owned();
        return Some(Step::Where(name, unquoted(right.trim()).unwrap_or(right.trim()).to_owned()));
    }
    if let Some(name) = unquoted(inner) {
        return Some(Step::Member(name.to_owned()));
    }
    inner.parse().ok().map(Step::Index)
}

fn unquoted(text: &str) -> Option<&str> {
    let inside = |quote: char| text.strip_prefix(quote).and_then(|rest| rest.strip_suffix(quote));
    inside('"').or_else(|| inside('\''))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use rstest::rstest;
    use serde_json::json;

    use super::*;

    #[rstest]
    #[case(".a.b", &["1"])]
    #[case("$.a.b", &["1"])]
    #[case(".list[*].n", &["x", "y"])]
    #[case(".list[1].n", &["y"])]
    #[case(r#".list[?(@.n=="y")].v"#, &["true"])]
    #[case(".list[?(@.n=='x')].v", &["7"])]
    #[case(r".dots\.in.name", &["d"])]
    #[case(".dots['in.name']", &[])]
    #[case(".absent.b", &[])]
    fn finds(#[case] path: &str, #[case] expected: &[&str]) {
        let object = json!({
            "a": {"b": 1},
            "list": [{"n": "x", "v": 7}, {"n": "y", "v": true}],
            "dots.in": {"name": "d"},
        });
        let found: Vec<String> = JsonPath::parse(path).unwrap().find(&object).into_iter().map(plain).collect();
        assert_eq!(found, expected);
    }

    #[rstest]
    #[case("a.b")]
    #[case(".a[")]
    #[case(".a[?(@.x>1)]")]
    #[case("..a")]
    fn refuses(#[case] path: &str) {
        assert!(JsonPath::parse(path).is_err(), "{path}");
    }
}
