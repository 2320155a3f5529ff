//! One exchange against the answer that is expected.

mod handshake;
mod silence;
mod text;

use gateproof_report::words::counted;
use serde_json::Value;

use super::location::{self, Comparison};
use super::miss::{Miss, plain_miss, severity};
use super::words::any_of;
use super::{datagrams, forwarded, grpc};
use crate::dialects::Implied;
use crate::log::{Bindings, EchoText, Exchange, HttpAnswer, ProbeError, ProbeRequest, Received, TcpEnd, UdpEnd};
use crate::scenario::{Answer, GrpcCode, HeaderTest, Level, Seen, Share};
use silence::{is_alert, is_silent, is_turned_away};

/// The status codes of a timeout.
const TIMED_OUT: [u16; 2] = [504, 408];

/// Holds an exchange against what is expected. Nothing missed: it agrees. Weaker misses than a failure of the probe's
/// own level do not keep it from agreeing.
pub(super) fn compare(
    answer: &Answer,
    exchange: &Exchange,
    level: Level,
    prefix: &str,
    bindings: &Bindings,
) -> Vec<Miss> {
    let mut check = Check { prefix, bindings, level, misses: Vec::new() };
    if let Some(why) = exchange.error.as_ref().and_then(ProbeError::no_way) {
        let miss = check.miss("", level, "an answer".to_owned(), format!("there is no way to the address: {why}"));
        miss.blind = true;
        return check.misses;
    }
    match answer {
        Answer::Http(seen) => check.http(seen, exchange),
        Answer::TcpBackend(name) => {
            let expected = format!("a line from backend {name}");
            if answered_by(exchange, bindings) != Some(name.as_str()) || datagrams::is_by_several(exchange) {
                check.miss("", level, expected, in_words(exchange, bindings));
            }
        }
        Answer::TlsBackend { backend, certificate, trusted, alpn, server_name } => {
            // Who shakes hands otherwise is not who was meant, and what it says within does not count.
            if !check.shaken((certificate.as_deref(), trusted.as_deref()), alpn, exchange)
                || backend.is_none() && !check.is_shaken(certificate.as_deref(), exchange)
            {
                return check.misses;
            }
            if let Some(backend) = backend
                && answered_by(exchange, bindings) != Some(backend.as_str())
            {
                let expected = format!("a line from backend {backend} over TLS");
                check.miss("", level, expected, in_words(exchange, bindings));
            } else if let Some(wanted) = server_name {
                check.asked_for(wanted, echo_of(exchange).as_ref());
            }
        }
        Answer::TcpRefused => {
            if !is_refused(exchange) {
                let expected = "the connection is refused, reset or closed before any byte".to_owned();
                check.miss("", level, expected, in_words(exchange, bindings));
            }
        }
        Answer::NoAnswer if matches!(exchange.request, ProbeRequest::Tcp { .. }) => {
            let is_answered = exchange.received.is_some() || matches!(exchange.tcp, Some(TcpEnd::Answered { .. }));
            if is_answered && !is_alert(exchange) {
                let expected = "nobody answers: not a byte comes, but an alert of TLS".to_owned();
                check.miss("", level, expected, in_words(exchange, bindings));
            }
        }
        Answer::NoAnswer if matches!(exchange.request, ProbeRequest::Udp { .. }) => {
            if !datagrams::is_unanswered(exchange) {
                let expected = "nobody answers: not a datagram comes".to_owned();
                check.miss("", level, expected, in_words(exchange, bindings));
            }
        }
        Answer::NoAnswer | Answer::NoCertificate => {
            if !is_silent(exchange) && !is_turned_away(exchange) {
                let expected =
                    "no connection is accepted, it is closed without an answer, or others on the port answer \
                                that they have no such route, under a certificate of theirs"
                        .to_owned();
                check.miss("", level, expected, in_words(exchange, bindings));
            } else if matches!(answer, Answer::NoCertificate) && handshake::presents_own(exchange) {
                let expected = "no certificate for the server name is presented".to_owned();
                let seen = format!("one is presented, and then {}", in_words(exchange, bindings));
                check.miss("", level, expected, seen);
            }
        }
        Answer::CutOff => {
            let is_cut = match (&exchange.http, &exchange.error) {
                (Some(answer), _) => TIMED_OUT.contains(&answer.status),
                (None, Some(ProbeError::Broken(_))) => true,
                _ => false,
            };
            if !is_cut {
                let expected = format!("status {}, or an answer that breaks off before its end", any_of(&TIMED_OUT));
                check.miss("", level, expected, in_words(exchange, bindings));
            }
        }
        Answer::Shares { .. } => {}
    }
    check.misses
}

