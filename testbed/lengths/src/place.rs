//! Where a connection is that requests come over: within a head, which is looked at once it is whole, or within what belongs to a
//! body, which is only counted. Whatever the server that reads the same would refuse ends the search, since it ends the connection.

use crate::head::{self, Body};

/// How many bytes of a head are waited for at most. Of a longer one nothing is set aside, nor of what follows it.
pub(crate) const LONGEST_HEAD: usize = 64 * 1024;

/// The place in what comes over a connection, and what a request has asked for on the way there.
#[derive(Debug, Default)]
pub(crate) struct Place {
    within: Within,
    /// The request whose body it is asks for another protocol.
    asks: bool,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum Within {
    /// Between two requests, where empty lines may stand.
    #[default]
    Gap,
    /// A head, of which so many bytes were looked at; the line under way begins there.
    Head { seen: usize, line: usize },
    /// A body that has so many bytes more.
    Body(u64),
    /// The line that says how long a chunk is, as far as it has said that.
    Size { size: Option<u64>, is_said: bool },
    /// A chunk that has so many bytes more.
    Chunk(u64),
    /// The end of the line behind a chunk.
    ChunkEnd,
    /// A line behind the last chunk, and whether it is empty as far as it has come.
    Trailers { is_empty: bool },
    /// Behind a request for another protocol, as long as nothing comes there.
    Asked,
    /// Where no heads are looked for any more.
    Elsewhere,
}

impl Place {
    /// Goes on through these bytes, which begin where the head under way does if there is one, and sets aside what is to be set aside
    /// of each head that is whole. Returns how many may be handed on: the rest is a head that is not.
    pub fn pass(&mut self, bytes: &mut [u8]) -> usize {
        let mut passed = 0;
        while passed < bytes.len() {
            match self.step(&mut bytes[passed..]) {
                Some(more) => passed += more,
                None => break,
            }
        }
        passed
    }

    /// No heads are looked for any more.
    pub fn leave(&mut self) {
        self.within = Within::Elsewhere;
    }

    /// Another protocol was asked for, and not granted. If something came in it all the same, nobody knows where the next head begins.
    pub fn stay(&mut self) {
        self.asks = false;
        if self.within == Within::Asked {
            self.within = Within::Gap;
        }
    }

    /// One step through these bytes: by how many it goes on; nothing if more of them have to come first.
    fn step(&mut self, bytes: &mut [u8]) -> Option<usize> {
        Some(match self.within {
            Within::Gap => {
                let empty = bytes.iter().take_while(|byte| matches!(byte, b'\r' | b'\n')).count();
                if empty < bytes.len() {
                    self.within = Within::Head { seen: 0, line: 0 };
                }
                empty
            }
            Within::Head { seen, line } => return self.head(bytes, seen, line),
            Within::Body(left) => {
                let (taken, left) = take(left, bytes);
                self.within = Within::Body(left);
                if left == 0 {
                    self.end();
                }
                taken
            }
            Within::Size { size, is_said } => self.size(bytes, size, is_said),
            Within::Chunk(left) => {
                let (taken, left) = take(left, bytes);
                self.within = if left == 0 { Within::ChunkEnd } else { Within::Chunk(left) };
                taken
            }
            Within::ChunkEnd => bytes.iter().position(|byte| *byte == b'\n').map_or(bytes.len(), |end| {
                self.within = Within::Size { size: None, is_said: false };
                end + 1
            }),
            Within::Trailers { is_empty } => self.trailers(bytes, is_empty),
            Within::Asked | Within::Elsewhere => {
                self.leave();
                bytes.len()
            }
        })
    }

    /// The request is whole.
    fn end(&mut self) {
        self.within = if self.asks { Within::Asked } else { Within::Gap };
    }

    /// Looks for the end of a head, for which is waited as long as it may be one of HTTP/1.1.
    fn head(&mut self, bytes: &mut [u8], seen: usize, mut line: usize) -> Option<usize> {
        for at in seen..bytes.len() {
            let byte = bytes[at];
            let text = &bytes[line..at];
            let is_no_request = match byte {
                b'\n' => line == 0 && !is_request(text),
                b'\t' | b'\r' => false,
                byte => byte.is_ascii_control(),
            };
            if is_no_request {
                self.leave();
                return Some(bytes.len());
            }
            if byte == b'\n' {
                if matches!(text, b"" | b"\r") {
                    self.follow(head::set_aside(&mut bytes[..=at]));
                    return Some(at + 1);
                }
                line = at + 1;
            }
        }
        if bytes.len() > LONGEST_HEAD {
            self.leave();
            return Some(bytes.len());
        }
        self.within = Within::Head { seen: bytes.len(), line };
        None
    }

