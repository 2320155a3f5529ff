//! The messages of the echo service, and how gRPC frames them.
//!
//! The fields and their numbers are those of the gRPC echo of the Gateway API conformance suite, so that clients of
//! either understand both. There are a handful of them, all texts, so that no code is generated.

use bytes::{BufMut, Bytes, BytesMut};

use crate::identity::Identity;

/// Length in bytes of the prefix of a framed message: whether it is compressed, and how long it is.
pub const PREFIX: usize = 5;

/// What an echo tells of a call.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Account {
    /// The path of the call: `/PACKAGE.SERVICE/METHOD`.
    pub method: String,
    /// The metadata as it came, in order.
    pub headers: Vec<(String, String)>,
    /// `:authority`.
    pub authority: String,
    /// Who tells.
    pub identity: Identity,
    /// The texts of the messages that came, in order; see [`text_message`].
    pub messages: Vec<String>,
    /// The server name of the handshake, if the call came over TLS.
    pub server_name: Option<String>,
}

/// The field of a message that its text is in, and of an account that has the texts of all; no message of the conformance
/// suite's service has a field of this number.
const TEXT: u8 = 15;

/// The field of an account that has the server name; free there too.
const SERVER_NAME: u8 = 14;

/// The field of a message that makes it long; free there too.
const FILLER: u8 = 13;

/// How many bytes the number of a filler's field and its length take: the latter always has four, whatever it is.
const BEFORE_FILLER: usize = 5;

/// A message, unframed, made so long that it has this many bytes with its frame, if it has fewer by those that a field takes.
pub fn filled(message: Bytes, bytes: usize) -> Bytes {
    let Some(length) = bytes.checked_sub(PREFIX + message.len() + BEFORE_FILLER) else { return message };
    let mut long = BytesMut::with_capacity(bytes);
    long.put_slice(&message);
    long.put_u8(FILLER << 3 | 2);
    let seven_bits = |at: u32| (length >> (7 * at) & 0x7F) as u8;
    long.put_slice(&[seven_bits(0) | 0x80, seven_bits(1) | 0x80, seven_bits(2) | 0x80, seven_bits(3)]);
    long.put_bytes(b'x', length);
    long.freeze()
}

/// A message of one text, unframed.
pub fn text_message(text: &str) -> Bytes {
    let mut message = BytesMut::new();
    put_any(&mut message, TEXT, text.as_bytes());
    message.freeze()
}

/// The text of an unframed message; empty if it has none.
pub fn text_of(message: &[u8]) -> String {
    let is_text = |field: &(u64, &[u8])| field.0 == u64::from(TEXT);
    Fields(message).map_while(|field| field).find(is_text).map(|(_, value)| text(value)).unwrap_or_default()
}

impl Account {
    /// The message, unframed.
    pub fn encode(&self) -> Bytes {
        let mut context = BytesMut::new();
        let Identity { namespace, ingress, service, pod } = &self.identity;
        for (number, value) in [(1, namespace), (2, ingress), (3, service), (4, pod)] {
            put(&mut context, number, value.as_bytes());
        }
        let mut assertions = BytesMut::new();
        put(&mut assertions, 1, self.method.as_bytes());
        for (name, value) in &self.headers {
            let mut header = BytesMut::new();
            put(&mut header, 1, name.as_bytes());
            put(&mut header, 2, value.as_bytes());
            put(&mut assertions, 2, &header);
        }
        put(&mut assertions, 3, self.authority.as_bytes());
        put(&mut assertions, 4, &context);
        if let Some(name) = &self.server_name {
            // One without a name came over TLS too.
            put_any(&mut assertions, SERVER_NAME, name.as_bytes());
        }
        for text in &self.messages {
            // An empty one counts too.
            put_any(&mut assertions, TEXT, text.as_bytes());
        }
        let mut message = BytesMut::new();
        put(&mut message, 1, &assertions);
        message.freeze()
    }

    /// Reads an unframed message. Fields that are not known are passed over; nothing if it is no message at all.
    pub fn decode(message: &[u8]) -> Option<Self> {
        let mut account = Self::default();
        for field in Fields(message) {
            if let (1, assertions) = field? {
                account.read(assertions)?;
            }
        }
        Some(account)
    }

    fn read(&mut self, assertions: &[u8]) -> Option<()> {
        for field in Fields(assertions) {
            match field? {
                (1, method) => self.method = text(method),
                (2, header) => {
                    let mut pair = (String::new(), String::new());
                    for field in Fields(header) {
                        match field? {
                            (1, name) => pair.0 = text(name),
                            (2, value) => pair.1 = text(value),
                            _ => {}
                        }
                    }
                    self.headers.push(pair);
                }
                (3, authority) => self.authority = text(authority),
                (4, context) => {
                    for field in Fields(context) {
                        match field? {
                            (1, namespace) => self.identity.namespace = text(namespace),
                            (2, ingress) => self.identity.ingress = text(ingress),
                            (3, service) => self.identity.service = text(service),
                            (4, pod) => self.identity.pod = text(pod),
                            _ => {}
                        }
                    }
                }
                (number, name) if number == u64::from(SERVER_NAME) => self.server_name = Some(text(name)),
                (number, one) if number == u64::from(TEXT) => self.messages.push(text(one)),
                _ => {}
            }
        }
        Some(())
    }
}

/// A message as a stream carries it, not compressed.
pub fn frame(message: &[u8]) -> Bytes {
    let mut framed = BytesMut::with_capacity(PREFIX + message.len());
    framed.put_u8(0);
    framed.put_u32(u32::try_from(message.len()).unwrap_or(u32::MAX));
    framed.put_slice(message);
    framed.freeze()
}