/// Whether misses keep an exchange from agreeing: those as binding as the probe itself do.
pub(super) fn agrees(misses: &[Miss], level: Level) -> bool {
    misses.iter().all(|m| m.severity < severity(level) && !m.blind)
}

struct Check<'a> {
    prefix: &'a str,
    bindings: &'a Bindings,
    level: Level,
    misses: Vec<Miss>,
}

impl Check<'_> {
    fn miss(&mut self, part: &str, level: Level, expected: String, seen: String) -> &mut Miss {
        let index = self.misses.len();
        self.misses.push(plain_miss(format!("{}{part}", self.prefix), expected, seen, severity(level)));
        &mut self.misses[index]
    }

    fn http(&mut self, expected: &Seen, exchange: &Exchange) {
        // What is spoken behind a handshake goes by what that agreed on, and whose request it is by what was shown.
        if !self.agreed(&expected.alpn, exchange) || !self.asked(!expected.code.is_empty(), exchange) {
            return;
        }
        if !expected.code.is_empty() {
            return self.call(expected, exchange);
        }
        let legal: &[u16] = if expected.status.is_empty() { &[200] } else { &expected.status };
        let words = match &expected.backend {
            Some(backend) => format!("status {} from backend {backend}", any_of(legal)),
            None => format!("status {}", any_of(legal)),
        };
        let Some(answer) = &exchange.http else {
            self.miss(".status", self.level, words, in_words(exchange, self.bindings));
            return;
        };
        if !legal.contains(&answer.status) {
            self.miss(".status", self.level, words, in_words(exchange, self.bindings));
            return;
        }
        if !expected.preferred.is_empty() && !expected.preferred.contains(&answer.status) {
            let words = format!("preferably status {}", any_of(&expected.preferred));
            self.miss(".preferred", Level::Should.min(self.level), words, format!("status {}", answer.status));
        }
        if let Some(backend) = &expected.backend
            && answered_by(exchange, self.bindings) != Some(backend.as_str())
        {
            self.miss(".backend", self.level, words, in_words(exchange, self.bindings));
            return;
        }
        self.forwarded(expected, exchange, answer);
        self.rest(expected, exchange, answer);
    }

    /// What the backend got is what was sent, but for what is said of it.
    fn forwarded(&mut self, expected: &Seen, exchange: &Exchange, answer: &HttpAnswer) {
        let (Some(backend), ProbeRequest::Http(request), Some(echo)) =
            (&expected.backend, &exchange.request, &answer.echo)
        else {
            return;
        };
        let altered = forwarded::altered(request, expected, &echo.parse());
        if !altered.is_empty() {
            let words = format!("backend {backend} sees the request as it was sent");
            let miss = self.miss(".backend", self.level, words, format!("it saw {}", altered.join("; ")));
            miss.implied = Some(Implied::Forwarded);
        }
    }

    /// How a call ended, who answered it, and with what.
    fn call(&mut self, expected: &Seen, exchange: &Exchange) {
        let words = match &expected.backend {
            Some(backend) => format!("{} from backend {backend}", any_of(&expected.code)),
            None => any_of(&expected.code),
        };
        let code = exchange.http.as_ref().and_then(grpc::code);
        let Some(answer) = exchange.http.as_ref().filter(|_| code.is_some_and(|code| expected.code.contains(&code)))
        else {
            self.miss(".code", self.level, words, in_words(exchange, self.bindings));
            return;
        };
        if let Some(backend) = &expected.backend
            && answered_by(exchange, self.bindings) != Some(backend.as_str())
        {
            self.miss(".backend", self.level, words, in_words(exchange, self.bindings));
            return;
        }
        self.forwarded(expected, exchange, answer);
        if let Some(wanted) = expected.messages
            && answer.messages != Some(wanted)
        {
            let messages = |count: u32| counted(count as usize, "message", "messages");
            self.miss(".messages", self.level, messages(wanted), messages(answer.messages.unwrap_or(0)));
        }
        self.rest(expected, exchange, answer);
    }

    /// What is said of an answer beside how it ended and who gave it.
    fn rest(&mut self, expected: &Seen, exchange: &Exchange, answer: &HttpAnswer) {
        let presented = exchange.certificate.as_ref();
        let is_presented = expected
            .certificate
            .as_ref()
            .is_none_or(|name| self.certificate(name, presented.map(|of| of.names.as_slice()).unwrap_or_default()));
        // Whom to trust with another one is nobody's question.
        if let Some(by) = expected.trusted.as_deref().filter(|_| is_presented) {
            self.trusted(by, exchange);
        }
        for (name, test) in &expected.headers {
            let values: Vec<&str> =
                answer.headers.iter().filter(|(n, _)| n.eq_ignore_ascii_case(name)).map(|(_, v)| v.as_str()).collect();
            let part = format!(".headers.{name}");
            match (test, values.as_slice()) {
                (HeaderTest::Equals(wanted), [seen]) if name.eq_ignore_ascii_case("location") => {
                    self.location(&part, wanted, seen);
                }
                _ => self.header(&part, &format!("response header {name}"), test, &values),
            }
        }
        for (name, test) in &expected.trailers {
            let found = grpc::trailers(answer).iter().filter(|(n, _)| n.eq_ignore_ascii_case(name));
            let values: Vec<&str> = found.map(|(_, v)| v.as_str()).collect();
            self.header(&format!(".trailers.{name}"), &format!("response trailer {name}"), test, &values);
        }
        self.says(expected, answer);
        self.echoed(expected, answer);
        self.replied(expected, exchange);
    }

    /// What came back over the WebSocket. Behind the first wrong answer nothing was sent.
    fn replied(&mut self, expected: &Seen, exchange: &Exchange) {
        for (message, right) in &expected.replies {
            let Some(reply) = exchange.replies.iter().find(|reply| reply.to == *message) else { return };
            if reply.wrong.is_none() == *right {
                continue;
            }
            let words = format!("the right answer to a {} message over the WebSocket", message.word());
            let seen = reply.wrong.clone().unwrap_or_else(|| "it came".to_owned());
            self.miss(&format!(".replies.{}", message.word()), self.level, words, seen);
            return;
        }
    }

    fn location(&mut self, part: &str, wanted: &str, seen: &str) {
        let level = match location::compare(wanted, seen.trim()) {
            Comparison::Same => return,
            Comparison::SpellsOutPort => Level::Should.min(self.level),
            Comparison::Other => self.level,
        };
        let words = format!("response header Location is {wanted:?}");
        let spelt_out = level != self.level;
        let miss = self.miss(part, level, words, format!("it is {seen:?}"));
        if spelt_out {
            miss.implied = Some(Implied::DefaultPort);
        }
    }

    /// What the backend says it received.
    fn echoed(&mut self, expected: &Seen, answer: &HttpAnswer) {
        let echo = answer.echo.as_ref().map(EchoText::parse);
        let text = |field: &str| echo.as_ref().and_then(|e| e.get(field)).and_then(Value::as_str);
        let fields = [("path", &expected.seen_path), ("host", &expected.seen_host), ("proto", &expected.seen_proto)];
        for (field, wanted) in fields {
            let Some(wanted) = wanted else { continue };
            if text(field) != Some(wanted.as_str()) {
                let words = format!("the backend sees {field} {wanted:?}");
                let seen = text(field).map_or("no echo".to_owned(), |seen| format!("it saw {seen:?}"));
                self.miss(&format!(".seen.{field}"), self.level, words, seen);
            }
        }
        self.handshake_seen(expected, echo.as_ref());
        if let Some(wanted) = &expected.seen_messages {
            let seen: Option<Vec<&str>> = echo
                .as_ref()
                .and_then(|e| e.get("messages"))
                .and_then(Value::as_array)
                .map(|texts| texts.iter().filter_map(Value::as_str).collect());
            if seen.as_ref().is_none_or(|seen| seen != wanted) {
                let words = format!("the backend sees the messages {wanted:?}");
                let seen = seen.map_or("no echo".to_owned(), |seen| format!("it saw {seen:?}"));
                self.miss(".seen.messages", self.level, words, seen);
            }
        }
        let headers = echo.as_ref().and_then(|e| e.get("headers")).and_then(Value::as_object);
        for (name, test) in &expected.seen_headers {
            let Some(headers) = headers else {
                let words = format!("the backend tells which headers it saw, {name} among them");
                self.miss(&format!(".seen.headers.{name}"), self.level, words, "no echo".to_owned());
                continue;
            };
            let values: Vec<&str> = headers
                .iter()
                .filter(|(n, _)| n.eq_ignore_ascii_case(name))
                .flat_map(|(_, v)| match v {
                    Value::Array(items) => items.iter().filter_map(Value::as_str).collect(),
                    other => other.as_str().into_iter().collect::<Vec<_>>(),
                })
                .collect();
            self.header(
                &format!(".seen.headers.{name}"),
                &format!("request header {name} at the backend"),
                test,
                &values,
            );
        }
    }

    fn header(&mut self, part: &str, what: &str, test: &HeaderTest, values: &[&str]) {
        let (good, words) = test_header(test, what, values);
        if !good {
            let seen =
                if values.is_empty() { "it is not there".to_owned() } else { format!("it is {:?}", values.join(",")) };
            self.miss(part, self.level, words, seen);
        }
    }
}

