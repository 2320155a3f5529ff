//! What a body of gRPC holds.

use std::collections::BTreeMap;

use gateproof_echo::grpc::message::{Account, frames};
use serde_json::json;

use crate::log::EchoText;

/// How many whole messages a body has, and the echo's account if the first one is that.
pub(super) fn read(body: &[u8]) -> (u32, Option<EchoText>) {
    let mut messages = frames(body);
    let first = messages.next();
    let count = usize::from(first.is_some()) + messages.count();
    (u32::try_from(count).unwrap_or(u32::MAX), first.and_then(Account::decode).as_ref().and_then(told))
}

/// An account of a call, as one of a request.
fn told(account: &Account) -> Option<EchoText> {
    let Account { method, headers, authority, identity } = account;
    if identity.pod.is_empty() {
        return None;
    }
    let mut fields: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for (name, value) in headers {
        fields.entry(name).or_default().push(value);
    }
    EchoText::of(&json!({
        "path": method,
        "host": authority,
        "method": "POST",
        "proto": "HTTP/2.0",
        "headers": fields,
        "namespace": identity.namespace,
        "ingress": identity.ingress,
        "service": identity.service,
        "pod": identity.pod,
    }))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use gateproof_echo::Identity;
    use gateproof_echo::grpc::message::frame;

    use super::*;

    #[test]
    fn messages_are_counted_and_the_first_is_read() {
        let identity = Identity { pod: "pod-1".to_owned(), ..Identity::default() };
        let account = Account { method: "/a.B/C".to_owned(), identity, ..Account::default() };
        let body = [frame(&account.encode()), frame(b""), frame(b"")].concat();
        let (count, echo) = read(&body);
        let seen = echo.unwrap().parse();
        assert_eq!((count, &seen["path"], &seen["pod"]), (3, &json!("/a.B/C"), &json!("pod-1")));
    }

    #[test]
    fn other_messages_are_no_account() {
        assert_eq!(read(&frame(b"\xff\xff")), (1, None));
        assert_eq!(read(&frame(&Account::default().encode())), (1, None));
        assert_eq!(read(b"not framed at all"), (0, None));
    }
}
