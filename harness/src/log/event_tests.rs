#![allow(clippy::unwrap_used)]
use serde_json::json;

use super::*;
use crate::log::TimingProfile;

/// What the first logs had, and nothing that came later.
#[test]
fn a_log_of_before_there_were_dialects_is_of_the_first() {
    let written = json!({"format": 1, "harness": "0.1.0", "runId": "a", "date": "2026-01-01T00:00:00Z", "target": "embedded",
        "embedded": true, "gatewayClass": "b", "controllerName": "c", "gatewayApiVersion": "v1.4.0", "gatewayApiChannel": "standard",
        "features": [], "timing": Timing::of(TimingProfile::Embedded)});
    let started: RunStarted = serde_json::from_value(written).unwrap();
    assert_eq!((started.dialect.as_str(), started.edition), ("gateway-api", None));
    assert_eq!(started.gateway_class.as_deref(), Some("b"));
}
