//! The head of one request: what nobody goes by is set aside, and by the rest it is known where the next one begins.

use http::HeaderName;
use http::header::{CONTENT_LENGTH, TRANSFER_ENCODING, UPGRADE};

use crate::wrong::{ASIDE, is_length};

/// What comes behind a head.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Behind {
    pub body: Body,
    /// Whether another protocol is asked for, which follows the body if that is granted.
    pub asks: bool,
}

/// How long the body of a request is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Body {
    /// So many bytes.
    Bytes(u64),
    /// As long as its chunks are.
    Chunks,
    /// Longer than anybody counts.
    Endless,
}

/// Sets aside what of a whole head nobody goes by: lengths beside chunks, and otherwise all but the first that is one.
pub(crate) fn set_aside(head: &mut [u8]) -> Behind {
    let ends: Vec<usize> = (0..head.len()).filter(|at| head[*at] == b'\n').collect();
    let lines: Vec<(usize, usize)> = ends.iter().zip(ends.iter().skip(1)).map(|(from, to)| (from + 1, *to)).collect();
    let has = |name: &HeaderName| lines.iter().any(|(from, to)| value(&head[*from..*to], name).is_some());
    let is_chunked = has(&TRANSFER_ENCODING);
    let asks = has(&UPGRADE) || head.starts_with(b"CONNECT ");
    let mut body = is_chunked.then_some(Body::Chunks);
    for (from, to) in lines {
        let Some(value) = value(&head[from..to], &CONTENT_LENGTH) else { continue };
        if body.is_none() && is_length(value) {
            body = Some(number(value).map_or(Body::Endless, Body::Bytes));
            continue;
        }
        let name = from..from + ASIDE.as_str().len();
        head[name].copy_from_slice(ASIDE.as_str().as_bytes());
    }
    Behind { body: body.unwrap_or(Body::Bytes(0)), asks }
}

/// The value of a line of this name.
fn value<'l>(line: &'l [u8], name: &HeaderName) -> Option<&'l [u8]> {
    let (own, value) = line.split_at_checked(name.as_str().len())?;
    let value = value.strip_prefix(b":")?;
    own.eq_ignore_ascii_case(name.as_str().as_bytes()).then(|| value.trim_ascii())
}

/// The number of these digits.
fn number(digits: &[u8]) -> Option<u64> {
    digits.iter().try_fold(0_u64, |number, digit| number.checked_mul(10)?.checked_add(u64::from(digit - b'0')))
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case::none("A: b\r\n", "A: b\r\n", Body::Bytes(0))]
    #[case::one("Content-Length: 5\r\n", "Content-Length: 5\r\n", Body::Bytes(5))]
    #[case::of_digits("Content-Length: 0120\r\n", "Content-Length: 0120\r\n", Body::Bytes(120))]
    #[case::two(
        "content-length: 5\r\nA: b\r\nCONTENT-LENGTH:9\r\n",
        "content-length: 5\r\nA: b\r\ncontent*length:9\r\n",
        Body::Bytes(5)
    )]
    #[case::empty("Content-Length:\r\n", "content*length:\r\n", Body::Bytes(0))]
    #[case::empty_and_one(
        "Content-Length: \r\nContent-Length: 5\r\n",
        "content*length: \r\nContent-Length: 5\r\n",
        Body::Bytes(5)
    )]
    #[case::no_number("Content-Length: +5\r\n", "content*length: +5\r\n", Body::Bytes(0))]
    #[case::longest(
        "Content-Length: 18446744073709551615\r\n",
        "Content-Length: 18446744073709551615\r\n",
        Body::Bytes(u64::MAX)
    )]
    #[case::too_long(
        "Content-Length: 18446744073709551616\r\n",
        "Content-Length: 18446744073709551616\r\n",
        Body::Endless
    )]
    #[case::beside_chunks(
        "Content-Length: 5\r\nTransfer-Encoding: chunked\r\nContent-Length: 9\r\n",
        "content*length: 5\r\nTransfer-Encoding: chunked\r\ncontent*length: 9\r\n",
        Body::Chunks
    )]
    #[case::others(
        "X-Content-Length: 5\r\nContent-Length-X: 9\r\nContent-Lengthy: 3\r\n",
        "X-Content-Length: 5\r\nContent-Length-X: 9\r\nContent-Lengthy: 3\r\n",
        Body::Bytes(0)
    )]
    #[case::of_bare_lines(
        "Content-Length: 5\nContent-Length: 9\n",
        "Content-Length: 5\ncontent*length: 9\n",
        Body::Bytes(5)
    )]
    fn what_nobody_goes_by_is_set_aside(#[case] lines: &str, #[case] expected: &str, #[case] body: Body) {
        let mut head = format!("POST / HTTP/1.1\r\n{lines}\r\n").into_bytes();
        assert_eq!(set_aside(&mut head), Behind { body, asks: false });
        assert_eq!(String::from_utf8_lossy(&head), format!("POST / HTTP/1.1\r\n{expected}\r\n"));
    }

    #[rstest]
    #[case::upgrade("GET / HTTP/1.1\r\nupgrade: websocket\r\n\r\n", true)]
    #[case::connect("CONNECT a.test:80 HTTP/1.1\r\n\r\n", true)]
    #[case::neither("CONNECTED / HTTP/1.1\r\nUpgrade-Insecure-Requests: 1\r\n\r\n", false)]
    fn who_asks_for_another_protocol_says_so(#[case] head: &str, #[case] asks: bool) {
        assert_eq!(set_aside(&mut head.as_bytes().to_vec()), Behind { body: Body::Bytes(0), asks });
    }
}
