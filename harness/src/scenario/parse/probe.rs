//! Probes and their answers.

use indexmap::IndexMap;

use super::super::grpc::GrpcCode;
use super::super::model::{Answer, HeaderTest, Noted, ObjectRef, Probe, ProbeTarget, Seen, Times};
use super::check::Checker;
use super::client::{
    WITHIN_TLS, client, host_header, left_out, legal, of_request, of_stream, presented, server, session, tls_version,
    trusting, within_tls,
};
use super::hold::millis;
use super::names::Names;
use super::over::Over;
use super::read::{boolean, integer, level, lists_by_key, strings, text};
use super::service::count_of;
use super::shape::{GRPC, METHODS, WEBSOCKET};
use super::shares::{copies, margin, shares};
use super::tree::{Kind, Mark, Node};
use super::turns::{empty, flows, greeted, in_two, sent, spelled, trailing, turns, two_records, waiting};
use crate::log::Message;

/// How many bytes a datagram may hold: the answer has a line in front of them.
const LONGEST_DATAGRAM: i64 = 32 * 1024;

/// How long the lines of a body are that is made up.
const LINE: usize = 16;

/// What a URL says.
struct Url<'u> {
    tls: bool,
    host: &'u str,
    path: &'u str,
}

/// The Gateway that a stream is opened to, or datagrams are sent to, and over what.
fn layer_4(node: &Node) -> Option<(&Node, Over)> {
    let over = [("tcp", Over::Tcp), ("tls", Over::Tls), ("udp", Over::Udp)];
    over.into_iter().find_map(|(key, over)| Some((node.get(key)?, over)))
}

