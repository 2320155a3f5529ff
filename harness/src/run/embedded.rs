//! The embedded target, started for one run.

use gateproof_testbed::{Testbed, TestbedOptions};

use crate::target::api::Api;

/// Where a target is, once it runs.
pub struct Located {
    /// Its API server.
    pub api: Api,
    /// The GatewayClass to test.
    pub gateway_class: String,
    /// How its addresses are reached, beside what the user says.
    pub dial: Vec<String>,
    /// The embedded target that lives as long as this.
    pub testbed: Option<Testbed>,
}

/// Starts the embedded target, with a fault if one is named.
pub async fn start(fault: Option<&str>) -> Result<Located, String> {
    let options = TestbedOptions { fault: fault.map(str::to_owned), ..TestbedOptions::default() };
    let testbed = Testbed::start(options).await.map_err(|error| crate::target::api::chain(&error))?;
    Ok(Located {
        // Within one process, requests need neither sockets nor TLS.
        api: Api::new(testbed.client()),
        gateway_class: testbed.gateway_class().to_owned(),
        dial: vec![testbed.dial_rule()],
        testbed: Some(testbed),
    })
}
