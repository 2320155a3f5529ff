//! Texts of others within a page: JSON that ends no script, and no more of it than fits. Pure.

use std::borrow::Cow;

use serde::Serialize;
use serde_json::Value;

use crate::words::shortened;

/// JSON as it may stand in an element of HTML: nothing in it opens or closes one, or is a comment.
pub(super) fn json(value: &impl Serialize) -> Result<String, serde_json::Error> {
    let text = serde_json::to_string(value)?;
    // Outside of strings JSON has none of these.
    Ok(text.replace('<', "\\u003c").replace('\u{2028}', "\\u2028").replace('\u{2029}', "\\u2029"))
}

/// Cuts every string that has more bytes than that, and says so at its end; how many it cut.
pub(super) fn clip(value: &mut Value, longest: usize) -> usize {
    match value {
        Value::String(text) => {
            let Cow::Owned(cut) = shortened(text, longest) else { return 0 };
            *text = cut;
            1
        }
        Value::Array(all) => all.iter_mut().map(|one| clip(one, longest)).sum(),
        Value::Object(fields) => fields.values_mut().map(|one| clip(one, longest)).sum(),
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use proptest::prelude::*;
    use serde_json::json as value;

    use super::*;

    proptest! {
        #[test]
        fn is_the_same_json(text in ".*", hostile in "[<>/!a-z\u{2028}\u{2029}'\"\\\\-]{0,40}") {
            let whole = value!({ text.clone(): [hostile, text] });
            let written = json(&whole).unwrap();
            let ends_a_script = written.contains(['<', '\u{2028}', '\u{2029}']);
            prop_assert!(!ends_a_script);
            prop_assert_eq!(serde_json::from_str::<Value>(&written).unwrap(), whole);
        }
    }

    #[test]
    fn long_texts_end_at_a_letter() {
        let mut all = value!(["ääää", {"a": "ab"}, 7]);
        assert_eq!(clip(&mut all, 3), 1);
        assert_eq!(all, value!(["ä… (6 bytes more)", {"a": "ab"}, 7]));
    }
}
