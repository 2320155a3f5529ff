//! What a probe has of its own in the handshake.

use rustls_pki_types::ServerName;

use super::check::Checker;
use super::read::{boolean, strings, text};
use super::tree::{Mark, Node};
use crate::log::{Chain, ClientCertificate, Extension, NO_PROTOCOL, TlsVersion};
use crate::scenario::template::{self, Part};
use crate::scenario::{Answer, CLEAR_TEXT};

/// How long the name of a protocol may be, in bytes: its length is one byte of the handshake.
const LONGEST_PROTOCOL: usize = 255;

/// Reads the certificate of a probe over HTTP, if it has one.
pub(super) fn client(probe: &Node, tls: bool, checker: &mut Checker<'_>) -> Option<ClientCertificate> {
    let client = probe.get("client")?;
    if !tls {
        checker.report(client.mark, "nobody asks for a certificate over plain HTTP".to_owned(), None);
    }
    if let Some((over, _)) = probe.entries().iter().find(|(key, _)| key.name == "over") {
        let help = Some("a connection that is kept open has shown its certificate already".to_owned());
        checker.report(over.mark, "`over` beside `client`".to_owned(), help);
    }
    Some(ClientCertificate {
        authority: text(client, "authority").unwrap_or("ca").to_owned(),
        expired: boolean(client, "expired").unwrap_or(false),
        future: is_to_come(client, checker),
        asked: boolean(client, "asked").unwrap_or(false),
        chain: chain(client),
    })
}

/// The server that a client asks for: a host name, which no address is (RFC 6066, 3), so that a client would ask for none.
pub(super) fn server(probe: &Node, checker: &mut Checker<'_>) -> Option<String> {
    let sni = probe.get("sni")?;
    let name = sni.text()?;
    if !is_host(name) {
        let help = Some("write a host name without a wildcard; a client without `sni` asks for none".to_owned());
        checker.report(sni.mark, format!("no client asks for {name:?}: it is no host name"), help);
    }
    Some(name.to_owned())
}

/// The names that a certificate of a backend is for.
pub(super) fn certified(tls: &Node, checker: &mut Checker<'_>) -> Vec<String> {
    for name in tls.get("names").map_or(&[][..], Node::list) {
        let Some(text) = name.text() else { continue };
        let is_uri = text.split_once("://").is_some_and(|(scheme, rest)| {
            !scheme.is_empty() && !rest.is_empty() && rest.is_ascii() && !rest.contains(char::is_whitespace)
        });
        if !is_uri && !is_host(text.strip_prefix("*.").unwrap_or(text)) {
            let help = Some("write a host name, with `*.` before it or not, or a URI with `://`".to_owned());
            checker.report(name.mark, format!("no certificate is for {text:?}"), help);
        }
    }
    strings(tls.get("names"))
}

/// Whether this is a name of DNS, once what stands for a host or a part of one is filled in.
fn is_host(text: &str) -> bool {
    let Ok(parts) = template::parts(text) else { return true };
    let filled: String = parts.iter().map(|part| if let Part::Text(text) = part { text } else { "x" }).collect();
    matches!(ServerName::try_from(filled), Ok(ServerName::DnsName(_)))
}

/// Whether the time of a certificate is to come. It cannot be over as well.
pub(super) fn is_to_come(certificate: &Node, checker: &mut Checker<'_>) -> bool {
    let future = boolean(certificate, "future").unwrap_or(false);
    if future && boolean(certificate, "expired").unwrap_or(false) {
        checker.report(
            certificate.mark,
            "`expired` beside `future`".to_owned(),
            Some("leave out one of them".to_owned()),
        );
    }
    future
}

/// What stands between a certificate and the authority that it is of.
pub(super) fn chain(certificate: &Node) -> Chain {
    text(certificate, "chain").and_then(Chain::of_word).unwrap_or_default()
}

