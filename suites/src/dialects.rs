//! Dialects, as text; the harness reads and interprets them.

/// What stands in the folder of a dialect, but for its manifests.
#[derive(Debug, Clone, Copy)]
pub struct DialectFiles {
    /// The name of the dialect and of the folder.
    pub name: &'static str,
    /// Its kinds.
    pub dialect: &'static str,
    /// Its contract.
    pub contract: &'static str,
    /// Its clauses.
    pub requirements: &'static str,
    /// What its targets may support or be set to, if that differs.
    pub features: Option<&'static str>,
    /// What its scripted services take for rules, if it has some.
    pub services: Option<&'static str>,
    /// The scenario that a cluster has to pass before anything else is applied, if it has one.
    pub canary: Option<&'static str>,
    /// The scenario that asks whether traffic comes in, if any does.
    pub preflight: Option<&'static str>,
}

/// Gateway API.
pub const GATEWAY_API: &str = include_str!("../dialects/gateway-api/dialect.yaml");

/// What Gateway API asks before any scenario.
pub const GATEWAY_API_PREFLIGHT: &str = include_str!("../dialects/gateway-api/preflight.yaml");

/// Those that are built in beside Gateway API.
pub const OTHERS: [DialectFiles; 3] = [
    DialectFiles {
        name: "aso",
        dialect: include_str!("../dialects/aso/dialect.yaml"),
        contract: include_str!("../dialects/aso/contract.yaml"),
        requirements: include_str!("../dialects/aso/requirements.yaml"),
        features: Some(include_str!("../dialects/aso/features.yaml")),
        services: Some(include_str!("../dialects/aso/services.yaml")),
        canary: Some(include_str!("../dialects/aso/canary.yaml")),
        preflight: None,
    },
    DialectFiles {
        name: "contour",
        dialect: include_str!("../dialects/contour/dialect.yaml"),
        contract: include_str!("../dialects/contour/contract.yaml"),
        requirements: include_str!("../dialects/contour/requirements.yaml"),
        features: Some(include_str!("../dialects/contour/features.yaml")),
        services: None,
        canary: None,
        preflight: None,
    },
    DialectFiles {
        name: "kuadrant",
        dialect: include_str!("../dialects/kuadrant/dialect.yaml"),
        contract: include_str!("../dialects/kuadrant/contract.yaml"),
        requirements: include_str!("../dialects/kuadrant/requirements.yaml"),
        features: Some(include_str!("../dialects/kuadrant/features.yaml")),
        services: Some(include_str!("../dialects/kuadrant/services.yaml")),
        canary: None,
        preflight: Some(include_str!("../dialects/kuadrant/preflight.yaml")),
    },
];
