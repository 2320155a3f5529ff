//! Dial rules.

use crate::cluster::dial::DialRule;

/// A rule is refused with a message that repeats it, or maps the very address that it names to the one that it names.
pub fn dial_rule(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let rule = match text.parse::<DialRule>() {
        Ok(rule) => rule,
        Err(error) => {
            assert_eq!(error.rule, text);
            assert!(!error.problem.is_empty());
            return;
        }
    };
    let (from, to) = text.split_once('=').expect("a rule has a `=`");
    let ((host, port), (to_host, to_port)) = (halves(from), halves(to));
    let (asked_host, asked_port) = (if host == "*" { "asked" } else { host }, number(port).unwrap_or(4711));
    let expected_port = match to_port.strip_prefix('+') {
        Some(offset) => number(offset).and_then(|offset| asked_port.checked_add(offset)),
        None => number(to_port).or(Some(asked_port)),
    };
    let expected_host = if to_host == "*" { asked_host } else { to_host };
    let expected = expected_port.map(|port| (expected_host.to_owned(), port));
    assert_eq!(rule.map(asked_host, asked_port), expected, "{text}");
    if port != "*" {
        assert_eq!(rule.map(asked_host, asked_port.wrapping_add(1)), None, "{text}");
    }
}

fn halves(text: &str) -> (&str, &str) {
    let (host, port) = text.rsplit_once(':').expect("each side has a port");
    let bare = host.strip_prefix('[').and_then(|host| host.strip_suffix(']'));
    let host = bare.unwrap_or(host);
    assert!(!host.contains(char::is_whitespace), "no host has white space: {host:?}");
    (host, port)
}

/// A port of digits alone; nothing for `*`.
fn number(text: &str) -> Option<u16> {
    assert!(text == "*" || text.bytes().all(|byte| byte.is_ascii_digit()), "{text:?} is not a port");
    text.parse().ok()
}
