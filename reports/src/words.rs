//! Numbers in sentences, and texts that are too long for one. Pure.

use std::borrow::Cow;
use std::fmt::Display;

/// `1 scenario`, or `2 scenarios`.
pub fn counted<N: Display + PartialEq + From<u8>>(count: N, one: &str, several: &str) -> String {
    let noun = if count == N::from(1) { one } else { several };
    format!("{count} {noun}")
}

/// A text of whatever length, of which no more than so many bytes are said: others choose it, and one object of a cluster may have a
/// megabyte of it. What is cut off is counted.
pub fn shortened(text: &str, longest: usize) -> Cow<'_, str> {
    if text.len() <= longest {
        return Cow::Borrowed(text);
    }
    let kept = &text[..text.floor_char_boundary(longest)];
    Cow::Owned(format!("{kept}… ({} more)", counted(text.len() - kept.len(), "byte", "bytes")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_texts_end_at_a_letter() {
        let of = |longest| shortened("ääää", longest).into_owned();
        assert_eq!([of(8), of(7), of(0)], ["ääää", "äää… (2 bytes more)", "… (8 bytes more)"]);
    }

    #[test]
    fn one_is_one() {
        let of = |count| counted(count, "breach", "breaches");
        assert_eq!([of(0), of(1), of(2), of(11)], ["0 breaches", "1 breach", "2 breaches", "11 breaches"]);
    }
}
