//! The embedded target, started for one run.

use gateproof_apiserver::crds::Channel;
use gateproof_controllers::settings::SUPPORTED_FEATURES;
use gateproof_testbed::{Behaviour, Testbed, TestbedError, TestbedOptions};

use super::options::RunOptions;
use crate::cluster::api::Api;
use crate::cluster::control::Services;

/// Where a target is, once it runs.
pub struct Located {
    /// Its API server.
    pub api: Api,
    /// The GatewayClass to test, in a dialect that has classes.
    pub gateway_class: Option<String>,
    /// A class of it that takes one Gateway only, if it is known to have one.
    pub single_gateway_class: Option<String>,
    /// How its addresses are reached, beside what the user says.
    pub dial: Vec<String>,
    /// What it supports, for releases whose GatewayClass has no place to claim it.
    pub features: Vec<String>,
    /// The scripted services that it names itself, if it is one that does.
    pub services: Option<Services>,
    /// The embedded target that lives as long as this.
    pub testbed: Option<Testbed>,
}

/// Starts the embedded target, with definitions other than the built-in ones if there are any, and with somebody who runs
/// Deployments if that is asked.
pub async fn start(behaviour: Behaviour, asked: &RunOptions) -> Result<Located, TestbedError> {
    // The experimental channel holds all of the other, so nothing that the reference can do is left out.
    let channel = Channel::Experimental;
    let options = TestbedOptions {
        behaviour,
        crds: asked.crds.clone(),
        without: asked.without_crds.clone(),
        channel,
        workloads: asked.backend_image.is_some(),
        ..TestbedOptions::default()
    };
    let testbed = Testbed::start(options).await?;
    // The built-in release has the place, and a reference that leaves it empty misbehaves.
    let known: &[&str] = if asked.crds.is_empty() { &[] } else { SUPPORTED_FEATURES };
    Ok(Located {
        // Within one process, requests need neither sockets nor TLS.
        api: Api::new(testbed.client()),
        gateway_class: Some(testbed.gateway_class().to_owned()),
        single_gateway_class: Some(testbed.single_gateway_class().to_owned()),
        dial: vec![testbed.dial_rule()],
        features: known.iter().map(ToString::to_string).collect(),
        services: None,
        testbed: Some(testbed),
    })
}
