//! Dialects, as text; the harness reads and interprets them.

/// Gateway API.
pub const GATEWAY_API: &str = include_str!("../dialects/gateway-api/dialect.yaml");