/// Reads a probe.
pub(super) fn probe(node: &Node, names: &Names, checker: &mut Checker<'_>) -> Option<Probe> {
    if names.dialect.entry().is_none() {
        let name = names.dialect.name();
        let message = format!("there is nothing to probe: traffic comes in at no kind of the dialect `{name}`");
        checker.report(
            node.mark,
            message,
            Some("give a kind `role: entry` in dialect.yaml, or leave it out".to_owned()),
        );
        return None;
    }
    let (of, listener) = listener(node, names, checker);
    let level_of_probe = level(node, "level").unwrap_or_default();
    let unprogrammed = boolean(node, "unprogrammed").unwrap_or(false);
    let (once, each) = once(node, checker);
    if let Some((to, over)) = layer_4(node) {
        for name in [
            "via",
            "headers",
            "trailers",
            "client",
            "body",
            "sends",
            "among",
            "over",
            "http2",
            "absolute",
            "hostHeader",
            "without",
            "method",
        ] {
            if let Some((key, _)) = node.entries().iter().find(|(k, _)| k.name == name) {
                checker.report(key.mark, format!("`{name}` has no meaning over {}", over.name()), None);
            }
        }
        if let Some((alpn, _)) = node.entries().iter().find(|(k, _)| over != Over::Tls && k.name == "alpn") {
            checker.report(alpn.mark, format!("`alpn` has no meaning over {}", over.name()), None);
        }
        if let Some(listens) = node.get("listens").filter(|_| over == Over::Udp) {
            checker.report(listens.mark, "`listens` is for TCP and TLS".to_owned(), None);
        }
        let listens = boolean(node, "listens").unwrap_or(false);
        let sni = node.entries().iter().find(|(k, _)| over == Over::Tcp && k.name == "sni");
        if let Some((sni, _)) = sni {
            let help = Some("say `tls` instead of `tcp`".to_owned());
            checker.report(sni.mark, "`sni` has no meaning over TCP".to_owned(), help);
        }
        if let Some((send, _)) = node.entries().iter().find(|(k, _)| listens && k.name == "send") {
            checker.report(send.mark, "who listens sends nothing".to_owned(), None);
        }
        let bytes = node.entries().iter().find(|(k, _)| k.name == "bodyBytes");
        if let Some((bytes, _)) = bytes.filter(|_| listens) {
            let help = Some("it is sent behind the line of a stream".to_owned());
            checker.report(bytes.mark, "`bodyBytes` has no meaning for who listens".to_owned(), help);
        }
        let is_too_long = integer(node, "bodyBytes").is_some_and(|bytes| bytes > LONGEST_DATAGRAM);
        if let Some((bytes, _)) = bytes.filter(|_| over == Over::Udp && is_too_long) {
            checker.report(bytes.mark, format!("a datagram may hold {LONGEST_DATAGRAM} bytes behind its text"), None);
        }
        if over == Over::Tls {
            trusting(node, node.get("sni").is_some(), checker);
        }
        let (half_close, idle) = turns(node, over != Over::Udp, listens, checker);
        return Some(Probe {
            target: ProbeTarget { gateway: names.via(to.text()?, to.mark, checker)?, listener, of },
            method: None,
            grpc: false,
            http2: false,
            absolute: false,
            host_header: false,
            path: text(node, "send").unwrap_or_default().to_owned(),
            listens,
            half_close,
            idle,
            alpn: if over == Over::Tls { of_stream(node, checker) } else { Vec::new() },
            without: Vec::new(),
            tls_version: tls_version(node, over == Over::Tls, checker),
            session: session(node, over == Over::Tls, checker),
            in_two: in_two(node, checker),
            two_records: two_records(node, checker),
            datagrams: over == Over::Udp,
            flows: flows(node, over == Over::Udp, checker),
            empty: empty(node, over == Over::Udp, checker),
            host: server(node, checker),
            tls: over == Over::Tls,
            headers: IndexMap::new(),
            trailers: IndexMap::new(),
            body: integer(node, "bodyBytes").map_or_else(String::new, made_up),
            sends: Vec::new(),
            among: Vec::new(),
            over: None,
            client: None,
            messages: None,
            answer: answer(node.get("expect")?, over, names, checker)?,
            contrast: false,
            unprogrammed,
            once,
            each,
            level: level_of_probe,
        });
    }
    let (key, target) = node.entries().iter().find(|(k, _)| METHODS.contains(&k.name.as_str()))?;
    if let Some((send, _)) = node.entries().iter().find(|(k, _)| k.name == "send") {
        checker.report(send.mark, "`send` is for TCP and TLS".to_owned(), Some("did you mean `body`?".to_owned()));
    }
    for name in ["listens", "halfClose", "idle"] {
        if let Some((key, _)) = node.entries().iter().find(|(k, _)| k.name == name) {
            checker.report(key.mark, format!("`{name}` is for TCP and TLS"), None);
        }
    }
    if let Some((sni, _)) = node.entries().iter().find(|(k, _)| k.name == "sni") {
        let help = Some("over HTTPS the server name is the host of the URL".to_owned());
        checker.report(sni.mark, "`sni` is for TLS".to_owned(), help);
    }
    let gateway = match node.get("via") {
        Some(via) => names.via(via.text()?, via.mark, checker)?,
        None => names.only_gateway(node.mark, checker)?,
    };
    let Some(url) = url(target.text()?) else {
        let help = Some("such as http://${host}/path".to_owned());
        checker.report(target.mark, "not a URL that can be probed".to_owned(), help);
        return None;
    };
    let grpc = key.name == GRPC;
    if grpc {
        call(node, &url, target.mark, checker);
    }
    presented(node, url.tls, checker);
    trusting(node, true, checker);
    let http2 = grpc || boolean(node, "http2").unwrap_or(false);
    let (sends, among) = (strings(node.get("sends")), strings(node.get("among")));
    if let Some(given) = node.get("sends") {
        sent(given, grpc, &sends, checker);
    }
    if let Some(given) = node.get("absolute").filter(|_| http2) {
        checker.report(given.mark, "`absolute` has no meaning over HTTP/2".to_owned(), None);
    }
    waiting(node, http2, checker);
    spelled(node, http2, checker);
    if let Some(given) = node.get("among").filter(|_| !http2) {
        let help = Some("add `http2: true`".to_owned());
        checker.report(given.mark, "over HTTP/1.1 requests follow each other".to_owned(), help);
    }
    if let (Some(given), Some(path)) = (node.get("among"), among.iter().find(|path| !path.starts_with('/'))) {
        checker.report(given.mark, format!("`{path}` is no path"), Some("such as /slow?delay=100ms".to_owned()));
    }
    if let Some((given, _)) = node.entries().iter().find(|(k, _)| k.name == "bodyBytes" && node.get("body").is_some()) {
        checker.report(given.mark, "`bodyBytes` beside `body`".to_owned(), Some("leave out one of them".to_owned()));
    }
    let is_websocket = key.name == WEBSOCKET;
    let replies = node.get("expect").and_then(|expect| expect.get("replies"));
    if let Some(replies) = replies.filter(|_| !is_websocket) {
        checker.report(replies.mark, "`replies` come over a WebSocket only".to_owned(), None);
    }
    greeted(replies.filter(|_| is_websocket), url.path, checker);
    let method = if is_websocket { "GET".to_owned() } else { key.name.to_ascii_uppercase() };
    Some(Probe {
        target: ProbeTarget { gateway, listener, of },
        method: Some(match text(node, "method") {
            Some(method) => method.to_owned(),
            None if grpc => "POST".to_owned(),
            None => method,
        }),
        grpc,
        http2,
        absolute: boolean(node, "absolute").unwrap_or(false),
        host_header: host_header(node, url.tls, http2, checker),
        listens: false,
        half_close: false,
        idle: None,
        alpn: of_request(node, (url.tls, http2, is_websocket), checker),
        without: left_out(node, url.tls, http2, checker),
        tls_version: tls_version(node, url.tls, checker),
        session: session(node, url.tls, checker),
        in_two: in_two(node, checker),
        two_records: two_records(node, checker),
        datagrams: false,
        flows: flows(node, false, checker),
        empty: empty(node, false, checker),
        path: url.path.to_owned(),
        host: Some(url.host.to_owned()),
        tls: url.tls,
        headers: lists_by_key(node.get("headers")),
        trailers: trailing(node, grpc || is_websocket, checker),
        body: integer(node, "bodyBytes").map_or_else(|| text(node, "body").unwrap_or_default().to_owned(), made_up),
        sends,
        among,
        over: text(node, "over").map(str::to_owned),
        client: client(node, url.tls, checker),
        messages: is_websocket.then(|| messages(replies)),
        answer: answer(node.get("expect")?, if grpc { Over::Grpc } else { Over::Http }, names, checker)?,
        contrast: boolean(node, "contrast").unwrap_or(true),
        unprogrammed,
        once,
        each,
        level: level_of_probe,
    })
}

