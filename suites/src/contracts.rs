//! Status contracts, one a dialect.

/// The status contract of Gateway API, as text; the judge reads and interprets it.
pub const GATEWAY_API: &str = include_str!("../dialects/gateway-api/contract.yaml");