/// What is wrong with asking for a certificate that is presented, or for none.
pub(super) fn presented(node: &Node, tls: bool, checker: &mut Checker<'_>) {
    let Some(expect) = node.get("expect").filter(|_| !tls) else { return };
    let found = ["certificate", "trusted"].map(|key| expect.get(key)).into_iter().flatten().next();
    let is_none = expect.text() == Some("noCertificate");
    if let Some(found) = found.or(is_none.then_some(expect)) {
        checker.report(found.mark, "no certificate is presented over plain HTTP".to_owned(), None);
    }
}

/// What is wrong with a client that is to trust what is presented to it.
pub(super) fn trusting(node: &Node, asks_for_a_name: bool, checker: &mut Checker<'_>) {
    let Some(trusted) = node.get("expect").and_then(|expect| expect.get("trusted")) else { return };
    if !asks_for_a_name {
        let help = Some("say it with `sni`".to_owned());
        checker.report(trusted.mark, "whom to trust is a matter of the name that is asked for".to_owned(), help);
    }
    if let Some((over, _)) = node.entries().iter().find(|(key, _)| key.name == "over") {
        let help = Some("a connection that is kept open has shaken hands already".to_owned());
        checker.report(over.mark, "`over` beside `trusted`".to_owned(), help);
    }
}

/// What a request leaves out of its handshake.
pub(super) fn left_out(node: &Node, tls: bool, http2: bool, checker: &mut Checker<'_>) -> Vec<Extension> {
    let Some(given) = node.get("without") else { return Vec::new() };
    if !tls {
        checker.report(given.mark, "there is no handshake over plain HTTP".to_owned(), None);
    }
    let words = strings(Some(given));
    if http2 && words.iter().any(|word| word == Extension::Alpn.word()) {
        checker.report(given.mark, "over TLS it is by ALPN that HTTP/2 is agreed on".to_owned(), None);
    }
    if let Some(alpn) = given_alpn(node).filter(|_| words.iter().any(|word| word == Extension::Alpn.word())) {
        let help = Some("leave out one of them".to_owned());
        checker.report(alpn, "`alpn` beside `without: [alpn]`".to_owned(), help);
    }
    Extension::ALL.into_iter().filter(|one| words.iter().any(|word| word == one.word())).collect()
}

/// Where `alpn` stands in a probe, if it does.
fn given_alpn(node: &Node) -> Option<Mark> {
    given(node, "alpn")
}

/// Where this key stands in a probe, if it does.
fn given(node: &Node, name: &str) -> Option<Mark> {
    node.entries().iter().find(|(key, _)| key.name == name).map(|(key, _)| key.mark)
}

/// The version of TLS that a client speaks alone.
pub(super) fn tls_version(node: &Node, tls: bool, checker: &mut Checker<'_>) -> Option<TlsVersion> {
    of_handshake(node, "tlsVersion", tls, checker);
    text(node, "tlsVersion").and_then(TlsVersion::of_word)
}

/// The session that a client resumes.
pub(super) fn session(node: &Node, tls: bool, checker: &mut Checker<'_>) -> Option<String> {
    of_handshake(node, "session", tls, checker);
    if given(node, "session").is_some()
        && let Some(asked) = node.get("client").and_then(|client| given(client, "asked"))
    {
        let help = Some("who goes on with a session need not be asked again".to_owned());
        checker.report(asked, "`asked` beside `session`".to_owned(), help);
    }
    text(node, "session").map(str::to_owned)
}

/// What is wrong with saying this of a handshake.
fn of_handshake(node: &Node, name: &str, tls: bool, checker: &mut Checker<'_>) {
    let Some(mark) = given(node, name) else { return };
    if !tls {
        checker.report(mark, format!("`{name}` is for TLS: there is no handshake otherwise"), None);
    }
    if given(node, "over").is_some() {
        let help = Some("a connection that is kept open has shaken hands already".to_owned());
        checker.report(mark, format!("`{name}` beside `over`"), help);
    }
}

