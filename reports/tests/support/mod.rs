//! Records of which a test changes what it is about.
#![allow(dead_code)]

pub mod official;

use gateproof_report::record::{Outcome, RunRecord, ScenarioRecord, Target};

/// A scenario of `gateway-api` that ended so.
pub fn scenario(name: &str, features: &[&str], outcome: Outcome) -> ScenarioRecord {
    ScenarioRecord {
        name: name.to_owned(),
        suite: "gateway-api".into(),
        file: format!("gateway-api/{name}.yaml").into(),
        summary: "A sentence.".into(),
        features: features.iter().map(|f| (*f).to_owned()).collect(),
        proves: [].into(),
        outcome,
        reason: None,
        findings: vec![],
        stages: vec![],
        probes: Vec::new(),
        duration_ms: 5,
        alike: 0,
    }
}

/// A run of these.
pub fn record(scenarios: Vec<ScenarioRecord>) -> RunRecord {
    RunRecord {
        format: 1,
        producer: "gateproof 0.1.0".to_owned(),
        date: "2026-11-20T10:00:00Z".to_owned(),
        target: Target {
            name: "embedded".to_owned(),
            embedded: true,
            dialect: "gateway-api".to_owned(),
            edition: None,
            gateway_class: Some("gateproof".to_owned()),
            controller_name: Some("gateproof.dev/reference".to_owned()),
            gateway_api_version: Some("v1.6.1".to_owned()),
            gateway_api_channel: Some("standard".to_owned()),
            definitions: None,
            features: ["Gateway", "HTTPRoute", "HTTPRouteCORS", "ReferenceGrant"].map(str::to_owned).to_vec(),
        },
        arguments: vec!["--target".to_owned(), "embedded:deaf".to_owned()],
        options_file: None,
        interrupted: false,
        impatient: false,
        scenarios,
        outside_profiles: vec![],
        contract: vec![],
        known_failures: vec![],
        leftovers: vec![],
        digests: None,
        shard: None,
        duration_ms: 1234,
    }
}