    /// Goes on behind a head.
    fn follow(&mut self, behind: head::Behind) {
        self.asks = behind.asks;
        match behind.body {
            Body::Bytes(0) => self.end(),
            Body::Bytes(left) => self.within = Within::Body(left),
            Body::Chunks => self.within = Within::Size { size: None, is_said: false },
            Body::Endless => self.leave(),
        }
    }

    /// Goes on through a line such as `1f;name=value`.
    fn size(&mut self, bytes: &[u8], mut size: Option<u64>, mut is_said: bool) -> usize {
        for (at, byte) in bytes.iter().enumerate() {
            if *byte == b'\n' {
                self.within = match size {
                    Some(0) => Within::Trailers { is_empty: true },
                    Some(left) => Within::Chunk(left),
                    None => Within::Elsewhere,
                };
                return at + 1;
            }
            match char::from(*byte).to_digit(16) {
                Some(digit) if !is_said => match size.unwrap_or(0).checked_mul(16) {
                    Some(sixteenfold) => size = Some(sixteenfold + u64::from(digit)),
                    None => {
                        self.leave();
                        return bytes.len();
                    }
                },
                _ => is_said = true,
            }
        }
        self.within = Within::Size { size, is_said };
        bytes.len()
    }

    /// Goes on behind the last chunk, up to an empty line.
    fn trailers(&mut self, bytes: &[u8], mut is_empty: bool) -> usize {
        for (at, byte) in bytes.iter().enumerate() {
            match byte {
                b'\n' if is_empty => {
                    self.end();
                    return at + 1;
                }
                b'\n' => is_empty = true,
                b'\r' => {}
                _ => is_empty = false,
            }
        }
        self.within = Within::Trailers { is_empty };
        bytes.len()
    }
}

/// Whether the first line of a head is that of a request of HTTP/1.1, or of the version before.
fn is_request(line: &[u8]) -> bool {
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    line.ends_with(b" HTTP/1.1") || line.ends_with(b" HTTP/1.0")
}

/// How many of so many bytes these have, and how many are left.
fn take(left: u64, bytes: &[u8]) -> (usize, u64) {
    let taken = usize::try_from(left).map_or(bytes.len(), |left| left.min(bytes.len()));
    (taken, left - taken as u64)
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    /// A head that is changed wherever it is taken for one, and what becomes of it.
    const NEXT: (&str, &str) =
        ("GET / HTTP/1.1\r\nContent-Length:\r\n\r\n", "GET / HTTP/1.1\r\ncontent*length:\r\n\r\n");

    /// What becomes of these bytes, of which as many are seen at once, and whether all of them were handed on.
    fn passed(bytes: &str, at_once: usize) -> (String, bool) {
        let (mut place, mut held, mut passed) = (Place::default(), Vec::new(), Vec::new());
        for piece in bytes.as_bytes().chunks(at_once) {
            held.extend_from_slice(piece);
            let more = place.pass(&mut held);
            passed.extend(held.drain(..more));
        }
        (String::from_utf8_lossy(&passed).into_owned(), held.is_empty())
    }

    #[rstest]
    #[case::no_body("GET / HTTP/1.1\r\n\r\n")]
    #[case::of_the_older_version("GET / HTTP/1.0\r\n\r\n")]
    #[case::bare_lines("GET / HTTP/1.1\nA: b\n\n")]
    #[case::lines_of_both_sorts("GET / HTTP/1.1\r\nA: b\n\r\n")]
    #[case::tabs("GET / HTTP/1.1\r\nA:\tb\r\n\r\n")]
    #[case::empty_lines_before("\r\n\n\r\nGET / HTTP/1.1\r\n\r\n\r\n\r\n")]
    #[case::body("POST / HTTP/1.1\r\nContent-Length: 22\r\n\r\n\r\n\r\nContent-Length:\r\nx")]
    #[case::chunk(
        "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n16\r\n\r\n\r\nContent-Length:\r\nx\r\n0\r\n\r\n"
    )]
    #[case::chunks_with_more_said(
        "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n1;a=5\r\nx\r\nA \r\n0123456789\r\n00;b\r\n\r\n"
    )]
    #[case::trailers(
        "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nContent-Length:\r\nContent-Length: 7\r\n\r\n"
    )]
    fn the_next_head_begins_where_a_request_ends(#[case] before: &str) {
        let all = format!("{before}{}{}", NEXT.0, NEXT.0);
        let expected = (format!("{before}{}{}", NEXT.1, NEXT.1), true);
        for at_once in 1..=all.len() {
            assert_eq!(passed(&all, at_once), expected, "{at_once} bytes at once");
        }
    }

    #[rstest]
    #[case::other_version("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")]
    #[case::no_version("hello\n")]
    #[case::no_text("GET / HTTP/1.1\r\nA: \u{1}")]
    #[case::no_text_at_all("\u{16}\u{3}\u{1}")]
    #[case::endless("POST / HTTP/1.1\r\nContent-Length: 99999999999999999999\r\n\r\n")]
    #[case::chunk_of_no_size("POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n;a\r\n")]
    #[case::endless_chunk("POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n10000000000000000\r\n")]
    fn where_no_request_can_follow_nothing_is_changed_or_withheld(#[case] before: &str) {
        let all = format!("{before}{}{}", NEXT.0, "GET / HTTP/1.1\r\n");
        for at_once in 1..=all.len() {
            assert_eq!(passed(&all, at_once), (all.clone(), true), "{at_once} bytes at once");
        }
    }

    #[test]
    fn a_head_is_withheld_until_it_is_whole_and_no_other_byte_is() {
        let mut place = Place::default();
        for (bytes, more) in [
            ("\r\n", 2),
            ("\nGET / HTTP/1.1\r\nA: b\r\n\r", 1),
            ("GET / HTTP/1.1\r\nA: b\r\n\r", 0),
            ("GET / HTTP/1.1\r\nA: b\r\n\r\nP", 24),
            ("POST / HTTP/1.1\r\nContent-Length: 3\r\n\r\n12", 40),
            ("3\r", 2),
        ] {
            assert_eq!(place.pass(&mut bytes.as_bytes().to_vec()), more, "{bytes:?}");
        }
    }

    #[test]
    fn a_head_that_is_too_long_is_waited_for_no_more() {
        let (mut place, begun) = (Place::default(), b"GET / HTTP/1.1\r\nA: ");
        let mut head = begun.to_vec();
        head.resize(LONGEST_HEAD, b'a');
        assert_eq!(place.pass(&mut head), 0);
        head.push(b'a');
        assert_eq!(place.pass(&mut head), head.len());
        assert_eq!(place.pass(&mut begun.to_vec()), begun.len());
    }

    #[rstest]
    #[case::asked("GET / HTTP/1.1\r\nUpgrade: other\r\n\r\n", false)]
    #[case::asked_with_a_body("GET / HTTP/1.1\r\nUpgrade: other\r\nContent-Length: 2\r\n\r\nhi", false)]
    #[case::connected("CONNECT a.test:80 HTTP/1.1\r\n\r\n", false)]
    #[case::another_request("GET / HTTP/1.1\r\nUpgrade: other\r\n\r\n", true)]
    fn behind_a_request_for_another_protocol_nothing_is_looked_at_unless_it_is_not_granted(
        #[case] head: &str,
        #[case] stays: bool,
    ) {
        let mut place = Place::default();
        assert_eq!(place.pass(&mut head.as_bytes().to_vec()), head.len());
        if stays {
            place.stay();
        }
        let mut next = NEXT.0.as_bytes().to_vec();
        assert_eq!(place.pass(&mut next), next.len());
        assert_eq!(String::from_utf8_lossy(&next), if stays { NEXT.1 } else { NEXT.0 });
        // In what follows the next request no more than that asks for anything.
        place.stay();
        assert_eq!(place.pass(&mut b"GET".to_vec()), if stays { 0 } else { 3 });
    }

    #[test]
    fn what_is_not_granted_before_the_body_is_whole_is_not_granted_behind_it() {
        let mut place = Place::default();
        let head = "GET / HTTP/1.1\r\nUpgrade: other\r\nContent-Length: 2\r\n\r\n";
        assert_eq!(place.pass(&mut head.as_bytes().to_vec()), head.len());
        place.stay();
        assert_eq!(place.pass(&mut b"hi".to_vec()), 2);
        assert_eq!(place.pass(&mut b"GET".to_vec()), 0);
    }
}