/// What a list of protocols says, with what is wrong with it as such.
pub(super) fn protocols(list: &Node, checker: &mut Checker<'_>) -> Vec<String> {
    let names = strings(Some(list));
    if names.is_empty() {
        let help = Some("such as [h2, http/1.1]".to_owned());
        checker.report(list.mark, "no protocol is named".to_owned(), help);
    }
    for name in &names {
        if name.is_empty() || name.len() > LONGEST_PROTOCOL {
            let message =
                format!("the name of a protocol has 1 to {LONGEST_PROTOCOL} bytes, and this one {}", name.len());
            checker.report(list.mark, message, None);
        }
        if name == NO_PROTOCOL {
            let help = Some("`without: [alpn]` offers none".to_owned());
            checker.report(
                list.mark,
                format!("`{NO_PROTOCOL}` is no protocol, but what an answer says where none was agreed on"),
                help,
            );
        }
    }
    if let Some(twice) = names.iter().enumerate().find(|(at, name)| names[..*at].contains(name)) {
        checker.report(list.mark, format!("`{}` is named twice", twice.1), None);
    }
    names
}

/// What may be expected of a stream within TLS beside its backend.
pub(super) const WITHIN_TLS: [&str; 4] = ["certificate", "trusted", "alpn", "seen"];

/// What is expected of a stream within TLS: a line from a backend, or no more than who shakes hands, whatever comes behind.
pub(super) fn within_tls(node: &Node, backend: Option<&Node>, checker: &mut Checker<'_>) -> Option<Answer> {
    let certificate = text(node, "certificate").map(str::to_owned);
    if backend.is_none() && certificate.is_none() {
        let help = Some("say it with `backend`, or who shakes hands with `certificate`".to_owned());
        checker.report(node.mark, "nothing says who answers".to_owned(), help);
    }
    if let Some(seen) = node.get("seen").filter(|_| backend.is_none()) {
        let help = Some("say which with `backend`".to_owned());
        checker.report(seen.mark, "what no backend has answered cannot have been seen by one".to_owned(), help);
    }
    let backend = backend.and_then(Node::text).map(str::to_owned);
    let trusted = text(node, "trusted").map(str::to_owned);
    let server_name = node.get("seen").and_then(|seen| server_name(seen, checker));
    Some(Answer::TlsBackend { backend, certificate, trusted, alpn: legal(node), server_name })
}

/// The server name that the backend of a stream within TLS saw; nothing else is seen of one.
fn server_name(seen: &Node, checker: &mut Checker<'_>) -> Option<String> {
    if let Some((key, _)) = seen.entries().iter().find(|(key, _)| key.name != "tls") {
        checker.report(key.mark, format!("`{}` is not seen of a stream", key.name), None);
    }
    let name = text(seen, "tls").map(str::to_owned);
    if name.as_deref() == Some(CLEAR_TEXT) {
        let help = Some("leave it out for a backend of `protocol: tcp`, which answers clear text alone".to_owned());
        checker.report(seen.mark, "no backend tells of a stream in clear text".to_owned(), help);
    }
    name
}

/// The protocols that a stream names in its handshake.
pub(super) fn of_stream(node: &Node, checker: &mut Checker<'_>) -> Vec<String> {
    let alpn = node.get("alpn").map(|list| protocols(list, checker)).unwrap_or_default();
    expected(node, &alpn, checker);
    alpn
}

