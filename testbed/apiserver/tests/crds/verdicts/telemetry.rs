//! Samples for XTelemetryPolicy.

use serde_json::{Value, json};

use super::corpus::{maybe, objects, some};

/// The samples of the field at a path.
pub fn values(path: &str) -> Option<Vec<Value>> {
    let modes = || ("mode", some(["Enabled", "Disabled", "ImplementationDefault"]));
    let rate = || ("samplingRate", maybe([json!({"numerator": 1})]));
    Some(match path {
        "spec" => objects(&[("targetRefs", some([json!([])])), ("tracing", maybe([json!({})]))]),
        "spec.tracing" => objects(&[
            modes(),
            ("provider", maybe([json!({"backendRef": {"name": "a", "port": 80}})])),
            rate(),
            ("parentBasedSampling", maybe([json!({})])),
            ("serviceName", maybe(["a"])),
            ("spanName", maybe(["a"])),
            ("attributes", maybe([json!([])])),
        ]),
        "spec.tracing.attributes[]" => objects(&[
            ("name", some(["a"])),
            ("sourceType", some(["Header", "Literal", "Attribute"])),
            ("headerName", maybe(["a"])),
            ("literalValue", maybe(["a"])),
            ("attributeKey", maybe(["a"])),
        ]),
        "spec.tracing.parentBasedSampling" => objects(&[modes(), rate()]),
        _ => return None,
    })
}
