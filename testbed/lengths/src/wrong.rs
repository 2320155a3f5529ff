//! What is wrong with the lengths of a request, by the names that its head has for them.

use http::header::{CONTENT_LENGTH, TRANSFER_ENCODING};
use http::{HeaderMap, HeaderName, HeaderValue};

/// The name of a length that is not gone by: as long as that of the others, so that it is put in their place, and one that nobody has.
pub const ASIDE: HeaderName = HeaderName::from_static("content*length");

/// Why nobody can go by the lengths of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wrong {
    /// Two of them differ.
    Differ,
    /// One is none.
    NoLength,
    /// There are chunks, by which the request is gone.
    BesideChunks,
}

impl Wrong {
    /// What is wrong with a request (RFC 9112, section 6.3, rules 3 and 5).
    pub fn of(headers: &HeaderMap) -> Option<Self> {
        let all =
            || headers.get_all(CONTENT_LENGTH).iter().chain(headers.get_all(ASIDE).iter()).map(HeaderValue::as_bytes);
        if headers.contains_key(TRANSFER_ENCODING) {
            return all().next().map(|_| Wrong::BesideChunks);
        }
        if !all().all(is_length) {
            return Some(Wrong::NoLength);
        }
        all().zip(all().skip(1)).any(|(one, next)| one != next).then_some(Wrong::Differ)
    }

    /// The same in words.
    pub const fn why(self) -> &'static str {
        match self {
            Wrong::Differ => "the request has lengths that differ",
            Wrong::NoLength => "the request has a length that is none",
            Wrong::BesideChunks => "the request has a length beside chunks",
        }
    }
}

/// Gives those that were set aside their name back.
pub fn tell(headers: &mut HeaderMap) {
    let aside: Vec<HeaderValue> = headers.get_all(ASIDE).iter().cloned().collect();
    headers.remove(ASIDE);
    for value in aside {
        headers.append(CONTENT_LENGTH, value);
    }
}

/// Whether it says how long something is (RFC 9110, section 8.6).
pub(crate) fn is_length(value: &[u8]) -> bool {
    !value.is_empty() && value.iter().all(u8::is_ascii_digit)
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case::one(&[("content-length", "5")], None)]
    #[case::twice(&[("content-length", "5"), ("content*length", "5")], None)]
    #[case::two(&[("content-length", "5"), ("content*length", "9")], Some(Wrong::Differ))]
    #[case::empty(&[("content*length", "")], Some(Wrong::NoLength))]
    #[case::empty_and_one(&[("content-length", "5"), ("content*length", "")], Some(Wrong::NoLength))]
    #[case::beside_chunks(&[("transfer-encoding", "chunked"), ("content*length", "")], Some(Wrong::BesideChunks))]
    #[case::chunks(&[("transfer-encoding", "chunked")], None)]
    #[case::none(&[], None)]
    fn what_is_wrong_with_lengths(#[case] fields: &[(&'static str, &'static str)], #[case] expected: Option<Wrong>) {
        let mut headers = HeaderMap::new();
        for (name, value) in fields {
            headers.append(*name, HeaderValue::from_static(value));
        }
        assert_eq!(Wrong::of(&headers), expected);
        tell(&mut headers);
        assert!(!headers.contains_key(ASIDE));
        let told = fields.iter().filter(|(name, _)| *name != "transfer-encoding").count();
        assert_eq!(headers.get_all(CONTENT_LENGTH).iter().count(), told);
    }
}
