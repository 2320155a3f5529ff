//! Making a case that diverges as small as it can be.

use serde_json::Value;

use super::{Search, SearchError};
use crate::compare::Divergence;
use crate::corpus::Sequence;

/// How many smaller cases are tried at most.
const TRIES: usize = 150;

impl Search<'_> {
    /// Leaves out requests, and then parts of their bodies, as long as the servers still diverge in one of the ways in
    /// which they did.
    pub(super) async fn shrink(&self, mut sequence: Sequence, found: Vec<Divergence>) -> Result<Sequence, SearchError> {
        let way = |divergence: &Divergence| (divergence.at.clone(), divergence.left.clone(), divergence.right.clone());
        let ways: Vec<_> = found.iter().map(way).collect();
        let mut tries = 0;
        let mut again = true;
        while again {
            again = false;
            for smaller in smaller(&sequence) {
                tries += 1;
                if tries > TRIES {
                    return Ok(sequence);
                }
                if self.diverge(&smaller).await?.iter().any(|divergence| ways.contains(&way(divergence))) {
                    sequence = smaller;
                    again = true;
                    break;
                }
            }
        }
        Ok(sequence)
    }
}

/// All sequences that lack one thing, those that lack most first.
fn smaller(sequence: &Sequence) -> Vec<Sequence> {
    let mut all = Vec::new();
    for at in (0..sequence.steps.len()).rev().filter(|_| sequence.steps.len() > 1) {
        let mut fewer = sequence.clone();
        fewer.steps.remove(at);
        all.push(fewer);
    }
    for (at, step) in sequence.steps.iter().enumerate() {
        for path in step.body.iter().flat_map(|body| paths(body, "")) {
            let mut less = sequence.clone();
            if less.steps[at].body.as_mut().is_some_and(|body| remove(body, &path)) {
                all.push(less);
            }
        }
    }
    all
}

/// Pointers to all members and items of a value, outer ones first, without what names the object.
fn paths(value: &Value, at: &str) -> Vec<String> {
    let children: Vec<(String, &Value)> = match value {
        Value::Object(map) => map.iter().map(|(name, value)| (escaped(at, name), value)).collect(),
        Value::Array(items) => items.iter().enumerate().map(|(index, item)| (format!("{at}/{index}"), item)).collect(),
        _ => Vec::new(),
    };
    let named = ["/apiVersion", "/kind", "/metadata", "/metadata/name"];
    let own = children.iter().map(|(path, _)| path.clone()).filter(|path| !named.contains(&path.as_str()));
    let below = children.iter().flat_map(|(path, value)| paths(value, path));
    own.chain(below).collect()
}

fn escaped(at: &str, name: &str) -> String {
    format!("{at}/{}", name.replace('~', "~0").replace('/', "~1"))
}

fn remove(value: &mut Value, pointer: &str) -> bool {
    let Some((parent, last)) = pointer.rsplit_once('/') else { return false };
    let name = last.replace("~1", "/").replace("~0", "~");
    match value.pointer_mut(parent) {
        Some(Value::Object(map)) => map.shift_remove(&name).is_some(),
        Some(Value::Array(items)) => match name.parse::<usize>() {
            Ok(index) if index < items.len() => {
                items.remove(index);
                true
            }
            _ => false,
        },
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::corpus::Step;

    #[test]
    fn everything_can_be_left_out_but_the_name() {
        let body =
            json!({"apiVersion": "v1", "kind": "K", "metadata": {"name": "x", "labels": {"a/b": "1"}}, "l": [1, 2]});
        let step = Step { body: Some(body), ..Step::default() };
        let found = smaller(&Sequence { name: String::new(), steps: vec![step.clone(), Step::default()] });
        let bodies: Vec<Value> = found.iter().skip(2).filter_map(|smaller| smaller.steps[0].body.clone()).collect();
        assert_eq!(found[0].steps.len(), 1);
        assert_eq!(bodies.len(), 5);
        assert!(bodies.iter().all(|body| body["metadata"]["name"] == "x"));
        assert!(bodies.iter().any(|body| body["l"] == json!([2])));
        assert!(bodies.iter().any(|body| body["metadata"]["labels"] == json!({})));
    }
}