/// Whether the host of a request stands in a Host header over HTTP/2, as whoever makes one of a request over HTTP/1.1 has it.
pub(super) fn host_header(node: &Node, tls: bool, http2: bool, checker: &mut Checker<'_>) -> bool {
    let Some(mark) = node.entries().iter().find(|(key, _)| key.name == "hostHeader").map(|(key, _)| key.mark) else {
        return false;
    };
    if !http2 {
        let help = Some("over HTTP/1.1 it always stands there; add `http2: true`, or leave it out".to_owned());
        checker.report(mark, "`hostHeader` is for HTTP/2".to_owned(), help);
    }
    if tls {
        checker.report(mark, "`hostHeader` is for requests in clear text".to_owned(), None);
    }
    let headers = node.get("headers").map(Node::entries).unwrap_or_default();
    if let Some((host, _)) = headers.iter().find(|(key, _)| key.name.eq_ignore_ascii_case("host")) {
        let help = Some("it has the host of the URL".to_owned());
        checker.report(host.mark, "a header `Host` beside `hostHeader`".to_owned(), help);
    }
    boolean(node, "hostHeader").unwrap_or(false)
}

/// The protocols that a request names in its handshake, where it says so itself.
pub(super) fn of_request(
    node: &Node,
    (tls, http2, websocket): (bool, bool, bool),
    checker: &mut Checker<'_>,
) -> Vec<String> {
    let alpn = node.get("alpn").map(|list| protocols(list, checker)).unwrap_or_default();
    let names = |protocol: &str| alpn.iter().any(|one| one == protocol);
    if let Some(mark) = given_alpn(node) {
        if !tls {
            checker.report(mark, "there is no handshake over plain HTTP".to_owned(), None);
        }
        if http2 && !names("h2") {
            let help = Some("name h2, too".to_owned());
            checker.report(mark, "over TLS it is by ALPN that HTTP/2 is agreed on".to_owned(), help);
        }
        if websocket && names("h2") {
            let help = Some("leave h2 out".to_owned());
            checker.report(mark, "a WebSocket begins over HTTP/1.1".to_owned(), help);
        }
        if node.get("over").is_some() {
            let help = Some("a connection that is kept open has shaken hands already".to_owned());
            checker.report(mark, "`alpn` beside `over`".to_owned(), help);
        }
    }
    let own = if http2 { "h2" } else { "http/1.1" };
    let leaves_out = strings(node.get("without")).iter().any(|word| word == Extension::Alpn.word());
    let offered = match &alpn[..] {
        _ if leaves_out || !tls => Vec::new(),
        [] => vec![own.to_owned()],
        given => given.to_vec(),
    };
    let expects = node.get("expect").and_then(|expect| expect.get("alpn"));
    match expects {
        Some(expects) if !tls => {
            checker.report(expects.mark, "nothing is agreed on over plain HTTP".to_owned(), None);
        }
        _ => expected(node, &offered, checker),
    }
    alpn
}

/// The protocols of which one is to be agreed on, as an answer says it: a name or a list.
pub(super) fn legal(answer: &Node) -> Vec<String> {
    let given = answer.get("alpn");
    given
        .into_iter()
        .flat_map(|one| std::iter::once(one).chain(one.list()))
        .filter_map(Node::text)
        .map(str::to_owned)
        .collect()
}

/// What cannot be agreed on by who offers these, or cannot but be.
fn expected(node: &Node, offered: &[String], checker: &mut Checker<'_>) {
    let Some(answer) = node.get("expect") else { return };
    let Some(given) = answer.get("alpn") else { return };
    let legal = legal(answer);
    if legal.is_empty() {
        checker.report(given.mark, "no protocol is named".to_owned(), Some(format!("such as h2, or {NO_PROTOCOL}")));
    }
    if let Some(name) = legal.iter().find(|name| *name != NO_PROTOCOL && !offered.contains(name)) {
        let help = match offered {
            [] => "no protocol is offered; name some with `alpn`".to_owned(),
            some => format!("offered: {}", some.join(", ")),
        };
        checker.report(given.mark, format!("`{name}` cannot be agreed on: the client does not offer it"), Some(help));
    }
    if !legal.is_empty()
        && offered.iter().map(String::as_str).chain([NO_PROTOCOL]).all(|one| legal.iter().any(|name| name == one))
    {
        let help = Some("leave `alpn` out, or one of them".to_owned());
        checker.report(given.mark, "whatever is agreed on, it is among these".to_owned(), help);
    }
}
