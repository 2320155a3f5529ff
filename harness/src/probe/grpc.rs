//! What a body of gRPC holds.

use std::collections::BTreeMap;

use gateproof_echo::grpc::message::{Account, PREFIX, frames};
use serde_json::json;

use crate::log::EchoText;

/// What a body has.
#[derive(Debug, PartialEq)]
pub(super) struct Content {
    /// How many whole messages.
    pub(super) messages: u32,
    /// The echo's account, if the first message is that.
    pub(super) echo: Option<EchoText>,
    /// How many bytes are left behind the last whole message.
    pub(super) rest: usize,
}

/// Reads a body.
pub(super) fn read(body: &[u8]) -> Content {
    let mut content = Content { messages: 0, echo: None, rest: body.len() };
    for message in frames(body) {
        if content.messages == 0 {
            content.echo = Account::decode(message).as_ref().and_then(told);
        }
        content.messages = content.messages.saturating_add(1);
        content.rest -= PREFIX + message.len();
    }
    content
}

/// An account of a call, as one of a request.
fn told(account: &Account) -> Option<EchoText> {
    let Account { method, headers, authority, identity, messages, server_name } = account;
    if identity.pod.is_empty() {
        return None;
    }
    let mut fields: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for (name, value) in headers {
        fields.entry(name).or_default().push(value);
    }
    let mut told = json!({
        "path": method,
        "host": authority,
        "method": "POST",
        "proto": "HTTP/2.0",
        "headers": fields,
        "messages": messages,
        "namespace": identity.namespace,
        "ingress": identity.ingress,
        "service": identity.service,
        "pod": identity.pod,
    });
    if let Some(name) = server_name {
        told["tls"] = json!({"serverName": name});
    }
    EchoText::of(&told)
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
        let content = read(&body);
        let seen = content.echo.unwrap().parse();
        assert_eq!((content.messages, content.rest), (3, 0));
        assert_eq!((&seen["path"], &seen["pod"]), (&json!("/a.B/C"), &json!("pod-1")));
    }

    #[test]
    fn other_messages_are_no_account() {
        let other = |messages, rest| Content { messages, echo: None, rest };
        assert_eq!(read(&frame(b"\xff\xff")), other(1, 0));
        assert_eq!(read(&frame(&Account::default().encode())), other(1, 0));
        assert_eq!(read(b"not framed at all"), other(0, 17));
        assert_eq!(read(&[&frame(b"a")[..], b"\0\0"].concat()), other(1, 2));
    }
}