/// The whole messages at the beginning of a stream.
pub fn frames(stream: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut rest = stream;
    std::iter::from_fn(move || {
        let (prefix, behind) = rest.split_at_checked(PREFIX)?;
        let length = u32::from_be_bytes([prefix[1], prefix[2], prefix[3], prefix[4]]);
        let (message, behind) = behind.split_at_checked(usize::try_from(length).ok()?)?;
        rest = behind;
        Some(message)
    })
}

/// Writes a field of bytes; one without content is left out, as every such field is in protobuf.
fn put(into: &mut BytesMut, number: u8, value: &[u8]) {
    if !value.is_empty() {
        put_any(into, number, value);
    }
}

/// Writes a field of bytes, even one without content, as a repeated one has it.
fn put_any(into: &mut BytesMut, number: u8, value: &[u8]) {
    into.put_u8(number << 3 | 2);
    let mut length = value.len();
    while length >= 0x80 {
        into.put_u8((length & 0x7F) as u8 | 0x80);
        length >>= 7;
    }
    into.put_u8(length as u8);
    into.put_slice(value);
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// The fields of a message that are bytes, with their numbers; others are passed over. `None` where it is none.
struct Fields<'a>(&'a [u8]);

impl<'a> Iterator for Fields<'a> {
    type Item = Option<(u64, &'a [u8])>;

    fn next(&mut self) -> Option<Self::Item> {
        while !self.0.is_empty() {
            match self.field() {
                Some(Some(field)) => return Some(Some(field)),
                Some(None) => {}
                None => {
                    self.0 = &[];
                    return Some(None);
                }
            }
        }
        None
    }
}

impl<'a> Fields<'a> {
    /// The next field, if it is one of bytes; `None` if there is none.
    fn field(&mut self) -> Option<Option<(u64, &'a [u8])>> {
        let key = self.number()?;
        let length = match key & 7 {
            0 => {
                self.number()?;
                return Some(None);
            }
            1 => 8,
            2 => usize::try_from(self.number()?).ok()?,
            5 => 4,
            _ => return None,
        };
        let (value, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some((key & 7 == 2).then_some((key >> 3, value)))
    }

    fn number(&mut self) -> Option<u64> {
        let mut number = 0;
        for shift in (0..64).step_by(7) {
            let (byte, rest) = self.0.split_first()?;
            self.0 = rest;
            number |= u64::from(byte & 0x7F) << shift;
            if byte & 0x80 == 0 {
                return Some(number);
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn account() -> Account {
        let identity = Identity { namespace: "ns".to_owned(), pod: "pod-1".to_owned(), ..Identity::default() };
        let long = "x".repeat(300);
        let headers =
            vec![("a".to_owned(), "b".to_owned()), ("long".to_owned(), long), ("empty".to_owned(), String::new())];
        let messages = vec!["one".to_owned(), String::new(), "three".to_owned()];
        Account {
            method: "/a.B/C".to_owned(),
            headers,
            authority: "host.test".to_owned(),
            identity,
            messages,
            server_name: Some(String::new()),
        }
    }

    #[test]
    fn an_account_is_read_as_it_was_written() {
        let account = account();
        assert_eq!(Account::decode(&account.encode()), Some(account));
    }

    #[test]
    fn the_wire_form_is_that_of_protobuf() {
        let account = Account { method: "/a/b".to_owned(), ..Account::default() };
        assert_eq!(account.encode().as_ref(), b"\x0a\x06\x0a\x04/a/b");
        assert_eq!(frame(&account.encode()).as_ref(), b"\0\0\0\0\x08\x0a\x06\x0a\x04/a/b");
    }

    #[test]
    fn a_message_has_a_text_or_none() {
        assert_eq!(text_message("hello").as_ref(), b"\x7a\x05hello");
        assert_eq!(text_of(&text_message("hello")), "hello");
        assert_eq!(text_of(b"\x0a\x01x\x7a\x01y"), "y");
        assert_eq!(
            (text_of(b""), text_of(b"\xff"), text_of(b"\x7a\x05he")),
            (String::new(), String::new(), String::new())
        );
    }

    #[test]
    fn fields_that_are_not_known_are_passed_over() {
        let message = [&b"\x10\x96\x01\x1d\0\0\0\0\x19\0\0\0\0\0\0\0\0\x12\x00"[..], &account().encode()].concat();
        assert_eq!(Account::decode(&message), Some(account()));
    }

    #[test]
    fn a_message_is_filled_to_a_length() {
        let short = account().encode();
        for bytes in [short.len() + PREFIX + BEFORE_FILLER, 65_535, 1 << 20] {
            let long = filled(short.clone(), bytes);
            assert_eq!((frame(&long).len(), Account::decode(&long)), (bytes, Some(account())));
        }
        assert_eq!(filled(short.clone(), short.len() + PREFIX + BEFORE_FILLER - 1), short);
    }

    #[test]
    fn what_is_cut_off_is_no_message() {
        let whole = account().encode();
        assert_eq!(Account::decode(&whole[..whole.len() - 1]), None);
        let stream = [frame(&whole), frame(b"")].concat();
        assert_eq!(frames(&stream).count(), 2);
        assert_eq!(frames(&stream[..stream.len() - 1]).count(), 1);
        assert_eq!(frames(b"\0\xff\xff\xff\xff").count(), 0);
    }
}