/// A listener by its name, with the object that has it where that is not the Gateway: `Kind/object/listener`.
fn listener(node: &Node, names: &Names, checker: &mut Checker<'_>) -> (Option<ObjectRef>, Option<String>) {
    let Some((given, text)) = node.get("listener").and_then(|given| Some((given, given.text()?))) else {
        return (None, None);
    };
    match text.rsplit_once('/') {
        Some((object, name)) => (names.reference(object, given.mark, checker), Some(name.to_owned())),
        None => (None, Some(text.to_owned())),
    }
}

/// Whether the first answer counts, and how many requests are sent so. Shares are of many.
fn once(node: &Node, checker: &mut Checker<'_>) -> (bool, u32) {
    let given = |name: &str| node.entries().iter().find(|(key, _)| key.name == name).map(|(key, _)| key.mark);
    if given("once").is_some()
        && let Some(mark) = given("each")
    {
        checker.report(mark, "`each` beside `once`".to_owned(), Some("leave out one of them".to_owned()));
    }
    for key in ["once", "each"] {
        for many in ["shares", "copies"] {
            if let Some(mark) =
                given(key).filter(|_| node.get("expect").is_some_and(|expect| expect.get(many).is_some()))
            {
                checker.report(mark, format!("`{key}` beside `{many}`, which take many requests"), None);
            }
        }
    }
    let each = integer(node, "each").and_then(|each| u32::try_from(each).ok());
    (boolean(node, "once").unwrap_or(false) || each.is_some(), each.unwrap_or(1))
}

