//! How both sides of a stream, or of a request, take turns.

use gateproof_echo::conduct;
use indexmap::IndexMap;

use super::check::Checker;
use super::hold::millis;
use super::read::{boolean, integer, lists_by_key, strings};
use super::tree::Node;
use crate::log::Message;

/// How many bytes the text of a message may have: the log has them for every attempt.
const LONGEST_MESSAGE: usize = 100;

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

/// From how many sockets datagrams are sent at once.
pub(super) fn flows(node: &Node, is_datagrams: bool, checker: &mut Checker<'_>) -> Option<u32> {
    let mark = node.entries().iter().find(|(key, _)| key.name == "flows")?.0.mark;
    if !is_datagrams {
        checker.report(mark, "`flows` is for UDP".to_owned(), None);
    } else if node.get("expect").and_then(|expect| expect.get("backend")).is_none() {
        let help = Some("expect a `backend`".to_owned());
        checker.report(mark, "`flows` without a backend that answers them".to_owned(), help);
    }
    integer(node, "flows").and_then(|flows| u32::try_from(flows).ok())
}

/// Whether datagrams have not a byte.
pub(super) fn empty(node: &Node, is_datagrams: bool, checker: &mut Checker<'_>) -> bool {
    let given = |name: &str| node.entries().iter().find(|(key, _)| key.name == name).map(|(key, _)| key.mark);
    let Some(mark) = given("empty") else { return false };
    if !is_datagrams {
        checker.report(mark, "`empty` is for UDP".to_owned(), None);
    } else if node.get("expect").and_then(|expect| expect.get("backend")).is_none() {
        let help = Some("expect a `backend`".to_owned());
        checker.report(mark, "`empty` without a backend that answers".to_owned(), help);
    }
    for name in ["send", "bodyBytes", "flows"] {
        if let Some(other) = given(name).filter(|_| is_datagrams) {
            let help = Some("leave it out: nothing says of datagrams without a byte which they are".to_owned());
            checker.report(other, format!("`{name}` beside `empty`"), help);
        }
    }
    boolean(node, "empty").unwrap_or(false)
}

/// What stands in the way of a backend that speaks first over a WebSocket.
pub(super) fn greeted(replies: Option<&Node>, path: &str, checker: &mut Checker<'_>) {
    let Some(replies) = replies else { return };
    let asks = path.split_once('?').is_some_and(|(_, query)| conduct::greets(query));
    let words = strings(Some(replies));
    let (what, help) = match words.iter().position(|word| word == Message::Greeting.word()) {
        Some(0) if !asks => ("nothing has the backend greet", "add `?greets=1` to the URL"),
        None if asks => ("the backend greets first", "begin with `greeting`, or leave `greets=1` out of the URL"),
        Some(0) | None => return,
        Some(_) => ("a greeting comes before anything is sent", "let `greeting` be the first"),
    };
    checker.report(replies.mark, what.to_owned(), Some(help.to_owned()));
}

/// What stands in the way of a client that sends its body when it is told to.
pub(super) fn waiting(node: &Node, http2: bool, checker: &mut Checker<'_>) {
    let waits = |value: &Node| strings(Some(value)).iter().any(|text| text.eq_ignore_ascii_case("100-continue"));
    let headers = node.get("headers").map(Node::entries).unwrap_or_default();
    let expect = headers.iter().find(|(key, value)| key.name.eq_ignore_ascii_case("expect") && waits(value));
    let Some((expect, _)) = expect.filter(|_| node.get("body").or_else(|| node.get("bodyBytes")).is_some()) else {
        return;
    };
    if http2 {
        let help = Some("over HTTP/1.1 it goes out when the client is told to go on".to_owned());
        checker.report(expect.mark, "over HTTP/2 a body waits for nobody".to_owned(), help);
    }
    if let Some((over, _)) = node.entries().iter().find(|(key, _)| key.name == "over") {
        let help = Some("who is answered without being told has a request open, which no other can follow".to_owned());
        checker.report(over.mark, "`over` beside a body that waits".to_owned(), help);
    }
}

/// What stands in the way of a length that goes out as it is given.
pub(super) fn spelled(node: &Node, http2: bool, checker: &mut Checker<'_>) {
    let headers = node.get("headers").map(Node::entries).unwrap_or_default();
    let given = |name: &str| headers.iter().find(|(key, _)| key.name.eq_ignore_ascii_case(name));
    let Some((length, _)) = given("content-length") else { return };
    if http2 {
        let help = Some("leave it out: its frames say how long a body is".to_owned());
        checker.report(length.mark, "`Content-Length` over HTTP/2".to_owned(), help);
    }
    let beside = ["over", "alpn", "trailers", "websocket"];
    let keys = node.entries().iter().filter(|(key, _)| beside.contains(&key.name.as_str()));
    for (key, _) in keys.chain(given("expect")) {
        let help = Some("such a request is the only one of its connection, and goes out as it stands".to_owned());
        checker.report(key.mark, format!("`{}` beside `Content-Length`", key.name), help);
    }
}

/// What follows the body of a request: only one whose length is untold has anything behind it.
pub(super) fn trailing(node: &Node, has_messages: bool, checker: &mut Checker<'_>) -> IndexMap<String, Vec<String>> {
    let Some((key, trailers)) = node.entries().iter().find(|(key, _)| key.name == "trailers") else {
        return IndexMap::new();
    };
    let headers = node.get("headers").map(Node::entries).unwrap_or_default();
    let is_untold = headers
        .iter()
        .any(|(key, value)| key.name.eq_ignore_ascii_case("transfer-encoding") && value.text() == Some("chunked"));
    if has_messages {
        checker.report(key.mark, "`trailers` beside messages".to_owned(), Some("leave it out".to_owned()));
    } else if !is_untold {
        let help = Some("add the header `Transfer-Encoding: chunked`".to_owned());
        checker.report(key.mark, "`trailers` behind a body whose length is told".to_owned(), help);
    }
    lists_by_key(Some(trailers))
}

/// What is not as it must be of the messages of a call.
pub(super) fn sent(node: &Node, grpc: bool, texts: &[String], checker: &mut Checker<'_>) {
    if !grpc {
        let help = Some("did you mean `body`?".to_owned());
        checker.report(node.mark, "`sends` is for calls".to_owned(), help);
    }
    if let Some(long) = texts.iter().find(|text| text.len() > LONGEST_MESSAGE) {
        checker.report(node.mark, format!("a message of {} bytes; {LONGEST_MESSAGE} may be sent", long.len()), None);
    }
}

/// Whether the first message of a handshake goes out in two pieces.
pub(super) fn in_two(node: &Node, checker: &mut Checker<'_>) -> bool {
    of_hello(node, "inTwo", checker)
}

/// Whether the first message of a handshake is split over two records.
pub(super) fn two_records(node: &Node, checker: &mut Checker<'_>) -> bool {
    of_hello(node, "twoRecords", checker)
}

/// Whether this is said of the first message of a handshake.
fn of_hello(node: &Node, name: &str, checker: &mut Checker<'_>) -> bool {
    let given = node.entries().iter().find(|(key, _)| key.name == name);
    if let Some((key, _)) = given.filter(|_| node.get("tls").is_none()) {
        checker.report(key.mark, format!("`{name}` is for streams within TLS"), None);
    }
    if let Some((key, _)) = given.filter(|_| name == "twoRecords" && node.get("inTwo").is_some()) {
        checker.report(key.mark, "`twoRecords` beside `inTwo`: it is split in one way".to_owned(), None);
    }
    boolean(node, name).unwrap_or(false)
}
