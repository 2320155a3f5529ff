//! For which dialects there is an embedded target.

use super::Dialect;

/// A reference implementation on an embedded target.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Reference {
    /// Of Gateway API.
    #[default]
    GatewayApi,
    /// Of Azure Service Operator's status.
    Aso,
    /// Of Kuadrant's policies.
    Kuadrant,
    /// Of Contour's HTTPProxy.
    Contour,
}

impl Reference {
    /// All of them.
    pub const ALL: [Reference; 4] = [Reference::GatewayApi, Reference::Aso, Reference::Kuadrant, Reference::Contour];

    /// That of a built-in dialect, if there is one.
    pub fn of(dialect: &Dialect) -> Option<Reference> {
        Reference::ALL.into_iter().find(|reference| reference.dialect() == dialect.name())
    }

    /// The name of the dialect.
    pub fn dialect(self) -> &'static str {
        match self {
            Reference::GatewayApi => "gateway-api",
            Reference::Aso => "aso",
            Reference::Kuadrant => "kuadrant",
            Reference::Contour => "contour",
        }
    }

    /// Whether its target serves whichever definitions the user names. Others bring their own, and their scripted services.
    pub fn takes_definitions(self) -> bool {
        self == Reference::GatewayApi
    }
}
