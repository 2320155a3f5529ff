//! The protobuf wire format.

/// Why a body is not protobuf.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum WireError {
    /// It ends where something is missing.
    #[error("the message ends too early")]
    Short,
    /// A number takes more than ten bytes.
    #[error("a variable-length number is too long")]
    Varint,
    /// A field has a wire type that Kubernetes does not use.
    #[error("wire type {0} is not known")]
    WireType(u8),
    /// A field holds something else than its type says.
    #[error("field {0} has the wrong wire type")]
    Mismatch(u32),
    /// A text is not UTF-8.
    #[error("a text is not UTF-8")]
    Text,
    /// A time, a quantity or an embedded JSON text is malformed.
    #[error("a value is malformed: {0}")]
    Value(String),
    /// Messages are nested too deep.
    #[error("messages are nested too deep")]
    Depth,
}

/// A field's value as it stands on the wire.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Wire<'a> {
    /// A variable-length number.
    Varint(u64),
    /// Eight bytes.
    Fixed64(u64),
    /// Four bytes.
    Fixed32(u32),
    /// Bytes with their length.
    Bytes(&'a [u8]),
}

/// Reads the fields of one message in order.
pub struct Fields<'a>(pub &'a [u8]);

impl<'a> Fields<'a> {
    /// The next field's number and value; nothing at the end.
    ///
    /// # Errors
    /// [`WireError`] if the message is malformed.
    pub fn next(&mut self) -> Result<Option<(u32, Wire<'a>)>, WireError> {
        if self.0.is_empty() {
            return Ok(None);
        }
        let key = self.varint()?;
        let number = u32::try_from(key >> 3).map_err(|_| WireError::Varint)?;
        let wire = match key & 7 {
            0 => Wire::Varint(self.varint()?),
            1 => Wire::Fixed64(u64::from_le_bytes(self.array()?)),
            2 => {
                let length = usize::try_from(self.varint()?).map_err(|_| WireError::Short)?;
                Wire::Bytes(self.take(length)?)
            }
            5 => Wire::Fixed32(u32::from_le_bytes(self.array()?)),
            other => return Err(WireError::WireType(other as u8)),
        };
        Ok(Some((number, wire)))
    }

    /// A variable-length number.
    ///
    /// # Errors
    /// [`WireError`] if it does not end.
    pub fn varint(&mut self) -> Result<u64, WireError> {
        let mut value = 0u64;
        for shift in (0..70).step_by(7) {
            let [byte] = self.array()?;
            value |= u64::from(byte & 0x7f).checked_shl(shift).unwrap_or(0);
            if byte & 0x80 == 0 {
                return Ok(value);
            }
        }
        Err(WireError::Varint)
    }

    fn take(&mut self, length: usize) -> Result<&'a [u8], WireError> {
        let (taken, rest) = self.0.split_at_checked(length).ok_or(WireError::Short)?;
        self.0 = rest;
        Ok(taken)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], WireError> {
        self.take(N)?.try_into().map_err(|_| WireError::Short)
    }
}
