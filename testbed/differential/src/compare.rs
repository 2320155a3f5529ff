//! Where the answers of two servers differ.

use std::collections::BTreeSet;
use std::fmt;

use serde_json::Value;

use crate::normal::Recorded;

/// One place where two servers answer differently.
#[derive(Debug, Clone, PartialEq)]
pub struct Divergence {
    /// `topic/sequence`.
    pub sequence: String,
    /// The step, from 0.
    pub step: usize,
    /// A JSON pointer into the normalised answer.
    pub at: String,
    /// What the left server says, if anything.
    pub left: Option<Value>,
    /// What the right server says, if anything.
    pub right: Option<Value>,
}

impl Divergence {
    /// `topic/sequence#step pointer`, as the list of differences names it.
    pub fn place(&self) -> String {
        format!("{}#{} {}", self.sequence, self.step, self.at)
    }
}

impl fmt::Display for Divergence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown = |value: &Option<Value>| value.as_ref().map_or_else(|| "nothing".to_owned(), Value::to_string);
        write!(f, "{}\n  left:  {}\n  right: {}", self.place(), shown(&self.left), shown(&self.right))
    }
}

/// All divergences between two servers' answers; a sequence that only one of them has is one.
pub fn compare(left: &Recorded, right: &Recorded) -> Vec<Divergence> {
    let topics: BTreeSet<&String> = left.keys().chain(right.keys()).collect();
    let mut found = Vec::new();
    for topic in topics {
        let names = |recorded: &Recorded| -> BTreeSet<String> {
            recorded.get(topic).map(|sequences| sequences.keys().cloned().collect()).unwrap_or_default()
        };
        for name in names(left).union(&names(right)) {
            let answers = |recorded: &Recorded| {
                recorded.get(topic).and_then(|sequences| sequences.get(name)).cloned().unwrap_or_default()
            };
            let (left, right) = (answers(left), answers(right));
            for step in 0..left.len().max(right.len()) {
                differences(left.get(step), right.get(step), String::new(), &mut |at, left, right| {
                    let (left, right) = (left.cloned(), right.cloned());
                    found.push(Divergence { sequence: format!("{topic}/{name}"), step, at, left, right });
                });
            }
        }
    }
    found
}

/// Tells of each place where two values differ; `null` is not the same as nothing.
pub fn differences(
    left: Option<&Value>,
    right: Option<&Value>,
    at: String,
    tell: &mut impl FnMut(String, Option<&Value>, Option<&Value>),
) {
    match (left, right) {
        (Some(Value::Object(a)), Some(Value::Object(b))) => {
            let names: BTreeSet<&String> = a.keys().chain(b.keys()).collect();
            for name in names {
                let escaped = name.replace('~', "~0").replace('/', "~1");
                differences(a.get(name), b.get(name), format!("{at}/{escaped}"), tell);
            }
        }
        (Some(Value::Array(a)), Some(Value::Array(b))) => {
            for index in 0..a.len().max(b.len()) {
                differences(a.get(index), b.get(index), format!("{at}/{index}"), tell);
            }
        }
        _ if left == right => {}
        _ => tell(at, left, right),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn recorded(answers: Vec<Value>) -> Recorded {
        Recorded::from([("t".to_owned(), [("s".to_owned(), answers)].into())])
    }

    #[test]
    fn equal_answers_do_not_diverge() {
        let answers = recorded(vec![json!({"code": 200, "body": {"a": [1, null]}})]);
        assert_eq!(compare(&answers, &answers), []);
    }

    #[test]
    fn every_place_is_told() {
        let left = recorded(vec![json!({"code": 200, "body": {"a": [1], "b/c": null}}), json!({})]);
        let right = recorded(vec![json!({"code": 201, "body": {"a": [1, 2]}})]);
        let places: Vec<String> = compare(&left, &right).iter().map(Divergence::place).collect();
        assert_eq!(places, ["t/s#0 /body/a/1", "t/s#0 /body/b~1c", "t/s#0 /code", "t/s#1 "]);
    }

    #[test]
    fn a_sequence_that_one_side_lacks_diverges() {
        assert_eq!(compare(&recorded(vec![json!({})]), &Recorded::new()).len(), 1);
    }
}