/// Whether the lines of a header pass a test, and what the test asks for. Several lines of one header are one value,
/// joined by commas (RFC 9110, section 5.3).
pub(super) fn test_header(test: &HeaderTest, what: &str, values: &[&str]) -> (bool, String) {
    let joined = values.iter().map(|v| v.trim()).collect::<Vec<_>>().join(",");
    let members = |text: &str| text.split(',').map(|one| one.trim().to_owned()).collect::<Vec<_>>();
    let is = |wanted: &str| !values.is_empty() && (joined == wanted || members(&joined) == members(wanted));
    let sorted = |of: Vec<String>| {
        let mut all: Vec<String> = of.into_iter().map(|one| one.to_ascii_lowercase()).collect();
        all.sort_unstable();
        all
    };
    match test {
        HeaderTest::Equals(wanted) => (is(wanted), format!("{what} is {wanted:?}")),
        HeaderTest::OneOf(legal) => {
            let words = legal.iter().map(|one| format!("{one:?}")).collect::<Vec<_>>().join(" or ");
            (legal.iter().any(|one| is(one)), format!("{what} is {words}"))
        }
        HeaderTest::Members(wanted) => {
            let good = !values.is_empty() && sorted(members(&joined)) == sorted(wanted.clone());
            (good, format!("{what} lists {}", wanted.join(", ")))
        }
        HeaderTest::Without(member) => {
            let bad = members(&joined).iter().any(|one| one == "*" || one.eq_ignore_ascii_case(member));
            (!bad, format!("{what} does not list {member}"))
        }
        HeaderTest::Lines(wanted) => {
            let good = values.iter().map(|v| v.trim()).eq(wanted.iter().map(String::as_str));
            (good, format!("{what} has the lines {wanted:?}"))
        }
        HeaderTest::Absent => (values.is_empty(), format!("{what} is not there")),
        HeaderTest::Present => (!values.is_empty(), format!("{what} is there")),
    }
}

