//! How an answer looks: which form the client asked for, and its text.

mod accept;
mod columns;
mod encode;

pub use accept::{Accepted, Form, Format, clauses};
pub use encode::{ListMeta, bookmark, error_event, event, list, object};
