//! How both sides of a stream take turns.

use super::build::boolean;
use super::check::Checker;
use super::hold::millis;
use super::tree::Node;

/// How both sides of a stream take turns: whether the client ends its half, and how long it is idle, in milliseconds.
pub(super) fn turns(node: &Node, is_stream: bool, listens: bool, checker: &mut Checker<'_>) -> (bool, Option<u64>) {
    let given = |name: &str| node.entries().iter().find(|(key, _)| key.name == name);
    for name in ["halfClose", "idle"] {
        if let Some((key, _)) = given(name).filter(|_| !is_stream || listens) {
            let why = if listens { "has no meaning for who listens" } else { "is for TCP and TLS" };
            checker.report(key.mark, format!("`{name}` {why}"), None);
        }
    }
    if let (Some((key, _)), Some((send, _))) = (given("halfClose").or_else(|| given("idle")), given("send")) {
        let help = Some("leave it out: `bodyBytes` is what is sent".to_owned());
        checker.report(send.mark, format!("`send` beside `{}`", key.name), help);
    }
    let half_close = boolean(node, "halfClose").unwrap_or(false);
    let Some((key, value)) = given("idle") else { return (half_close, None) };
    if half_close {
        checker.report(key.mark, "`idle` beside `halfClose`, behind which nothing is sent".to_owned(), None);
    }
    if node.get("bodyBytes").is_none() {
        let help = Some("say how much with `bodyBytes`".to_owned());
        checker.report(key.mark, "nothing is sent behind `idle`".to_owned(), help);
    }
    let idle = value.text().and_then(millis);
    if idle.is_none() {
        checker.report(value.mark, "not a time".to_owned(), Some("such as 2s".to_owned()));
    }
    (half_close, idle)
}

/// Whether the first message of a handshake goes out in two pieces.
pub(super) fn in_two(node: &Node, checker: &mut Checker<'_>) -> bool {
    let given = node.entries().iter().find(|(key, _)| key.name == "inTwo");
    if let Some((key, _)) = given.filter(|_| node.get("tls").is_none()) {
        checker.report(key.mark, "`inTwo` is for streams within TLS".to_owned(), None);
    }
    boolean(node, "inTwo").unwrap_or(false)
}
