//! What filters do to a request or a response: pure functions, one file a concern.

pub mod cors;
pub mod headers;
pub mod hop;
pub mod location;
pub mod path;

#[cfg(test)]
mod tests;
