//! What the client of a probe brings along.

use crate::log::{Bindings, ProbeRequest};
use crate::probe::{Client, ClientPair};
use crate::scenario::bind::secret;

/// What the client of a request has. A certificate that cannot be made is missed where the request is sent.
pub(super) fn of(request: &ProbeRequest, bindings: &Bindings) -> Client {
    let (shows, trusts) = match request {
        ProbeRequest::Http(request) => (request.client.as_ref(), request.trusts.as_ref()),
        ProbeRequest::Tcp { tls: Some(hello), .. } => (None, hello.trusts.as_ref()),
        ProbeRequest::Tcp { .. } | ProbeRequest::Udp { .. } => (None, None),
    };
    let authorities = &bindings.authorities;
    let pair = shows.and_then(|decl| secret::client(decl, authorities.get(&decl.authority)?).ok());
    Client {
        pair: pair.map(|(certificate, key)| ClientPair { certificate, key }),
        authority: trusts.and_then(|alias| Some(authorities.get(alias)?.certificate.clone())),
    }
}
