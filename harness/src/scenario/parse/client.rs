//! What a probe has of its own in the handshake.

use super::build::{boolean, strings, text};
use super::check::Checker;
use super::tree::Node;
use crate::log::{ClientCertificate, Extension};

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
    })
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
    Extension::ALL.into_iter().filter(|one| words.iter().any(|word| word == one.word())).collect()
}
