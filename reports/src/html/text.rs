//! Texts of others within a page: JSON that ends no script, and no more of it than fits. Pure.

use std::borrow::Cow;
use std::io;

use serde::Serialize;
use serde::ser::Error as _;
use serde_json::Value;
use serde_json::ser::{Formatter, Serializer};

use crate::words::shortened;

/// JSON as it may stand in an element of HTML: nothing in it opens or closes one, or is a comment.
pub(super) fn json(value: &impl Serialize) -> Result<String, serde_json::Error> {
    let mut text = Vec::new();
    value.serialize(&mut Serializer::with_formatter(&mut text, InElement))?;
    String::from_utf8(text).map_err(|error| serde_json::Error::custom(error.to_string()))
}

/// Escapes what would open or close an element, or end a line of a script, as it is written: a page has it once.
struct InElement;

impl Formatter for InElement {
    fn write_string_fragment<W: io::Write + ?Sized>(&mut self, writer: &mut W, fragment: &str) -> io::Result<()> {
        for part in fragment.split_inclusive(['<', '\u{2028}', '\u{2029}']) {
            let escaped = [('<', "\\u003c"), ('\u{2028}', "\\u2028"), ('\u{2029}', "\\u2029")]
                .iter()
                .find_map(|(mark, escape)| Some((part.strip_suffix(*mark)?, escape)));
            match escaped {
                Some((before, escape)) => {
                    writer.write_all(before.as_bytes())?;
                    writer.write_all(escape.as_bytes())?;
                }
                None => writer.write_all(part.as_bytes())?,
            }
        }
        Ok(())
    }

    // Outside of strings JSON has none of these.
    fn write_raw_fragment<W: io::Write + ?Sized>(&mut self, writer: &mut W, fragment: &str) -> io::Result<()> {
        self.write_string_fragment(writer, fragment)
    }
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
    use std::collections::BTreeMap;

    use proptest::prelude::*;
    use serde_json::json as value;
    use serde_json::value::RawValue;

    use super::*;

    /// With a part that is JSON already.
    #[derive(Serialize)]
    struct Whole {
        #[serde(flatten)]
        text: BTreeMap<String, (String, String)>,
        raw: Box<RawValue>,
    }

    proptest! {
        #[test]
        fn is_the_same_json(text in "[^r].*", hostile in "[<>/!a-z\u{2028}\u{2029}'\"\\\\-]{0,40}") {
            let raw = RawValue::from_string(value!([hostile]).to_string()).unwrap();
            let whole = value!({ text.clone(): [hostile, text], "raw": [hostile] });
            let written = json(&Whole { text: BTreeMap::from([(text.clone(), (hostile, text))]), raw }).unwrap();
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
