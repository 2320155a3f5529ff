//! Pointers into objects, with items of lists by what they are rather than by where they stand.

use serde_json::Value;

/// The JSON pointer that this one comes to in a value. A token `key=value` is the item of a list whose field `key` is that text, such as
/// `type=Accepted` among conditions, whose order says nothing. Where there is none it stays, and leads nowhere.
pub fn resolved(value: &Value, pointer: &str) -> String {
    let (mut here, mut path) = (Some(value), String::new());
    for token in pointer.split('/').skip(1) {
        let index = here.and_then(Value::as_array).and_then(|items| index_of(items, token));
        path.push('/');
        match index {
            Some(index) => path.push_str(&index.to_string()),
            None => path.push_str(token),
        }
        here = value.pointer(&path);
    }
    path
}

fn index_of(items: &[Value], token: &str) -> Option<usize> {
    let (key, wanted) = token.split_once('=')?;
    items.iter().position(|item| item[key] == *wanted)
}

/// The JSON pointer to a field of what another one leads to.
pub fn below(pointer: &str, name: &str) -> String {
    format!("{pointer}/{}", name.replace('~', "~0").replace('/', "~1"))
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::json;

    use super::*;

    #[rstest]
    #[case::first("/a/type=One/status", "/a/0/status")]
    #[case::second("/a/type=Two/status", "/a/1/status")]
    #[case::nobody("/a/type=Three/status", "/a/type=Three/status")]
    #[case::by_place("/a/1/status", "/a/1/status")]
    #[case::below_another("/b/c/0/d/n=x", "/b/c/0/d/0")]
    #[case::a_key_of_an_object("/b/k=v", "/b/k=v")]
    #[case::the_whole("", "")]
    fn an_item_is_found_by_what_it_is(#[case] pointer: &str, #[case] comes_to: &str) {
        let value = json!({
            "a": [{"type": "One", "status": "True"}, {"type": "Two", "status": "False"}],
            "b": {"k=v": 1, "c": [{"d": [{"n": "x"}]}]},
        });
        assert_eq!(resolved(&value, pointer), comes_to);
    }
}