/// A body of so many bytes, no part of which is like the one before.
fn made_up(bytes: i64) -> String {
    let bytes = usize::try_from(bytes).unwrap_or_default();
    let mut body: String = (0..bytes / LINE).map(|line| format!("{line:0width$}\n", width = LINE - 1)).collect();
    body.extend(std::iter::repeat_n('.', bytes - body.len()));
    body
}

fn url(text: &str) -> Option<Url<'_>> {
    let (tls, rest) = match (text.strip_prefix("http://"), text.strip_prefix("https://")) {
        (Some(rest), _) => (false, rest),
        (None, Some(rest)) => (true, rest),
        (None, None) => return None,
    };
    let start = rest.find(['/', '?']).unwrap_or(rest.len());
    let (host, path) = rest.split_at(start);
    (!host.is_empty()).then_some(Url { tls, host, path: if path.is_empty() { "/" } else { path } })
}

/// What is not as it must be for a call.
fn call(node: &Node, url: &Url<'_>, mark: Mark, checker: &mut Checker<'_>) {
    let segments: Vec<&str> = url.path.split('/').collect();
    if !matches!(segments[..], ["", service, method] if !service.is_empty() && !method.is_empty())
        || url.path.contains('?')
    {
        let help = Some("such as http://${host}/package.Service/Method".to_owned());
        checker.report(mark, "not the URL of a call".to_owned(), help);
    }
    for (name, why) in [
        ("body", "a call carries messages; say them with `sends`"),
        ("bodyBytes", "a call carries messages; say them with `sends`"),
        ("http2", "a call is always over HTTP/2"),
        ("method", "a call is always a POST"),
    ] {
        if let Some((key, _)) = node.entries().iter().find(|(k, _)| k.name == name) {
            checker.report(key.mark, format!("`{name}` has no meaning for a call"), Some(why.to_owned()));
        }
    }
}

