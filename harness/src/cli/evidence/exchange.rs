//! One attempt of a probe as people read it: what went out, what came back, and how to ask the same by hand.

use std::fmt::Write as _;

use gateproof_report::html::{Came, Request, Row};
use gateproof_report::reproduce;
use gateproof_report::words::counted;

use crate::log::{EchoText, Exchange, HttpAnswer, HttpRequest, ProbeError, ProbeRequest, Role, TcpEnd, UdpEnd};

/// The header that carries the id of a request.
const ID_HEADER: &str = "X-Gateproof-Request: ";

/// An attempt that ended at `ended`, after the scenario's start and after that of the run.
pub(super) fn attempt(step: usize, number: u32, role: Role, exchange: &Exchange, ended: (u64, u64)) -> (Request, Row) {
    let role = match role {
        Role::Main => "main",
        Role::Contrast => "contrast",
        Role::Reach => "reach",
    };
    let (since_start, since_run) = ended;
    let took = since_run.saturating_sub(exchange.started.0);
    let came = Came { id: exchange.id.clone(), took, text: text(exchange) };
    let row = Row {
        step,
        role: role.to_owned(),
        first: number,
        request: 0,
        ended: end(exchange),
        at: vec![since_start],
        came: vec![came],
    };
    (request(exchange), row)
}

fn request(exchange: &Exchange) -> Request {
    let to = exchange.connected_to.map(|to| to.to_string());
    match &exchange.request {
        ProbeRequest::Http(request) => http(request, to),
        ProbeRequest::Tcp { host, port, send, behind, tls, .. } => {
            let to = to.unwrap_or_else(|| format!("{host}:{port}"));
            let within = tls.as_ref().map_or_else(String::new, |hello| {
                format!(" within TLS for {}", hello.server_name.as_deref().unwrap_or("no name"))
            });
            let line = format!("stream to {host}:{port}{within}");
            Request { line, to, sent: String::new(), rest: format!("\n{send}{behind}"), curl: None }
        }
        ProbeRequest::Udp { host, port, empty: true, .. } => {
            let to = to.unwrap_or_else(|| format!("{host}:{port}"));
            let line = format!("datagrams without a byte to {host}:{port}");
            Request { line, to, sent: String::new(), rest: String::new(), curl: None }
        }
        ProbeRequest::Udp { host, port, send, behind, .. } => {
            let to = to.unwrap_or_else(|| format!("{host}:{port}"));
            let line = format!("datagrams to {host}:{port}");
            Request { line, to, sent: String::new(), rest: format!(" NUMBER {send}{behind}"), curl: None }
        }
    }
}

fn http(request: &HttpRequest, to: Option<String>) -> Request {
    let HttpRequest { host, port, method, target, authority, .. } = request;
    let to = to.unwrap_or_else(|| format!("{host}:{port}"));
    let scheme = if request.tls_server_name.is_some() { "https" } else { "http" };
    let version = if request.http2 { "HTTP/2" } else { "HTTP/1.1" };
    let absolute = if request.absolute { format!("{scheme}://{authority}") } else { String::new() };
    let mut sent = format!("{method} {absolute}{target} {version}\nHost: {authority}\n");
    for (name, value) in &request.headers {
        let _ = writeln!(sent, "{name}: {value}");
    }
    sent.push_str(ID_HEADER);
    let mut rest = format!("\n\n{}", request.body);
    for (name, value) in &request.trailers {
        let _ = writeln!(rest, "(trailer) {name}: {value}");
    }
    for message in &request.sends {
        let _ = writeln!(rest, "(message) {message}");
    }
    for message in request.messages.iter().flatten() {
        let _ = writeln!(rest, "(WebSocket) {}", message.word());
    }
    let line = format!("{method} {scheme}://{authority}{target}");
    Request { line, curl: curl(request, scheme, &to), to, sent, rest }
}

/// What curl can do: one request with a body of text.
fn curl(request: &HttpRequest, scheme: &str, to: &str) -> Option<String> {
    let is_plain = request.sends.is_empty()
        && request.trailers.is_empty()
        && request.messages.is_none()
        && request.among.is_empty()
        && request.without.is_empty()
        && request.session.is_none()
        && request.client.is_none();
    // A length of its own would go out beside the one given, or in place of it.
    let is_spelled = request.headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("content-length"));
    if !is_plain || is_spelled || request.absolute || request.host_header {
        return None;
    }
    let mut words: Vec<String> = ["curl", "-i", "--path-as-is"].map(str::to_owned).to_vec();
    words.push(match (request.http2, scheme) {
        (false, _) => "--http1.1".to_owned(),
        (true, "http") => "--http2-prior-knowledge".to_owned(),
        (true, _) => "--http2".to_owned(),
    });
    match request.method.as_str() {
        "GET" => {}
        "HEAD" => words.push("--head".to_owned()),
        method => words.extend(["-X".to_owned(), method.to_owned()]),
    }
    let name = request.tls_server_name.as_deref().unwrap_or(&request.authority);
    let name = name.rsplit_once(':').filter(|(_, port)| port.parse::<u16>().is_ok()).map_or(name, |(name, _)| name);
    if name != request.authority {
        words.extend(["-H".to_owned(), format!("Host: {}", request.authority)]);
    }
    for (header, value) in &request.headers {
        let header = if value.is_empty() { format!("{header};") } else { format!("{header}: {value}") };
        words.extend(["-H".to_owned(), header]);
    }
    if !request.body.is_empty() {
        words.extend(["--data-raw".to_owned(), request.body.clone()]);
    }
    if scheme == "https" {
        words.push("-k".to_owned());
    }
    let port = request.port;
    words.extend(["--connect-to".to_owned(), format!("{name}:{port}:{to}")]);
    if !request.target.starts_with('/') {
        words.extend(["--request-target".to_owned(), request.target.clone()]);
    }
    let path = if request.target.starts_with('/') { request.target.as_str() } else { "" };
    words.push(format!("{scheme}://{name}:{port}{path}"));
    Some(reproduce::line(words.iter().map(String::as_str)))
}

