//! Kubernetes' protobuf, as Go clients write built-in kinds: read by one table of fields, turned into JSON.

mod decode;
mod reader;
mod table;

pub use decode::decode;
pub use table::{Field, FieldType, Message, Shape, message, message_of};