fn answer(node: &Node, over: Over, names: &Names, checker: &mut Checker<'_>) -> Option<Answer> {
    let layer_4 = matches!(over, Over::Tcp | Over::Tls | Over::Udp);
    match (node.text(), over) {
        (Some("refused"), Over::Tcp | Over::Tls) => return Some(Answer::TcpRefused),
        (Some("noAnswer"), Over::Http | Over::Tcp | Over::Tls | Over::Udp) => return Some(Answer::NoAnswer),
        (Some("noCertificate"), Over::Http) => return Some(Answer::NoCertificate),
        (Some("cutOff"), Over::Http) => return Some(Answer::CutOff),
        (Some(word), _) => {
            let over = match over {
                Over::Tcp | Over::Tls => "TCP and TLS; `refused` and `noAnswer` are",
                Over::Udp => "UDP; `noAnswer` is",
                Over::Grpc => "a call; say the `code`",
                Over::Http => "HTTP; `noAnswer`, `noCertificate` and `cutOff` are",
            };
            checker.report(node.mark, format!("`{word}` is not for {over}"), None);
            return None;
        }
        (None, _) => {}
    }
    let backend = node.get("backend");
    if let Some(backend) = backend {
        names.backend(backend.text()?, backend.mark, checker);
    }
    if let Some(weights) = node.get("shares") {
        if let Some((key, _)) = node.entries().iter().find(|(k, _)| !["shares", "margin"].contains(&k.name.as_str())) {
            checker.report(key.mark, format!("`{}` beside `shares`", key.name), None);
        }
        return Some(Answer::Shares { parts: shares(weights, over, names, checker), margin: margin(node) });
    }
    if let Some(percent) = node.get("copies").filter(|_| !layer_4) {
        if let Some((key, _)) = node.entries().iter().find(|(k, _)| !["copies", "margin"].contains(&k.name.as_str())) {
            checker.report(key.mark, format!("`{}` beside `copies`", key.name), None);
        }
        return Some(Answer::Shares { parts: copies(percent, names, checker)?, margin: margin(node) });
    }
    if let Some((key, _)) = node.entries().iter().find(|(k, _)| k.name == "margin") {
        checker.report(key.mark, "`margin` without `shares` or `copies`".to_owned(), None);
    }
    if layer_4 {
        if let Some((key, _)) = node
            .entries()
            .iter()
            .find(|(k, _)| k.name != "backend" && (over != Over::Tls || !WITHIN_TLS.contains(&k.name.as_str())))
        {
            checker.report(key.mark, format!("`{}` has no meaning over {}", key.name, over.name()), None);
        }
        if over == Over::Tls {
            return within_tls(node, backend, checker);
        }
        if backend.is_none() {
            checker.report(node.mark, "nothing says which backend answers".to_owned(), None);
        }
        return Some(Answer::TcpBackend(backend?.text()?.to_owned()));
    }
    if node.entries().is_empty() {
        checker.report(node.mark, "nothing is expected of the answer".to_owned(), None);
    }
    if let Some(seen) = node.get("seen").and_then(|seen| seen.get("messages")).filter(|_| over != Over::Grpc) {
        checker.report(seen.mark, "`messages` are seen of calls only".to_owned(), None);
    }
    let foreign: &[&str] = if over == Over::Grpc { &["status", "prefer", "body"] } else { &["code", "messages"] };
    if let Some((key, _)) = node.entries().iter().find(|(k, _)| foreign.contains(&k.name.as_str())) {
        let of = if over == Over::Grpc { "a call; it ends with a `code`" } else { "HTTP; it is for calls" };
        checker.report(key.mark, format!("`{}` has no meaning for {of}", key.name), None);
    }
    let seen = node.get("seen");
    for mirror in node.get("mirrored").map(Node::list).unwrap_or_default() {
        names.backend(mirror.text()?, mirror.mark, checker);
    }
    if let Some(seen) = seen
        && backend.is_none()
    {
        let help = Some("say which with `backend`".to_owned());
        checker.report(seen.mark, "what no backend has answered cannot have been seen by one".to_owned(), help);
    }
    let mut status = codes(node.get("status"));
    let mut code: Vec<GrpcCode> = node.get("code").map(grpc_codes).unwrap_or_default();
    match over {
        Over::Grpc if code.is_empty() => code.push(GrpcCode::OK),
        Over::Http if status.is_empty() => status.push(200),
        _ => {}
    }
    Some(Answer::Http(Box::new(Seen {
        status,
        code,
        preferred: codes(node.get("prefer")),
        backend: backend.and_then(Node::text).map(str::to_owned),
        headers: header_tests(node.get("headers")),
        trailers: header_tests(node.get("trailers")),
        messages: integer(node, "messages").and_then(|n| u32::try_from(n).ok()),
        body: text(node, "body").map(|body| body.trim().to_owned()),
        seen_proto: seen.and_then(|s| text(s, "proto")).map(str::to_owned),
        server_name: seen.and_then(|s| text(s, "tls")).map(str::to_owned),
        client_name: seen.and_then(|s| text(s, "client")).map(str::to_owned),
        seen_messages: seen.and_then(|s| s.get("messages")).map(|texts| strings(Some(texts))),
        seen_path: seen.and_then(|s| text(s, "path")).map(str::to_owned),
        seen_host: seen.and_then(|s| text(s, "host")).map(str::to_owned),
        seen_headers: header_tests(seen.and_then(|s| s.get("headers"))),
        certificate: text(node, "certificate").map(str::to_owned),
        trusted: text(node, "trusted").map(str::to_owned),
        alpn: legal(node),
        mirrored_to: strings(node.get("mirrored")),
        replies: messages(node.get("replies")).into_iter().map(|message| (message, true)).collect(),
        noted: noted(node.get("noted"), names, checker),
    })))
}