/// How it ended, in as few words as tell it from what ended otherwise.
fn end(exchange: &Exchange) -> String {
    let Exchange { http, tcp, udp, error, replies, .. } = exchange;
    let wrong = replies.iter().find(|reply| reply.wrong.is_some());
    match (http, tcp, udp, error) {
        (Some(answer), ..) => {
            let from = pod(answer.echo.as_ref());
            let wrong = wrong.map_or_else(String::new, |reply| format!(", wrong reply to {}", reply.to.word()));
            format!("{}{from}{wrong}", answer.status)
        }
        (_, Some(TcpEnd::Answered { echo, .. }), ..) => format!("a line{}", pod(echo.as_ref())),
        (_, Some(TcpEnd::ClosedBeforeAnyByte), ..) => "closed before any byte".to_owned(),
        (_, Some(TcpEnd::Alert(alert)), ..) => format!("alert {alert}"),
        (_, Some(TcpEnd::Hung), ..) => "not a byte in time".to_owned(),
        (_, _, Some(UdpEnd::Answered { echo, .. }), _) => format!("datagrams{}", pod(echo.first())),
        (_, _, Some(UdpEnd::TooFew { answered }), _) => format!("{answered} datagrams, too few"),
        (_, _, Some(UdpEnd::Silent), _) => "no datagram".to_owned(),
        (_, _, Some(UdpEnd::Refused), _) => "port unreachable".to_owned(),
        (.., Some(error)) => failure(error).0.to_owned(),
        _ => "nothing".to_owned(),
    }
}

fn pod(echo: Option<&EchoText>) -> String {
    let pod = echo.and_then(|echo| echo.parse()["pod"].as_str().map(str::to_owned));
    pod.map_or_else(String::new, |pod| format!(" from {pod}"))
}

/// In a word, and in those of the system.
fn failure(error: &ProbeError) -> (&'static str, &str) {
    match error {
        ProbeError::Unreachable(why) => ("unreachable", why),
        ProbeError::Hindered(why) => ("hindered", why),
        ProbeError::NoRoute { why, .. } => ("no route", why),
        ProbeError::ConnectRefused(why) => ("refused", why),
        ProbeError::ConnectTimedOut => ("no connection in time", ""),
        ProbeError::Handshake(why) => ("no handshake", why),
        ProbeError::Broken(why) => ("broken", why),
        ProbeError::Malformed(why) => ("malformed", why),
        ProbeError::TimedOut => ("no answer in time", ""),
    }
}

/// Everything that came back.
fn text(exchange: &Exchange) -> String {
    let mut out = String::new();
    if let Some(certificate) = &exchange.certificate {
        let _ = writeln!(out, "(certificate for {}, {})", certificate.names.join(", "), certificate.sha256);
        if let Some(why) = &certificate.distrusted {
            let _ = writeln!(out, "(not trusted: {why})");
        }
    }
    if let Some(alpn) = &exchange.alpn {
        let _ = writeln!(out, "(ALPN: {alpn})");
    }
    if let Some(version) = exchange.tls_version {
        let resumed = if exchange.resumed { ", a session resumed" } else { "" };
        let _ = writeln!(out, "(TLS {}{resumed})", version.word());
    }
    if let Some(answer) = &exchange.http {
        http_answer(&mut out, answer);
    }
    for reply in &exchange.replies {
        let end =
            reply.wrong.as_deref().map_or_else(|| "as it should be".to_owned(), |wrong| format!("wrong: {wrong}"));
        let _ = writeln!(out, "(WebSocket) {}: {end}", reply.to.word());
    }
    match &exchange.tcp {
        Some(TcpEnd::Answered { line, echo }) => echoed(&mut out, line, echo.as_ref()),
        Some(_) => out.push_str(&end(exchange)),
        None => {}
    }
    match &exchange.udp {
        Some(UdpEnd::Answered { lines, echo }) => {
            lines.iter().for_each(|line| echoed(&mut out, line, None));
            echo.iter().for_each(|echo| echoed(&mut out, "", Some(echo)));
        }
        Some(_) => out.push_str(&end(exchange)),
        None => {}
    }
    if let Some(error) = &exchange.error {
        let (what, why) = failure(error);
        let _ = writeln!(out, "({what}{}{why})", if why.is_empty() { "" } else { ": " });
    }
    if let Some(received) = &exchange.received {
        let bytes = counted(received.bytes, "byte", "bytes");
        let _ = writeln!(out, "({bytes} had come, first: {})", received.start);
    }
    out
}

fn http_answer(out: &mut String, answer: &HttpAnswer) {
    let _ = writeln!(out, "{}", answer.status);
    for (name, value) in &answer.headers {
        let _ = writeln!(out, "{name}: {value}");
    }
    out.push('\n');
    echoed(out, &answer.body, answer.echo.as_ref());
    if let Some(count) = answer.messages {
        let _ = writeln!(out, "({})", counted(count, "message", "messages"));
    }
    for (name, value) in &answer.trailers {
        let _ = writeln!(out, "(trailer) {name}: {value}");
    }
}

fn echoed(out: &mut String, text: &str, echo: Option<&EchoText>) {
    out.push_str(text);
    if let Some(echo) = echo {
        out.push_str(&echo.parse().to_string());
    }
    if !out.ends_with('\n') {
        out.push('\n');
    }
}