/// The backend of the manifest that answered, by the identity in its echo.
pub(super) fn answered_by<'a>(exchange: &Exchange, bindings: &'a Bindings) -> Option<&'a str> {
    let echo = echo_of(exchange)?;
    let pod = echo.get("pod")?.as_str()?;
    bindings.backends.iter().find(|(_, b)| b.identity == pod).map(|(name, _)| name.as_str())
}

/// The share that an answer counts for.
pub(super) fn share_of(exchange: &Exchange, parts: &[(Share, u32)], bindings: &Bindings) -> Option<usize> {
    let backend = answered_by(exchange, bindings);
    parts.iter().position(|(share, _)| counts_for(share, exchange, backend))
}

fn counts_for(share: &Share, exchange: &Exchange, backend: Option<&str>) -> bool {
    let status = exchange.http.as_ref().map(|answer| answer.status);
    let code = exchange.http.as_ref().filter(|_| grpc::is_call(exchange)).and_then(grpc::code);
    match share {
        Share::Backend(_) | Share::AnyOf(_) => {
            backend.is_some_and(|backend| share.backends().any(|one| one == backend))
                && status.is_none_or(|s| s < 400)
                && code.is_none_or(|c| c == GrpcCode::OK)
        }
        Share::Code(wanted) => backend.is_none() && code == Some(*wanted),
        Share::Status(code) => backend.is_none() && status == Some(*code),
        Share::Either(codes) => codes.iter().any(|one| counts_for(one, exchange, backend)),
        Share::Refused => is_refused(exchange),
        Share::NoAnswer => datagrams::is_unanswered(exchange),
        // That is in the journals.
        Share::Copied(_) | Share::NotCopied => false,
    }
}

