//! For which dialects there is an embedded target.

use super::Dialect;

/// Azure Service Operator's.
const ASO: &str = "aso";

/// A reference implementation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reference {
    /// Of Gateway API.
    GatewayApi,
    /// Of Azure Service Operator's status.
    Aso,
}

impl Reference {
    /// That of a built-in dialect, if there is one.
    pub fn of(dialect: &Dialect) -> Option<Reference> {
        match dialect.name() {
            ASO => Some(Reference::Aso),
            name if name == Dialect::gateway_api().name() => Some(Reference::GatewayApi),
            _ => None,
        }
    }
}
