//! Protobuf messages, written field by field.

/// One message.
#[derive(Debug, Default)]
pub struct Writer(Vec<u8>);

impl Writer {
    /// The bytes of the message.
    pub fn finish(self) -> Vec<u8> {
        self.0
    }

    /// A field of a variable-length number.
    pub fn number(&mut self, field: u32, value: u64) {
        self.varint(u64::from(field) << 3);
        self.varint(value);
    }

    /// A field of text.
    pub fn text(&mut self, field: u32, value: &str) {
        self.bytes(field, value.as_bytes());
    }

    /// A field that is a message, which `fill` writes.
    pub fn message(&mut self, field: u32, fill: impl FnOnce(&mut Self)) {
        let mut inner = Self::default();
        fill(&mut inner);
        self.bytes(field, &inner.0);
    }

    fn bytes(&mut self, field: u32, value: &[u8]) {
        self.varint(u64::from(field) << 3 | 2);
        self.varint(value.len() as u64);
        self.0.extend_from_slice(value);
    }

    fn varint(&mut self, mut value: u64) {
        while value > 0x7f {
            self.0.push(value as u8 & 0x7f | 0x80);
            value >>= 7;
        }
        self.0.push(value as u8);
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use proptest::prelude::*;

    use super::*;
    use crate::wire::reader::{Fields, Wire};

    proptest! {
        #[test]
        fn is_read_as_it_was_written(field in 1u32..5000, value: u64, text in ".{0,300}") {
            let mut writer = Writer::default();
            writer.number(field, value);
            writer.message(field, |inner| inner.text(field, &text));
            let bytes = writer.finish();
            let mut fields = Fields(&bytes);
            assert_eq!(fields.next().unwrap(), Some((field, Wire::Varint(value))));
            let Some((_, Wire::Bytes(inner))) = fields.next().unwrap() else { unreachable!("a message follows") };
            assert_eq!(Fields(inner).next().unwrap(), Some((field, Wire::Bytes(text.as_bytes()))));
            assert_eq!(fields.next().unwrap(), None);
        }
    }
}