/// Whether a connection was refused, reset or closed before any byte.
fn is_refused(exchange: &Exchange) -> bool {
    datagrams::is_unanswered(exchange)
        || matches!(exchange.tcp, Some(TcpEnd::ClosedBeforeAnyByte | TcpEnd::Alert(_)))
        || matches!(exchange.error, Some(ProbeError::ConnectRefused(_)))
        || matches!(exchange.error, Some(ProbeError::Broken(_))) && exchange.received.is_none()
}

fn echo_of(exchange: &Exchange) -> Option<Value> {
    if let Some(UdpEnd::Answered { echo, .. }) = &exchange.udp {
        return echo.first().map(EchoText::parse);
    }
    match (&exchange.http, &exchange.tcp) {
        (Some(answer), _) => answer.echo.as_ref().map(EchoText::parse),
        (None, Some(TcpEnd::Answered { echo, .. })) => echo.as_ref().map(EchoText::parse),
        _ => None,
    }
}

/// What came back, for a reader who did not see it.
pub(super) fn in_words(exchange: &Exchange, bindings: &Bindings) -> String {
    let from = || match (answered_by(exchange, bindings), echo_of(exchange).and_then(|e| e.get("pod").cloned())) {
        (Some(name), _) => format!("from backend {name}"),
        (None, Some(pod)) => format!("from a backend that is not the scenario's: {pod}"),
        (None, None) => "from no backend".to_owned(),
    };
    if let Some(answer) = &exchange.http {
        return match grpc::code(answer) {
            Some(code) if grpc::is_call(exchange) => format!("{code} {} (status {})", from(), answer.status),
            None if grpc::is_call(exchange) => format!("no code that can be read, {}", from()),
            _ => format!("status {} {}", answer.status, from()),
        };
    }
    if let Some(end) = &exchange.udp {
        return datagrams::in_words(end, &from());
    }
    match &exchange.tcp {
        Some(TcpEnd::Answered { line, .. }) => {
            return format!("a line {}: {}", from(), line.chars().take(80).collect::<String>());
        }
        Some(TcpEnd::ClosedBeforeAnyByte) => return "the connection was closed before any byte".to_owned(),
        Some(TcpEnd::Alert(why)) => return format!("the connection was ended by an alert of TLS: {why}"),
        Some(TcpEnd::Hung) => return "the connection stayed open, but nothing came".to_owned(),
        None => {}
    }
    let in_bytes = |bytes: &_| counted(*bytes, "byte", "bytes");
    let received = match &exchange.received {
        Some(Received { bytes, status: Some(status), .. }) => {
            format!(" ({} had come, and status {status})", in_bytes(bytes))
        }
        Some(Received { bytes, start, .. }) => {
            format!(" ({} had come: {})", in_bytes(bytes), start.chars().take(80).collect::<String>())
        }
        None => String::new(),
    };
    let why = match &exchange.error {
        Some(ProbeError::Unreachable(why) | ProbeError::Hindered(why) | ProbeError::NoRoute { why, .. }) => {
            format!("no way to the address: {why}")
        }
        Some(ProbeError::ConnectRefused(why)) => format!("the connection was refused: {why}"),
        Some(ProbeError::ConnectTimedOut) => "connecting timed out".to_owned(),
        Some(ProbeError::Handshake(why)) => format!("the TLS handshake failed: {why}"),
        Some(ProbeError::Broken(why)) => format!("the connection broke before a whole answer: {why}"),
        Some(ProbeError::Malformed(why)) => format!("what came is no answer: {why}"),
        Some(ProbeError::TimedOut) => "no whole answer in time".to_owned(),
        None => "no answer".to_owned(),
    };
    why + &received
}