fn messages(node: Option<&Node>) -> Vec<Message> {
    let words = strings(node);
    words.iter().filter_map(|word| Message::ALL.into_iter().find(|message| message.word() == word)).collect()
}

fn noted(node: Option<&Node>, names: &Names, checker: &mut Checker<'_>) -> IndexMap<String, Noted> {
    let mut all = IndexMap::new();
    for (key, value) in node.map(Node::entries).unwrap_or_default() {
        names.backend(&key.name, key.mark, checker);
        if value.entries().is_empty() {
            checker.report(key.mark, format!("nothing is expected of `{}`", key.name), None);
        }
        let noted = Noted {
            times: value.get("times").map(|times| times_of(times, checker)),
            apart: text(value, "apart").and_then(millis),
            method: text(value, "method").map(str::to_owned),
            path: text(value, "path").map(str::to_owned),
            proto: text(value, "proto").map(str::to_owned),
            body: text(value, "body").map(str::to_owned),
            headers: header_tests(value.get("headers")),
        };
        if let (Some(apart), None) = (value.get("apart"), noted.apart) {
            checker.report(apart.mark, "not a time".to_owned(), Some("such as 200ms or 2s".to_owned()));
        }
        if noted.times == Some(Times::exactly(0)) && value.entries().len() > 1 {
            checker.report(key.mark, "what never came has nothing to be looked at".to_owned(), None);
        }
        all.insert(key.name.clone(), noted);
    }
    all
}

fn times_of(node: &Node, checker: &mut Checker<'_>) -> Times {
    let (at_least, at_most) = count_of(node, checker);
    let number = |count: u64| u32::try_from(count).unwrap_or(u32::MAX);
    Times { at_least: number(at_least), at_most: at_most.map(number) }
}

fn grpc_codes(node: &Node) -> Vec<GrpcCode> {
    std::iter::once(node).chain(node.list()).filter_map(|n| GrpcCode::named(n.text()?)).collect()
}

fn codes(node: Option<&Node>) -> Vec<u16> {
    let Some(node) = node else { return Vec::new() };
    let code = |n: &Node| match &n.kind {
        Kind::Number(number) => number.as_u64().and_then(|n| u16::try_from(n).ok()),
        _ => None,
    };
    code(node).into_iter().chain(node.list().iter().filter_map(code)).collect()
}

fn header_tests(node: Option<&Node>) -> IndexMap<String, HeaderTest> {
    let entries = node.map(Node::entries).unwrap_or_default();
    entries
        .iter()
        .filter_map(|(key, value)| {
            let list = |name| value.get(name).map(|list| strings(Some(list)));
            let test = match value.text() {
                Some("absent") => HeaderTest::Absent,
                Some("present") => HeaderTest::Present,
                Some(text) => HeaderTest::Equals(text.to_owned()),
                None => {
                    let plain = text(value, "equals").map(|text| HeaderTest::Equals(text.to_owned()));
                    let without = text(value, "without").map(|text| HeaderTest::Without(text.to_owned()));
                    let lists =
                        list("oneOf").map(HeaderTest::OneOf).or_else(|| list("members").map(HeaderTest::Members));
                    plain.or(without).or(lists).or_else(|| list("lines").map(HeaderTest::Lines))?
                }
            };
            Some((key.name.clone(), test))
        })
        .collect()
}
