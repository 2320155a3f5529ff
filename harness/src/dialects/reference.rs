//! For which dialects there is an embedded target.

use super::Dialect;

/// A reference implementation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reference {
    /// Of Gateway API.
    GatewayApi,
    /// Of another dialect.
    Other(Other),
}

/// A reference implementation of another dialect than Gateway API.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Other {
    /// Of Azure Service Operator's status.
    Aso,
    /// Of Kuadrant's policies.
    Kuadrant,
}

impl Reference {
    /// That of a built-in dialect, if there is one.
    pub fn of(dialect: &Dialect) -> Option<Reference> {
        match dialect.name() {
            name if name == Dialect::gateway_api().name() => Some(Reference::GatewayApi),
            name => Other::ALL.into_iter().find(|other| other.dialect() == name).map(Reference::Other),
        }
    }
}

impl Other {
    /// All of them.
    pub const ALL: [Other; 2] = [Other::Aso, Other::Kuadrant];

    /// The name of the dialect.
    pub fn dialect(self) -> &'static str {
        match self {
            Other::Aso => "aso",
            Other::Kuadrant => "kuadrant",
        }
    }
}
