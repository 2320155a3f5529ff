//! Dotted paths into answers.

use serde_json::Value;

/// What stands at a dotted path: members by name, members of lists by index or by `key=value`. `\.` is a dot in a name.
pub fn find<'a>(value: &'a Value, path: &str) -> Option<&'a Value> {
    let path = path.replace("\\.", "\0");
    path.split('.').try_fold(value, |at, segment| {
        let segment = segment.replace('\0', ".");
        match at {
            Value::Object(members) => members.get(&segment),
            Value::Array(items) => match segment.split_once('=') {
                Some((key, wanted)) => items.iter().find(|item| item.get(key).is_some_and(|found| found == wanted)),
                None => items.get(segment.parse::<usize>().ok()?),
            },
            _ => None,
        }
    })
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::json;

    use super::*;

    #[rstest]
    #[case("a.1.b", Some(json!(2)))]
    #[case("a.b=2.c", Some(json!("x")))]
    #[case("d\\.e", Some(json!(true)))]
    #[case("a.7", None)]
    #[case("a.b=3", None)]
    #[case("d.e", None)]
    fn paths(#[case] path: &str, #[case] expected: Option<Value>) {
        let value = json!({"a": [{"b": 1}, {"b": 2}, {"b": "2", "c": "x"}], "d.e": true});
        assert_eq!(find(&value, path).cloned(), expected);
    }
}
