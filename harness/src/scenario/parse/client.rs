//! The certificate that a probe has.

use super::build::{boolean, text};
use super::check::Checker;
use super::tree::Node;
use crate::log::ClientCertificate;

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
