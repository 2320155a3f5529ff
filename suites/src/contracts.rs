//! Status contracts, one a dialect, and what several of them share.

/// The status contract of Gateway API, as text; the judge reads and interprets it.
pub const GATEWAY_API: &str = include_str!("../dialects/gateway-api/contract.yaml");

/// Contracts of no dialect, by name: what a contract may refine.
pub const SHARED: [(&str, &str); 1] = [("policies", include_str!("../contracts/policies.yaml"))];

/// The contract of this name that others may refine.
pub fn shared(name: &str) -> Option<&'static str> {
    SHARED.iter().find(|(known, _)| *known == name).map(|(_, text)| *text)
}
