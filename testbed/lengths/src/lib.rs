//! What a request of HTTP/1.1 says of its length where that contradicts itself, or where it is said beside chunks. The server that
//! reads it would refuse it, or forget a part of what it says, before anybody is asked; so what it cannot go by gets another name on
//! its way in, under which it is found afterwards.

use http::header::{CONTENT_LENGTH, TRANSFER_ENCODING};
use http::{HeaderMap, HeaderName, HeaderValue};

/// The name of a length that is not gone by: as long as that of the others, so that it is put in their place, and one that nobody has.
pub const ASIDE: HeaderName = HeaderName::from_static("content*length");

/// How a head ends.
const END: &[u8; 4] = b"\r\n\r\n";

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

/// Where a connection is that requests are read from, piece by piece: only within their heads anything is set aside.
#[derive(Debug, Clone, Copy)]
pub struct Heads {
    is_within: bool,
    /// So many bytes of [`END`] came last.
    matched: usize,
}

impl Default for Heads {
    fn default() -> Self {
        Self { is_within: true, matched: 0 }
    }
}

impl Heads {
    /// Another request follows.
    pub fn next(&mut self) {
        *self = Self::default();
    }

    /// Sets aside what of this piece nobody goes by: lengths beside chunks, and otherwise all but the first that is one. A line that
    /// does not come whole in one piece stays as it is; who reads it will refuse it, or forget it.
    pub fn read(&mut self, piece: &mut [u8]) {
        if !self.is_within {
            return;
        }
        let length = self.rest(piece);
        let Some(head) = piece.get_mut(..length) else { return };
        let ends: Vec<usize> = (0..head.len()).filter(|at| head[*at] == b'\n').collect();
        let lines: Vec<(usize, usize)> =
            ends.iter().zip(ends.iter().skip(1)).map(|(from, to)| (from + 1, *to)).collect();
        let mut is_told = lines.iter().any(|(from, to)| value(&head[*from..*to], &TRANSFER_ENCODING).is_some());
        for (from, to) in lines {
            let Some(value) = value(&head[from..to], &CONTENT_LENGTH) else { continue };
            if !is_told && is_length(value) {
                is_told = true;
                continue;
            }
            let name = from..from + ASIDE.as_str().len();
            head[name].copy_from_slice(ASIDE.as_str().as_bytes());
        }
    }

    /// How much of a piece belongs to the head.
    fn rest(&mut self, piece: &[u8]) -> usize {
        for (at, byte) in piece.iter().enumerate() {
            self.matched = match *byte {
                byte if byte == END[self.matched] => self.matched + 1,
                b'\r' => 1,
                _ => 0,
            };
            if self.matched == END.len() {
                *self = Self { is_within: false, matched: 0 };
                return at + 1;
            }
        }
        piece.len()
    }
}

/// The value of a line of this name.
fn value<'l>(line: &'l [u8], name: &HeaderName) -> Option<&'l [u8]> {
    let (own, value) = line.split_at_checked(name.as_str().len())?;
    let value = value.strip_prefix(b":")?;
    own.eq_ignore_ascii_case(name.as_str().as_bytes()).then(|| value.trim_ascii())
}

/// Whether it says how long something is (RFC 9110, section 8.6).
fn is_length(value: &[u8]) -> bool {
    !value.is_empty() && value.iter().all(u8::is_ascii_digit)
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    fn read(pieces: &[&str]) -> String {
        let mut heads = Heads::default();
        let read = pieces.iter().map(|piece| {
            let mut piece = piece.as_bytes().to_vec();
            heads.read(&mut piece);
            String::from_utf8_lossy(&piece).into_owned()
        });
        read.collect::<Vec<_>>().concat()
    }

    #[rstest]
    #[case::one("Content-Length: 5\r\n", "Content-Length: 5\r\n")]
    #[case::two(
        "content-length: 5\r\nA: b\r\nCONTENT-LENGTH:9\r\n",
        "content-length: 5\r\nA: b\r\ncontent*length:9\r\n"
    )]
    #[case::empty("Content-Length:\r\n", "content*length:\r\n")]
    #[case::empty_and_one("Content-Length: \r\nContent-Length: 5\r\n", "content*length: \r\nContent-Length: 5\r\n")]
    #[case::no_number("Content-Length: +5\r\n", "content*length: +5\r\n")]
    #[case::beside_chunks(
        "Content-Length: 5\r\nTransfer-Encoding: chunked\r\nContent-Length: 9\r\n",
        "content*length: 5\r\nTransfer-Encoding: chunked\r\ncontent*length: 9\r\n"
    )]
    #[case::others("X-Content-Length: 5\r\nContent-Length-X: 9\r\n", "X-Content-Length: 5\r\nContent-Length-X: 9\r\n")]
    fn what_nobody_goes_by_is_set_aside(#[case] lines: &str, #[case] expected: &str) {
        let (head, body) = ("POST / HTTP/1.1\r\n", "\r\n\ncontent-length: a\r\n\r\n\ncontent-length: b\r\n");
        assert_eq!(read(&[&format!("{head}{lines}{body}")]), format!("{head}{expected}{body}"));
        // Where a connection is known to begin, and where its version is read first.
        assert_eq!(read(&["POST / HT", &format!("TP/1.1\r\n{lines}{body}")]), format!("{head}{expected}{body}"));
    }

    #[test]
    fn a_body_stays_as_it_is_wherever_its_head_ends() {
        let (all, end) = ("POST / HTTP/1.1\r\nA: b\r\n\r\n\ncontent-length: a\r\n", "\ncontent-length: b\r\n");
        for at in 0..all.len() {
            assert_eq!(read(&[&all[..at], &all[at..], end]), format!("{all}{end}"), "{at}");
        }
    }

    #[test]
    fn the_next_request_has_a_head_again() {
        let mut heads = Heads::default();
        for (mut bytes, expected) in [
            (
                b"POST / HTTP/1.1\r\nContent-Length:\r\n\r\n".to_vec(),
                &b"POST / HTTP/1.1\r\ncontent*length:\r\n\r\n"[..],
            ),
            (b"\nContent-Length:\r\n".to_vec(), &b"\nContent-Length:\r\n"[..]),
        ] {
            heads.read(&mut bytes);
            assert_eq!(bytes, expected);
        }
        heads.next();
        let mut bytes = b"POST / HTTP/1.1\r\nContent-Length:\r\n\r\n".to_vec();
        heads.read(&mut bytes);
        assert_eq!(bytes, b"POST / HTTP/1.1\r\ncontent*length:\r\n\r\n");
    }

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
