//! Kubernetes' protobuf, as Go clients write built-in kinds: read by one table of fields, turned into JSON.

mod decode;
mod reader;
#[cfg(test)]
mod real_bytes;
mod table;
mod writer;

pub use decode::decode;
pub use table::{Field, FieldType, Message, Shape, message, message_of};
pub use writer::Writer;
